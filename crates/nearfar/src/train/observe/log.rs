//! The log of a run: one line of JSON for each event.

use std::fs::{File, OpenOptions};
use std::io::{LineWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::event::Event;
use crate::error::{Error, Result};

/// A log, in memory or in a file. The file is written line by line, so that it can be followed and
/// survives a killed run.
#[derive(Debug)]
pub struct RunLog {
    lines: Lines,
    start: Instant,
}

#[derive(Debug)]
enum Lines {
    File(PathBuf, LineWriter<File>),
    Memory(String),
}

impl RunLog {
    /// Creates the file, or empties it.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|error| Error::write(path, error))?;
        Ok(Self::to_file(path, file))
    }

    /// Keeps the lines until the end of the run.
    pub fn in_memory() -> Self {
        Self { lines: Lines::Memory(String::new()), start: Instant::now() }
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
        Ok(Self::to_file(path, file))
    }

    /// Writes an event, except mere progress, with the seconds since training started.
    pub fn event(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::Progress { .. } => return Ok(()),
            Event::Started { .. } => self.start = Instant::now(),
            _ => {}
        }
        let seconds = self.start.elapsed().as_secs_f64();
        let mut line = serde_json::to_value(event)
            .map_err(|error| Error::conflict(format!("an event is no JSON: {error}")))?;
        line["seconds"] = seconds.into();
        match &mut self.lines {
            Lines::File(path, file) => {
                writeln!(file, "{line}").map_err(|error| Error::write(path, error))
            }
            Lines::Memory(text) => {
                text.extend([line.to_string().as_str(), "\n"]);
                Ok(())
            }
        }
    }

    /// Completes the file. The lines, if they are in memory.
    pub fn finish(self) -> Result<Option<String>> {
        match self.lines {
            Lines::File(path, mut file) => {
                file.flush().map(|()| None).map_err(|error| Error::write(&path, error))
            }
            Lines::Memory(text) => Ok(Some(text)),
        }
    }

    fn to_file(path: &Path, file: File) -> Self {
        let lines = Lines::File(path.to_owned(), LineWriter::new(file));
        Self { lines, start: Instant::now() }
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
