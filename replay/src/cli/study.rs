//! `fillrate study`.

mod demo;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{CliError, Success};
use crate::store::Run;
use crate::study::offline::Seen;
use crate::study::simulated::Typed;
use crate::study::{self, By, Options, Second, Side, Study, aggregate};

/// The study's file for programs.
const JSON: &str = "study.json";
/// The study's page for people.
const PAGE: &str = "index.html";

/// Say whether an offline score predicts what people accept, over model versions.
///
/// Versions are joined by the model's name and its configuration's fingerprint. The answer is
/// printed and written, with all figures, to DIR: `index.html`, a page that opens from disk, and
/// `study.json`, whose fields stand in the evaluator's reference page.
#[derive(Args)]
pub(super) struct Arguments {
    /// Runs of `replay`, one or more for each version, or tables of figures (.csv)
    ///
    /// A table has the columns version, language, metric, value and n, and if wanted error (a
    /// standard error) and configuration.
    #[arg(long, num_args = 1.., value_name = "RUN|CSV", required_unless_present = "demo")]
    offline: Vec<PathBuf>,
    /// Telemetry of people's editors (a store, or lines that `telemetry export` wrote), or tables
    #[arg(long, num_args = 1.., value_name = "TELEMETRY|CSV", required_unless_present_any = ["simulated", "demo"])]
    online: Vec<PathBuf>,
    /// In place of --online, runs of `replay --mode type`: what a simulated developer accepted.
    /// Never shown as online
    #[arg(long, num_args = 1.., value_name = "RUN|CSV", conflicts_with = "online")]
    simulated: Vec<PathBuf>,
    /// What versions are compared within: `version`, all languages together, or
    /// `version,language`, each language by itself
    #[arg(long, default_value = "version", value_name = "BY", value_parser = by)]
    by: By,
    /// Offline metrics, the main one first [default: all there are, pass@1 first]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    metrics: Vec<String>,
    /// Metrics of the other side, the main one first [default: all there are]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    against: Vec<String>,
    /// The folder of the page and the figures
    #[arg(short, long, value_name = "DIR", default_value = "study")]
    out: PathBuf,
    /// Play the demo: five configurations of the embedded model as model versions, by a simulated
    /// developer on the demo corpora. Its runs are kept in DIR, and the same command goes on where
    /// it was stopped
    #[arg(long, conflicts_with_all = ["offline", "online", "simulated"])]
    demo: bool,
    /// For the demo: the corpus
    #[arg(long, default_value = "corpora/demo.toml", value_name = "MANIFEST")]
    corpus: PathBuf,
    /// For the demo: how many holes each version is given
    #[arg(long, default_value_t = 80, value_name = "N")]
    holes: usize,
    /// Equal seeds give equal studies
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print study.json's contents in place of the text
    #[arg(long)]
    json: bool,
}

fn by(text: &str) -> Result<By, String> {
    match text {
        "version" => Ok(By::Version),
        "version,language" => Ok(By::VersionAndLanguage),
        _ => Err("it is `version` or `version,language`".to_owned()),
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    if arguments.demo {
        let runs = demo::play(arguments)?;
        let (offline, simulated) = (side(&runs, offline_run)?, side(&runs, typed_run)?);
        return tell(arguments, &offline, &simulated, Second::Simulated);
    }
    let offline = side(&arguments.offline, offline_run)?;
    if arguments.simulated.is_empty() {
        let online = side(&arguments.online, telemetry)?;
        return tell(arguments, &offline, &online, Second::Online);
    }
    let simulated = side(&arguments.simulated, typed_run)?;
    tell(arguments, &offline, &simulated, Second::Simulated)
}

/// Makes the study, prints it and writes it.
fn tell(
    arguments: &Arguments,
    offline: &Side,
    second_side: &Side,
    second: Second,
) -> Result<Success, CliError> {
    let options = Options {
        by: arguments.by,
        offline_metrics: arguments.metrics.clone(),
        second_metrics: arguments.against.clone(),
        seed: arguments.seed,
        ..Options::default()
    };
    let study = Study::of(offline, second_side, second, &options)?;
    let json = serde_json::to_string_pretty(&study)
        .map_err(|error| CliError::Refused(format!("the study can't be written: {error}")))?;
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

/// Reads all that a side is given: tables here, anything else by `other`.
fn side(
    paths: &[PathBuf],
    other: impl Fn(&Path) -> Result<Side, CliError>,
) -> Result<Side, CliError> {
    let mut whole = Side::default();
    for path in paths {
        let is_table = path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        if is_table {
            let text = std::fs::read_to_string(path).map_err(CliError::file(path))?;
            let observations = aggregate::read(&text, &path.display().to_string())?;
            whole.observations.extend(observations);
        } else {
            let more = other(path)?;
            whole.observations.extend(more.observations);
            whole.mixes.extend(more.mixes);
        }
    }
    Ok(whole)
}

/// The offline figures of a run.
fn offline_run(folder: &Path) -> Result<Side, CliError> {
    let run = Run::open(folder)?;
    let (attempts, holes) = (run.attempts()?, run.holes()?);
    let mut files: HashMap<&str, String> = HashMap::new();
    for hole in holes.values() {
        if !files.contains_key(hole.file_sha256.as_str()) {
            files.insert(&hole.file_sha256, run.source(hole)?);
        }
    }
    let seen: Vec<Seen<'_>> = attempts
        .iter()
        .filter_map(|attempt| {
            let hole = holes.get(&attempt.hole)?;
            Some(Seen {
                attempt,
                hole,
                contents: files.get(hole.file_sha256.as_str())?,
            })
        })
        .collect();
    if seen.is_empty() {
        return Err(CliError::Refused(format!(
            "{} has no attempt, so it has no offline figure",
            folder.display()
        )));
    }
    let source = folder.display().to_string();
    Ok(study::offline::side(&seen, &source, name(folder)))
}

/// What simulated developers accepted in a run.
fn typed_run(folder: &Path) -> Result<Side, CliError> {
    let run = Run::open(folder)?;
    let (attempts, holes, typings) = (run.attempts()?, run.holes()?, run.typings()?);
    let typed: Vec<Typed<'_>> = typings
        .iter()
        .filter_map(|typing| {
            let hole = holes.get(&typing.hole)?;
            Some(Typed { typing, hole })
        })
        .collect();
    if typed.is_empty() {
        return Err(CliError::Refused(format!(
            "{}: nobody typed in this run, so nothing was accepted; play it with `replay --mode \
             type`",
            folder.display()
        )));
    }
    let configuration = study::offline::configuration(&attempts);
    let source = folder.display().to_string();
    Ok(study::simulated::side(
        &typed,
        configuration,
        &source,
        name(folder),
    ))
}

/// What people's editors told.
fn telemetry(path: &Path) -> Result<Side, CliError> {
    if path.join(crate::store::FILE_NAME).is_file() {
        return Err(CliError::Refused(format!(
            "{}: a run's acceptance is a simulated developer's, not people's; give it to \
             --simulated",
            path.display()
        )));
    }
    let contents = fillrate_server::telemetry::read(path)?;
    let side = study::online::side(&contents, &path.display().to_string());
    side.ok_or_else(|| {
        CliError::Refused(format!(
            "{} has no completion that was offered to a person; what a replay noted is \
             simulated, and never counted as online",
            path.display()
        ))
    })
}

/// A run's own name: its folder's.
fn name(folder: &Path) -> Option<&str> {
    folder.file_name()?.to_str()
}
