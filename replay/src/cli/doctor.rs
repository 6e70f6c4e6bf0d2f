//! `fillrate doctor`.

mod cache;
mod probe;

use std::path::PathBuf;

use clap::Args;
use fillrate_language::environment::Toolchain;
use fillrate_sandbox::{Level, MemoryControl, OverlayKind, SandboxError};
use fillrate_verdict::corpus::environment;

use super::{CliError, Success};

/// Say what this machine lacks and how to get it, whether a model is asked as it was trained, or
/// what the cache holds.
#[derive(Args)]
pub(super) struct DoctorArguments {
    /// Ask the model of this settings file to fill holes, and say whether its family fits; the
    /// rest of the machine is not looked at
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// List what the cache holds, and remove indexes of workspaces that no longer exist
    #[arg(long, conflicts_with = "model")]
    cache: bool,
}

pub(super) fn run(arguments: &DoctorArguments) -> Result<Success, CliError> {
    match &arguments.model {
        Some(settings) => probe::run(settings),
        None if arguments.cache => cache::run(),
        None => check_machine(),
    }
}

/// Lists what the machine lacks.
fn check_machine() -> Result<Success, CliError> {
    let mut lacking = 0;
    let mut line = |name: &str, found: Result<String, String>| match found {
        Ok(version) => sayln!("  ok       {name:16} {version}"),
        Err(advice) => {
            lacking += 1;
            sayln!("  missing  {name:16} {advice}");
        }
    };
    let level = fillrate_sandbox::probe();
    // A sandbox may be available and weaker than possible on this kernel.
    let weaknesses = level.as_ref().map_or_else(|_| Vec::new(), weaknesses);
    line(
        "sandbox",
        level
            .map(|level| level.to_string())
            .map_err(|error| error.to_string()),
    );
    for weakness in weaknesses {
        sayln!("  weaker   {:16} {weakness}", "sandbox");
    }
    for probe in environment::probe(&Toolchain::default()) {
        line(
            probe.program,
            probe.version.map_err(|error| error.to_string()),
        );
    }
    match lacking {
        0 => {
            sayln!("Everything is there.");
            Ok(Success::Whole)
        }
        _ => {
            sayln!("What is missing leaves out the projects that need it; the others still run.");
            Ok(Success::Partial)
        }
    }
}

/// Returns the weaknesses of a level of isolation, with remedies.
fn weaknesses(level: &Level) -> Vec<String> {
    let better = [
        Level {
            overlay: OverlayKind::Overlayfs,
            ..*level
        },
        Level {
            memory: MemoryControl::CgroupV2,
            ..*level
        },
    ];
    better
        .iter()
        .filter_map(|better| match level.satisfies(better) {
            Err(SandboxError::BelowLevel { refused, remedy }) => {
                Some(format!("{refused}; {remedy}"))
            }
            _ => None,
        })
        .collect()
}
