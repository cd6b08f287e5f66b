//! What the paper compares, as data: the rows of its tables, the curves of its figures, and the
//! figures that it reports.

use nearfar::negative::{LandmarkCount, NegativeConfig, Negatives};
use nearfar::train::{Model, Protocol, Settings, TrainConfig, Trainer};

/// The graphs of the paper's tables, in the order of its columns.
pub(crate) const BENCHMARKS: [&str; 4] = ["citeseer", "cora", "pubmed", "ppi"];
/// Its synthetic graphs.
pub(crate) const SYNTHETIC: [&str; 3] =
    ["synthetic-sparse", "synthetic-moderate", "synthetic-dense"];

/// More nodes than any graph of the paper has: all in one batch.
const ALL: usize = 1_000_000;
/// What LINE takes instead: 400 steps are too few for a table that starts anywhere.
const SOME: usize = 500;

/// Whose settings.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// The paper's: Adam in batches of eight nodes, 30 epochs.
    Paper,
    /// The paper's for models of edges: 400 epochs, the edges of so many nodes in a batch.
    PaperEdges(usize),
    /// Ours: the stream trainer with its pull to the origin.
    Stream,
    /// All pairs at once, with the pull.
    Exact,
}

/// A way to make vectors: a row of a table, a curve of a figure.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    model: Model,
    pub(crate) negatives: Negatives,
    by: By,
    /// What the paper reports for [`BENCHMARKS`].
    pub(crate) paper: Option<[f64; 4]>,
}

const fn row(
    name: &'static str,
    model: Model,
    negatives: Negatives,
    by: By,
    paper: Option<[f64; 4]>,
) -> Row {
    Row { name, model, negatives, by, paper }
}

pub(crate) const UNIFORM: Row = row(
    "DeepWalk uniform",
    Model::Deepwalk,
    Negatives::Uniform,
    By::Paper,
    Some([0.51, 0.67, 0.58, 0.69]),
);
pub(crate) const DISTANCE: Row = row(
    "DeepWalk distance",
    Model::Deepwalk,
    Negatives::Distance,
    By::Paper,
    Some([0.61, 0.72, 0.63, 0.69]),
);
pub(crate) const GAE: Row =
    row("GAE", Model::Gae, Negatives::Edge, By::PaperEdges(ALL), Some([0.40, 0.61, 0.59, 0.68]));

/// Table 2, and below it what the paper does not have.
pub(crate) const TABLE_2: [Row; 15] = [
    GAE,
    row("VGAE", Model::Vgae, Negatives::Edge, By::PaperEdges(ALL), Some([0.39, 0.58, 0.60, 0.67])),
    row("LINE", Model::Line, Negatives::Edge, By::PaperEdges(SOME), Some([0.37, 0.52, 0.47, 0.68])),
    row(
        "node2vec uniform",
        Model::Node2vec,
        Negatives::Uniform,
        By::Paper,
        Some([0.43, 0.54, 0.56, 0.63]),
    ),
    row(
        "node2vec distance",
        Model::Node2vec,
        Negatives::Distance,
        By::Paper,
        Some([0.52, 0.62, 0.58, 0.64]),
    ),
    UNIFORM,
    row(
        "DeepWalk degree",
        Model::Deepwalk,
        Negatives::Degree,
        By::Paper,
        Some([0.47, 0.65, 0.54, 0.68]),
    ),
    DISTANCE,
    row(
        "DeepWalk landmark-approx",
        Model::Deepwalk,
        Negatives::LandmarkApprox,
        By::Paper,
        Some([0.59, 0.71, 0.64, 0.69]),
    ),
    row(
        "DeepWalk landmark",
        Model::Deepwalk,
        Negatives::Landmark,
        By::Paper,
        Some([0.57, 0.70, 0.63, 0.68]),
    ),
    row("GAE distance", Model::Gae, Negatives::Distance, By::PaperEdges(ALL), None),
    row("nearfar uniform", Model::Deepwalk, Negatives::Uniform, By::Stream, None),
    row("nearfar distance", Model::Deepwalk, Negatives::Distance, By::Stream, None),
    row("exact uniform", Model::Deepwalk, Negatives::Uniform, By::Exact, None),
    row("exact distance", Model::Deepwalk, Negatives::Distance, By::Exact, None),
];

