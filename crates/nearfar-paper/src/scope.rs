//! How much is run: seeds, graphs, points on curves, and what is left of them in a hurry.

use nearfar::train::Settings;

use crate::rows::Row;

/// The paper has 30. On PubMed scores go up and down without a trend from the third on, and with 30
/// half of the whole would go there.
pub(crate) const PUBMED_EPOCHS: usize = 10;

pub(crate) struct Scope {
    /// Seeds in the tables.
    pub(crate) seeds: u64,
    /// A small version of everything.
    pub(crate) quick: bool,
}

impl Scope {
    /// Whether there is time for a graph in table 2.
    pub(crate) fn takes(&self, graph: &str) -> bool {
        !self.quick || ["citeseer", "cora"].contains(&graph)
    }

    /// Whether a row can be trained on a graph: all pairs of PubMed would take hours.
    pub(crate) fn can(row: &Row, graph: &str) -> bool {
        graph != "pubmed" || !row.takes_all_pairs()
    }

    /// Seeds for a graph: fewer in sweeps, fewer on PubMed.
    pub(crate) fn seeds(&self, graph: &str, sweep: bool) -> u64 {
        let most = match (self.quick, graph, sweep) {
            (true, ..) => 1,
            (_, "pubmed", _) => 2,
            (.., true) => 3,
            _ => self.seeds,
        };
        self.seeds.min(most)
    }

    pub(crate) fn contexts(&self) -> Vec<usize> {
        if self.quick { vec![2, 4] } else { vec![2, 3, 4, 6, 8, 11, 15] }
    }

    pub(crate) fn few_contexts(&self) -> Vec<usize> {
        if self.quick { vec![2, 4] } else { vec![2, 4, 10] }
    }

    pub(crate) fn gammas(&self) -> Vec<f64> {
        if self.quick { vec![0.0, 1.0] } else { vec![0.0, 0.25, 0.5, 0.75, 1.0, 1.25] }
    }

    pub(crate) fn outliers(&self) -> Vec<usize> {
        if self.quick { vec![0, 20] } else { vec![0, 10, 20, 40, 60, 80] }
    }

    /// Settings as they are, with a third of the paper's epochs on PubMed, or with few epochs of few
    /// walks.
    pub(crate) fn adjusted(&self, mut settings: Settings, graph: &str) -> Settings {
        let train = &mut settings.train;
        let by_walks = train.protocol.is_some() && train.batch.is_none();
        if self.quick {
            if by_walks {
                train.walks = Some(6);
            }
            if train.protocol.is_some() {
                train.epochs = Some(train.epochs().div_ceil(10).max(4));
            }
        } else if by_walks && graph == "pubmed" {
            train.epochs = Some(PUBMED_EPOCHS);
        }
        settings
    }
}
