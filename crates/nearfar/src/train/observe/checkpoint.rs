//! Checkpoints: an interrupted run continues to the same bytes as an uninterrupted one.
//!
//! Random streams are named by epoch and node, so what follows the end of an epoch depends on the
//! vectors, the state of the backend and the number of the epoch alone. They are kept in a
//! safetensors file: `vectors`, F32 [nodes, dimensions], `state`, bytes that only the backend reads,
//! and as metadata the epoch and the resolved settings. Its last tensor, `sha256`, is the checksum of
//! all bytes before it: a file with another bit anywhere is refused.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use safetensors::tensor::TensorInfo;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value};

use super::super::backend::cannot_resume;
use super::super::plan::TrainPlan;
use super::event::State;
use crate::embedding::write_floats;
use crate::error::{Error, Problem, Result};
use crate::file::check_writable;
use crate::file::safetensors::{Tensor, is_sealed, write_sealed};
use crate::memory::{Array, Mapped};
use crate::simd::InstructionSet;

/// A state that was saved.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Completed epochs.
    pub epoch: usize,
    /// The resolved settings of the run, as a JSON object.
    pub settings: String,
    /// The vectors, row by row.
    pub vectors: Array<f32>,
    /// What only the backend reads.
    pub state: Array<u8>,
}

/// The folder that holds the checkpoint of a run.
#[derive(Debug)]
pub struct Checkpoints {
    file: PathBuf,
    resume: bool,
    any_kernel: bool,
    settings: String,
    saved: Instant,
    took: Duration,
}

impl Checkpoints {
    /// Keeps the checkpoint in a folder, which is created if it does not exist. `resume` continues
    /// the run whose checkpoint is there.
    pub fn new(folder: &Path, resume: bool) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| Error::write(folder, error))?;
        let file = Self::file_in(folder);
        let (saved, took) = (Instant::now(), Duration::ZERO);
        Ok(Self { file, resume, any_kernel: false, settings: String::new(), saved, took })
    }

    /// The file of the checkpoint in a folder.
    pub fn file_in(folder: &Path) -> PathBuf {
        folder.join("checkpoint.safetensors")
    }

    /// Continues also from a checkpoint of another instruction set. The result is then not that of
    /// an uninterrupted run.
    #[must_use]
    pub fn on_any_kernel(self, any_kernel: bool) -> Self {
        Self { any_kernel, ..self }
    }

    /// Finds the checkpoint of a run with this plan; none if the folder is empty. Fails if there is
    /// one and it was not asked for, or was made with other settings.
    pub fn open(&mut self, plan: &TrainPlan) -> Result<Option<Checkpoint>> {
        self.settings = Value::Object(plan.provenance()).to_string();
        check_writable(&self.file)?;
        if !self.file.exists() {
            return Ok(None);
        }
        if !self.resume {
            let problem = Problem::from("a run was saved here already").act("remove it");
            return Err(Error::file(&self.file, problem.give("resume")));
        }
        let checkpoint = Checkpoint::load(&self.file)?;
        check_same(&self.file, &checkpoint.settings, &self.settings, self.any_kernel)?;
        let same_epochs = checkpoint.check_epoch(plan.epochs);
        same_epochs.map_err(|error| Error::file(&self.file, error.to_string()))?;
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
        let some = (WRITTEN / (4 * vectors.stride.max(1))).max(1);
        let metadata = BTreeMap::from([
            ("epoch".to_owned(), state.epoch.to_string()),
            ("settings".to_owned(), self.settings.clone()),
        ]);
        let (contexts, release) = (state.backend.contexts(), || state.backend.release());
        let write_vectors = |mut out: &mut dyn Write| {
            for (at, row) in vectors.rows().enumerate() {
                write_floats(&mut out, row)?;
                if at % some == some - 1 {
                    release();
                }
            }
            Ok(())
        };
        let write_state = |mut out: &mut dyn Write| {
            out.write_all(&bytes)?;
            contexts.chunks(some * vectors.stride.max(1)).try_for_each(|piece| {
                write_floats(&mut out, piece)?;
                release();
                Ok(())
            })
        };
        let (dtype, shape) = (Dtype::F32, vec![rows, vectors.dim]);
        let vectors = Tensor { name: "vectors", dtype, shape, write: &write_vectors };
        let (dtype, shape) = (Dtype::U8, vec![bytes.len() + size_of_val(contexts)]);
        let state = Tensor { name: "state", dtype, shape, write: &write_state };
        write_sealed(&self.file, &metadata, vec![vectors, state])
    }
}

/// Bytes of vectors that are written at a time: where vectors are in a file, their memory is given back after
/// that.
pub(in crate::train) const WRITTEN: usize = 1 << 25;

