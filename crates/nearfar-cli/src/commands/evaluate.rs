//! `nearfar evaluate`.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Context;
use nearfar::embedding::Embedding;
use nearfar::evaluate::{
    ClassScores, Classification, ClassifyConfig, ConfusionTable, F1, SplitMethod, SplitScores,
    classify, read_labels, read_splits, splits_in,
};

use crate::print::{self, grouped};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of vectors: .npy, .w2v, .txt, .bin, .parquet, .safetensors or .tsv
    #[arg(value_name = "EMB")]
    embedding: PathBuf,
    /// File of lines `node<TAB>label`, several labels separated by commas; or a dataset folder,
    /// whose splits are used too unless --train-ratio is given
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    labels: PathBuf,
    /// File of lines `node<TAB>train|val|test`, or a dataset folder [default: random splits]
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["train_ratio", "repeats", "stratified"],
        help_heading = "Input"
    )]
    splits: Option<PathBuf>,
    #[command(flatten)]
    classify: ClassifyConfig,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(crate) fn run(args: &Args, quiet: bool) -> anyhow::Result<()> {
    args.classify.validate()?;
    let embedding = Embedding::load(&args.embedding)?;
    embedding.check_finite().with_context(|| args.embedding.display().to_string())?;
    let (labels, mut notes) = read_labels(&args.labels, &embedding)?;
    let splits = match (&args.splits, args.classify.train_ratio) {
        (Some(path), _) => Some(path.clone()),
        (None, None) => splits_in(&args.labels),
        (None, Some(_)) => None,
    };
    if args.splits.is_none()
        && !quiet
        && let Some(path) = &splits
    {
        print::message(&format!("splits from {}", path.display()));
    }
    let splits = splits.map(|path| read_splits(&path, &embedding)).transpose()?;
    let splits = splits.map(|(splits, of_splits)| {
        notes.extend(of_splits);
        splits
    });
    let mut scores = classify(&embedding, &labels, splits.as_ref(), &args.classify)?;
    scores.notes.splice(..0, notes.iter().map(ToString::to_string));
    if !quiet {
        for note in &scores.notes {
            print::message(&format!("note: {note}"));
        }
    }
    if args.json { print::json(&scores) } else { print::result(&table(args, &scores)) }
}

fn table(args: &Args, scores: &Classification) -> String {
    let count = |number: usize| grouped(number as u64);
    let mut text = format!(
        "{}: {} vectors of {} dimensions, {} {}\n",
        args.embedding.display(),
        count(scores.nodes),
        scores.dim,
        scores.classes,
        if scores.multi_label { "labels (multi-label)" } else { "classes" },
    );
    let splits = match &scores.protocol {
        SplitMethod::Fixed => "fixed splits".to_owned(),
        SplitMethod::Random { train_ratio, repeats, stratified, seed } => format!(
            "{repeats} random {}splits, train ratio {train_ratio}, seed {seed}",
            if *stratified { "stratified " } else { "" },
        ),
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "logistic regression, C = {}; trained on {} nodes; {splits}\n",
        inverse_l2(scores),
        count(scores.train)
    );
    let rows: &[Row] = if scores.multi_label {
        &[
            ("F1-macro, all decisions", |part| macro_and_micro(part.ravelled.as_ref()).0),
            ("F1-micro, all decisions", |part| macro_and_micro(part.ravelled.as_ref()).1),
            ("F1-macro, top-k labels", |part| macro_and_micro(part.top_k.as_ref()).0),
            ("F1-micro, top-k labels", |part| macro_and_micro(part.top_k.as_ref()).1),
        ]
    } else {
        &[
            ("F1-macro", |part| part.f1_macro.to_string()),
            ("F1-micro", |part| part.f1_micro.to_string()),
            ("accuracy", |part| part.accuracy.to_string()),
        ]
    };
    let mut line = |label: &str, test: &str, val: &str| {
        let row = format!("  {label:<28} {test:<19} {val}");
        let _ = writeln!(text, "{}", row.trim_end());
    };
    let nodes = |name: &str, part: &SplitScores| format!("{name} ({})", count(part.nodes));
    let val =
        |value: &dyn Fn(&SplitScores) -> String| scores.val.as_ref().map_or(String::new(), value);
    line("", &nodes("test", &scores.test), &val(&|part| nodes("val", part)));
    for (label, value) in rows {
        line(label, &value(&scores.test), &val(value));
    }
    if let Some(classes) = &scores.per_class {
        text.push_str(&class_table(classes));
    }
    if let Some(confusion) = &scores.confusion {
        text.push_str(&confusion_table(confusion));
    }
    text
}

/// The C of all runs; if it was chosen in each, the values and how often: `1 (× 3), 10 (× 7)`.
fn inverse_l2(scores: &Classification) -> String {
    let Some(chosen) = &scores.chosen_c else { return scores.c.to_string() };
    let mut sorted = chosen.clone();
    sorted.sort_by(f64::total_cmp);
    let values: Vec<String> = sorted
        .chunk_by(|a, b| a.total_cmp(b).is_eq())
        .map(|equal| match equal.len() {
            runs if runs == sorted.len() => equal[0].to_string(),
            runs => format!("{} (× {runs})", equal[0]),
        })
        .collect();
    format!("{} (chosen by cross-validation)", values.join(", "))
}

/// A row of the table: the name of a score, and its value on a split as text.
type Row = (&'static str, fn(&SplitScores) -> String);

fn macro_and_micro(f1: Option<&F1>) -> (String, String) {
    f1.map_or_else(Default::default, |f1| (f1.f1_macro.to_string(), f1.f1_micro.to_string()))
}

fn class_table(classes: &[ClassScores]) -> String {
    let width = classes.iter().map(|class| class.label.chars().count()).max().unwrap_or(0).max(5);
    let mut text = format!("\n  {:<width$}  precision  recall      F1  support\n", "class");
    for class in classes {
        let _ = writeln!(
            text,
            "  {:<width$}  {:>9.4}  {:>6.4}  {:>6.4}  {:>7}",
            class.label, class.precision, class.recall, class.f1, class.support
        );
    }
    text
}

fn confusion_table(confusion: &ConfusionTable) -> String {
    let cells = confusion.counts.iter().flatten().map(|count| count.to_string().len());
    let names = confusion.labels.iter().map(|label| label.chars().count());
    let corner = "true class";
    let width = cells.chain(names).max().unwrap_or(0).max(corner.len());
    let mut text = format!("\n  {:<width$}  predicted class\n  {corner:<width$}", "");
    for label in &confusion.labels {
        let _ = write!(text, "  {label:>width$}");
    }
    for (label, row) in confusion.labels.iter().zip(&confusion.counts) {
        let _ = write!(text, "\n  {label:<width$}");
        for count in row {
            let _ = write!(text, "  {count:>width$}");
        }
    }
    text + "\n"
}
