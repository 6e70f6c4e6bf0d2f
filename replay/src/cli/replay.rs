//! `fillrate replay`.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::{Args, ValueEnum};
use fillrate_server::configuration::{Configuration, ContextSettings, Layers, Profile};
use fillrate_server::model::recorded::{self, Record};
use fillrate_server::model::{self, Protocol, Settings};
use fillrate_server::syntax::Language;
use serde::Deserialize;
use serde_json::{Value, json};

use super::progress::Progress;
use super::projects::{self, Absent, Ready};
use super::{CliError, HoleChoice, Parallelism, Success};
use crate::corpus::manifest::Manifest;
use crate::corpus::{Corpus, tree};
use crate::developer::{Developer, DeveloperError, Offer, Server};
use crate::report::Report;
use crate::store::{Attempt, Run, State};
use crate::task::{self, Hole, sha256_hex};
use crate::verdict::{Outcome, Verdict};

/// Play a developer on benchmark repositories and judge the completions with their tests.
///
/// The same command started again goes on where it was stopped.
#[derive(Args)]
pub(super) struct Arguments {
    /// The corpus: a manifest file
    corpus: PathBuf,
    /// Holes that `mine` wrote, in place of mining
    #[arg(long, value_name = "FILE")]
    tasks: Option<PathBuf>,
    #[command(flatten)]
    choice: HoleChoice,
    /// How many completions to ask for at each hole
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// `embedded`, `reference`, `empty`, a settings file (.toml) or predictions (.jsonl)
    ///
    /// A settings file is a fillrate.toml with a `[model]` table. Predictions are JSON lines
    /// `{"hole": ID, "completions": [TEXT, …]}`.
    #[arg(long, default_value = "embedded", value_name = "NAME|FILE")]
    model: String,
    /// What the model is told of the repository [default: editor, or as the settings file says]
    #[arg(long, value_enum)]
    context: Option<ContextName>,
    /// How long the developer waits for a completion, in seconds
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    patience: u64,
    #[command(flatten)]
    parallelism: Parallelism,
    /// The run's folder [default: one in `runs/`, named after what is run]
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,
}

/// A retrieval profile's name on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum ContextName {
    /// Nothing but the open file
    None,
    /// What a person types against
    Editor,
}

/// How many attempts in a row may find no model before the run is stopped.
const FAULTS_IN_A_ROW: usize = 4;

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    let manifest = Manifest::read(&arguments.corpus)?;
    let tasks = arguments.tasks.as_deref().map(task::read).transpose()?;
    let contestant = Contestant::of(arguments)?;
    let corpus = Corpus::from_environment()?;
    let jobs = arguments.parallelism.jobs();
    let cache = corpus.cache.root().to_owned();

    let (prepared, mut absent) = projects::prepare(&corpus, &manifest);
    let projects: BTreeMap<&str, Value> = prepared
        .iter()
        .map(|prepared| {
            let state = json!([prepared.digest, prepared.environment.key]);
            (prepared.project.name.as_str(), state)
        })
        .collect();
    let identity = identity(arguments, &projects, tasks.as_deref(), &contestant)?;
    let (ready, failed) = projects::judge(prepared, &cache, jobs)?;
    absent.extend(failed);
    if ready.is_empty() {
        let reasons: Vec<&str> = absent
            .iter()
            .filter_map(|(_, state)| state.reason.as_deref())
            .collect();
        return Err(CliError::Refused(format!(
            "no project of {} can be replayed: {}",
            arguments.corpus.display(),
            reasons.join("; ")
        )));
    }

    let run = begin(arguments, &identity)?;
    for (name, state) in &absent {
        run.set_project(name, state)?;
    }
    let mut holes = Vec::new();
    for ready in &ready {
        let name = &ready.prepared.project.name;
        let (of_project, mined) = match &tasks {
            Some(tasks) => {
                let of_project = tasks.iter().filter(|hole| hole.project == *name).cloned();
                (of_project.collect(), None)
            }
            None => {
                let quota = projects::quota(&arguments.choice, &manifest, name);
                let mined = projects::holes(ready, &arguments.choice, quota, &cache, jobs)?;
                (mined.holes.clone(), Some(mined))
            }
        };
        run.set_project(name, &projects::state(ready, mined.as_ref()))?;
        let with_files = with_contents(ready, &of_project)?;
        run.add_holes(with_files)?;
        holes.extend(of_project);
    }
    if let Some(tasks) = &tasks {
        check_projects(tasks, &manifest, arguments)?;
    }
    contestant.write(run.folder(), &holes, &ready)?;
    tell_on_interrupt(run.folder());

    let replayed = Replay {
        arguments,
        contestant: &contestant,
        ready: ready
            .iter()
            .map(|ready| (ready.prepared.project.name.as_str(), ready))
            .collect(),
        run: Mutex::new(run),
        faults: AtomicUsize::new(0),
        stop: Mutex::new(None),
    };
    let run = replayed.play(&holes, jobs)?;
    run.set_finished()?;

    let report = Report::of(&run)?;
    if arguments.json {
        println!("{}", serde_json::to_string(&report).unwrap_or_default());
    } else {
        print!("{}", report.table());
        println!("run: {}", run.folder().display());
    }
    Ok(success(&absent))
}

