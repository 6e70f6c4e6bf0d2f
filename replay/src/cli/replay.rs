//! `fillrate replay`.

mod typing;

use std::path::{Path, PathBuf};

use clap::Args;
use fillrate_engine::play::check_model_name;
use fillrate_engine::play::context::ReplayContext;
use fillrate_engine::play::events::Listener;
use fillrate_engine::play::replay::{self, ReplayPlan, ReplayedRun};
use fillrate_engine::store::{DeveloperSettings, Partition, Run, is_object_address};
use fillrate_mine::written::{CodeView, ViewExtent};
use fillrate_report::table::TextWidth;
use fillrate_report::{Comparison, NamedRun, RunReport};
use fillrate_server::configuration::Profile;
use fillrate_server::telemetry::TelemetryStore;

use super::events::EventArguments;
use super::runs::missing_attempts;
use super::{CliError, ExecutionArguments, HOLES, ReplayedHoles, Success, color, success};

pub(super) use typing::check_typed_models;

/// Play a developer on benchmark repositories and judge the completions with their tests.
///
/// The same command again continues where it was stopped.
#[derive(Args)]
pub(super) struct ReplayArguments {
    #[command(flatten)]
    holes: ReplayedHoles,
    /// Number of completions that are requested at each hole [default: 1, or all there are of
    /// `--predictions`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    samples: Option<u32>,
    /// `embedded`, `reference`, `empty`, `predictions`, a settings file (.toml) or predictions
    /// (.jsonl)
    ///
    /// A settings file is a fillrate.toml with a `[model]` table. Predictions are JSON lines
    /// `{"hole": ID, "completions": [TEXT, …]}`, or as benchmarks have them, with a `task_id`. A
    /// file of them is served like any model's answers, clean-up included; `predictions` judges
    /// those of `--predictions` unchanged.
    ///
    /// Without it, `embedded` is compared with `--context none` and with `reference`. Several are
    /// replayed on the same holes, each as a run of its own named after its file, and compared with
    /// the first; `compare` also says in which order they are.
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) model: Vec<String>,
    /// The predictions that `--model predictions` judges unchanged
    #[arg(long, value_name = "FILE")]
    predictions: Option<PathBuf>,
    /// Indent these predictions as DevEval's script does before it judges them
    #[arg(long, requires = "predictions")]
    deveval: bool,
    /// Context that the model is given of the repository [default: editor, or as the settings file
    /// says]
    ///
    /// A context profile of the server, such as `none` or `editor`, or a context of a paper, such
    /// as `repoexec-full` or `mrg-callee-bodies`; the evaluator's reference page lists these.
    /// Several, with commas between them, are replayed on the same holes, each as a run of its own,
    /// and compared with the first: differences with their intervals, and McNemar's test where a
    /// figure is yes or no at each hole.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) context: Vec<ReplayContext>,
    /// The state in which the file of a hole is shown to server and model [default: finished]
    ///
    /// finished: with all that follows the hole. as-written: without what was written after it.
    /// closed: as-written, with the brackets and quotes that an editor has closed. The tests judge
    /// the finished file with the completion in it. Several, with commas between them, are replayed
    /// on the same holes, each as a run of its own, and compared with the first.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = view)]
    pub(super) view: Vec<CodeView>,
    /// The end of what `--view as-written` and `closed` cut after a hole [default: definition]
    ///
    /// definition: the end of the function or class around the hole; file: the end of the file.
    #[arg(long, value_name = "definition|file", value_parser = view_extent)]
    view_extent: Option<ViewExtent>,
    /// Number of repair rounds after a completion that fails: a chat model is given the completion
    /// and what its tests reported
    #[arg(long, default_value_t = 0, value_name = "R")]
    repair_rounds: u32,
    #[command(flatten)]
    typing: typing::TypingArguments,
    #[command(flatten)]
    execution: ExecutionArguments,
    /// Number of concurrent model requests, while up to `--jobs` verdicts are reached [default:
    /// each job requests a completion and then judges it]
    ///
    /// For a model on another machine: while it writes, this one's processors judge what it wrote
    /// before. Each connection has a server and a copy of the project of its own. A model's server
    /// that answers 429 with `Retry-After` gets no request from any connection for that time, which
    /// is no failure.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    connections: Option<u16>,
    #[command(flatten)]
    events: EventArguments,
    /// Have TypeScript's own checker look at the completions, too
    ///
    /// For projects that have it in their environment and a tsconfig.json. A verdict then names
    /// the errors that the completion adds; its outcome stays that of the tests.
    #[arg(long)]
    type_check: bool,
    /// A telemetry store that records completions, marked as simulated [default: none]
    ///
    /// It changes nothing of the run. Statistics leave out what is simulated.
    #[arg(long, value_name = "FILE")]
    telemetry: Option<PathBuf>,
    /// The run's folder [default: one in `runs/`, named after what is run]; with several contexts
    /// or views the folder of a folder for each
    #[arg(short, long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Replay one of n parts of the holes, from 1: k/n, or `auto` for what the scheduler says
    ///
    /// The holes of a part depend on their ids alone. All parts have the same `--out`, a folder or
    /// an address, `s3://BUCKET/PREFIX` or `file:///FOLDER`, that `fillrate merge` makes one run
    /// of. The reference page on fleets says what `auto` reads.
    #[arg(long, value_name = "k/n|auto", requires_all = ["tasks", "out"])]
    partition: Option<Partition>,
    /// Print one JSON object in place of the table
    #[arg(long)]
    json: bool,
}