impl Checkpoint {
    /// Opens a checkpoint and reads it once to check it. Its vectors stay in the file until they are used.
    pub fn load(path: &Path) -> Result<Self> {
        let mapped = File::open(path).and_then(|file| Mapped::new(&file));
        let file = mapped.map_err(|error| Error::read(path, error))?;
        let checkpoint = is_sealed(&file).then(|| Self::parse(&file)).flatten();
        checkpoint.ok_or_else(|| {
            let problem =
                "the checksum is wrong: not a checkpoint of this version, or a damaged one";
            Error::file(path, Problem::from(problem).act("remove it and start the run again"))
        })
    }

    /// The instruction set that the run was made with so far; empty if that is not known.
    pub fn kernel(&self) -> String {
        let settings = serde_json::from_str::<Value>(&self.settings).unwrap_or_default();
        settings["kernel"].as_str().unwrap_or_default().to_owned()
    }

    /// Fails if the run has fewer epochs than are completed.
    pub(in crate::train) fn check_epoch(&self, epochs: usize) -> Result<()> {
        if self.epoch <= epochs {
            return Ok(());
        }
        let done = self.epoch;
        Err(Error::conflict(format!(
            "the checkpoint is after epoch {done}, and the run has {epochs}: it is not of this run"
        )))
    }

    fn parse(file: &Mapped) -> Option<Self> {
        let (header_bytes, header) = SafeTensors::read_metadata(file).ok()?;
        let metadata: &HashMap<String, String> = header.metadata().as_ref()?;
        let vectors = header.info("vectors").filter(|it| it.dtype == Dtype::F32)?;
        let state = header.info("state")?;
        // Tensors follow the length of the header, eight bytes, and the header.
        let first = 8 + header_bytes;
        let place = |info: &TensorInfo| first + info.data_offsets.0..first + info.data_offsets.1;
        Some(Self {
            epoch: metadata.get("epoch")?.parse().ok()?,
            settings: metadata.get("settings")?.clone(),
            vectors: floats(file, place(vectors))?,
            state: file.array(place(state))?,
        })
    }
}

/// Floats in a file, where they are, if this machine keeps floats so; else in memory.
fn floats(file: &Mapped, place: Range<usize>) -> Option<Array<f32>> {
    if cfg!(target_endian = "little")
        && let Some(values) = file.array(place.clone())
    {
        return Some(values);
    }
    let numbers = file.get(place)?.as_chunks().0.iter();
    Some(numbers.map(|bytes| f32::from_le_bytes(*bytes)).collect::<Vec<_>>().into())
}

/// Settings that are options of the same name and values.
const OPTIONS: [&str; 25] = [
    "model",
    "trainer",
    "batch",
    "dim",
    "context",
    "walk-length",
    "walks",
    "centre-power",
    "k",
    "p",
    "q",
    "order",
    "start",
    "epochs",
    "lr",
    "l2",
    "smoothing",
    "pmi",
    "negative-weight",
    "seed",
    "negatives",
    "gamma",
    "degree-power",
    "landmarks",
    "strategy",
];

/// Fails if a run was made with other settings than those of now, and says which and what to do.
fn check_same(file: &Path, saved: &str, now: &str, any_kernel: bool) -> Result<()> {
    let parse = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let (saved, now) = (parse(saved), parse(now));
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    };
    let differs = |key: &&String| saved.get(*key) != now.get(*key);
    let mut keys = now.keys().chain(saved.keys().filter(|key| !now.contains_key(*key)));
    let Some(key) = keys.find(|key| differs(key) && !(any_kernel && *key == "kernel")) else {
        return Ok(());
    };
    let of = |settings: &Map<String, Value>| text(settings.get(key).unwrap_or(&Value::Null));
    let (saved, now) = (of(&saved), of(&now));
    let problem = match key.as_str() {
        "graph" => Problem::from("the checkpoint is of another graph").act("use that graph"),
        "version" => Problem::from(format!("the checkpoint is of version {saved}, not {now}"))
            .act("resume it with that version"),
        "kernel" => {
            let problem = Problem::from(format!("the checkpoint is of kernel {saved}, not {now}"));
            if InstructionSet::available().iter().any(|set| set.name() == saved) {
                problem.set("kernel", saved)
            } else {
                problem.act("resume it on such a machine").give("resume-anyway")
            }
        }
        _ => {
            let problem = Problem::from(format!("the checkpoint has {key} {saved}, not {now}"));
            match OPTIONS.iter().find(|name| *name == key) {
                // Chosen by the memory that is allowed, unless they are given.
                Some(&name @ ("negatives" | "strategy" | "landmarks")) if saved != "none" => {
                    problem.set(name, saved).raise("max-memory")
                }
                Some(&name) if saved != "none" => problem.set(name, saved),
                _ => problem,
            }
        }
    };
    Err(Error::file(file, problem.act("use another folder")))
}
