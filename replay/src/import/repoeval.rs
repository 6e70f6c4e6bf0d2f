//! [RepoEval](https://github.com/microsoft/CodeT/tree/main/RepoCoder), RepoCoder's benchmark:
//! `line_level_completion_*`, `api_level_completion_*` and `function_level_completion_*`.
//!
//! `prompt` and `metadata.ground_truth` follow each other in the file that `metadata.fpath_tuple`
//! names, the repository's folder first, from the line `metadata.context_start_lineno` on. Which
//! of the three sets it is stands only in the file's name.

use super::record::{self, Record};
use super::site::{self, Site};
use super::{Fault, Format, Options, Origin, Task, file_name, language_of, project_name};
use crate::task::Kind;

pub(super) const FORMAT: Format = Format {
    name: "repoeval",
    link: "https://github.com/microsoft/CodeT/tree/main/RepoCoder",
    marks: &["prompt", "metadata.fpath_tuple", "metadata.ground_truth"],
    read,
};

fn read(record: &Record<'_>, options: &Options) -> Result<Task, Fault> {
    let prompt = record.text("prompt")?;
    let id = record.text("metadata.task_id")?;
    let reference = record.text("metadata.ground_truth")?;
    let parts = record.texts("metadata.fpath_tuple")?;
    let Some((name, rest)) = parts.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Err(Fault::of(
            "metadata.fpath_tuple",
            "must be a repository and the names down to the file",
        ));
    };
    let file = rest.join("/");
    record::inside("metadata.fpath_tuple", &file)?;
    let language = language_of(&file)
        .ok_or_else(|| Fault::of("metadata.fpath_tuple", format!("names `{file}`, no Python")))?;
    let source = record
        .file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let kind = if source.starts_with("function") {
        Kind::Body
    } else if source.starts_with("api") {
        Kind::Api
    } else {
        Kind::Line
    };
    let site = match site::repository(options, "metadata.fpath_tuple", name)? {
        Some(repository) => {
            let contents = site::read(&repository, "metadata.fpath_tuple", &file)?;
            let line = record.number("metadata.context_start_lineno").ok();
            let range = site::locate(
                &contents,
                ("prompt", prompt),
                ("metadata.ground_truth", reference),
                line,
            )?;
            Site {
                contents,
                range,
                origin: Origin::Repository(repository),
            }
        }
        None => Site::made(prompt, reference, "\n"),
    };
    let path = match site.origin {
        Origin::Made => format!("{}/{file}", file_name(id)),
        Origin::Repository(_) => file,
    };
    Ok(Task {
        id: id.to_owned(),
        project: project_name(name),
        language,
        path,
        kind,
        contents: site.contents,
        range: site.range,
        origin: site.origin,
        tests: None,
        decided_by: Vec::new(),
    })
}
