//! The training objective against its formula, pair by pair, and against the exact trainer.

use std::ops::ControlFlow;
use std::sync::Arc;

use nearfar::Result;
use nearfar::embedding::Embedding;
use nearfar::evaluate::measure::{MeasureConfig, Objective, ObjectiveConfig, measure, objective};
use nearfar::graph::{Graph, Node, NodeIds};
use nearfar::negative::{NegativeConfig, Negatives};
use nearfar::rng::{Purpose, Rng};
use nearfar::train::{Event, L2, Sink, Start, TrainConfig, Trainer};

use crate::graphs::{graph, islands, random, star};
use crate::trained::embed;
use crate::{naive, positives};

/// Random vectors, each number up to `spread` / 2 from 0.
fn vectors(graph: &Graph, dim: usize, spread: f64) -> Embedding {
    let mut rng = Rng::new(8, Purpose::Start, 0, 0);
    let table = (0..graph.nodes() * dim).map(|_| ((rng.unit() - 0.5) * spread) as f32).collect();
    Embedding::new(graph.ids().clone(), dim, table).unwrap()
}

fn config(law: Negatives) -> ObjectiveConfig {
    let negatives = NegativeConfig { negatives: law, ..Default::default() };
    ObjectiveConfig { negatives, ..Default::default() }
}

/// The probabilities of the negatives of a centre, by the definition of the law.
fn law(graph: &Graph, distances: &naive::Distances, law: Negatives, centre: usize) -> Vec<f64> {
    match law {
        Negatives::Uniform => naive::uniform(graph.nodes(), centre),
        Negatives::Degree => naive::degree(graph, centre, 0.75),
        Negatives::Edge => naive::edge(graph, centre),
        Negatives::DistanceMax => naive::bounded(distances, centre, 1.0, f64::max),
        _ => naive::distance(distances, centre, 1.0),
    }
}

