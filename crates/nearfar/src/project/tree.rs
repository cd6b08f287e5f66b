//! The push of all points on each, by a tree: far ones count together.
//!
//! With q_ij = 1 / (1 + ‖y_i − y_j‖²), t-SNE needs Σ_j q_ij and Σ_j q_ij² (y_i − y_j) for every i.
//! Points are sorted along a curve that runs through squares within squares; a square with few
//! points is a leaf. Seen from far away, a square acts as if all its points were in their middle
//! (Barnes and Hut, *A hierarchical O(N log N) force-calculation algorithm*, 1986).
//!
//! The points of a leaf see the same squares: the list of them is made once for the leaf, by
//! what is far from its nearest corner, and then run through for each of its points, many at a time.
//! Every sum is in an order that the points alone decide.

use rayon::prelude::*;

/// A square is far if its side is at most this share of its distance.
const FAR: f32 = 0.5;
/// A square with so many points is not cut any more.
const LEAF: usize = 16;
/// Cuts of the whole into halves, in each direction.
const DEPTH: u32 = 16;
const LANES: usize = 16;

/// What all points do to one: Σ q² (y_i − y_j) in both directions, and Σ q.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Push {
    pub(super) force: [f32; 2],
    pub(super) weight: f32,
}

/// Squares within squares, each followed by those within it.
#[derive(Default)]
pub(super) struct Tree {
    cells: Vec<Cell>,
    /// Cells that are leaves.
    leaves: Vec<u32>,
    /// Points along the curve: which ones, and where.
    order: Vec<u64>,
    sorted: Vec<[f32; 2]>,
}

struct Cell {
    middle: [f32; 2],
    /// Of the box around its points.
    low: [f32; 2],
    high: [f32; 2],
    side: f32,
    /// Its points, along the curve.
    points: std::ops::Range<u32>,
    /// The next cell that is not within this one.
    next: u32,
    is_leaf: bool,
}

impl Tree {
    /// Builds the tree anew.
    pub(super) fn build(&mut self, points: &[[f32; 2]]) {
        let (low, high) = bounds(points);
        let side = (high[0] - low[0]).max(high[1] - low[1]).max(f32::MIN_POSITIVE);
        let scale = ((1 << DEPTH) as f32 - 1.0) / side;
        let along = |(at, point): (usize, &[f32; 2])| {
            let [x, y] = [0, 1].map(|axis| ((point[axis] - low[axis]) * scale) as u32);
            u64::from(spread(x) | spread(y) << 1) << 32 | at as u64
        };
        self.order.clear();
        self.order.extend(points.iter().enumerate().map(along));
        // No two are equal, so there is one order only.
        self.order.par_sort_unstable();
        self.sorted.clear();
        self.sorted.extend(self.order.iter().map(|&key| points[key as u32 as usize]));
        self.cells.clear();
        self.leaves.clear();
        self.cut(0..points.len() as u32, 0, side);
    }

    /// Adds the square with these points, and those within it.
    fn cut(&mut self, points: std::ops::Range<u32>, depth: u32, side: f32) {
        let inside = &self.sorted[points.start as usize..points.end as usize];
        let (low, high) = bounds(inside);
        let sum = |axis: usize| inside.iter().map(|point| f64::from(point[axis])).sum::<f64>();
        let middle = [0, 1].map(|axis| (sum(axis) / inside.len() as f64) as f32);
        let is_leaf = inside.len() <= LEAF || depth == DEPTH;
        let at = self.cells.len();
        self.cells.push(Cell { middle, low, high, side, points: points.clone(), next: 0, is_leaf });
        if is_leaf {
            self.leaves.push(at as u32);
        } else {
            let shift = 32 + 2 * (DEPTH - 1 - depth);
            let mut start = points.start;
            for quarter in 0..4 {
                let rest = &self.order[start as usize..points.end as usize];
                let count = rest.partition_point(|key| key >> shift & 3 <= quarter);
                let end = start + count as u32;
                if end > start {
                    self.cut(start..end, depth + 1, side / 2.0);
                }
                start = end;
            }
        }
        self.cells[at].next = self.cells.len() as u32;
    }

    /// Writes what all points do to each.
    pub(super) fn pushes(&self, pushes: &mut [Push]) {
        let leaves = self.leaves.par_iter().with_min_len(8);
        let found: Vec<Vec<Push>> = leaves
            .map_init(Seen::default, |seen, &leaf| {
                let leaf = &self.cells[leaf as usize];
                self.look(leaf, seen);
                let points = &self.sorted[leaf.points.start as usize..leaf.points.end as usize];
                points.iter().map(|point| seen.push(*point)).collect()
            })
            .collect();
        for (&key, push) in self.order.iter().zip(found.iter().flatten()) {
            pushes[key as u32 as usize] = *push;
        }
    }

