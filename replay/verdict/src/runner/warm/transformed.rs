//! Runs on files that a transformer has transformed, without the framework's own main process.

use std::collections::BTreeMap;

use fillrate_sandbox::{Limits, Overlay};
use parking_lot::Mutex;

use super::spares::SpareSandboxes;
use super::transformer::{START_TIME, Transformer};
use super::versions::VersionsRun;
use crate::error::VerdictError;
use crate::judged_code::FileContents;
use crate::runner::framework::WarmProgram;
use crate::runner::project::{ProjectRunner, TestRun, TestRunResult};

/// The transformer of a project and the sandboxes that show its files.
#[derive(Default)]
pub(super) struct TransformedRuns {
    /// `None` before the first run, and after it died.
    transformer: Mutex<Option<Transformer>>,
    spares: SpareSandboxes,
}

/// The transformed versions of a file.
pub(super) struct TransformedVersions {
    /// The folder of all transformed files.
    pub(super) folder: Overlay,
    /// Of each version, the files that differ, by name.
    pub(super) files: Vec<BTreeMap<String, String>>,
}

impl TransformedRuns {
    /// Runs tests on transformed files; `None` if a change can't be transformed.
    ///
    /// # Errors
    /// The sandbox is unavailable, or the project can't be transformed.
    pub(super) fn run(
        &self,
        runner: &ProjectRunner,
        run: &TestRun<'_>,
        program: &WarmProgram,
        host: &[String],
    ) -> Result<Option<TestRunResult>, VerdictError> {
        // Without changes, the files of the unchanged project are used as they are.
        let overlay = self.with_transformer(runner, program, |transformer| match run.replaced {
            [] => Ok(Some(transformer.overlay(Vec::new()))),
            changes => transformer.transform(changes),
        })?;
        let Some(overlay) = overlay else {
            return Ok(None);
        };
        let mut job = runner.job(program.program.clone(), host.to_vec(), run.limits.clone());
        // A spare is started before the change is known, so the changed files are laid over it
        // later.
        let changed = overlay.replaced;
        job.overlays.push(Overlay {
            replaced: Vec::new(),
            ..overlay
        });
        self.spares.run(runner, run, &job, changed).map(Some)
    }

    /// Transforms each version of a file; `None` if one can't be transformed.
    ///
    /// # Errors
    /// The sandbox is unavailable, or the project can't be transformed.
    pub(super) fn transform_versions(
        &self,
        runner: &ProjectRunner,
        run: &VersionsRun<'_>,
        program: &WarmProgram,
    ) -> Result<Option<TransformedVersions>, VerdictError> {
        self.with_transformer(runner, program, |transformer| {
            let mut files = Vec::new();
            for version in &run.versions {
                let change = FileContents {
                    path: run.path,
                    contents: version.contents,
                };
                let Some(changed) = transformer.transform(&[change])? else {
                    return Ok(None);
                };
                let changed = changed.replaced.into_iter().map(|file| {
                    let text = String::from_utf8_lossy(&file.content).into_owned();
                    (file.path.display().to_string(), text)
                });
                files.push(changed.collect());
            }
            let folder = transformer.overlay(Vec::new());
            Ok(Some(TransformedVersions { folder, files }))
        })
    }

    /// Works with the transformer, which is started if there is none, and dropped if it fails: it
    /// may be dead, so the next run starts another.
    fn with_transformer<T>(
        &self,
        runner: &ProjectRunner,
        program: &WarmProgram,
        work: impl FnOnce(&mut Transformer) -> Result<Option<T>, VerdictError>,
    ) -> Result<Option<T>, VerdictError> {
        // The lock is held during the work: the transformer answers one request at a time.
        let mut slot = self.transformer.lock();
        let transformer = match &mut *slot {
            Some(transformer) => transformer,
            None => {
                // They show the files of one that died.
                self.spares.clear();
                slot.insert(start_transformer(runner, program)?)
            }
        };
        let result = work(transformer);
        if !matches!(result, Ok(Some(_))) {
            *slot = None;
        }
        result
    }
}

fn start_transformer(
    runner: &ProjectRunner,
    program: &WarmProgram,
) -> Result<Transformer, VerdictError> {
    let limits = Limits {
        wall: START_TIME,
        cpu: START_TIME,
        memory: 4 << 30,
        // All modules of the project, in one line.
        collect: 1 << 30,
        ..Limits::default()
    };
    let mut job = runner.job(program.program.clone(), program.arguments.clone(), limits);
    job.input = Some(program.task.clone());
    Transformer::start(job)
}
