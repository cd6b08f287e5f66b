//! The size of the experiments: seeds, graphs and parameter values, and the reduced version that
//! `--quick` runs.

use nearfar::train::Settings;

use crate::methods::Method;

/// Epochs of walk-based methods on PubMed. The paper trains 30; on PubMed the scores show no trend
/// after the third, and 30 epochs would take half of the total time.
pub(crate) const PUBMED_EPOCHS: usize = 10;

/// Which graphs, seeds and parameter values are run.
pub(crate) struct Grid {
    /// Seeds per entry of a table.
    pub(crate) seeds: u64,
    /// Run the reduced version.
    pub(crate) quick: bool,
}

impl Grid {
    /// Whether table 2 includes a graph.
    pub(crate) fn includes(&self, graph: &str) -> bool {
        !self.quick || ["citeseer", "cora"].contains(&graph)
    }

    /// Whether a method is run on a graph: the exact trainer would take hours on PubMed.
    pub(crate) fn supports(method: &Method, graph: &str) -> bool {
        graph != "pubmed" || !method.is_exact()
    }

    /// Number of seeds on a graph: fewer in sweeps and on PubMed.
    pub(crate) fn seeds(&self, graph: &str, sweep: bool) -> u64 {
        let most = match (self.quick, graph, sweep) {
            (true, ..) => 1,
            (_, "pubmed", _) => 2,
            (.., true) => 3,
            _ => self.seeds,
        };
        self.seeds.min(most)
    }

    /// Contexts of the context sweep.
    pub(crate) fn contexts(&self) -> Vec<usize> {
        if self.quick { vec![2, 4] } else { vec![2, 3, 4, 6, 8, 11, 15] }
    }

    /// Contexts of the sweeps over γ and over the bounds.
    pub(crate) fn coarse_contexts(&self) -> Vec<usize> {
        if self.quick { vec![2, 4] } else { vec![2, 4, 10] }
    }

    /// Exponents of the distance.
    pub(crate) fn gammas(&self) -> Vec<f64> {
        if self.quick { vec![0.0, 1.0] } else { vec![0.0, 0.25, 0.5, 0.75, 1.0, 1.25] }
    }

    /// Numbers of outliers.
    pub(crate) fn outliers(&self) -> Vec<usize> {
        if self.quick { vec![0, 20] } else { vec![0, 10, 20, 40, 60, 80] }
    }

    /// The settings, with a third of the paper's epochs on PubMed, or with few epochs and walks
    /// in the reduced version.
    pub(crate) fn adjust(&self, mut settings: Settings, graph: &str) -> Settings {
        let train = &mut settings.train;
        let by_walks = train.protocol.is_some() && train.batch.is_none();
        if self.quick {
            if by_walks {
                train.walks = Some(6);
            }
            if train.protocol.is_some() {
                let epochs = train.epochs.unwrap_or(train.defaults().epochs);
                train.epochs = Some(epochs.div_ceil(10).max(4));
            }
        } else if by_walks && graph == "pubmed" {
            train.epochs = Some(PUBMED_EPOCHS);
        }
        settings
    }
}
