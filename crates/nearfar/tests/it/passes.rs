//! The stream trainer against its reference, where an epoch has several passes.

use std::ops::ControlFlow;
use std::sync::Arc;

use nearfar::negative::Negatives;
use nearfar::positive::Walk;
use nearfar::train::stream::reference;
use nearfar::train::{Event, L2, Sink, TrainConfig};

use crate::graphs::random;
use crate::trained::{embed, plan, sampler};

/// The loss of the last epoch.
#[derive(Default)]
struct LastLoss(f64);

impl Sink for LastLoss {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        if let Event::Epoch { loss, .. } = event {
            self.0 = *loss;
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Five walks are two passes of two and one of one.
#[test]
fn the_stream_trainer_agrees_with_its_reference_in_several_passes() {
    let graph = Arc::new(random(300, 900, 5));
    for walk_length in [None, Some(6)] {
        let config = TrainConfig {
            dim: 20,
            walks: Some(5),
            walk_length,
            l2: L2::Value(0.2),
            epochs: Some(2),
            smoothing: Some(0),
            ..Default::default()
        };
        for law in [Negatives::Uniform, Negatives::Distance] {
            let mut last = LastLoss::default();
            let fast = embed(&graph, law, &config, &mut last).unwrap();
            let (plan, negatives) = (plan(&graph, law, &config), sampler(&graph, law));
            assert_eq!(plan.passes, 3);
            let positives = Walk::with_centre_power(&graph, plan.centre_power);
            let (slow, loss) = reference::train(&plan, 0.2, &graph, &positives, &*negatives);
            let errors = fast.iter().zip(&slow).map(|(a, b)| (f64::from(*a) - b).abs());
            let error = errors.fold(0.0, f64::max);
            assert!(error < 1e-4, "{law:?}, {walk_length:?}: {error}");
            assert!((last.0 - loss).abs() < 1e-5, "{} {loss}", last.0);
        }
    }
}
