//! [DevBench](https://github.com/microsoft/devbench): `benchmark/LANGUAGE/CATEGORY/CATEGORY.jsonl`.
//!
//! A program is `prefix`, the completion, `suffix` and `assertions`, each from a line of its own,
//! as the benchmark's `execute_benchmark.py` joins them. One in Python, TypeScript, JavaScript or
//! Java passes if it ends with status 0, in an empty folder; TypeScript and Java have to compile
//! first. The assertions are in the test and not in the program, which a model sees; Java's are in
//! `suffix`. Other languages are scored by text.
//!
//! `id` counts from 1 in each file, so a task is called `LANGUAGE/CATEGORY/ID`.

use fillrate_language::task::HoleKind;
use serde_json::Value;

use super::error::RecordFault;
use super::located_hole::LocatedHole;
use super::record::BenchmarkRecord;
use super::task::{
    BenchmarkFormat, ImportOptions, ImportedTask, TaskRunner, TaskTests, project_name,
};

pub(super) const FORMAT: BenchmarkFormat = BenchmarkFormat {
    name: "devbench",
    link: "https://github.com/microsoft/devbench",
    marks: &["testsource", "golden_completion", "prefix", "suffix"],
    options: &[],
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

/// Seconds of processor time that a program may take; the benchmark's own limit, `timeout` of
/// `run_python_test_case`, is of the clock, and a busy machine exceeds it.
const TIMEOUT: u64 = 30;

/// Seconds of the clock, for programs that wait for something that never comes.
const LONGEST: u64 = 4 * TIMEOUT;

/// The id of a record's task, from its language, its `testsource` and its `id`.
pub fn task_id(language: &str, source: &str, id: &str) -> String {
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
    let assertions = record.optional_text("assertions")?.unwrap_or_default();
    let path = program_path(language, &name, extension);
    let tests = tests(language, &name, &path, assertions, options);
    // One for each category, so that reports have a row for each.
    let project = project_name(&format!("devbench-{}", category_of(&id)));
    Ok(ImportedTask {
        tests,
        ..program.into_task(id, project, HoleKind::Block, language, path)
    })
}

/// The file of a program.
fn program_path(language: &str, name: &str, extension: &str) -> String {
    match language {
        // The runner compiles nothing in this folder with the tests, as a build writes there. Each
        // program is compiled by itself: their classes have the same names.
        "java" => format!("build/{name}.java"),
        _ => format!("programs/{name}.{extension}"),
    }
}

/// Returns the tests of a program, if it is run.
fn tests(
    language: &str,
    name: &str,
    program: &str,
    assertions: &str,
    options: &ImportOptions,
) -> Option<TaskTests> {
    let (runner, path, text, own) = match language {
        "python" => (
            TaskRunner::Pytest,
            format!("tests/test_{name}.py"),
            PYTHON_TEST.to_owned(),
            &[][..],
        ),
        "typescript" => (
            TaskRunner::Node,
            format!("tests/{name}.test.mjs"),
            SCRIPT_TEST.replace("  COMPILE\n", COMPILE),
            &TYPESCRIPT[..],
        ),
        "javascript" => (
            TaskRunner::Node,
            format!("tests/{name}.test.mjs"),
            SCRIPT_TEST.replace("  COMPILE\n", "  write(\"PROGRAM.js\");\n"),
            &[][..],
        ),
        "java" => (
            TaskRunner::Jupiter,
            format!("tests/{name}.java"),
            JAVA_TEST.replace("FILE", program),
            &[][..],
        ),
        _ => return None,
    };
    Some(TaskTests {
        runner,
        path,
        text: text
            .replace("PROGRAM", name)
            .replace("LONGEST", &LONGEST.to_string())
            .replace("SECONDS", &TIMEOUT.to_string())
            // JSON's texts are Python's and JavaScript's, too.
            .replace("ASSERTED", &Value::from(assertions).to_string()),
        more_files: Vec::new(),
        packages: own
            .iter()
            .map(ToString::to_string)
            .chain(options.packages_for(language))
            .collect(),
        timeout: None,
    })
}

/// Packages that compile TypeScript, of the major version that the benchmark was tested with.
const TYPESCRIPT: [&str; 2] = ["typescript@5.9.3", "@types/node@22.10.0"];

/// Runs a program in Python with its assertions as the benchmark does, which imports some modules
/// before: programs may use them without an import of their own.
const PYTHON_TEST: &str = include_str!("devbench_test.py");

/// The same in JavaScript.
const SCRIPT_TEST: &str = include_str!("devbench_test.mjs");

/// Compiles TypeScript as the benchmark does.
const COMPILE: &str = r##"  write("PROGRAM.ts");
  const flags = "--target ES2020 --module commonjs --esModuleInterop --allowSyntheticDefaultImports --skipLibCheck";
  const tsc = "node_modules/typescript/bin/tsc";
  const compiled = run(tsc, "PROGRAM.ts", ...flags.split(" "));
  assert.strictEqual(compiled.status, 0, compiled.stdout);
"##;

/// Compiles a program in Java and runs it with its assertions, as the benchmark does.
const JAVA_TEST: &str = include_str!("devbench_test.java");
