//! Distance-aware negatives from a table of all distances.

use rayon::prelude::*;

use super::law::DistanceLaw;
use super::other_components::Outside;
use super::rejection::Row;
use super::{NegativeSampler, Negatives};
use crate::distance::{Far, HopCell, HopRows, HopTable};
use crate::error::{Error, Result};
use crate::graph::{Components, Graph, Node};
use crate::memory::prefetch;
use crate::rng::Rng;

/// P(k|i) ∝ d(i,k)^γ, by rejection in the centre's row of the hop table.
pub(super) struct Table<T> {
    law: DistanceLaw,
    hops: HopRows<T>,
    /// The weight of each cell value; that of 0, no path, is the weight of `far`.
    powers: Vec<f64>,
    rows: Vec<BoundedRow>,
    outside: Outside,
}

struct BoundedRow {
    low: f64,
    high: f64,
    row: Row,
}

/// The memory of the table with cells of this many bytes.
pub(super) fn bytes(nodes: usize, cell: u64) -> u64 {
    let n = nodes as u64;
    n * n * cell + n * size_of::<BoundedRow>() as u64
}

/// Measures all distances and prepares every row.
pub(super) fn build(
    graph: &Graph,
    components: &Components,
    law: DistanceLaw,
    far: Far,
) -> Result<Box<dyn NegativeSampler>> {
    match HopTable::new(graph) {
        Some(HopTable::U8(hops)) => Ok(Box::new(Table::new(hops, graph, components, law, far)?)),
        Some(HopTable::U16(hops)) => Ok(Box::new(Table::new(hops, graph, components, law, far)?)),
        None => Err(Error::Graph(
            "a distance is over 65 535 hops, more than the table holds; use --strategy levels or \
             --negatives landmark-approx"
                .to_owned(),
        )),
    }
}

impl<T: HopCell> Table<T> {
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
            Far::Auto => largest + 1,
            Far::Hops(hops) => hops,
        };
        let scale = largest.max(if components.len() > 1 { far } else { 0 });
        let mut powers: Vec<f64> = (0..=largest).map(|d| law.power(d, scale)).collect();
        powers[0] = law.far_power(far, scale)?;
        let rows = (0..n)
            .into_par_iter()
            .map(|centre| BoundedRow::new(&hops, centre, &counts[centre], &powers, law))
            .collect();
        Ok(Self { law, hops, powers, rows, outside: Outside::new(components, n) })
    }
}

impl BoundedRow {
    fn new<T: HopCell>(
        hops: &HopRows<T>,
        centre: usize,
        counts: &[u32],
        powers: &[f64],
        law: DistanceLaw,
    ) -> Self {
        let n = hops.row(centre).len();
        // The centre's own cell is 0 too.
        let others = |value: usize| f64::from(counts[value]) - f64::from(u8::from(value == 0));
        let mass = (0..counts.len()).map(|value| others(value) * powers[value]).sum();
        let (low, high) = law.limits(mass, n);
        let weight = |value: usize| powers[value].max(low).min(high);
        let row = Row::new((0..counts.len()).map(|value| (others(value), weight(value))), |cut| {
            let row = hops.row(centre).iter().enumerate();
            let reached = row.filter(|(_, cell)| cell.index() > 0);
            let mut heavy: Vec<(u32, f64)> = reached
                .map(|(k, cell)| (k as u32, weight(cell.index())))
                .filter(|&(_, weight)| weight > cut)
                .collect();
            if others(0) > 0.0 && weight(0) > cut {
                heavy.push((Outside::ITEM, others(0) * weight(0)));
            }
            heavy
        });
        Self { low, high, row }
    }
}

impl<T: HopCell> NegativeSampler for Table<T> {
    /// A row comes from memory at its first use.
    fn visits_are_slow(&self) -> bool {
        true
    }

    /// Many draws come to most of a row. Asked for from end to end it comes sooner than at random.
    fn fill_each(&self, centre: Node, lists: &mut [(Rng, &mut [Node])]) {
        let row = self.hops.row(centre as usize);
        let line = 64 / size_of::<T>();
        let draws: usize = lists.iter().map(|(_, out)| out.len()).sum();
        if draws > row.len() / line / 2 {
            (0..row.len()).step_by(line).for_each(|at| prefetch(row, at));
        }
        for (rng, out) in lists {
            self.fill(centre, rng, out);
        }
    }

    fn fill(&self, centre: Node, rng: &mut Rng, out: &mut [Node]) {
        let hops = self.hops.row(centre as usize);
        let BoundedRow { low, high, row } = &self.rows[centre as usize];
        row.fill(
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
            |rng, item| match item {
                Outside::ITEM => self.outside.draw(centre, rng),
                k => k,
            },
        );
    }

    fn law(&self) -> Negatives {
        self.law.name()
    }

    fn weights(&self, centre: Node, out: &mut [f64]) {
        let BoundedRow { low, high, .. } = self.rows[centre as usize];
        for (weight, cell) in out.iter_mut().zip(self.hops.row(centre as usize)) {
            *weight = self.powers[cell.index()].max(low).min(high);
        }
        out[centre as usize] = 0.0;
    }
}

/// How often each value stands in a row.
fn count_cells<T: HopCell>(row: &[T]) -> Vec<u32> {
    let largest = row.iter().copied().max().unwrap_or_default();
    if largest.index() < 64 {
        // A pass for each value, in counts of one byte, takes sixteen or more cells at a time.
        let equal =
            |part: &[T], value| part.iter().map(|&cell| u8::from(cell == value)).sum::<u8>();
        let count = |value| row.chunks(255).map(|part| u32::from(equal(part, value))).sum();
        return (0..=largest.index() as u32).map(|hops| count(T::from_hops(hops))).collect();
    }
    let mut counts = vec![0; largest.index() + 1];
    for cell in row {
        counts[cell.index()] += 1;
    }
    counts
}
