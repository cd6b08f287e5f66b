//! The methods that the paper compares, with the scores that it reports.

use nearfar::negative::{LandmarkCount, NegativeConfig, Negatives};
use nearfar::train::{Model, Protocol, Settings, TrainConfig, Trainer};

/// The benchmark graphs, in the order of the columns of table 2.
pub(crate) const BENCHMARKS: [&str; 4] = ["citeseer", "cora", "pubmed", "ppi"];
/// The synthetic graphs.
pub(crate) const SYNTHETIC: [&str; 3] =
    ["synthetic-sparse", "synthetic-moderate", "synthetic-dense"];

/// A batch size above the number of nodes of every graph of the paper: one batch per epoch.
const FULL_BATCH: usize = 1_000_000;
/// The batch size of LINE: one step per epoch, 400 in all, is too few for an embedding table with
/// random initial values.
const LINE_BATCH: usize = 500;

/// Trainer and hyperparameters of a method.
#[derive(Clone, Copy, PartialEq)]
enum Preset {
    /// The paper's: Adam in batches of eight start nodes, 30 epochs.
    Paper,
    /// The paper's for models trained on edges: 400 epochs, batches of the edges of this many nodes.
    PaperEdges(usize),
    /// The stream trainer with its defaults, L2 regularisation included.
    Stream,
    /// The exact trainer with its defaults, L2 regularisation included.
    Exact,
}

/// An embedding method: a row of a table, a curve of a figure.
#[derive(Clone, Copy)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    model: Model,
    pub(crate) negatives: Negatives,
    preset: Preset,
    /// F1-macro in the paper, for [`BENCHMARKS`].
    pub(crate) paper: Option<[f64; 4]>,
}

const fn method(
    name: &'static str,
    model: Model,
    negatives: Negatives,
    preset: Preset,
    paper: Option<[f64; 4]>,
) -> Method {
    Method { name, model, negatives, preset, paper }
}

pub(crate) const UNIFORM: Method = method(
    "DeepWalk uniform",
    Model::Deepwalk,
    Negatives::Uniform,
    Preset::Paper,
    Some([0.51, 0.67, 0.58, 0.69]),
);
pub(crate) const DISTANCE: Method = method(
    "DeepWalk distance",
    Model::Deepwalk,
    Negatives::Distance,
    Preset::Paper,
    Some([0.61, 0.72, 0.63, 0.69]),
);
pub(crate) const GAE: Method = method(
    "GAE",
    Model::Gae,
    Negatives::Edge,
    Preset::PaperEdges(FULL_BATCH),
    Some([0.40, 0.61, 0.59, 0.68]),
);

/// The methods of table 2, followed by five that are not in the paper.
pub(crate) const TABLE_2: [Method; 15] = [
    GAE,
    method(
        "VGAE",
        Model::Vgae,
        Negatives::Edge,
        Preset::PaperEdges(FULL_BATCH),
        Some([0.39, 0.58, 0.60, 0.67]),
    ),
    method(
        "LINE",
        Model::Line,
        Negatives::Edge,
        Preset::PaperEdges(LINE_BATCH),
        Some([0.37, 0.52, 0.47, 0.68]),
    ),
    method(
        "node2vec uniform",
        Model::Node2vec,
        Negatives::Uniform,
        Preset::Paper,
        Some([0.43, 0.54, 0.56, 0.63]),
    ),
    method(
        "node2vec distance",
        Model::Node2vec,
        Negatives::Distance,
        Preset::Paper,
        Some([0.52, 0.62, 0.58, 0.64]),
    ),
    UNIFORM,
    method(
        "DeepWalk degree",
        Model::Deepwalk,
        Negatives::Degree,
        Preset::Paper,
        Some([0.47, 0.65, 0.54, 0.68]),
    ),
    DISTANCE,
    method(
        "DeepWalk landmark-approx",
        Model::Deepwalk,
        Negatives::LandmarkApprox,
        Preset::Paper,
        Some([0.59, 0.71, 0.64, 0.69]),
    ),
    method(
        "DeepWalk landmark",
        Model::Deepwalk,
        Negatives::Landmark,
        Preset::Paper,
        Some([0.57, 0.70, 0.63, 0.68]),
    ),
    method("GAE distance", Model::Gae, Negatives::Distance, Preset::PaperEdges(FULL_BATCH), None),
    method("nearfar uniform", Model::Deepwalk, Negatives::Uniform, Preset::Stream, None),
    method("nearfar distance", Model::Deepwalk, Negatives::Distance, Preset::Stream, None),
    method("exact uniform", Model::Deepwalk, Negatives::Uniform, Preset::Exact, None),
    method("exact distance", Model::Deepwalk, Negatives::Distance, Preset::Exact, None),
];

