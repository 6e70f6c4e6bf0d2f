//! Reads predictions, the completions that some program wrote at holes, from JSON lines.
//!
//! The native format is one line a hole, `{"hole": ID, "completions": [TEXT, …]}`. The formats of
//! benchmarks are read, too, with one line for each prediction or each task:
//!
//! | benchmark | id | text |
//! | --- | --- | --- |
//! | [HumanEval-Infilling](https://github.com/openai/human-eval-infilling), [SAFIM](https://github.com/gonglinyuan/safim) | `task_id` | `completion` |
//! | [CrossCodeEval](https://github.com/amazon-science/cceval) | `task_id` | `pred` or `prediction` |
//! | [RepoEval](https://github.com/microsoft/CodeT/tree/main/RepoCoder) | `metadata.task_id` | `choices`, each with `text` |
//! | [DevEval](https://github.com/seketeam/DevEval) | `namespace` | `completion` |
//! | [MRG-Bench](https://github.com/MRG-Bench/MRG-Bench) | `task-id` | `response`, a list |

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::PlayError;
use crate::task::Hole;

/// The completions of a predictions file, in its order.
#[derive(Debug)]
pub(super) struct HolePredictions {
    /// The file's path.
    pub(super) path: PathBuf,
    /// By the id of the hole or of the benchmark's task.
    by_id: HashMap<String, Vec<String>>,
}

impl HolePredictions {
    /// Reads a file.
    ///
    /// # Errors
    /// The file can't be read, or a line is no prediction: names it.
    pub(super) fn read(path: &Path) -> Result<Self, PlayError> {
        let file = std::fs::File::open(path).map_err(PlayError::file(path))?;
        let mut by_id: HashMap<String, Vec<String>> = HashMap::new();
        for (index, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(PlayError::file(path))?;
            if line.trim().is_empty() {
                continue;
            }
            let refuse = |reason: String| {
                PlayError::Refused(format!("{}, line {}: {reason}", path.display(), index + 1))
            };
            let record: Value =
                serde_json::from_str(&line).map_err(|error| refuse(error.to_string()))?;
            let (id, texts) = prediction(&record).map_err(refuse)?;
            let known = by_id.entry(id).or_default();
            if !known.is_empty() && record.get("hole").is_some() {
                let hole = &record["hole"];
                return Err(refuse(format!(
                    "{} occurs twice",
                    hole.as_str().unwrap_or_default()
                )));
            }
            known.extend(texts);
        }
        Ok(Self {
            path: path.to_owned(),
            by_id,
        })
    }

    /// The completions for a hole.
    ///
    /// # Errors
    /// There are none.
    pub(super) fn for_hole(&self, hole: &Hole) -> Result<&[String], PlayError> {
        self.by_id
            .get(&hole.id)
            .or_else(|| self.by_id.get(hole.task_id.as_ref()?))
            .map(Vec::as_slice)
            .ok_or_else(|| {
                let task = match &hole.task_id {
                    Some(task) => format!(" (task {task})"),
                    None => String::new(),
                };
                PlayError::Refused(format!(
                    "the predictions have no completion for the hole {}{task}",
                    hole.id
                ))
            })
    }
}

/// The id of a line's hole or task, and its completions, at least one.
fn prediction(record: &Value) -> Result<(String, Vec<String>), String> {
    // The native format is strict, so a misspelled member is an error.
    let own = ["hole", "completions"];
    if let Some(fields) = record.as_object().filter(|it| it.contains_key("hole"))
        && let Some(key) = fields.keys().find(|key| !own.contains(&key.as_str()))
    {
        return Err(format!(
            "`{key}` does not go with `hole`; write `completions`, a list"
        ));
    }
    let ids = ["hole", "task_id", "task-id", "namespace"];
    let id = ids
        .iter()
        .filter_map(|key| record.get(key))
        .chain(record.pointer("/metadata/task_id"))
        .find_map(|id| match id {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        })
        .ok_or("it names no `hole` and no `task_id`")?;
    let one = ["completion", "prediction", "pred", "generation"]
        .iter()
        .find_map(|key| Some((*key, record.get(key)?)));
    let several = ["completions", "response", "choices"]
        .iter()
        .find_map(|key| Some((*key, record.get(key)?)));
    let text = |key: &str, value: &Value| {
        let text = if key == "choices" {
            value.get("text")
        } else {
            Some(value)
        };
        text.and_then(Value::as_str)
            .map(str::to_owned)
            .ok_or_else(|| format!("`{key}` is not text"))
    };
    let texts = match (one, several) {
        (Some((key, value)), _) => vec![text(key, value)?],
        (None, Some((key, values))) => {
            let values = values
                .as_array()
                .ok_or_else(|| format!("`{key}` must be a list"))?;
            if values.is_empty() {
                return Err(format!("`{key}` is empty"));
            }
            values
                .iter()
                .map(|value| text(key, value))
                .collect::<Result<_, _>>()?
        }
        (None, None) => return Err("it has no `completion` and no `completions`".to_owned()),
    };
    Ok((id, texts))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prediction_reads_formats_of_benchmarks() {
        let read = |record: Value| match prediction(&record) {
            Ok((id, texts)) => format!("{id}: {texts:?}"),
            Err(reason) => reason,
        };
        let shown: Vec<String> = [
            json!({"hole": "a", "completions": ["x", "y"]}),
            json!({"task_id": "t/0", "completion": "x"}),
            json!({"task_id": 498, "prediction": "x"}),
            json!({"metadata": {"task_id": "r/1"}, "choices": [{"text": "x"}, {"text": "y"}]}),
            json!({"namespace": "a.b", "completion": "x"}),
            json!({"task-id": "p-f", "response": ["x"]}),
            json!({"completion": "x"}),
            json!({"hole": "a", "completion": "x"}),
            json!({"task_id": "t/0"}),
            json!({"task_id": "t/0", "completions": []}),
            json!({"task_id": "t/0", "completion": 1}),
        ]
        .into_iter()
        .map(read)
        .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        a: ["x", "y"]
        t/0: ["x"]
        498: ["x"]
        r/1: ["x", "y"]
        a.b: ["x"]
        p-f: ["x"]
        it names no `hole` and no `task_id`
        `completion` does not go with `hole`; write `completions`, a list
        it has no `completion` and no `completions`
        `completions` is empty
        `completion` is not text
        "#);
    }
}
