//! Exact nearest neighbours by Euclidean distance: every pair is compared.
//!
//! ‖a − b‖² = ‖a‖² − 2 (a·b − ‖b‖²/2), so for one a the nearest b have the largest a·b − ‖b‖²/2,
//! and all a·b of a tile are one matrix product. Rounding may swap neighbours at nearly equal
//! distances; the returned distances are recomputed from differences.

use ndarray::{Array1, Array2, Axis, linalg::general_mat_mul};
use rayon::prelude::*;

use crate::cancel;
use crate::embedding::{TopK, key};
use crate::graph::Node;

const QUERIES: usize = 128;
const POINTS: usize = 1024;

/// For every query, the `k` nearest points and their squared distances, nearest first, one query
/// after the other. If queries and points are the `same`, none is its own neighbour. There must be at
/// least `k` other points.
pub(super) fn nearest(
    queries: &Array2<f32>,
    points: &Array2<f32>,
    k: usize,
    same: bool,
) -> Vec<(Node, f32)> {
    let halves: Array1<f32> = points.rows().into_iter().map(|row| 0.5 * row.dot(&row)).collect();
    let starts = (0..queries.nrows()).into_par_iter().step_by(QUERIES);
    let found = starts.flat_map_iter(|start| {
        let tile = queries.slice(ndarray::s![start..queries.nrows().min(start + QUERIES), ..]);
        let mut best = vec![TopK::default(); tile.nrows()];
        let mut products = Array2::zeros((tile.nrows(), POINTS));
        for (chunk, points) in points.axis_chunks_iter(Axis(0), POINTS).enumerate() {
            cancel::check();
            let first = chunk * POINTS;
            let mut products = products.slice_mut(ndarray::s![.., ..points.nrows()]);
            general_mat_mul(1.0, &tile, &points.t(), 0.0, &mut products);
            for (query, (best, products)) in best.iter_mut().zip(products.rows()).enumerate() {
                let halves = halves.iter().skip(first);
                for (point, (product, half)) in products.iter().zip(halves).enumerate() {
                    let row = first + point;
                    if !(same && row == start + query) {
                        best.offer(key(product - half, row as Node), k);
                    }
                }
            }
        }
        let exact = best.into_iter().zip(start..).map(|(best, query)| {
            let square = |node: Node| {
                let pairs = queries.row(query).into_iter().zip(points.row(node as usize));
                pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
            };
            let mut near: Vec<(Node, f32)> =
                best.ranked().into_iter().map(|(node, _)| (node, square(node))).collect();
            near.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            near
        });
        exact.flatten().collect::<Vec<_>>()
    });
    found.collect()
}

/// For every query, `k` near points, as [`nearest`] returns them: the nearest ones among the points
/// in the cells around the query. A cell holds the points nearest to one of some centres; a query
/// looks into the cells of the [`LOOKED_INTO`] nearest centres, and on until they hold `k` points.
pub(super) fn nearest_by_cells(
    queries: &Array2<f32>,
    points: &Array2<f32>,
    k: usize,
) -> Vec<(Node, f32)> {
    /// Cells, and how many of them are looked into.
    const CELLS: usize = 128;
    const LOOKED_INTO: usize = 6;
    let step = points.nrows().div_ceil(CELLS);
    let chosen: Vec<usize> = (0..points.nrows()).step_by(step).collect();
    let centres = points.select(Axis(0), &chosen);
    let mut order: Vec<(Node, Node)> = nearest(points, &centres, 1, false)
        .into_iter()
        .zip(0..)
        .map(|((cell, _), point)| (cell, point))
        .collect();
    order.sort_unstable();
    let rows: Vec<usize> = order.iter().map(|&(_, point)| point as usize).collect();
    // Points of a cell side by side.
    let sorted = points.select(Axis(0), &rows);
    let start = |cell: usize| order.partition_point(|&(of, _)| (of as usize) < cell);
    let starts: Vec<usize> = (0..=centres.nrows()).map(start).collect();
    let cells_of = nearest(queries, &centres, centres.nrows().min(2 * LOOKED_INTO), false);
    let per_query = centres.nrows().min(2 * LOOKED_INTO);
    let near = cells_of.par_chunks(per_query).enumerate().flat_map_iter(|(at, cells)| {
        let query = queries.row(at);
        let mut near: Vec<(Node, f32)> = Vec::new();
        for (looked, &(cell, _)) in cells.iter().enumerate() {
            if looked >= LOOKED_INTO && near.len() >= k {
                break;
            }
            let places = starts[cell as usize]..starts[cell as usize + 1];
            for (&(_, point), place) in order[places.clone()].iter().zip(places) {
                let pairs = query.iter().zip(sorted.row(place));
                let square = pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
                near.push((point, square));
            }
        }
        // Never fewer than there are: then all points are compared.
        if near.len() < k {
            near = (0..points.nrows())
                .map(|point| {
                    let pairs = query.iter().zip(points.row(point));
                    (point as Node, pairs.map(|(a, b)| (a - b) * (a - b)).sum())
                })
                .collect();
        }
        near.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        near.truncate(k);
        near
    });
    near.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    /// In cells, most of the nearest points are found, and none is nearer than the nearest.
    #[test]
    fn points_in_near_cells_are_near() {
        let mut rng = Rng::new(4, Purpose::Projection, 0, 0);
        let points = Array2::from_shape_fn((3000, 4), |_| rng.unit() as f32);
        let queries = Array2::from_shape_fn((500, 4), |_| rng.unit() as f32);
        let (exact, found) =
            (nearest(&queries, &points, 5, false), nearest_by_cells(&queries, &points, 5));
        let mut same = 0;
        for (exact, found) in exact.chunks(5).zip(found.chunks(5)) {
            assert!(found.iter().zip(exact).all(|(found, exact)| found.1 >= exact.1 - 1e-6));
            same += found.iter().filter(|one| exact.iter().any(|it| it.0 == one.0)).count();
        }
        assert!(same > 2250, "{same} of 2500");
        // Fewer points than cells hold: all are found.
        let few = points.select(Axis(0), &[1, 2, 3, 4, 5, 6]);
        let all = nearest_by_cells(&queries, &few, 5);
        assert_eq!(all, nearest(&queries, &few, 5, false));
    }

    /// The oracle sorts all distances; sizes are not multiples of a tile.
    #[test]
    fn nearest_points_match_a_sorted_list() {
        let mut rng = Rng::new(3, Purpose::Projection, 0, 0);
        let points = Array2::from_shape_fn((1100, 5), |_| rng.unit() as f32);
        let queries = points.slice(ndarray::s![..200, ..]).to_owned();
        for (same, k) in [(true, 7), (false, 4)] {
            let found = nearest(&queries, &points, k, same);
            for (query, near) in found.chunks(k).enumerate() {
                let mut all: Vec<(Node, f32)> = (0..1100)
                    .filter(|&point| !(same && point == query))
                    .map(|point| {
                        let difference = &points.row(query) - &points.row(point);
                        (point as Node, difference.dot(&difference))
                    })
                    .collect();
                all.sort_by(|a, b| a.1.total_cmp(&b.1));
                for (near, naive) in near.iter().zip(&all) {
                    assert!((near.1 - naive.1).abs() < 1e-5, "{near:?} {naive:?}");
                }
            }
        }
    }
}
