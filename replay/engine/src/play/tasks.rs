//! Writes holes as tasks for other harnesses.

mod harbor;

use std::fs;
use std::path::{Path, PathBuf};

use fillrate_language::task::{self, Hole};
use fillrate_verdict::corpus::Corpus;

use super::PlayError;
use super::events::Listener;
use super::projects::{
    AbsentProject, ExecutionPlan, ProjectLoader, TestedProject, check_projects, load_manifest,
    none_ready, retain_projects_of,
};
use harbor::{DecidingTests, HarborProject, TaskFault};

/// Holes to write as tasks.
#[derive(Clone, Debug)]
pub struct TasksPlan {
    /// The corpus: a manifest file, a folder or an address.
    pub corpus: PathBuf,
    /// The tasks file with the holes.
    pub tasks: PathBuf,
    /// The folder that gets a folder for each hole. It must be empty or absent.
    pub out: PathBuf,
    /// Format of the tasks.
    pub format: TaskFormat,
    /// Number of concurrent jobs to make what the cache lacks.
    pub threads: usize,
    /// The folder of tests that are added to the projects' own: files in `PROJECT/`.
    pub tests: Option<PathBuf>,
}

/// A format of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum TaskFormat {
    /// Folders as [Harbor](https://www.harborframework.com/docs/tasks) reads them.
    Harbor,
}

/// Result of writing tasks.
#[derive(Debug)]
pub struct TasksOutcome {
    /// Number of tasks that were written.
    pub written: usize,
    /// The holes that were not, by reason: number and reason.
    pub left_out: Vec<(usize, String)>,
    /// The projects that are not ready.
    pub absent: Vec<AbsentProject>,
}

/// Writes a task for each hole.
///
/// # Errors
/// The corpus or the tasks are invalid, no project is ready, no hole can be written, or a file
/// can't be.
pub fn run(plan: &TasksPlan, listener: &dyn Listener) -> Result<TasksOutcome, PlayError> {
    let TaskFormat::Harbor = plan.format;
    check_empty(&plan.out)?;
    let corpus = Corpus::from_environment()?;
    let mut manifest = load_manifest(&corpus, &plan.corpus, listener)?;
    let holes = task::read(&plan.tasks)?;
    check_projects(&holes, &manifest, &plan.corpus)?;
    retain_projects_of(&mut manifest, &holes);
    let execution = ExecutionPlan {
        tests: plan.tests.clone(),
        ..ExecutionPlan::warm(plan.threads)
    };
    let loader = ProjectLoader::new(&corpus, &execution, listener);
    let (projects, absent) = loader.load_tested(&manifest)?;
    let mut outcome = TasksOutcome {
        written: 0,
        left_out: Vec::new(),
        absent,
    };
    for project in &projects {
        for hole in holes.iter().filter(|hole| hole.project == project.name()) {
            match write_task(project, hole, &plan.out) {
                Ok(()) => outcome.written += 1,
                Err(TaskFault::LeftOut(reason)) => outcome.leave_out(reason),
                Err(TaskFault::Failed(error)) => return Err(error),
            }
        }
    }
    if outcome.written == 0 {
        let what = format!("no hole of {} can be written", plan.tasks.display());
        return Err(match outcome.left_out.first() {
            Some((_, reason)) => PlayError::Empty(format!("{what}: {reason}")),
            None => none_ready(&what, &outcome.absent),
        });
    }
    Ok(outcome)
}

/// Writes one task.
fn write_task(project: &TestedProject, hole: &Hole, out: &Path) -> Result<(), TaskFault> {
    let contents = &project.source_file(hole)?.contents;
    let baseline = project.judge.baseline();
    let set_aside = baseline.set_aside().into_iter().map(|(id, _)| id);
    let flaky = baseline.quarantined().into_iter().map(str::to_owned);
    let tests = DecidingTests {
        ids: project.judge.deciding_tests(hole, contents)?,
        unstable: set_aside.chain(flaky).collect(),
    };
    HarborProject::new(&project.prepared)?.write(hole, contents, &tests, out)
}

impl TasksOutcome {
    fn leave_out(&mut self, reason: String) {
        match self.left_out.iter_mut().find(|(_, known)| *known == reason) {
            Some((number, _)) => *number += 1,
            None => self.left_out.push((1, reason)),
        }
    }
}

fn check_empty(folder: &Path) -> Result<(), PlayError> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(PlayError::file(folder)(error)),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(PlayError::Refused(format!(
                "the folder {} is not empty; name another one for the tasks",
                folder.display()
            ))),
        },
    }
}
