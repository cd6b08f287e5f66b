//! References for the trainer: bare arithmetic, Hogwild, and the limits of the machine.

#![allow(unsafe_code, reason = "kernels, and data races on purpose")]
#![allow(clippy::inline_always, reason = "vectors stay in registers only if inlined")]

use std::time::Instant;

use nearfar::graph::Node;
use nearfar::negative::NegativeSampler;
use nearfar::positive::PositiveSource;
use nearfar::rng::{Purpose, Rng};
use nearfar::train::stream::sampling::Sampling;
use rayon::prelude::*;

use crate::{DIM, STEP};

const LANES: usize = 16;

/// Runs a function with the widest vector instructions of this machine.
macro_rules! on_this_machine {
    ($function:ident ( $($argument:expr),* )) => {{
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                #[allow(unused_unsafe)]
                // SAFETY: just detected.
                unsafe { wide::$function($($argument),*) }
            } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                #[allow(unused_unsafe)]
                // SAFETY: just detected.
                unsafe { narrow::$function($($argument),*) }
            } else {
                $function($($argument),*)
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        { $function($($argument),*) }
    }};
}

/// Limits of the machine on two threads.
pub(crate) struct Ceilings {
    /// Bytes per second, half read and half written, sequentially, on an array much larger than the
    /// caches.
    pub(crate) memory: f64,
    /// Multiplications and additions per second, in registers.
    pub(crate) arithmetic: f64,
}

/// Measures the limits.
pub(crate) fn ceilings() -> Ceilings {
    const ROUNDS: usize = 1_000_000;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
    pool.install(|| {
        let mut array = vec![1.0_f32; 1 << 28];
        let mut memory = 0.0_f64;
        let mut arithmetic = 0.0_f64;
        for _ in 0..3 {
            let start = Instant::now();
            array.par_chunks_mut(1 << 20).flatten().for_each(|value| *value *= 1.000_001);
            memory = memory.max(array.len() as f64 * 8.0 / start.elapsed().as_secs_f64());
            let start = Instant::now();
            let sums: Vec<f32> =
                (0..2).into_par_iter().map(|_| on_this_machine!(multiply(ROUNDS))).collect();
            std::hint::black_box(sums);
            let operations = 2.0 * ROUNDS as f64 * (CHAINS * LANES * 2) as f64;
            arithmetic = arithmetic.max(operations / start.elapsed().as_secs_f64());
        }
        Ceilings { memory, arithmetic }
    })
}

/// Fills the table with small distinct values.
pub(crate) fn fill(table: &mut [f32]) {
    table.par_iter_mut().enumerate().for_each(|(at, value)| {
        *value = ((at.wrapping_mul(2_654_435_761) >> 7 & 1023) as f32 - 512.0) * 1e-4;
    });
}

/// Trains as many pairs as an epoch has, each centre with random rows, every thread in its own
/// part of the table. Returns the number of pairs.
pub(crate) fn train(table: &mut [f32], n: usize, sampling: Sampling) -> u64 {
    let threads = rayon::current_num_threads();
    let rows = n / threads;
    let count = sampling.walks * (sampling.context - 1 + sampling.negatives);
    table.par_chunks_exact_mut(rows * DIM).for_each(|table| {
        let mut rng = Rng::new(0, Purpose::Negative, 0, 0);
        let mut others = vec![0; count];
        let address = table.as_mut_ptr();
        for centre in 0..rows {
            others.fill_with(|| rng.below(rows) as Node);
            // SAFETY: all rows are within this thread's part of the table.
            unsafe { on_this_machine!(pairs(address, centre, &others, count / 4)) };
        }
    });
    (rows * threads * count) as u64
}

/// A table that threads write to without synchronisation.
#[derive(Clone, Copy)]
struct Shared(*mut f32);
// SAFETY: not sound. Concurrent writes lose updates; this is what Hogwild trainers do, and it is
// only done in this benchmark.
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

/// Hogwild, the trainer without blocks: every node samples its pairs and trains them immediately,
/// on a table that all threads share without locks. Returns the number of pairs.
pub(crate) fn racing(
    table: &mut [f32],
    positives: &dyn PositiveSource,
    negatives: &dyn NegativeSampler,
    sampling: Sampling,
    epoch: u64,
) -> u64 {
    let n = table.len() / DIM;
    let shared = Shared(table.as_mut_ptr());
    (0..n)
        .into_par_iter()
        .with_min_len(256)
        .map_init(
            || {
                (
                    Vec::new(),
                    vec![0; sampling.context],
                    vec![0; sampling.walks * sampling.negatives],
                )
            },
            |(others, walk, negative_nodes), centre| {
                // Copies the whole struct: a closure that captures the raw pointer is not Sync.
                let Shared(table) = { shared };
                others.clear();
                let mut rng = Rng::new(sampling.seed, Purpose::Walk, epoch, centre as u64);
                for _ in 0..sampling.walks {
                    let length = positives.walk(centre as Node, &mut rng, walk);
                    others.extend(walk[1..length].iter().filter(|&&node| node != centre as Node));
                }
                let positive_count = others.len();
                let mut rng = Rng::new(sampling.seed, Purpose::Negative, epoch, centre as u64);
                negatives.fill(centre as Node, &mut rng, negative_nodes);
                others.extend_from_slice(negative_nodes);
                // SAFETY: all rows are within the table; data races are intended here.
                unsafe { on_this_machine!(pairs(table, centre, others, positive_count)) };
                others.len() as u64
            },
        )
        .sum()
}

