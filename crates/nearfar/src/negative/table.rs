//! Distance-aware negatives from a table of all hop distances.

use std::sync::Arc;

use rayon::prelude::*;

use super::law::DistanceLaw;
use super::other_components::OtherComponents;
use super::rejection::RejectionSampler;
use super::{HopArrays, HopRow, LawArrays, NegativeSampler};
use crate::budget::{product, sum};
use crate::distance::{Far, HopCell, HopRows};
use crate::error::{Error, Problem, Result};
use crate::graph::{Components, Graph, Node};
use crate::memory::prefetch;
use crate::rng::Rng;

/// P(k|i) ∝ d(i,k)^γ, by rejection in the centre's row of the hop table.
struct TableSampler<T> {
    hops: HopRows<T>,
    /// The weight of each cell value. A value of 0 means no path and has the weight of `far`.
    powers: Vec<f64>,
    rows: Vec<BoundedRow>,
    /// The nodes without a path to a centre, in an undirected graph.
    other_components: Option<OtherComponents>,
}

/// The distribution of one centre.
struct BoundedRow {
    /// The limits that weights are clamped to.
    low: f64,
    high: f64,
    sampler: RejectionSampler,
}

/// What is kept: the table with cells of this many bytes, and what is known of each row.
pub(super) fn kept_bytes(nodes: usize, cell: usize) -> u64 {
    sum([product([nodes, nodes, cell]), product([nodes, size_of::<BoundedRow>()])])
}

/// How often each distance occurs in each row, while the rows are prepared.
pub(super) fn count_bytes(nodes: usize, diameter: u32) -> u64 {
    product([nodes, size_of::<Vec<u32>>() + 4 * (diameter as usize + 1)])
}

/// Measures all distances, by so many searches at a time, and prepares every row.
pub(super) fn build(
    graph: &Arc<Graph>,
    components: &Components,
    law: DistanceLaw,
    far: Far,
    cell: usize,
    searches: usize,
) -> Result<Box<dyn NegativeSampler>> {
    if cell == 1
        && let Some(hops) = measure::<u8>(graph, far, searches)
    {
        return Ok(Box::new(TableSampler::new(hops, graph, components, law, far)?));
    }
    if let Some(hops) = measure::<u16>(graph, far, searches) {
        return Ok(Box::new(TableSampler::new(hops, graph, components, law, far)?));
    }
    let problem = Problem::from("a distance exceeds 65 535 hops, the most that a hop table holds");
    let problem = problem.set("strategy", "levels").set("negatives", "landmark-approx");
    Err(Error::graph(problem))
}

/// The distances between all nodes. `None` if one does not fit a cell.
fn measure<T: HopCell>(graph: &Arc<Graph>, far: Far, searches: usize) -> Option<HopRows<T>> {
    let nodes: Vec<Node> = (0..graph.nodes() as Node).collect();
    let hops = HopRows::new(graph, &nodes, None, searches)?;
    match far {
        Far::Undirected => hops.or_in(&graph.to_undirected(), searches),
        Far::Auto | Far::Hops(_) | Far::Length(_) => Some(hops),
    }
}

impl<T: HopCell> TableSampler<T> {
    fn new(
        hops: HopRows<T>,
        graph: &Graph,
        components: &Components,
        law: DistanceLaw,
        far: Far,
    ) -> Result<Self> {
        let n = graph.nodes();
        let counts: Vec<Vec<u32>> =
            (0..n).into_par_iter().map(|centre| count_cells(hops.row(centre))).collect();
        let largest = counts.iter().map(Vec::len).max().unwrap_or(1) as u32 - 1;
        let far = match far {
            Far::Auto | Far::Undirected => largest + 1,
            Far::Hops(_) | Far::Length(_) => far.hops(graph, components),
        };
        let is_connected = components.len() <= 1 && !graph.is_directed();
        let scale = largest.max(if is_connected { 0 } else { far });
        let mut powers: Vec<f64> = (0..=largest).map(|d| law.power(d, scale)).collect();
        powers[0] = law.far_power(far, scale)?;
        let rows = (0..n)
            .into_par_iter()
            .map(|centre| {
                let grouped = !graph.is_directed();
                BoundedRow::new(&hops, centre, &counts[centre], &powers, law, grouped)
            })
            .collect();
        let other_components = (!graph.is_directed()).then(|| OtherComponents::new(components, n));
        Ok(Self { hops, powers, rows, other_components })
    }
}

