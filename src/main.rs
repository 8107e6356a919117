//! The `itp` binary: all of it is in [`itp::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    itp::cli::main()
}
