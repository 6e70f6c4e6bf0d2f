//! Merges the parts of a run, and judges again where they differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fillrate_language::task::Hole;
use fillrate_verdict::corpus::Corpus;
use fillrate_verdict::corpus::manifest::Manifest;
use fillrate_verdict::queue::run_jobs;
use fillrate_verdict::{Engine, Outcome};

use super::PlayError;
use super::events::{Listener, Phase, PhaseProgress};
use super::projects::{
    ExecutionPlan, ProjectLoader, TestedProject, has_added_tests, retain_projects_of,
};
use crate::store::{Attempt, Conflict, MergedParts, MissingPart, Settlement};

/// Parts to merge, and the run.
#[derive(Clone, Debug)]
pub struct MergePlan {
    /// The folders of the parts.
    pub parts: Vec<PathBuf>,
    /// The run's folder.
    pub out: PathBuf,
    /// Settings for settling conflicts; `None` refuses to merge parts with conflicts.
    pub settling: Option<SettlingPlan>,
}

/// Settings for judging attempts again whose verdicts differ between parts.
#[derive(Clone, Debug)]
pub struct SettlingPlan {
    /// The corpus's manifest; `None` for where it was when the parts were made.
    pub corpus: Option<PathBuf>,
    /// The folder of added tests; `None` for where it was when the parts were made.
    pub tests: Option<PathBuf>,
    /// Number of concurrent jobs.
    pub threads: usize,
}

/// Result of merging.
#[derive(Debug)]
pub struct MergeOutcome {
    /// Number of attempts the run has.
    pub attempts: usize,
    /// Number of merged segments.
    pub segments: usize,
    /// Number of attempts in several segments.
    pub repeated: usize,
    /// The conflicts and how they were settled, by hole.
    pub settlements: Vec<Settlement>,
    /// The parts to run again.
    pub missing: Vec<MissingPart>,
}

/// Merges parts into a run.
///
/// # Errors
/// The parts are damaged or of different runs, they have conflicts that are not to be settled, or
/// the run can't be written: then nothing is.
pub fn run(plan: &MergePlan, listener: &dyn Listener) -> Result<MergeOutcome, PlayError> {
    let parts = MergedParts::read(&plan.parts)?;
    let conflicts = parts.conflicts()?;
    let settled = match (&plan.settling, conflicts.is_empty()) {
        (_, true) => Vec::new(),
        (Some(settling), false) => settle(settling, &parts, &conflicts, listener)?,
        (None, false) => return Err(PlayError::Refused(describe(&conflicts))),
    };
    parts.write(&plan.out, &settled)?;
    Ok(MergeOutcome {
        attempts: parts.attempts(),
        segments: parts.segments(),
        repeated: parts.repeated(),
        settlements: settled.into_iter().map(|(one, _)| one).collect(),
        missing: parts.missing(),
    })
}

/// Number of conflicts that an error names one by one.
const NAMED: usize = 10;

fn describe(conflicts: &[Conflict]) -> String {
    let named: Vec<String> = conflicts
        .iter()
        .take(NAMED)
        .map(|conflict| {
            let outcomes = conflict.attempts.iter();
            let outcomes: Vec<&str> = outcomes.map(|one| one.verdict.outcome.name()).collect();
            let sample = conflict.attempts.first().map_or(0, |one| one.sample);
            format!(
                "{} sample {sample}: {}",
                conflict.hole.id,
                outcomes.join(" and ")
            )
        })
        .collect();
    let more = match conflicts.len().checked_sub(NAMED) {
        None | Some(0) => String::new(),
        Some(more) => format!(", and {more} more"),
    };
    format!(
        "parts differ in {} verdicts ({}{more}); --settle judges these again",
        conflicts.len(),
        named.join("; ")
    )
}

