//! Reads examples and predictions, line by line.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fillrate_language::task::{Hole, NonBlankLines, TaskError, json_fault};
use serde::Deserialize;
use serde_json::Value;

/// Reason for which files can't be scored.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file can't be read, or a line is invalid.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A task occurs twice in a file.
    #[error("{path}, line {line}: the task `{id}` occurs on line {before} already")]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The line of its second occurrence.
        line: usize,
        /// The line of its first.
        before: usize,
        /// The task's id.
        id: String,
    },
    /// Examples without a prediction.
    #[error("{predictions} has no prediction for {}", list_ids(.ids, "example"))]
    Missing {
        /// The file of predictions.
        predictions: PathBuf,
        /// The examples' ids.
        ids: Vec<String>,
    },
    /// Predictions without an example.
    #[error("{predictions} has predictions that {examples} has no example for: {}", list_ids(.ids, "task"))]
    Unknown {
        /// The file of predictions.
        predictions: PathBuf,
        /// The file of examples.
        examples: PathBuf,
        /// The tasks' ids.
        ids: Vec<String>,
    },
    /// Two predictions for one example.
    #[error(
        "{predictions} has two predictions for one example, as `{example}` and as the benchmark's \
         `{task}`; leave one of them out"
    )]
    Twice {
        /// The file of predictions.
        predictions: PathBuf,
        /// The benchmark's id.
        task: String,
        /// The example's own id.
        example: String,
    },
    /// There are no examples.
    #[error("{path} has no examples")]
    Empty {
        /// The file of examples.
        path: PathBuf,
    },
}

/// The count and the first ten of these ids.
fn list_ids(ids: &[String], what: &str) -> String {
    const MOST: usize = 10;
    let plural = if ids.len() == 1 { "" } else { "s" };
    let shown = ids[..ids.len().min(MOST)].join(", ");
    let more = match ids.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{} {what}{plural}: {shown}{more}", ids.len())
}

/// Example that a prediction is compared with.
#[derive(Debug, PartialEq)]
pub(super) struct Example {
    pub(super) task_id: String,
    /// Id of an imported hole in its benchmark.
    pub(super) benchmark_id: Option<String>,
    pub(super) repository: Option<String>,
    /// The file's path in its repository.
    pub(super) file: Option<String>,
    /// The language's name, where the record itself has one.
    pub(super) language: Option<String>,
    pub(super) text: HoleContext,
    /// The expected text.
    pub(super) reference: String,
}

/// Source of the text before the hole.
#[derive(Debug, PartialEq)]
pub(super) enum HoleContext {
    /// In the record.
    Prompt(String),
    /// In the hole's file.
    InFile(Box<Hole>),
}

/// The fields of CrossCodeEval's record that scores need.
#[derive(Deserialize)]
struct CrossCodeEval {
    prompt: String,
    groundtruth: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    task_id: String,
    repository: Option<String>,
    file: Option<String>,
}

/// Reads one example: a record of CrossCodeEval or a hole.
///
/// # Errors
/// Says what is wrong with which field.
pub(super) fn parse_example(line: &str) -> Result<Example, String> {
    match serde_json::from_str::<CrossCodeEval>(line) {
        Ok(record) => Ok(Example {
            task_id: record.metadata.task_id,
            benchmark_id: None,
            repository: record.metadata.repository,
            file: record.metadata.file,
            language: None,
            text: HoleContext::Prompt(record.prompt),
            reference: record.groundtruth,
        }),
        // A failed parse is repeated on plain JSON, whose members say which field is wrong.
        Err(_) => {
            let value = object(line)?;
            if value.get("schema").is_some() {
                return parse_hole(line);
            }
            Err(fault(
                &value,
                &[
                    ("prompt", true),
                    ("groundtruth", true),
                    ("metadata.task_id", true),
                    ("metadata.repository", false),
                    ("metadata.file", false),
                ],
            ))
        }
    }
}

fn parse_hole(line: &str) -> Result<Example, String> {
    let hole: Hole = serde_json::from_str(line).map_err(|error| without_line(&error))?;
    hole.check_schema()?;
    Ok(Example {
        task_id: hole.id.clone(),
        benchmark_id: hole.task_id.clone(),
        repository: Some(hole.project.clone()),
        file: Some(hole.path.clone()),
        language: Some(hole.language.clone()),
        reference: hole.reference.clone(),
        text: HoleContext::InFile(Box::new(hole)),
    })
}

#[derive(Deserialize)]
struct PredictionRecord {
    task_id: String,
    #[serde(alias = "pred")]
    prediction: String,
}

/// The predictions of one file, by task.
#[derive(Debug)]
pub(super) struct PredictionFile {
    pub(super) path: PathBuf,
    by_task: HashMap<String, Prediction>,
}

#[derive(Debug)]
struct Prediction {
    text: String,
    /// One-based.
    line: usize,
}

