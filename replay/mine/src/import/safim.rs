//! [SAFIM](https://github.com/gonglinyuan/safim): the JSON lines of
//! [its data set](https://huggingface.co/datasets/gonglinyuan/safim), blocks, control-flow
//! expressions and API calls in Python, Java, C++ and C#.
//!
//! `eval_prompt` is the whole program, with `{{completion}}` where the hole is; `unit_tests` is a
//! list, as JSON in a text, of an `input` and the `output`s that are right. Where Python programs
//! have tests, each input is given to the program on its standard input, as the benchmark's
//! executor ([ExecEval](https://github.com/ntunlp/ExecEval)) does, and what it prints is compared
//! by its rules: equal lines but for white space around them, else equal words, numbers to within
//! 1e-12, yes, no, true and false in any case. API calls have no tests. Other languages are not
//! run.

use fillrate_language::task::HoleKind;
use serde::Deserialize;
use serde_json::Value;

use super::error::RecordFault;
use super::located_hole::LocatedHole;
use super::record::BenchmarkRecord;
use super::task::{BenchmarkFormat, ImportOptions, ImportedTask, TaskRunner, TaskTests};

pub(super) const FORMAT: BenchmarkFormat = BenchmarkFormat {
    name: "safim",
    link: "https://github.com/gonglinyuan/safim",
    marks: &["eval_prompt", "ground_truth", "lang"],
    options: &[],
    read,
};

const HOLE: &str = "{{completion}}";

/// The benchmark's languages: name, file ending, and whether programs are run.
const LANGUAGES: [(&str, &str, bool); 4] = [
    ("python", "py", true),
    ("java", "java", false),
    ("cpp", "cpp", false),
    ("csharp", "cs", false),
];

/// Seconds of processor time of one input, for Python: ExecEval's limit, three times over.
const TIMEOUT_OF_ONE: u64 = 6;

/// One input of a program and what it may print.
#[derive(Deserialize)]
struct Case {
    input: String,
    output: Vec<String>,
}

fn read(
    record: &BenchmarkRecord<'_>,
    options: &ImportOptions,
) -> Result<ImportedTask, RecordFault> {
    let id = record.text("task_id")?;
    let program = record.text("eval_prompt")?;
    let reference = record.text("ground_truth")?;
    let lang = record.text("lang")?;
    let Some((language, extension, is_run)) = LANGUAGES.into_iter().find(|row| row.0 == lang)
    else {
        return Err(RecordFault::new(
            "lang",
            format!("is `{lang}`; known are python, java, cpp and csharp"),
        ));
    };
    let Some((before, after)) = program
        .split_once(HOLE)
        .filter(|(_, after)| !after.contains(HOLE))
    else {
        return Err(RecordFault::new(
            "eval_prompt",
            format!("must have `{HOLE}` in it once"),
        ));
    };
    let program_text = LocatedHole::from_parts(before, reference, after);
    // The ids begin with `block`, `control` or `api`.
    let kind = if id.starts_with("block") {
        HoleKind::Block
    } else {
        HoleKind::Span
    };
    let cases = cases(record)?;
    let name = record.file_name(id);
    let tests = (is_run && !cases.is_empty()).then(|| TaskTests {
        runner: TaskRunner::Pytest,
        path: format!("tests/test_{name}.py"),
        text: tests(&name, &cases),
        more_files: Vec::new(),
        packages: options.packages.clone(),
        timeout: None,
    });
    let project = match &tests {
        Some(_) => "safim".to_owned(),
        None if is_run => "safim-untested".to_owned(),
        None => format!("safim-{language}"),
    };
    let path = format!("programs/{name}.{extension}");
    Ok(ImportedTask {
        tests,
        ..program_text.into_task(id.to_owned(), project, kind, language, path)
    })
}

/// The cases, as a list or as a list that is written as a text.
fn cases(record: &BenchmarkRecord<'_>) -> Result<Vec<Case>, RecordFault> {
    if !record.has("unit_tests") {
        return Ok(Vec::new());
    }
    let fault = |error: serde_json::Error| {
        RecordFault::new(
            "unit_tests",
            format!("must be a list of an `input` and its `output`s: {error}"),
        )
    };
    match record.required("unit_tests")? {
        Value::String(text) if text.trim().is_empty() => Ok(Vec::new()),
        Value::String(text) => serde_json::from_str(text).map_err(fault),
        other => Vec::deserialize(other).map_err(fault),
    }
}

/// The file of tests: one for each input.
fn tests(name: &str, cases: &[Case]) -> String {
    let cases: String = cases
        .iter()
        .map(|case| {
            let text = |text: &String| Value::from(text.as_str()).to_string();
            let outputs: Vec<String> = case.output.iter().map(text).collect();
            // JSON's texts are Python's, too.
            format!("    ({}, [{}]),\n", text(&case.input), outputs.join(", "))
        })
        .collect();
    RUNNER
        .replace("PROGRAM", &format!("programs/{name}.py"))
        .replace("SECONDS", &TIMEOUT_OF_ONE.to_string())
        .replace("    CASES\n", &cases)
}

/// Runs a program as the benchmark does.
const RUNNER: &str = include_str!("safim_test.py");
