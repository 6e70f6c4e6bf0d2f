//! Scores predictions by text, each metric by its published definition.

mod input;

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use fillrate_language::scoring::ScoringLanguage;
use fillrate_language::task::{Hole, NonBlankLines, TaskError, WholeFile};
use fillrate_metrics::{Sample, Scorer, ScoringSyntax, TextMetric};
use fillrate_verdict::corpus::{Corpus, Prepared};
use fillrate_verdict::queue::run_jobs;
use serde_json::{Map, Value, json};

pub use self::input::InputError;
use self::input::{Example, HoleContext, PredictionFile};
use super::PlayError;
use super::events::Listener;
use super::predictions::prediction_ids;
use super::projects::prepare;

/// Parameters of scoring.
#[derive(Clone, Debug)]
pub struct ScorePlan {
    /// The examples: CrossCodeEval's JSON lines, or a tasks file.
    pub examples: PathBuf,
    /// Files of predictions.
    pub predictions: Vec<PathBuf>,
    /// The metrics.
    pub metrics: Vec<&'static TextMetric>,
    /// Cluster of the examples.
    pub cluster: ScoreCluster,
    /// The language of examples whose file name does not imply it.
    pub language: Option<ScoringLanguage>,
    /// The corpus that the holes of a tasks file were mined from.
    pub corpus: Option<PathBuf>,
    /// The file that the values of each example are written to.
    pub output: Option<PathBuf>,
}

/// Cluster of examples.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum ScoreCluster {
    /// All examples of a repository.
    Repository,
    /// All examples of a file.
    File,
}

/// The values of all metrics for one example.
#[derive(Clone, Debug, PartialEq)]
pub struct ExampleScores {
    /// The example's id.
    pub task_id: String,
    /// The cluster of its samples.
    pub cluster: String,
    /// For each prediction file, the values of the metrics in their order.
    pub values: Vec<Vec<f64>>,
}

/// Scores predictions, and returns the scores of all examples in their order.
///
/// # Errors
/// The examples or predictions are invalid or don't belong together, or the corpus can't be
/// prepared.
pub fn run(plan: &ScorePlan, listener: &dyn Listener) -> Result<Vec<ExampleScores>, PlayError> {
    let prepared = match &plan.corpus {
        Some(path) => {
            let corpus = Corpus::from_environment()?;
            let manifest = corpus.load_manifest(path)?;
            prepare(&corpus, &manifest, None, listener)?.0
        }
        None => Vec::new(),
    };
    let predictions = plan.predictions.iter();
    let predictions = predictions.map(|path| PredictionFile::read(path));
    let scoring = Scoring {
        plan,
        prepared,
        predictions: predictions.collect::<Result<_, _>>()?,
    };
    scoring.score_examples()
}

/// The predictions and projects that all examples are scored with.
struct Scoring<'a> {
    plan: &'a ScorePlan,
    /// The projects of the corpus, if one is given.
    prepared: Vec<Prepared>,
    predictions: Vec<PredictionFile>,
}

/// The scores of one line.
struct LineScores {
    scored: ExampleScores,
    /// The benchmark's id of an imported hole.
    benchmark_id: Option<String>,
    /// For each prediction file, the id that its prediction was under.
    used: Vec<String>,
    /// Its lines for the output file.
    lines: String,
}

/// Reason for which a line has no scores.
enum LineError {
    /// The example is invalid.
    Record(String),
    /// No prediction for this task in the file of this index.
    Missing(String, usize),
}

