//! Products of tall matrices, in parallel over chunks of rows.

use rayon::prelude::*;

use crate::matrix::{add_transposed, multiply};

/// Rows per task; sums over rows are taken chunk by chunk, so that they do not depend on threads.
pub(super) const CHUNK: usize = 256;

/// out = x w, in parallel over chunks of rows.
pub(super) fn parallel_multiply(
    x: &[f32],
    w: &[f32],
    out: &mut [f32],
    inner: usize,
    columns: usize,
) {
    let chunks = x.par_chunks(CHUNK * inner).zip(out.par_chunks_mut(CHUNK * columns));
    chunks.for_each(|(x, out)| multiply(x, w, out, inner, columns));
}

/// out = xᵀ y, summed chunk by chunk in order: the same bits on any number of threads.
pub(super) fn transposed_multiply(
    x: &[f32],
    y: &[f32],
    out: &mut [f32],
    inner: usize,
    columns: usize,
) {
    let chunks = x.par_chunks(CHUNK * inner).zip(y.par_chunks(CHUNK * columns));
    let sums: Vec<Vec<f32>> = chunks
        .map(|(x, y)| {
            let mut sum = vec![0.0; inner * columns];
            add_transposed(x, y, &mut sum, inner, columns);
            sum
        })
        .collect();
    out.fill(0.0);
    for sum in &sums {
        out.iter_mut().zip(sum).for_each(|(out, sum)| *out += sum);
    }
}
