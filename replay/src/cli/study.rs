//! `fillrate study`.

mod demo;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::runs::expand_runs;
use super::{CliError, Success};
use crate::store::{Run, TypingAttempt, view_name};
use crate::study::offline::{ReplayedAttempt, offline_side, run_configuration};
use crate::study::simulated::simulated_side;
use crate::study::table::parse_table;
use crate::study::telemetry::online::online_side;
use crate::study::{Grouping, SecondSide, Study, StudyOptions, StudySide};
use crate::task::Hole;

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
    /// Replay the demo: five configurations of the embedded model as model versions, with a simulated
    /// developer, on the demo corpora. Its runs are stored in DIR; the same command resumes an
    /// interrupted demo
    #[arg(long, conflicts_with_all = ["offline", "online", "simulated"])]
    demo: bool,
    /// For the demo: the corpus
    #[arg(long, default_value = "corpora/demo.toml", value_name = "MANIFEST")]
    corpus: PathBuf,
    /// For the demo: the holes of each version
    #[arg(long, default_value_t = 80, value_name = "N")]
    holes: usize,
    /// Equal seeds give equal studies
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print study.json's contents in place of the text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &StudyArguments) -> Result<Success, CliError> {
    super::check_writable(&arguments.out)?;
    let (offline, second_side, second) = if arguments.demo {
        let runs = demo::replay_versions(arguments)?;
        let simulated = read_side(&runs, read_typed_run)?;
        let offline = read_side(&runs, read_offline_run)?;
        (offline, simulated, SecondSide::Simulated)
    } else {
        let offline = read_side(&arguments.offline, read_offline_run)?;
        if arguments.simulated.is_empty() {
            let online = read_side(&arguments.online, read_telemetry)?;
            (offline, online, SecondSide::Online)
        } else {
            let simulated = read_side(&arguments.simulated, read_typed_run)?;
            (offline, simulated, SecondSide::Simulated)
        }
    };
    write_study(arguments, &offline, &second_side, second)
}

/// Calculates the study, prints it and writes it.
fn write_study(
    arguments: &StudyArguments,
    offline: &StudySide,
    second_side: &StudySide,
    second: SecondSide,
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
        out!("{}", study.text());
        outln!("page: {}", folder.join(PAGE).display());
    }
    Ok(Success::Whole)
}

/// Reads the sources of a side: tables here, others by `read_other`.
fn read_side(
    paths: &[PathBuf],
    read_other: impl Fn(&Path) -> Result<StudySide, CliError>,
) -> Result<StudySide, CliError> {
    let mut whole = StudySide::default();
    for path in paths.iter().flat_map(|path| expand_runs(path)) {
        let path = &path;
        let is_table = path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        if is_table {
            let text = std::fs::read_to_string(path).map_err(CliError::file(path))?;
            let observations = parse_table(&text, &path.display().to_string())?;
            whole.observations.extend(observations);
        } else {
            let more = read_other(path)?;
            whole.observations.extend(more.observations);
            whole.mixes.extend(more.mixes);
        }
    }
    Ok(whole)
}

/// Reads the offline figures of a run.
fn read_offline_run(folder: &Path) -> Result<StudySide, CliError> {
    let run = Run::open(folder)?;
    let (attempts, holes) = (run.attempts()?, run.holes()?);
    let mut files: HashMap<&str, String> = HashMap::new();
    for hole in holes.values() {
        if !files.contains_key(hole.file_sha256.as_str()) {
            files.insert(&hole.file_sha256, run.source(hole)?);
        }
    }
    let attempts: Vec<ReplayedAttempt<'_>> = attempts
        .iter()
        .filter_map(|attempt| {
            let hole = holes.get(&attempt.hole)?;
            Some(ReplayedAttempt {
                attempt,
                hole,
                contents: files.get(hole.file_sha256.as_str())?,
            })
        })
        .collect();
    if attempts.is_empty() {
        return Err(CliError::Refused(format!(
            "{} has no attempt, so it has no offline figure",
            folder.display()
        )));
    }
    let source = folder.display().to_string();
    let identity = run.identity()?;
    let view = view_name(&identity).parse().map_err(CliError::Refused)?;
    Ok(offline_side(&attempts, &source, run_name(folder), view))
}

/// Reads what simulated developers accepted in a run.
fn read_typed_run(folder: &Path) -> Result<StudySide, CliError> {
    let run = Run::open(folder)?;
    let (attempts, holes, typings) = (run.attempts()?, run.holes()?, run.typings()?);
    let typed: Vec<(&TypingAttempt, &Hole)> = typings
        .iter()
        .filter_map(|typing| Some((typing, holes.get(&typing.hole)?)))
        .collect();
    if typed.is_empty() {
        return Err(CliError::Refused(format!(
            "{}: this run has no typed hole, so nothing was accepted; replay it with `replay \
             --mode type`",
            folder.display()
        )));
    }
    let source = folder.display().to_string();
    Ok(simulated_side(
        &typed,
        run_configuration(&attempts),
        &source,
        run_name(folder),
    ))
}

/// Reads the telemetry of people's editors.
fn read_telemetry(path: &Path) -> Result<StudySide, CliError> {
    if path.join(crate::store::FILE_NAME).is_file() {
        return Err(CliError::Refused(format!(
            "{}: a run's acceptance is that of a simulated developer, not of people; use \
             --simulated for it",
            path.display()
        )));
    }
    let contents = fillrate_server::telemetry::read(path)?;
    online_side(&contents, &path.display().to_string()).ok_or_else(|| {
        CliError::Refused(format!(
            "{} has no completion that was offered to a person; sessions of a replay are \
             simulated and never count as online",
            path.display()
        ))
    })
}

/// A run's own name: its folder's.
fn run_name(folder: &Path) -> Option<&str> {
    folder.file_name()?.to_str()
}
