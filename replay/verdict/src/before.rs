//! Commands that run once before a project's tests, such as the build of a compiled part.

use std::path::Path;
use std::time::Duration;

use fillrate_sandbox::{End, Limits};

use super::error::VerdictError;
use super::runner::ProjectRunner;
use crate::corpus::{Corpus, CorpusError, CorpusStep, Prepared};

/// The time limit of one command.
const COMMAND_TIME: Duration = Duration::from_secs(900);

/// Returns the project after the commands under `before` in its manifest ran in the sandbox, on a
/// copy of its source in the cache; the unchanged project if there are no commands or no tests.
///
/// # Errors
/// A command fails, or the sandbox is unavailable.
pub fn run_commands_before(
    corpus: &Corpus,
    prepared: Prepared,
    report_step: &dyn Fn(CorpusStep),
) -> Result<Prepared, CorpusError> {
    let settings = &prepared.project.environment;
    if settings.before.is_empty() || prepared.project.test.is_none() {
        return Ok(prepared);
    }
    let commands = settings.before.clone();
    let variables = settings
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let mut parts = vec![prepared.environment.key.clone()];
    parts.extend(variables);
    parts.push("commands".to_owned());
    parts.extend(commands.iter().cloned());
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    report_step(CorpusStep::Environment);
    let unchanged = prepared.clone();
    let run_all = |root: &Path| {
        let unusable = |message: String| {
            let name = unchanged.project.name.clone();
            CorpusError::unusable(&name, message)
        };
        let sandboxed = |error: VerdictError| unusable(error.to_string());
        let runner = ProjectRunner::new(&unchanged, corpus.cache.root()).map_err(sandboxed)?;
        for command in &commands {
            let limits = Limits {
                wall: COMMAND_TIME,
                cpu: COMMAND_TIME * 2,
                memory: 4 << 30,
                file_size: 1 << 30,
                disk: 2 << 30,
                ..Limits::default()
            };
            let finished = runner
                .run_command(command, root, limits)
                .map_err(sandboxed)?;
            if finished.end != End::Exited(0) {
                let text = [finished.stdout.text(), finished.stderr.text()].concat();
                let line = text.lines().rfind(|line| !line.trim().is_empty());
                return Err(unusable(format!(
                    "`{command}` of its `before` {}: {}; correct it, or what it needs \
                     in the environment (there is no network inside)",
                    finished.end,
                    line.unwrap_or("it wrote nothing")
                )));
            }
        }
        Ok(())
    };
    corpus.with_changed_source(prepared, &parts, run_all, report_step)
}
