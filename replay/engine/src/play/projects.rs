//! The projects of a corpus, prepared and with their own tests run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fillrate_language::SourceFile;
use fillrate_language::environment::{EnvironmentError, Packages};
use fillrate_language::task::{Hole, TaskError};
use fillrate_syntax::Language;
use fillrate_verdict::corpus::manifest::{Manifest, Project};
use fillrate_verdict::corpus::{Corpus, CorpusError, CorpusStep, Prepared};
use fillrate_verdict::missing::missing_modules;
use fillrate_verdict::{BaselineStep, Engine, Judge, VerdictError, run_commands_before};

use super::PlayError;
use super::events::{Event, Listener, Phase, PhaseProgress, PreparationStep};
use crate::store::{ProjectState, ProjectStatus};

/// Settings for running tests.
#[derive(Clone, Debug)]
pub struct ExecutionPlan {
    /// Number of concurrent jobs, at least 1.
    pub threads: usize,
    /// Engine that reaches verdicts.
    pub engine: Engine,
    /// True if verdicts of earlier runs are ignored.
    pub anew: bool,
    /// The folder of tests that are added to the projects' own: files in `PROJECT/`.
    pub tests: Option<PathBuf>,
}

impl ExecutionPlan {
    /// Verdicts by the fast engine, of which those that are known are not reached again.
    pub fn warm(threads: usize) -> Self {
        Self {
            threads,
            engine: Engine::Warm,
            anew: false,
            tests: None,
        }
    }

    /// Verdicts that are all reached anew by the engine that caches nothing.
    pub fn naive(threads: usize, tests: Option<PathBuf>) -> Self {
        Self {
            threads,
            engine: Engine::Naive,
            // A cached verdict would only repeat one that is to be checked.
            anew: true,
            tests,
        }
    }
}

/// A project with own tests, which have been run.
pub type TestedProject = PlayProject<Judge>;

/// A project that can be replayed; its own tests have been run if it has some.
pub type PlayableProject = PlayProject<Option<Judge>>;

/// A project that is ready, with what judges changes to it.
pub struct PlayProject<J> {
    /// Its source and environment.
    pub prepared: Prepared,
    /// Judges changes to it.
    pub judge: J,
    /// The files that holes may be cut into.
    pub files: Vec<SourceFile>,
}

/// A project that is excluded.
#[derive(Clone, Debug)]
pub struct AbsentProject {
    /// Its name.
    pub name: String,
    /// Reason for which it is excluded.
    pub state: ProjectState,
}

impl AbsentProject {
    /// The name and the reason, for people.
    pub fn describe(&self) -> String {
        let reason = self.state.reason.as_deref().unwrap_or("left out");
        format!("{}: {reason}", self.name)
    }
}

/// Returns the error for a command whose projects are all excluded: `what`, and the reasons.
pub(super) fn none_ready(what: &str, absent: &[AbsentProject]) -> PlayError {
    let reasons: Vec<String> = absent.iter().map(AbsentProject::describe).collect();
    PlayError::Empty(format!("{what}: {}", reasons.join("; ")))
}

impl<J> PlayProject<J> {
    /// The project's name.
    pub fn name(&self) -> &str {
        &self.prepared.project.name
    }

    /// The file that a hole is cut into.
    ///
    /// # Errors
    /// The project has no such file.
    pub(super) fn source_file(&self, hole: &Hole) -> Result<&SourceFile, TaskError> {
        source_file(&self.files, hole)
    }
}

fn source_file<'a>(files: &'a [SourceFile], hole: &Hole) -> Result<&'a SourceFile, TaskError> {
    files
        .iter()
        .find(|file| file.path == hole.path)
        .ok_or_else(|| TaskError::other_file(hole))
}

/// Prepares the projects of a corpus and runs their own tests.
pub struct ProjectLoader<'a> {
    /// Corpus that sources and environments come from.
    pub corpus: &'a Corpus,
    /// Settings for running tests.
    pub execution: &'a ExecutionPlan,
    /// Receives events.
    pub listener: &'a dyn Listener,
    /// True if projects whose tests take long are used after their first runs, and the other runs
    /// are made meanwhile.
    pub after_first_runs: bool,
}

/// Time after which a long step, such as a run of all tests, is reported again.
const REPEAT_EVERY: Duration = Duration::from_secs(60);
/// Duration of a run of all tests up to which all runs are made before a project is used.
const SHORT_RUN: Duration = Duration::from_secs(5);

