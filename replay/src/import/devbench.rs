//! [DevBench](https://github.com/microsoft/devbench): `benchmark/LANGUAGE/CATEGORY/CATEGORY.jsonl`.
//!
//! A program is `prefix`, the completion, `suffix` and `assertions`, each from a line of its own, as
//! the benchmark's `execute_benchmark.py` joins them; Python's passes if it ends with status 0. The
//! assertions stand in the test and not in the program, which a model sees. Other languages are
//! scored by text.
//!
//! `id` counts from 1 in each file, so a task is called `LANGUAGE/CATEGORY/ID`.

use serde_json::Value;

use super::error::RecordFault;
use super::located_hole::LocatedHole;
use super::record::BenchmarkRecord;
use super::task::{BenchmarkFormat, ImportOptions, ImportedTask, PYTEST, TaskTests, project_name};
use crate::task::HoleKind;

pub(super) const FORMAT: BenchmarkFormat = BenchmarkFormat {
    name: "devbench",
    link: "https://github.com/microsoft/devbench",
    marks: &["testsource", "golden_completion", "prefix", "suffix"],
    read,
};

/// The benchmark's languages: its name, ours, and the file ending.
const LANGUAGES: [(&str, &str, &str); 6] = [
    ("python", "python", "py"),
    ("typescript", "typescript", "ts"),
    ("javascript", "javascript", "js"),
    ("java", "java", "java"),
    ("c_sharp", "csharp", "cs"),
    ("cpp", "cpp", "cpp"),
];

/// Seconds that a program may run: `timeout` of `run_python_test_case`.
const TIMEOUT: u64 = 30;

/// The id of a record's task, from its language, its `testsource` and its `id`.
pub(crate) fn task_id(language: &str, source: &str, id: &str) -> String {
    let category = source.strip_prefix("devbench-").unwrap_or(source);
    let known = LANGUAGES.iter().find(|row| row.0 == spelled(language));
    format!("{}/{category}/{id}", known.map_or(language, |row| row.1))
}

/// The language and the category of a task, with a hyphen between.
fn category_of(id: &str) -> String {
    let category = id.rsplit_once('/').map_or(id, |(category, _)| category);
    category.replace('/', "-")
}

/// Records spell C#'s name in several ways.
fn spelled(language: &str) -> &str {
    match language {
        "c#" | "csharp" | "c-sharp" => "c_sharp",
        "c++" => "cpp",
        other => other,
    }
}

fn read(
    record: &BenchmarkRecord<'_>,
    options: &ImportOptions,
) -> Result<ImportedTask, RecordFault> {
    let lang = record.text("language")?;
    let Some((_, language, extension)) = LANGUAGES.into_iter().find(|row| row.0 == spelled(lang))
    else {
        return Err(RecordFault::new(
            "language",
            format!("is `{lang}`; known are python, typescript, javascript, java, c_sharp and cpp"),
        ));
    };
    let id = task_id(lang, record.text("testsource")?, &record.name("id")?);
    let program = LocatedHole::from_parts(
        &format!("{}\n", record.text("prefix")?),
        record.text("golden_completion")?,
        &format!("\n{}\n", record.text("suffix")?),
    );
    let name = record.file_name(&id);
    let path = format!("programs/{name}.{extension}");
    let assertions = record.optional_text("assertions")?.unwrap_or_default();
    let tests = (language == "python").then(|| TaskTests {
        path: format!("tests/test_{name}.py"),
        text: RUNNER
            .replace("PROGRAM", &path)
            .replace("SECONDS", &TIMEOUT.to_string())
            // JSON's texts are Python's, too.
            .replace("ASSERTED", &Value::from(assertions).to_string()),
        beside: Vec::new(),
        packages: PYTEST
            .iter()
            .map(ToString::to_string)
            .chain(options.packages.iter().cloned())
            .collect(),
        timeout: None,
    });
    Ok(ImportedTask {
        // One for each category, so that reports have a row for each.
        project: project_name(&format!("devbench-{}", category_of(&id))),
        language,
        path,
        kind: HoleKind::Block,
        contents: program.contents,
        range: program.range,
        origin: program.origin,
        tests,
        extent: None,
        decided_by: Vec::new(),
        repoexec_dependencies: None,
        indent: None,
        id,
    })
}

/// Runs a program with its assertions as the benchmark does.
const RUNNER: &str = r##"import subprocess
import sys

ASSERTIONS = ASSERTED


def test_program():
    with open("PROGRAM") as file:
        program = file.read()
    done = subprocess.run(
        [sys.executable, "-c", program + "\n# Run assertions\n" + ASSERTIONS + "\n"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
"##;
