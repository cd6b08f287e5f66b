//! The command line of `nearfar`: parses the arguments, calls the library and prints the result.
//!
//! It is a library so that there is one for two programs: the binary `nearfar`, and the command of the
//! same name that the Python package installs.

mod cluster;
mod commands;
mod print;
mod signals;

use std::ffi::OsString;
use std::io::Write;

pub use cluster::{ClusterRun, TrainOnCluster};

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser};

/// Node embeddings with distance-aware negative sampling
///
/// Examples:
///   nearfar embed graph.tsv -o vectors.npy
///   nearfar evaluate vectors.npy --labels labels.tsv
///
/// GRAPH is one of:
///   an edge list, two or three columns: any separator, any ids, also .gz and .zst
///   a Matrix Market .mtx, SciPy .npz, NumPy .npy or Parquet file
///   a packed graph of `nearfar pack`, .nfg
///   a folder with edges.tsv, and optionally nodes.tsv, labels.tsv and splits.tsv
///   builtin:karate, builtin:sparse, builtin:moderate or builtin:dense
#[derive(Parser)]
#[command(name = "nearfar", version, max_term_width = 100, verbatim_doc_comment)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: commands::Command,
    /// Number of threads; results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", help_heading = GENERAL)]
    threads: Option<usize>,
    /// Print errors only, no messages
    #[arg(long, short, global = true, help_heading = GENERAL)]
    quiet: bool,
    /// Print help; -h prints a summary
    #[arg(long, short, global = true, action = ArgAction::Help, help_heading = GENERAL)]
    help: Option<bool>,
    /// Print the version
    #[arg(long, short = 'V', action = ArgAction::Version, help_heading = GENERAL)]
    version: Option<bool>,
}

/// A heading of its own lists these options after those of the command.
const GENERAL: &str = "General";

/// Runs a command line, whose first argument is the name of the program; returns the exit code.
///
/// It takes over the process: a signal ends it, `--threads` sizes the pool of all threads. `cluster` runs
/// `embed --cluster`, where the program can.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    cluster: Option<TrainOnCluster<'_>>,
) -> u8 {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Of a decoder, on a broken file: it becomes an error.
        if !nearfar::file::is_panic_caught() {
            print(panic);
        }
    }));
    let code = match parse(arguments) {
        Ok((cli, matches)) => exit_code(run_command(cli, &matches, cluster)),
        Err(error) => {
            // Fails if the stream is closed; nothing can report that.
            let _ = error.print();
            error.exit_code() as u8
        }
    };
    // Rust flushes at the end of its own `main` only, not in a Python process.
    let _ = std::io::stdout().flush();
    code
}

fn parse(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<(Cli, clap::ArgMatches), clap::Error> {
    let matches = Cli::command().try_get_matches_from(arguments)?;
    Ok((Cli::from_arg_matches(&matches)?, matches))
}

fn exit_code(result: anyhow::Result<()>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(error) if is_closed_pipe(&error) => 0,
        Err(error) if error.is::<Interrupted>() => signals::received().unwrap_or(130),
        Err(error) => {
            print::message(&format!("error: {}", describe(&error)));
            1
        }
    }
}

/// The error and its causes. An error of the library has those in its own text.
fn describe(error: &anyhow::Error) -> String {
    let mut causes = Vec::new();
    for cause in error.chain() {
        causes.push(cause.to_string());
        if cause.is::<nearfar::Error>() {
            break;
        }
    }
    causes.join(": ")
}

/// A signal ended the run: exit code 130 or 143, without a message.
#[derive(Debug)]
struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

fn run_command(
    cli: Cli,
    matches: &clap::ArgMatches,
    cluster: Option<TrainOnCluster<'_>>,
) -> anyhow::Result<()> {
    signals::listen()?;
    if let Some(threads) = cli.threads {
        anyhow::ensure!(threads > 0, "--threads 0: expected at least 1");
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
    cli.command.run(matches, cli.quiet, cluster)
}

/// The reader of standard output has closed it, as `head` does: not an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
