//! Runs a project's tests in the sandbox with any test framework.
//!
//! A new runner is one file with a [`framework::TestFramework`] and the four traits that it is made
//! of, a line here and a line in the table of `frameworks`.

mod framework;
mod frameworks;
mod go;
mod harness;
mod jest;
mod junit;
mod jupiter;
pub(super) mod layout;
mod mocha;
mod node;
mod project;
mod pytest;
pub(super) mod report;
mod unittest;
mod vitest;
mod warm;

pub(super) use framework::{FAILED_STATUS, LoadedCode, Readiness};
pub(super) use harness::write_scripts;
pub(super) use project::{ProjectRunner, SLOW_START, TestRun, TestRunResult};
pub use pytest::PYTEST_PLUGIN;
pub(super) use warm::versions::{Version, VersionsRun};
pub(super) use warm::{WarmWorkers, ask};
