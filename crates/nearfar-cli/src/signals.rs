//! Ctrl-C and SIGTERM.
//!
//! Files are written whole or not at all, so the program can end at any moment without leaving half of
//! anything, and on the first signal it does, in whatever stage it is. Only a run that keeps
//! checkpoints is given a moment to complete its epoch, and the time to complete a save. A second
//! signal does not wait for those either.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long training with checkpoints may go on after a signal: short epochs end, and are saved.
const GRACE: Duration = Duration::from_millis(200);

/// The first signal; 0 if there was none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);
/// Whether training has begun, with checkpoints.
static CHECKPOINTS: AtomicBool = AtomicBool::new(false);
/// Held while a checkpoint is saved.
static SAVING: Mutex<()> = Mutex::new(());

/// From now on signals end the program.
#[cfg(unix)]
pub(crate) fn listen() -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let listen = move || signals.forever().for_each(receive);
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop)
}

/// From now on Ctrl-C ends the program.
#[cfg(not(unix))]
pub(crate) fn listen() -> Result<(), ctrlc::Error> {
    const INTERRUPT: i32 = 2;
    ctrlc::set_handler(|| receive(INTERRUPT))
}

fn receive(signal: i32) {
    if RECEIVED.swap(signal, Relaxed) != 0 || !CHECKPOINTS.load(Relaxed) {
        end(signal);
    }
    std::thread::spawn(move || {
        std::thread::sleep(GRACE);
        let _saved = SAVING.lock().unwrap_or_else(PoisonError::into_inner);
        end(signal);
    });
}

fn end(signal: i32) {
    nearfar::file::remove_temporaries();
    std::process::exit(exit_code(signal).into());
}

/// The exit code of a program that a signal ended, as shells report it.
fn exit_code(signal: i32) -> u8 {
    128 + signal as u8
}

/// The exit code, once there was a signal.
pub(crate) fn received() -> Option<u8> {
    match RECEIVED.load(Relaxed) {
        0 => None,
        signal => Some(exit_code(signal)),
    }
}

/// `Break` once there was a signal.
pub(crate) fn keep_going() -> ControlFlow<()> {
    if received().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Training begins, with checkpoints.
pub(crate) fn training_keeps_checkpoints() {
    CHECKPOINTS.store(true, Relaxed);
}

/// Saves a checkpoint. The first signal does not end the program meanwhile.
pub(crate) fn saving<T>(save: impl FnOnce() -> T) -> T {
    let _saving = SAVING.lock().unwrap_or_else(PoisonError::into_inner);
    save()
}