impl BoundedRow {
    /// `grouped`: whether the nodes without a path are one heavy item, not one each.
    fn new<T: HopCell>(
        hops: &HopRows<T>,
        centre: usize,
        counts: &[u32],
        powers: &[f64],
        law: DistanceLaw,
        grouped: bool,
    ) -> Self {
        let n = hops.row(centre).len();
        // The centre's own cell is 0 too, and is not counted.
        let others = |value: usize| f64::from(counts[value]) - f64::from(u8::from(value == 0));
        let mass = (0..counts.len()).map(|value| others(value) * powers[value]).sum();
        let (low, high) = law.limits(mass, n);
        let weight = |value: usize| powers[value].max(low).min(high);
        let groups = (0..counts.len()).map(|value| (others(value), weight(value)));
        let sampler = RejectionSampler::new(groups, |cutoff| {
            let row = hops.row(centre).iter().enumerate();
            let single = row.filter(|&(k, cell)| cell.index() > 0 || (!grouped && k != centre));
            let mut heavy: Vec<(u32, f64)> = single
                .map(|(k, cell)| (k as u32, weight(cell.index())))
                .filter(|&(_, weight)| weight > cutoff)
                .collect();
            if grouped && others(0) > 0.0 && weight(0) > cutoff {
                heavy.push((OtherComponents::ITEM, others(0) * weight(0)));
            }
            heavy
        });
        Self { low, high, sampler }
    }
}

impl<T: HopCell> NegativeSampler for TableSampler<T> {
    /// A row comes from memory at its first use.
    fn prefers_batches(&self) -> bool {
        true
    }

    /// Many draws touch most of a row. Prefetching it in order is faster than random misses.
    fn fill_each(&self, centre: Node, lists: &mut [(Rng, &mut [Node])]) {
        let row = self.hops.row(centre as usize);
        let line = 64 / size_of::<T>();
        let draws: usize = lists.iter().map(|(_, out)| out.len()).sum();
        if draws > row.len() / line / 2 {
            (0..row.len()).step_by(line).for_each(|index| prefetch(row, index));
        }
        for (rng, out) in lists {
            self.fill(centre, rng, out);
        }
    }

    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let hops = self.hops.row(centre as usize);
        let BoundedRow { low, high, sampler } = &self.rows[centre as usize];
        sampler.fill(
            rng,
            out,
            |rng| {
                let (k, unit) = rng.index_and_unit(hops.len());
                (k as Node, unit)
            },
            |k| {
                let power = self.powers[hops[k as usize].index()];
                if k == centre { 0.0 } else { power.max(*low).min(*high) }
            },
            |rng, item| match &self.other_components {
                Some(others) if item == OtherComponents::ITEM => others.draw(centre, rng),
                _ => item,
            },
        );
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        let BoundedRow { low, high, .. } = self.rows[centre as usize];
        for (weight, cell) in out.iter_mut().zip(self.hops.row(centre as usize)) {
            *weight = self.powers[cell.index()].max(low).min(high);
        }
        out[centre as usize] = 0.0;
    }

    /// Rows with a list of heavy items are left out.
    fn arrays(&self) -> Option<LawArrays<'_>> {
        let row = |row: &BoundedRow| HopRow {
            low: row.low,
            high: row.high,
            bound: row.sampler.bound().unwrap_or(0.0),
        };
        Some(LawArrays::Hops(HopArrays {
            cells: self.hops.cells(),
            powers: &self.powers,
            rows: self.rows.iter().map(row).collect(),
        }))
    }
}

/// The number of cells of a row with each value.
fn count_cells<T: HopCell>(row: &[T]) -> Vec<u32> {
    let largest = row.iter().copied().max().unwrap_or_default();
    if largest.index() < 64 {
        // One pass per value with one-byte counters vectorises to sixteen or more cells at a time.
        let equal =
            |chunk: &[T], value| chunk.iter().map(|&cell| u8::from(cell == value)).sum::<u8>();
        let count = |value| row.chunks(255).map(|chunk| u32::from(equal(chunk, value))).sum();
        return (0..=largest.index() as u32).map(|hops| count(T::from_hops(hops))).collect();
    }
    let mut counts = vec![0; largest.index() + 1];
    for cell in row {
        counts[cell.index()] += 1;
    }
    counts
}
