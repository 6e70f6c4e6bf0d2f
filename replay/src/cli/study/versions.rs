//! The versions that a study replays itself: those of the demo, or the models of `--model`.

use std::path::{Path, PathBuf};

use fillrate_engine::developer::policy::{Policy, Rule};
use fillrate_engine::developer::typing::{Pace, TypistSettings};
use fillrate_engine::developer::typist::Typist;
use fillrate_engine::play::events::Listener;
use fillrate_engine::play::mining::HoleSelection;
use fillrate_engine::play::projects::{AbsentProject, ExecutionPlan};
use fillrate_engine::play::replay::{self, ReplayPlan};
use fillrate_engine::store::{DeveloperSettings, create_output_folder};
use fillrate_language::task::HoleKind;
use fillrate_mine::written::{CodeView, ViewExtent};

use super::super::replay::check_typed_models;
use super::super::{CliError, threads};
use super::StudyArguments;

/// The versions of the demo: configurations of the embedded model, by name, as settings. They differ in
/// context, temperature and clean-up, so that their figures differ.
const DEMO: [(&str, &str); 5] = [
    (
        "v1-open-file-only",
        "[model]\nprotocol = \"embedded\"\n\n[context]\nprofile = \"none\"\n",
    ),
    (
        "v2-hot",
        "[model]\nprotocol = \"embedded\"\ntemperature = 1.2\n",
    ),
    (
        "v3-one-line",
        "[model]\nprotocol = \"embedded\"\n\n[cleanup]\nextent = \"line\"\n",
    ),
    (
        "v4-warm",
        "[model]\nprotocol = \"embedded\"\ntemperature = 0.6\n",
    ),
    ("v5-default", "[model]\nprotocol = \"embedded\"\n"),
];

/// The kinds of holes of the demo: those that so weak a model sometimes fills.
const DEMO_KINDS: [HoleKind; 2] = [HoleKind::Line, HoleKind::Span];

/// The latency of every completion of the demo, in milliseconds: scripted, so that the demo's
/// figures are the same on every machine.
const DEMO_LATENCY_MS: f64 = 30.0;

/// Replays every version, each as a run of its own, with a simulated developer who types. Resumes
/// runs that were interrupted.
///
/// Returns the folders of the runs, of each model the finished files before the files as they were
/// written, and the projects that are excluded. The demo has finished files alone.
///
/// # Errors
/// There is no corpus, a single model is named or one of predictions, or the replay fails.
pub(super) fn replay_versions(
    arguments: &StudyArguments,
    listener: &dyn Listener,
) -> Result<(Vec<PathBuf>, Vec<AbsentProject>), CliError> {
    if !arguments.corpus.exists() {
        return Err(CliError::Refused(format!(
            "{} does not exist; run this in the project's folder, or name a corpus with --corpus",
            arguments.corpus.display()
        )));
    }
    if arguments.model.len() == 1 {
        return Err(CliError::Refused(
            "a study compares versions; add another --model".to_owned(),
        ));
    }
    check_typed_models(&arguments.model)?;
    create_output_folder(&arguments.out).map_err(CliError::file(&arguments.out))?;
    let folder = arguments.out.join("versions");
    std::fs::create_dir_all(&folder).map_err(CliError::file(&folder))?;
    let plan = |kinds: &[HoleKind], models| {
        let selection = HoleSelection {
            holes: arguments.holes,
            seed: 0,
            kinds: kinds.to_vec(),
            min_mutation_score: None,
            since: None,
            fast_files: false,
        };
        let execution = ExecutionPlan::warm(threads(arguments.jobs));
        ReplayPlan::new(arguments.corpus.clone(), selection, models, execution)
    };
    let plan = match arguments.demo {
        true => ReplayPlan {
            developer: Some(developer(false, Some(DEMO_LATENCY_MS))),
            ..plan(&DEMO_KINDS, write_demo(&folder)?)
        },
        false => ReplayPlan {
            // People do not see what comes later than their next key.
            developer: Some(developer(true, None)),
            // First the one whose latencies count: a server may keep its prompts for the other.
            views: vec![
                CodeView::AsWritten(ViewExtent::default()),
                CodeView::Finished,
            ],
            // One request at a time, so that no latency includes waiting for another.
            connections: Some(1),
            ..plan(&HoleKind::DEFAULT, arguments.model.clone())
        },
    };
    let plan = ReplayPlan {
        types: true,
        out: Some(folder),
        ..plan
    };
    let outcome = replay::run(&plan, listener)?;
    if let Some(unfinished) = outcome.runs.iter().find(|one| !one.is_complete) {
        return Err(CliError::Refused(format!(
            "some attempts of {} ended in an infrastructure failure; rerun the command, which \
             makes them",
            unfinished.title
        )));
    }
    let runs = outcome.runs.into_iter();
    let mut folders: Vec<PathBuf> = runs.map(|one| one.run.folder().to_owned()).collect();
    if !arguments.demo {
        // Of each model's two views, the finished one is first, whichever is played first.
        folders.chunks_mut(2).for_each(<[PathBuf]>::reverse);
    }
    Ok((folders, outcome.absent))
}

/// Writes the settings of the demo's versions, and returns their files.
fn write_demo(folder: &Path) -> Result<Vec<String>, CliError> {
    let files = DEMO.iter().map(|(name, settings)| {
        let file = folder.join(format!("{name}.toml"));
        std::fs::write(&file, settings).map_err(CliError::file(&file))?;
        Ok(file.to_string_lossy().into_owned())
    });
    files.collect()
}

/// A developer of the default rhythm who accepts what is right, with a scripted latency or the
/// measured one.
fn developer(latency: bool, latency_ms: Option<f64>) -> DeveloperSettings {
    DeveloperSettings {
        policies: vec![Policy {
            rule: Rule::OraclePrefix,
            latency,
        }],
        typing: TypistSettings {
            typist: Typist::default(),
            seed: 0,
            pace: Pace::default(),
            latency_ms,
        },
    }
}
