//! The twin of the kernels against the library; where there is a GPU, the GPU against the twin.

use std::ops::ControlFlow;
use std::sync::Arc;

use nearfar::embedding::Embedding;
use nearfar::graph::{EdgeList, Graph, NodeIds, Preset, ReadOptions, SynthConfig, read, synth};
use nearfar::negative::{NegativeConfig, NegativeSampler, Negatives};
use nearfar::positive::{PositiveSource, Walk};
use nearfar::rng::{Purpose, Rng};
use nearfar::train::{
    Device, Event, L2, Settings, Sink, Start, Task, TrainConfig, TrainPlan, Trainer,
};
use nearfar::{Budget, BuildBackend, Parts};
use nearfar_cuda::testing::{PTX, entries, gpu_in_parts, twin};
use sha2::{Digest, Sha256};

const SKIP: u32 = u32::MAX;

fn karate() -> Arc<Graph> {
    Arc::new(read("builtin:karate", &ReadOptions::default()).unwrap().graph)
}

/// Three components, one of them a node, with weights or not.
fn parts(weighted: bool) -> Arc<Graph> {
    let ring = (0..40).map(|a| (a, (a + 1) % 40));
    let star = (41..60).map(|a| (40, a));
    let pairs: Vec<(u32, u32)> = ring.chain(star).chain([(3, 20), (5, 31)]).collect();
    let weights = (0..pairs.len()).map(|at| 0.5 + (at % 7) as f32).collect();
    let ids = NodeIds::Range { start: 0, len: 61 };
    Arc::new(EdgeList { pairs, weights: weighted.then_some(weights), ids }.build().unwrap().0)
}

fn settings(train: TrainConfig, negatives: Negatives) -> Settings {
    Settings { train, negatives: NegativeConfig { negatives, ..NegativeConfig::default() } }
}

/// Without the vectors of edges, which the CPU joins: axes can turn with the last bits of the vectors.
fn small() -> TrainConfig {
    let pmi = Some(0.0);
    TrainConfig { dim: 16, epochs: Some(3), walks: Some(3), pmi, ..TrainConfig::default() }
}

const LAWS: [Negatives; 6] = [
    Negatives::Uniform,
    Negatives::Degree,
    Negatives::Distance,
    Negatives::Edge,
    Negatives::Landmark,
    Negatives::LandmarkApprox,
];

/// What the library draws for a pass, by centre and as entries.
fn expected(
    plan: &TrainPlan,
    number: usize,
    nodes: usize,
    positives: &dyn PositiveSource,
    negatives: &dyn NegativeSampler,
) -> Vec<Vec<u32>> {
    let walks =
        plan.walks / plan.passes + usize::from(number % plan.passes < plan.walks % plan.passes);
    let mut windows: Vec<Vec<Vec<u32>>> = vec![vec![]; nodes];
    for start in 0..nodes as u32 {
        let mut rng = Rng::new(plan.seed, Purpose::Walk, number as u64, u64::from(start));
        for _ in 0..positives.walks_from(start, walks, &mut rng) {
            let mut walk = vec![0; plan.length];
            positives.walks(&[start], &mut [rng.split()], &mut walk);
            for window in walk.windows(plan.window) {
                windows[window[0] as usize].push(window.to_vec());
            }
        }
    }
    let of_centre = |(centre, windows): (usize, &Vec<Vec<u32>>)| {
        let mut drawn = vec![0; windows.len() * plan.k];
        let mut rng = Rng::new(plan.seed, Purpose::Negative, number as u64, centre as u64);
        if negatives.has_negatives(centre as u32) {
            negatives.fill(centre as u32, &mut rng, &mut drawn);
            for k in &mut drawn {
                *k *= 2;
            }
        } else {
            drawn.fill(SKIP);
        }
        let mut entries = vec![];
        for (window, drawn) in windows.iter().zip(drawn.chunks(plan.k)) {
            let step = |step: &[u32]| {
                let is_pair = step[1] != window[0] && step[1] != step[0];
                if is_pair { 2 * step[1] + 1 } else { SKIP }
            };
            entries.extend(window.windows(2).map(step));
            entries.extend(drawn);
        }
        entries
    };
    windows.iter().enumerate().map(of_centre).collect()
}

/// Compares what a device samples with what the library does.
fn same_pairs(device: Device, graph: &Arc<Graph>, settings: &Settings) {
    let plan = TrainPlan::new(settings, graph, &Budget::default()).unwrap();
    let negatives = plan.negatives.build(graph).unwrap();
    let source = || Box::new(Walk::with_centre_power(graph, plan.centre_power));
    for number in [0, 1, 4] {
        let task = Task {
            plan: &plan,
            graph,
            positives: source(),
            negatives: &*negatives,
            encoder: None,
            instruction_set: plan.kernel,
            init: None,
            features: None,
        };
        let found = entries(task, device, number).unwrap();
        let expected = expected(&plan, number, graph.nodes(), &*source(), &*negatives);
        for ((centre, found), expected) in found.into_iter().zip(expected) {
            assert_eq!(found, expected, "centre {centre}, pass {number}, {:?}", plan.negatives.law);
        }
    }
}

