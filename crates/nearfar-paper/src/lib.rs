//! The experiments of the paper: its tables and figures, from runs that are kept in a file.

mod cells;
mod experiments;
mod figure;
mod graphs;
mod page;
mod pages;
mod rows;
mod scope;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

use cells::{Cell, Results};
use experiments::{Experiment, Group};
use graphs::Graphs;
use pages::Press;
use scope::Scope;

/// Options of `nearfar paper`.
#[derive(clap::Args)]
pub struct Args {
    /// What to run
    #[arg(value_enum)]
    experiment: Experiment,
    /// Folder with a folder for each graph: citeseer, cora, pubmed, ppi, synthetic-sparse,
    /// synthetic-moderate, synthetic-dense
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Folder to write pages and figures to; what is done there already is not run again
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Seeds in the tables; sweeps take at most 3, PubMed at most 2
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// A small version: one seed, few epochs, few walks; it shows that everything works
    #[arg(long)]
    quick: bool,
    /// Only these graphs, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    graphs: Vec<String>,
}

/// Runs the experiments that were not run before, and writes their pages. `message` is told what
/// is done.
pub fn run(args: &Args, message: &(dyn Fn(&str) + Sync)) -> anyhow::Result<()> {
    anyhow::ensure!(args.seeds > 0, "--seeds 0; it takes at least 1");
    std::fs::create_dir_all(&args.output).with_context(|| args.output.display().to_string())?;
    let graphs = Graphs::new(args.data.clone(), args.graphs.clone());
    let scope = Scope { seeds: args.seeds, quick: args.quick };
    let file = if args.quick { "quick-runs.jsonl" } else { "runs.jsonl" };
    let results = Results::open(&args.output.join(file))?;
    let chosen = match args.experiment {
        Experiment::All => Experiment::EACH.to_vec(),
        one => vec![one],
    };
    let planned: Vec<(Experiment, Vec<Group>)> =
        chosen.into_iter().map(|one| (one, one.groups(&scope, &graphs))).collect();
    for (experiment, _) in &planned {
        let needed = experiment.graphs(&scope);
        let missing: Vec<&str> = needed.into_iter().filter(|graph| !graphs.has(graph)).collect();
        if !missing.is_empty() {
            let (name, missing) = (experiment.name(), missing.join(", "));
            message(&format!("{name}: without {missing}"));
        }
    }
    let press = Press { scope: &scope, graphs: &graphs, results: &results };
    let mut index = String::new();
    for (experiment, groups) in planned {
        let cells: Vec<Cell> = groups.iter().flat_map(|group| group.cells.clone()).collect();
        results.run(&cells, &graphs, message)?;
        let page = press.page(experiment, &groups)?;
        page.write(&args.output)?;
        let name = experiment.name();
        // Writing to a String cannot fail.
        let _ = write!(index, "\n## [{}]({name}.md)\n\n![]({name}.svg)\n", page.title);
        message(&args.output.join(name).with_extension("md").display().to_string());
    }
    if args.experiment == Experiment::All {
        write_index(&args.output, &index, results.machine())?;
    }
    Ok(())
}

fn write_index(folder: &Path, pages: &str, seconds: f64) -> anyhow::Result<()> {
    let (hours, threads) = (seconds / 3600.0, rayon::current_num_threads());
    let text = format!(
        "# The paper's experiments\n\nEvery table and figure of *Distance-aware negative \
         sampling* (SDM 2021), made by `nearfar paper all`. All runs together took {hours:.1} h \
         on {threads} threads.\n{pages}"
    );
    Ok(std::fs::write(folder.join("index.md"), text)?)
}
