//! `fillrate score`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use fillrate_engine::play::score::{self, ScoreCluster, ScorePlan};
use fillrate_language::scoring::ScoringLanguage;
use fillrate_metrics::{TEXT_METRICS, TextMetric};
use fillrate_report::table::TextWidth;
use fillrate_report::text_scores::ScoreSummary;
use serde_json::{Value, json};
use strum::VariantNames;

use super::{CliError, Success};

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
    #[arg(
        long,
        default_value_t = ScoreCluster::Repository,
        value_parser = PossibleValuesParser::new(ScoreCluster::VARIANTS).try_map(|name| name.parse::<ScoreCluster>()),
    )]
    cluster: ScoreCluster,
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
    if let Some(output) = &arguments.output {
        let inputs = [&arguments.examples].into_iter();
        let inputs = inputs
            .chain(&arguments.predictions)
            .chain(&arguments.corpus);
        super::check_not_input(output, inputs)?;
    }
    let plan = ScorePlan {
        examples: arguments.examples.clone(),
        predictions: arguments.predictions.clone(),
        metrics: match arguments.metrics[..] {
            [] => TEXT_METRICS.iter().collect(),
            _ => arguments.metrics.clone(),
        },
        cluster: arguments.cluster,
        language: arguments.language,
        corpus: arguments.corpus.clone(),
        output: arguments.output.clone(),
    };
    let scored = score::run(&plan, &*super::progress::listener())?;
    let files = arguments.predictions.iter();
    let files: Vec<String> = files.map(|path| path.display().to_string()).collect();
    let scores = ScoreSummary::new(&plan.metrics, &files, &scored);
    let cluster: &str = arguments.cluster.into();
    if arguments.json {
        let mut whole = json!({
            "examples": arguments.examples,
            "cluster": cluster,
        });
        // The members of the scores follow those of the request in one object.
        if let (Some(whole), Ok(Value::Object(scores))) =
            (whole.as_object_mut(), serde_json::to_value(&scores))
        {
            whole.extend(scores);
        }
        outln!("{whole}");
    } else {
        out!("{}", scores.table(cluster, width));
    }
    Ok(Success::Whole)
}
