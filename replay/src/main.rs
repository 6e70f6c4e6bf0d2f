//! The one binary of Fillrate.

fn main() -> std::process::ExitCode {
    // Must stay first: a sandbox's inner stages need a process that has no threads yet.
    if let Some(code) = fillrate::sandbox::enter_if_asked() {
        return code;
    }
    fillrate::cli::main()
}
