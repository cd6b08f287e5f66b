//! `nearfar completions`.

use clap::CommandFactory;

use crate::print;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "nearfar", &mut script);
    print::result(&String::from_utf8(script)?)
}
