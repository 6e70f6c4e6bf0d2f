//! `fillrate score`.

mod input;

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fillrate_metrics::{Sample, Scorer, ScoringSyntax, TEXT_METRICS, TextMetric};
use serde_json::{Map, Value, json};

use super::{CliError, Success};
use crate::corpus::manifest::Manifest;
use crate::corpus::{Corpus, Prepared};
use crate::language::scoring::ScoringLanguage;
use crate::play::projects::prepare;
use crate::report::scores::{Scored, Scores};
use crate::task::Hole;
pub(super) use input::InputError;
use input::{Example, Lines, Predictions, Text, record_error};

/// Score predictions by text, each metric by its published definition.
#[derive(Args)]
pub(super) struct Arguments {
    /// What was asked: CrossCodeEval's JSON lines, or a file that `mine` wrote
    #[arg(long, value_name = "FILE")]
    examples: PathBuf,
    /// What a model wrote: JSON lines with `task_id` and `prediction`. Given twice, the two are
    /// compared
    #[arg(long, value_name = "FILE", required = true)]
    predictions: Vec<PathBuf>,
    /// The metrics, by variant [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = metric)]
    metrics: Vec<&'static TextMetric>,
    /// What intervals are clustered by: what stands or falls together
    #[arg(long, value_enum, default_value_t = Cluster::Repository)]
    cluster: Cluster,
    /// The language of examples whose file does not tell: python, java, typescript, csharp,
    /// javascript
    #[arg(long, value_name = "NAME", value_parser = language)]
    language: Option<ScoringLanguage>,
    /// The corpus that the holes of a tasks file were mined from: what stands before them decides
    /// where a Python prediction's first statement ends
    #[arg(long, value_name = "MANIFEST")]
    corpus: Option<PathBuf>,
    /// Write the values of each example here, as JSON lines
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object in place of the tables
    #[arg(long)]
    json: bool,
}

/// What examples stand or fall together with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Cluster {
    /// All examples of a repository.
    Repository,
    /// All examples of a file.
    File,
}

impl Cluster {
    fn name(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::File => "file",
        }
    }
}

fn metric(name: &str) -> Result<&'static TextMetric, String> {
    TextMetric::named(name).ok_or_else(|| {
        let known: Vec<&str> = TEXT_METRICS
            .iter()
            .map(|metric| metric.metric.name)
            .collect();
        format!("there is no such metric; there are {}", known.join(", "))
    })
}

fn language(name: &str) -> Result<ScoringLanguage, String> {
    ScoringLanguage::named(name).ok_or_else(|| {
        let known = ScoringLanguage::NAMES.join(", ");
        format!("no such language can be scored; those that can are {known}")
    })
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    if let [_, _, _, ..] = arguments.predictions[..] {
        return Err(CliError::Refused(
            "more than two prediction files can't be compared; give --predictions once or twice"
                .to_owned(),
        ));
    }
    let metrics = if arguments.metrics.is_empty() {
        TEXT_METRICS.iter().collect()
    } else {
        arguments.metrics.clone()
    };
    let prepared = match &arguments.corpus {
        Some(path) => {
            let manifest = Manifest::read(path)?;
            prepare(
                &Corpus::from_environment()?,
                &manifest,
                None,
                &*super::progress::listener(),
            )?
            .0
        }
        None => Vec::new(),
    };
    let predictions = arguments
        .predictions
        .iter()
        .map(|path| Predictions::read(path))
        .collect::<Result<Vec<_>, _>>()?;
    let scoring = Scoring {
        arguments,
        metrics,
        prepared,
        predictions,
    };
    let scored = scoring.examples()?;
    let files: Vec<String> = arguments
        .predictions
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let scores = Scores::of(&scoring.metrics, &files, &scored);
    if arguments.json {
        let mut whole = json!({
            "examples": arguments.examples,
            "cluster": arguments.cluster.name(),
        });
        if let (Some(whole), Ok(Value::Object(scores))) =
            (whole.as_object_mut(), serde_json::to_value(&scores))
        {
            whole.extend(scores);
        }
        outln!("{whole}");
    } else {
        out!("{}", scores.table(arguments.cluster.name()));
    }
    Ok(Success::Whole)
}

