//! What a plan says of itself in files.

use serde_json::{Map, Value, json};

use super::super::config::Trainer;
use super::TrainPlan;
use crate::encode::FeatureShape;

impl TrainPlan {
    /// Every resolved setting by the name of its option, with the seed, the version of this library
    /// and the fingerprint of the graph: what the vectors can be reproduced from.
    pub fn provenance(&self) -> Map<String, Value> {
        let fields = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "graph": format!("{:016x}", self.fingerprint),
            "model": self.model,
            "trainer": self.trainer,
            "protocol": self.protocol,
            "dim": self.dim,
            "context": self.window,
            "walk-length": self.length,
            "walks": self.walks,
            "centre-power": self.centre_power,
            "k": self.k,
            "p": self.p,
            "q": self.q,
            "order": self.order,
            "start": self.start,
            "epochs": self.epochs,
            "lr": self.lr,
            "batch": (self.trainer == Trainer::Batch).then_some(self.batch),
            "l2": self.l2,
            "smoothing": self.smoothing,
            "pmi": self.pmi,
            "negative-weight": self.negative_weight,
            "seed": self.seed,
            "kernel": self.kernel.name(),
            "device": self.device.name(),
        });
        let mut all = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        if self.directed {
            all.insert("directed".to_owned(), true.into());
        }
        if let Some(init) = self.init {
            all.insert("init".to_owned(), format!("{init:016x}").into());
        }
        if let Some(FeatureShape { width, fingerprint, .. }) = self.features {
            let features = json!({ "width": width, "hash": format!("{fingerprint:016x}") });
            all.insert("features".to_owned(), features);
        }
        if self.custom_negatives {
            all.insert("negatives".to_owned(), "custom".into());
        } else {
            all.extend(self.negatives.provenance());
        }
        all
    }
}
