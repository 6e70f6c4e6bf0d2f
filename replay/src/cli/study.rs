//! `fillrate study`.

mod demo;

use std::path::PathBuf;

use clap::Args;
use fillrate_report::table::TextWidth;
use fillrate_study::sides::{read_offline_side, read_online_side, read_typed_side};
use fillrate_study::{Grouping, SecondSide, Study, StudyOptions, StudySide};

use super::runs::{check_unique, expand_runs};
use super::{CliError, Success};

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
    #[arg(long, num_args = 1.., value_name = "RUN|CSV", required_unless_present = "demo")]
    offline: Vec<PathBuf>,
    /// Telemetry of people's editors (a store, or lines that `telemetry export` wrote), or tables
    #[arg(long, num_args = 1.., value_name = "TELEMETRY|CSV", required_unless_present_any = ["simulated", "demo"])]
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
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    metrics: Vec<String>,
    /// Metrics of the other side, the main one first [default: all there are]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    against: Vec<String>,
    /// The folder of the page and the figures
    #[arg(short, long, value_name = "DIR", default_value = "study")]
    out: PathBuf,
    /// Replay the demo: five configurations of the embedded model as model versions, with a
    /// simulated developer, on the demo corpora. Its runs are stored in DIR; the same command
    /// resumes an interrupted demo
    #[arg(long, conflicts_with_all = ["offline", "online", "simulated"])]
    demo: bool,
    /// For the demo: the corpus
    #[arg(
        long,
        default_value = "corpora/demo.toml",
        value_name = "MANIFEST",
        requires = "demo",
        conflicts_with_all = ["offline", "online", "simulated"]
    )]
    corpus: PathBuf,
    /// For the demo: the holes of each version
    #[arg(
        long,
        default_value_t = 80,
        value_name = "N",
        requires = "demo",
        conflicts_with_all = ["offline", "online", "simulated"]
    )]
    holes: usize,
    /// Equal seeds give equal studies
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print study.json's contents in place of the text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &StudyArguments, width: TextWidth) -> Result<Success, CliError> {
    // A study reads its sides for minutes, so the output is checked first.
    super::check_writable(&arguments.out)?;
    let (offline, second_side, second) = if arguments.demo {
        let runs = demo::replay_versions(arguments)?;
        let simulated = read_typed_side(&runs)?;
        let offline = read_offline_side(&runs)?;
        (offline, simulated, SecondSide::Simulated)
    } else {
        let offline = read_offline_side(&sources(&arguments.offline)?)?;
        if arguments.simulated.is_empty() {
            let online = read_online_side(&sources(&arguments.online)?)?;
            (offline, online, SecondSide::Online)
        } else {
            let simulated = read_typed_side(&sources(&arguments.simulated)?)?;
            (offline, simulated, SecondSide::Simulated)
        }
    };
    write_study(arguments, &offline, &second_side, second, width)
}

/// Calculates the study, prints it and writes it.
fn write_study(
    arguments: &StudyArguments,
    offline: &StudySide,
    second_side: &StudySide,
    second: SecondSide,
    width: TextWidth,
) -> Result<Success, CliError> {
    let options = StudyOptions {
        by: arguments.by,
        offline_metrics: arguments.metrics.clone(),
        second_metrics: arguments.against.clone(),
        seed: arguments.seed,
        ..StudyOptions::default()
    };
    let study = Study::new(offline, second_side, second, &options)?;
    let json = serde_json::to_string_pretty(&study).map_err(|error| {
        CliError::Refused(format!("the study can't be written as JSON: {error}"))
    })?;
    let folder = &arguments.out;
    std::fs::create_dir_all(folder).map_err(CliError::file(folder))?;
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
    Ok(Success::Whole)
}

/// The sources of a side, each folder of runs replaced by its runs.
fn sources(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    // A folder of several runs stands for each of them.
    let paths: Vec<PathBuf> = paths.iter().flat_map(|path| expand_runs(path)).collect();
    check_unique(&paths)?;
    Ok(paths)
}
