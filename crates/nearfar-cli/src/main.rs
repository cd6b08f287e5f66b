//! The program `nearfar`.

use std::process::ExitCode;

fn main() -> ExitCode {
    nearfar_cli::run(std::env::args_os(), None).into()
}
