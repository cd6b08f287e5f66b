//! The log of a run: one line of JSON for each event.

use std::fs::{File, OpenOptions};
use std::io::{self, LineWriter, Read, Write};
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

    /// Opens the file to add to it, as a resumed run does. A line that a killed run did not complete is
    /// removed.
    pub fn append(path: &Path) -> Result<Self> {
        let fail = |error| Error::write(path, error);
        let open = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut file = open.map_err(fail)?;
        // What is no regular file has no lines to keep.
        if file.metadata().map_err(fail)?.is_file() {
            let mut text = Vec::new();
            file.read_to_end(&mut text).map_err(fail)?;
            let complete = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            file.set_len(complete as u64).map_err(fail)?;
        }
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
        let cut = format!("{line}{{\"event\":\"ep");
        std::fs::write(&path, cut).unwrap();
        let mut log = RunLog::append(&path).unwrap();
        log.event(&Event::Resumed { epoch: 1, kernel: None }).unwrap();
        let both = std::fs::read_to_string(&path).unwrap();
        let resumed = both.strip_prefix(&line).unwrap();
        assert!(resumed.starts_with(r#"{"event":"resumed","epoch":1,"#), "{resumed}");
        assert!(line.starts_with(r#"{"event":"epoch","epoch":1,"#), "{line}");
        assert!(line.ends_with("}\n") && line.lines().count() == 1, "{line}");
    }
}