impl<'a> ProjectLoader<'a> {
    /// A loader that makes all runs before a project is used.
    pub fn new(
        corpus: &'a Corpus,
        execution: &'a ExecutionPlan,
        listener: &'a dyn Listener,
    ) -> Self {
        Self {
            corpus,
            execution,
            listener,
            after_first_runs: false,
        }
    }
}

impl ProjectLoader<'_> {
    /// Prepares all projects and runs the own tests of those that have some.
    ///
    /// # Errors
    /// No project has a folder among the added tests, or the sandbox is unavailable.
    pub(super) fn load(
        &self,
        manifest: &Manifest,
    ) -> Result<(Vec<PlayableProject>, Vec<AbsentProject>), PlayError> {
        let (prepared, mut absent) = self.prepare(manifest)?;
        let (playable, failed) = self.open(prepared)?;
        absent.extend(failed);
        Ok((playable, absent))
    }

    /// As [`ProjectLoader::load`]; projects without tests are absent.
    ///
    /// # Errors
    /// As [`ProjectLoader::load`].
    pub(super) fn load_tested(
        &self,
        manifest: &Manifest,
    ) -> Result<(Vec<TestedProject>, Vec<AbsentProject>), PlayError> {
        let (playable, mut absent) = self.load(manifest)?;
        let mut tested = Vec::new();
        for project in playable {
            let PlayProject {
                prepared,
                judge,
                files,
            } = project;
            match judge {
                Some(judge) => tested.push(TestedProject {
                    prepared,
                    judge,
                    files,
                }),
                None => absent.push(self.absent(&prepared, ProjectStatus::LeftOut, &UNTESTED)),
            }
        }
        Ok((tested, absent))
    }

    /// Prepares the sources and environments of all projects, and overlays the added tests.
    ///
    /// # Errors
    /// No project has a folder among the added tests.
    pub(super) fn prepare(
        &self,
        manifest: &Manifest,
    ) -> Result<(Vec<Prepared>, Vec<AbsentProject>), PlayError> {
        let tests = self.execution.tests.as_deref();
        prepare(self.corpus, manifest, tests, self.listener)
    }

    /// Runs the own tests of the projects that have some.
    ///
    /// # Errors
    /// The sandbox is unavailable, or a source can't be read.
    pub(super) fn open(
        &self,
        prepared: Vec<Prepared>,
    ) -> Result<(Vec<PlayableProject>, Vec<AbsentProject>), PlayError> {
        let mut playable = Vec::new();
        let mut absent = Vec::new();
        for prepared in prepared {
            let first = self.run_own_tests(&prepared);
            let (prepared, tested) = match self.with_missing_packages(&prepared, &first) {
                Some(prepared) => {
                    let second = self.run_own_tests(&prepared);
                    (prepared, second)
                }
                None => (prepared, first),
            };
            match tested {
                Ok(judge) => {
                    let (files, left_out_files) = source_files(&prepared)?;
                    self.listener.receive(&Event::ProjectReady {
                        project: prepared.project.name.clone(),
                        language: prepared.project.language.name.to_owned(),
                        tests: judge.as_ref().map(|judge| judge.baseline().stable().len()),
                        set_aside: judge
                            .iter()
                            .flat_map(|judge| judge.baseline().set_aside())
                            .collect(),
                        readiness: judge.as_ref().map(|judge| {
                            let baseline = judge.baseline();
                            match (baseline.is_warm(), baseline.is_collectable()) {
                                _ if !baseline.is_complete() => "measuring",
                                (_, true) => "collected",
                                (true, false) => "loaded",
                                (false, false) => "cold",
                            }
                            .to_owned()
                        }),
                        cold_reason: judge
                            .as_ref()
                            .filter(|judge| judge.baseline().is_complete())
                            .and_then(|judge| Some(judge.baseline().unfit()?.to_owned())),
                        left_out_files,
                        left_out_packages: prepared.environment.left_out.clone(),
                        neutralised: judge
                            .iter()
                            .flat_map(|judge| judge.baseline().neutralised())
                            .map(str::to_owned)
                            .collect(),
                    });
                    playable.push(PlayableProject {
                        files,
                        judge,
                        prepared,
                    });
                }
                // Without a sandbox no project can be judged.
                Err(error @ VerdictError::Sandbox(_)) => return Err(error.into()),
                Err(error) => {
                    let mut reason = error.to_string();
                    if let Some(failed) = prepared.failed_before.first() {
                        reason += &format!("; before them, {failed}");
                    }
                    absent.push(self.absent(&prepared, ProjectStatus::Failed, &reason));
                }
            }
        }
        Ok((playable, absent))
    }

    /// The project with the packages whose modules its tests lack, if the repository lists them for
    /// another purpose.
    fn with_missing_packages(
        &self,
        prepared: &Prepared,
        tested: &Result<Option<Judge>, VerdictError>,
    ) -> Option<Prepared> {
        let mut project = prepared.project.clone();
        let spare = std::mem::take(&mut project.environment.spare);
        let modules = match tested {
            _ if spare.is_empty() => return None,
            Ok(Some(judge)) => {
                let set_aside = judge.baseline().set_aside();
                missing_modules(set_aside.iter().map(|(_, reason)| reason.as_str()))
            }
            Ok(None) => return None,
            Err(error) => missing_modules([error.to_string().as_str()]),
        };
        let manager = project.language.packages;
        let provided = modules
            .iter()
            .filter_map(|module| manager.provider(&spare, module));
        // One package may provide several modules.
        let found: Vec<String> = provided.collect::<BTreeSet<_>>().into_iter().collect();
        if found.is_empty() {
            return None;
        }
        let finding = format!(
            "packages: also {}, whose modules its tests lack",
            found.join(", ")
        );
        self.listener.receive(&Event::ProjectDetected {
            project: project.name.clone(),
            findings: vec![finding],
        });
        project.environment.requires.extend(found);
        let tests = self.execution.tests.as_deref();
        let ready = prepare_project(self.corpus, &project, tests, self.listener);
        ready
            .inspect_err(|error| {
                self.listener.receive(&Event::SlowPath {
                    project: project.name.clone(),
                    reason: format!("the packages that its tests lack are left out: {error}"),
                });
            })
            .ok()
    }

    /// `None` if the project has no tests.
    fn run_own_tests(&self, prepared: &Prepared) -> Result<Option<Judge>, VerdictError> {
        if prepared.project.test.is_none() {
            return Ok(None);
        }
        let cache = self.corpus.cache.root();
        let ExecutionPlan {
            threads,
            engine,
            anew,
            ..
        } = *self.execution;
        let name = Some(prepared.project.name.as_str());
        let progress = PhaseProgress::start(self.listener, Phase::Baseline, name, 0);
        // A short suite is measured whole at once; a long one goes on while holes are chosen.
        let longest = match self.after_first_runs {
            true => SHORT_RUN,
            false => Duration::MAX,
        };
        let ended = Arc::new(AtomicUsize::new(0));
        let known = AtomicUsize::new(0);
        let measure = || {
            Judge::after_first_runs(prepared, cache, engine, threads, longest, &ended, |step| {
                match step {
                    BaselineStep::Runs { done, total } => {
                        ended.store(0, Ordering::Relaxed);
                        progress.set(done, total);
                    }
                    BaselineStep::FirstRun { tests, time } => {
                        known.store(tests, Ordering::Relaxed);
                        self.listener.receive(&Event::TestsRun {
                            project: prepared.project.name.clone(),
                            tests,
                            seconds: time.as_secs_f64(),
                            meanwhile: time > longest,
                        })
                    }
                }
            })
        };
        let report_tests = || {
            let (done, known) = (ended.load(Ordering::Relaxed), known.load(Ordering::Relaxed));
            if done > 0 {
                self.listener.receive(&Event::TestsEnded {
                    project: prepared.project.name.clone(),
                    // A suite may report more than its tests.
                    done: if known > 0 { done.min(known) } else { done },
                    tests: (known > 0).then_some(known),
                });
            }
        };
        let judge = progress.repeating(REPEAT_EVERY, report_tests, measure)?;
        Ok(Some(if anew { judge } else { judge.with_cache(cache) }))
    }

    fn absent(
        &self,
        prepared: &Prepared,
        status: ProjectStatus,
        reason: &dyn std::fmt::Display,
    ) -> AbsentProject {
        let project = &prepared.project;
        report_absent(
            self.listener,
            &project.name,
            project.language.name,
            status,
            reason,
        )
    }
}

