//! The one binary of Fillrate.

fn main() -> std::process::ExitCode {
    // Must stay first: a sandbox's inner stages need a process that has no threads yet.
    if let Some(code) = fillrate_sandbox::enter_if_requested() {
        return code;
    }
    fillrate::cli::main()
}
