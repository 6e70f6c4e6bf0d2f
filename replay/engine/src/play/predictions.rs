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
//! | [DevBench](https://github.com/microsoft/devbench) | `language`, `testsource`, `id` | each `MODEL_completion_NUMBER`, or `MODEL` |
//! | [MRG-Bench](https://github.com/MRG-Bench/MRG-Bench) | `task-id` | `response`, a list |
//!
//! MRG-Bench's files of results are read as they are published: one object, by task, each with
//! `response`. As its script does, the longest block of code of an answer is taken; an answer
//! without a block is a completion as it is, which fails as it does there.

use std::collections::HashMap;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use fillrate_language::task::{Hole, json_fault, open_lines};
use fillrate_mine::import::devbench_task_id;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::PlayError;

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
    /// The file can't be read, or a line is not a prediction. The error names the line, and the
    /// column if it is not JSON.
    pub(super) fn read(path: &Path) -> Result<Self, PlayError> {
        let mut bytes = Vec::new();
        open_lines(path)
            .and_then(|mut lines| lines.read_to_end(&mut bytes))
            .map_err(PlayError::file(path))?;
        let mut by_id: HashMap<String, Vec<String>> = HashMap::new();
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let refuse = |reason: String| {
                PlayError::Refused(format!("{}, line {}: {reason}", path.display(), index + 1))
            };
            let record = parse_line(line).map_err(|(column, reason)| {
                let place = format!("{}, line {}", path.display(), index + 1);
                PlayError::Refused(format!("{place}, column {column}: {reason}"))
            })?;
            if let Some(results) = mrg_results(&record) {
                for (id, texts) in results {
                    // A further file of results, appended, has further samples of its tasks.
                    by_id.entry(id).or_default().extend(texts);
                }
                continue;
            }
            let (id, texts) = prediction(&record).map_err(refuse)?;
            // Lines of the same task are its samples, as benchmarks write them.
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
        prediction_ids(&hole.id, hole.task_id.as_deref())
            .find_map(|id| self.by_id.get(id))
            .map(Vec::as_slice)
            .ok_or_else(|| {
                let task = match &hole.task_id {
                    Some(task) => format!(" (task {task})"),
                    None => String::new(),
                };
                let mut ids: Vec<&str> = self.by_id.keys().map(String::as_str).collect();
                ids.sort_unstable();
                let count = ids.len();
                ids.truncate(3);
                PlayError::Refused(format!(
                    "the predictions have no completion for the hole {}{task}; they have {count}, \
                     such as for {}; name the tasks that they were made for by --tasks",
                    hole.id,
                    ids.join(", ")
                ))
            })
    }
}

/// The ids that a hole's predictions may be under, in the order in which they are tried: its own, its
/// benchmark's, and the one that its benchmark has several times.
pub(super) fn prediction_ids<'a>(
    hole: &'a str,
    task: Option<&'a str>,
) -> impl Iterator<Item = &'a str> {
    // A benchmark that has an id twice has the predictions once.
    let shared = task
        .and_then(|task| task.rsplit_once('#'))
        .filter(|(_, count)| count.parse::<usize>().is_ok());
    // The hole's own id is tried first, since a benchmark's id may be that of several holes.
    [Some(hole), task, shared.map(|(task, _)| task)]
        .into_iter()
        .flatten()
}

/// Parses a line of JSON; or the column of the first character that is wrong, from 1, and why.
fn parse_line(line: &[u8]) -> Result<Value, (usize, String)> {
    let text = std::str::from_utf8(line).map_err(|error| {
        let valid = String::from_utf8_lossy(&line[..error.valid_up_to()]);
        let byte = line[error.valid_up_to()];
        let reason = format!("the byte {byte:#04x} is not UTF-8; save the file as UTF-8");
        (valid.chars().count() + 1, reason)
    })?;
    let parsed = serde_json::from_str(text);
    parsed.map(|UniqueKeys(value)| value).map_err(|error| {
        let before = text.get(..error.column()).unwrap_or(text);
        let message = error.to_string();
        // Which line it is only the caller knows.
        let reason = message.split(" at line ").next().unwrap_or_default();
        (before.chars().count().max(1), json_fault(text, reason))
    })
}

