//! What is kept of a run while it goes: a log of its events, and its state.

use std::fs::File;
use std::io::{self, LineWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::super::config::Trainer;
use super::super::settings::{Settings, check_same};
use super::checkpoint::{Checkpoint, State, no_checkpoints};
use super::event::Event;
use crate::error::{Error, Result};
use crate::graph::Graph;

/// The records of a run. Whoever listens to it passes on what is heard.
#[derive(Debug)]
pub struct Records {
    start: Instant,
    epochs: usize,
    /// Written line by line: people follow it, and a run that is killed keeps it.
    log: Option<(PathBuf, LineWriter<File>)>,
    saving: Option<Saving>,
    settings: Map<String, Value>,
}

/// Where the state goes, and how long that takes.
#[derive(Debug)]
pub struct Saving {
    file: PathBuf,
    settings: String,
    saved: Instant,
    took: Duration,
}

impl Saving {
    /// Keeps the state in a folder, which is made if need be. `resume` goes on with the run whose
    /// state is there already, and finds it; nothing, if the folder is empty. A run with other
    /// settings is not gone on with.
    pub fn open(
        folder: &Path,
        resume: bool,
        graph: &Graph,
        settings: &Settings,
    ) -> Result<(Self, Option<Checkpoint>)> {
        if settings.train.trainer() != Trainer::Stream {
            return Err(no_checkpoints());
        }
        std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
        let file = folder.join("checkpoint.safetensors");
        let settings = settings.describe(graph);
        let mut found = None;
        if file.exists() {
            if !resume {
                let message = "there is a run already; add --resume to go on with it, or remove it";
                return Err(Error::file(&file, message));
            }
            let checkpoint = Checkpoint::load(&file)?;
            check_same(&file, &checkpoint.settings, &settings)?;
            found = Some(checkpoint);
        }
        Ok((Self { file, settings, saved: Instant::now(), took: Duration::ZERO }, found))
    }
}

impl Records {
    /// Begins: the log is empty. The clock starts anew with training.
    pub fn new(log: Option<&Path>, saving: Option<Saving>) -> Result<Self> {
        let open = |path: &Path| {
            let file = File::create(path).map_err(|error| cannot_write(path, &error))?;
            Ok((path.to_owned(), LineWriter::new(file)))
        };
        let log = log.map(open).transpose()?;
        Ok(Self { start: Instant::now(), epochs: 0, log, saving, settings: Map::new() })
    }

    /// Writes these settings to the line of the log that says that training started.
    #[must_use]
    pub fn with_settings(mut self, settings: &Settings) -> Self {
        self.settings = settings.fields().collect();
        self
    }

    /// The time since training began.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Writes an event to the log, one line of JSON with the seconds since the beginning. Mere
    /// progress is not written.
    pub fn event(&mut self, event: &Event) -> Result<()> {
        if let Event::Started { epochs, .. } = event {
            (self.epochs, self.start) = (*epochs, Instant::now());
        }
        let Some((path, log)) = &mut self.log else { return Ok(()) };
        if matches!(event, Event::Progress { .. }) {
            return Ok(());
        }
        let seconds = self.start.elapsed().as_secs_f64();
        let line = serde_json::to_value(event).map_err(io::Error::from).and_then(|mut line| {
            line["seconds"] = seconds.into();
            if matches!(event, Event::Started { .. }) && !self.settings.is_empty() {
                line["settings"] = self.settings.clone().into();
            }
            writeln!(log, "{line}")
        });
        line.map_err(|error| cannot_write(path, &error))
    }

    /// Saves the state after the last epoch, or `now`; else unless saving would take more than a
    /// tenth of the time.
    pub fn state(&mut self, state: &State<'_>, now: bool) -> Result<()> {
        let Some(saving) = &mut self.saving else { return Ok(()) };
        if now || state.epoch == self.epochs || saving.saved.elapsed() >= 10 * saving.took {
            let start = Instant::now();
            state.save(&saving.file, &saving.settings)?;
            (saving.saved, saving.took) = (Instant::now(), start.elapsed());
        }
        Ok(())
    }

    /// Ends the log.
    pub fn finish(self) -> Result<()> {
        let Some((path, mut log)) = self.log else { return Ok(()) };
        log.flush().map_err(|error| cannot_write(&path, &error))
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    Error::Write { path: path.to_owned(), reason: format!("{error}; choose another place") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_can_be_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let mut records = Records::new(Some(&path), None).unwrap();
        let kernel = "scalar".to_owned();
        records.event(&Event::Started { nodes: 1, epochs: 1, walks: 1, kernel }).unwrap();
        let line = std::fs::read_to_string(&path).unwrap();
        assert!(line.starts_with('{') && line.ends_with("}\n"), "{line}");
    }
}
