//! Listening to training: progress, records, Ctrl-C.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use nearfar::train::{Event, Records, Sink, State};

use crate::{Interrupted, print};

/// Shows progress, keeps the records, and notices Ctrl-C.
pub(super) struct Listener {
    records: Records,
    epochs: usize,
    /// How far the run was when we began to listen, and where it is now.
    done: Option<(f64, f64)>,
    pairs: u64,
    loss: String,
    quiet: bool,
    bar: ProgressBar,
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
    pub(super) fn new(epochs: usize, records: Records, quiet: bool) -> anyhow::Result<Self> {
        catch_ctrl_c()?;
        let shown = !quiet && std::io::stderr().is_terminal();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        bar.set_style(ProgressStyle::with_template("{bar:30} {msg}")?);
        let loss = String::new();
        Ok(Self { records, epochs, done: None, pairs: 0, loss, quiet, bar })
    }

    /// Ends the bar and the records. An error if the run was interrupted.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.bar.finish_and_clear();
        self.records.finish()?;
        if INTERRUPTED.load(Relaxed) { Err(Interrupted.into()) } else { Ok(()) }
    }

    fn show(&mut self, done: f64) {
        let (first, _) = *self.done.get_or_insert((done, done));
        self.done = Some((first, done));
        let elapsed = self.records.elapsed().as_secs_f64();
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
            Event::Epoch { pairs, loss, .. } => {
                self.pairs += pairs;
                let rate = self.pairs as f64 / self.records.elapsed().as_secs_f64() / 1e6;
                self.loss = format!("  loss {loss:.4}  {rate:.1} M pairs/s");
            }
            Event::Scores { epoch, val, test } if !self.quiet => {
                let val = val.map_or(String::new(), |val| format!("val {:.4}, ", val.f1_macro));
                let line = format!("epoch {epoch}: F1-macro {val}test {:.4}", test.f1_macro);
                self.bar.suspend(|| print::message(&line));
            }
            _ => {}
        }
        self.records.event(event)?;
        let stop = INTERRUPTED.load(Relaxed);
        Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn state(&mut self, state: &State<'_>) -> nearfar::Result<ControlFlow<()>> {
        self.records.state(state, INTERRUPTED.load(Relaxed))?;
        Ok(ControlFlow::Continue(()))
    }
}