#[cfg(target_arch = "x86_64")]
macro_rules! for_machine {
    ($name:ident, $features:literal) => {
        mod $name {
            use nearfar::graph::Node;

            #[target_feature(enable = $features)]
            pub(super) unsafe fn pairs(
                table: *mut f32,
                centre: usize,
                others: &[Node],
                positive_count: usize,
            ) {
                unsafe { super::pairs(table, centre, others, positive_count) }
            }

            #[target_feature(enable = $features)]
            pub(super) unsafe fn multiply(rounds: usize) -> f32 {
                super::multiply(rounds)
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
for_machine!(wide, "avx512f");
#[cfg(target_arch = "x86_64")]
for_machine!(narrow, "avx2,fma");

/// One centre with other rows: dot products, a cheap sigmoid, updates; nothing else.
///
/// # Safety
///
/// All rows must be within the table.
#[inline(always)]
unsafe fn pairs(table: *mut f32, centre: usize, others: &[Node], positive_count: usize) {
    let row = |at: usize| unsafe { &mut *table.add(at * DIM).cast::<[f32; DIM]>() };
    let old = *row(centre);
    let mut sum = [0.0_f32; DIM];
    for (at, &other) in others.iter().enumerate() {
        // Prefetched as in the trainer; otherwise memory latency would hide the arithmetic.
        #[cfg(target_arch = "x86_64")]
        if let Some(&next) = others.get(at + 8) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let next = table.wrapping_add(next as usize * DIM).cast::<i8>();
            // SAFETY: a prefetch does not access memory.
            (0..DIM / LANES).for_each(|line| unsafe {
                _mm_prefetch::<_MM_HINT_T0>(next.wrapping_add(line * 64));
            });
        }
        let other = row(other as usize);
        let mut parts = [[0.0_f32; LANES]; 4];
        for (chunk, (old, other)) in old.chunks(LANES).zip(other.chunks(LANES)).enumerate() {
            for (part, (old, other)) in parts[chunk % 4].iter_mut().zip(old.iter().zip(other)) {
                *part = old.mul_add(*other, *part);
            }
        }
        let mut lanes = [0.0_f32; LANES];
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum = (parts[0][lane] + parts[1][lane]) + (parts[2][lane] + parts[3][lane]);
        }
        for width in [8, 4, 2, 1] {
            for lane in 0..width {
                lanes[lane] += lanes[lane + width];
            }
        }
        let dot = lanes[0];
        let sigmoid = 0.5 + 0.5 * dot / (1.0 + dot.abs());
        let g = if at < positive_count {
            STEP.positive * (1.0 - sigmoid)
        } else {
            -STEP.negative * sigmoid
        };
        for at in 0..DIM {
            sum[at] = g.mul_add(other[at], sum[at]);
            other[at] = g.mul_add(old[at], other[at]);
        }
    }
    let centre = row(centre);
    for at in 0..DIM {
        centre[at] = old[at] + sum[at];
    }
}

/// Independent chains of multiplications, few enough for the registers of every instruction set.
const CHAINS: usize = 8;

#[inline(always)]
fn multiply(rounds: usize) -> f32 {
    let (x, y) = (std::hint::black_box(0.999_f32), std::hint::black_box(1e-3_f32));
    let one = std::hint::black_box([1.0_f32; LANES]);
    let (mut a, mut b, mut c, mut d) = (one, one, one, one);
    let (mut e, mut f, mut g, mut h) = (one, one, one, one);
    for _ in 0..rounds {
        for lane in 0..LANES {
            a[lane] = a[lane].mul_add(x, y);
            b[lane] = b[lane].mul_add(x, y);
            c[lane] = c[lane].mul_add(x, y);
            d[lane] = d[lane].mul_add(x, y);
            e[lane] = e[lane].mul_add(x, y);
            f[lane] = f[lane].mul_add(x, y);
            g[lane] = g[lane].mul_add(x, y);
            h[lane] = h[lane].mul_add(x, y);
        }
    }
    [a, b, c, d, e, f, g, h].iter().flatten().sum()
}