/// A view without its extent, which is an option of its own.
fn view(name: &str) -> Result<CodeView, String> {
    let default = ViewExtent::default();
    CodeView::all()
        // `--view-extent` names the extent, so only views of the default extent have a name here.
        .filter(|view| view.with_extent(default) == *view)
        .find(|view| view.to_string() == name)
        .ok_or_else(|| "the views are finished, as-written, closed".to_owned())
}

/// An extent by its name.
fn view_extent(name: &str) -> Result<ViewExtent, String> {
    let extents = [ViewExtent::Definition, ViewExtent::File];
    let found = extents.into_iter().find(|extent| extent.name() == name);
    found.ok_or_else(|| "the extents are definition, file".to_owned())
}

/// The views with their extent.
///
/// # Errors
/// An extent is set that no view has.
fn views(arguments: &ReplayArguments) -> Result<Vec<CodeView>, CliError> {
    let Some(extent) = arguments.view_extent else {
        return Ok(arguments.view.clone());
    };
    if arguments
        .view
        .iter()
        .all(|view| *view == CodeView::Finished)
    {
        return Err(CliError::Refused(
            "--view-extent says what `--view as-written` and `--view closed` cut; add one of them, \
             or leave it out"
                .to_owned(),
        ));
    }
    let views = arguments.view.iter();
    Ok(views.map(|view| view.with_extent(extent)).collect())
}

pub(super) fn run(arguments: &ReplayArguments, width: TextWidth) -> Result<Success, CliError> {
    let advice = arguments.execution.advice();
    arguments.events.listen("replay", advice, |listener| {
        replay(arguments, listener, width)
    })
}

impl ReplayArguments {
    /// The simulated developers; `None` if none is requested.
    ///
    /// # Errors
    /// As [`TypingArguments::developer_settings`], or a model has no completions for a developer
    /// who types.
    pub(super) fn developer_settings(&self) -> Result<Option<DeveloperSettings>, CliError> {
        if self.typing.types() {
            check_typed_models(&self.model)?;
        }
        self.typing.developer_settings()
    }

    /// The files that its options name, which every worker of a fleet reads.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let models = self.model.iter().map(Path::new);
        let files = models.filter(|model| {
            let ending = model.extension();
            ending.is_some_and(|ending| ending == "toml" || ending == "jsonl")
        });
        files
            .chain(self.predictions.as_deref())
            .chain(self.typing.file())
    }
}

fn replay(
    arguments: &ReplayArguments,
    listener: &dyn Listener,
    width: TextWidth,
) -> Result<Success, CliError> {
    let developer = arguments.developer_settings()?;
    let models = match arguments.model.as_slice() {
        [] => vec![EMBEDDED.to_owned()],
        models => models.to_vec(),
    };
    for model in &models {
        check_model_name(model, false)?;
    }
    match &arguments.out {
        // A part begins by asking it what it has.
        Some(out) if is_object_address(out) && arguments.partition.is_some() => {}
        out => super::check_out(out.as_deref())?,
    }
    if let Some(telemetry) = &arguments.telemetry {
        super::check_writable(telemetry)?;
        // Servers would only log that they can't record.
        TelemetryStore::open(telemetry)?;
    }
    let plan = ReplayPlan {
        samples: arguments.samples,
        predictions: arguments.predictions.clone(),
        deveval: arguments.deveval,
        contexts: arguments.context.clone(),
        views: views(arguments)?,
        repair_rounds: arguments.repair_rounds,
        developer,
        types: arguments.typing.types(),
        type_check: arguments.type_check,
        telemetry: arguments.telemetry.clone(),
        out: arguments.out.clone(),
        partition: arguments.partition,
        connections: arguments.connections.map(usize::from),
        ..arguments.holes.plan(HOLES, models, &arguments.execution)?
    };
    let outcome = replay::run(&plan, listener)?;
    let played = &outcome.runs;
    if let Some(partition) = arguments.partition {
        print_parts(arguments, partition, played)?;
    } else {
        print_figures(arguments, played, width)?;
    }
    if is_first_look(arguments) {
        compare_with_bounds(arguments, &plan, played.first(), listener, width)?;
    } else if arguments.partition.is_none() && !arguments.json {
        print_next(played.iter().map(|one| &one.run));
    }
    for ReplayedRun { run, .. } in played.iter().filter(|one| !one.is_complete) {
        let folder = run.part_folder().unwrap_or(run.folder().to_owned());
        note!(
            "fillrate: {}; rerun the command to make them, with --out {}",
            missing_attempts(&folder.display().to_string(), run)?,
            arguments.out.as_deref().unwrap_or(run.folder()).display()
        );
    }
    if played.iter().any(|one| !one.is_complete) {
        return Ok(Success::Partial);
    }
    Ok(success(&outcome.absent))
}