/// Whether leaving out these projects makes a success partial.
pub(super) fn success(absent: &[Absent]) -> Success {
    if absent.iter().any(|(_, state)| state.state == State::Failed) {
        Success::Partial
    } else {
        Success::Whole
    }
}

/// All that the figures depend on, so that a folder is never filled with two different runs.
fn identity(
    arguments: &Arguments,
    projects: &BTreeMap<&str, Value>,
    tasks: Option<&[Hole]>,
    contestant: &Contestant,
) -> Result<Value, CliError> {
    let holes = match tasks {
        Some(tasks) => {
            let ids: Vec<&str> = tasks.iter().map(|hole| hole.id.as_str()).collect();
            json!({"tasks": sha256_hex(ids.join("\0").as_bytes())})
        }
        None => json!({
            "holes": arguments.choice.holes,
            "seed": arguments.choice.seed,
            "kinds": arguments.choice.kinds,
        }),
    };
    let predictions = match &contestant.predictions {
        Some(path) => {
            let bytes = std::fs::read(path).map_err(CliError::file(path))?;
            Some(sha256_hex(&bytes))
        }
        None => None,
    };
    Ok(json!({
        "program": env!("CARGO_PKG_VERSION"),
        "corpus": arguments.corpus.file_stem().map(|stem| stem.to_string_lossy()),
        "projects": projects,
        "holes": holes,
        "samples": arguments.samples,
        "model": contestant.name,
        "configuration": contestant.configuration,
        "predictions": predictions,
        "patience": arguments.patience,
    }))
}

/// Opens the run that the command names, or the unfinished one of the same identity in `runs/`,
/// or begins a new one there.
fn begin(arguments: &Arguments, identity: &Value) -> Result<Run, CliError> {
    if let Some(folder) = &arguments.out {
        return Ok(Run::open_or_begin(folder, identity)?);
    }
    let short = &sha256_hex(identity.to_string().as_bytes())[..8];
    let part = |key: &str| {
        let text = identity[key].as_str().unwrap_or_default();
        text.replace(
            |c: char| !c.is_ascii_alphanumeric() && !".-_".contains(c),
            "-",
        )
    };
    let name = format!("{}-{}-{short}", part("corpus"), part("model"));
    for attempt in 1.. {
        let folder = match attempt {
            1 => Path::new("runs").join(&name),
            _ => Path::new("runs").join(format!("{name}-{attempt}")),
        };
        let run = Run::open_or_begin(&folder, identity)?;
        if !run.is_finished()? {
            let done = run.attempts()?.len();
            if done > 0 {
                eprintln!(
                    "going on with {}: {done} attempts are done",
                    folder.display()
                );
            }
            return Ok(run);
        }
    }
    Err(CliError::Refused("runs/ is full".to_owned()))
}

