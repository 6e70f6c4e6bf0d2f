//! `fillrate study`.

mod versions;

use std::path::PathBuf;

use clap::Args;
use fillrate_engine::store::create_output_folder;
use fillrate_report::page::PageKind;
use fillrate_report::table::TextWidth;
use fillrate_study::sides::{read_offline_side, read_online_side, read_typed_side};
use fillrate_study::{Grouping, SecondSide, Study, StudyOptions, StudySide};

use super::events::EventArguments;
use super::runs::{check_unique, expand_runs};
use super::{CliError, Success, report_absent, success};

/// The study's file for programs.
const JSON: &str = "study.json";
/// The study's page for people.
const PAGE: &str = "index.html";

/// Test whether an offline score predicts what people accept, over model versions.
///
/// Versions are joined by the model's name and its configuration's fingerprint. The command prints
/// the conclusion and writes it with all figures to DIR: `index.html`, a page that opens from disk,
/// and `study.json`, whose fields the evaluator's reference page lists.
#[derive(Args)]
pub(super) struct StudyArguments {
    /// Runs of `replay`, one or more for each version, or tables of figures (.csv)
    ///
    /// A table has the columns version, language, metric, value and n, and optionally error (a
    /// standard error) and configuration.
    #[arg(long, num_args = 1.., value_name = "RUN|CSV", required_unless_present = "replayed")]
    offline: Vec<PathBuf>,
    /// Telemetry of people's editors (a store, or lines that `telemetry export` wrote), or tables
    #[arg(long, num_args = 1.., value_name = "TELEMETRY|CSV", required_unless_present_any = ["simulated", "replayed"])]
    online: Vec<PathBuf>,
    /// In place of --online, runs of `replay --mode type`: accepts of a simulated developer, never
    /// called online
    #[arg(long, num_args = 1.., value_name = "RUN|CSV", conflicts_with = "online")]
    simulated: Vec<PathBuf>,
    /// Within what versions are compared: `version`, all languages together, or
    /// `version,language`, each language by itself
    #[arg(long, default_value = "version", value_name = "BY")]
    by: Grouping,
    /// Offline metrics, the main one first [default: all there are, pass@1 first]
    ///
    /// The name of a metric in another view holds a comma and a blank: `pass@1, as-written`.
    #[arg(long, value_name = "NAME,…")]
    metrics: Vec<String>,
    /// Metrics of the other side, the main one first [default: all there are]
    #[arg(long, value_name = "NAME,…")]
    against: Vec<String>,
    /// The folder of the page and the figures
    #[arg(short, long, value_name = "DIR", default_value = "study")]
    out: PathBuf,
    /// Replay five configurations of the embedded model as versions, with a simulated developer. The
    /// runs are stored in DIR; the same command resumes an interrupted one
    #[arg(long, group = "replayed", conflicts_with_all = ["offline", "online", "simulated"])]
    demo: bool,
    /// Replay models as versions, in finished files and as they were written, with a simulated
    /// developer who sees what comes before the next key
    ///
    /// `embedded`, or a settings file (.toml); two or more. The runs are stored in DIR; the same
    /// command resumes an interrupted one, and plays a further model alone.
    #[arg(
        long,
        group = "replayed",
        value_name = "NAME|FILE",
        conflicts_with_all = ["demo", "offline", "online", "simulated"]
    )]
    model: Vec<String>,
    /// Of --demo and --model: the corpus
    #[arg(
        long,
        default_value = "corpora/demo.toml",
        value_name = "MANIFEST",
        requires = "replayed",
        conflicts_with_all = ["offline", "online", "simulated"]
    )]
    corpus: PathBuf,
    /// Of --demo and --model: the holes of each version
    #[arg(
        long,
        default_value_t = 80,
        value_name = "N",
        value_parser = super::at_least_one,
        requires = "replayed",
        conflicts_with_all = ["offline", "online", "simulated"]
    )]
    holes: usize,
    /// Of --demo and --model: the number of concurrent jobs [default: the number of processors]
    #[arg(
        short,
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..),
        requires = "replayed"
    )]
    jobs: Option<u16>,
    /// Equal seeds give equal studies
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print study.json's contents in place of the text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &StudyArguments, width: TextWidth) -> Result<Success, CliError> {
    // A study reads its sides for minutes, so the output is checked first.
    super::check_page_folder(&arguments.out, PageKind::Study)?;
    if arguments.demo || !arguments.model.is_empty() {
        let advice = "rerun the command to continue".to_owned();
        let events = EventArguments::default();
        return events.listen("study", advice, |listener| {
            let (mut runs, absent) = versions::replay_versions(arguments, listener)?;
            let offline = read_offline_side(&runs)?;
            // The first figure is the main one: what is accepted as people write.
            runs.reverse();
            let simulated = read_typed_side(&runs)?;
            let second = SecondSide::Simulated;
            write_study(arguments, &offline, &simulated, second, width)?;
            report_absent(&absent);
            Ok(success(&absent))
        });
    }
    let offline = read_offline_side(&sources(&arguments.offline)?)?;
    let (second_side, second) = match arguments.simulated.as_slice() {
        [] => {
            let online = read_online_side(&sources(&arguments.online)?)?;
            (online, SecondSide::Online)
        }
        simulated => {
            let simulated = read_typed_side(&sources(simulated)?)?;
            (simulated, SecondSide::Simulated)
        }
    };
    write_study(arguments, &offline, &second_side, second, width)?;
    Ok(Success::Whole)
}

/// Calculates the study, prints it and writes it.
fn write_study(
    arguments: &StudyArguments,
    offline: &StudySide,
    second_side: &StudySide,
    second: SecondSide,
    width: TextWidth,
) -> Result<(), CliError> {
    let options = StudyOptions {
        by: arguments.by,
        offline_metrics: metric_names(&arguments.metrics),
        second_metrics: metric_names(&arguments.against),
        seed: arguments.seed,
        ..StudyOptions::default()
    };
    let study = Study::new(offline, second_side, second, &options)?;
    let json = serde_json::to_string_pretty(&study).map_err(|error| {
        CliError::Refused(format!("the study can't be written as JSON: {error}"))
    })?;
    let folder = &arguments.out;
    create_output_folder(folder).map_err(CliError::file(folder))?;
    for (name, contents) in [(JSON, json.clone() + "\n"), (PAGE, study.page())] {
        let path = folder.join(name);
        std::fs::write(&path, contents).map_err(CliError::file(&path))?;
    }
    if arguments.json {
        outln!("{json}");
    } else {
        out!("{}", width.lines(&study.text(width)));
        outln!("page: {}", folder.join(PAGE).display());
    }
    Ok(())
}

/// The names in lists of metrics. A comma before a blank is part of a name.
fn metric_names(lists: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for list in lists {
        for (at, part) in list.split(',').enumerate() {
            match names.last_mut() {
                Some(name) if at > 0 && part.starts_with(' ') => *name = format!("{name},{part}"),
                _ => names.push(part.to_owned()),
            }
        }
    }
    names
}

/// The sources of a side, each folder of runs replaced by its runs.
fn sources(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    // A folder of several runs stands for each of them.
    let paths: Vec<PathBuf> = paths.iter().flat_map(|path| expand_runs(path)).collect();
    check_unique(&paths)?;
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Metrics of views have commas in their names.
    #[test]
    fn metrics_of_views_can_be_named() {
        let lists = ["pass@1,pass@1, as-written", "late(line, closed)"].map(str::to_owned);
        let names = metric_names(&lists);
        assert_eq!(
            names,
            ["pass@1", "pass@1, as-written", "late(line, closed)"]
        );
    }
}