/// Reason for which nothing can be said of changes to a project.
pub(super) const UNTESTED: &str = "it has no tests (`[project.test]` in the manifest)";

/// Prepares the source and the environment of a project, and overlays tests from a folder.
fn prepare_project(
    corpus: &Corpus,
    project: &Project,
    tests: Option<&Path>,
    listener: &dyn Listener,
) -> Result<Prepared, CorpusError> {
    let report_step = |name: &str, step: CorpusStep| {
        let step = match step {
            CorpusStep::Source | CorpusStep::Ready => return,
            CorpusStep::Environment => PreparationStep::Environment,
            CorpusStep::Waiting => PreparationStep::Waiting,
        };
        listener.receive(&Event::ProjectPreparing {
            project: name.to_owned(),
            step,
        });
    };
    corpus
        .prepare_project(project, &report_step)
        .and_then(|prepared| match tests {
            Some(folder) => {
                corpus.with_tests(prepared, folder, &|step| report_step(&project.name, step))
            }
            None => Ok(prepared),
        })
        .and_then(|prepared| {
            run_commands_before(corpus, prepared, &|step| report_step(&project.name, step))
        })
        .inspect(|prepared| {
            let findings = prepared.failed_before.iter();
            let findings: Vec<String> = findings
                .map(|failed| format!("before the tests: {failed}; the tests run without it"))
                .collect();
            if !findings.is_empty() {
                listener.receive(&Event::ProjectDetected {
                    project: project.name.clone(),
                    findings,
                });
            }
        })
}

