//! Public benchmarks, converted to holes and projects.
//!
//! An import reads a benchmark's records as JSON lines, plain or gzip, in sequence, and
//! writes a tasks file and next to it a folder, `NAME.corpus`, with the manifest `corpus.toml` and
//! the sources of projects that it made itself. The result for a record depends on the inputs:
//!
//! - with the repository available, it is a hole in the repository's file, which is checked to
//!   contain the record's text;
//! - without, it is a hole in a file made of the record's own text, which is all that a model is
//!   shown;
//! - with tests, these are added to the project, and they alone decide over the hole;
//! - without, the hole is played and its text measured, and nothing is judged;
//! - in a language that this program has no grammar for, the hole is written down, but its project
//!   is in no manifest: it can't be played.
//!
//! One file a format; [`FORMATS`] lists them.

mod crosscodeeval;
mod devbench;
mod deveval;
mod error;
mod humaneval_infilling;
mod located_hole;
mod mrg_bench;
mod record;
mod repobench;
mod repoeval;
mod repoexec;
mod safim;
mod task;
mod writer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use devbench::task_id as devbench_task_id;
pub use error::ImportError;
use error::RecordFault;
use fillrate_language::task::json_fault;
use record::{BenchmarkRecord, FileNames, RecordLines};
use serde_json::Value;
pub use task::{BenchmarkFormat, ImportOptions};
pub use writer::ImportSummary;
use writer::{AddError, ImportWriter};

/// Every format, in the order of tables.
pub static FORMATS: [BenchmarkFormat; 9] = [
    crosscodeeval::FORMAT,
    repoexec::FORMAT,
    humaneval_infilling::FORMAT,
    repobench::FORMAT,
    repoeval::FORMAT,
    deveval::FORMAT,
    safim::FORMAT,
    mrg_bench::FORMAT,
    devbench::FORMAT,
];

/// The format of this name.
pub fn format_by_name(name: &str) -> Option<&'static BenchmarkFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Reads files of a format and writes the tasks file `to` and its corpus folder, both whole or not
/// at all. The output of an earlier import of the same name is replaced. `progress` receives the
/// number of bytes read and the total.
///
/// A record that can't be used is left out and reported in the summary. A task whose id another
/// record has already gets a suffix, `#2` and so on.
///
/// # Errors
/// An option is not for the format; no record can be used; with [`strict`](ImportOptions::strict) the first that can't, or whose id
/// occurred before; a file that can't be read or written.
pub fn import(
    format: &BenchmarkFormat,
    files: &[PathBuf],
    options: &ImportOptions,
    to: &Path,
    progress: &dyn Fn(u64, u64),
) -> Result<ImportSummary, ImportError> {
    format.check_options(options)?;
    let mut all = 0;
    for path in files {
        let metadata = std::fs::metadata(path).map_err(ImportError::file(path))?;
        all += metadata.len();
    }
    let mut writer = ImportWriter::begin(format.name, to)?;
    let names = FileNames::default();
    let mut seen: HashMap<String, (usize, usize)> = HashMap::new();
    let mut unusable: Vec<ImportError> = Vec::new();
    let mut renamed = Vec::new();
    let mut before = 0;
    'files: for (number, path) in files.iter().enumerate() {
        let mut lines = RecordLines::open(path)?;
        while let Some((line, text)) = lines.next_line()? {
            if options.limit.is_some_and(|limit| writer.holes() >= limit) {
                break 'files;
            }
            let refuse = |reason: String| ImportError::Record {
                path: path.clone(),
                line,
                reason,
            };
            let reject = |reason: String, list: &mut Vec<ImportError>| {
                let error = refuse(reason);
                if options.strict {
                    return Err(error);
                }
                list.push(error);
                Ok(())
            };
            progress(before + lines.bytes(), all);
            let parsed: Result<Value, String> = serde_json::from_str(&text)
                .map_err(|error| json_fault(&text, &error.to_string()))
                .map_err(|reason| format!("this is not a JSON object: {reason}"));
            let task = parsed.and_then(|value| {
                let record = BenchmarkRecord::new(&value, path, &names)
                    .ok_or("this is not a JSON object")?;
                (format.read)(&record, options).map_err(|fault| describe(&fault, format, &record))
            });
            let mut task = match task {
                Ok(task) => task,
                Err(reason) => {
                    reject(reason, &mut unusable)?;
                    continue;
                }
            };
            if let Some((file, first)) = seen.get(&task.id) {
                let reason = format!(
                    "the task {} is in line {first} of {} already",
                    task.id,
                    files[*file].display()
                );
                let mut free = (2..).map(|count| format!("{}#{count}", task.id));
                // The numbers are endless, so one of the ids is free.
                let name = free.find(|id| !seen.contains_key(id)).unwrap_or_default();
                let warning = match options.strict {
                    true => reason,
                    false => format!("{reason}; this one is called {name}"),
                };
                reject(warning, &mut renamed)?;
                task.id = name;
            }
            let id = task.id.clone();
            match writer.add(task) {
                Ok(()) => {
                    // The id of a record that can't be used remains free.
                    seen.insert(id, (number, line));
                }
                Err(AddError::Record(fault)) => reject(fault.to_string(), &mut unusable)?,
                Err(AddError::Import(error)) => return Err(error),
            }
        }
        before += lines.bytes();
    }
    if seen.is_empty() {
        let records = unusable.len();
        let none = || ImportError::Refused("there are no records to import".to_owned());
        return Err(match unusable.into_iter().next() {
            Some(first) if records > 1 => ImportError::Refused(format!(
                "none of the {records} records can be used; {first}"
            )),
            first => first.unwrap_or_else(none),
        });
    }
    let summary = writer.finish(&options.packages)?;
    progress(all, all);
    Ok(ImportSummary {
        unusable,
        renamed,
        ..summary
    })
}

/// Describes a fault in a sentence, with a hint if the record is one of another format.
fn describe(fault: &RecordFault, format: &BenchmarkFormat, record: &BenchmarkRecord<'_>) -> String {
    let other = FORMATS
        .iter()
        .filter(|other| other.name != format.name)
        .find(|other| other.fits(record));
    match other {
        Some(other) if !format.fits(record) => format!(
            "{fault}; the record has the fields of `{}`, and all files of an import are of one \
             format",
            other.name
        ),
        _ => fault.to_string(),
    }
}

#[cfg(test)]
mod tests;
