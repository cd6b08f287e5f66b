//! A layout of a graph by its distances: pivot MDS (Brandes and Pich, *Eigensolver methods for
//! progressive multidimensional scaling of large data*, 2006).
//!
//! Let D hold the squared distances of all n nodes to k pivots, and C = −½ D with the means of rows
//! and columns subtracted. With the two leading right singular vectors v of C, of singular values σ,
//! C v / √σ · (n/k)^¼ are coordinates; with k = n they are those of classical scaling. So distances in
//! the plane approximate numbers of hops, and large structure is kept; nodes with the same distances to
//! all pivots coincide, and are spread by a fraction of a hop.
//!
//! Pivots are chosen one by one, each farthest from those before. Components are laid out alone and
//! placed in rows below the largest.

use std::cmp::Reverse;

use ndarray::Array2;

use super::pca::principal_directions;
use crate::distance::Levels;
use crate::graph::{Components, Graph, Node};
use crate::rng::{Purpose, Rng};

/// Most pivots of a component.
const PIVOTS: usize = 48;

/// A position for every node, in hops.
///
/// ```
/// use nearfar::graph::{ReadOptions, read};
/// let karate = read("builtin:karate", &ReadOptions::default())?.graph;
/// let positions = nearfar::project::pivot_layout(&karate, 0);
/// assert_eq!(positions.len(), 34);
/// # Ok::<(), nearfar::Error>(())
/// ```
pub fn pivot_layout(graph: &Graph, seed: u64) -> Vec<[f32; 2]> {
    let components = Components::new(graph);
    let mut order: Vec<Node> = (0..graph.nodes() as Node).collect();
    order.sort_by_key(|&node| {
        let component = components.of(node);
        (Reverse(components.sizes()[component]), component, node)
    });
    let mut search = Search { levels: Levels::default(), local: vec![0; graph.nodes()] };
    let mut positions = vec![[0.0; 2]; graph.nodes()];
    let mut shelves = Shelves::default();
    for members in order.chunk_by(|&a, &b| components.of(a) == components.of(b)) {
        let mut placed = search.component(graph, members);
        for (position, &node) in placed.iter_mut().zip(members) {
            let mut rng = Rng::new(seed, Purpose::Projection, 5, node.into());
            *position = position.map(|x| x + 0.3 * (rng.unit() as f32 - 0.5));
        }
        let shift = shelves.place(&placed);
        for (position, &node) in placed.iter().zip(members) {
            positions[node as usize] = [position[0] + shift[0], position[1] + shift[1]];
        }
    }
    positions
}

/// The buffers of searches.
struct Search {
    levels: Levels,
    /// The place of a node among the members of its component.
    local: Vec<u32>,
}

impl Search {
    /// The positions of the members of a component.
    fn component(&mut self, graph: &Graph, members: &[Node]) -> Vec<[f32; 2]> {
        let n = members.len();
        if n <= 2 {
            return [[0.0, 0.0], [1.0, 0.0]][..n].to_vec();
        }
        for (at, &node) in members.iter().enumerate() {
            self.local[node as usize] = at as u32;
        }
        let mut squares = self.squares(graph, members);
        // Fourth powers of long distances, summed over nodes, would not be finite in single
        // precision. In a unit that is a power of two, no digit changes.
        let farthest = squares.iter().copied().fold(1.0, f32::max).sqrt();
        let unit = (farthest.ceil() as u32).next_power_of_two() as f32;
        squares.mapv_inplace(|square| square / (unit * unit));
        centre(&mut squares);
        let k = squares.ncols();
        let (_, directions) = principal_directions(&squares, 2, false);
        let mut positions = vec![[0.0; 2]; n];
        for axis in 0..2 {
            let along = squares.dot(&directions.row(axis));
            let norm = along.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
            if norm == 0.0 {
                continue;
            }
            let scale = f64::from(unit) * (n as f64 / k as f64).powf(0.25) / norm.sqrt();
            for (position, x) in positions.iter_mut().zip(along) {
                position[axis] = (f64::from(x) * scale) as f32;
            }
        }
        positions
    }

    /// The squared distances of all members to the pivots.
    fn squares(&mut self, graph: &Graph, members: &[Node]) -> Array2<f32> {
        let n = members.len();
        let k = n.min(PIVOTS);
        let mut squares = Array2::zeros((n, k));
        let mut nearest = vec![u32::MAX; n];
        // The first pivot is a node as far as any from the first member.
        self.levels.search(graph, &members[..1]);
        let farthest = self.levels.level(self.levels.len() - 1);
        let mut pivot = farthest.iter().copied().min().unwrap_or(members[0]);
        for at in 0..k {
            self.levels.search(graph, &[pivot]);
            for (hops, square) in (0..self.levels.len()).map(|hops| (hops, (hops as f32).powi(2))) {
                for &node in self.levels.level(hops) {
                    let local = self.local[node as usize] as usize;
                    squares[[local, at]] = square;
                    nearest[local] = nearest[local].min(hops as u32);
                }
            }
            let next = (0..n).max_by_key(|&local| (nearest[local], Reverse(local)));
            pivot = members[next.unwrap_or(0)];
        }
        squares
    }
}