/// What all examples are scored with.
struct Scoring<'a> {
    arguments: &'a Arguments,
    metrics: Vec<&'static TextMetric>,
    /// The projects of the corpus, if one is given.
    prepared: Vec<Prepared>,
    predictions: Vec<Predictions>,
}

/// What came of one line.
struct Outcome {
    scored: Scored,
    /// Its lines for the file of values.
    lines: String,
}

/// Why a line has no values.
enum Fault {
    /// The example is not what it should be.
    Record(String),
    /// No prediction for this task in the file of this index.
    Missing(String, usize),
}

impl Scoring<'_> {
    /// Scores all examples, in their order. They are read in batches, so that there may be more
    /// than memory holds; the threads of a batch share its lines.
    fn examples(&self) -> Result<Vec<Scored>, CliError> {
        const BATCH: usize = 1024;
        let path = &self.arguments.examples;
        let mut output = self
            .arguments
            .output
            .as_deref()
            .map(Output::create)
            .transpose()?;
        let mut lines = Lines::open(path)?;
        let mut scored: Vec<Scored> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut missing: Vec<Vec<String>> = vec![Vec::new(); self.predictions.len()];
        loop {
            let batch = lines
                .by_ref()
                .take(BATCH)
                .collect::<Result<Vec<_>, InputError>>()?;
            if batch.is_empty() {
                break;
            }
            for ((line, _), outcome) in batch.iter().zip(self.batch(&batch)) {
                let id = match &outcome {
                    Ok(outcome) => &outcome.scored.task_id,
                    Err(Fault::Missing(id, _)) => id,
                    Err(Fault::Record(reason)) => {
                        return Err(record_error(path, *line, reason.clone()).into());
                    }
                };
                if let Some(before) = seen.insert(id.clone(), *line) {
                    return Err(CliError::Input(InputError::Doubled {
                        path: path.clone(),
                        line: *line,
                        before,
                        id: id.clone(),
                    }));
                }
                match outcome {
                    Ok(outcome) => {
                        if let Some(output) = &mut output {
                            output.write(&outcome.lines)?;
                        }
                        scored.push(outcome.scored);
                    }
                    Err(Fault::Missing(id, file)) => missing[file].push(id),
                    Err(Fault::Record(_)) => {}
                }
            }
        }
        for (predictions, ids) in self.predictions.iter().zip(missing) {
            if !ids.is_empty() {
                return Err(CliError::Input(InputError::Missing {
                    predictions: predictions.path.clone(),
                    ids,
                }));
            }
            let ids = predictions.unknown(|id| seen.contains_key(id));
            if !ids.is_empty() {
                return Err(CliError::Input(InputError::Unknown {
                    predictions: predictions.path.clone(),
                    examples: path.clone(),
                    ids,
                }));
            }
        }
        if scored.is_empty() {
            return Err(CliError::Input(InputError::Empty { path: path.clone() }));
        }
        if let Some(output) = output {
            output.finish()?;
        }
        Ok(scored)
    }

    /// Scores lines side by side, and gives what came of them in their order.
    fn batch(&self, lines: &[(usize, String)]) -> Vec<Result<Outcome, Fault>> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = lines.len().div_ceil(threads);
        std::thread::scope(|scope| {
            let workers: Vec<_> = lines
                .chunks(share)
                .map(|lines| {
                    scope.spawn(|| {
                        let scored = lines.iter().map(|(_, line)| self.line(line));
                        scored.collect::<Vec<_>>()
                    })
                })
                .collect();
            workers
                .into_iter()
                .flat_map(|worker| match worker.join() {
                    Ok(outcomes) => outcomes,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        })
    }

    fn line(&self, line: &str) -> Result<Outcome, Fault> {
        let example = input::example(line).map_err(Fault::Record)?;
        let language = self.language(&example).map_err(Fault::Record)?;
        let prompt = self.prompt(&example, language).map_err(Fault::Record)?;
        let cluster = self.cluster(&example).map_err(Fault::Record)?;
        let mut values = Vec::new();
        let mut lines = String::new();
        for (file, predictions) in self.predictions.iter().enumerate() {
            let Some(prediction) = predictions.of(&example.task_id) else {
                return Err(Fault::Missing(example.task_id, file));
            };
            let scorer = Scorer::new(Sample {
                syntax: &language,
                prompt: &prompt,
                prediction,
                reference: &example.reference,
            });
            let of_file: Vec<f64> = self
                .metrics
                .iter()
                .map(|metric| scorer.score(metric))
                .collect();
            if self.arguments.output.is_some() {
                let mut row = json!({
                    "task_id": example.task_id,
                    "repository": example.repository,
                    "file": example.file,
                    "language": language.name,
                    "predictions": predictions.path,
                });
                if self.truncates() {
                    row["truncated"] = scorer.truncated().into();
                }
                let by_variant: Map<String, Value> = self
                    .metrics
                    .iter()
                    .zip(&of_file)
                    .map(|(metric, value)| (metric.metric.name.to_owned(), json!(value)))
                    .collect();
                row["metrics"] = Value::Object(by_variant);
                lines.push_str(&row.to_string());
                lines.push('\n');
            }
            values.push(of_file);
        }
        Ok(Outcome {
            scored: Scored {
                task_id: example.task_id,
                cluster,
                values,
            },
            lines,
        })
    }

    /// Whether any of the metrics looks at the first statement only.
    fn truncates(&self) -> bool {
        self.metrics.iter().any(|metric| metric.truncates())
    }

    fn language(&self, example: &Example) -> Result<ScoringLanguage, String> {
        let of_record = example.language.as_deref().and_then(ScoringLanguage::named);
        let of_file = example
            .file
            .as_ref()
            .and_then(|file| ScoringLanguage::for_path(Path::new(file)));
        of_record
            .or(of_file)
            .or(self.arguments.language)
            .ok_or_else(|| match &example.file {
                Some(file) => format!(
                    "the field `metadata.file` is `{file}`, which does not tell the language; \
                     give it with --language"
                ),
                None => "the field `metadata.file` is missing, so the language is not known; \
                         give it with --language"
                    .to_owned(),
            })
    }

    /// What stands before the hole; nothing where no metric asks for it.
    fn prompt(&self, example: &Example, language: ScoringLanguage) -> Result<String, String> {
        match &example.text {
            Text::Prompt(prompt) => Ok(prompt.clone()),
            Text::InFile(hole) if self.truncates() && language.indented_blocks() => {
                self.before(hole)
            }
            Text::InFile(_) => Ok(String::new()),
        }
    }

    /// What stands before a hole in the corpus's own source.
    fn before(&self, hole: &Hole) -> Result<String, String> {
        if self.arguments.corpus.is_none() {
            return Err(
                "the metrics named */cceval need what stands before the hole, which a tasks file \
                 does not have; give its corpus with --corpus, or other metrics with --metrics"
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
        let (before, _) = hole.cut(&contents).map_err(|error| error.to_string())?;
        Ok(before.to_owned())
    }

    fn cluster(&self, example: &Example) -> Result<String, String> {
        let field = |value: &Option<String>, name: &str| {
            value.clone().ok_or_else(|| {
                format!(
                    "the field `metadata.{name}` is missing, which --cluster {} needs",
                    self.arguments.cluster.name()
                )
            })
        };
        let repository = field(&example.repository, "repository")?;
        match self.arguments.cluster {
            Cluster::Repository => Ok(repository),
            Cluster::File => {
                let file = field(&example.file, "file")?;
                Ok(format!("{repository}\0{file}"))
            }
        }
    }
}

/// A file that is there whole or not at all.
struct Output {
    path: PathBuf,
    file: std::io::BufWriter<tempfile::NamedTempFile>,
}

impl Output {
    fn create(path: &Path) -> Result<Self, CliError> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let file = tempfile::NamedTempFile::new_in(folder).map_err(CliError::file(path))?;
        Ok(Self {
            path: path.to_owned(),
            file: std::io::BufWriter::new(file),
        })
    }

    fn write(&mut self, lines: &str) -> Result<(), CliError> {
        self.file
            .write_all(lines.as_bytes())
            .map_err(CliError::file(&self.path))
    }

    fn finish(self) -> Result<(), CliError> {
        let fault = CliError::file(&self.path);
        let file = match self.file.into_inner() {
            Ok(file) => file,
            Err(error) => return Err(fault(error.into_error())),
        };
        match file.persist(&self.path) {
            Ok(_) => Ok(()),
            Err(error) => Err(fault(error.error)),
        }
    }
}
