//! The log of a run: one line of JSON for each event.

use std::fs::File;
use std::io::{self, LineWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::event::Event;
use crate::error::{Error, Result};

/// A log file. It is written line by line, so that it can be followed and survives a killed run.
#[derive(Debug)]
pub struct RunLog {
    path: PathBuf,
    file: LineWriter<File>,
    start: Instant,
}

impl RunLog {
    /// Creates the file, or empties it.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|error| Error::write(path, error))?;
        Ok(Self { path: path.to_owned(), file: LineWriter::new(file), start: Instant::now() })
    }

    /// Writes an event, except mere progress, with the seconds since training started.
    pub fn event(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::Progress { .. } => return Ok(()),
            Event::Started { .. } => self.start = Instant::now(),
            _ => {}
        }
        let seconds = self.start.elapsed().as_secs_f64();
        let line = serde_json::to_value(event).map_err(io::Error::from).and_then(|mut line| {
            line["seconds"] = seconds.into();
            writeln!(self.file, "{line}")
        });
        line.map_err(|error| Error::write(&self.path, error))
    }

    /// Completes the file.
    pub fn finish(mut self) -> Result<()> {
        self.file.flush().map_err(|error| Error::write(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_can_be_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        let mut log = RunLog::create(&path).unwrap();
        log.event(&Event::Progress { done: 0.5 }).unwrap();
        let (epoch, epochs, pairs, loss, l2) = (1, 2, 3, 0.5, 0.1);
        let effective_rank = None;
        log.event(&Event::Epoch { epoch, epochs, pairs, loss, l2, effective_rank }).unwrap();
        let line = std::fs::read_to_string(&path).unwrap();
        assert!(line.starts_with(r#"{"event":"epoch","epoch":1,"#), "{line}");
        assert!(line.ends_with("}\n") && line.lines().count() == 1, "{line}");
    }
}
