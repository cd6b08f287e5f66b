//! The target `round_trips`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearfar_fuzz::run("round_trips", data));
