//! `fillrate replay`.

mod contestant;
mod context;
mod play;
mod predictions;
mod typing;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use fillrate_server::model::recorded::Record;
use fillrate_server::syntax::Language;
use serde_json::{Value, json};

use super::projects::{self, Absent, Playable};
use super::stop::tell_when_stopped;
use super::{CliError, Execution, HoleChoice, Success};
use crate::corpus::Corpus;
use crate::corpus::manifest::Manifest;
use crate::mine::contexts::Paper;
use crate::report::{Comparison, RunReport};
use crate::store::{Behaviour, Machine, Run, State};
use crate::task::{self, Hole, sha256_hex};
use crate::verdict::Outcome;
use contestant::Contestant;
use context::Context;
use play::{Answers, Replay};

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
    /// How many completions to ask for at each hole [default: 1, or all there are of
    /// `--predictions`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    samples: Option<u32>,
    /// `embedded`, `reference`, `empty`, `predictions`, a settings file (.toml) or predictions
    /// (.jsonl)
    ///
    /// A settings file is a fillrate.toml with a `[model]` table. Predictions are JSON lines
    /// `{"hole": ID, "completions": [TEXT, …]}`, or as benchmarks have them, with a `task_id`. A
    /// file of them is served like any model's answers, clean-up included; `predictions` judges
    /// those of `--predictions` as they stand.
    #[arg(long, default_value = "embedded", value_name = "NAME|FILE")]
    model: String,
    /// What `--model predictions` judges as it stands
    #[arg(long, value_name = "FILE")]
    predictions: Option<PathBuf>,
    /// What the model is told of the repository [default: editor, or as the settings file says]
    ///
    /// A context profile of the server, such as `none` or `editor`, or a context of a paper, such
    /// as `repoexec-full` or `mrg-callee-bodies`; the evaluator's reference page lists these.
    /// Several, with commas between them, are played on the same holes, each as a run of its own,
    /// and compared with the first: differences with their intervals, and McNemar's test where a
    /// figure is yes or no at each hole.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    context: Vec<Context>,
    /// How often a chat model may mend an answer that fails: it is told the answer and what the
    /// tests said of it
    #[arg(long, default_value_t = 0, value_name = "R")]
    debug_rounds: u32,
    /// How long the developer waits for a completion, in seconds
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    patience: u64,
    #[command(flatten)]
    typed: typing::Typed,
    #[command(flatten)]
    execution: Execution,
    /// Have TypeScript's own checker look at the completions, too
    ///
    /// For projects that have it in their environment and a tsconfig.json. A verdict then names
    /// the errors that the completion adds; its outcome stays that of the tests.
    #[arg(long)]
    type_check: bool,
    /// A store of telemetry to note completions in, marked as simulated [default: nothing is noted]
    ///
    /// It changes nothing of the run. Statistics leave what is simulated out.
    #[arg(long, value_name = "FILE")]
    telemetry: Option<PathBuf>,
    /// The run's folder [default: one in `runs/`, named after what is run]; with several contexts
    /// the folder of a folder for each
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Success, CliError> {
    let manifest = Manifest::read(&arguments.corpus)?;
    let tasks = arguments.tasks.as_deref().map(task::read).transpose()?;
    if let Some(tasks) = &tasks {
        check_projects(tasks, &manifest, &arguments.corpus)?;
    }
    let behaviour = arguments.typed.behaviour()?;
    let typed = behaviour.as_ref().filter(|_| arguments.typed.types());
    if typed.is_some() {
        typing::check_model(&arguments.model)?;
    }
    let contestants = Contestant::of(arguments)?;
    if let Some(tasks) = &tasks {
        // What lacks a hole is told before tests are run for minutes.
        for contestant in &contestants {
            contestant.verbatim(tasks)?;
        }
    }
    let corpus = Corpus::from_environment()?;
    let jobs = arguments.execution.jobs();
    let cache = corpus.cache.root().to_owned();

    tell_when_stopped(arguments.execution.kept());
    let (prepared, mut absent) =
        projects::prepare(&corpus, &manifest, arguments.execution.tests.as_deref())?;
    let projects: BTreeMap<&str, Value> = prepared
        .iter()
        .map(|prepared| {
            let state = json!([prepared.digest, prepared.environment.key]);
            (prepared.project.name.as_str(), state)
        })
        .collect();
    let identities = contestants
        .iter()
        .map(|contestant| identity(arguments, &projects, tasks.as_deref(), contestant, typed));
    let identities: Vec<Value> = identities.collect::<Result<_, _>>()?;
    let (mut ready, failed) = projects::open(
        prepared,
        &cache,
        arguments.execution.engine,
        arguments.execution.anew,
        jobs,
    )?;
    if arguments.type_check {
        ready = projects::checking_types(ready, &cache)?;
    }
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

    let mut states = absent.clone();
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
                let Some(judge) = &ready.judge else {
                    return Err(CliError::Refused(format!(
                        "no holes can be mined in `{name}`: {}; name holes by --tasks",
                        projects::UNTESTED
                    )));
                };
                let mined = projects::holes(
                    ready,
                    judge,
                    &arguments.choice,
                    quota,
                    &BTreeSet::new(),
                    &cache,
                    jobs,
                )?;
                (mined.holes.clone(), Some((judge, mined)))
            }
        };
        let mined = mined.as_ref().map(|(judge, mined)| (*judge, mined));
        states.push((name.clone(), projects::state(&ready.prepared, mined)));
        holes.extend(of_project);
    }
    let with_files = with_contents(&ready, &holes)?;
    let asked = contestants.iter().filter(|one| !one.is_verbatim());
    let papers: HashSet<Option<Paper>> = asked.map(|one| one.paper).collect();
    let shown = context::show(&papers, &ready, &with_files)?;
    let answers = contestants.iter().map(|one| match one.verbatim(&holes)? {
        Some(texts) => Ok(Answers::Verbatim(texts)),
        None => Ok(Answers::Server(&shown[&one.paper])),
    });
    let answers: Vec<Answers<'_>> = answers.collect::<Result<_, CliError>>()?;
    let records = contestants.iter().zip(&answers);
    let records = records.map(|(contestant, answers)| match answers {
        Answers::Verbatim(_) => Ok(None),
        Answers::Server(shown) => contestant.records(&holes, shown, typed.is_some()),
    });
    let records: Vec<Option<Vec<Record>>> = records.collect::<Result<_, _>>()?;

    // Nothing is written before all that was given is known to fit together.
    let several = contestants.len() > 1;
    let mut runs = Vec::new();
    for ((contestant, identity), records) in contestants.iter().zip(&identities).zip(&records) {
        let run = begin(arguments, several.then_some(contestant), identity)?;
        run.set_corpus(&arguments.corpus)?;
        run.add_machine(&Machine::this())?;
        if let Some(tests) = &arguments.execution.tests {
            run.set_tests(tests)?;
        }
        for (name, state) in &states {
            run.set_project(name, state)?;
        }
        run.add_holes(with_files.iter().copied())?;
        if let Some(behaviour) = &behaviour {
            run.set_behaviour(behaviour)?;
        }
        if !contestant.is_verbatim() {
            contestant.write(run.folder(), records.as_deref())?;
        }
        runs.push(run);
    }
    let folders: Vec<String> = runs
        .iter()
        .map(|run| run.folder().display().to_string())
        .collect();
    tell_when_stopped(format!(
        "what is done is kept in {}, start the same command again to go on",
        folders.join(", ")
    ));

    let patience = Duration::from_secs(arguments.patience);
    let telemetry = match &arguments.telemetry {
        // Servers run elsewhere.
        Some(path) => Some(std::path::absolute(path).map_err(CliError::file(path))?),
        None => None,
    };
    let mut played = Vec::new();
    for ((contestant, answers), run) in contestants.iter().zip(answers).zip(runs) {
        let replay = Replay::new(
            arguments.samples,
            arguments.debug_rounds,
            patience,
            contestant,
            answers,
            &ready,
            run,
        )
        .typing(typed)
        .noting(telemetry.clone());
        let run = replay.play(&holes, jobs)?;
        let typings = typed.map_or(0, |typed| typed.policies.len()) * holes.len();
        if !spoiled(&run, typings)? {
            run.set_finished()?;
        }
        played.push((contestant.context().to_string(), run));
    }
    tell(arguments, &played)?;
    let mut partial = false;
    for (_, run) in &played {
        if !run.is_finished()? {
            partial = true;
            eprintln!(
                "fillrate: the machinery spoiled some attempts of {}; the same command makes \
                 them again, with --out {}",
                run.folder().display(),
                arguments.out.as_deref().unwrap_or(run.folder()).display()
            );
        }
    }
    if partial {
        return Ok(Success::Partial);
    }
    Ok(success(&absent))
}

