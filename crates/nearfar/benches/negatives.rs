//! Draws per second on one core, by law.
//!
//! Asked for 20, 200 or four lists of 100 negatives of one random centre after another, where every
//! centre's rows come from memory, and for many of one centre, where they are in cache.
//! The graph is PubMed if `NEARFAR_DATA` names the folder that holds `pubmed`, else a synthetic
//! one of the same size. Run with `cargo bench -p nearfar --bench negatives`.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nearfar::graph::{Graph, Node, Preset, ReadOptions, SynthConfig, read, synth};
use nearfar::negative::{Budget, NegativeConfig, NegativePlan, Negatives, Strategy};
use nearfar::rng::{Purpose, Rng};

fn graph() -> (&'static str, Arc<Graph>) {
    let folder = std::env::var("NEARFAR_DATA").unwrap_or_default();
    if let Ok(dataset) = read(&format!("{folder}/pubmed"), &ReadOptions::default()) {
        return ("pubmed", Arc::new(dataset.graph));
    }
    let config = SynthConfig { nodes: 20_000, ..SynthConfig::preset(Preset::Moderate) };
    ("synthetic", Arc::new(synth(&config).expect("a preset").graph))
}

fn negatives(c: &mut Criterion) {
    let (name, graph) = graph();
    let mut centres: Vec<Node> = (0..graph.nodes() as Node).collect();
    Rng::new(0, Purpose::Source, 0, 0).shuffle(&mut centres);
    let laws = [
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
    for (law, gamma) in laws {
        let strategy = Strategy::Table;
        let config = NegativeConfig { negatives: law, gamma, strategy, ..Default::default() };
        let plan = NegativePlan::new(&graph, &config, &Budget::default()).expect("a fitting plan");
        let sampler = plan.build(&graph).expect("a sampler");
        let mut group = c.benchmark_group(format!("{name}/{}/gamma {gamma}", law.name()));
        let mut rng = Rng::new(0, Purpose::Negative, 0, 0);
        let ways = [
            ("20 of each centre", 1, 20),
            ("200 of each", 1, 200),
            ("four times 100 of each", 4, 100),
            ("many of one", 1, 10_000),
        ];
        for (way, lists, count) in ways {
            let mut out = vec![0; lists * count];
            let mut at = 0;
            group.throughput(Throughput::Elements(out.len() as u64));
            group.bench_function(BenchmarkId::from_parameter(way), |b| {
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