/// −½ D with the means of rows and columns subtracted.
fn centre(squares: &mut Array2<f32>) {
    let (n, k) = squares.dim();
    let mut columns = vec![0.0_f64; k];
    for row in squares.rows() {
        columns.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    for sum in &mut columns {
        *sum /= n as f64;
    }
    let all = columns.iter().sum::<f64>() / k as f64;
    for mut row in squares.rows_mut() {
        let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / k as f64;
        for (x, column) in row.iter_mut().zip(&columns) {
            *x = (-0.5 * (f64::from(*x) - mean - column + all)) as f32;
        }
    }
}

/// Rows of boxes below the first one, none wider than that.
#[derive(Default)]
struct Shelves {
    width: f32,
    x: f32,
    y: f32,
    height: f32,
}

impl Shelves {
    /// The shift of a component to its place.
    fn place(&mut self, positions: &[[f32; 2]]) -> [f32; 2] {
        /// Between components, in hops.
        const GAP: f32 = 1.5;
        let edge = |axis: usize, start: f32, choose: fn(f32, f32) -> f32| {
            positions.iter().map(|position| position[axis]).fold(start, choose)
        };
        let low = [0, 1].map(|axis| edge(axis, f32::INFINITY, f32::min));
        let high = [0, 1].map(|axis| edge(axis, f32::NEG_INFINITY, f32::max));
        let size = [high[0] - low[0], high[1] - low[1]];
        if self.width == 0.0 {
            // At least as wide as all small components need.
            self.width = size[0].max((positions.len() as f32).sqrt()).max(10.0);
            self.y = size[1] + GAP;
            return [-low[0], -high[1]];
        }
        if self.x > 0.0 && self.x + size[0] > self.width {
            self.y += self.height + GAP;
            (self.x, self.height) = (0.0, 0.0);
        }
        let shift = [self.x - low[0], -self.y - high[1]];
        self.x += size[0] + GAP;
        self.height = self.height.max(size[1]);
        shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, NodeIds};

    fn graph(nodes: usize, edges: impl IntoIterator<Item = (Node, Node)>) -> Graph {
        let (pairs, ids) = (edges.into_iter().collect(), NodeIds::Range { start: 0, len: nodes });
        EdgeList { pairs, weights: None, ids }.build().unwrap().0
    }

    fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
        ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt()
    }

    /// On a path, the distances in the plane are those in the graph.
    #[test]
    fn a_path_is_straight() {
        for length in [400, 40_000] {
            let path = (0..length as Node - 1).map(|at| (at, at + 1));
            let positions = pivot_layout(&graph(length, path), 0);
            for (a, b) in [(0, length - 1), (20, 310), (100, 101)] {
                let found = distance(positions[a], positions[b]);
                let error = (found - (b - a) as f32).abs();
                assert!(error < 0.05 * (b - a) as f32 + 0.6, "{length}: {a} {b} {found}");
            }
        }
    }

    /// Distances in the plane rank like those along the streets of a grid.
    #[test]
    fn a_grid_keeps_its_shape() {
        let side = 30;
        let at = |x: Node, y: Node| x * side + y;
        let steps = (0..side).flat_map(|x| (0..side - 1).map(move |y| (at(x, y), at(x, y + 1))));
        let rows = (0..side - 1).flat_map(|x| (0..side).map(move |y| (at(x, y), at(x + 1, y))));
        let positions = pivot_layout(&graph(900, steps.chain(rows)), 0);
        let [corner, opposite, next] =
            [at(0, 0), at(29, 29), at(0, 29)].map(|node| positions[node as usize]);
        assert!(distance(corner, opposite) > distance(corner, next) + 5.0);
        let middle = positions[at(15, 15) as usize];
        assert!([corner, opposite, next].iter().all(|&end| distance(end, middle) > 8.0));
    }

    #[test]
    fn components_do_not_overlap() {
        let triangle =
            |first: Node| [(first, first + 1), (first + 1, first + 2), (first, first + 2)];
        let edges = (0..9).map(|at| (at, at + 1)).chain((10..70).step_by(3).flat_map(triangle));
        let positions = pivot_layout(&graph(75, edges), 0);
        let parts: Vec<&[[f32; 2]]> = std::iter::once(&positions[..10])
            .chain(positions[10..70].chunks(3))
            .chain(positions[70..].chunks(1))
            .collect();
        for (at, part) in parts.iter().enumerate() {
            for other in &parts[at + 1..] {
                for &a in *part {
                    assert!(other.iter().all(|&b| distance(a, b) > 0.5), "{at}");
                }
            }
        }
    }
}
