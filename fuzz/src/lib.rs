//! The targets of `crates/nearfar/tests/fuzz`, for libFuzzer.

#[path = "../../crates/nearfar/tests/fuzz/targets.rs"]
#[allow(dead_code, reason = "the stable run uses the rest")]
mod targets;

use std::sync::Once;

/// Runs a target on an input.
///
/// # Panics
///
/// If the input shows a fault, or there is no such target.
pub fn run(name: &str, data: &[u8]) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let abort = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if targets::is_fault(panic) {
                abort(panic);
            }
        }));
    });
    let target = targets::TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target").run)(data);
}
