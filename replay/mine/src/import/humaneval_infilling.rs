//! [HumanEval-Infilling](https://github.com/openai/human-eval-infilling): its single-line,
//! multi-line, random-span and random-span-light sets.
//!
//! A program is `prompt`, a completion and `suffix`; it is right if `test`, which defines `check`,
//! lets `check(entry_point)` pass within three seconds. Tasks whose whole programs are equal share
//! a file. Tests run in the program's names, as if the two were one file.

use fillrate_language::task::{HoleKind, sha256_hex};
use fillrate_syntax::CompletionExtent;

use super::error::RecordFault;
use super::located_hole::LocatedHole;
use super::record::{BenchmarkRecord, plain_file_name};
use super::task::{BenchmarkFormat, ImportOptions, ImportedTask, TaskRunner, TaskTests};

pub(super) const FORMAT: BenchmarkFormat = BenchmarkFormat {
    name: "humaneval-infilling",
    link: "https://github.com/openai/human-eval-infilling",
    marks: &["entry_point", "suffix", "canonical_solution", "test"],
    options: &[],
    read,
};

/// The benchmark's own limit, in seconds: `timeout` of `evaluate_functional_correctness`.
const TIMEOUT: u16 = 3;

fn read(
    record: &BenchmarkRecord<'_>,
    options: &ImportOptions,
) -> Result<ImportedTask, RecordFault> {
    let id = record.text("task_id")?;
    let program_text = LocatedHole::from_parts(
        record.text("prompt")?,
        record.text("canonical_solution")?,
        record.text("suffix")?,
    );
    let test = record.text("test")?;
    let entry_point = record.text("entry_point")?;
    let named = |c: char| c.is_alphanumeric() || c == '_';
    if entry_point.is_empty() || !entry_point.chars().all(named) {
        return Err(RecordFault::new("entry_point", "must be a function's name"));
    }
    let (set, rest) = id.split_once('/').unwrap_or(("", id));
    // `RandomSpanInfilling/HumanEval/3/1` and all others of HumanEval/3 are of one problem.
    let problem = match rest.split('/').collect::<Vec<_>>()[..] {
        [name, number, ..] => format!("{name}_{number}"),
        _ => rest.to_owned(),
    };
    // Records that differ only in their hole share the file of the program.
    let parts = format!("{}\0{test}\0{entry_point}", program_text.contents);
    let hash = &sha256_hex(parts.as_bytes())[..8];
    let module = format!("{}_{hash}", plain_file_name(&problem));
    let kind = match set {
        "SingleLineInfilling" => HoleKind::Line,
        "MultiLineInfilling" => HoleKind::Block,
        _ => HoleKind::Span,
    };
    let project = "humaneval-infilling".to_owned();
    let path = format!("programs/{module}.py");
    Ok(ImportedTask {
        tests: Some(TaskTests {
            runner: TaskRunner::Pytest,
            path: format!("tests/test_{module}.py"),
            text: tests(test, &module, entry_point),
            more_files: Vec::new(),
            packages: options.packages.clone(),
            timeout: Some(TIMEOUT),
        }),
        extent: matches!(kind, HoleKind::Span).then_some(CompletionExtent::Anything),
        ..program_text.into_task(id.to_owned(), project, kind, "python", path)
    })
}

/// Returns the file of tests. It sees the program's names, except those that the test defines
/// itself, as if it were below the program.
fn tests(test: &str, module: &str, entry_point: &str) -> String {
    format!(
        "{}\n\n\ndef test_check():\n    from importlib import import_module\n\n    \
         program = vars(import_module(\"programs.{module}\"))\n    \
         for name, value in program.items():\n        \
         globals().setdefault(name, value)\n    \
         check(program[\"{entry_point}\"])\n",
        test.trim_end()
    )
}
