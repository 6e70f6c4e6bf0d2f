//! Why there is no verdict.

use std::path::PathBuf;

use fillrate_sandbox::SandboxError;

/// Why there is no verdict, or no baseline to compare one with.
#[derive(Debug, thiserror::Error)]
pub enum VerdictError {
    /// The sandbox is unavailable.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The project fails its own tests.
    #[error(
        "`{project}` fails {failing} of its own {tests} tests, first {first}: {message}; fix the \
         project's environment in the manifest, or leave these tests out by its `args`"
    )]
    TestsFail {
        /// The project.
        project: String,
        /// How many fail.
        failing: usize,
        /// How many there are.
        tests: usize,
        /// The first one's id.
        first: String,
        /// Its message, shortened.
        message: String,
    },
    /// The project's tests can't be run at all.
    #[error("the tests of `{project}` can't be run: {reason}")]
    NotRunnable {
        /// The project.
        project: String,
        /// What happened, with the end of the output.
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
