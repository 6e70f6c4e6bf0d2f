//! Location of a record's text: in a repository's file, or in one made of the record.

use std::ops::Range;
use std::path::PathBuf;

use fillrate_language::task::HoleKind;
use fillrate_syntax::text::LineIndex;

use super::error::RecordFault;
use super::task::{FileOrigin, ImportOptions, ImportedTask, project_name};

/// A file and the hole in it.
pub(super) struct LocatedHole {
    pub(super) contents: String,
    pub(super) range: Range<usize>,
    pub(super) origin: FileOrigin,
}

impl LocatedHole {
    /// Makes a file of the text before the hole, in it and after it.
    pub(super) fn from_parts(before: &str, reference: &str, after: &str) -> Self {
        Self {
            contents: [before, reference, after].concat(),
            range: before.len()..before.len() + reference.len(),
            origin: FileOrigin::Record,
        }
    }

    /// A hole in a file of a repository.
    pub(super) fn in_repository(
        repository: PathBuf,
        contents: String,
        range: Range<usize>,
    ) -> Self {
        Self {
            contents,
            range,
            origin: FileOrigin::Repository(repository),
        }
    }

    /// Makes a task in the project of a repository. A file made of the record is in `folder`, so
    /// that records with equal paths do not collide.
    pub(super) fn into_task_of_file(
        self,
        id: String,
        project: &str,
        kind: HoleKind,
        language: &'static str,
        folder: &str,
        file: &str,
    ) -> ImportedTask {
        let path = match self.origin {
            FileOrigin::Record => format!("{folder}/{file}"),
            FileOrigin::Repository(_) => file.to_owned(),
        };
        self.into_task(id, project_name(project), kind, language, path)
    }

    /// Makes a task that no test decides over.
    pub(super) fn into_task(
        self,
        id: String,
        project: String,
        kind: HoleKind,
        language: &'static str,
        path: String,
    ) -> ImportedTask {
        ImportedTask {
            id,
            project,
            language,
            path,
            kind,
            text: self,
            tests: None,
            extent: None,
            decided_by: Vec::new(),
            repoexec_dependencies: None,
            indent: None,
        }
    }
}

/// A repository of the folder that `--repositories` names; nothing without that.
///
/// # Errors
/// It has no such folder.
pub(super) fn repository(
    options: &ImportOptions,
    field: &str,
    name: &str,
) -> Result<Option<PathBuf>, RecordFault> {
    let Some(folder) = &options.repositories else {
        return Ok(None);
    };
    super::record::inside(field, name)?;
    let repository = folder.join(name);
    if repository.is_dir() {
        Ok(Some(repository))
    } else {
        Err(RecordFault::new(
            field,
            format!(
                "names `{name}`, and {} has no such folder",
                folder.display()
            ),
        ))
    }
}

/// A file's text.
///
/// # Errors
/// It can't be read as text.
pub(super) fn read(
    repository: &std::path::Path,
    field: &str,
    path: &str,
) -> Result<String, RecordFault> {
    let file = repository.join(path);
    std::fs::read_to_string(&file).map_err(|error| {
        RecordFault::new(
            field,
            format!("names {}, which can't be read: {error}", file.display()),
        )
    })
}

/// Returns the range of `reference` in a file where `before` and `reference` follow each other: at
/// the beginning of `line` (from 0) if they are there, else at their only occurrence.
///
/// # Errors
/// They occur nowhere, or in several places.
pub(super) fn locate(
    contents: &str,
    before: (&str, &str),
    reference: (&str, &str),
    line: Option<usize>,
) -> Result<Range<usize>, RecordFault> {
    let whole = [before.1, reference.1].concat();
    let found = |start: usize| {
        let start = start + before.1.len();
        start..start + reference.1.len()
    };
    if let Some(start) = line.and_then(|line| line_start(contents, line))
        && contents[start..].starts_with(&whole)
    {
        return Ok(found(start));
    }
    let mut places = contents.match_indices(&whole).map(|(start, _)| start);
    match (places.next(), places.next()) {
        (Some(start), None) => Ok(found(start)),
        (Some(_), Some(_)) => Err(RecordFault::new(
            before.0,
            format!(
                "and `{}` are in several places of the repository's file",
                reference.0
            ),
        )),
        (None, _) => Err(RecordFault::new(
            before.0,
            format!(
                "and `{}` are not in the repository's file: it is another version of it",
                reference.0
            ),
        )),
    }
}

/// The byte at which a line begins, counted from 0.
pub(super) fn line_start(contents: &str, line: usize) -> Option<usize> {
    LineIndex::new(contents).range(line).map(|line| line.start)
}

/// The text of some lines, counted from 0, both ends included, without the last line's end.
pub(super) fn lines(contents: &str, first: usize, last: usize) -> Option<Range<usize>> {
    let index = LineIndex::new(contents);
    // After the last line end, the index has an empty line, which is none of the file's.
    let line = |line| index.range(line).filter(|line| line.start < contents.len());
    Some(line(first)?.start..line(last)?.end)
}
