//! A score over several runs.

/// Mean and standard deviation of a score over runs, and the score of every run.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MeanStd {
    /// Mean.
    pub mean: f64,
    /// Population standard deviation (divided by the number of runs, as in NumPy).
    pub std: f64,
    /// The score of every run.
    pub runs: Vec<f64>,
}

impl FromIterator<f64> for MeanStd {
    fn from_iter<I: IntoIterator<Item = f64>>(runs: I) -> Self {
        let runs: Vec<f64> = runs.into_iter().collect();
        let count = runs.len().max(1) as f64;
        let mean = runs.iter().sum::<f64>() / count;
        let variance = runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / count;
        Self { mean, std: variance.sqrt(), runs }
    }
}

impl std::fmt::Display for MeanStd {
    /// The mean, and the standard deviation if there are several runs: `0.6500 ± 0.0090`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.4}", self.mean)?;
        if self.runs.len() > 1 {
            write!(f, " ± {:.4}", self.std)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation() {
        let summary: MeanStd = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().collect();
        assert!((summary.mean - 5.0).abs() < 1e-15 && (summary.std - 2.0).abs() < 1e-15);
        assert_eq!(summary.to_string(), "5.0000 ± 2.0000");
        let one: MeanStd = [0.5].into_iter().collect();
        assert_eq!((one.std.to_bits(), one.to_string().as_str()), (0, "0.5000"));
    }
}
