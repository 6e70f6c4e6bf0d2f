//! `fillrate score`.

mod input;
mod summary;

use fillrate_report::table::TextWidth;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use fillrate_engine::play::projects::prepare;
use fillrate_language::scoring::ScoringLanguage;
use fillrate_language::task::Hole;
use fillrate_metrics::{Sample, Scorer, ScoringSyntax, TEXT_METRICS, TextMetric};
use fillrate_verdict::corpus::{Corpus, Prepared};
use serde_json::{Map, Value, json};

use super::{CliError, Success};
pub(super) use input::InputError;
use input::{Example, HoleContext, NonBlankLines, PredictionFile, record_error};
use summary::{ExampleScores, ScoreSummary};

/// Score predictions by text, each metric by its published definition.
#[derive(Args)]
pub(super) struct ScoreArguments {
    /// The examples: CrossCodeEval's JSON lines, or a tasks file of `mine` or `import`
    #[arg(long, value_name = "FILE")]
    examples: PathBuf,
    /// A model's predictions: JSON lines with `task_id` and `prediction`. Two files are compared
    #[arg(long, value_name = "FILE", required = true)]
    predictions: Vec<PathBuf>,
    /// The metrics, by variant [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = parse_metric)]
    metrics: Vec<&'static TextMetric>,
    /// Cluster of the intervals
    #[arg(long, value_enum, default_value_t = Cluster::Repository)]
    cluster: Cluster,
    /// The language of examples whose file name does not imply it
    #[arg(
        long,
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(ScoringLanguage::names()).try_map(parse_language),
    )]
    language: Option<ScoringLanguage>,
    /// The corpus that the holes of a tasks file were mined from: the text before a hole decides
    /// where a Python prediction's first statement ends
    #[arg(long, value_name = "MANIFEST")]
    corpus: Option<PathBuf>,
    /// Write the values of each example to this file, as JSON lines
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object in place of the tables
    #[arg(long)]
    json: bool,
}

/// Cluster of examples.
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

fn parse_metric(name: &str) -> Result<&'static TextMetric, String> {
    TextMetric::named(name).ok_or_else(|| {
        let known: Vec<&str> = TEXT_METRICS
            .iter()
            .map(|metric| metric.metric.name)
            .collect();
        format!("unknown metric; the metrics are {}", known.join(", "))
    })
}

fn parse_language(name: String) -> Result<ScoringLanguage, String> {
    ScoringLanguage::named(&name).ok_or(name)
}

pub(super) fn run(arguments: &ScoreArguments, width: TextWidth) -> Result<Success, CliError> {
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
            let corpus = Corpus::from_environment()?;
            let manifest = corpus.load_manifest(path)?;
            prepare(&corpus, &manifest, None, &*super::progress::listener())?.0
        }
        None => Vec::new(),
    };
    let predictions = arguments
        .predictions
        .iter()
        .map(|path| PredictionFile::read(path))
        .collect::<Result<Vec<_>, _>>()?;
    let scoring = Scoring {
        arguments,
        metrics,
        prepared,
        predictions,
    };
    let scored = scoring.score_examples()?;
    let files: Vec<String> = arguments
        .predictions
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let scores = ScoreSummary::new(&scoring.metrics, &files, &scored);
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
        out!("{}", scores.table(arguments.cluster.name(), width));
    }
    Ok(Success::Whole)
}

/// The metrics, predictions and projects that all examples are scored with.
struct Scoring<'a> {
    arguments: &'a ScoreArguments,
    metrics: Vec<&'static TextMetric>,
    /// The projects of the corpus, if one is given.
    prepared: Vec<Prepared>,
    predictions: Vec<PredictionFile>,
}

/// The scores of one line.
struct LineScores {
    scored: ExampleScores,
    /// The benchmark's id of an imported hole.
    benchmark_id: Option<String>,
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
    /// into memory; the threads of a batch share its lines.
    fn score_examples(&self) -> Result<Vec<ExampleScores>, CliError> {
        const BATCH: usize = 1024;
        let path = &self.arguments.examples;
        let mut output = self
            .arguments
            .output
            .as_deref()
            .map(Output::create)
            .transpose()?;
        let mut lines = NonBlankLines::open(path)?;
        let mut scored: Vec<ExampleScores> = Vec::new();
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
            for ((line, _), outcome) in batch.iter().zip(self.score_batch(&batch)) {
                let id = match &outcome {
                    Ok(outcome) => &outcome.scored.task_id,
                    Err(LineError::Missing(id, _)) => id,
                    Err(LineError::Record(reason)) => {
                        return Err(record_error(path, *line, reason.clone()).into());
                    }
                };
                if let Some(before) = seen.insert(id.clone(), *line) {
                    return Err(CliError::Input(InputError::Duplicate {
                        path: path.clone(),
                        line: *line,
                        before,
                        id: id.clone(),
                    }));
                }
                match outcome {
                    Ok(outcome) => {
                        seen.extend(outcome.benchmark_id.map(|id| (id, *line)));
                        if let Some(output) = &mut output {
                            output.write(&outcome.lines)?;
                        }
                        scored.push(outcome.scored);
                    }
                    Err(LineError::Missing(id, file)) => missing[file].push(id),
                    Err(LineError::Record(_)) => {}
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

    /// Scores lines in parallel and returns their scores in order.
    fn score_batch(&self, lines: &[(usize, String)]) -> Vec<Result<LineScores, LineError>> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = lines.len().div_ceil(threads);
        std::thread::scope(|scope| {
            let workers: Vec<_> = lines
                .chunks(share)
                .map(|lines| {
                    scope.spawn(|| {
                        let scored = lines.iter().map(|(_, line)| self.score_line(line));
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

    fn score_line(&self, line: &str) -> Result<LineScores, LineError> {
        let example = input::parse_example(line).map_err(LineError::Record)?;
        let language = self.language(&example).map_err(LineError::Record)?;
        let prompt = self.prompt(&example, language).map_err(LineError::Record)?;
        let cluster = self.cluster(&example).map_err(LineError::Record)?;
        let mut values = Vec::new();
        let mut lines = String::new();
        for (file, predictions) in self.predictions.iter().enumerate() {
            let of_benchmark = || predictions.prediction(example.benchmark_id.as_deref()?);
            let found = predictions
                .prediction(&example.task_id)
                .or_else(of_benchmark);
            let Some(prediction) = found else {
                return Err(LineError::Missing(example.task_id, file));
            };
            let scorer = Scorer::new(Sample {
                syntax: &language,
                prompt: &prompt,
                prediction,
                reference: &example.reference,
            });
            let file_values: Vec<f64> = self
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
                    row["truncated"] = scorer.compared().into();
                }
                let by_variant: Map<String, Value> = self
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
            lines,
        })
    }

    /// True if any metric scores the first statement only.
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
            HoleContext::InFile(hole) if self.truncates() && language.indented_blocks() => {
                self.prefix(hole)
            }
            HoleContext::InFile(_) => Ok(String::new()),
        }
    }

    /// The text before a hole in the corpus's own source.
    fn prefix(&self, hole: &Hole) -> Result<String, String> {
        if self.arguments.corpus.is_none() {
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

/// An output file that appears only once it is complete.
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
