//! Replays holes: a developer at each, and the tests' verdict over the completion.
//!
//! The key of an attempt is the hash of all that it depends on. A run that is opened again gets the
//! attempts whose keys it lacks, and those that ended in an infrastructure failure.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use fillrate_server::model::recorded::RecordedCompletions;
use serde_json::{Value, json};

use super::PlayError;
use super::compare;
use super::context::{HolePresentation, PresentedHoles, present_holes};
use super::events::{Event, Listener};
use super::hole::SubjectReplay;
use super::mining::{check_any, mine_project, project_state, quota};
pub use super::plan::ReplayPlan;
use fillrate_language::task::{self, Hole, TaskError};
use fillrate_verdict::Outcome;
use fillrate_verdict::corpus::manifest::Manifest;
use fillrate_verdict::corpus::{Corpus, Prepared};

use super::projects::{
    AbsentProject, PlayableProject, ProjectLoader, check_projects, load_manifest, with_type_check,
};
use super::schedule::{CompletionSource, ReplayParameters};
use super::subject::ModelUnderTest;
use crate::store::{Machine, ProjectState, Run};

/// Result of a replay.
pub struct ReplayOutcome {
    /// The runs, one for each model, context and view.
    pub runs: Vec<ReplayedRun>,
    /// The projects that are excluded.
    pub absent: Vec<AbsentProject>,
}

/// A run that was replayed.
pub struct ReplayedRun {
    /// The model, its context and the view of the files, as far as there are several: the run's
    /// name among these.
    pub title: String,
    /// The run.
    pub run: Run,
    /// True if every attempt was made; otherwise some ended in an infrastructure failure.
    pub is_complete: bool,
}

/// Replays holes as planned. The same plan again continues where it was stopped.
///
/// # Errors
/// The plan is invalid, no project can be replayed, every attempt failed, or a server, the sandbox
/// or the database fails.
pub fn run(plan: &ReplayPlan, listener: &dyn Listener) -> Result<ReplayOutcome, PlayError> {
    let (runs, absent) = with_prepared(plan, listener, |prepared| {
        // Repair rounds need verdicts between requests.
        match plan.models.len() > 1 && plan.repair_rounds == 0 {
            true => Ok(compare::play_all(prepared)?.runs),
            false => prepared.play_one_by_one(),
        }
    })?;
    Ok(ReplayOutcome { runs, absent })
}

/// The subjects of a plan with all that playing them needs.
pub(super) struct PreparedReplay<'a> {
    pub(super) plan: &'a ReplayPlan,
    /// The parameters of each, and its run.
    subjects: Vec<(ReplayParameters<'a>, Run)>,
    pub(super) projects: &'a [PlayableProject],
    pub(super) holes: &'a [Hole],
    pub(super) listener: &'a dyn Listener,
}

/// A run that is played.
pub(super) struct PlayedSubject<'a> {
    /// The subject's name among those of the plan.
    pub(super) title: String,
    /// Plays it.
    pub(super) replay: SubjectReplay<'a>,
}

