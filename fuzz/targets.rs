//! The targets of `crates/nearfar/tests/fuzz` for libFuzzer, in one program: `NEARFAR_FUZZ_TARGET`
//! names the one to run.

#![no_main]

#[path = "../crates/nearfar/tests/fuzz/targets.rs"]
#[allow(dead_code, reason = "the stable run uses the rest")]
mod targets;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use targets::{TARGETS, is_fault};

static RUN: OnceLock<fn(&[u8])> = OnceLock::new();

fuzz_target!(init: start(), |data: &[u8]| {
    RUN.get().expect("a target")(data);
});

/// Finds the target. A panic that a reader turns into an error does not end the program.
fn start() {
    let name = std::env::var("NEARFAR_FUZZ_TARGET").expect("NEARFAR_FUZZ_TARGET names a target");
    let target = TARGETS.iter().find(|target| target.name == name).expect("the name of a target");
    RUN.get_or_init(|| target.run);
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if is_fault(panic) {
            abort(panic);
        }
    }));
}
