//! The targets of `crates/nearfar/tests/fuzz`, for libFuzzer.

#[path = "../../crates/nearfar/tests/fuzz/targets.rs"]
mod targets;

/// Runs a target on an input.
///
/// # Panics
///
/// If the input shows a fault, or there is no such target.
pub fn run(name: &str, data: &[u8]) {
    let target = targets::TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target").run)(data);
}
