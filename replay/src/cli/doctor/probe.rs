//! `fillrate doctor --model`: asks a model to fill holes, and judges whether its family fits.

use std::path::Path;
use std::time::Duration;

use fillrate_engine::developer::CompletionReply;
use fillrate_server::completion::Trace;
use fillrate_server::configuration::AnsweringModel;
use fillrate_server::model::outline;
use fillrate_syntax::Language;
use fillrate_syntax::text::ByteOffset;

use crate::cli::complete::complete_once;
use crate::cli::serve::ServerFlags;
use crate::cli::{CliError, Success};

/// A file with a hole at `$0`.
struct ProbeHole {
    name: &'static str,
    file: &'static str,
    text: &'static str,
}

/// Holes that any model for code fills: within a line, at a line's end, and a body before code that
/// calls it.
const HOLES: [ProbeHole; 3] = [
    ProbeHole {
        name: "within a line",
        file: "probe.py",
        text: "def add(a, b):\n    return a + b\n\n\ndef multiply(a, b):\n    return ($0)\n\n\n\
               print(multiply(6, 7))\n",
    },
    ProbeHole {
        name: "a line's end",
        file: "probe.ts",
        text: "export function add(a: number, b: number): number {\n  return a + b;\n}\n\n\
               export function subtract(a: number, b: number): number {\n  return $0\n}\n\n\
               console.log(subtract(7, 6));\n",
    },
    ProbeHole {
        name: "a body",
        file: "body.py",
        text: "def largest(numbers):\n    \"\"\"The largest of the numbers.\"\"\"\n    $0\n\n\n\
               assert largest([1, 3, 2]) == 3\n",
    },
];

/// Timeout for the completion of one hole.
const COMPLETION_TIMEOUT: Duration = Duration::from_secs(120);

/// Probes the model of a settings file.
pub(super) fn run(settings: &Path) -> Result<Success, CliError> {
    let flags = ServerFlags::without_context(settings.to_owned()).for_child()?;
    print_request(settings)?;
    // An empty workspace has no context, so only the model and its prompt format are tried.
    let folder = tempfile::tempdir().map_err(CliError::file("a temporary folder"))?;
    let runtime = tokio::runtime::Runtime::new().map_err(CliError::file("the runtime"))?;
    let mut faults = 0;
    for (index, hole) in HOLES.iter().enumerate() {
        let (prefix, suffix) = hole.sides();
        let (file, contents) = (folder.path().join(hole.file), [prefix, suffix].concat());
        let place = (file.as_path(), contents.as_str(), ByteOffset(prefix.len()));
        let asked = complete_once(flags.clone(), COMPLETION_TIMEOUT, folder.path(), place);
        let reply = runtime.block_on(asked)?;
        let Some(trace) = &reply.trace else {
            return Err(CliError::Refused(format!(
                "the model did not answer within {} s",
                COMPLETION_TIMEOUT.as_secs()
            )));
        };
        if let Some(fault) = trace.fault_with_advice() {
            return Err(CliError::Refused(fault));
        }
        // The model's name is known only from an answer.
        if index == 0 {
            sayln!("  model    {:16} {}", trace.model, trace.about);
        }
        match judge(hole, &reply, trace) {
            Ok(text) => {
                let seconds = trace.model_ms / 1000.0;
                sayln!("  ok       {:16} {text:?} after {seconds:.1} s", hole.name);
            }
            Err(fault) => {
                faults += 1;
                sayln!("  fault    {:16} {fault}", hole.name);
            }
        }
    }
    if faults == 0 {
        sayln!("The family fits: the model fills holes.");
        return Ok(Success::Whole);
    }
    sayln!(
        "{faults} of {} holes are not filled: check `model.family` and `model.protocol`, and that \
         the model was trained to fill in the middle.",
        HOLES.len()
    );
    Ok(Success::Partial)
}

/// Prints where a settings file leads requests, and with which parameters.
fn print_request(settings: &Path) -> Result<(), CliError> {
    let chosen = AnsweringModel::of_file(settings)?;
    let named = |error| CliError::Refused(format!("{}: {error}", settings.display()));
    let Some(outline) = outline(&chosen.configuration.model).map_err(named)? else {
        return Ok(());
    };
    sayln!("  requests {:16} POST {}", chosen.name, outline.address);
    let parameters = outline.parameters.iter();
    let parameters: Vec<String> = parameters
        .map(|(name, value)| match is_secret(name) {
            true => format!("{name} = …"),
            false => format!("{name} = {value}"),
        })
        .collect();
    sayln!("  with     {:16} {}", "", parameters.join(", "));
    Ok(())
}

/// True if a parameter's name says that its value is a secret.
fn is_secret(name: &str) -> bool {
    let last = name.rsplit(['.', '_', '-']).next().unwrap_or(name);
    ["key", "token", "secret", "password", "authorization"]
        .iter()
        .any(|word| last.eq_ignore_ascii_case(word))
}

/// The completion of a hole, or what shows that the model is asked in another way than it was
/// trained.
fn judge<'a>(
    hole: &ProbeHole,
    reply: &'a CompletionReply,
    trace: &Trace,
) -> Result<&'a str, String> {
    let (prefix, suffix) = hole.sides();
    let Some(step) = trace
        .steps
        .first()
        .filter(|step| !step.raw.trim().is_empty())
    else {
        return Err("the answer is empty".to_owned());
    };
    let raw = step.raw.as_str();
    let removed = |rule: &str| {
        let mut decisions = step.decisions.iter();
        decisions.find(|decision| decision.rule == rule)
    };
    if let Some(tokens) = removed("tokens") {
        return Err(format!(
            "tokens come back as text: {:?}",
            shortened(&tokens.removed)
        ));
    }
    let above = last_whole_line(prefix);
    if raw.contains(above) {
        return Err(format!(
            "the answer repeats the prompt: {:?}",
            shortened(raw)
        ));
    }
    let below = suffix.trim_end().rsplit('\n').next().unwrap_or_default();
    if raw.contains(below) {
        return Err(format!(
            "the answer does not end where the suffix begins: {:?}",
            shortened(raw)
        ));
    }
    let closes = |text: &&String| {
        Language::for_path(Path::new(hole.file))
            .is_some_and(|language| language.parses(&[prefix, text, suffix].concat()))
    };
    match reply.candidates.first() {
        None => Err(format!(
            "nothing of the answer fits the hole: {:?}",
            shortened(raw)
        )),
        Some(text) if closes(&text) => Ok(text),
        Some(text) => Err(format!(
            "the answer does not close the hole: {:?}",
            shortened(text)
        )),
    }
}

impl ProbeHole {
    /// The text before and after the hole.
    fn sides(&self) -> (&'static str, &'static str) {
        self.text.split_once("$0").unwrap_or((self.text, ""))
    }
}

/// The last line above the hole's own.
fn last_whole_line(prefix: &str) -> &str {
    let above = prefix.rsplit_once('\n').map_or("", |(above, _)| above);
    above.rsplit('\n').next().unwrap_or_default().trim()
}

/// The beginning of a text.
fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(80).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
