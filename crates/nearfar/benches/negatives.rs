//! Draws per second on one core, for every kind of negatives.
//!
//! Draws 20, 200 or four lists of 100 negatives for one random centre after another, with rows in
//! main memory, and 10 000 for a single centre, with its row in cache.
//! The graph is PubMed if `NEARFAR_DATA` names the folder that holds `pubmed`, else a synthetic
//! one of the same size. Run with `cargo bench -p nearfar --bench negatives`.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nearfar::Budget;
use nearfar::graph::{Graph, Node, Preset, ReadOptions, SynthConfig, read, synth};
use nearfar::negative::{Demand, NegativeConfig, NegativePlan, Negatives, Strategy};
use nearfar::rng::{Purpose, Rng};

fn graph() -> (&'static str, Arc<Graph>) {
    let folder = std::env::var("NEARFAR_DATA").unwrap_or_default();
    if let Ok(dataset) = read(&format!("{folder}/pubmed"), &ReadOptions::default()) {
        return ("pubmed", Arc::new(dataset.graph));
    }
    let config = SynthConfig { nodes: 20_000, ..SynthConfig::preset(Preset::Moderate) };
    ("synthetic", Arc::new(synth(&config).expect("a valid preset").graph))
}

fn negatives(c: &mut Criterion) {
    let (name, graph) = graph();
    let mut centres: Vec<Node> = (0..graph.nodes() as Node).collect();
    Rng::new(0, Purpose::Source, 0, 0).shuffle(&mut centres);
    let kinds = [
        (Negatives::Uniform, 1.0),
        (Negatives::Degree, 1.0),
        (Negatives::Edge, 1.0),
        (Negatives::Distance, 1.0),
        (Negatives::Distance, 0.5),
        (Negatives::Distance, -1.0),
        (Negatives::DistanceMin, 1.0),
        (Negatives::DistanceMax, 1.0),
        (Negatives::LandmarkApprox, 1.0),
        (Negatives::LandmarkApprox, 2.0),
        (Negatives::LandmarkApprox, -1.0),
        (Negatives::Landmark, 1.0),
    ];
    for (negatives, gamma) in kinds {
        let strategy = Strategy::Table;
        let config = NegativeConfig { negatives, gamma, strategy, ..Default::default() };
        let plan = NegativePlan::new(&graph, &config, &Budget::default(), &Demand::default())
            .expect("a plan within the budget");
        let sampler = plan.build(&graph).expect("a sampler");
        let mut group = c.benchmark_group(format!("{name}/{}/gamma {gamma}", negatives.name()));
        let mut rng = Rng::new(0, Purpose::Negative, 0, 0);
        let cases = [
            ("20 of each centre", 1, 20),
            ("200 of each", 1, 200),
            ("four times 100 of each", 4, 100),
            ("many of one", 1, 10_000),
        ];
        for (case, lists, count) in cases {
            let mut out = vec![0; lists * count];
            let mut at = 0;
            group.throughput(Throughput::Elements(out.len() as u64));
            group.bench_function(BenchmarkId::from_parameter(case), |b| {
                b.iter(|| {
                    if count < 10_000 {
                        at = (at + 1) % centres.len();
                    }
                    let lists = out.chunks_mut(count).map(|list| (rng.split(), list));
                    sampler.fill_each(centres[at], &mut lists.collect::<Vec<_>>());
                    black_box(&out);
                });
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(std::time::Duration::from_secs(2))
        .warm_up_time(std::time::Duration::from_secs(1)).sample_size(30);
    targets = negatives
}
criterion_main!(benches);
