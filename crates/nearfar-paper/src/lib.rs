//! The experiments of the paper: tables and figures from training runs stored in a file.

mod experiments;
mod figure;
mod graphs;
mod grid;
mod methods;
mod page;
mod pages;
mod runs;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nearfar::file::write_together;

use experiments::{Experiment, Group};
use graphs::Graphs;
use grid::Grid;
use pages::PageBuilder;
use runs::{Results, TrainingRun};

/// Options of `nearfar paper`.
#[derive(clap::Args)]
pub struct Args {
    /// Table or figure to reproduce
    #[arg(value_enum)]
    experiment: Experiment,
    /// Folder with one dataset folder per graph: citeseer, cora, pubmed, ppi, synthetic-sparse,
    /// synthetic-moderate, synthetic-dense; missing graphs are left out
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    data: PathBuf,
    /// Use only these graphs, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Input")]
    graphs: Vec<String>,
    /// Seeds per entry of a table; sweeps use at most 3, PubMed at most 2
    #[arg(long, default_value_t = 5, help_heading = "Training")]
    seeds: u64,
    /// Reduced version to test the setup: one seed, few epochs, few walks
    #[arg(long, help_heading = "Training")]
    quick: bool,
    /// Folder to write tables and figures to; runs that are finished there are not repeated
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
}

/// Performs the runs that are not finished, and writes the tables and figures. Progress goes to
/// `message`.
pub fn run(args: &Args, message: &(dyn Fn(&str) + Sync)) -> anyhow::Result<()> {
    anyhow::ensure!(args.seeds > 0, "--seeds 0: expected at least 1");
    let experiments = match args.experiment {
        Experiment::All => Experiment::EACH.to_vec(),
        experiment => vec![experiment],
    };
    let graphs = Graphs::new(args.data.clone(), args.graphs.clone());
    let grid = Grid { seeds: args.seeds, quick: args.quick };
    let mut needed: Vec<&str> = experiments.iter().flat_map(|one| one.graphs(&grid)).collect();
    needed.sort_unstable();
    needed.dedup();
    graphs.check(&needed)?;
    std::fs::create_dir_all(&args.output).with_context(|| args.output.display().to_string())?;
    let file = if args.quick { "quick-runs.jsonl" } else { "runs.jsonl" };
    let results = Results::open(&args.output.join(file))?;
    let planned: Vec<(Experiment, Vec<Group>)> =
        experiments.into_iter().map(|one| (one, one.groups(&grid, &graphs))).collect();
    for (experiment, _) in &planned {
        let needed = experiment.graphs(&grid);
        let missing: Vec<&str> = needed.into_iter().filter(|graph| !graphs.has(graph)).collect();
        if !missing.is_empty() {
            let (name, missing) = (experiment.name(), missing.join(", "));
            message(&format!("{name}: graphs not found or not selected: {missing}"));
        }
    }
    let builder = PageBuilder { grid: &grid, graphs: &graphs, results: &results };
    let mut index = String::new();
    for (experiment, groups) in planned {
        let runs: Vec<TrainingRun> = groups.iter().flat_map(|group| group.runs.clone()).collect();
        results.run(&runs, &graphs, message)?;
        let page = builder.page(experiment, &groups)?;
        page.write(&args.output)?;
        let name = experiment.name();
        // Writing to a String cannot fail.
        let _ = write!(index, "\n## [{}]({name}.md)\n\n![]({name}.svg)\n", page.title);
        message(&format!("wrote {}", args.output.join(name).with_extension("md").display()));
    }
    if args.experiment == Experiment::All {
        write_index(&args.output, &index, results.machine_seconds())?;
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
    Ok(write_together([(folder.join("index.md"), text.into_bytes())])?)
}
