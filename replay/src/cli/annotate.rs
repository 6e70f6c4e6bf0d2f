//! `fillrate annotate`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use fillrate_engine::play::annotate::{self, AnnotationOutcome, AnnotationPlan, FailureLabel};
use fillrate_metrics::Estimate;
use fillrate_report::table::{TextTable, TextWidth};
use serde_json::json;

use super::{CliError, Success};

/// Have several models say why answers failed, and count their votes.
///
/// Each failed answer of the run is put to each judge, with what was expected. A judge says whether
/// the information that the model lacked is on *what* to do or on *how* to do it (MRG-Bench, §5.3);
/// the label of more than half of the judges is kept. Labels of people are judges like others.
#[derive(Args)]
pub(super) struct AnnotateArguments {
    /// The run: a folder that `replay` wrote
    run: PathBuf,
    /// Settings files (.toml) of the judges, whose models speak openai-chat or anthropic-messages
    #[arg(
        long,
        value_name = "FILE",
        value_delimiter = ',',
        required_unless_present = "labels"
    )]
    judges: Vec<PathBuf>,
    /// A file with instructions for the judges in place of the program's own
    #[arg(long, value_name = "FILE", requires = "judges")]
    prompt: Option<PathBuf>,
    /// Labels given elsewhere: JSON lines `{"attempt": KEY, "judge": NAME, "label": "what" |
    /// "how"}`; may be repeated
    #[arg(long, value_name = "FILE")]
    labels: Vec<PathBuf>,
    /// Write each answer with its labels to this file, as JSON lines
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Number of concurrent requests [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,
}

/// Votes of a language in a context: what, how, no majority.
type Votes = [usize; 3];

pub(super) fn run(arguments: &AnnotateArguments, width: TextWidth) -> Result<Success, CliError> {
    if let Some(output) = &arguments.output {
        // Judges cost money, so the output is checked first.
        super::check_writable_file(output)?;
        let inputs = [&arguments.judges, &arguments.labels].into_iter().flatten();
        super::check_not_input(output, inputs.chain(&arguments.prompt))?;
        let run = std::slice::from_ref(&arguments.run);
        super::check_not_input(output, super::runs::database_files(run))?;
    }
    let outcome = annotate::run(&AnnotationPlan {
        run: arguments.run.clone(),
        judges: arguments.judges.clone(),
        prompt: arguments.prompt.clone(),
        labels: arguments.labels.clone(),
        threads: super::threads(arguments.jobs),
    })?;
    if let Some(path) = &arguments.output {
        let lines: String = outcome
            .attempts
            .iter()
            .map(|attempt| format!("{}\n", json!(attempt)))
            .collect();
        std::fs::write(path, lines).map_err(CliError::file(path))?;
    }
    let mut groups: BTreeMap<(&str, &str), Votes> = BTreeMap::new();
    for one in &outcome.attempts {
        let votes = groups.entry((&one.language, &one.context)).or_default();
        votes[match one.majority {
            Some(FailureLabel::What) => 0,
            Some(FailureLabel::How) => 1,
            None => 2,
        }] += 1;
    }
    for failure in &outcome.failures {
        note!("fillrate: {failure}");
    }
    if arguments.json {
        let rows: Vec<_> = groups
            .iter()
            .map(|((language, context), [what, how, none])| {
                json!({"language": language, "context": context, "what": what, "how": how,
                       "no_majority": none})
            })
            .collect();
        outln!(
            "{}",
            json!({"judges": outcome.judges, "kappa": outcome.kappa, "rows": rows,
                   "failures": outcome.failures.len()})
        );
    } else {
        print_table(&outcome, &groups, width);
    }
    Ok(Success::whole_if(outcome.failures.is_empty()))
}

fn print_table(
    outcome: &AnnotationOutcome,
    groups: &BTreeMap<(&str, &str), Votes>,
    width: TextWidth,
) {
    let mut table = TextTable::new([
        "language",
        "context",
        "what",
        "how",
        "no majority",
        "failed",
    ]);
    for ((language, context), votes) in groups {
        let mut cells = vec![(*language).to_owned(), (*context).to_owned()];
        cells.extend(votes.map(|count| count.to_string()));
        cells.push(votes.iter().sum::<usize>().to_string());
        table.add_row(cells);
    }
    outln!("{}", table.render(width));
    let judges = outcome.judges.join(", ");
    match outcome.kappa {
        Some(Estimate {
            value,
            low,
            high,
            n,
            clusters: _,
        }) => {
            let bound = |bound: Option<f64>| bound.map_or("?".to_owned(), |it| format!("{it:.3}"));
            outln!(
                "Fleiss' kappa {value:.3} [{}, {}], n {n}; judges: {judges}",
                bound(low),
                bound(high)
            );
        }
        None => outln!(
            "no Fleiss' kappa: it needs two judges, answers that all of them labelled, and both \
             labels; judges: {judges}"
        ),
    }
}
