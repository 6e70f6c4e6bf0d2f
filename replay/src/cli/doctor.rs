//! `fillrate doctor`.

use clap::Args;

use super::{CliError, Success};
use crate::corpus::environment;
use crate::language::environment::Toolchain;

/// Say what this machine lacks and how to get it.
#[derive(Args)]
pub(super) struct DoctorArguments {}

pub(super) fn run(_arguments: &DoctorArguments) -> Result<Success, CliError> {
    let mut lacking = 0;
    let mut line = |name: &str, found: Result<String, String>| match found {
        Ok(version) => outln!("  ok       {name:16} {version}"),
        Err(advice) => {
            lacking += 1;
            outln!("  missing  {name:16} {advice}");
        }
    };
    line(
        "sandbox",
        fillrate_sandbox::probe()
            .map(|level| level.to_string())
            .map_err(|error| error.to_string()),
    );
    for probe in environment::probe(&Toolchain::default()) {
        line(
            probe.program,
            probe.version.map_err(|error| error.to_string()),
        );
    }
    match lacking {
        0 => {
            outln!("Everything is there.");
            Ok(Success::Whole)
        }
        _ => {
            outln!("What is missing leaves out the projects that need it; the others still run.");
            Ok(Success::Partial)
        }
    }
}