/// Prepares the sources and environments of all projects, and overlays tests from a folder.
///
/// # Errors
/// The folder has nothing for any project.
pub fn prepare(
    corpus: &Corpus,
    manifest: &Manifest,
    tests: Option<&Path>,
    listener: &dyn Listener,
) -> Result<(Vec<Prepared>, Vec<AbsentProject>), PlayError> {
    if let Some(folder) = tests
        && !has_added_tests(folder, manifest)
    {
        return Err(PlayError::Refused(format!(
            "{} has no tests to add: it needs a folder named after a project, such as {}",
            folder.display(),
            manifest
                .projects
                .first()
                .map_or("PROJECT", |project| &project.name)
        )));
    }
    let all = manifest.projects.len();
    let progress = PhaseProgress::start(listener, Phase::Prepare, None, all);
    let mut prepared = Vec::new();
    let mut absent = Vec::new();
    for project in &manifest.projects {
        let work = || prepare_project(corpus, project, tests, listener);
        let ready = progress.repeating(REPEAT_EVERY, || (), work);
        match ready {
            Ok(ready) => prepared.push(ready),
            Err(error) => {
                // A missing program is this machine's lack and not a fault of the project.
                let status = match error {
                    CorpusError::Environment(EnvironmentError::MissingProgram { .. }) => {
                        ProjectStatus::LeftOut
                    }
                    _ => ProjectStatus::Failed,
                };
                let language = project.language.name;
                let project = report_absent(listener, &project.name, language, status, &error);
                absent.push(project);
            }
        }
        progress.advance(1);
    }
    Ok((prepared, absent))
}

fn report_absent(
    listener: &dyn Listener,
    name: &str,
    language: &str,
    status: ProjectStatus,
    reason: &dyn std::fmt::Display,
) -> AbsentProject {
    let reason = reason.to_string();
    listener.receive(&Event::ProjectFailed {
        project: name.to_owned(),
        language: language.to_owned(),
        status,
        reason: reason.clone(),
    });
    AbsentProject {
        name: name.to_owned(),
        state: ProjectState {
            language: language.to_owned(),
            status,
            reason: Some(reason),
            mined: None,
        },
    }
}

/// Adds the errors of TypeScript's checker to the verdicts over these projects.
///
/// # Errors
/// The checker fails on an unchanged project.
pub(super) fn with_type_check(
    projects: Vec<PlayableProject>,
    cache: &Path,
) -> Result<Vec<PlayableProject>, PlayError> {
    projects
        .into_iter()
        .map(|project| {
            let judge = project.judge.map(|judge| judge.with_type_checker(cache));
            Ok(PlayableProject {
                judge: judge.transpose()?,
                ..project
            })
        })
        .collect()
}

