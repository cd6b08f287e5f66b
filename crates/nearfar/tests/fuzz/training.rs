//! Small trainings and updates.

use std::sync::Arc;

use nearfar::Budget;
use nearfar::embedding::Embedding;
use nearfar::graph::{EdgeList, Graph, Node, NodeIds, Origin};
use nearfar::train::Settings;

use super::{file, split};

/// Trains a small random graph with random settings, and updates the vectors after edges went: the
/// same on one and on three threads. The first byte chooses directions and lengths.
pub(super) fn training(data: &[u8]) {
    let (edges, options) = split(data);
    let Some((first, edges)) = edges.split_first() else { return };
    let graph = |taken: usize| small_graph(&edges[..edges.len().min(taken)], *first);
    let (Some(graph), Some(fewer)) = (graph(600), graph(500)) else { return };
    let mut settings = Settings::default();
    let options = options.unwrap_or_default();
    if settings.merge(&file("options.toml", options), |_| false).is_err() {
        return;
    }
    // What takes long without new code being reached.
    let train = &mut settings.train;
    train.dim = train.dim.min(40);
    train.epochs = Some(train.epochs.unwrap_or(2).min(2));
    train.walks = train.walks.map(|walks| walks.min(4));
    train.walk_length = train.walk_length.map(|length| length.min(30));
    train.context = train.context.map(|context| context.min(12));
    train.k = train.k.map(|k| k.min(20));
    let budget = Budget { memory: 200_000_000, ..Default::default() };
    let trained = on_one_and_three_threads(|| nearfar::embed(&graph, &settings, &budget, &mut ()));
    if let Some(old) = trained {
        let update = || nearfar::update(&old, &fewer, Some(&graph), &settings, &budget, &mut ());
        on_one_and_three_threads(|| update().map(|(vectors, _)| vectors));
    }
}

/// A graph of 40 nodes whose edges are pairs of bytes.
fn small_graph(edges: &[u8], options: u8) -> Option<Arc<Graph>> {
    let pairs = edges.as_chunks::<2>().0.iter();
    let pairs: Vec<(Node, Node)> =
        pairs.map(|[a, b]| (Node::from(a % 40), Node::from(b % 40))).collect();
    let weights = pairs.iter().map(|(a, b)| (a * b % 5) as f32).collect();
    let weights = (options & 2 != 0).then_some(weights);
    let ids = NodeIds::Range { start: 0, len: 40 };
    let origin = Origin { directed: options & 1 != 0, ..Origin::default() };
    let graph = EdgeList { pairs, weights, ids }.dataset(origin).ok()?.graph;
    Some(Arc::new(if options & 4 == 0 { graph } else { graph.with_weights_as_lengths() }))
}

/// The vectors of a run, if it succeeds: the same, or the same error, on one and on three threads.
fn on_one_and_three_threads(
    run: impl Fn() -> nearfar::Result<Embedding> + Sync,
) -> Option<Embedding> {
    let [one, three] = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(&run)
    });
    match (one, three) {
        (Ok(one), Ok(three)) => {
            assert_eq!(one.vectors(), three.vectors());
            Some(one)
        }
        (Err(one), Err(three)) => {
            assert_eq!(one.to_string(), three.to_string());
            None
        }
        (one, three) => panic!("{:?} and {:?}", one.err(), three.err()),
    }
}