/// Says what a person who stops the program needs to know.
fn tell_on_interrupt(folder: &Path) {
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
        else {
            return;
        };
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            eprintln!(
                "\nfillrate: stopped; what is done is kept in {}, start the same command again \
                 to go on",
                folder.display()
            );
            // 128 + SIGINT, as a shell reports it.
            std::process::exit(130);
        }
    });
}

fn with_contents<'a>(
    ready: &'a Ready,
    holes: &'a [Hole],
) -> Result<Vec<(&'a Hole, &'a str)>, CliError> {
    holes
        .iter()
        .map(|hole| {
            let contents = ready
                .files
                .iter()
                .find(|file| file.path == hole.path)
                .map(|file| file.contents.as_str())
                .ok_or_else(|| task::TaskError::OtherFile {
                    id: hole.id.clone(),
                    path: hole.path.clone(),
                })?;
            hole.cut(contents)?;
            Ok((hole, contents))
        })
        .collect()
}

/// Tasks of projects that the manifest does not have are a mistake.
fn check_projects(
    tasks: &[Hole],
    manifest: &Manifest,
    arguments: &Arguments,
) -> Result<(), CliError> {
    match tasks
        .iter()
        .find(|hole| manifest.project(&hole.project).is_none())
    {
        Some(hole) => Err(CliError::Refused(format!(
            "{} is of the project `{}`, which {} does not have",
            hole.id,
            hole.project,
            arguments.corpus.display()
        ))),
        None => Ok(()),
    }
}

/// The model that is measured, and how the server is told of it.
struct Contestant {
    /// The name in reports.
    name: String,
    /// The server's settings.
    configuration: Configuration,
    /// A file of predictions, where that is what answers.
    predictions: Option<PathBuf>,
    /// Whether the reference itself answers.
    reference: bool,
}

/// One line of a file of predictions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prediction {
    hole: String,
    completions: Vec<String>,
}

/// The server's settings in a run's folder.
const SETTINGS: &str = "server.toml";
/// What a recorded model answers, in a run's folder.
const RECORDING: &str = "recording.jsonl";

impl Contestant {
    fn of(arguments: &Arguments) -> Result<Self, CliError> {
        let mut configuration = Configuration::default();
        let mut predictions = None;
        let mut reference = false;
        let recorded = |name: &str| Settings {
            protocol: Protocol::Recorded,
            name: Some(name.to_owned()),
            ..Settings::default()
        };
        match arguments.model.as_str() {
            "embedded" => {}
            "empty" => configuration.model.protocol = Protocol::Empty,
            "reference" => {
                configuration.model = recorded("reference");
                reference = true;
            }
            file if file.ends_with(".toml") => {
                let mut layers = Layers::default();
                layers.file(Path::new(file))?;
                configuration = layers.merged()?;
            }
            file if file.ends_with(".jsonl") => {
                let stem = Path::new(file).file_stem().unwrap_or_default();
                configuration.model = recorded(&stem.to_string_lossy());
                predictions = Some(PathBuf::from(file));
            }
            other => {
                return Err(CliError::Refused(format!(
                    "`{other}` is no model; name `embedded`, `reference` or `empty`, a settings \
                     file that ends in .toml, or predictions in a file that ends in .jsonl"
                )));
            }
        }
        if let Some(name) = arguments.context {
            configuration.context = ContextSettings {
                profile: match name {
                    ContextName::None => Profile::None,
                    ContextName::Editor => Profile::Editor,
                },
                ..configuration.context
            };
        }
        let name = match configuration.model.protocol {
            Protocol::Recorded => configuration.model.name.clone().unwrap_or_default(),
            // Opened only for its name, and so that a fault in the settings shows at once.
            _ => model::open(&configuration.model, &|name| std::env::var(name).ok())?
                .name()
                .to_owned(),
        };
        Ok(Self {
            name,
            configuration,
            predictions,
            reference,
        })
    }

