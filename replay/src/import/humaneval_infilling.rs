//! [HumanEval-Infilling](https://github.com/openai/human-eval-infilling): its single-line,
//! multi-line, random-span and random-span-light sets.
//!
//! A program is `prompt`, a completion and `suffix`; it is right if `test`, which defines `check`,
//! lets `check(entry_point)` pass within three seconds. Tasks whose whole programs are equal share
//! a file. Tests run in the program's names, as they do where the two are one file.

use super::record::Record;
use super::site::Site;
use super::{Fault, Format, Options, Task, Tests, file_name};
use crate::task::{Kind, sha256_hex};

pub(super) const FORMAT: Format = Format {
    name: "humaneval-infilling",
    link: "https://github.com/openai/human-eval-infilling",
    marks: &["entry_point", "suffix", "canonical_solution", "test"],
    read,
};

/// The benchmark's own limit, in seconds: `timeout` of `evaluate_functional_correctness`.
const TIMEOUT: u16 = 3;

/// What runs the tests, with all that it needs in turn.
pub(super) const PYTEST: [&str; 6] = [
    "pytest==8.4.2",
    "coverage==7.10.7",
    "iniconfig==2.1.0",
    "packaging==25.0",
    "pluggy==1.6.0",
    "Pygments==2.19.2",
];

fn read(record: &Record<'_>, options: &Options) -> Result<Task, Fault> {
    let id = record.text("task_id")?;
    let site = Site::made(
        record.text("prompt")?,
        record.text("canonical_solution")?,
        record.text("suffix")?,
    );
    let test = record.text("test")?;
    let entry_point = record.text("entry_point")?;
    let named = |c: char| c.is_alphanumeric() || c == '_';
    if entry_point.is_empty() || !entry_point.chars().all(named) {
        return Err(Fault::of("entry_point", "must be a function's name"));
    }
    let (set, rest) = id.split_once('/').unwrap_or(("", id));
    // `RandomSpanInfilling/HumanEval/3/1` and all others of HumanEval/3 are of one problem.
    let problem = match rest.split('/').collect::<Vec<_>>()[..] {
        [name, number, ..] => format!("{name}_{number}"),
        _ => rest.to_owned(),
    };
    let parts = format!("{}\0{test}\0{entry_point}", site.contents);
    let hash = &sha256_hex(parts.as_bytes())[..8];
    let module = format!("{}_{hash}", file_name(&problem));
    let kind = match set {
        "SingleLineInfilling" => Kind::Line,
        "MultiLineInfilling" => Kind::Block,
        _ => Kind::Span,
    };
    let mut packages: Vec<String> = PYTEST.map(str::to_owned).to_vec();
    packages.extend(options.packages.iter().cloned());
    Ok(Task {
        id: id.to_owned(),
        project: "humaneval-infilling".to_owned(),
        language: "python",
        path: format!("programs/{module}.py"),
        kind,
        contents: site.contents,
        range: site.range,
        origin: site.origin,
        tests: Some(Tests {
            path: format!("tests/test_{module}.py"),
            text: tests(test, &module, entry_point),
            beside: Vec::new(),
            packages,
            timeout: Some(TIMEOUT),
        }),
        decided_by: Vec::new(),
    })
}

/// The file of tests. What the program defines is at hand in it, but for names that the test
/// defines itself, as if it stood below the program.
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