fn sample_everything(device: Device) {
    for law in LAWS {
        for graph in [karate(), parts(false), parts(true)] {
            same_pairs(device, &graph, &settings(small(), law));
        }
    }
    for gamma in [-2.0, 0.5, 3.0] {
        for law in [Negatives::Distance, Negatives::LandmarkApprox] {
            let mut settings = settings(small(), law);
            settings.negatives.gamma = gamma;
            same_pairs(device, &parts(false), &settings);
        }
    }
    let sliding = TrainConfig { walk_length: Some(9), context: Some(4), ..small() };
    let equal = TrainConfig { centre_power: Some(0.0), ..small() };
    for train in [sliding, equal] {
        same_pairs(device, &parts(true), &settings(train, Negatives::Uniform));
    }
}

/// Runs from the same initial vectors on every device.
fn trainings() -> Vec<(&'static str, Arc<Graph>, Settings)> {
    let large = SynthConfig { nodes: 3000, ..SynthConfig::preset(Preset::Moderate) };
    let large = Arc::new(synth(&large).unwrap().graph);
    let train =
        |dim: usize| TrainConfig { dim, start: Some(Start::Random), smoothing: Some(0), ..small() };
    let second = TrainConfig { order: 2, ..train(16) };
    let constant = TrainConfig { l2: L2::Value(0.2), ..train(40) };
    vec![
        ("karate", karate(), settings(train(20), Negatives::Distance)),
        ("parts", parts(true), settings(constant, Negatives::Degree)),
        ("second order", parts(false), settings(second, Negatives::Uniform)),
        ("synthetic", large.clone(), settings(train(128), Negatives::LandmarkApprox)),
        ("wide", large, settings(train(300), Negatives::Uniform)),
    ]
}

fn train(graph: &Arc<Graph>, settings: &Settings, device: Device) -> Embedding {
    let backend = nearfar_cuda::backend(device, None).unwrap_or_else(|| twin(1));
    train_with(graph, settings, device, backend)
}

fn train_with(
    graph: &Arc<Graph>,
    settings: &Settings,
    device: Device,
    backend: BuildBackend<'_>,
) -> Embedding {
    let mut settings = settings.clone();
    settings.train.device = device;
    let parts = Parts { backend: Some(backend), ..Parts::default() };
    nearfar::embed_with(graph, &settings, &Budget::default(), parts, &mut ()).unwrap()
}

fn bits(embedding: &Embedding) -> Vec<u32> {
    embedding.vectors().iter().map(|value| value.to_bits()).collect()
}

/// Runs on a GPU if there is one, and says so if not.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn on_gpu(test: impl FnOnce(Device)) {
    let (graph, device) = (karate(), Device::Cuda(0));
    let train = TrainConfig { device, ..small() };
    let parts = Parts { backend: nearfar_cuda::backend(device, None), ..Parts::default() };
    let settings = settings(train, Negatives::Uniform);
    match nearfar::embed_with(&graph, &settings, &Budget::default(), parts, &mut ()) {
        Ok(_) => test(device),
        Err(error) => eprintln!("SKIPPED: {error}"),
    }
}

#[test]
fn the_twin_samples_the_pairs_of_the_library() {
    sample_everything(Device::Cpu);
}

#[test]
fn a_gpu_samples_the_pairs_of_the_library() {
    on_gpu(sample_everything);
}

#[test]
fn a_gpu_trains_the_bytes_of_the_twin() {
    on_gpu(|device| {
        for (name, graph, settings) in trainings() {
            let (gpu, twin) =
                (train(&graph, &settings, device), train(&graph, &settings, Device::Cpu));
            assert_eq!(bits(&gpu), bits(&twin), "{name}");
        }
    });
}

#[test]
fn sums_over_parts_give_the_bytes_of_sums_over_all() {
    for (name, graph, settings) in trainings() {
        let train = |parts| bits(&train_with(&graph, &settings, Device::Cpu, twin(parts)));
        let whole = train(1);
        for parts in [2, 5] {
            assert_eq!(train(parts), whole, "{name} in {parts} parts");
        }
    }
}

#[test]
fn a_gpu_trains_the_bytes_of_the_twin_in_any_number_of_parts() {
    on_gpu(|device| {
        for (name, graph, settings) in trainings() {
            let twin = bits(&train(&graph, &settings, Device::Cpu));
            for parts in [1, 2, 3] {
                let backend = gpu_in_parts(0, parts);
                let gpu = train_with(&graph, &settings, device, backend);
                assert_eq!(bits(&gpu), twin, "{name} in {parts} parts");
            }
        }
    });
}

/// The products of some vectors, which do not depend on the signs of eigenvectors.
fn products(embedding: &Embedding) -> Vec<f64> {
    let rows: Vec<&[f32]> = embedding.vectors().chunks_exact(embedding.dim()).collect();
    let rows: Vec<&[f32]> = rows.iter().step_by(rows.len().div_ceil(50)).copied().collect();
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum();
    rows.iter().flat_map(|a| rows.iter().map(move |b| dot(a, b))).collect()
}

