//! Commands that run once before a project's tests, such as the build of a compiled part.

use std::path::Path;
use std::time::Duration;

use fillrate_sandbox::{End, Limits};

use super::baseline::{names_exception, one_spaced};
use super::error::VerdictError;
use super::runner::ProjectRunner;
use crate::corpus::{Corpus, CorpusError, CorpusStep, Prepared};

/// The time limit of one command.
const COMMAND_TIME: Duration = Duration::from_secs(900);

/// Returns the project after the commands under `before` in its manifest ran in the sandbox, on a
/// copy of its source in the cache; the unchanged project if there are no commands or no tests.
///
/// # Errors
/// A command fails that must not, or the sandbox is unavailable.
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
    let may_fail = settings.before_may_fail;
    let variables = settings
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let mut parts = vec![prepared.environment.key.clone()];
    parts.extend(variables);
    // Without this part, a variable and a command of the same text would give the same key, and a
    // source whose commands failed would serve where they must not.
    let kind = if may_fail {
        "commands that may fail"
    } else {
        "commands"
    };
    parts.push(kind.to_owned());
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
        let mut failed = Vec::new();
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
                let reason = reason_line(&text);
                if may_fail {
                    failed.push(format!("`{command}` {}: {reason}", finished.end));
                    continue;
                }
                return Err(unusable(format!(
                    "`{command}` of its `before` {}: {reason}; correct it, or what it needs \
                     in the environment (there is no network inside)",
                    finished.end,
                )));
            }
        }
        Ok(failed)
    };
    corpus.with_changed_source(prepared, &parts, run_all, report_step)
}

/// The line of a command's output that gives the reason why it failed: the one with an exception or
/// marked as an error, or else the last that is no frame of a stack.
fn reason_line(output: &str) -> String {
    let is_said = |line: &&str| {
        let line = line.trim_start();
        line.contains(char::is_alphanumeric)
            && !line.starts_with("at ")
            && !line.starts_with("npm error ")
    };
    let lines: Vec<&str> = output.lines().filter(is_said).collect();
    let is_error = |line: &&&str| {
        let word = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
        let mut words = line.split_whitespace().map(word).take(3);
        names_exception(line) || words.any(|word| ["ERROR", "error", "Error"].contains(&&*word))
    };
    let found = lines.iter().find(is_error).or(lines.last());
    found.map_or_else(|| "it wrote nothing".to_owned(), |line| one_spaced(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_commands_are_no_frames() {
        for (output, line) in [
            (
                "> tsc\n\nsrc/a.ts(3,5): error TS2304: Cannot find name 'x'.\nnpm error code 2\n",
                "src/a.ts(3,5): error TS2304: Cannot find name 'x'.",
            ),
            (
                "> build\nfile:///a.mjs:3\nTypeError: a is not a function\n    at run (a.mjs:45:3)\n",
                "TypeError: a is not a function",
            ),
            (
                "✖ ERROR  no such file\n    at run\n",
                "✖ ERROR no such file",
            ),
            (
                "make: nothing\nsh: tsup: not found\n",
                "sh: tsup: not found",
            ),
            ("\n", "it wrote nothing"),
        ] {
            assert_eq!(reason_line(output), line);
        }
    }
}