impl PredictionFile {
    /// Reads a file of records with `task_id` and `prediction` (or `pred`, as CrossCodeEval's own
    /// programs call it).
    pub(super) fn read(path: &Path) -> Result<Self, InputError> {
        let mut by_task = HashMap::new();
        for line in NonBlankLines::open(path)? {
            let (line, text) = line?;
            let record: PredictionRecord = match serde_json::from_str(&text) {
                Ok(record) => record,
                Err(_) => {
                    let reason = match object(&text) {
                        Ok(value) => {
                            let field = match value.get("pred") {
                                Some(_) => "pred",
                                None => "prediction",
                            };
                            fault(&value, &[("task_id", true), (field, true)])
                        }
                        Err(reason) => reason,
                    };
                    return Err(TaskError::record(path, line, reason).into());
                }
            };
            let prediction = Prediction {
                text: record.prediction,
                line,
            };
            if let Some(before) = by_task.get(&record.task_id) {
                let before: &Prediction = before;
                return Err(InputError::Duplicate {
                    path: path.to_owned(),
                    line,
                    before: before.line,
                    id: record.task_id,
                });
            }
            by_task.insert(record.task_id, prediction);
        }
        Ok(Self {
            path: path.to_owned(),
            by_task,
        })
    }

    /// The prediction for a task.
    pub(super) fn prediction(&self, task_id: &str) -> Option<&str> {
        self.by_task
            .get(task_id)
            .map(|prediction| prediction.text.as_str())
    }

    /// The tasks for which `is_known` does not hold, in the order of the file.
    pub(super) fn unknown(&self, is_known: impl Fn(&str) -> bool) -> Vec<String> {
        let mut unknown: Vec<(usize, &String)> = self
            .by_task
            .iter()
            .filter(|(id, _)| !is_known(id))
            .map(|(id, prediction)| (prediction.line, id))
            .collect();
        // The map has no order; the lines of the file have.
        unknown.sort_unstable();
        unknown.into_iter().map(|(_, id)| id.clone()).collect()
    }
}

/// A line as a JSON object.
fn object(line: &str) -> Result<Value, String> {
    let fault = |error| json_fault(line, &without_line(&error));
    let value: Value = serde_json::from_str(line).map_err(fault)?;
    match value {
        Value::Object(_) => Ok(value),
        _ => Err("this is no JSON object".to_owned()),
    }
}

/// A parser's message without its line number, since it parsed one line only.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => format!("{reason} (column {})", error.column()),
        None => text,
    }
}

/// Describes the first field that is not a string. Each field says whether it is required.
fn fault(record: &Value, fields: &[(&str, bool)]) -> String {
    for (path, required) in fields {
        let pointer = format!("/{}", path.replace('.', "/"));
        match record.pointer(&pointer) {
            Some(Value::String(_)) => {}
            None | Some(Value::Null) if !required => {}
            None => return format!("the field `{path}` is missing"),
            Some(value) => {
                let kind = match value {
                    Value::Null => "null",
                    Value::Bool(_) => "a truth value",
                    Value::Number(_) => "a number",
                    Value::Array(_) => "a list",
                    _ => "an object",
                };
                return format!("the field `{path}` is {kind} and should be a string");
            }
        }
    }
    // Serde reports a duplicate field.
    "a field occurs twice".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_crosscodeeval_are_parsed() {
        let line = r#"{"prompt":"a = ","groundtruth":"1","right_context":"","crossfile_context":{},
            "metadata":{"task_id":"x/1","repository":"r","file":"m.py","line":3}}"#
            .replace('\n', "");
        let read = parse_example(&line).unwrap();
        assert_eq!(
            (read.task_id.as_str(), read.reference.as_str()),
            ("x/1", "1")
        );
        assert_eq!(read.text, HoleContext::Prompt("a = ".to_owned()));
        assert_eq!(read.file.as_deref(), Some("m.py"));
    }

    #[test]
    fn errors_name_the_field() {
        let reason = |line: &str| parse_example(line).unwrap_err();
        let metadata = r#""metadata":{"task_id":"t","repository":"r","file":"f"}"#;
        assert_eq!(
            reason(&format!(r#"{{"prompt":"", {metadata}}}"#)),
            "the field `groundtruth` is missing"
        );
        assert_eq!(
            reason(&format!(r#"{{"prompt":1,"groundtruth":"", {metadata}}}"#)),
            "the field `prompt` is a number and should be a string"
        );
        assert_eq!(
            reason(r#"{"prompt":"","groundtruth":"","metadata":{}}"#),
            "the field `metadata.task_id` is missing"
        );
        assert_eq!(
            reason(r#"{"prompt":"","groundtruth":"","metadata":{"task_id":"t","file":[]}}"#),
            "the field `metadata.file` is a list and should be a string"
        );
        assert_eq!(
            reason(r#"{"prompt":"","prompt":"","groundtruth":"","metadata":{"task_id":"t"}}"#),
            "a field occurs twice"
        );
        assert_eq!(reason("[]"), "this is no JSON object");
        assert_eq!(
            reason(r#"{"prompt""#),
            "EOF while parsing an object (column 9)"
        );
        assert_eq!(
            reason(r#"{"schema":1,"id":"a"}"#),
            "missing field `project` (column 21)"
        );
    }

    #[test]
    fn long_lists_of_ids_are_cut() {
        let ids: Vec<String> = (0..12).map(|i| format!("t{i}")).collect();
        assert_eq!(list_ids(&ids[..1], "example"), "1 example: t0");
        assert_eq!(
            list_ids(&ids, "example"),
            "12 examples: t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 2 more"
        );
    }
}
