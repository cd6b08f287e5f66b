//! Ending work that nobody waits for any more.
//!
//! Training asks its sink whether to go on. Other long work, such as distances or maps, has no sink;
//! a caller that gives it up, because of Ctrl-C, would leave its threads busy with a result that is
//! not needed. Such a caller runs the work in a thread pool of its own, lets each thread [`watch`] a
//! flag, and sets the flag. The work then unwinds at its next step, without the message of a panic,
//! to whoever catches unwinding at the pool. Files are written whole or not at all in this case too.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// What work that was given up unwinds with.
#[derive(Clone, Copy, Debug)]
pub struct Cancelled;

/// From now on, work on this thread ends once the flag is set.
pub fn watch(flag: Arc<AtomicBool>) {
    FLAG.set(Some(flag));
}

/// Unwinds if the work of this thread was given up. For loops whose steps take milliseconds.
pub(crate) fn check() {
    if FLAG.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Relaxed))) {
        resume_unwind(Box::new(Cancelled));
    }
}
