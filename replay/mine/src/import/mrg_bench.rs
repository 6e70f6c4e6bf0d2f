//! [MRG-Bench](https://github.com/MRG-Bench/MRG-Bench): the rows of `data/*_data_final.xlsx`,
//! Python, Java and Go, as JSON lines.
//!
//! `func` is in the lines `func_start` to `func_end`, from 0, of `file_path`; it begins with
//! `signature`, and `comment` is its documentation, in Python inside. The repository's folder is
//! `project`. The hole is the body, or with `--whole-functions` all of `func`, as in the
//! benchmark's own predictions. `test_funcs` are the names of the tests that decide; the packages
//! they need are not given, so nothing is judged until the manifest lists them.

use std::path::Path;

use fillrate_language::task::HoleKind;
use fillrate_language::{LanguageSupport, name_for_path};

use super::error::RecordFault;
use super::located_hole::{self, LocatedHole};
use super::record::BenchmarkRecord;
use super::task::{BenchmarkFormat, ImportOptions, ImportedTask};

pub(super) const FORMAT: BenchmarkFormat = BenchmarkFormat {
    name: "mrg-bench",
    link: "https://github.com/MRG-Bench/MRG-Bench",
    marks: &["task-id", "func", "func_start", "signature"],
    options: &["--repositories", "--whole-functions"],
    read,
};

fn read(
    record: &BenchmarkRecord<'_>,
    options: &ImportOptions,
) -> Result<ImportedTask, RecordFault> {
    let id = record.text("task-id")?;
    let name = record.text("project")?;
    let file = record.path("file_path")?;
    let function = record.text("func")?.trim_end();
    let language = name_for_path(Path::new(file)).ok_or_else(|| {
        RecordFault::new(
            "file_path",
            format!("is `{file}`, which is no Python, Java or Go"),
        )
    })?;
    let head = if options.whole_functions {
        0
    } else {
        head(record, function, language)?
    };
    let (before, body) = function.split_at(head);
    let tests = record.optional_text("test_funcs")?.unwrap_or_default();
    let text = match located_hole::repository(options, "project", name)? {
        Some(repository) => {
            let contents = located_hole::read(&repository, "file_path", file)?;
            let first = record.number("func_start")?;
            let last = record.number("func_end")?;
            let text = located_hole::lines(&contents, first, last.max(first));
            let start = text.and_then(|range| {
                let text = &contents[range.clone()];
                // The lines begin with the indentation of a method, and `func` does not.
                let indent = text.len() - text.trim_start().len();
                text[indent..]
                    .trim_end()
                    .eq(function)
                    .then_some(range.start + indent)
            });
            let start = start.ok_or_else(|| {
                RecordFault::new(
                    "func",
                    format!(
                        "is not in the lines {first} to {last} (from 0) of the \
                         repository's {file}: it is another version of it"
                    ),
                )
            })?;
            let range = start + head..start + function.len();
            LocatedHole::in_repository(repository, contents, range)
        }
        None => LocatedHole::from_parts(before, body, "\n"),
    };
    let task = text.into_task_of_file(
        id.to_owned(),
        name,
        HoleKind::Body,
        language,
        &record.file_name(id),
        file,
    );
    Ok(ImportedTask {
        decided_by: tests.split_whitespace().map(str::to_owned).collect(),
        ..task
    })
}

/// Returns the offset of a function's body: of the first token after its signature and after
/// documentation within the function.
fn head(
    record: &BenchmarkRecord<'_>,
    function: &str,
    language: &str,
) -> Result<usize, RecordFault> {
    let signature = record.text("signature")?;
    // Signatures lack line ends and the white space around them.
    let mut wanted = signature.chars().filter(|c| !c.is_whitespace()).peekable();
    let mut end = 0;
    for (place, c) in function.char_indices() {
        if wanted.peek().is_none() {
            break;
        }
        if c.is_whitespace() {
            continue;
        }
        if wanted.next() != Some(c) {
            return Err(RecordFault::new("signature", "is not how `func` begins"));
        }
        end = place + c.len_utf8();
    }
    let token = |from: usize| {
        let rest = &function[from..];
        from + (rest.len() - rest.trim_start().len())
    };
    let mut start = token(end);
    let has_docstrings =
        LanguageSupport::by_name(language).is_some_and(|language| language.has_docstrings);
    if has_docstrings
        && let Some(comment) = record.optional_text("comment")?
        && let Some(rest) = function[start..].strip_prefix(comment.trim())
    {
        start = token(function.len() - rest.len());
    }
    if start >= function.len() {
        return Err(RecordFault::new(
            "func",
            "has no body after its `signature`",
        ));
    }
    Ok(start)
}
