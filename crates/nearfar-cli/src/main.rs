//! The command line of `nearfar`: it parses, calls the library, prints, and decides nothing.

mod commands;
mod print;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

/// Node embeddings that keep near nodes near and far nodes far.
///
/// GRAPH is an edge list (two or three columns, any separator, any ids, .gz and .zst too), a
/// Matrix Market .mtx, SciPy .npz, NumPy .npy or Parquet file, a folder with edges.tsv, or
/// builtin:karate, builtin:sparse, builtin:moderate, builtin:dense.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
    /// Threads to work with; results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
    /// No messages on standard error but errors
    #[arg(long, short, global = true)]
    quiet: bool,
}

fn main() -> ExitCode {
    let given = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    match run(cli, &given) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<Interrupted>() => ExitCode::from(130),
        Err(error) => {
            print::message(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Ctrl-C was pressed: no result, and nothing to complain about.
#[derive(Debug)]
struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

fn run(cli: Cli, given: &clap::ArgMatches) -> anyhow::Result<()> {
    if let Some(threads) = cli.threads {
        anyhow::ensure!(threads > 0, "--threads 0; it takes at least 1");
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    let given = given.subcommand().map_or(given, |(_, given)| given);
    cli.command.run(given, cli.quiet)
}

/// Whoever reads our output has seen enough, as `head` does: not an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
