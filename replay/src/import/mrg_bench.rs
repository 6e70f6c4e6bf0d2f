//! [MRG-Bench](https://github.com/MRG-Bench/MRG-Bench): the rows of `data/*_data_final.xlsx`,
//! Python, Java and Go, as JSON lines.
//!
//! `func` stands in the lines `func_start` to `func_end`, from 0, of `file_path`; it begins with
//! `signature`, and `comment` is its documentation, in Python inside. The repository's folder is
//! `project`. The hole is the body, or with `--whole-functions` all of `func`, which is what the
//! benchmark's own predictions are. `test_funcs` are the names of the tests that decide; what they
//! need installed is not said, so that nothing is judged until the manifest says how.

use super::record::Record;
use super::site::{self, Site};
use super::{Fault, Format, Options, Origin, Task, file_name, language_of, project_name};
use crate::task::Kind;

pub(super) const FORMAT: Format = Format {
    name: "mrg-bench",
    link: "https://github.com/MRG-Bench/MRG-Bench",
    marks: &["task-id", "func", "func_start", "signature"],
    read,
};

fn read(record: &Record<'_>, options: &Options) -> Result<Task, Fault> {
    let id = record.text("task-id")?;
    let name = record.text("project")?;
    let file = record.path("file_path")?;
    let function = record.text("func")?.trim_end();
    let language = language_of(file).ok_or_else(|| {
        Fault::of(
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
    let site = match site::repository(options, "project", name)? {
        Some(repository) => {
            let contents = site::read(&repository, "file_path", file)?;
            let first = record.number("func_start")?;
            let last = record.number("func_end")?;
            let stands = site::lines(&contents, first, last.max(first));
            let start = stands.and_then(|range| {
                let text = &contents[range.clone()];
                let indent = text.len() - text.trim_start().len();
                text[indent..]
                    .trim_end()
                    .eq(function)
                    .then_some(range.start + indent)
            });
            let start = start.ok_or_else(|| {
                Fault::of(
                    "func",
                    format!(
                        "does not stand in the lines {first} to {last} (from 0) of the \
                         repository's {file}: it is another version of it"
                    ),
                )
            })?;
            Site {
                range: start + head..start + function.len(),
                contents,
                origin: Origin::Repository(repository),
            }
        }
        None => Site::made(before, body, "\n"),
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
        kind: Kind::Body,
        contents: site.contents,
        range: site.range,
        origin: site.origin,
        tests: None,
        decided_by: tests.split_whitespace().map(str::to_owned).collect(),
    })
}

/// Where a function's body begins: at the first token after its signature, and in Python after its
/// documentation.
fn head(record: &Record<'_>, function: &str, language: &str) -> Result<usize, Fault> {
    let signature = record.text("signature")?;
    // Line ends and the white space around them are gone from signatures.
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
            return Err(Fault::of("signature", "is not how `func` begins"));
        }
        end = place + c.len_utf8();
    }
    let token = |from: usize| {
        let rest = &function[from..];
        from + (rest.len() - rest.trim_start().len())
    };
    let mut start = token(end);
    if language == "python"
        && let Some(comment) = record.optional_text("comment")?
        && let Some(rest) = function[start..].strip_prefix(comment.trim())
    {
        start = token(function.len() - rest.len());
    }
    if start >= function.len() {
        return Err(Fault::of("func", "has no body after its `signature`"));
    }
    Ok(start)
}