/// A JSON value in which no object has a key twice: readers differ in which of the two they take.
struct UniqueKeys(Value);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor).map(Self)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueKeys(value)) = parts.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` occurs twice")));
            }
            let UniqueKeys(value) = entries.next_value()?;
            object.insert(key, value);
        }
        Ok(object.into())
    }
}

/// The completions of a file of MRG-Bench's results, by task.
fn mrg_results(file: &Value) -> Option<Vec<(String, Vec<String>)>> {
    let tasks = file.as_object().filter(|tasks| !tasks.is_empty())?;
    // One entry of another form makes the file one of another format.
    let results = tasks.iter().map(|(id, result)| {
        let answers = result.get("response")?.as_array()?;
        let texts: Option<Vec<String>> = answers
            .iter()
            .map(|answer| answer.as_str().map(longest_block))
            .collect();
        Some((id.clone(), texts.filter(|texts| !texts.is_empty())?))
    });
    results.collect()
}

/// The longest block of code of an answer, the first of several; the answer itself without one.
fn longest_block(answer: &str) -> String {
    let mut longest: Option<&str> = None;
    let mut rest = answer;
    while let Some((_, after)) = rest.split_once("```") {
        let name = after.len()
            - after
                .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
                .len();
        // As the benchmark's script, it takes a block only if its first line is a word or empty.
        let block = after[name..].strip_prefix('\n');
        let Some((block, next)) = block.and_then(|block| block.split_once("```")) else {
            rest = after;
            continue;
        };
        if longest.is_none_or(|longest| longest.chars().count() < block.chars().count()) {
            longest = Some(block);
        }
        rest = next;
    }
    longest.unwrap_or(answer).to_owned()
}

/// The task and the completions of a line of DevBench: each `MODEL_completion_NUMBER`, or the one
/// text under the model's name, as its script takes it.
fn devbench_prediction(record: &Value) -> Option<(String, Vec<String>)> {
    const TASK: [&str; 8] = [
        "id",
        "testsource",
        "language",
        "prefix",
        "suffix",
        "golden_completion",
        "LLM_justification",
        "assertions",
    ];
    let text = |key: &str| record.get(key)?.as_str();
    let id = devbench_task_id(text("language")?, text("testsource")?, text("id")?);
    let of_model = record.as_object()?.iter();
    let of_model =
        of_model.filter(|(key, value)| !TASK.contains(&key.as_str()) && value.is_string());
    let mut numbered: Vec<(usize, String)> = of_model
        .clone()
        .filter_map(|(key, value)| {
            let (_, number) = key.rsplit_once("_completion_")?;
            Some((number.parse().ok()?, value.as_str()?.to_owned()))
        })
        .collect();
    numbered.sort_by_key(|(number, _)| *number);
    let mut texts: Vec<String> = numbered.into_iter().map(|(_, text)| text).collect();
    if texts.is_empty() {
        let one = of_model.filter_map(|(_, value)| value.as_str());
        texts.extend(one.map(str::to_owned));
    }
    (!texts.is_empty()).then_some((id, texts))
}