/// The methods of the ablation of bounded distances.
pub(crate) const ABLATION: [Method; 4] = [
    UNIFORM,
    DISTANCE,
    method("DeepWalk distance-min", Model::Deepwalk, Negatives::DistanceMin, Preset::Paper, None),
    method("DeepWalk distance-max", Model::Deepwalk, Negatives::DistanceMax, Preset::Paper, None),
];

/// A row of table 3.
pub(crate) struct LandmarkRow {
    pub(crate) method: Method,
    /// Landmarks as a fraction of the nodes; `None` for exact distances.
    pub(crate) landmarks: Option<f64>,
    /// Megabytes, seconds per epoch and F1 in the paper.
    pub(crate) paper: [f64; 3],
}

impl LandmarkRow {
    pub(crate) fn name(&self) -> String {
        let name = self.method.name.trim_start_matches("DeepWalk ");
        self.landmarks.map_or("exact".to_owned(), |fraction| format!("{name}, p = {fraction} n"))
    }
}

/// The rows of table 3.
pub(crate) fn table_3() -> Vec<LandmarkRow> {
    let of =
        |index: usize, landmarks, paper| LandmarkRow { method: TABLE_2[index], landmarks, paper };
    let (approx, landmark) = (8, 9);
    vec![
        of(approx, Some(0.1), [43.7, 1216.0, 0.64]),
        of(approx, Some(0.3), [256.4, 1357.0, 0.63]),
        of(approx, Some(0.5), [871.1, 1556.0, 0.63]),
        of(landmark, Some(0.1), [66.0, 108.0, 0.63]),
        of(landmark, Some(0.3), [239.7, 281.0, 0.64]),
        of(landmark, Some(0.5), [639.9, 655.0, 0.64]),
        LandmarkRow { method: DISTANCE, landmarks: None, paper: [1500.0, 90.0, 0.63] },
    ]
}

impl Method {
    /// The settings of a run with this seed.
    pub(crate) fn settings(&self, seed: u64) -> Settings {
        let base = TrainConfig { model: self.model, seed, ..Default::default() };
        let train = match self.preset {
            Preset::Stream => base,
            Preset::Exact => TrainConfig { trainer: Some(Trainer::Exact), ..base },
            Preset::Paper => TrainConfig {
                protocol: Some(Protocol::Paper),
                q: if self.model == Model::Node2vec { 4.0 } else { 1.0 },
                ..base
            },
            Preset::PaperEdges(batch) => TrainConfig {
                protocol: Some(Protocol::Paper),
                batch: Some(batch),
                epochs: Some(400),
                ..base
            },
        };
        // The scores of landmarks in table 2 are those of p = 0.1 n in table 3.
        let uses_landmarks =
            matches!(self.negatives, Negatives::Landmark | Negatives::LandmarkApprox);
        let landmarks = uses_landmarks.then_some(LandmarkCount::Fraction(0.1));
        let negatives =
            NegativeConfig { negatives: self.negatives, landmarks, ..Default::default() };
        Settings { train, negatives }
    }

    /// Whether it is trained on all pairs of nodes.
    pub(crate) fn is_exact(&self) -> bool {
        self.preset == Preset::Exact
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_method_has_a_config_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let methods: Vec<Method> = TABLE_2.into_iter().chain(ABLATION).collect();
        let mut files: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
        for method in &methods {
            let file = folder.join(method.name.to_lowercase().replace(' ', "-") + ".toml");
            let mut settings = Settings::default();
            settings.merge(&file, |_| false).unwrap();
            assert_eq!(settings, method.settings(0), "{}", method.name);
            files.retain(|other| *other != file);
        }
        assert!(files.is_empty(), "files without a method: {files:?}");
    }
}
