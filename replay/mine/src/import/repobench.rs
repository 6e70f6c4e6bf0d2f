//! [RepoBench](https://github.com/Leolty/repobench) v1.1, Python and Java: the rows of
//! [`tianyang/repobench_python_v1.1`](https://huggingface.co/datasets/tianyang/repobench_python_v1.1)
//! and its like as JSON lines.
//!
//! `cropped_code` is the text before the line `next_line` in `file_path` of `repo_name`, from the
//! beginning or cropped there; `import_statement` are the file's imports. Rows have no id, so a
//! task is named after its file and the hash of its text. A repository's folder is `OWNER/NAME`, as
//! `repo_name` has it.

use std::ops::Range;
use std::path::Path;

use fillrate_language::name_for_path;
use fillrate_language::task::{HoleKind, sha256_hex};

use super::error::RecordFault;
use super::located_hole::{self, LocatedHole};
use super::record::{BenchmarkRecord, plain_file_name};
use super::task::{BenchmarkFormat, ImportOptions, ImportedTask};

pub(super) const FORMAT: BenchmarkFormat = BenchmarkFormat {
    name: "repobench",
    link: "https://github.com/Leolty/repobench",
    marks: &["repo_name", "import_statement", "next_line"],
    options: &["--repositories"],
    read,
};

fn read(
    record: &BenchmarkRecord<'_>,
    options: &ImportOptions,
) -> Result<ImportedTask, RecordFault> {
    let name = record.text("repo_name")?;
    let file = record.path("file_path")?;
    let imports = record.text("import_statement")?;
    let code = record.text("cropped_code")?;
    let next_line = record.text("next_line")?.trim_end();
    if next_line.trim().is_empty() {
        return Err(RecordFault::new("next_line", "is blank"));
    }
    let language = name_for_path(Path::new(file)).ok_or_else(|| {
        RecordFault::new(
            "file_path",
            format!("is `{file}`, which is no Python and no Java"),
        )
    })?;
    let parts = [name, file, code, next_line].join("\0");
    let hash = &sha256_hex(parts.as_bytes())[..8];
    let id = format!("{name}/{file}:{hash}");
    let text = match located_hole::repository(options, "repo_name", name)? {
        Some(repository) => {
            let contents = located_hole::read(&repository, "file_path", file)?;
            let range = after(&contents, code, next_line)?;
            LocatedHole::in_repository(repository, contents, range)
        }
        None => {
            // The benchmark's own prompt, in `construct_prompt` of its `data/utils.py`.
            let before = format!("{imports}\n{}\n", code.trim_end());
            let indent = next_line.len() - next_line.trim_start().len();
            let (indent, rest) = next_line.split_at(indent);
            LocatedHole::from_parts(&[&before, indent].concat(), rest, "\n")
        }
    };
    let folder = format!("{}_{hash}", plain_file_name(name));
    Ok(text.into_task_of_file(id, name, HoleKind::Line, language, &folder, file))
}

/// Returns the range of the only line that is `next_line` and follows `code`, apart from blank
/// lines; from its first token to its end.
fn after(contents: &str, code: &str, next_line: &str) -> Result<Range<usize>, RecordFault> {
    let code = code.trim_end();
    let wanted = next_line.trim();
    let mut places = contents.match_indices(code).filter_map(|(start, _)| {
        let rest = &contents[start + code.len()..];
        let begin = start + code.len() + (rest.len() - rest.trim_start().len());
        // The rest of the code's last line is no next line.
        let own_line = rest.trim_start().len() < rest.len()
            && contents[start + code.len()..begin].contains('\n');
        let line = contents[begin..].lines().next()?.trim_end();
        (own_line && line == wanted).then(|| begin..begin + line.len())
    });
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => Err(RecordFault::new(
            "cropped_code",
            "and `next_line` are in several places of the repository's file",
        )),
        (None, _) => Err(RecordFault::new(
            "cropped_code",
            "and `next_line` are not in the repository's file: it is another version of it",
        )),
    }
}