/// Prints a run's figures, or compares several runs, each with its context's name.
fn tell(arguments: &Arguments, played: &[(String, Run)]) -> Result<(), CliError> {
    if let [(_, run)] = played {
        let report = RunReport::load(run)?;
        if arguments.json {
            outln!("{}", serde_json::to_string(&report).unwrap_or_default());
        } else {
            out!("{}", report.table());
            outln!("run: {}", run.folder().display());
        }
        return Ok(());
    }
    let comparison = Comparison::load(played)?;
    if arguments.json {
        outln!("{}", serde_json::to_string(&comparison).unwrap_or_default());
    } else {
        out!("{}", comparison.table("context"));
        for (context, run) in played {
            outln!("run with {context}: {}", run.folder().display());
        }
    }
    Ok(())
}

/// Whether the machinery spoiled attempts, or some of so many typings, which are then left to be
/// made again.
///
/// # Errors
/// It spoiled all there are, so that there is nothing to report.
fn spoiled(run: &Run, typings: usize) -> Result<bool, CliError> {
    let attempts = run.attempts()?;
    let typed = run.typings()?;
    let whole = typed.iter().filter(|typing| !typing.is_spoiled()).count() >= typings;
    let mut faults = attempts
        .iter()
        .filter(|attempt| attempt.verdict.outcome == Outcome::Infrastructure);
    let Some(first) = faults.next() else {
        return Ok(!whole);
    };
    if faults.count() + 1 == attempts.len() {
        return Err(CliError::Refused(format!(
            "no attempt came to an end: {}; mend that and start the same command again",
            first.verdict.reason
        )));
    }
    Ok(true)
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
    typed: Option<&Behaviour>,
) -> Result<Value, CliError> {
    let holes = match tasks {
        Some(tasks) => {
            let ids: Vec<&str> = tasks.iter().map(|hole| hole.id.as_str()).collect();
            json!({"tasks": sha256_hex(ids.join("\0").as_bytes())})
        }
        None => {
            let choice = &arguments.choice;
            let mut holes = json!({
                "holes": choice.holes,
                "seed": choice.seed,
                "kinds": choice.kinds,
            });
            if let Some(least) = choice.min_mutation_score {
                holes["min_mutation_score"] = json!(least);
            }
            holes
        }
    };
    let predictions = match &contestant.predictions {
        Some(predictions) => {
            let path = &predictions.path;
            let bytes = std::fs::read(path).map_err(CliError::file(path))?;
            Some(sha256_hex(&bytes))
        }
        None => None,
    };
    let mut identity = json!({
        "program": env!("CARGO_PKG_VERSION"),
        "corpus": arguments.corpus.file_stem().map(|stem| stem.to_string_lossy()),
        "projects": projects,
        "holes": holes,
        "samples": arguments.samples.or(contestant.predictions.is_none().then_some(1)),
        "model": contestant.name,
        "configuration": contestant.configuration,
        "predictions": predictions,
        "patience": arguments.patience,
    });
    if arguments.type_check {
        identity["types"] = json!(true);
    }
    if let Some(paper) = contestant.paper {
        identity["context"] = paper.name().into();
    }
    if arguments.debug_rounds > 0 {
        identity["debug_rounds"] = arguments.debug_rounds.into();
    }
    // What is only held against the completions afterwards makes no other run.
    if let Some(typed) = typed {
        // A number that is read back may differ in its last digit, a hash does not.
        let names: Vec<String> = typed.policies.iter().map(|policy| policy.name()).collect();
        let hash = sha256_hex(json!(typed).to_string().as_bytes());
        identity["typing"] = json!({"policies": names, "sha256": hash});
    }
    Ok(identity)
}

