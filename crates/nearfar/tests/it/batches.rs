//! The batch trainer, over every encoder.

use std::sync::Arc;

use nearfar::graph::{ReadOptions, read};
use nearfar::negative::Negatives;
use nearfar::train::{L2, Model, Protocol, TrainConfig, Trainer};

use crate::graphs::{islands, random};
use crate::trained::embed;

const MODELS: [Model; 7] = [
    Model::Deepwalk,
    Model::Node2vec,
    Model::Line,
    Model::Gae,
    Model::Vgae,
    Model::Gcn,
    Model::Sage,
];

fn config(model: Model) -> TrainConfig {
    TrainConfig { model, trainer: Some(Trainer::Batch), dim: 10, ..Default::default() }
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let graph = Arc::new(random(400, 900, 2));
    let negatives = Negatives::Distance;
    let paper = TrainConfig { protocol: Some(Protocol::Paper), ..config(Model::Deepwalk) };
    for config in MODELS.map(config).into_iter().chain([paper]) {
        let config = TrainConfig { epochs: Some(2), ..config };
        let train = |threads: usize| -> Vec<u32> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let vectors = pool.install(|| embed(&graph, negatives, &config, &mut ()).unwrap());
            vectors.into_iter().map(f32::to_bits).collect()
        };
        assert!(train(1) == train(3), "{config:?}");
    }
}

#[test]
fn every_model_trains_with_every_law() {
    let graph = Arc::new(islands());
    for negatives in [Negatives::Uniform, Negatives::Distance, Negatives::Edge, Negatives::Landmark]
    {
        for model in MODELS {
            let config = TrainConfig { epochs: Some(3), ..config(model) };
            let vectors = embed(&graph, negatives, &config, &mut ()).unwrap();
            assert_eq!(vectors.len(), graph.nodes() * 10);
            assert!(vectors.iter().all(|value| value.is_finite()), "{model:?} {negatives:?}");
        }
    }
}

#[test]
fn neighbours_become_similar() {
    let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
    let negatives = Negatives::Uniform;
    for model in MODELS {
        let config =
            TrainConfig { epochs: Some(60), batch: Some(34), lr: Some(0.05), ..config(model) };
        let vectors = embed(&graph, negatives, &config, &mut ()).unwrap();
        let row = |node: u32| &vectors[node as usize * 10..][..10];
        let dot = |a, b| -> f32 { row(a).iter().zip(row(b)).map(|(x, y)| x * y).sum() };
        let mean = |values: Vec<f32>| values.iter().sum::<f32>() / values.len() as f32;
        let products = |adjacent: bool| {
            let all = (0..34).flat_map(|a| (0..a).map(move |b| (a, b)));
            let some = all.filter(|&(a, b)| graph.has_edge(a, b) == adjacent);
            some.map(|(a, b)| dot(a, b)).collect()
        };
        let (adjacent, others) = (mean(products(true)), mean(products(false)));
        assert!(adjacent > others + 0.5, "{model:?}: {adjacent} {others}");
    }
}

#[test]
fn contradictory_options_are_refused() {
    let graph = Arc::new(islands());
    let negatives = Negatives::Uniform;
    let base = TrainConfig::default;
    for (remedy, config) in [
        (
            "use --trainer batch",
            TrainConfig { trainer: Some(Trainer::Stream), ..config(Model::Gae) },
        ),
        (
            "use --trainer batch",
            TrainConfig { trainer: Some(Trainer::Exact), ..config(Model::Sage) },
        ),
        (
            "omit --protocol",
            TrainConfig {
                trainer: Some(Trainer::Exact),
                protocol: Some(Protocol::Paper),
                ..base()
            },
        ),
        (
            "use --model deepwalk or --trainer stream",
            TrainConfig { trainer: Some(Trainer::Exact), model: Model::Node2vec, ..base() },
        ),
        ("use --order 1", TrainConfig { order: 2, ..config(Model::Line) }),
        ("omit --l2", TrainConfig { l2: L2::Value(0.1), ..config(Model::Deepwalk) }),
        ("omit --batch", TrainConfig { batch: Some(4), ..base() }),
        ("at least 1", TrainConfig { batch: Some(0), ..config(Model::Deepwalk) }),
    ] {
        let error = embed(&graph, negatives, &config, &mut ()).unwrap_err().to_string();
        assert!(error.contains(remedy), "{error}");
    }
}

/// With all else equal, each network leads to vectors of its own.
#[test]
fn networks_differ_from_tables_and_from_each_other() {
    let graph = Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph);
    let trained = MODELS.map(|model| {
        let config = TrainConfig {
            epochs: Some(3),
            walks: Some(2),
            k: Some(5),
            batch: Some(34),
            lr: Some(0.05),
            ..config(model)
        };
        embed(&graph, Negatives::Uniform, &config, &mut ()).unwrap()
    });
    for (at, (model, vectors)) in MODELS.iter().zip(&trained).enumerate() {
        for (other, others) in MODELS.iter().zip(&trained).take(at) {
            // Both take the same walks where p = q = 1.
            let alike = (*other, *model) == (Model::Deepwalk, Model::Node2vec);
            assert!(alike || vectors != others, "{other:?} and {model:?}");
        }
    }
}
