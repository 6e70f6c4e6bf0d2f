//! [RepoEval](https://github.com/microsoft/CodeT/tree/main/RepoCoder), RepoCoder's benchmark:
//! `line_level_completion_*`, `api_level_completion_*` and `function_level_completion_*`.
//!
//! `prompt` and `metadata.ground_truth` follow each other in the file that `metadata.fpath_tuple`
//! names, the repository's folder first, from the line `metadata.context_start_lineno` on. Only the
//! file's name shows which of the three sets it is.

use std::path::Path;

use fillrate_language::name_for_path;
use fillrate_language::task::HoleKind;

use super::error::RecordFault;
use super::located_hole::{self, LocatedHole};
use super::record::{self, BenchmarkRecord};
use super::task::{BenchmarkFormat, ImportOptions, ImportedTask};

pub(super) const FORMAT: BenchmarkFormat = BenchmarkFormat {
    name: "repoeval",
    link: "https://github.com/microsoft/CodeT/tree/main/RepoCoder",
    marks: &["prompt", "metadata.fpath_tuple", "metadata.ground_truth"],
    options: &["--repositories"],
    read,
};

fn read(
    record: &BenchmarkRecord<'_>,
    options: &ImportOptions,
) -> Result<ImportedTask, RecordFault> {
    let prompt = record.text("prompt")?;
    let id = record.text("metadata.task_id")?;
    let reference = record.text("metadata.ground_truth")?;
    let parts = record.texts("metadata.fpath_tuple")?;
    let Some((name, rest)) = parts.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Err(RecordFault::new(
            "metadata.fpath_tuple",
            "must be a repository and the names down to the file",
        ));
    };
    let file = rest.join("/");
    record::inside("metadata.fpath_tuple", &file)?;
    let language = name_for_path(Path::new(&file)).ok_or_else(|| {
        RecordFault::new("metadata.fpath_tuple", format!("names `{file}`, no Python"))
    })?;
    let source = record
        .file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let kind = if source.starts_with("function") {
        HoleKind::Body
    } else if source.starts_with("api") {
        HoleKind::Api
    } else {
        HoleKind::Line
    };
    let text = match located_hole::repository(options, "metadata.fpath_tuple", name)? {
        Some(repository) => {
            let contents = located_hole::read(&repository, "metadata.fpath_tuple", &file)?;
            let line = record.number("metadata.context_start_lineno").ok();
            let range = located_hole::locate(
                &contents,
                ("prompt", prompt),
                ("metadata.ground_truth", reference),
                line,
            )?;
            LocatedHole::in_repository(repository, contents, range)
        }
        None => LocatedHole::from_parts(prompt, reference, "\n"),
    };
    Ok(text.into_task_of_file(
        id.to_owned(),
        name,
        kind,
        language,
        &record.file_name(id),
        &file,
    ))
}
