//! The repulsive forces of t-SNE by the Barnes–Hut approximation.
//!
//! With q_ij = 1 / (1 + ‖y_i − y_j‖²), t-SNE needs Σ_j q_ij and Σ_j q_ij² (y_i − y_j) for every i.
//! Points are sorted along a Z-order curve into a quadtree; a cell with few points is a leaf. From far
//! away, a cell acts as if all its points were at their centre of mass (Barnes and Hut, *A
//! hierarchical O(N log N) force-calculation algorithm*, 1986).
//!
//! The interaction list is built once per leaf, by the distance from its bounding box, and evaluated
//! for each of its points with SIMD.
//! The order of every sum depends only on the points.

use rayon::prelude::*;

/// A cell is far if its side is at most this fraction of its distance.
const THETA: f32 = 0.5;
/// Most points of a leaf.
const LEAF: usize = 16;
/// Depth of the quadtree.
const DEPTH: u32 = 16;
const LANES: usize = 16;

/// The repulsion of one point by all others: Σ q² (y_i − y_j) in both axes, and Σ q.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Repulsion {
    pub(super) force: [f32; 2],
    pub(super) weight: f32,
}

/// A quadtree in preorder.
#[derive(Default)]
pub(super) struct QuadTree {
    cells: Vec<Cell>,
    /// Indices of the leaves.
    leaves: Vec<u32>,
    /// Points in Z-order: (code, index) keys, and positions.
    order: Vec<u64>,
    sorted: Vec<[f32; 2]>,
}

struct Cell {
    /// Centre of mass.
    centre: [f32; 2],
    /// Bounding box of its points.
    low: [f32; 2],
    high: [f32; 2],
    side: f32,
    /// Its points, in Z-order.
    points: std::ops::Range<u32>,
    /// The next cell outside of this one.
    next: u32,
    is_leaf: bool,
}

impl QuadTree {
    /// Rebuilds the tree.
    pub(super) fn build(&mut self, points: &[[f32; 2]]) {
        let (low, high) = bounds(points);
        let side = (high[0] - low[0]).max(high[1] - low[1]).max(f32::MIN_POSITIVE);
        let scale = ((1 << DEPTH) as f32 - 1.0) / side;
        let key = |(at, point): (usize, &[f32; 2])| {
            let [x, y] = [0, 1].map(|axis| ((point[axis] - low[axis]) * scale) as u32);
            u64::from(interleave(x) | interleave(y) << 1) << 32 | at as u64
        };
        self.order.clear();
        self.order.extend(points.iter().enumerate().map(key));
        // Keys are unique, so the order is unique.
        self.order.par_sort_unstable();
        self.sorted.clear();
        self.sorted.extend(self.order.iter().map(|&key| points[key as u32 as usize]));
        self.cells.clear();
        self.leaves.clear();
        self.add_cell(0..points.len() as u32, 0, side);
    }

    /// Adds the cell of these points, and its children.
    fn add_cell(&mut self, points: std::ops::Range<u32>, depth: u32, side: f32) {
        let inside = &self.sorted[points.start as usize..points.end as usize];
        let (low, high) = bounds(inside);
        let sum = |axis: usize| inside.iter().map(|point| f64::from(point[axis])).sum::<f64>();
        let centre = [0, 1].map(|axis| (sum(axis) / inside.len() as f64) as f32);
        let is_leaf = inside.len() <= LEAF || depth == DEPTH;
        let at = self.cells.len();
        self.cells.push(Cell { centre, low, high, side, points: points.clone(), next: 0, is_leaf });
        if is_leaf {
            self.leaves.push(at as u32);
        } else {
            let shift = 32 + 2 * (DEPTH - 1 - depth);
            let mut start = points.start;
            for quadrant in 0..4 {
                let rest = &self.order[start as usize..points.end as usize];
                let count = rest.partition_point(|key| key >> shift & 3 <= quadrant);
                let end = start + count as u32;
                if end > start {
                    self.add_cell(start..end, depth + 1, side / 2.0);
                }
                start = end;
            }
        }
        self.cells[at].next = self.cells.len() as u32;
    }

    /// Writes the repulsion of each point by all others.
    pub(super) fn repulsions(&self, repulsions: &mut [Repulsion]) {
        let leaves = self.leaves.par_iter().with_min_len(8);
        let found: Vec<Vec<Repulsion>> = leaves
            .map_init(Interactions::default, |interactions, &leaf| {
                let leaf = &self.cells[leaf as usize];
                self.interactions(leaf, interactions);
                let points = &self.sorted[leaf.points.start as usize..leaf.points.end as usize];
                points.iter().map(|point| interactions.repulsion(*point)).collect()
            })
            .collect();
        for (&key, repulsion) in self.order.iter().zip(found.iter().flatten()) {
            repulsions[key as u32 as usize] = *repulsion;
        }
    }