/// Judges the attempts of each conflict again, by the naive engine and without a cache. The attempt
/// whose outcome comes again is kept; if there is none, the first is, with its new verdict.
fn settle(
    plan: &SettlingPlan,
    parts: &MergedParts,
    conflicts: &[Conflict],
    listener: &dyn Listener,
) -> Result<Vec<(Settlement, Attempt)>, PlayError> {
    let manifest = plan.corpus.as_deref().or(parts.corpus()).ok_or_else(|| {
        PlayError::Refused(
            "the parts do not say where their corpus is: name it by --corpus".to_owned(),
        )
    })?;
    let corpus = Corpus::from_environment()?;
    let mut manifest = corpus.load_manifest(manifest)?;
    let tests = plan.tests.as_deref().or(parts.tests());
    let holes = conflicts.iter().map(|one| &one.hole);
    let tests = retain_with_tests(&mut manifest, holes, tests);
    let execution = ExecutionPlan::naive(plan.threads, tests.map(Path::to_owned));
    let loader = ProjectLoader::new(&corpus, &execution, listener);
    let (projects, absent) = loader.load_tested(&manifest)?;
    if let Some(absent) = absent.first() {
        return Err(PlayError::Refused(format!(
            "conflicts can't be settled here: {}",
            absent.describe()
        )));
    }
    let projects: BTreeMap<&str, &TestedProject> =
        projects.iter().map(|one| (one.name(), one)).collect();
    let progress = PhaseProgress::start(listener, Phase::Audit, None, conflicts.len());
    run_jobs(
        conflicts,
        plan.threads,
        || (),
        |(), conflict| {
            let project = projects
                .get(conflict.hole.project.as_str())
                .ok_or_else(|| {
                    PlayError::Refused(format!(
                        "the corpus has no project `{}`; name the corpus of the parts by --corpus",
                        conflict.hole.project
                    ))
                })?;
            let settled = settle_one(project, conflict)?;
            progress.advance(1);
            Ok(settled)
        },
        |_| {},
    )
}

/// Keeps the projects that have any of these holes, and returns the folder of added tests, unless
/// all that it has are for the other projects: that is no mistake in it.
fn retain_with_tests<'t, 'h>(
    manifest: &mut Manifest,
    holes: impl IntoIterator<Item = &'h Hole>,
    tests: Option<&'t Path>,
) -> Option<&'t Path> {
    let fits = tests.is_some_and(|folder| has_added_tests(folder, manifest));
    retain_projects_of(manifest, holes);
    tests.filter(|folder| !fits || has_added_tests(folder, manifest))
}

fn settle_one(
    project: &TestedProject,
    conflict: &Conflict,
) -> Result<(Settlement, Attempt), PlayError> {
    let hole = &conflict.hole;
    let (mut chosen, mut unsettled) = (None, None);
    for attempt in &conflict.attempts {
        let filled = attempt.filled(hole, &conflict.contents)?;
        let verdict = project.judge.judge_with(Engine::Naive, hole, &filled)?;
        if verdict.outcome == Outcome::Infrastructure {
            // It says nothing of the code, and would take the attempt out of every figure.
            unsettled = Some(verdict.reason);
            continue;
        }
        if verdict.outcome == attempt.verdict.outcome {
            chosen = Some(attempt.clone());
            break;
        }
        // The first attempt is the fallback, in the order of outcomes, so the result is
        // deterministic.
        chosen = chosen.or_else(|| {
            Some(Attempt {
                verdict,
                ..attempt.clone()
            })
        });
    }
    let chosen = chosen.ok_or_else(|| {
        PlayError::Refused(match unsettled {
            Some(reason) => format!(
                "the parts disagree over {}, and it can't be judged again: {reason}",
                hole.id
            ),
            None => format!("no part has an attempt at {} to judge again", hole.id),
        })
    })?;
    let settlement = Settlement {
        attempt: conflict.key.clone(),
        hole: hole.id.clone(),
        outcomes: conflict
            .attempts
            .iter()
            .map(|one| one.verdict.outcome)
            .collect(),
        rejudged: chosen.verdict.outcome,
    };
    Ok((settlement, chosen))
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::HoleKind;

    use super::*;

    #[test]
    fn tests_of_other_projects_alone_are_left_out() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        std::fs::create_dir(folder.path().join("b")).expect("there is room");
        let empty = tempfile::tempdir().expect("the system gives a temporary folder");
        let project = |name: &str| {
            format!(
                "[[project]]\nname = \"{name}\"\nlanguage = \"python\"\nsource = {{ path = \
                 \"{name}\" }}\nholes = [\"*.py\"]\n"
            )
        };
        let text = format!("schema = 1\n{}{}", project("a"), project("b"));
        let contents = "x = 1\n";
        let retained = |name: &str, tests: &Path| {
            let mut manifest = Manifest::parse(&text, Path::new("c.toml")).expect("it is valid");
            let hole = Hole::new(name, "python", "a.py", HoleKind::Line, 0..5, contents);
            let is_added = retain_with_tests(&mut manifest, [&hole], Some(tests)).is_some();
            (manifest.projects.len(), is_added)
        };
        assert_eq!(retained("a", folder.path()), (1, false));
        assert_eq!(retained("b", folder.path()), (1, true));
        // A folder with tests for no project at all is refused later.
        assert_eq!(retained("a", empty.path()), (1, true));
    }
}