/// The model that needs no settings.
const EMBEDDED: &str = "embedded";

/// True if neither a model nor an output was named: a person tries the program.
fn is_first_look(arguments: &ReplayArguments) -> bool {
    arguments.model.is_empty()
        && arguments.out.is_none()
        && arguments.context.is_empty()
        && arguments.view.is_empty()
        && arguments.samples.is_none()
        && arguments.repair_rounds == 0
        && !arguments.typing.types()
        && !arguments.json
}

/// Replays the same holes without other files as context, and with their references, and prints
/// the models and the next steps.
fn compare_with_bounds(
    arguments: &ReplayArguments,
    plan: &ReplayPlan,
    first: Option<&ReplayedRun>,
    listener: &dyn Listener,
    width: TextWidth,
) -> Result<(), CliError> {
    let Some(ReplayedRun { run: first, .. }) = first else {
        return Ok(());
    };
    let mut others = Vec::new();
    let alone = ReplayContext::Profile(Profile::None);
    for (name, model, contexts) in [
        ("--context none", EMBEDDED, vec![alone]),
        ("reference", "reference", Vec::new()),
    ] {
        let other = ReplayPlan {
            models: vec![model.to_owned()],
            contexts,
            // Telemetry is of the model that was asked for.
            telemetry: None,
            ..plan.clone()
        };
        let outcome = replay::run(&other, listener)?;
        others.extend(outcome.runs.into_iter().map(|one| (name, one.run)));
    }
    let mut runs = vec![NamedRun {
        name: EMBEDDED,
        run: first,
    }];
    runs.extend(others.iter().map(|(name, run)| NamedRun { name, run }));
    outln!("");
    let table = Comparison::load(&runs)?.table("model", width);
    out!("{}", color::with_bold_header(&table));
    out!(
        "{}",
        width.paragraph(
            "embedded: counts of the repository's own tokens, offline and free: a baseline, no \
             language model. --context none: the same without other files. reference: what was \
             in the holes, the most that is possible."
        )
    );
    print_next(std::iter::once(first));
    // Anything but a manifest is a person's own repository.
    if arguments.holes.corpus.is_manifest() {
        sayln!(
            "  fillrate replay PATH                     your own repository: a folder or an address"
        );
    }
    sayln!("  fillrate replay … --model fillrate.toml  your own model (README.md)");
    Ok(())
}

/// Prints how far a part of each run is. Its figures would mislead: they are of some of the holes.
fn print_parts(
    arguments: &ReplayArguments,
    partition: Partition,
    played: &[ReplayedRun],
) -> Result<(), CliError> {
    for ReplayedRun {
        title,
        run,
        is_complete,
    } in played
    {
        let (attempts, folder) = (run.attempts()?.len(), run.part_folder());
        if arguments.json {
            outln!(
                "{}",
                serde_json::json!({
                    "partition": partition,
                    "context": title,
                    "attempts": attempts,
                    "finished": is_complete,
                    "folder": folder,
                })
            );
        } else {
            outln!(
                "part {partition}: {attempts} attempts{}: {}",
                if *is_complete { "" } else { ", unfinished" },
                folder.unwrap_or_default().display()
            );
        }
    }
    Ok(())
}

/// Prints a run's figures, or compares several runs.
fn print_figures(
    arguments: &ReplayArguments,
    played: &[ReplayedRun],
    width: TextWidth,
) -> Result<(), CliError> {
    // A single run has figures by project; several are compared with the first.
    if let [ReplayedRun { run, .. }] = played {
        let report = RunReport::load(run)?;
        if arguments.json {
            outln!("{}", serde_json::to_string(&report).unwrap_or_default());
        } else {
            out!("{}", color::with_bold_header(&report.table(width)));
            outln!("run: {}", run.folder().display());
        }
        return Ok(());
    }
    let named = played.iter().map(|one| NamedRun {
        name: &one.title,
        run: &one.run,
    });
    let comparison = Comparison::load(&named.collect::<Vec<_>>())?;
    if arguments.json {
        outln!("{}", serde_json::to_string(&comparison).unwrap_or_default());
    } else {
        let what = if arguments.model.len() > 1 {
            "model"
        } else {
            "context"
        };
        out!(
            "{}",
            color::with_bold_header(&comparison.table(what, width))
        );
        for ReplayedRun { title, run, .. } in played {
            outln!("run with {title}: {}", run.folder().display());
        }
    }
    Ok(())
}

/// Prints what shows more of runs.
fn print_next<'a>(runs: impl Iterator<Item = &'a Run>) {
    let folders: Vec<String> = runs.map(|run| super::shell_word(run.folder())).collect();
    if let [first, ..] = folders.as_slice() {
        // These are to be pasted whole, whatever the width.
        outln!(
            "\nnext:\n  fillrate show {first} [HOLE]\n  fillrate report {} -o pages",
            folders.join(" ")
        );
    }
}
