//! Errors of judging.

use std::path::PathBuf;

use fillrate_sandbox::SandboxError;

/// Reason why there is no verdict, or no baseline to compare one with.
#[derive(Debug, thiserror::Error)]
pub enum VerdictError {
    /// The sandbox is unavailable.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// Too few of the project's own tests pass.
    #[error(
        "`{project}` passes {passing} of its own {tests} tests, and at least {least} must pass: \
         {reasons}; correct the project's environment in the manifest (`fillrate init` writes one), \
         leave tests out by its `args`, or lower `min_share`"
    )]
    TestsFail {
        /// The project.
        project: String,
        /// Number of tests that pass.
        passing: usize,
        /// Number of tests that are not skipped; a file that can't be collected counts as one.
        tests: usize,
        /// The least share that must pass, formatted for the message.
        least: String,
        /// Reasons why the others fail, each with the number of tests and the first of them.
        reasons: String,
    },
    /// The project's tests can't be run at all.
    #[error("the tests of `{project}` can't be run: {reason}")]
    NotRunnable {
        /// The project.
        project: String,
        /// The failure, with the end of the output.
        reason: String,
    },
    /// A file of the cache can't be read or written.
    #[error("{path}: {source}")]
    Cache {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}