/// Loads a corpus's manifest, and reports what was detected if it has none.
///
/// # Errors
/// See [`Corpus::load_manifest`].
pub(super) fn load_manifest(
    corpus: &Corpus,
    location: &Path,
    listener: &dyn Listener,
) -> Result<Manifest, PlayError> {
    let manifest = corpus.load_manifest(location)?;
    for (project, findings) in &manifest.findings {
        listener.receive(&Event::ProjectDetected {
            project: project.clone(),
            findings: findings.clone(),
        });
    }
    Ok(manifest)
}

/// As [`load_manifest`], for their sources alone: the projects have no tests and need no
/// environment.
///
/// # Errors
/// See [`Corpus::load_manifest`].
pub(super) fn load_sources(
    corpus: &Corpus,
    location: &Path,
    listener: &dyn Listener,
) -> Result<Manifest, PlayError> {
    let mut manifest = load_manifest(corpus, location, listener)?;
    for project in &mut manifest.projects {
        // Sources alone need neither packages nor tests, so nothing is installed.
        project.environment = Packages::default();
        project.test = None;
    }
    Ok(manifest)
}

/// True if a folder of added tests has some for any project of a manifest.
pub(super) fn has_added_tests(folder: &Path, manifest: &Manifest) -> bool {
    let mut projects = manifest.projects.iter();
    projects.any(|project| folder.join(&project.name).is_dir())
}

/// Keeps the projects that have any of these holes: preparing a project runs its tests.
pub fn retain_projects_of<'a>(manifest: &mut Manifest, holes: impl IntoIterator<Item = &'a Hole>) {
    let names: BTreeSet<&str> = holes.into_iter().map(|hole| &*hole.project).collect();
    let projects = &mut manifest.projects;
    projects.retain(|project| names.contains(&*project.name));
}

/// Refuses holes of projects that the manifest does not have.
///
/// # Errors
/// Names the first such hole.
pub fn check_projects(holes: &[Hole], manifest: &Manifest, corpus: &Path) -> Result<(), PlayError> {
    let Some(hole) = holes
        .iter()
        .find(|hole| manifest.project(&hole.project).is_none())
    else {
        return Ok(());
    };
    let missing = format!(
        "{} is of the project `{}`, which {} does not have",
        hole.id,
        hole.project,
        corpus.display()
    );
    Err(PlayError::Refused(
        if Language::for_path(Path::new(&hole.path)).is_none() {
            format!(
                "{missing}: holes in {} can't be replayed, only their text be scored",
                hole.language
            )
        } else {
            missing
        },
    ))
}

/// Reads every file that a language server is shown and whose language is supported.
///
/// # Errors
/// The source can't be listed.
pub(crate) fn visible_sources(prepared: &Prepared) -> Result<Vec<SourceFile>, PlayError> {
    let mut files = Vec::new();
    for path in prepared.visible_files()? {
        let Some(language) = Language::for_path(Path::new(&path)) else {
            continue;
        };
        // A file that can't be read defines nothing.
        files.extend(SourceFile::read(&prepared.source, &path, language));
    }
    Ok(files)
}

/// The files that holes may be cut into, and why others that match `holes` can have none.
///
/// # Errors
/// The source can't be listed.
fn source_files(
    prepared: &Prepared,
) -> Result<(Vec<SourceFile>, BTreeMap<String, String>), PlayError> {
    let mut files = Vec::new();
    let unnamed = prepared.unnamed.iter();
    let mut left_out: BTreeMap<String, String> = unnamed
        .map(|name| (name.clone(), "its name is not UTF-8".to_owned()))
        .collect();
    for path in prepared.hole_files()? {
        let Some(language) = Language::for_path(Path::new(&path)) else {
            continue;
        };
        match SourceFile::read(&prepared.source, &path, language) {
            Ok(file) => files.push(file),
            Err(reason) => {
                left_out.insert(path, reason);
            }
        }
    }
    Ok((files, left_out))
}

#[cfg(test)]
mod tests {
    use fillrate_language::task::HoleKind;

    use super::*;

    #[test]
    fn hole_in_missing_file_is_an_error_not_an_empty_file() {
        let hole = Hole::new("demo", "python", "a.py", HoleKind::Line, 0..5, "x = 1\n");
        let file = SourceFile {
            path: "b.py".to_owned(),
            contents: "x = 1\n".to_owned(),
            language: Language::by_id("python").expect("Python is supported"),
        };
        let error = source_file(&[file], &hole).expect_err("a.py is missing");
        assert!(matches!(error, TaskError::OtherFile { path, .. } if path == "a.py"));
    }
}