    /// Writes the server's settings into a run's folder, and what it answers where that is known.
    fn write(&self, folder: &Path, holes: &[Hole], ready: &[Ready]) -> Result<(), CliError> {
        let mut configuration = self.configuration.clone();
        if let Some(records) = self.records(holes, ready)? {
            let path = folder.join(RECORDING);
            let lines: Vec<String> = records
                .iter()
                .filter_map(|record| serde_json::to_string(record).ok())
                .collect();
            std::fs::write(&path, lines.join("\n") + "\n").map_err(CliError::file(&path))?;
            let absolute = std::path::absolute(&path).map_err(CliError::file(&path))?;
            configuration.model.recording = Some(absolute);
        }
        let path = folder.join(SETTINGS);
        let text = toml::to_string(&configuration)
            .map_err(|error| CliError::Refused(error.to_string()))?;
        std::fs::write(&path, text).map_err(CliError::file(&path))
    }

    fn records(&self, holes: &[Hole], ready: &[Ready]) -> Result<Option<Vec<Record>>, CliError> {
        let predictions = match &self.predictions {
            Some(path) => Some(read_predictions(path)?),
            None => None,
        };
        if predictions.is_none() && !self.reference {
            return Ok(None);
        }
        let mut records = Vec::new();
        for ready in ready {
            let of_project: Vec<Hole> = holes
                .iter()
                .filter(|hole| hole.project == ready.prepared.project.name)
                .cloned()
                .collect();
            for (hole, contents) in with_contents(ready, &of_project)? {
                let (prefix, suffix) = hole.cut(contents)?;
                let completions = match &predictions {
                    None => vec![hole.reference.clone()],
                    Some(predictions) => predictions.get(&hole.id).cloned().ok_or_else(|| {
                        CliError::Refused(format!(
                            "the predictions have nothing for the hole {}",
                            hole.id
                        ))
                    })?,
                };
                let key = recorded::key(prefix, suffix);
                records.push(Record { key, completions });
            }
        }
        Ok(Some(records))
    }
}

fn read_predictions(path: &Path) -> Result<HashMap<String, Vec<String>>, CliError> {
    let text = std::fs::read_to_string(path).map_err(CliError::file(path))?;
    let mut predictions = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let refuse = |reason: String| {
            CliError::Refused(format!("{}, line {}: {reason}", path.display(), index + 1))
        };
        let prediction: Prediction =
            serde_json::from_str(line).map_err(|error| refuse(error.to_string()))?;
        if prediction.completions.is_empty() {
            return Err(refuse("`completions` is empty".to_owned()));
        }
        if predictions
            .insert(prediction.hole.clone(), prediction.completions)
            .is_some()
        {
            return Err(refuse(format!("{} stands there twice", prediction.hole)));
        }
    }
    Ok(predictions)
}

/// A replay under way.
struct Replay<'a> {
    arguments: &'a Arguments,
    contestant: &'a Contestant,
    ready: BTreeMap<&'a str, &'a Ready>,
    run: Mutex<Run>,
    /// Attempts in a row that found no model.
    faults: AtomicUsize,
    /// What ends the run before its time.
    stop: Mutex<Option<CliError>>,
}

/// What is left to do at one hole.
struct Errand<'a> {
    hole: &'a Hole,
    /// Samples that are missing, each with its attempt's key.
    samples: Vec<(u32, String)>,
}

