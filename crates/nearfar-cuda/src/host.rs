//! What is drawn on the host, as the device has no arrays for it: walks of second order or with sliding
//! windows, negatives of other laws, and of single centres that a law's arrays leave out.

use nearfar::graph::Node;
use nearfar::negative::NegativeSampler;
use nearfar::positive::PositiveSource;
use nearfar::rng::{Purpose, Rng};
use nearfar::train::TrainPlan;
use rayon::prelude::*;

use crate::shape::{Pass, SKIP, Shape};

/// Draws on the host.
pub(crate) struct Host<'a> {
    positives: Box<dyn PositiveSource>,
    negatives: &'a dyn NegativeSampler,
    length: usize,
    /// Whether walks are taken here.
    walks: bool,
    /// Whose negatives are drawn here.
    centres: Vec<Node>,
}

/// What was drawn for a pass.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    /// The windows of each node, if walks are taken here.
    pub(crate) windows: Option<Windows>,
    /// The centres whose negatives follow.
    pub(crate) centres: Vec<Node>,
    /// Where the negatives of each centre begin, and the end.
    pub(crate) starts: Vec<u64>,
    /// Entries of negatives, window by window.
    pub(crate) negatives: Vec<u32>,
}

/// The windows of all nodes.
#[derive(Debug)]
pub(crate) struct Windows {
    /// How many each node is the centre of.
    pub(crate) counts: Vec<u32>,
    /// Entries of their contexts, by centre.
    pub(crate) contexts: Vec<u32>,
}

/// Start nodes whose walks are taken together.
const STARTS: usize = 4096;

impl<'a> Host<'a> {
    /// What is not drawn on the device.
    pub(crate) fn new(
        plan: &TrainPlan,
        positives: Box<dyn PositiveSource>,
        negatives: &'a dyn NegativeSampler,
        walks: bool,
        centres: Vec<Node>,
    ) -> Self {
        Self { positives, negatives, length: plan.length, walks, centres }
    }

    /// Draws for a pass.
    pub(crate) fn draw(&self, shape: Shape, pass: Pass) -> Drawn {
        let windows = self.walks.then(|| self.windows(shape, pass));
        if self.centres.is_empty() {
            return Drawn { windows, ..Drawn::default() };
        }
        let count = |&node: &Node| match &windows {
            Some(windows) => u64::from(windows.counts[node as usize]),
            None => self.stream(pass, node).0 as u64,
        };
        let k = shape.negatives;
        let counts: Vec<u64> = self.centres.par_iter().map(count).collect();
        let mut starts = vec![0];
        starts.extend(counts.iter().scan(0, |end, count| {
            *end += count * k as u64;
            Some(*end)
        }));
        let draw = |(&node, &count): (&Node, &u64)| {
            let mut out = vec![0; count as usize * k];
            if shape.nodes < 2 || !self.negatives.has_negatives(node) {
                out.fill(SKIP);
                return out;
            }
            let mut rng = Rng::new(pass.seed, Purpose::Negative, pass.number, u64::from(node));
            self.negatives.fill(node, &mut rng, &mut out);
            for k in &mut out {
                *k *= 2;
            }
            out
        };
        let lists: Vec<Vec<u32>> = self.centres.par_iter().zip(&counts).map(draw).collect();
        Drawn { windows, centres: self.centres.clone(), starts, negatives: lists.concat() }
    }

    /// The number of walks from a node, and their stream.
    fn stream(&self, pass: Pass, node: Node) -> (usize, Rng) {
        let mut rng = Rng::new(pass.seed, Purpose::Walk, pass.number, u64::from(node));
        (self.positives.walks_from(node, pass.walks as usize, &mut rng), rng)
    }

    /// Windows that slide along walks from any start, by centre.
    fn windows(&self, shape: Shape, pass: Pass) -> Windows {
        let (length, width) = (self.length, shape.contexts + 1);
        let starts: Vec<Node> = (0..shape.nodes as Node).collect();
        let walks: Vec<Vec<Node>> = starts
            .par_chunks(STARTS)
            .map(|starts| {
                let mut walks = Vec::new();
                for &start in starts {
                    let (count, mut rng) = self.stream(pass, start);
                    for _ in 0..count {
                        let from = walks.len();
                        walks.resize(from + length, 0);
                        self.positives.walks(&[start], &mut [rng.split()], &mut walks[from..]);
                    }
                }
                walks
            })
            .collect();
        let windows = || {
            let walks = walks.iter().flat_map(|walks| walks.chunks_exact(length));
            walks.flat_map(|walk| walk.windows(width))
        };
        let mut counts = vec![0_u32; shape.nodes];
        windows().for_each(|window| counts[window[0] as usize] += 1);
        let mut next: Vec<usize> = counts
            .iter()
            .scan(0, |end, &count| {
                let start = *end;
                *end += count as usize;
                Some(start)
            })
            .collect();
        let total = counts.iter().map(|&count| count as usize).sum::<usize>();
        let mut contexts = vec![SKIP; total * shape.contexts];
        for window in windows() {
            let next = &mut next[window[0] as usize];
            let out = &mut contexts[*next * shape.contexts..][..shape.contexts];
            for (out, step) in out.iter_mut().zip(window.windows(2)) {
                if step[1] != window[0] && step[1] != step[0] {
                    *out = 2 * step[1] + 1;
                }
            }
            *next += 1;
        }
        Windows { counts, contexts }
    }
}
