//! [DevEval](https://github.com/seketeam/DevEval): its `data.jsonl`, with its `Source_Code` as
//! `--repositories`.
//!
//! Records hold no code: the hole is `body_position`, first and last line from 1, of
//! `completion_path`, which begins with `project_path`, the repository's folder. The lines are
//! replaced whole, indentation included, as predictions have it. `tests` are pytest's names; they
//! are in the tasks, but the packages they need are not given, so nothing is judged until the
//! manifest lists them. DevEval's script indents predictions by `indent` spaces; `replay --deveval`
//! does the same.

use std::path::Path;

use fillrate_language::name_for_path;
use fillrate_language::task::HoleKind;

use super::error::RecordFault;
use super::located_hole::{self, LocatedHole};
use super::record::BenchmarkRecord;
use super::task::{BenchmarkFormat, ImportOptions, ImportedTask, project_name};

pub(super) const FORMAT: BenchmarkFormat = BenchmarkFormat {
    name: "deveval",
    link: "https://github.com/seketeam/DevEval",
    marks: &["namespace", "completion_path", "body_position"],
    options: &["--repositories"],
    read,
};

fn read(
    record: &BenchmarkRecord<'_>,
    options: &ImportOptions,
) -> Result<ImportedTask, RecordFault> {
    let id = record.text("namespace")?;
    let name = record.path("project_path")?;
    let whole = record.path("completion_path")?;
    let (first, last) = record.lines("body_position")?;
    let Some(repository) = located_hole::repository(options, "project_path", name)? else {
        return Err(RecordFault::new(
            "completion_path",
            "names the code, which records don't hold; give the benchmark's `Source_Code` by \
             `--repositories`",
        ));
    };
    let file = whole
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('/'))
        .ok_or_else(|| RecordFault::new("completion_path", "must begin with `project_path`"))?;
    let language = name_for_path(Path::new(file))
        .ok_or_else(|| RecordFault::new("completion_path", format!("names `{file}`, no Python")))?;
    let contents = located_hole::read(&repository, "completion_path", file)?;
    let range = located_hole::lines(&contents, first - 1, last - 1)
        .filter(|range| !contents[range.clone()].trim().is_empty())
        .ok_or_else(|| {
            RecordFault::new(
                "body_position",
                format!("is [{first}, {last}], and {file} has no code there"),
            )
        })?;
    check_signature(record, id, file, &contents)?;
    let indent = record.number("indent")?;
    let begins = contents[range.clone()].find(|c: char| !c.is_whitespace());
    if begins.is_none_or(|begins| begins < indent) {
        return Err(RecordFault::new(
            "indent",
            format!("is {indent}, and line {first} of {file} is indented less"),
        ));
    }
    let decided_by = record.texts("tests")?;
    let text = LocatedHole::in_repository(repository, contents, range);
    let (project, path) = (project_name(name), file.to_owned());
    Ok(ImportedTask {
        decided_by: decided_by.into_iter().map(str::to_owned).collect(),
        indent: Some(indent),
        ..text.into_task(id.to_owned(), project, HoleKind::Body, language, path)
    })
}

/// Refuses a file of another version: the lines of the signature must define the function that the
/// record is of.
fn check_signature(
    record: &BenchmarkRecord<'_>,
    id: &str,
    file: &str,
    contents: &str,
) -> Result<(), RecordFault> {
    let (first, last) = record.lines("signature_position")?;
    // The id is the function's full name, with its modules before it.
    let name = id.rsplit('.').next().unwrap_or(id);
    let signature = located_hole::lines(contents, first - 1, last - 1);
    let signature = signature.map_or("", |range| &contents[range]);
    if signature.contains(&format!("def {name}")) {
        return Ok(());
    }
    Err(RecordFault::new(
        "signature_position",
        format!(
            "is [{first}, {last}], and {file} does not define {name} there: it is another version \
             of it"
        ),
    ))
}
