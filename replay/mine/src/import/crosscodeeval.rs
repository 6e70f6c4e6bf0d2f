//! [CrossCodeEval](https://github.com/amazon-science/cceval): `line_completion*.jsonl` of its
//! Python, Java, TypeScript and C# sets.
//!
//! `prompt` and `groundtruth` are a stretch of `metadata.file` that begins at the line
//! `metadata.context_start_lineno`, from 0; `right_context` follows. `metadata.repository` ends in
//! the commit and names the repository's folder.

use std::path::Path;

use fillrate_language::name_for_path;
use fillrate_language::task::HoleKind;

use super::error::RecordFault;
use super::located_hole::{self, LocatedHole};
use super::record::BenchmarkRecord;
use super::task::{BenchmarkFormat, ImportOptions, ImportedTask};

pub(super) const FORMAT: BenchmarkFormat = BenchmarkFormat {
    name: "crosscodeeval",
    link: "https://github.com/amazon-science/cceval",
    marks: &["groundtruth", "metadata.repository", "metadata.file"],
    options: &["--repositories"],
    read,
};

fn read(
    record: &BenchmarkRecord<'_>,
    options: &ImportOptions,
) -> Result<ImportedTask, RecordFault> {
    let prompt = record.text("prompt")?;
    let reference = record.text("groundtruth")?;
    let id = record.text("metadata.task_id")?;
    let name = record.text("metadata.repository")?;
    let file = record.path("metadata.file")?;
    let language = name_for_path(Path::new(file)).ok_or_else(|| {
        RecordFault::new(
            "metadata.file",
            format!("is `{file}`, which is no Python, Java, TypeScript or C#"),
        )
    })?;
    let text = match located_hole::repository(options, "metadata.repository", name)? {
        Some(repository) => {
            let contents = located_hole::read(&repository, "metadata.file", file)?;
            let line = record.number("metadata.context_start_lineno")?;
            let range = located_hole::locate(
                &contents,
                ("prompt", prompt),
                ("groundtruth", reference),
                Some(line),
            )?;
            LocatedHole::in_repository(repository, contents, range)
        }
        None => {
            let after = record.optional_text("right_context")?.unwrap_or_default();
            LocatedHole::from_parts(prompt, reference, after)
        }
    };
    // Its holes begin where the name of something in another file is due.
    let kind = HoleKind::Api;
    Ok(text.into_task_of_file(
        id.to_owned(),
        name,
        kind,
        language,
        &record.file_name(id),
        file,
    ))
}
