//! The kernels in plain Rust, value for value: what they are tested against, and what trains where there
//! is no GPU to develop on.

mod sampling;
mod training;

use nearfar::Result;
use nearfar::graph::Node;
use nearfar::negative::LawArrays;
use nearfar::positive::WalkArrays;
use rayon::prelude::*;

use crate::engine::{Engine, Totals};
use crate::host::Drawn;
use crate::shape::{Pass, SCALE, Shape, Step};
use sampling::{Law, Pairs, Walks};
use training::{Lists, RowTotals, train_row};

/// Trains on the CPU as the GPU does.
pub(crate) struct Twin {
    shape: Shape,
    /// Parts of the other rows, over which terms are summed one after the other.
    parts: usize,
    walks: Option<Walks>,
    law: Option<Law>,
    pairs: Pairs,
    vectors: Vec<f32>,
    contexts: Option<Vec<f32>>,
    totals: RowTotals,
}

impl Twin {
    /// Copies what passes are sampled from.
    pub(crate) fn new(
        shape: Shape,
        walks: Option<&WalkArrays<'_>>,
        law: Option<&LawArrays<'_>>,
        parts: usize,
    ) -> Self {
        Self {
            shape,
            parts,
            walks: walks.map(Walks::new),
            law: law.map(Law::new),
            pairs: Pairs::default(),
            vectors: Vec::new(),
            contexts: None,
            totals: RowTotals::default(),
        }
    }

    /// The new rows of a table, and what they add to the totals.
    fn rows<'a>(
        &self,
        own: &[f32],
        others: &[f32],
        lists: impl Fn(usize) -> Lists<'a> + Sync,
        step: Step,
    ) -> (Vec<f32>, RowTotals) {
        let mut out = vec![0.0; own.len()];
        let rows = out.par_chunks_exact_mut(self.shape.stride).enumerate();
        let train = |(row, out): (usize, &mut [f32])| {
            train_row(row, own, others, out, lists(row), step, self.parts)
        };
        let totals = rows.map(train).reduce(RowTotals::default, RowTotals::and);
        (out, totals)
    }
}

impl RowTotals {
    fn and(self, other: Self) -> Self {
        Self {
            pairs: self.pairs + other.pairs,
            loss: self.loss + other.loss,
            diverged: self.diverged | other.diverged,
        }
    }
}

impl Engine for Twin {
    fn set(&mut self, vectors: &[f32], contexts: Option<&[f32]>) -> Result<()> {
        self.vectors = vectors.to_vec();
        self.contexts = contexts.map(<[f32]>::to_vec);
        Ok(())
    }

    fn sample(&mut self, pass: Pass, drawn: &Drawn) -> Result<()> {
        self.pairs = Pairs::sample(self.shape, pass, self.walks.as_ref(), self.law.as_ref(), drawn);
        Ok(())
    }

    fn step(&mut self, batch: usize, step: Step) -> Result<()> {
        let (starts, incoming) = self.pairs.incoming(self.shape, batch);
        let (n, slots) = (self.shape.nodes, self.shape.slots());
        let of_windows = |row: usize| {
            let range = &self.pairs.starts[batch * n + row..][..2];
            &self.pairs.entries[range[0] as usize * slots..range[1] as usize * slots]
        };
        let incoming = |row: usize| &incoming[starts[row] as usize..starts[row + 1] as usize];
        let vectors = &self.vectors;
        let totals;
        if let Some(contexts) = &self.contexts {
            let lists = |row| Lists { of_windows: of_windows(row), incoming: &[] };
            let (new, of_centres) = self.rows(vectors, contexts, lists, step);
            let lists = |row| Lists { of_windows: &[], incoming: incoming(row) };
            let (new_contexts, of_contexts) = self.rows(contexts, vectors, lists, step);
            totals = of_centres.and(of_contexts);
            (self.vectors, self.contexts) = (new, Some(new_contexts));
        } else {
            let lists = |row| Lists { of_windows: of_windows(row), incoming: incoming(row) };
            (self.vectors, totals) = self.rows(vectors, vectors, lists, step);
        }
        self.totals = self.totals.and(totals);
        Ok(())
    }

    fn totals(&mut self) -> Result<Totals> {
        let RowTotals { pairs, loss, diverged } = std::mem::take(&mut self.totals);
        let loss = if diverged { f64::NAN } else { loss as f64 / f64::from(SCALE) };
        Ok(Totals { pairs, loss })
    }

    fn some_rows(&self, every: usize) -> Result<Vec<f32>> {
        let rows = self.vectors.chunks_exact(self.shape.stride).step_by(every);
        Ok(rows.flatten().copied().collect())
    }

    fn vectors(&self) -> Result<Vec<f32>> {
        Ok(self.vectors.clone())
    }

    fn contexts(&self) -> Result<Option<Vec<f32>>> {
        Ok(self.contexts.clone())
    }

    fn entries(&self) -> Result<Vec<(Node, Vec<u32>)>> {
        let slots = self.shape.slots();
        let of = |node: Node| {
            let windows = self.pairs.windows(self.shape, node).into_iter();
            windows
                .flat_map(|window| self.pairs.entries[window * slots..][..slots].to_vec())
                .collect()
        };
        Ok((0..self.shape.nodes as Node).map(|node| (node, of(node))).collect())
    }
}
