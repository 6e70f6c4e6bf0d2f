//! `fillrate study`.

mod demo;

use fillrate_report::table::TextWidth;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use clap::Args;
use fillrate_engine::store::{Run, TypingAttempt, view_name};
use fillrate_language::task::Hole;
use fillrate_study::common::{MeasuredHoles, common_holes};
use fillrate_study::offline::{ReplayedAttempt, offline_side, run_configuration};
use fillrate_study::simulated::simulated_side;
use fillrate_study::table::parse_table;
use fillrate_study::telemetry::online::online_side;
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

pub(super) fn run(arguments: &StudyArguments, width: TextWidth) -> Result<Success, CliError> {
    super::check_writable(&arguments.out)?;
    let (offline, second_side, second) = if arguments.demo {
        let runs = demo::replay_versions(arguments)?;
        let simulated = read_typed_side(&runs)?;
        let offline = read_offline_side(&runs)?;
        (offline, simulated, SecondSide::Simulated)
    } else {
        let offline = read_offline_side(&arguments.offline)?;
        if arguments.simulated.is_empty() {
            let online = read_side(&arguments.online, read_telemetry)?;
            (offline, online, SecondSide::Online)
        } else {
            let simulated = read_typed_side(&arguments.simulated)?;
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
        out!("{}", study.text(width));
        outln!("page: {}", folder.join(PAGE).display());
    }
    Ok(Success::Whole)
}

/// Reads the sources of a side: tables here, others by `read_other`.
fn read_side(
    paths: &[PathBuf],
    read_other: impl Fn(&Path) -> Result<StudySide, CliError>,
) -> Result<StudySide, CliError> {
    let paths: Vec<PathBuf> = paths.iter().flat_map(|path| expand_runs(path)).collect();
    check_unique(&paths)?;
    let mut whole = StudySide::default();
    for path in &paths {
        if is_table(path) {
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

/// True if a source of a side is a table of figures.
fn is_table(path: &Path) -> bool {
    let ending = path.extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("csv"))
}

/// Reads a side of runs and tables. If its versions were measured on different holes, only what
/// they have in common counts: `measured` says what a run was measured on, and `read` takes the
/// figures of the holes of a set, or of all.
fn read_run_side(
    paths: &[PathBuf],
    measured: impl Fn(&Path) -> Result<Vec<MeasuredHoles>, CliError>,
    read: impl Fn(&Path, Option<&BTreeSet<String>>) -> Result<StudySide, CliError>,
) -> Result<StudySide, CliError> {
    let runs = paths.iter().flat_map(|path| expand_runs(path));
    let runs: Vec<PathBuf> = runs.filter(|path| !is_table(path)).collect();
    check_unique(&runs)?;
    let mut all = Vec::new();
    for run in &runs {
        all.extend(measured(run)?);
    }
    let common = common_holes(&all)?;
    let mut side = read_side(paths, |path| {
        read(path, common.as_ref().map(|common| &common.holes))
    })?;
    side.warnings.extend(common.map(|common| common.warning));
    Ok(side)
}

fn read_offline_side(paths: &[PathBuf]) -> Result<StudySide, CliError> {
    let measured = |folder: &Path| {
        let run = Run::open(folder)?;
        let attempts = run.attempts()?;
        let configuration = run_configuration(&attempts).map(str::to_owned);
        let counted = attempts
            .iter()
            .filter(|one| one.repair_round == 0 && one.verdict.outcome.is_counted());
        let rows = counted.map(|one| (&*one.model, configuration.clone(), &*one.hole, &*one.key));
        Ok(measured_holes(folder, rows))
    };
    read_run_side(paths, measured, read_offline_run)
}

fn read_typed_side(paths: &[PathBuf]) -> Result<StudySide, CliError> {
    let measured = |folder: &Path| {
        let run = Run::open(folder)?;
        let (attempts, typings) = (run.attempts()?, run.typings()?);
        let configuration = run_configuration(&attempts);
        let rows = typings.iter().filter(|one| one.is_counted()).map(|one| {
            let own = Some(&*one.configuration).filter(|own| !own.is_empty());
            let configuration = own.or(configuration).map(str::to_owned);
            (&*one.model, configuration, &*one.hole, &*one.key)
        });
        Ok(measured_holes(folder, rows))
    };
    read_run_side(paths, measured, read_typed_run)
}

/// The holes of a run by version, of rows of model, configuration, hole and key.
fn measured_holes<'a>(
    folder: &Path,
    rows: impl Iterator<Item = (&'a str, Option<String>, &'a str, &'a str)>,
) -> Vec<MeasuredHoles> {
    let mut versions: BTreeMap<(String, Option<String>), MeasuredHoles> = BTreeMap::new();
    for (model, configuration, hole, key) in rows {
        let version = (model.to_owned(), configuration);
        let of_version = versions
            .entry(version.clone())
            .or_insert_with(|| MeasuredHoles {
                source: folder.display().to_string(),
                version,
                holes: BTreeSet::new(),
                keys: BTreeSet::new(),
            });
        of_version.holes.insert(hole.to_owned());
        of_version.keys.insert(key.to_owned());
    }
    versions.into_values().collect()
}

/// Reads the offline figures of a run, of the holes of a set or of all.
fn read_offline_run(
    folder: &Path,
    common: Option<&BTreeSet<String>>,
) -> Result<StudySide, CliError> {
    let run = Run::open(folder)?;
    let (mut attempts, holes) = (run.attempts()?, run.holes()?);
    attempts.retain(|one| common.is_none_or(|common| common.contains(&one.hole)));
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

/// Reads what simulated developers accepted in a run, in the holes of a set or in all.
fn read_typed_run(folder: &Path, common: Option<&BTreeSet<String>>) -> Result<StudySide, CliError> {
    let run = Run::open(folder)?;
    let (attempts, holes, mut typings) = (run.attempts()?, run.holes()?, run.typings()?);
    typings.retain(|one| common.is_none_or(|common| common.contains(&one.hole)));
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
    if path.join(fillrate_engine::store::FILE_NAME).is_file() {
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
