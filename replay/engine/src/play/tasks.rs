//! Writes holes as tasks for other harnesses.

mod harbor;

use std::fs;
use std::path::{Path, PathBuf};

use fillrate_language::task::{self, Hole};
use fillrate_verdict::Engine;
use fillrate_verdict::corpus::Corpus;

use super::PlayError;
use super::events::Listener;
use super::projects::{
    AbsentProject, ExecutionPlan, ProjectLoader, TestedProject, check_projects, load_manifest,
    none_ready,
};
use harbor::HarborProject;

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
    let has_hole = |name: &str| holes.iter().any(|hole| hole.project == name);
    manifest.projects.retain(|project| has_hole(&project.name));
    let execution = ExecutionPlan {
        threads: plan.threads,
        engine: Engine::Warm,
        anew: false,
        tests: None,
    };
    let loader = ProjectLoader {
        corpus: &corpus,
        execution: &execution,
        listener,
        after_first_runs: false,
    };
    let (projects, absent) = loader.load_tested(&manifest)?;
    let mut outcome = TasksOutcome {
        written: 0,
        left_out: Vec::new(),
        absent,
    };
    for project in &projects {
        let own: Vec<&Hole> = holes
            .iter()
            .filter(|hole| hole.project == project.name())
            .collect();
        match HarborProject::new(&project.prepared)? {
            Ok(writer) => {
                for hole in own {
                    match write_task(&writer, project, hole, &plan.out)? {
                        None => outcome.written += 1,
                        Some(reason) => outcome.leave_out(1, reason),
                    }
                }
            }
            Err(reason) => outcome.leave_out(own.len(), reason),
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

/// Writes one task; returns the reason why it can't be one.
fn write_task(
    writer: &HarborProject<'_>,
    project: &TestedProject,
    hole: &Hole,
    out: &Path,
) -> Result<Option<String>, PlayError> {
    let contents = &project.source_file(hole)?.contents;
    let tests = project.judge.deciding_tests(hole, contents)?;
    writer.write(hole, contents, &tests, out)
}

impl TasksOutcome {
    fn leave_out(&mut self, number: usize, reason: String) {
        match self.left_out.iter_mut().find(|(_, known)| *known == reason) {
            Some((known, _)) => *known += number,
            None => self.left_out.push((number, reason)),
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
