//! Verdicts: the outcome of a project's own tests after one file gets other contents.
//!
//! A verdict is evidence. A pass needs all of: the exit status of a run in which only the
//! sentinels fail; a report written out of band and signed; the set of executed tests equal to the
//! baseline's; no newly skipped test; every sentinel, a test that must fail, failed; no function
//! of the test framework replaced; the tests, their configuration and every other file without a
//! hole unchanged. Everything runs in the [`fillrate_sandbox`], on a copy-on-write view of the
//! project with the one file laid over it.
//!
//! Spliced code shares a process with the tests. The checks detect code that tampers with the test
//! framework in general. They do not exclude code that is written against these very scripts and
//! finds their objects in the interpreter's memory. No code can leave the sandbox or affect another
//! verdict.
//!
//! [`Judge`] answers from its caches or has the executor run tests: `selection` orders them,
//! `runner` runs them (one file per test framework in `runner/`), `evidence` turns the result into
//! a [`Verdict`] and `flaky` reruns failures that the change can hardly have caused.

mod added_tests;
pub mod baseline;
mod baseline_runs;
mod before;
mod cache;
mod compile_checker;
mod compiler_process;
mod confirmation;
pub mod corpus;
mod engine;
mod error;
mod evidence;
mod executor;
pub mod feedback;
mod flaky;
mod judge;
mod judged_code;
pub mod missing;
mod outcome;
pub mod queue;
mod runner;
mod selection;
mod twin_check;
mod type_checker;
mod versions;

pub use baseline_runs::BaselineStep;
pub use before::run_commands_before;
pub use engine::Engine;
pub use error::VerdictError;
pub use judge::{CompiledForms, Judge};
pub use judged_code::FileContents;
pub use outcome::{Evidence, Outcome, Proof, TypeCheck, TypeErrors, Verdict};
pub use runner::PYTEST_PLUGIN;
