//! Checkpoints: an interrupted run continues to the same bytes as an uninterrupted one.
//!
//! Random streams are named by epoch and node, so what follows the end of an epoch depends on the
//! vectors, the state of the backend and the number of the epoch alone. They are kept in a
//! safetensors file: `vectors`, F32 [nodes, dimensions], `state`, bytes that only the backend reads,
//! and as metadata the epoch and the resolved settings.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value};

use super::super::backend::cannot_resume;
use super::super::config::Trainer;
use super::super::plan::TrainPlan;
use super::event::State;
use crate::embedding::write_floats;
use crate::error::{Error, Problem, Result};
use crate::file::read_all;
use crate::file::safetensors::{Tensor, write};
use crate::simd::InstructionSet;

/// A state that was saved.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Completed epochs.
    pub epoch: usize,
    /// The resolved settings of the run, as a JSON object.
    pub settings: String,
    /// The vectors, row by row.
    pub vectors: Vec<f32>,
    /// What only the backend reads.
    pub state: Vec<u8>,
}

/// The folder that holds the checkpoint of a run.
#[derive(Debug)]
pub struct Checkpoints {
    file: PathBuf,
    resume: bool,
    settings: String,
    saved: Instant,
    took: Duration,
}

impl Checkpoints {
    /// Keeps the checkpoint in a folder, which is created if it does not exist. `resume` continues
    /// the run whose checkpoint is there.
    pub fn new(folder: &Path, resume: bool) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| Error::write(folder, error))?;
        let file = folder.join("checkpoint.safetensors");
        let (saved, took) = (Instant::now(), Duration::ZERO);
        Ok(Self { file, resume, settings: String::new(), saved, took })
    }

    /// Finds the checkpoint of a run with this plan; none if the folder is empty. Fails if there is
    /// one and it was not asked for, or was made with other settings.
    pub fn open(&mut self, plan: &TrainPlan) -> Result<Option<Checkpoint>> {
        if plan.trainer != Trainer::Stream {
            return Err(cannot_resume());
        }
        self.settings = describe(plan);
        if !self.file.exists() {
            return Ok(None);
        }
        if !self.resume {
            let problem = Problem::from("a run was saved here already").act("remove it");
            return Err(Error::file(&self.file, problem.give("resume")));
        }
        let checkpoint = Checkpoint::load(&self.file)?;
        check_same(&self.file, &checkpoint.settings, &self.settings)?;
        Ok(Some(checkpoint))
    }

    /// Saves the state `now`, or if the last save is long enough ago that saving takes at most a
    /// tenth of the time.
    pub fn state(&mut self, state: &State<'_>, now: bool) -> Result<()> {
        if now || self.saved.elapsed() >= 10 * self.took {
            let start = Instant::now();
            self.save(state)?;
            (self.saved, self.took) = (Instant::now(), start.elapsed());
        }
        Ok(())
    }

    fn save(&self, state: &State<'_>) -> Result<()> {
        let bytes = state.backend.state().ok_or_else(cannot_resume)?;
        let vectors = state.vectors();
        let rows = vectors.values.len() / vectors.stride.max(1);
        let metadata = BTreeMap::from([
            ("epoch".to_owned(), state.epoch.to_string()),
            ("settings".to_owned(), self.settings.clone()),
        ]);
        let write_vectors = |mut out: &mut dyn Write| {
            vectors.rows().try_for_each(|row| write_floats(&mut out, row))
        };
        let write_state = |out: &mut dyn Write| out.write_all(&bytes);
        let (dtype, shape) = (Dtype::F32, vec![rows, vectors.dim]);
        let vectors = Tensor { name: "vectors", dtype, shape, write: &write_vectors };
        let (dtype, shape) = (Dtype::U8, vec![bytes.len()]);
        let state = Tensor { name: "state", dtype, shape, write: &write_state };
        write(&self.file, &metadata, &[vectors, state])
    }
}

impl Checkpoint {
    /// Reads a checkpoint.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = read_all(path)?;
        Self::parse(&bytes).ok_or_else(|| {
            let problem = Problem::from("not a checkpoint of this version, or a damaged one");
            Error::file(path, problem.omit("resume"))
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (_, header) = SafeTensors::read_metadata(bytes).ok()?;
        let metadata: &HashMap<String, String> = header.metadata().as_ref()?;
        let tensors = SafeTensors::deserialize(bytes).ok()?;
        let vectors = tensors.tensor("vectors").ok().filter(|it| it.dtype() == Dtype::F32)?;
        let (numbers, _) = vectors.data().as_chunks::<4>();
        Some(Self {
            epoch: metadata.get("epoch")?.parse().ok()?,
            settings: metadata.get("settings")?.clone(),
            vectors: numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(),
            state: tensors.tensor("state").ok()?.data().to_vec(),
        })
    }
}

/// All that the bytes of a run depend on. Instruction sets differ in the order of sums.
fn describe(plan: &TrainPlan) -> String {
    let mut all = plan.provenance();
    all.insert("kernel".to_owned(), InstructionSet::detect().name().into());
    Value::Object(all).to_string()
}

/// Fails if a run was made with other settings than those of now, and says which.
fn check_same(file: &Path, saved: &str, now: &str) -> Result<()> {
    if saved == now {
        return Ok(());
    }
    let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let (saved, now) = (parse(saved), parse(now));
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    for (key, value) in &now {
        let other = saved.get(key).unwrap_or(&Value::Null);
        let problem = match key.as_str() {
            _ if other == value => continue,
            "graph" => "the checkpoint is of another graph".to_owned(),
            "version" => format!("the checkpoint is of version {}", text(other)),
            "kernel" => format!("the checkpoint is of instruction set {}", text(other)),
            _ => format!("the checkpoint has {key} {}, not {}", text(other), text(value)),
        };
        return Err(Error::file(file, problem));
    }
    Err(Error::file(file, "the checkpoint has other settings"))
}
