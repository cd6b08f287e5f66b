//! Negative samples for other training loops.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nearfar::Budget;
use nearfar::graph::Node;
use nearfar::negative::{Demand, NegativeConfig, NegativePlan, NegativeSampler as Law, Strategy};
use nearfar::rng::{Purpose, Rng};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::graph::{Graph, Rows};
use crate::options::{Memory, Options, Seed, Threads, check};
use crate::work;

/// Fewer draws than this take less time than starting threads.
const FEW: usize = 1 << 15;

/// A negative sampler.
#[pyclass(frozen, module = "nearfar._nearfar")]
pub(crate) struct NegativeSampler {
    nodes: usize,
    law: Arc<dyn Law>,
    plan: NegativePlan,
    seed: u64,
    threads: Option<usize>,
    calls: AtomicU64,
}

#[pymethods]
impl NegativeSampler {
    /// Builds the sampler.
    #[new]
    fn new(py: Python<'_>, graph: &Graph, options: &str) -> PyResult<Self> {
        let mut options = Options::parse(options)?;
        let config = options.put(NegativeConfig::default())?;
        let Seed { seed } = options.put(Seed::default())?;
        let Threads { threads } = options.put(Threads::default())?;
        let memory = options.put(Memory::default())?.bytes()?;
        options.end()?;
        check(config.validate())?;
        let budget = Budget { memory, ..Default::default() };
        let graph = Arc::clone(&graph.shared);
        let nodes = graph.nodes();
        let (plan, law) = work::run(py, threads, None, move |_| {
            let plan = NegativePlan::new(&graph, &config, &budget, &Demand::default())?;
            let law = plan.build(&graph)?;
            Ok((plan, law))
        })?;
        Ok(Self { nodes, law: law.into(), plan, seed, threads, calls: AtomicU64::new(0) })
    }

    /// A sampler of the same law after some calls of `sample`, in the stream that `path` leads to: each
    /// index names one of the streams of the stream before.
    fn stream(&self, path: Vec<u64>, calls: u64) -> Self {
        let child = |seed, index| Rng::new(seed, Purpose::Process, index, 0).bits();
        Self {
            nodes: self.nodes,
            law: Arc::clone(&self.law),
            plan: self.plan.clone(),
            seed: path.into_iter().fold(self.seed, child),
            threads: self.threads,
            calls: calls.into(),
        }
    }

    /// The name of the law.
    #[getter]
    fn negatives(&self) -> &'static str {
        self.plan.law.name()
    }

    /// The law and how it is drawn.
    #[getter]
    fn summary(&self) -> String {
        self.plan.summary()
    }

    /// The number of calls of `sample`.
    #[getter]
    fn calls(&self) -> u64 {
        self.calls.load(Relaxed)
    }

    /// Draws `k` negatives of each centre. The result depends on the seed, the number of the call, and
    /// the index of a centre; with a seed of its own, the call is the first one of that seed, and does
    /// not count.
    #[pyo3(signature = (centres, k, seed=None))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        centres: Rows<'_>,
        k: usize,
        seed: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let centres = centres.read(Some(self.nodes))?;
        if let Some(&centre) = centres.iter().find(|&&centre| !self.law.has_negatives(centre)) {
            return Err(PyValueError::new_err(format!(
                "row {centre}: the node is adjacent to all others and has no negatives by '{}'",
                self.negatives()
            )));
        }
        let (count, law) = (centres.len(), Arc::clone(&self.law));
        let (seed, call) =
            seed.map_or_else(|| (self.seed, self.calls.fetch_add(1, Relaxed)), |seed| (seed, 0));
        let mut negatives = vec![0; count * k];
        let draw = move |buffer: &mut Vec<Node>, (at, out): (usize, &mut [i64])| {
            buffer.resize(k, 0);
            law.fill(centres[at], &mut Rng::new(seed, Purpose::Negative, call, at as u64), buffer);
            out.iter_mut().zip(buffer).for_each(|(out, node)| *out = i64::from(*node));
        };
        // With levels, every centre needs a search of the whole graph.
        if negatives.len() < FEW && self.plan.strategy != Some(Strategy::Levels) {
            let mut buffer = Vec::new();
            negatives.chunks_mut(k.max(1)).enumerate().for_each(|each| draw(&mut buffer, each));
        } else {
            negatives = work::run(py, self.threads, None, move |_| {
                let each = negatives.par_chunks_mut(k.max(1)).enumerate();
                each.for_each_init(Vec::new, draw);
                Ok(negatives)
            })?;
        }
        PyArray1::from_vec(py, negatives).reshape([count, k])
    }
}