/// Prepares a plan, once for all its subjects, and plays it.
///
/// # Errors
/// As [`run`].
pub(super) fn with_prepared<T>(
    plan: &ReplayPlan,
    listener: &dyn Listener,
    play: impl FnOnce(PreparedReplay<'_>) -> Result<T, PlayError>,
) -> Result<(T, Vec<AbsentProject>), PlayError> {
    let corpus = Corpus::from_environment()?;
    let manifest = load_manifest(&corpus, &plan.corpus, listener)?;
    let tasks = plan.tasks.as_deref().map(task::read).transpose()?;
    let subjects = ModelUnderTest::load_all(&plan.subjects())?;
    if let Some(tasks) = &tasks {
        check_not_empty(tasks, plan.tasks.as_deref())?;
        check_projects(tasks, &manifest, &plan.corpus)?;
        // Missing predictions are an error before tests run for minutes.
        for subject in &subjects {
            subject.verbatim(tasks)?;
        }
    }
    let loader = ProjectLoader {
        after_first_runs: true,
        ..ProjectLoader::new(&corpus, &plan.execution, listener)
    };
    let (prepared, mut absent) = loader.prepare(&manifest)?;
    // The digests are taken before `open` runs the tests, which may drop projects: the identity
    // must not depend on whether they pass.
    let digests = digests(&prepared, &absent);
    let identities: Vec<Value> = subjects
        .iter()
        .map(|subject| plan.identity(&digests, tasks.as_deref(), subject, &manifest.name()))
        .collect::<Result<_, _>>()?;
    let (mut projects, failed) = loader.open(prepared)?;
    absent.extend(failed);
    if plan.type_check {
        projects = with_type_check(projects, corpus.cache.root())?;
    }
    if projects.is_empty() {
        return Err(none_replayable(&plan.corpus, &absent));
    }
    // The partition is applied after the choice, so that all machines choose the same holes.
    let (mut holes, mut states) =
        choose_holes(plan, &manifest, tasks.as_deref(), &projects, &loader)?;
    if let Some(partition) = plan.partition {
        holes.retain(|hole| partition.includes(&hole.id));
    }
    // An absent project is recorded too, so that a report can say why its holes are missing.
    states.extend(
        absent
            .iter()
            .map(|one| (one.name.clone(), one.state.clone())),
    );
    let with_files = with_contents(&projects, &holes)?;
    // Subjects with the same presentation share one preparation of the holes.
    let asked = subjects.iter().filter(|subject| !subject.is_verbatim());
    let presentations: HashSet<HolePresentation> =
        asked.map(HolePresentation::for_subject).collect();
    let presented = present_holes(&presentations, &projects, &with_files)?;
    let types = plan.typing_developer().is_some();
    let prepared = prepare_subjects(&subjects, &holes, &presented, types)?;

    let telemetry = match &plan.telemetry {
        // Servers run in other folders.
        Some(path) => Some(std::path::absolute(path).map_err(PlayError::file(path))?),
        None => None,
    };
    // Nothing is written before everything given is known to fit together.
    let mut with_runs = Vec::new();
    for ((subject, (source, records)), identity) in subjects.iter().zip(prepared).zip(&identities) {
        // A single subject needs no title, so its run keeps the folder that was named.
        let run = plan.open_run((subjects.len() > 1).then_some(subject), identity)?;
        let parameters = ReplayParameters {
            samples: plan.samples,
            repair_rounds: plan.repair_rounds,
            request_timeout: plan.request_timeout,
            subject,
            source,
            developer: plan.typing_developer(),
            telemetry: telemetry.clone(),
            projects: projects.iter().map(|one| (one.name(), one)).collect(),
        };
        parameters.check_attempts(&run)?;
        describe_run(plan, &run, &states, &with_files)?;
        if !subject.is_verbatim() {
            subject.write(run.folder(), records.as_deref())?;
        }
        listener.receive(&Event::RunOpened {
            run: run.part_folder().unwrap_or(run.folder().to_owned()),
            model: subject.name.clone(),
            context: subject.context_name(),
            attempts: run.attempts()?.len(),
        });
        with_runs.push((parameters, run));
    }
    let played = play(PreparedReplay {
        plan,
        subjects: with_runs,
        projects: &projects,
        holes: &holes,
        listener,
    })?;
    Ok((played, absent))
}

impl<'a> PreparedReplay<'a> {
    /// Plays the subjects in sequence.
    fn play_one_by_one(self) -> Result<Vec<ReplayedRun>, PlayError> {
        let (plan, holes, projects) = (self.plan, self.holes, self.projects);
        let mut runs = Vec::new();
        for PlayedSubject { title, replay, .. } in self.into_replays() {
            let run = replay.play(holes)?;
            let policies = plan.typing_developer().map_or(0, |one| one.policies.len());
            let is_complete = is_complete(&run, policies * holes.len(), names(projects));
            // An incomplete part is kept too.
            let written = match is_complete {
                Ok(true) => run.set_finished(),
                _ => run.write_segment(),
            };
            // An error is returned only after the part is written.
            PlayError::first_of(is_complete, written)?;
            runs.push(ReplayedRun {
                title,
                is_complete: run.is_finished()?,
                run,
            });
        }
        Ok(runs)
    }

    /// Replay of each subject.
    pub(super) fn into_replays(self) -> Vec<PlayedSubject<'a>> {
        let plan = self.plan;
        let jobs = plan.execution.threads;
        let replay = |(parameters, run): (ReplayParameters<'a>, Run)| PlayedSubject {
            title: plan.title(parameters.subject),
            replay: SubjectReplay::new(parameters, run, self.listener, jobs, plan.connections),
        };
        self.subjects.into_iter().map(replay).collect()
    }
}