/// Compares products by their distance, relative to their size: single ones of small vectors may differ.
fn close(name: &str, found: &Embedding, expected: &Embedding, tolerance: f64) {
    let (found, expected) = (products(found), products(expected));
    let size = |all: &mut dyn Iterator<Item = f64>| all.map(|x| x * x).sum::<f64>().sqrt();
    let error = size(&mut found.iter().zip(&expected).map(|(a, b)| a - b));
    let relative = error / size(&mut expected.iter().copied());
    assert!(relative < tolerance, "{name}: {relative}");
}

#[test]
fn a_gpu_starts_and_smooths_as_the_cpu() {
    on_gpu(|device| {
        let large = SynthConfig { nodes: 3000, ..SynthConfig::preset(Preset::Moderate) };
        let large = Arc::new(synth(&large).unwrap().graph);
        for (name, graph) in [("karate", karate()), ("parts", parts(true)), ("synthetic", large)] {
            for (dim, smoothing) in [(20, 0), (20, 2), (128, 2)] {
                let still = TrainConfig { dim, lr: Some(1e-6), epochs: Some(1), ..small() };
                let still = TrainConfig { smoothing: Some(smoothing), ..still };
                let settings = settings(still, Negatives::Uniform);
                let (gpu, cpu) =
                    (train(&graph, &settings, device), train(&graph, &settings, Device::Cpu));
                // Directions of small eigenvalues depend on the order of sums.
                close(name, &gpu, &cpu, 0.03);
            }
        }
    });
}

#[test]
fn a_gpu_trains_on_all_pairs_as_the_cpu() {
    on_gpu(|device| {
        for law in [Negatives::Uniform, Negatives::Distance, Negatives::DistanceMin] {
            for (name, graph) in [("karate", karate()), ("parts", parts(true))] {
                for dim in [16, 100] {
                    let exact = TrainConfig {
                        dim,
                        trainer: Some(Trainer::Exact),
                        start: Some(Start::Random),
                        epochs: Some(20),
                        ..TrainConfig::default()
                    };
                    let mut settings = settings(exact, law);
                    let expected = nearfar::embed(&graph, &settings, &Budget::default(), &mut ());
                    settings.train.device = device;
                    close(name, &train(&graph, &settings, device), &expected.unwrap(), 1e-3);
                }
            }
        }
    });
}

#[test]
fn the_twin_gives_the_same_bytes_on_any_number_of_threads() {
    for (name, graph, settings) in trainings() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| train(&graph, &settings, Device::Cpu))
        };
        assert_eq!(run(1).vectors(), run(3).vectors(), "{name}");
    }
}

/// The mean loss of each epoch.
#[derive(Default)]
struct Losses(Vec<f64>);

impl Sink for Losses {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        if let Event::Epoch { loss, .. } = event {
            self.0.push(*loss);
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn the_loss_of_every_epoch_is_about_that_of_the_cpu() {
    let config =
        TrainConfig { start: Some(Start::Random), walks: Some(20), l2: L2::Value(0.0), ..small() };
    let settings = settings(TrainConfig { epochs: Some(30), ..config }, Negatives::Uniform);
    let losses = |backend| {
        let (mut losses, parts) = (Losses::default(), Parts { backend, ..Parts::default() });
        nearfar::embed_with(&karate(), &settings, &Budget::default(), parts, &mut losses).unwrap();
        losses.0
    };
    let (twin, cpu) = (losses(Some(twin(1))), losses(None));
    assert_eq!(twin.len(), cpu.len());
    for (twin, cpu) in twin.iter().zip(&cpu) {
        assert!((twin / cpu - 1.0).abs() < 0.01, "{twin} for {cpu}");
    }
}

/// What is checked in was compiled from these sources.
#[test]
fn kernels_are_up_to_date() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "ptx"))
        .collect();
    names.sort();
    let sources: Vec<u8> = names.iter().flat_map(|name| std::fs::read(name).unwrap()).collect();
    let first = PTX.lines().next().unwrap_or_default();
    let (_, recorded) = first.split_once("sources ").unwrap();
    let byte = |at: usize| u8::from_str_radix(&recorded[at..at + 2], 16).unwrap();
    let recorded: Vec<u8> = (0..recorded.len()).step_by(2).map(byte).collect();
    assert_eq!(Sha256::digest(sources).as_slice(), recorded, "run scripts/make-kernels");
}

/// There is a GPU, or one sentence says why not.
#[test]
fn without_a_gpu_one_sentence_says_so() {
    let train = TrainConfig { device: Device::Cuda(63), ..small() };
    let parts = Parts { backend: nearfar_cuda::backend(train.device, None), ..Parts::default() };
    let settings = settings(train, Negatives::Uniform);
    let error = nearfar::embed_with(&karate(), &settings, &Budget::default(), parts, &mut ());
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("--device cuda:63: "), "{error}");
    assert_eq!(error.lines().count(), 1);
}
