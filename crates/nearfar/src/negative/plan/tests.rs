//! What a plan says of searches is what building does.

use super::*;
use crate::graph::{EdgeList, NodeIds};

/// A table whose distances are known to fit a byte takes no more, and is searched for on all threads.
#[test]
fn what_was_planned_is_built() {
    for (nodes, cell) in [(200_u32, 1), (256, 1), (257, 2)] {
        let pairs = (1..nodes).map(|b| (b - 1, b)).collect();
        let ids = NodeIds::Range { start: 0, len: nodes as usize };
        let graph = EdgeList { pairs, weights: None, ids }.build().unwrap().0;
        let config = |negatives| NegativeConfig { negatives, ..Default::default() };
        let plan = |negatives| {
            let (budget, demand) = (Budget::default(), Demand::default());
            NegativePlan::new(&graph, &config(negatives), &budget, &demand).unwrap()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        // One search has 512 sources; those from few landmarks are made one by one.
        for (negatives, searches) in [(Negatives::Distance, 1), (Negatives::Landmark, 0)] {
            let plan = pool.install(|| plan(negatives));
            assert_eq!((plan.cell, plan.searches), (cell, searches), "{negatives:?}");
        }
    }
}