impl Replay<'_> {
    /// Makes the attempts that are missing.
    fn play(self, holes: &[Hole], jobs: usize) -> Result<Run, CliError> {
        let errands = self.errands(holes)?;
        let all = holes.len() * self.arguments.samples as usize;
        let missing: usize = errands.iter().map(|errand| errand.samples.len()).sum();
        let done = AtomicUsize::new(all - missing);
        let queue = Mutex::new(VecDeque::from(errands));
        let progress = Progress::of(format!("replaying {}", self.contestant.name));
        progress.at(all - missing, all);
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    let mut desk = Desk::default();
                    loop {
                        let Some(errand) = lock(&queue).pop_front() else {
                            break;
                        };
                        let outcome = self.run_errand(&errand, &mut desk, || {
                            progress.at(done.fetch_add(1, Ordering::Relaxed) + 1, all);
                        });
                        if let Err(error) = outcome {
                            lock(&self.stop).get_or_insert(error);
                        }
                        if lock(&self.stop).is_some() {
                            break;
                        }
                    }
                });
            }
        });
        drop(progress);
        match lock(&self.stop).take() {
            Some(error) => Err(error),
            None => Ok(self
                .run
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn errands<'h>(&self, holes: &'h [Hole]) -> Result<Vec<Errand<'h>>, CliError> {
        // What the machinery spoiled is tried again.
        let done: BTreeSet<String> = lock(&self.run)
            .attempts()?
            .into_iter()
            .filter(|attempt| attempt.verdict.outcome != Outcome::Infrastructure)
            .map(|attempt| attempt.key)
            .collect();
        let errands = holes.iter().map(|hole| Errand {
            hole,
            samples: (0..self.arguments.samples)
                .map(|sample| (sample, self.key(hole, sample)))
                .filter(|(_, key)| !done.contains(key))
                .collect(),
        });
        Ok(errands
            .filter(|errand| !errand.samples.is_empty())
            .collect())
    }

    /// The hash of all that an attempt depends on.
    fn key(&self, hole: &Hole, sample: u32) -> String {
        let judge = self
            .ready
            .get(hole.project.as_str())
            .map(|ready| ready.judge.key());
        let parts = json!([
            hole,
            self.contestant.name,
            self.contestant.configuration,
            sample,
            judge,
            self.arguments.patience,
        ]);
        sha256_hex(parts.to_string().as_bytes())
    }

    /// Does one errand: a fresh server, so that no hole knows of another, and an attempt for each
    /// missing sample.
    fn run_errand(
        &self,
        errand: &Errand<'_>,
        desk: &mut Desk,
        progress: impl Fn(),
    ) -> Result<(), CliError> {
        let hole = errand.hole;
        let Some(ready) = self.ready.get(hole.project.as_str()) else {
            return Ok(());
        };
        let contents = ready
            .files
            .iter()
            .find(|file| file.path == hole.path)
            .map(|file| file.contents.as_str())
            .unwrap_or_default();
        let (prefix, suffix) = hole.cut(contents)?;
        let workspace = desk.show(ready, hole, &[prefix, suffix].concat())?;
        let samples: Vec<u32> = errand.samples.iter().map(|(sample, _)| *sample).collect();
        let offers = desk
            .runtime()?
            .block_on(self.converse(hole, &workspace, prefix, suffix, &samples));
        desk.put_back(ready, hole)?;
        let offers = offers?;
        for ((sample, key), offer) in errand.samples.iter().zip(offers) {
            let verdict = self.verdict(ready, hole, contents, &offer)?;
            let attempt = Attempt {
                key: key.clone(),
                hole: hole.id.clone(),
                project: hole.project.clone(),
                model: self.contestant.name.clone(),
                sample: *sample,
                answered: offer.answered,
                latency_ms: offer.latency.as_secs_f64() * 1000.0,
                offered: offer.candidates,
                trace: offer.trace,
                verdict,
            };
            lock(&self.run).add_attempt(&attempt)?;
            progress();
        }
        Ok(())
    }

    /// Plays the developer at one hole.
    async fn converse(
        &self,
        hole: &Hole,
        workspace: &Path,
        prefix: &str,
        suffix: &str,
        samples: &[u32],
    ) -> Result<Vec<Offer>, CliError> {
        let program = std::env::current_exe().map_err(CliError::file("this program"))?;
        let folder = lock(&self.run).folder().to_owned();
        let settings =
            std::path::absolute(folder.join(SETTINGS)).map_err(CliError::file(&folder))?;
        let server = Server {
            program,
            arguments: vec![
                "serve".to_owned(),
                "--config".to_owned(),
                settings.display().to_string(),
            ],
            patience: Duration::from_secs(120),
        };
        let mut developer = Developer::start(&server, workspace).await?;
        let language = Language::for_path(Path::new(&hole.path)).map_or("", |language| language.id);
        let cut = [prefix, suffix].concat();
        let seed = self.contestant.configuration.model.seed;
        let mut offers = Vec::new();
        for sample in samples {
            if self.arguments.samples > 1 {
                let seed = seed + u64::from(*sample);
                developer
                    .configure(&json!({"model": {"seed": seed}}))
                    .await?;
            }
            let mut buffer = developer
                .open(&workspace.join(&hole.path), language, &cut)
                .await?;
            let patience = Duration::from_secs(self.arguments.patience);
            let offer = developer.ask(&buffer, hole.start, patience).await?;
            if let Some(text) = offer.candidates.first() {
                developer.accept(&mut buffer, hole.start, text).await?;
                // What the editor shows is what the tests are given.
                if buffer.contents() != [prefix, text, suffix].concat() {
                    return Err(DeveloperError::Garbled(format!(
                        "{}: the editor shows something else than the completion in its place",
                        hole.id
                    ))
                    .into());
                }
            }
            developer.close(buffer).await?;
            offers.push(offer);
        }
        developer.leave().await?;
        Ok(offers)
    }

    fn verdict(
        &self,
        ready: &Ready,
        hole: &Hole,
        contents: &str,
        offer: &Offer,
    ) -> Result<Verdict, CliError> {
        if let Some(fault) = offer.trace.as_ref().and_then(|trace| trace.fault.as_ref()) {
            let faults = self.faults.fetch_add(1, Ordering::Relaxed) + 1;
            if faults >= FAULTS_IN_A_ROW {
                return Err(CliError::Refused(format!(
                    "the model {} gave no answer {faults} times in a row: {fault}; mend that and \
                     start the same command again, nothing that was done is lost",
                    self.contestant.name
                )));
            }
            return Ok(Verdict::infrastructure(fault));
        }
        self.faults.store(0, Ordering::Relaxed);
        let completion = offer
            .candidates
            .first()
            .map(String::as_str)
            .unwrap_or_default();
        let filled = hole.filled(contents, completion)?;
        Ok(ready
            .judge
            .judge(&hole.path, &filled)
            .unwrap_or_else(|error| Verdict::infrastructure(&error)))
    }
}