/// Opens the run that the command names, or the unfinished one of the same identity in `runs/`,
/// or begins a new one there. Of several contestants each has a folder by its context's name.
fn begin(
    arguments: &Arguments,
    one_of_several: Option<&Contestant>,
    identity: &Value,
) -> Result<Run, CliError> {
    let context = one_of_several.map(Contestant::context);
    if let Some(folder) = &arguments.out {
        let folder = match context {
            Some(context) => folder.join(context.name()),
            None => folder.clone(),
        };
        return Ok(Run::open_or_begin(&folder, identity)?);
    }
    let short = &sha256_hex(identity.to_string().as_bytes())[..8];
    let part = |key: &str| {
        let text = identity[key].as_str().unwrap_or_default();
        text.replace(
            |c: char| !c.is_ascii_alphanumeric() && !".-_".contains(c),
            "-",
        )
    };
    let context = context.map_or_else(String::new, |context| format!("{context}-"));
    let name = format!("{}-{}-{context}{short}", part("corpus"), part("model"));
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

/// Each hole of the projects at hand with its file.
fn with_contents<'a>(
    ready: &'a [Playable],
    holes: &'a [Hole],
) -> Result<Vec<(&'a Hole, &'a str)>, CliError> {
    holes
        .iter()
        .map(|hole| {
            let contents = ready
                .iter()
                .filter(|ready| ready.prepared.project.name == hole.project)
                .flat_map(|ready| &ready.files)
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
pub(super) fn check_projects(
    tasks: &[Hole],
    manifest: &Manifest,
    corpus: &Path,
) -> Result<(), CliError> {
    let Some(hole) = tasks
        .iter()
        .find(|hole| manifest.project(&hole.project).is_none())
    else {
        return Ok(());
    };
    let of = format!(
        "{} is of the project `{}`, which {} does not have",
        hole.id,
        hole.project,
        corpus.display()
    );
    Err(CliError::Refused(
        if Language::for_path(Path::new(&hole.path)).is_none() {
            format!(
                "{of}: holes in {} can't be replayed, only their text be scored",
                hole.language
            )
        } else {
            of
        },
    ))
}
