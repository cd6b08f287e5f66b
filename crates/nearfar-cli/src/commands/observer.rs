//! Observing training: plan, progress, records, Ctrl-C.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nearfar::train::{Checkpoint, Event, Recorder, Sink, State, TrainPlan};

use crate::{Interrupted, print};

/// Shows plan and progress, keeps the records, and notices Ctrl-C.
pub(super) struct Observer {
    recorder: Recorder,
    /// Completed epochs.
    epoch: usize,
    /// The completed fraction at the first sign of progress: more than 0 in a resumed run.
    first: Option<f64>,
    pairs: u64,
    /// Of the last epoch.
    last_loss: Option<f64>,
    loss: String,
    quiet: bool,
    bar: ProgressBar,
    created: Instant,
    /// The time until the first epoch.
    preparation: Duration,
}

/// A completed run.
pub(super) struct Completed {
    pub(super) recorder: Recorder,
    /// Pairs of this process: fewer than those of the run if it was resumed.
    pub(super) pairs: u64,
    /// The loss of the last epoch.
    pub(super) loss: Option<f64>,
    /// Seconds before the first epoch, and from then on.
    pub(super) preparation: f64,
    pub(super) training: f64,
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C ends training, and the second one the program.
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

impl Observer {
    /// Observes a run, and records it.
    pub(super) fn new(recorder: Recorder, quiet: bool) -> anyhow::Result<Self> {
        catch_ctrl_c()?;
        let shown = !quiet && std::io::stderr().is_terminal();
        let target =
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1000), target);
        bar.set_style(ProgressStyle::with_template("{bar:30} {msg}")?);
        let loss = String::new();
        Ok(Self {
            recorder,
            epoch: 0,
            first: None,
            pairs: 0,
            last_loss: None,
            loss,
            quiet,
            bar,
            created: Instant::now(),
            preparation: Duration::ZERO,
        })
    }

    /// Removes the bar, and returns the record. Fails if the run was interrupted.
    pub(super) fn finish(self) -> anyhow::Result<Completed> {
        self.bar.finish_and_clear();
        if INTERRUPTED.load(Relaxed) {
            return Err(Interrupted.into());
        }
        let training = self.created.elapsed().saturating_sub(self.preparation);
        Ok(Completed {
            recorder: self.recorder,
            pairs: self.pairs,
            loss: self.last_loss,
            preparation: self.preparation.as_secs_f64(),
            training: training.as_secs_f64(),
        })
    }

    fn show(&mut self, done: f64) {
        let first = *self.first.get_or_insert_with(|| {
            self.epoch = (done * self.recorder.epochs() as f64).round() as usize;
            done
        });
        let left = match seconds_left(self.recorder.elapsed().as_secs_f64(), first, done) {
            Some(left) => format!("  {} left", clock(left)),
            None => String::new(),
        };
        let epochs = self.recorder.epochs();
        let epoch = (self.epoch + 1).min(epochs);
        self.bar.set_position((done * 1000.0) as u64);
        self.bar.set_message(format!("epoch {epoch}/{epochs}{}{left}", self.loss));
    }
}

/// The seconds that remain of a run that got from one fraction to another in so many seconds; `None`
/// if it made no progress yet.
fn seconds_left(elapsed: f64, first: f64, done: f64) -> Option<f64> {
    (done > first).then(|| elapsed * (1.0 - done) / (done - first))
}

/// Whether Ctrl-C was pressed.
fn interrupted() -> ControlFlow<()> {
    if INTERRUPTED.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

impl Sink for Observer {
    fn plan(&mut self, plan: &TrainPlan) -> nearfar::Result<ControlFlow<(), Option<Checkpoint>>> {
        let checkpoint = self.recorder.plan(plan)?;
        if !self.quiet {
            print::message(&plan.summary());
            if let Some(checkpoint) = &checkpoint {
                print::message(&format!("resuming after epoch {}", checkpoint.epoch));
            }
        }
        Ok(match interrupted() {
            ControlFlow::Break(()) => ControlFlow::Break(()),
            ControlFlow::Continue(()) => ControlFlow::Continue(checkpoint),
        })
    }

    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        match event {
            Event::Started { .. } => self.preparation = self.created.elapsed(),
            Event::Progress { done } => self.show(*done),
            Event::Epoch { epoch, pairs, loss, .. } => {
                self.epoch = *epoch;
                self.pairs += pairs;
                self.last_loss = Some(*loss);
                let rate = self.pairs as f64 / self.recorder.elapsed().as_secs_f64() / 1e6;
                self.loss = format!("  loss {loss:.4}  {rate:.1} M pairs/s");
            }
            Event::Scores { epoch, val, test } if !self.quiet => {
                let val = val.map_or(String::new(), |val| format!("val {:.4}, ", val.f1_macro));
                let line = format!("epoch {epoch}: F1-macro {val}test {:.4}", test.f1_macro);
                self.bar.suspend(|| print::message(&line));
            }
            _ => {}
        }
        self.recorder.event(event)?;
        Ok(interrupted())
    }

    fn state(&mut self, state: &State<'_>) -> nearfar::Result<ControlFlow<()>> {
        self.recorder.state(state, interrupted())?;
        Ok(ControlFlow::Continue(()))
    }
}

/// Seconds in two units: whole minutes would be wrong by up to half a minute.
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
    fn times_have_two_units() {
        let shown = [0.4, 59.4, 59.6, 151.0, 3599.0, 3600.0, 90_061.0].map(clock);
        let names =
            ["0 s", "59 s", "1 min 00 s", "2 min 31 s", "59 min 59 s", "1 h 00 min", "25 h 01 min"];
        assert_eq!(shown, names);
    }

    /// Twelve epochs of ten seconds each, with another fraction of sampling than the trainer assumes:
    /// after a tenth of the run the estimate is right to a fifth.
    #[test]
    fn the_time_left_is_about_right_after_a_tenth() {
        const ASSUMED: f64 = 0.33;
        for share in [0.15, 0.25, 0.33, 0.4, 0.5] {
            for step in 1..1200 {
                let done = f64::from(step) / 1200.0;
                let (epoch, part) = ((done * 12.0).floor(), (done * 12.0).fract());
                let in_time = if part < ASSUMED {
                    part / ASSUMED * share
                } else {
                    share + (part - ASSUMED) / (1.0 - ASSUMED) * (1.0 - share)
                };
                let clock = 10.0 * (epoch + in_time);
                let (left, exact) = (seconds_left(clock, 0.0, done).unwrap(), 120.0 - clock);
                // In the last epoch, to a fifth of an epoch.
                let allowed = (exact / 5.0).max(2.0);
                assert!(done < 0.1 || (left - exact).abs() < allowed, "{left} for {exact} s");
            }
        }
        assert_eq!(seconds_left(1.0, 0.5, 0.5), None);
        assert_eq!(seconds_left(30.0, 0.5, 0.75), Some(30.0), "a resumed run");
    }
}