impl Scoring<'_> {
    /// Scores all examples, in their order. They are read in batches, so that they need not fit
    /// into memory.
    fn score_examples(&self) -> Result<Vec<ExampleScores>, PlayError> {
        const BATCH: usize = 1024;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let path = &self.plan.examples;
        let output = self.plan.output.as_deref();
        let output = output.map(|path| WholeFile::create(path).map_err(PlayError::file(path)));
        let mut output = output.transpose()?;
        let mut lines = NonBlankLines::open(path)?;
        let mut scored: Vec<ExampleScores> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut used: Vec<HashSet<String>> = vec![HashSet::new(); self.predictions.len()];
        // The examples by the benchmark's ids.
        let mut of_benchmark: HashMap<String, String> = HashMap::new();
        let mut missing: Vec<Vec<String>> = vec![Vec::new(); self.predictions.len()];
        loop {
            let batch = lines
                .by_ref()
                .take(BATCH)
                .collect::<Result<Vec<_>, TaskError>>()?;
            if batch.is_empty() {
                break;
            }
            // Batches bound the memory, and their order keeps the output that of the examples.
            let outcomes = run_jobs(
                &batch,
                threads,
                || (),
                |(), (_, line)| Ok::<_, PlayError>(self.score_line(line)),
                |_| {},
            )?;
            for ((line, _), outcome) in batch.iter().zip(outcomes) {
                let id = match &outcome {
                    Ok(outcome) => &outcome.scored.task_id,
                    Err(LineError::Missing(id, _)) => id,
                    Err(LineError::Record(reason)) => {
                        return Err(TaskError::record(path, *line, reason.clone()).into());
                    }
                };
                if let Some(before) = seen.insert(id.clone(), *line) {
                    return Err(PlayError::Scoring(InputError::Duplicate {
                        path: path.clone(),
                        line: *line,
                        before,
                        id: id.clone(),
                    }));
                }
                match outcome {
                    Ok(outcome) => {
                        for (used, id) in used.iter_mut().zip(outcome.used) {
                            used.insert(id);
                        }
                        if let Some(id) = outcome.benchmark_id {
                            of_benchmark.insert(id, outcome.scored.task_id.clone());
                        }
                        if let Some(output) = &mut output {
                            let written = output.write_all(outcome.lines.as_bytes());
                            written.map_err(self.output_fault())?;
                        }
                        scored.push(outcome.scored);
                    }
                    Err(LineError::Missing(id, file)) => missing[file].push(id),
                    Err(LineError::Record(_)) => {}
                }
            }
        }
        // Missing predictions are collected, so that one error names all of them.
        for ((predictions, ids), used) in self.predictions.iter().zip(missing).zip(used) {
            if !ids.is_empty() {
                return Err(PlayError::Scoring(InputError::Missing {
                    predictions: predictions.path.clone(),
                    ids,
                }));
            }
            let ids = predictions.unknown(|id| used.contains(id));
            // Without this, one of two predictions for an example would be dropped.
            let twice = ids.iter().find_map(|id| Some((id, of_benchmark.get(id)?)));
            if let Some((task, example)) = twice {
                return Err(PlayError::Scoring(InputError::Twice {
                    predictions: predictions.path.clone(),
                    task: task.clone(),
                    example: example.clone(),
                }));
            }
            if !ids.is_empty() {
                return Err(PlayError::Scoring(InputError::Unknown {
                    predictions: predictions.path.clone(),
                    examples: path.clone(),
                    ids,
                }));
            }
        }
        if scored.is_empty() {
            return Err(PlayError::Scoring(InputError::Empty { path: path.clone() }));
        }
        if let Some(output) = output {
            output.finish().map_err(self.output_fault())?;
        }
        Ok(scored)
    }

    /// Names the output file, which an I/O error is about.
    fn output_fault(&self) -> impl FnOnce(std::io::Error) -> PlayError {
        PlayError::file(self.plan.output.clone().unwrap_or_default())
    }

    fn score_line(&self, line: &str) -> Result<LineScores, LineError> {
        let example = input::parse_example(line).map_err(LineError::Record)?;
        let language = self.language(&example).map_err(LineError::Record)?;
        let prompt = self.prompt(&example, language).map_err(LineError::Record)?;
        let cluster = self.cluster(&example).map_err(LineError::Record)?;
        let mut values = Vec::new();
        let mut lines = String::new();
        let mut used = Vec::new();
        for (file, predictions) in self.predictions.iter().enumerate() {
            let found = prediction_ids(&example.task_id, example.benchmark_id.as_deref())
                .find_map(|id| Some((id.to_owned(), predictions.prediction(id)?)));
            let Some((id, prediction)) = found else {
                return Err(LineError::Missing(example.task_id, file));
            };
            used.push(id);
            let scorer = Scorer::new(Sample {
                syntax: &language,
                prompt: &prompt,
                prediction,
                reference: &example.reference,
            });
            let file_values: Vec<f64> = self
                .plan
                .metrics
                .iter()
                .map(|metric| scorer.score(metric))
                .collect();
            if self.plan.output.is_some() {
                let mut row = json!({
                    "task_id": example.task_id,
                    "repository": example.repository,
                    "file": example.file,
                    "language": language.name,
                    "predictions": predictions.path,
                });
                if self.truncates() {
                    row["truncated"] = scorer.compared().into();
                }
                let by_variant: Map<String, Value> = self
                    .plan
                    .metrics
                    .iter()
                    .zip(&file_values)
                    .map(|(metric, value)| (metric.metric.name.to_owned(), json!(value)))
                    .collect();
                row["metrics"] = Value::Object(by_variant);
                lines.push_str(&row.to_string());
                lines.push('\n');
            }
            values.push(file_values);
        }
        Ok(LineScores {
            scored: ExampleScores {
                task_id: example.task_id,
                cluster,
                values,
            },
            benchmark_id: example.benchmark_id,
            used,
            lines,
        })
    }

    /// True if any metric scores the first statement only.
    fn truncates(&self) -> bool {
        self.plan.metrics.iter().any(|metric| metric.truncates())
    }

    fn language(&self, example: &Example) -> Result<ScoringLanguage, String> {
        let of_record = example.language.as_deref().and_then(ScoringLanguage::named);
        let of_file = example
            .file
            .as_ref()
            .and_then(|file| ScoringLanguage::for_path(Path::new(file)));
        of_record
            .or(of_file)
            .or(self.plan.language)
            .ok_or_else(|| match &example.file {
                Some(file) => format!(
                    "the field `metadata.file` is `{file}`, which does not imply the language; set \
                     --language"
                ),
                None => "the field `metadata.file` is missing, so the language is unknown; set \
                         --language"
                    .to_owned(),
            })
    }

    /// The text before the hole; empty if no metric needs it.
    fn prompt(&self, example: &Example, language: ScoringLanguage) -> Result<String, String> {
        match &example.text {
            HoleContext::Prompt(prompt) => Ok(prompt.clone()),
            // Only statements of indented blocks need the text before them to find their end.
            HoleContext::InFile(hole) if self.truncates() && language.indented_blocks() => {
                self.prefix(hole)
            }
            HoleContext::InFile(_) => Ok(String::new()),
        }
    }

    /// The text before a hole in the corpus's own source.
    fn prefix(&self, hole: &Hole) -> Result<String, String> {
        if self.plan.corpus.is_none() {
            return Err(
                "the metrics */cceval need the text before the hole, which a tasks file does not \
                 have; set --corpus, or other metrics with --metrics"
                    .to_owned(),
            );
        }
        let project = self
            .prepared
            .iter()
            .find(|prepared| prepared.project.name == hole.project)
            .ok_or_else(|| format!("the project `{}` is not ready in the corpus", hole.project))?;
        let path = project.source.join(&hole.path);
        let contents = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let (prefix, _) = hole.cut(&contents).map_err(|error| error.to_string())?;
        Ok(prefix.to_owned())
    }

    fn cluster(&self, example: &Example) -> Result<String, String> {
        let field = |value: &Option<String>, name: &str| {
            value.clone().ok_or_else(|| {
                format!(
                    "the field `metadata.{name}` is missing, which --cluster {} needs",
                    self.plan.cluster
                )
            })
        };
        let repository = field(&example.repository, "repository")?;
        match self.plan.cluster {
            ScoreCluster::Repository => Ok(repository),
            ScoreCluster::File => {
                let file = field(&example.file, "file")?;
                Ok(format!("{repository}\0{file}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::{self, HoleKind};

    use super::*;

    /// Scores predictions under these ids for two holes of a benchmark, whose task `t` occurs twice;
    /// `{0}` and `{1}` are the holes' own ids.
    fn scored(ids: &[&str]) -> Result<usize, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let hole = |task: &str| {
            let hole = Hole::new("p", "python", "a.py", HoleKind::Line, 0..5, "x = 1\n");
            hole.of_task(task, Vec::new())
        };
        let holes = [hole("t"), hole("t#2")];
        let examples = folder.path().join("tasks.jsonl");
        task::write(&examples, &holes).expect("the tasks are written");
        let predictions = folder.path().join("predictions.jsonl");
        let lines: String = ids
            .iter()
            .map(|id| {
                let id = id.replace("{0}", &holes[0].id).replace("{1}", &holes[1].id);
                format!("{}\n", json!({"task_id": id, "prediction": "x = 2"}))
            })
            .collect();
        std::fs::write(&predictions, lines).expect("the predictions are written");
        let plan = ScorePlan {
            examples,
            predictions: vec![predictions],
            metrics: TextMetric::named("em/tokens").into_iter().collect(),
            cluster: ScoreCluster::Repository,
            language: None,
            corpus: None,
            output: None,
        };
        let scored = run(&plan, &()).map_err(|error| {
            let message = error.to_string();
            let message = message.replace(&folder.path().display().to_string(), "DIR");
            let message = message.replace(&holes[0].id, "{0}");
            message.replace(&holes[1].id, "{1}")
        })?;
        Ok(scored.len())
    }

    #[test]
    fn predictions_for_a_task_that_occurs_twice_are_those_of_both_holes() {
        assert_eq!(scored(&["t"]), Ok(2));
        assert_eq!(scored(&["t", "t#2"]), Ok(2));
        assert_eq!(scored(&["t", "{1}"]), Ok(2));
    }

    #[test]
    fn two_predictions_for_one_example_are_reported() {
        let error = "DIR/predictions.jsonl has two predictions for one example, as `{0}` and as the \
                     benchmark's `t`; leave one of them out";
        assert_eq!(scored(&["t", "{0}", "{1}"]), Err(error.to_owned()));
        assert!(scored(&["t", "u"]).is_err_and(|error| error.contains("no example for")));
    }
}