/// The sum over all pairs in double precision: the parts of positives, negatives and regularisation.
fn oracle(graph: &Graph, embedding: &Embedding, config: &ObjectiveConfig) -> [f64; 3] {
    let n = graph.nodes();
    let distances = naive::Distances::new(graph, None);
    let contexts = positives::cooccurrence(graph, config.context);
    // A node without edges counts as one with a single edge of the mean weight.
    let degree = |node: usize| {
        let of_isolated =
            (0..n as Node).map(|k| graph.weighted_degree(k)).sum::<f64>() / graph.arcs() as f64;
        match graph.degree(node as Node) {
            0 => of_isolated,
            _ => graph.weighted_degree(node as Node),
        }
    };
    let centres: Vec<f64> = (0..n).map(|node| degree(node).powf(config.centre_power)).collect();
    let dot = |i: usize, j: usize| -> f64 {
        let [a, b] = [i, j].map(|node| embedding.vector(node as Node));
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let log_loss = |s: f64| (-s).max(0.0) + (-s.abs()).exp().ln_1p();
    let (mut parts, mut mass) = ([0.0; 3], 0.0);
    for i in 0..n {
        let law = law(graph, &distances, config.negatives.negatives, i);
        // The weights of no negatives at all are 0 / 0.
        let has_negatives = law.iter().all(|p| p.is_finite());
        for j in (0..n).filter(|&j| j != i) {
            parts[0] += centres[i] * contexts[i][j] * log_loss(dot(i, j));
            mass += centres[i] * contexts[i][j];
            if has_negatives {
                let weight = centres[i] * config.negative_weight * law[j];
                parts[1] += weight * log_loss(-dot(i, j));
                mass += weight;
            }
        }
        if has_negatives {
            parts[2] += centres[i] * config.l2 / 2.0 * dot(i, i);
        }
    }
    parts.map(|part| part / mass)
}

fn parts(found: &Objective) -> [f64; 3] {
    [found.positive, found.negative, found.regularisation]
}

#[test]
fn the_objective_is_the_sum_over_all_pairs() {
    let laws = [
        Negatives::Distance,
        Negatives::DistanceMax,
        Negatives::Uniform,
        Negatives::Degree,
        Negatives::Edge,
    ];
    let graphs = [islands(), random(600, 1100, 1), star(9), (*positives::weighted()).clone()];
    for graph in graphs.map(Arc::new) {
        for (law, spread) in laws.into_iter().zip([1.0, 3.0, 0.1, 30.0, 1.0]) {
            let embedding = vectors(&graph, 5, spread);
            for (centre_power, context, negative_weight) in
                [(0.0, 5, 1.0), (0.5, 2, 1.7), (1.0, 4, 0.2)]
            {
                let config =
                    ObjectiveConfig { centre_power, context, negative_weight, ..config(law) };
                let found = objective(&embedding, &graph, &config).unwrap();
                assert_eq!((found.centres, found.interval), (graph.nodes(), None));
                assert_eq!(found.law, law);
                let exact = oracle(&graph, &embedding, &config);
                for (found, exact) in parts(&found).into_iter().zip(exact) {
                    let bound = 2e-6 * exact.abs().max(1.0);
                    assert!((found - exact).abs() < bound, "{law:?}: {found} instead of {exact}");
                }
                assert!((found.loss - parts(&found).iter().sum::<f64>()).abs() < 1e-12);
            }
        }
    }
}

/// The loss of the first epoch, which is that of the initial vectors.
#[derive(Default)]
struct FirstLoss(Option<f64>);

impl Sink for FirstLoss {
    fn event(&mut self, event: &Event) -> Result<ControlFlow<()>> {
        if let Event::Epoch { loss, .. } = event {
            self.0.get_or_insert(*loss);
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The exact trainer reports the loss of the vectors before its step. So an epoch more of training
/// starts from the same vectors: those of a run whose learning rate is too small to move them.
#[test]
fn the_objective_without_regularisation_is_the_loss_that_the_exact_trainer_reports() {
    for graph in [islands(), random(300, 700, 4), (*positives::weighted()).clone()].map(Arc::new) {
        for (law, power, start) in [
            (Negatives::Distance, 0.5, Start::Spectral),
            (Negatives::Uniform, 0.0, Start::Random),
            (Negatives::Edge, 1.0, Start::Spectral),
        ] {
            let train = TrainConfig {
                trainer: Some(Trainer::Exact),
                dim: 6,
                epochs: Some(1),
                lr: Some(1e-12),
                start: Some(start),
                centre_power: Some(power),
                negative_weight: 1.3,
                l2: L2::Value(0.1),
                smoothing: Some(0),
                ..Default::default()
            };
            let mut sink = FirstLoss::default();
            let table = embed(&graph, law, &train, &mut sink).unwrap();
            let embedding = Embedding::new(graph.ids().clone(), 6, table).unwrap();
            let config =
                ObjectiveConfig { centre_power: power, negative_weight: 1.3, ..config(law) };
            let found = objective(&embedding, &graph, &config).unwrap();
            let (found, reported) = (found.positive + found.negative, sink.0.unwrap());
            assert!((found - reported).abs() < 1e-5, "{found}, reported {reported}");
        }
    }
}

/// 95 % of the intervals should contain the exact value; 80 % allows for chance.
#[test]
fn sampled_centres_estimate_the_objective() {
    let graph = Arc::new(random(900, 2500, 3));
    let embedding = vectors(&graph, 8, 2.0);
    let all = objective(&embedding, &graph, &config(Negatives::Distance)).unwrap();
    let (mut inside, mut sum) = (0, 0.0);
    for seed in 0..40 {
        let config = ObjectiveConfig { centres: Some(100), seed, ..config(Negatives::Distance) };
        let found = objective(&embedding, &graph, &config).unwrap();
        assert_eq!(found.centres, 100);
        let half = found.interval.unwrap();
        assert!(half > 0.0 && half < 0.2, "{half}");
        inside += usize::from((found.loss - all.loss).abs() <= half);
        sum += (found.loss - all.loss) / half;
    }
    assert!((32..=40).contains(&inside), "{inside} of 40");
    // The mean of 40 estimates has a sixth of their interval.
    assert!((sum / 40.0).abs() < 0.25, "{sum}");
}

#[test]
fn the_objective_does_not_depend_on_the_number_of_threads() {
    let graph = Arc::new(random(700, 1500, 6));
    let embedding = vectors(&graph, 9, 2.0);
    for centres in [None, Some(200)] {
        let config = ObjectiveConfig { centres, ..config(Negatives::Auto) };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| objective(&embedding, &graph, &config).unwrap())
        };
        let one = run(1);
        assert_eq!(one.law, Negatives::Distance);
        assert!([2, 5].into_iter().all(|threads| run(threads) == one));
    }
}

#[test]
fn graphs_without_edges_have_negatives_only() {
    let graph = Arc::new(graph(3, &[]));
    let zero = Embedding::new(NodeIds::Range { start: 0, len: 3 }, 2, vec![0.0; 6]).unwrap();
    let found = objective(&zero, &graph, &ObjectiveConfig::default()).unwrap();
    assert!((found.negative - 2_f64.ln()).abs() < 1e-6 && found.positive == 0.0);
}

#[test]
fn the_objective_is_one_of_the_measures() {
    let graph = Arc::new(islands());
    let embedding = vectors(&graph, 4, 2.0);
    let (l2, negative_weight, centre_power) = (0.3, 2.0, 1.0);
    let negatives = NegativeConfig { negatives: Negatives::Uniform, ..Default::default() };
    let objective_config = ObjectiveConfig {
        l2,
        negative_weight,
        centre_power,
        negatives: negatives.clone(),
        ..Default::default()
    };
    let config = MeasureConfig {
        objective: true,
        l2,
        negative_weight,
        centre_power,
        negatives,
        ..Default::default()
    };
    let found = measure(&embedding, &graph, &config).unwrap().objective;
    assert_eq!(found, Some(objective(&embedding, &graph, &objective_config).unwrap()));
    let plain = measure(&embedding, &graph, &MeasureConfig::default()).unwrap();
    assert_eq!(plain.objective, None);
    let without = measure(&embedding, &graph, &MeasureConfig { objective: false, ..config });
    assert_eq!(
        without.unwrap_err().to_string(),
        "--l2 0.3: only the objective has this option; give --objective or omit --l2"
    );
}
