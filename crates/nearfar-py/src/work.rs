//! Long-running work on behalf of a Python call.
//!
//! The work runs on threads that never touch Python, while the calling thread releases the GIL. The
//! calling thread checks for Ctrl-C twenty times a second and forwards the work's events: callbacks
//! run in the thread of the call, and their exceptions propagate from it.
//!
//! Each call has its own thread pool. That costs about ten microseconds per thread; in exchange, a
//! process that forks, calls from several threads, or continues after an interrupted call shares no
//! pool state between calls. An interrupt ends the call at once; its threads end soon after, training
//! between two rounds, other work at its next step (`nearfar::cancel`).

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use nearfar::train::{Event, Sink};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;

use crate::error::exception;

/// Interval at which the calling thread checks for Ctrl-C.
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(50);

/// Minimum interval between two progress events, which the library emits up to a thousand times a
/// second.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// An event as JSON, and the channel for the reply whether to continue.
struct Message {
    event: String,
    reply: Sender<ControlFlow<()>>,
}

/// The work's handle to the thread that made the call.
pub(crate) struct Caller {
    messages: Sender<Message>,
    last_sent: Instant,
    stopped: bool,
    cancelled: Arc<AtomicBool>,
}

/// Sets the flag on drop: the call has returned, normally or by an error.
struct CancelOnDrop(Arc<AtomicBool>);

impl Caller {
    /// Sends an event and waits for the reply. After a reply to stop, or once the call has returned,
    /// nothing more is sent.
    pub(crate) fn report(&mut self, event: &impl Serialize) -> ControlFlow<()> {
        if self.last_reply().is_continue() {
            let (reply, replies) = channel();
            let event = serde_json::to_string(event).unwrap_or_default();
            let sent = self.messages.send(Message { event, reply }).is_ok();
            self.stopped = !sent || replies.recv().unwrap_or(ControlFlow::Break(())).is_break();
            self.last_sent = Instant::now();
        }
        self.last_reply()
    }

    /// The last reply; `Break` once the call has returned.
    pub(crate) fn last_reply(&self) -> ControlFlow<()> {
        let stop = self.stopped || self.cancelled.load(Relaxed);
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Sink for Caller {
    fn event(&mut self, event: &Event) -> nearfar::Result<ControlFlow<()>> {
        let skip =
            matches!(event, Event::Progress { .. }) && self.last_sent.elapsed() < PROGRESS_INTERVAL;
        Ok(if skip { self.last_reply() } else { self.report(event) })
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Runs `work` on `threads` threads; by default one per core. `callback` is called with every event
/// as JSON; if it returns a false value, the work is asked to stop.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&mut Caller) -> nearfar::Result<T> + Send + 'static,
) -> PyResult<T> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let pool = pool(threads, &cancelled)?;
    let (messages, received) = channel();
    let (done, result) = channel();
    let cancel = CancelOnDrop(Arc::clone(&cancelled));
    pool.spawn(move || {
        let mut caller = Caller { messages, last_sent: Instant::now(), stopped: false, cancelled };
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut caller)));
        // Fails if the call was interrupted; the result is then not needed.
        let _ = done.send(result);
    });
    let result = py.detach(move || {
        forward(&received, callback.as_ref())?;
        PyResult::Ok(result.recv())
    })?;
    drop(cancel);
    let result =
        result.map_err(|_| PyOSError::new_err("the worker threads ended without a result"))?;
    returned(result)
}

/// Runs `work` on memory of the caller: after an interrupt it waits until the work has ended.
pub(crate) fn run_borrowing<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce() -> nearfar::Result<T> + Send,
) -> PyResult<T> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let pool = pool(threads, &cancelled)?;
    let result = py.detach(|| {
        let (done, result) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let work = AssertUnwindSafe(|| pool.install(work));
                // The receiver is there until the scope ends.
                let _ = done.send(catch_unwind(work));
            });
            let mut interrupt = Ok(());
            loop {
                match result.recv_timeout(INTERRUPT_INTERVAL) {
                    Ok(result) => return interrupt.map(|()| result),
                    Err(_) if interrupt.is_err() => {}
                    Err(_) => {
                        interrupt = Python::attach(check_interrupt);
                        cancelled.store(interrupt.is_err(), Relaxed);
                    }
                }
            }
        })
    })?;
    returned(result)
}

/// A pool of threads that end their work once the flag is set.
fn pool(threads: Option<usize>, cancelled: &Arc<AtomicBool>) -> PyResult<ThreadPool> {
    if threads == Some(0) {
        return Err(PyValueError::new_err("threads=0: expected at least 1"));
    }
    let watched = Arc::clone(cancelled);
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .start_handler(move |_| nearfar::cancel::watch(Arc::clone(&watched)))
        .build();
    pool.map_err(|error| PyOSError::new_err(format!("cannot start threads: {error}")))
}

/// What the work of a call has returned, or its panic.
fn returned<T>(result: std::thread::Result<nearfar::Result<T>>) -> PyResult<T> {
    match result {
        Ok(result) => result.map_err(|error| exception(&error)),
        Err(panic) => resume_unwind(panic),
    }
}

/// Forwards events to the callback until the work is done.
fn forward(messages: &Receiver<Message>, callback: Option<&Py<PyAny>>) -> PyResult<()> {
    loop {
        match messages.recv_timeout(INTERRUPT_INTERVAL) {
            Ok(Message { event, reply }) => {
                let keep_going = Python::attach(|py| {
                    check_interrupt(py)?;
                    callback.map_or(Ok(true), |f| f.bind(py).call1((event,))?.is_truthy())
                })?;
                let keep_going =
                    if keep_going { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
                // Fails if the work has ended; the reply is then not needed.
                let _ = reply.send(keep_going);
            }
            Err(RecvTimeoutError::Timeout) => Python::attach(check_interrupt)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// An error if Ctrl-C was pressed or another signal's handler raised an exception.
fn check_interrupt(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}
