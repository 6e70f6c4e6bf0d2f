//! [DevEval](https://github.com/seketeam/DevEval): its `data.jsonl`, with its `Source_Code` as
//! `--repositories`.
//!
//! Records hold no code: the hole is `body_position`, first and last line from 1, of
//! `completion_path`, which begins with `project_path`, the repository's folder. The lines are
//! replaced whole, indentation included, as predictions have it. `tests` are pytest's names; they
//! stand in the tasks, but what they need installed is not said, so that nothing is judged until
//! the manifest says how.

use super::record::Record;
use super::site;
use super::{Fault, Format, Options, Origin, Task, language_of, project_name};
use crate::task::Kind;

pub(super) const FORMAT: Format = Format {
    name: "deveval",
    link: "https://github.com/seketeam/DevEval",
    marks: &["namespace", "completion_path", "body_position"],
    read,
};

fn read(record: &Record<'_>, options: &Options) -> Result<Task, Fault> {
    let id = record.text("namespace")?;
    let name = record.path("project_path")?;
    let whole = record.path("completion_path")?;
    let (first, last) = record.lines("body_position")?;
    let Some(repository) = site::repository(options, "project_path", name)? else {
        return Err(Fault::of(
            "completion_path",
            "names the code, which records don't hold; give the benchmark's `Source_Code` by \
             `--repositories`",
        ));
    };
    let file = whole
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('/'))
        .ok_or_else(|| Fault::of("completion_path", "must begin with `project_path`"))?;
    let language = language_of(file)
        .ok_or_else(|| Fault::of("completion_path", format!("names `{file}`, no Python")))?;
    let contents = site::read(&repository, "completion_path", file)?;
    let range = site::lines(&contents, first - 1, last - 1)
        .filter(|range| !contents[range.clone()].trim().is_empty())
        .ok_or_else(|| {
            Fault::of(
                "body_position",
                format!("is [{first}, {last}], and {file} has no code there"),
            )
        })?;
    let indent = record.number("indent")?;
    let begins = contents[range.clone()].find(|c: char| !c.is_whitespace());
    if begins.is_none_or(|begins| begins < indent) {
        return Err(Fault::of(
            "indent",
            format!("is {indent}, and line {first} of {file} is indented less"),
        ));
    }
    Ok(Task {
        id: id.to_owned(),
        project: project_name(name),
        language,
        path: file.to_owned(),
        kind: Kind::Body,
        contents,
        range,
        origin: Origin::Repository(repository),
        tests: None,
        decided_by: record
            .texts("tests")?
            .into_iter()
            .map(str::to_owned)
            .collect(),
    })
}
