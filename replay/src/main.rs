//! The one binary of Fillrate.

// These panic once the reader of an output has gone away.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod cli;

fn main() -> std::process::ExitCode {
    // Must stay first: a sandbox's inner stages need a process that has no threads yet.
    if let Some(code) = fillrate_sandbox::enter_if_requested() {
        return code;
    }
    cli::main()
}
