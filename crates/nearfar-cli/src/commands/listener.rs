//! Listening to training: progress, records, Ctrl-C.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nearfar::train::{Event, Records, Sink, State};

use crate::{Interrupted, print};

/// Shows progress, keeps the records, and notices Ctrl-C.
pub(super) struct Listener {
    records: Records,
    epochs: usize,
    /// How many of them are done.
    epoch: usize,
    /// How far the run was when we began to listen.
    first: Option<f64>,
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
        Ok(Self { records, epochs, epoch: 0, first: None, pairs: 0, loss, quiet, bar })
    }

    /// Ends the bar and the records. An error if the run was interrupted.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.bar.finish_and_clear();
        self.records.finish()?;
        if INTERRUPTED.load(Relaxed) { Err(Interrupted.into()) } else { Ok(()) }
    }

    fn show(&mut self, done: f64) {
        let first = *self.first.get_or_insert_with(|| {
            self.epoch = (done * self.epochs as f64).round() as usize;
            done
        });
        let left = match seconds_left(self.records.elapsed().as_secs_f64(), first, done) {
            Some(left) => format!("  {} left", clock(left)),
            None => String::new(),
        };
        let epoch = (self.epoch + 1).min(self.epochs);
        self.bar.set_position((done * 1000.0) as u64);
        self.bar.set_message(format!("epoch {epoch}/{}{}{left}", self.epochs, self.loss));
    }
}

/// How long a run goes on that went from one part to another in so many seconds, if there is
/// anything to go by.
fn seconds_left(elapsed: f64, first: f64, done: f64) -> Option<f64> {
    (done > first).then(|| elapsed * (1.0 - done) / (done - first))
}

impl Sink for Listener {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        match event {
            Event::Progress { done } => self.show(*done),
            Event::Epoch { epoch, pairs, loss, .. } => {
                self.epoch = *epoch;
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

/// Seconds as people say them, to two units: whole minutes would be wrong by half of one.
fn clock(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::{clock, seconds_left};

    #[test]
    fn times_are_said_in_two_units() {
        let said = [0.4, 59.4, 59.6, 151.0, 3599.0, 3600.0, 90_061.0].map(clock);
        let names =
            ["0 s", "59 s", "1 min 00 s", "2 min 31 s", "59 min 59 s", "1 h 00 min", "25 h 01 min"];
        assert_eq!(said, names);
    }

    /// Twelve epochs of ten seconds each, of which sampling has another share than training
    /// reckons with: after a tenth of the run the time left is right to a fifth of it.
    #[test]
    fn the_time_left_is_about_right_after_a_tenth() {
        const RECKONED: f64 = 0.33;
        for share in [0.15, 0.25, 0.33, 0.4, 0.5] {
            for step in 1..1200 {
                let done = f64::from(step) / 1200.0;
                let (epoch, part) = ((done * 12.0).floor(), (done * 12.0).fract());
                let in_time = if part < RECKONED {
                    part / RECKONED * share
                } else {
                    share + (part - RECKONED) / (1.0 - RECKONED) * (1.0 - share)
                };
                let clock = 10.0 * (epoch + in_time);
                let (left, exact) = (seconds_left(clock, 0.0, done).unwrap(), 120.0 - clock);
                // In the last epoch, to a fifth of an epoch.
                let allowed = (exact / 5.0).max(2.0);
                assert!(done < 0.1 || (left - exact).abs() < allowed, "{left} for {exact} s");
            }
        }
        assert_eq!(seconds_left(1.0, 0.5, 0.5), None);
        assert_eq!(seconds_left(30.0, 0.5, 0.75), Some(30.0), "a run that went on from the middle");
    }
}
