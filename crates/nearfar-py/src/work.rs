//! Work that Python waits for.
//!
//! It runs on threads of its own, which never see Python, while the thread that asked lets others
//! have the interpreter. Twenty times a second that thread looks whether Ctrl-C was pressed, and
//! in between it passes on what the work tells: callbacks run where the call was made, and what
//! they raise comes out of it.
//!
//! Each call has its own pool. That costs some ten microseconds a thread, and in exchange a
//! process that forks, calls from several threads, or goes on after an interrupted call finds
//! nothing in a state that it must not see. Training whose caller is gone ends between two rounds,
//! within a fraction of a second; what tells nothing, as counting distances, goes on to its end,
//! unheard.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use nearfar::train::{Event, Sink};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;
use serde::Serialize;

use crate::error::exception;

/// How often the waiting thread looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// How often callers hear of mere progress, which is to be told a thousand times a second.
const PACE: Duration = Duration::from_millis(100);

/// Something that happened, as JSON, and where to answer whether to go on.
struct Told {
    event: String,
    answer: Sender<ControlFlow<()>>,
}

/// The ear of whoever waits for the work.
pub(crate) struct Caller {
    told: Sender<Told>,
    last: Instant,
    stopped: bool,
    gone: Arc<AtomicBool>,
}

/// Says that nobody waits any more, however that came about.
struct Waiting(Arc<AtomicBool>);

impl Caller {
    /// Tells an event and waits for the answer. Whoever said stop once, or is gone, is not asked
    /// again.
    pub(crate) fn tell(&mut self, event: &impl Serialize) -> ControlFlow<()> {
        if self.answer().is_continue() {
            let (answer, answered) = channel();
            let event = serde_json::to_string(event).unwrap_or_default();
            let told = self.told.send(Told { event, answer }).is_ok();
            self.stopped = !told || answered.recv().unwrap_or(ControlFlow::Break(())).is_break();
            self.last = Instant::now();
        }
        self.answer()
    }

    /// The last answer; stop, if nobody waits.
    pub(crate) fn answer(&self) -> ControlFlow<()> {
        let stop = self.stopped || self.gone.load(Relaxed);
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Sink for Caller {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        let soon = matches!(event, Event::Progress { .. }) && self.last.elapsed() < PACE;
        Ok(if soon { self.answer() } else { self.tell(event) })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Does `work` on `threads` threads, or one a core. `callback` is called with every event that
/// the work tells, as JSON; if it answers with something false, the work is asked to end.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&mut Caller) -> nearfar::Result<T> + Send + 'static,
) -> PyResult<T> {
    if threads == Some(0) {
        return Err(PyValueError::new_err("threads is 0; it takes at least 1"));
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    let pool =
        pool.map_err(|error| PyOSError::new_err(format!("cannot start threads: {error}")))?;
    let (told, messages) = channel();
    let (done, result) = channel();
    let gone = Arc::new(AtomicBool::new(false));
    let waiting = Waiting(Arc::clone(&gone));
    pool.spawn(move || {
        let mut caller = Caller { told, last: Instant::now(), stopped: false, gone };
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut caller)));
        // Whoever no longer waits does not want it.
        let _ = done.send(result);
    });
    let result = py.detach(move || {
        listen(&messages, callback.as_ref())?;
        PyResult::Ok(result.recv())
    })?;
    drop(waiting);
    match result {
        Ok(Ok(result)) => result.map_err(|error| exception(&error)),
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => Err(PyOSError::new_err("the threads ended before their work")),
    }
}

/// Passes on what is told until the work is done.
fn listen(messages: &Receiver<Told>, callback: Option<&Py<PyAny>>) -> PyResult<()> {
    loop {
        match messages.recv_timeout(TICK) {
            Ok(Told { event, answer }) => {
                let keep_going = Python::attach(|py| {
                    check_interrupt(py)?;
                    callback.map_or(Ok(true), |f| f.bind(py).call1((event,))?.is_truthy())
                })?;
                let keep_going =
                    if keep_going { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
                // Nobody waits for the answer if the work failed.
                let _ = answer.send(keep_going);
            }
            Err(RecvTimeoutError::Timeout) => Python::attach(check_interrupt)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Fails if Ctrl-C was pressed, or another signal's handler raised something.
fn check_interrupt(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}
