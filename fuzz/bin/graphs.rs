//! The target `graphs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearfar_fuzz::run("graphs", data));
