//! Listening to training: progress, log, checkpoints, Ctrl-C.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use nearfar::train::{Event, Sink, State};

use crate::{Interrupted, print};

/// Shows progress, writes the log, keeps the state, and notices Ctrl-C.
pub(super) struct Listener {
    start: Instant,
    epochs: usize,
    /// How far the run was when we began to listen, and where it is now.
    done: Option<(f64, f64)>,
    pairs: u64,
    loss: String,
    quiet: bool,
    bar: ProgressBar,
    log: Option<(PathBuf, BufWriter<File>)>,
    saving: Option<Saving>,
}

/// Where the state goes, and how long that takes.
pub(super) struct Saving {
    file: PathBuf,
    settings: String,
    saved: Instant,
    took: Duration,
}

impl Saving {
    /// Saves to this file, with these settings.
    pub(super) fn new(file: PathBuf, settings: String) -> Self {
        Self { file, settings, saved: Instant::now(), took: Duration::ZERO }
    }
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C ends training, not the program; the second one does not wait.
fn catch_ctrl_c() -> anyhow::Result<()> {
    static CAUGHT: AtomicBool = AtomicBool::new(false);
    if !CAUGHT.swap(true, Relaxed) {
        ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Relaxed) {
                std::process::exit(130);
            }
        })?;
    }
    Ok(())
}

impl Listener {
    /// Listens to a run of so many epochs.
    pub(super) fn new(
        epochs: usize,
        log: Option<&Path>,
        saving: Option<Saving>,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        catch_ctrl_c()?;
        let shown = !quiet && std::io::stderr().is_terminal();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        bar.set_style(ProgressStyle::with_template("{bar:30} {msg}")?);
        let open = |path: &Path| -> anyhow::Result<(PathBuf, BufWriter<File>)> {
            let file = File::create(path).with_context(|| format!("--log {}", path.display()))?;
            Ok((path.to_owned(), BufWriter::new(file)))
        };
        let log = log.map(open).transpose()?;
        let (start, loss) = (Instant::now(), String::new());
        Ok(Self { start, epochs, done: None, pairs: 0, loss, quiet, bar, log, saving })
    }

    /// Ends the bar and the log. An error if the run was interrupted.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        self.bar.finish_and_clear();
        if let Some((path, log)) = &mut self.log {
            log.flush().with_context(|| format!("--log {}", path.display()))?;
        }
        if INTERRUPTED.load(Relaxed) { Err(Interrupted.into()) } else { Ok(()) }
    }

    fn write_log(&mut self, event: &Event) -> anyhow::Result<()> {
        let Some((path, log)) = &mut self.log else { return Ok(()) };
        let mut line = serde_json::to_value(event)?;
        line["seconds"] = self.start.elapsed().as_secs_f64().into();
        writeln!(log, "{line}").with_context(|| format!("--log {}", path.display()))
    }

    fn show(&mut self, done: f64) {
        let (first, _) = *self.done.get_or_insert((done, done));
        self.done = Some((first, done));
        let elapsed = self.start.elapsed().as_secs_f64();
        let left = match done - first {
            some if some > 0.0 => {
                let seconds = elapsed * (1.0 - done) / some;
                format!("  {} left", HumanDuration(Duration::from_secs_f64(seconds)))
            }
            _ => String::new(),
        };
        let epoch = ((done * self.epochs as f64) as usize + 1).min(self.epochs);
        self.bar.set_position((done * 1000.0) as u64);
        self.bar.set_message(format!("epoch {epoch}/{}{}{left}", self.epochs, self.loss));
    }
}

impl Sink for Listener {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        match event {
            Event::Progress { done } => self.show(*done),
            event => {
                if let Event::Epoch { pairs, loss, .. } = event {
                    self.pairs += pairs;
                    let rate = self.pairs as f64 / self.start.elapsed().as_secs_f64() / 1e6;
                    self.loss = format!("  loss {loss:.4}  {rate:.1} M pairs/s");
                }
                if let (Event::Scores { epoch, val, test }, false) = (event, self.quiet) {
                    let val = val.map_or(String::new(), |val| format!("val {:.4}, ", val.f1_macro));
                    let line = format!("epoch {epoch}: F1-macro {val}test {:.4}", test.f1_macro);
                    self.bar.suspend(|| print::message(&line));
                }
                let fail = |error| nearfar::Error::Option(format!("{error:#}"));
                self.write_log(event).map_err(fail)?;
            }
        }
        let stop = INTERRUPTED.load(Relaxed);
        Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Saves the state, unless that would take more than a tenth of the time.
    fn state(&mut self, state: &State<'_>) -> nearfar::Result<ControlFlow<()>> {
        if let Some(saving) = &mut self.saving {
            let last = state.epoch == self.epochs;
            if last || saving.saved.elapsed() >= 10 * saving.took || INTERRUPTED.load(Relaxed) {
                let start = Instant::now();
                state.save(&saving.file, &saving.settings)?;
                (saving.saved, saving.took) = (Instant::now(), start.elapsed());
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