    /// What the points of a leaf see: far squares as one, near ones point by point.
    fn look(&self, leaf: &Cell, seen: &mut Seen) {
        seen.clear();
        let mut at = 0;
        while let Some(cell) = self.cells.get(at) {
            let apart = |axis: usize| {
                let middle = cell.middle[axis];
                (leaf.low[axis] - middle).max(middle - leaf.high[axis]).max(0.0)
            };
            let distance = apart(0) * apart(0) + apart(1) * apart(1);
            if cell.side * cell.side <= FAR * FAR * distance {
                seen.add(cell.middle, cell.points.len() as f32);
            } else if cell.is_leaf {
                let points = cell.points.start as usize..cell.points.end as usize;
                self.sorted[points].iter().for_each(|point| seen.add(*point, 1.0));
            } else {
                at += 1;
                continue;
            }
            at = cell.next as usize;
        }
        seen.fill_up();
    }
}

/// Places and how many points are there; filled up with none of them to a multiple of [`LANES`].
#[derive(Default)]
struct Seen {
    x: Vec<f32>,
    y: Vec<f32>,
    count: Vec<f32>,
}

impl Seen {
    fn clear(&mut self) {
        self.x.clear();
        self.y.clear();
        self.count.clear();
    }

    fn add(&mut self, place: [f32; 2], count: f32) {
        self.x.push(place[0]);
        self.y.push(place[1]);
        self.count.push(count);
    }

    fn fill_up(&mut self) {
        while !self.x.len().is_multiple_of(LANES) {
            self.add([0.0; 2], 0.0);
        }
    }

    /// What they do to a point, which is one of them and does nothing to itself.
    fn push(&self, point: [f32; 2]) -> Push {
        let (mut x, mut y, mut weight) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        let (xs, ys) = (self.x.as_chunks::<LANES>().0, self.y.as_chunks::<LANES>().0);
        let counts = self.count.as_chunks::<LANES>().0;
        for ((xs, ys), counts) in xs.iter().zip(ys).zip(counts) {
            for lane in 0..LANES {
                let (dx, dy) = (point[0] - xs[lane], point[1] - ys[lane]);
                let q = 1.0 / (1.0 + dx * dx + dy * dy);
                let of_all = counts[lane] * q;
                weight[lane] += of_all;
                x[lane] += of_all * q * dx;
                y[lane] += of_all * q * dy;
            }
        }
        let sum = |lanes: [f32; LANES]| lanes.iter().sum::<f32>();
        Push { force: [sum(x), sum(y)], weight: sum(weight) - 1.0 }
    }
}

/// The box around points.
fn bounds(points: &[[f32; 2]]) -> ([f32; 2], [f32; 2]) {
    let none = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    points.iter().fold(none, |(low, high), point| {
        ([0, 1].map(|x| low[x].min(point[x])), [0, 1].map(|x| high[x].max(point[x])))
    })
}

/// The bits of a number below 2¹⁶, each followed by a zero.
fn spread(number: u32) -> u32 {
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

    fn pushes(points: &[[f32; 2]]) -> Vec<Push> {
        let mut tree = Tree::default();
        tree.build(points);
        let mut pushes = vec![Push::default(); points.len()];
        tree.pushes(&mut pushes);
        pushes
    }

    /// All pairs one by one are the oracle.
    #[test]
    fn the_push_is_about_that_of_all_pairs() {
        let mut rng = Rng::new(5, Purpose::Projection, 0, 0);
        // Three heaps and some points between them.
        let mut point = |at: usize| {
            let wide = if at < 900 { 2.0 } else { 60.0 };
            [0, 1].map(|_| 25.0 * (at % 3) as f32 + wide * (rng.unit() as f32 - 0.5))
        };
        let points: Vec<[f32; 2]> = (0..1000).map(&mut point).collect();
        let (mut apart, mut whole, mut weights) = (0.0, 0.0, [0.0; 2]);
        for (at, push) in pushes(&points).into_iter().enumerate() {
            let mut exact = [0.0_f64; 3];
            for other in (0..points.len()).filter(|&other| other != at) {
                let d = [0, 1].map(|x| f64::from(points[at][x] - points[other][x]));
                let q = 1.0 / (1.0 + d[0] * d[0] + d[1] * d[1]);
                exact = [exact[0] + q * q * d[0], exact[1] + q * q * d[1], exact[2] + q];
            }
            weights = [weights[0] + f64::from(push.weight), weights[1] + exact[2]];
            for (force, exact) in push.force.iter().zip(exact) {
                apart += (f64::from(*force) - exact).powi(2);
                whole += exact.powi(2);
            }
        }
        assert!((weights[0] / weights[1] - 1.0).abs() < 0.005, "{weights:?}");
        assert!((apart / whole).sqrt() < 0.01, "{}", (apart / whole).sqrt());
    }

    #[test]
    fn points_in_one_place_weigh_in_full() {
        let push = |weight, force| Push { force, weight };
        assert_eq!(pushes(&[[3.0, 3.0]; 100]), [push(99.0, [0.0; 2]); 100]);
        let [left, right] = [push(0.5, [-0.25, 0.0]), push(0.5, [0.25, 0.0])];
        assert_eq!(pushes(&[[0.0, 0.0], [1.0, 0.0]]), [left, right]);
    }
}