/// The samplers of the ablation.
pub(crate) const ABLATION: [Row; 4] = [
    UNIFORM,
    DISTANCE,
    row("DeepWalk distance-min", Model::Deepwalk, Negatives::DistanceMin, By::Paper, None),
    row("DeepWalk distance-max", Model::Deepwalk, Negatives::DistanceMax, By::Paper, None),
];

/// A row of table 3: the row, its landmarks as a share of all nodes, and what the paper reports:
/// megabytes, seconds an epoch, F1.
pub(crate) struct Scaling {
    pub(crate) row: Row,
    pub(crate) landmarks: Option<f64>,
    pub(crate) paper: [f64; 3],
}

impl Scaling {
    pub(crate) fn name(&self) -> String {
        let name = self.row.name.trim_start_matches("DeepWalk ");
        self.landmarks.map_or("exact".to_owned(), |share| format!("{name}, p = {share} n"))
    }
}

pub(crate) fn table_3() -> Vec<Scaling> {
    let of = |at: usize, landmarks, paper| Scaling { row: TABLE_2[at], landmarks, paper };
    let (approx, landmark) = (8, 9);
    vec![
        of(approx, Some(0.1), [43.7, 1216.0, 0.64]),
        of(approx, Some(0.3), [256.4, 1357.0, 0.63]),
        of(approx, Some(0.5), [871.1, 1556.0, 0.63]),
        of(landmark, Some(0.1), [66.0, 108.0, 0.63]),
        of(landmark, Some(0.3), [239.7, 281.0, 0.64]),
        of(landmark, Some(0.5), [639.9, 655.0, 0.64]),
        Scaling { row: DISTANCE, landmarks: None, paper: [1500.0, 90.0, 0.63] },
    ]
}

impl Row {
    /// The settings of a row at a seed.
    pub(crate) fn settings(&self, seed: u64) -> Settings {
        let base = TrainConfig { model: self.model, seed, ..Default::default() };
        let train = match self.by {
            By::Stream => base,
            By::Exact => TrainConfig { trainer: Some(Trainer::Exact), ..base },
            By::Paper => TrainConfig {
                protocol: Some(Protocol::Paper),
                q: if self.model == Model::Node2vec { 4.0 } else { 1.0 },
                ..base
            },
            By::PaperEdges(batch) => TrainConfig {
                protocol: Some(Protocol::Paper),
                batch: Some(batch),
                epochs: Some(400),
                ..base
            },
        };
        // Table 2 has the figures of table 3 with a tenth of the nodes.
        let by_landmarks =
            matches!(self.negatives, Negatives::Landmark | Negatives::LandmarkApprox);
        let landmarks = by_landmarks.then_some(LandmarkCount::Fraction(0.1));
        let negatives =
            NegativeConfig { negatives: self.negatives, landmarks, ..Default::default() };
        Settings { negatives, train }
    }

    /// Whether it is trained on all pairs, which only small graphs are.
    pub(crate) fn takes_all_pairs(&self) -> bool {
        self.by == By::Exact
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_row_is_a_file_that_can_be_run() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let rows: Vec<Row> = TABLE_2.into_iter().chain(ABLATION).collect();
        let mut files: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
        for row in &rows {
            let file = folder.join(row.name.to_lowercase().replace(' ', "-") + ".toml");
            let mut settings = Settings::default();
            settings.merge(&file, |_| false).unwrap();
            assert_eq!(settings, row.settings(0), "{}", row.name);
            files.retain(|other| *other != file);
        }
        assert!(files.is_empty(), "no row: {files:?}");
    }
}