    /// Fills the interaction list of a leaf: far cells as one, near ones point by point.
    fn interactions(&self, leaf: &Cell, list: &mut Interactions) {
        list.clear();
        let mut at = 0;
        while let Some(cell) = self.cells.get(at) {
            let gap = |axis: usize| {
                let centre = cell.centre[axis];
                (leaf.low[axis] - centre).max(centre - leaf.high[axis]).max(0.0)
            };
            let distance = gap(0) * gap(0) + gap(1) * gap(1);
            if cell.side * cell.side <= THETA * THETA * distance {
                list.add(cell.centre, cell.points.len() as f32);
            } else if cell.is_leaf {
                let points = cell.points.start as usize..cell.points.end as usize;
                self.sorted[points].iter().for_each(|point| list.add(*point, 1.0));
            } else {
                at += 1;
                continue;
            }
            at = cell.next as usize;
        }
        list.pad();
    }
}

/// Positions and their numbers of points, padded to a multiple of [`LANES`].
#[derive(Default)]
struct Interactions {
    x: Vec<f32>,
    y: Vec<f32>,
    count: Vec<f32>,
}

impl Interactions {
    fn clear(&mut self) {
        self.x.clear();
        self.y.clear();
        self.count.clear();
    }

    fn add(&mut self, position: [f32; 2], count: f32) {
        self.x.push(position[0]);
        self.y.push(position[1]);
        self.count.push(count);
    }

    fn pad(&mut self) {
        while !self.x.len().is_multiple_of(LANES) {
            self.add([0.0; 2], 0.0);
        }
    }

    /// The repulsion of a point of the list, which does not repel itself.
    fn repulsion(&self, point: [f32; 2]) -> Repulsion {
        let (mut x, mut y, mut weight) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let (xs, ys) = (self.x.as_chunks::<LANES>().0, self.y.as_chunks::<LANES>().0);
        let counts = self.count.as_chunks::<LANES>().0;
        for ((xs, ys), counts) in xs.iter().zip(ys).zip(counts) {
            for lane in 0..LANES {
                let (dx, dy) = (point[0] - xs[lane], point[1] - ys[lane]);
                let q = 1.0 / (1.0 + dx * dx + dy * dy);
                let mass = counts[lane] * q;
                weight[lane] += mass;
                x[lane] += mass * q * dx;
                y[lane] += mass * q * dy;
            }
        }
        let sum = |lanes: [f32; LANES]| lanes.iter().sum::<f32>();
        Repulsion { force: [sum(x), sum(y)], weight: sum(weight) - 1.0 }
    }
}

/// The bounding box of points.
fn bounds(points: &[[f32; 2]]) -> ([f32; 2], [f32; 2]) {
    let empty = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    points.iter().fold(empty, |(low, high), point| {
        ([0, 1].map(|x| low[x].min(point[x])), [0, 1].map(|x| high[x].max(point[x])))
    })
}

/// The bits of a number below 2¹⁶, interleaved with zeros.
fn interleave(number: u32) -> u32 {
    let mut bits = number;
    bits = (bits | bits << 8) & 0x00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333;
    (bits | bits << 1) & 0x5555_5555
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    fn repulsions(points: &[[f32; 2]]) -> Vec<Repulsion> {
        let mut tree = QuadTree::default();
        tree.build(points);
        let mut repulsions = vec![Repulsion::default(); points.len()];
        tree.repulsions(&mut repulsions);
        repulsions
    }

    /// The oracle sums over all pairs.
    #[test]
    fn repulsions_approximate_the_sum_over_all_pairs() {
        let mut rng = Rng::new(5, Purpose::Projection, 0, 0);
        // Three clusters and some points between them.
        let mut point = |at: usize| {
            let width = if at < 900 { 2.0 } else { 60.0 };
            [0, 1].map(|_| 25.0 * (at % 3) as f32 + width * (rng.unit() as f32 - 0.5))
        };
        let points: Vec<[f32; 2]> = (0..1000).map(&mut point).collect();
        let (mut error, mut total, mut weights) = (0.0, 0.0, [0.0; 2]);
        for (at, repulsion) in repulsions(&points).into_iter().enumerate() {
            let mut exact = [0.0_f64; 3];
            for other in (0..points.len()).filter(|&other| other != at) {
                let d = [0, 1].map(|x| f64::from(points[at][x] - points[other][x]));
                let q = 1.0 / (1.0 + d[0] * d[0] + d[1] * d[1]);
                exact = [exact[0] + q * q * d[0], exact[1] + q * q * d[1], exact[2] + q];
            }
            weights = [weights[0] + f64::from(repulsion.weight), weights[1] + exact[2]];
            for (force, exact) in repulsion.force.iter().zip(exact) {
                error += (f64::from(*force) - exact).powi(2);
                total += exact.powi(2);
            }
        }
        assert!((weights[0] / weights[1] - 1.0).abs() < 0.005, "{weights:?}");
        assert!((error / total).sqrt() < 0.01, "{}", (error / total).sqrt());
    }

    #[test]
    fn coincident_points_count_in_full() {
        let repulsion = |weight, force| Repulsion { force, weight };
        assert_eq!(repulsions(&[[3.0, 3.0]; 100]), [repulsion(99.0, [0.0; 2]); 100]);
        let [left, right] = [repulsion(0.5, [-0.25, 0.0]), repulsion(0.5, [0.25, 0.0])];
        assert_eq!(repulsions(&[[0.0, 0.0], [1.0, 0.0]]), [left, right]);
    }
}
