//! [CrossCodeEval](https://github.com/amazon-science/cceval): `line_completion*.jsonl` of its
//! Python, Java, TypeScript and C# sets.
//!
//! `prompt` and `groundtruth` are a stretch of `metadata.file` that begins at the line
//! `metadata.context_start_lineno`, from 0; `right_context` follows. `metadata.repository` ends in
//! the commit and names the repository's folder.

use super::record::Record;
use super::site::{self, Site};
use super::{Fault, Format, Options, Origin, Task, file_name, language_of, project_name};
use crate::task::Kind;

pub(super) const FORMAT: Format = Format {
    name: "crosscodeeval",
    link: "https://github.com/amazon-science/cceval",
    marks: &["groundtruth", "metadata.repository", "metadata.file"],
    read,
};

fn read(record: &Record<'_>, options: &Options) -> Result<Task, Fault> {
    let prompt = record.text("prompt")?;
    let reference = record.text("groundtruth")?;
    let id = record.text("metadata.task_id")?;
    let name = record.text("metadata.repository")?;
    let file = record.path("metadata.file")?;
    let language = language_of(file).ok_or_else(|| {
        Fault::of(
            "metadata.file",
            format!("is `{file}`, which is no Python, Java, TypeScript or C#"),
        )
    })?;
    let site = match site::repository(options, "metadata.repository", name)? {
        Some(repository) => {
            let contents = site::read(&repository, "metadata.file", file)?;
            let line = record.number("metadata.context_start_lineno")?;
            let range = site::locate(
                &contents,
                ("prompt", prompt),
                ("groundtruth", reference),
                Some(line),
            )?;
            Site {
                contents,
                range,
                origin: Origin::Repository(repository),
            }
        }
        None => {
            let after = record.optional_text("right_context")?.unwrap_or_default();
            Site::made(prompt, reference, after)
        }
    };
    let path = match site.origin {
        Origin::Made => format!("{}/{file}", file_name(id)),
        Origin::Repository(_) => file.to_owned(),
    };
    Ok(Task {
        id: id.to_owned(),
        project: project_name(name),
        language,
        path,
        // Its holes begin where the name of something in another file is due.
        kind: Kind::Api,
        contents: site.contents,
        range: site.range,
        origin: site.origin,
        tests: None,
        decided_by: Vec::new(),
    })
}