/// The id of a line's hole or task, and its completions, at least one.
fn prediction(record: &Value) -> Result<(String, Vec<String>), String> {
    if let Some(found) = devbench_prediction(record) {
        return Ok(found);
    }
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

/// A prediction as DevEval's script puts it in place of a function's body: the white space that all
/// its lines begin with is replaced by this many spaces, and an empty line precedes it.
pub(super) fn deveval_body(text: &str, spaces: usize) -> String {
    let margin = |line: &'_ str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let blank = |line: &str| line.trim_matches([' ', '\t', '\n']).is_empty();
    let common = text
        .split('\n')
        .filter(|line| !blank(line))
        .map(|line| &line[..margin(line)])
        // Python's `dedent` removes the blanks that all lines have in common.
        .reduce(|one, other| {
            let equal = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
            &one[..equal.count()]
        })
        .unwrap_or_default()
        .len();
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| match blank(line) {
            true => String::new(),
            // Python's `indent` leaves lines of any white space alone.
            false if line.trim().is_empty() => line[common..].to_owned(),
            false => format!("{}{}", " ".repeat(spaces), &line[common..]),
        })
        .collect();
    format!("\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn faults_of_a_file_have_a_line_and_a_column() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let read = |bytes: &[u8]| {
            let path = folder.path().join("p.jsonl");
            std::fs::write(&path, bytes).expect("the file is written");
            match HolePredictions::read(&path) {
                Ok(read) => format!("{:?}", read.by_id),
                Err(error) => error.to_string().replace(&path.display().to_string(), "p"),
            }
        };
        let marked = "\u{feff}{\"hole\": \"ä\", \"completions\": [\"x\"]}\r\n";
        assert_eq!(read(marked.as_bytes()), "{\"ä\": [\"x\"]}");
        let faults: [(&[u8], &str); 6] = [
            (
                b"\n{\"hole\": \"\xc3\xa4\xff\", \"completions\": [\"x\"]}",
                "p, line 2, column 12: the byte 0xff is not UTF-8; save the file as UTF-8",
            ),
            // Half of a surrogate pair.
            (
                b"{\"hole\": \"a\", \"completions\": [\"\\ud83d\"]}",
                "p, line 1, column 3",
            ),
            (
                b"{\"hole\": \"a\", \"completions\": [\"\\udc00\"]}",
                "p, line 1, column 3",
            ),
            (
                b"{\"hole\": \"a\", \"hole\": \"b\", \"completions\": [\"x\"]}",
                "p, line 1, column 20: the key `hole` occurs twice",
            ),
            (
                b"{\"task_id\": 1, \"choices\": [{\"text\": \"x\", \"text\": \"y\"}]}",
                "p, line 1, column 47: the key `text` occurs twice",
            ),
            (
                b"{\"hole\": ",
                "p, line 1, column 9: EOF while parsing a value",
            ),
        ];
        for (bytes, message) in faults {
            let read = read(bytes);
            assert!(read.starts_with(message), "{read}");
        }
    }

    #[test]
    fn deveval_bodies_are_those_of_its_script() {
        // By textwrap.dedent and textwrap.indent of Python, as the script calls them.
        let cases = [
            (
                "x = 1\nif x:\n    y()\n",
                "\n    x = 1\n    if x:\n        y()\n",
            ),
            (
                "        return 1\n  \n        # end",
                "\n    return 1\n\n    # end",
            ),
            ("  a\n\t b\n", "\n      a\n    \t b\n"),
            ("    a\n  b\n\n", "\n      a\n    b\n\n"),
            ("\n\n", "\n\n\n"),
            ("", "\n"),
        ];
        for (given, expected) in cases {
            assert_eq!(deveval_body(given, 4), expected, "{given:?}");
        }
    }

    #[test]
    fn results_of_mrg_bench_are_read_as_published() {
        let two = "One:\n```go\nfunc a()\n```\nor ```\nfunc ab() {}\n``` or\n```\nfunc x() {}\n```";
        let results = json!({
            "p-a": {"final_query": "Write it", "response": [two, "none", "``` a ```"]},
            "p-b": {"response": ["```python\nx\n"]},
        });
        let read = mrg_results(&results).expect("they are results");
        let expected = [
            ("p-a", vec!["func ab() {}\n", "none", "``` a ```"]),
            ("p-b", vec!["```python\nx\n"]),
        ];
        let expected = expected.map(|(id, texts)| {
            let texts: Vec<String> = texts.into_iter().map(str::to_owned).collect();
            (id.to_owned(), texts)
        });
        assert_eq!(read, expected);
        assert!(mrg_results(&json!({"hole": "a", "completions": ["x"]})).is_none());
        assert!(mrg_results(&json!({"task-id": "p-a", "response": ["x"]})).is_none());
    }

    #[test]
    fn results_of_a_task_that_occurs_again_are_further_samples() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("results.json");
        let line = |text: &str| json!({"p-a": {"response": [text]}}).to_string();
        std::fs::write(&path, [line("x"), line("y")].join("\n")).expect("the file is written");
        let read = HolePredictions::read(&path).expect("they are results");
        assert_eq!(read.by_id["p-a"], ["x", "y"]);
    }

    #[test]
    fn tasks_of_one_id_share_predictions() {
        let hole = |task: &str| {
            let hole = Hole::new(
                "p",
                "python",
                "a.py",
                fillrate_language::task::HoleKind::Line,
                0..1,
                "x\n",
            );
            hole.of_task(task, Vec::new())
        };
        let predictions = HolePredictions {
            path: PathBuf::new(),
            by_id: HashMap::from([("p-f".to_owned(), vec!["x".to_owned()])]),
        };
        for (task, found) in [
            ("p-f", true),
            ("p-f#2", true),
            ("p-f#x", false),
            ("q", false),
        ] {
            assert_eq!(predictions.for_hole(&hole(task)).is_ok(), found, "{task}");
        }
    }

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
            json!({"language": "python", "testsource": "devbench-low-context", "id": "3",
                   "golden_completion": "z", "m_completion_10": "y", "m_completion_2": "x"}),
            json!({"language": "python", "testsource": "devbench-low-context", "id": "4",
                   "prefix": "z", "m": "Error: API request failed"}),
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
        python/low-context/3: ["x", "y"]
        python/low-context/4: ["Error: API request failed"]
        it names no `hole` and no `task_id`
        `completion` does not go with `hole`; write `completions`, a list
        it has no `completion` and no `completions`
        `completions` is empty
        `completion` is not text
        "#);
    }
}