/// A worker's own place: a copy of each project it works on, as the server is to see it.
#[derive(Default)]
struct Desk {
    copies: HashMap<String, tempfile::TempDir>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Desk {
    fn runtime(&mut self) -> Result<&tokio::runtime::Runtime, CliError> {
        if self.runtime.is_none() {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(CliError::file("the runtime"))?;
            self.runtime = Some(runtime);
        }
        self.runtime
            .as_ref()
            .ok_or_else(|| CliError::Refused("the runtime is gone".to_owned()))
    }

    /// The workspace folder with the hole cut out of its file: the server never sees it filled.
    fn show(&mut self, ready: &Ready, hole: &Hole, cut: &str) -> Result<PathBuf, CliError> {
        let name = &ready.prepared.project.name;
        if !self.copies.contains_key(name) {
            let folder = tempfile::tempdir().map_err(CliError::file(std::env::temp_dir()))?;
            tree::materialise(&ready.prepared, &folder.path().join(name))?;
            self.copies.insert(name.clone(), folder);
        }
        // The folder has the project's name: models are told it.
        let workspace = self.copies[name].path().join(name);
        let path = workspace.join(&hole.path);
        std::fs::write(&path, cut).map_err(CliError::file(&path))?;
        Ok(workspace)
    }

    fn put_back(&self, ready: &Ready, hole: &Hole) -> Result<(), CliError> {
        let name = &ready.prepared.project.name;
        if let Some(folder) = self.copies.get(name) {
            let path = folder.path().join(name).join(&hole.path);
            let source = ready.prepared.source.join(&hole.path);
            std::fs::copy(&source, &path).map_err(CliError::file(&path))?;
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
