//! What exact distances take, and the choice between a table and searches.

use super::config::{NegativeConfig, Strategy};
use super::plan::Demand;
use crate::budget::{Budget, format_bytes, format_seconds, sum};
use crate::distance::Far;

/// What exact distances take.
pub(super) struct Costs {
    /// The table, in messages.
    pub(super) what: &'static str,
    /// Bytes of the table, and at the least while it is built.
    pub(super) kept: u64,
    pub(super) least: u64,
    /// Seconds of the table, and of the searches without one, if their number is known.
    pub(super) table_seconds: f64,
    pub(super) levels_seconds: Option<f64>,
}

impl Costs {
    /// The faster of table and searches that fits; the error says why neither does.
    pub(super) fn strategy(
        &self,
        config: &NegativeConfig,
        budget: &Budget,
        demand: &Demand,
    ) -> Result<Strategy, String> {
        let Self { what, kept, least, table_seconds, levels_seconds } = *self;
        let reserved = sum([demand.training, demand.ahead]);
        let table_fits = least <= budget.memory
            && kept.saturating_add(reserved) <= budget.memory
            && table_seconds <= budget.seconds;
        let levels_fit = config.far != Far::Undirected
            && levels_seconds.is_some_and(|seconds| seconds <= budget.seconds);
        let levels_first = levels_seconds.is_some_and(|seconds| seconds < table_seconds);
        match config.strategy {
            Strategy::Auto if levels_fit && (levels_first || !table_fits) => Ok(Strategy::Levels),
            Strategy::Auto if table_fits => Ok(Strategy::Table),
            Strategy::Auto => {
                let beside = if kept <= budget.memory && reserved > 0 {
                    format!(" beside the {} of training", format_bytes(reserved))
                } else {
                    String::new()
                };
                Err(format!(
                    "{what} needs {}{beside} and about {}; {} and {} are allowed",
                    format_bytes(least),
                    format_seconds(table_seconds),
                    format_bytes(budget.memory),
                    format_seconds(budget.seconds),
                ))
            }
            forced => Ok(forced),
        }
    }
}
