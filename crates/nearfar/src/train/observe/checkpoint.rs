//! A run that can be broken off and taken up again, to the same bytes as an unbroken one.
//!
//! All randomness is named by epoch and node, so what goes on from the end of an epoch depends on
//! nothing but the tables, the pull and the number of the epoch. They are kept in a safetensors
//! file: `centres` and, in models of second order, `others`, both F32 [nodes, padded dimensions];
//! the rest is text in its header.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};

use super::super::l2::{Look, Pull};
use super::super::stream::Tables;
use crate::embedding::write_floats;
use crate::error::{Error, Result};
use crate::file::{read_all, write_whole};

/// The state of a run at the end of an epoch.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// Epochs that are done.
    pub epoch: usize,
    held: Held<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Held<'a> {
    Tables { dim: usize, tables: &'a Tables, pull: &'a Pull },
    Vectors(&'a [f32]),
}

/// A state that was saved.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Epochs that are done.
    pub epoch: usize,
    /// What the run was made with, in the words of whoever saved it.
    pub settings: String,
    pub(in crate::train) strength: f64,
    pub(in crate::train) most: f64,
    pub(in crate::train) last: Option<Look>,
    centres: Vec<f32>,
    others: Option<Vec<f32>>,
}

impl<'a> State<'a> {
    /// The state of a run that can be resumed.
    pub(in crate::train) fn of_tables(
        epoch: usize,
        dim: usize,
        tables: &'a Tables,
        pull: &'a Pull,
    ) -> Self {
        Self { epoch, held: Held::Tables { dim, tables, pull } }
    }

    /// The vectors of a run that cannot.
    pub(in crate::train) fn of_vectors(epoch: usize, vectors: &'a [f32]) -> Self {
        Self { epoch, held: Held::Vectors(vectors) }
    }

    /// The vectors, row by row.
    pub fn vectors(&self) -> Vec<f32> {
        match self.held {
            Held::Tables { dim, tables, .. } => {
                tables.centres.iter().flat_map(|row| &row[..dim]).copied().collect()
            }
            Held::Vectors(vectors) => vectors.to_vec(),
        }
    }

    /// Saves the state, whole or not at all. `settings` comes back from [`Checkpoint::load`].
    /// Only the stream trainer has a state that can be saved.
    pub fn save(&self, path: &Path, settings: &str) -> Result<()> {
        let Held::Tables { tables, pull, .. } = self.held else { return Err(no_checkpoints()) };
        let tables = [("centres", Some(&tables.centres)), ("others", tables.others.as_ref())];
        let tables = tables.into_iter().filter_map(|(name, table)| Some((name, table?)));
        let mut header = serde_json::json!({"__metadata__": {
            "settings": settings,
            "epoch": self.epoch.to_string(),
            "l2": pull.strength.to_string(),
            "most": pull.most.to_string(),
            "rank": pull.last.map_or(String::new(), |look| look.rank.to_string()),
            "size": pull.last.map_or(String::new(), |look| look.size.to_string()),
        }});
        let mut end = 0;
        for (name, table) in tables.clone() {
            let (start, size) = (end, size_of_val(table.values()));
            end += size;
            header[name] = serde_json::json!({
                "dtype": "F32",
                "shape": [table.values().len() / table.dim, table.dim],
                "data_offsets": [start, end],
            });
        }
        let mut header = header.to_string();
        while !header.len().is_multiple_of(8) {
            header.push(' ');
        }
        write_whole(path, |out| {
            out.write_all(&(header.len() as u64).to_le_bytes())?;
            out.write_all(header.as_bytes())?;
            tables.clone().try_for_each(|(_, table)| write_floats(out, table.values()))
        })
    }
}

/// Why a run of another trainer than the stream one is neither saved nor resumed.
pub(in crate::train) fn no_checkpoints() -> Error {
    let message = "only runs of the stream trainer can be saved and resumed";
    Error::Option(format!("{message}; leave --checkpoint out, or use --trainer stream"))
}

impl Checkpoint {
    /// Reads what [`State::save`] wrote.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = read_all(path)?;
        Self::parse(&bytes).ok_or_else(|| {
            Error::file(
                path,
                "this is no checkpoint, or a damaged one; start again without --resume",
            )
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (_, header) = SafeTensors::read_metadata(bytes).ok()?;
        let about: &HashMap<String, String> = header.metadata().as_ref()?;
        let tensors = SafeTensors::deserialize(bytes).ok()?;
        let numbers = |name: &str| -> Option<Vec<f32>> {
            let tensor = tensors.tensor(name).ok().filter(|tensor| tensor.dtype() == Dtype::F32)?;
            let (numbers, _) = tensor.data().as_chunks::<4>();
            Some(numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
        };
        let (rank, size) = (about.get("rank")?, about.get("size")?);
        Some(Self {
            epoch: about.get("epoch")?.parse().ok()?,
            settings: about.get("settings")?.clone(),
            strength: about.get("l2")?.parse().ok()?,
            most: about.get("most")?.parse().ok()?,
            last: if rank.is_empty() {
                None
            } else {
                Some(Look { rank: rank.parse().ok()?, size: size.parse().ok()? })
            },
            centres: numbers("centres")?,
            others: numbers("others"),
        })
    }

    /// Puts the saved tables in the place of new ones.
    pub(in crate::train) fn restore(&self, tables: &mut Tables) -> Result<()> {
        let differs = || {
            let message = "the checkpoint is of another graph or of other settings";
            Error::Option(format!("{message}; start again without --resume"))
        };
        let copy = |from: &[f32], to: &mut [f32]| {
            if from.len() != to.len() {
                return Err(differs());
            }
            to.copy_from_slice(from);
            Ok(())
        };
        copy(&self.centres, tables.centres.values_mut())?;
        match (&self.others, &mut tables.others) {
            (Some(from), Some(to)) => copy(from, to.values_mut()),
            (None, None) => Ok(()),
            _ => Err(differs()),
        }
    }
}