/// The error of a corpus of which no project can be replayed.
fn none_replayable(corpus: &Path, absent: &[AbsentProject]) -> PlayError {
    let reasons: Vec<&str> = absent
        .iter()
        .filter_map(|absent| absent.state.reason.as_deref())
        .collect();
    PlayError::Empty(format!(
        "no project of {} can be replayed: {}",
        corpus.display(),
        reasons.join("; ")
    ))
}

/// Refuses a tasks file without holes.
fn check_not_empty(tasks: &[Hole], path: Option<&Path>) -> Result<(), PlayError> {
    match path {
        Some(path) if tasks.is_empty() => Err(PlayError::Empty(format!(
            "{} has no holes; `fillrate mine` writes some",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Digests of the sources and environments, by project. A project that could not be prepared has
/// `null`: where it can be, the run is the same.
fn digests(prepared: &[Prepared], absent: &[AbsentProject]) -> BTreeMap<String, Value> {
    let digest = |prepared: &Prepared| {
        let project = &prepared.project;
        let mut state = vec![json!(prepared.digest), json!(prepared.environment.key)];
        // Runs made before these counted keep their identity if they have none.
        if !project.hidden.patterns().is_empty() {
            state.push(json!({"hidden": project.hidden.patterns()}));
        }
        // With tests, the judge's key has them.
        if project.test.is_none() {
            state.push(json!([
                project.holes.patterns(),
                project.exclude.patterns()
            ]));
        }
        (project.name.clone(), Value::Array(state))
    };
    let absent = absent.iter().map(|one| (one.name.clone(), Value::Null));
    prepared.iter().map(digest).chain(absent).collect()
}

/// Records of projects in a run, by name.
type ProjectStates = Vec<(String, ProjectState)>;

/// The holes of the tasks file or else of mining, with what the run records of each project.
fn choose_holes(
    plan: &ReplayPlan,
    manifest: &Manifest,
    tasks: Option<&[Hole]>,
    projects: &[PlayableProject],
    loader: &ProjectLoader<'_>,
) -> Result<(Vec<Hole>, ProjectStates), PlayError> {
    let mut states = Vec::new();
    let mut holes = Vec::new();
    let mut all = Vec::new();
    for project in projects {
        let name = project.name();
        if let Some(tasks) = tasks {
            let in_project = tasks.iter().filter(|hole| hole.project == name);
            holes.extend(in_project.cloned());
            let state = project_state(&project.prepared, project.judge.as_ref(), None);
            states.push((name.to_owned(), state));
            continue;
        }
        let quota = quota(&plan.selection, manifest, name);
        let solved = BTreeSet::new();
        let mined = mine_project(project, &plan.selection, quota, &solved, loader)?;
        let state = project_state(&project.prepared, project.judge.as_ref(), Some(&mined));
        states.push((name.to_owned(), state));
        all.push((name, mined));
    }
    if tasks.is_none() {
        check_any(all.iter().map(|(name, mined)| (*name, mined)))?;
        holes.extend(all.into_iter().flat_map(|(_, mined)| mined.holes));
    }
    Ok((holes, states))
}

/// Source of a subject's completions, and the answers of its server if they are known.
type PreparedSubject<'a> = (CompletionSource<'a>, Option<Vec<RecordedCompletions>>);

/// Prepares each subject for the holes as they are presented.
fn prepare_subjects<'a>(
    subjects: &[ModelUnderTest],
    holes: &[Hole],
    presented: &'a PresentedHoles,
    typed: bool,
) -> Result<Vec<PreparedSubject<'a>>, PlayError> {
    let prepare = |subject: &ModelUnderTest| {
        if let Some(texts) = subject.verbatim(holes)? {
            return Ok((CompletionSource::Verbatim(texts), None));
        }
        let shown = &presented[&HolePresentation::for_subject(subject)];
        let records = subject.records(holes, shown, typed)?;
        Ok((CompletionSource::Server(shown), records))
    };
    subjects.iter().map(prepare).collect()
}

/// Writes into a run what it is made from.
fn describe_run(
    plan: &ReplayPlan,
    run: &Run,
    states: &ProjectStates,
    holes: &[(&Hole, &str)],
) -> Result<(), PlayError> {
    run.set_corpus(&plan.corpus)?;
    run.add_machine(&Machine::this())?;
    if let Some(tests) = &plan.execution.tests {
        run.set_tests(tests)?;
    }
    for (name, state) in states {
        run.set_project(name, state)?;
    }
    run.add_holes(holes.iter().copied())?;
    if let Some(developer) = &plan.developer {
        run.set_developer_settings(developer)?;
    }
    Ok(())
}

/// The names of projects.
pub(super) fn names(projects: &[PlayableProject]) -> BTreeSet<&str> {
    projects.iter().map(PlayableProject::name).collect()
}

/// True if a run has all its attempts and the given number of typings without an infrastructure
/// failure. `played` are the projects whose missing attempts were made: one that is absent may lack
/// attempts of an earlier start.
///
/// # Errors
/// All attempts ended in an infrastructure failure, so there is nothing to report.
pub(super) fn is_complete(
    run: &Run,
    typings: usize,
    played: BTreeSet<&str>,
) -> Result<bool, PlayError> {
    let attempts = run.attempts()?;
    let typed = run.typings()?;
    let judged = typed
        .iter()
        .filter(|typing| !typing.has_infrastructure_failure());
    let all_typed = judged.count() >= typings;
    let mut failures = attempts
        .iter()
        .filter(|attempt| attempt.verdict.outcome == Outcome::Infrastructure);
    let Some(first) = failures.next() else {
        let holes = run.holes()?;
        let mut projects = holes.values().map(|hole| hole.project.as_str());
        return Ok(all_typed && projects.all(|project| played.contains(project)));
    };
    // `first` is taken off the iterator, so the count lacks it.
    if failures.count() + 1 == attempts.len() {
        return Err(PlayError::Refused(format!(
            "no attempt completed: {}; fix that and rerun the command",
            first.verdict.reason
        )));
    }
    Ok(false)
}

/// Each hole with the contents of its file.
///
/// # Errors
/// A project lacks the file, or the file differs from the one that the hole was cut into.
fn with_contents<'a>(
    projects: &'a [PlayableProject],
    holes: &'a [Hole],
) -> Result<Vec<(&'a Hole, &'a str)>, PlayError> {
    let with_file = |hole: &'a Hole| {
        let file = projects
            .iter()
            .find(|project| project.name() == hole.project)
            .ok_or_else(|| TaskError::other_file(hole))?
            .source_file(hole)?;
        // The cut is only tried for its error: a file with another hash must not be replayed.
        hole.cut(&file.contents)?;
        Ok((hole, file.contents.as_str()))
    };
    holes.iter().map(with_file).collect()
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::HoleKind;

    use super::*;

    #[test]
    fn run_that_lacks_a_project_of_its_holes_is_incomplete() {
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let run = Run::open_or_begin(folder.path(), &json!({})).expect("the folder is empty");
        let contents = "x = 1\n";
        let hole = |name| Hole::new(name, "python", "a.py", HoleKind::Line, 0..5, contents);
        let holes = ["a", "b"].map(hole);
        run.add_holes(holes.iter().map(|hole| (hole, contents)))
            .expect("there is room");
        let is_complete = |played: &[&str]| {
            let played = played.iter().copied().collect();
            is_complete(&run, 0, played).expect("no attempt failed")
        };
        assert!(is_complete(&["a", "b", "c"]));
        assert!(!is_complete(&["a"]));
    }
}
