//! Work that a caller gives up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nearfar::cancel::{Cancelled, watch};
use nearfar::distance::DistanceSummary;
use nearfar::graph::{ReadOptions, read};

#[test]
fn work_that_was_given_up_ends() {
    let graph = read("builtin:karate", &ReadOptions::default()).unwrap().graph;
    let flag = Arc::new(AtomicBool::new(false));
    let of_threads = Arc::clone(&flag);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
    let pool = pool.start_handler(move |_| watch(Arc::clone(&of_threads))).build().unwrap();
    let work = || pool.install(|| DistanceSummary::new(&graph, None, 0));
    assert_eq!(work().diameter, 5);
    flag.store(true, Relaxed);
    let ended = catch_unwind(AssertUnwindSafe(work));
    assert!(ended.is_err_and(|payload| payload.is::<Cancelled>()));
    // Other threads are not concerned.
    assert_eq!(DistanceSummary::new(&graph, None, 0).diameter, 5);
}
