//! The target `models`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearfar_fuzz::run("models", data));
