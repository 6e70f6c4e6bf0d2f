//! Runs the tests of one project, each run from scratch.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use fillrate_language::runner::{DEFAULT_MIN_SHARE, TestSettings};
use fillrate_language::task::{WholeFile, sha256_hex};
use fillrate_sandbox::{Bind, End, Finished, Job, Limits, Overlay, Replaced};

use super::framework::{StartFile, TestFramework};
use super::frameworks::framework_for;
use super::harness::{RunInstructions, write_scripts};
use super::layout::{HARNESS, OUTSIDE_PROJECT, REPOSITORY, TRANSFORMED};
use super::report::TestReport;
use crate::corpus::{CorpusError, Prepared};
use crate::error::VerdictError;
use crate::judged_code::FileContents;
use crate::outcome::Evidence;

/// The version of the way in which the tests' programs are called, which the results depend on too.
const CALLS: u32 = 2;

/// Runs the tests of one project.
pub(crate) struct ProjectRunner {
    prepared: Prepared,
    /// The manifest's settings for its tests.
    test: TestSettings,
    pub(super) framework: Box<dyn TestFramework>,
    /// The folder with the scripts that run with the tests.
    scripts: PathBuf,
    /// The project's files that tests must not change, by their paths in it.
    guarded: Vec<PathBuf>,
    /// The files of tests, and the tests, that every run leaves out.
    left_out: Vec<String>,
    /// Number of tests that have ended in the run that is furthest, according to the tests' process.
    tests_ended: Arc<AtomicUsize>,
}

/// What an empty file to start from means.
pub(crate) const SLOW_START: &str =
    "loading what runs tests once failed, and every run loads it, which takes longer";

/// Text in the lines of a report that say how a test ended.
const TEST_MARK: &str = "\"event\":\"test\",";

/// Settings of one run of tests.
#[derive(Clone)]
pub(crate) struct TestRun<'a> {
    /// Changed or new files.
    pub(crate) replaced: &'a [FileContents<'a>],
    /// The tests to run; `None` selects all.
    pub(crate) select: Option<&'a [&'a str]>,
    /// The files whose lines are recorded by test; `None` disables recording.
    pub(crate) coverage: Option<&'a [String]>,
    /// True if the first failure ends the run.
    pub(crate) first_failure_ends: bool,
    /// The time after which a test ends the run and is reported as one that can't be collected;
    /// `None` lets the sandbox's limit end it. Frameworks that leave out single tests observe it.
    pub(crate) test_time: Option<Duration>,
    /// The limits of the sandbox.
    pub(crate) limits: Limits,
}

impl<'a> TestRun<'a> {
    /// A run of some tests to their end, without coverage.
    pub(crate) fn new(
        replaced: &'a [FileContents<'a>],
        select: &'a [&'a str],
        limits: Limits,
    ) -> Self {
        Self {
            replaced,
            select: Some(select),
            coverage: None,
            first_failure_ends: false,
            test_time: None,
            limits,
        }
    }

    pub(super) fn overlay_files(&self) -> impl Iterator<Item = Replaced> {
        self.replaced.iter().map(|file| Replaced {
            path: file.path.into(),
            content: file.contents.into(),
        })
    }

    /// The scripts' instructions, with fresh secrets.
    pub(super) fn instructions(&self) -> RunInstructions<'a> {
        RunInstructions {
            nonce: RunInstructions::secret(),
            token: RunInstructions::secret(),
            select: self.select,
            coverage: self.coverage,
            first_failure_ends: self.first_failure_ends,
            test_seconds: self.test_time.map(|time| time.as_secs()),
            changed: self.replaced.iter().map(|file| file.path).collect(),
        }
    }
}

/// The result of a run.
pub(crate) struct TestRunResult {
    pub(crate) end: End,
    pub(crate) report: TestReport,
    /// New files of the project and guarded files that were written to, by their paths in it.
    /// Files outside the project begin with [`OUTSIDE_PROJECT`].
    pub(crate) changed: Vec<String>,
    /// Folders in which changes can't be seen, by paths as above; empty for the project's own.
    pub(crate) unreadable: Vec<String>,
    /// The end of the output.
    pub(crate) output: String,
    pub(crate) wall: Duration,
    /// In bytes.
    pub(crate) peak_memory: u64,
    /// The isolation reached.
    pub(crate) level: String,
}

/// The end of the output that a verdict keeps, in bytes.
const OUTPUT_KEPT: usize = 8 << 10;

impl ProjectRunner {
    /// Prepares running the project's tests.
    ///
    /// # Errors
    /// The project has no tests, or its source already has a file where its report goes.
    pub(crate) fn new(prepared: &Prepared, cache: &Path) -> Result<Self, VerdictError> {
        let not_runnable = |reason: String| VerdictError::NotRunnable {
            project: prepared.project.name.clone(),
            reason,
        };
        let unreadable = |error: CorpusError| not_runnable(error.to_string());
        let Some(test) = &prepared.project.test else {
            return Err(not_runnable("it has none".to_owned()));
        };
        let framework = framework_for(test.runner, prepared.project.language);
        if let Some(reason) = framework.refusal(prepared) {
            return Err(not_runnable(reason));
        }
        // A run that dies early would be judged by the stale report.
        if let Some(path) = framework.report_file(&prepared.project)
            && prepared.source.join(&path).exists()
        {
            return Err(not_runnable(format!(
                "its source has a file {} already; let the command write its report elsewhere",
                path.display()
            )));
        }
        // A file that is not compiled with the others can't break them, so it needs no argument.
        let excluded = match framework.compiled_ending() {
            Some(ending) => {
                let mut excluded = prepared.excluded_files().map_err(unreadable)?;
                excluded.retain(|path| path.ends_with(ending));
                excluded
            }
            None => Vec::new(),
        };
        let mut runner = Self {
            prepared: prepared.clone(),
            test: test.clone(),
            scripts: write_scripts(framework.scripts(), cache)?,
            framework,
            guarded: prepared.other_files().map_err(unreadable)?,
            left_out: Vec::new(),
            tests_ended: Arc::default(),
        };
        runner.leave_out(&excluded);
        runner.write_start_file()?;
        Ok(runner)
    }

    /// Has the framework write the file from which its runs start, unless it is there.
    fn write_start_file(&self) -> Result<(), VerdictError> {
        let missing = |file: &StartFile| !file.kept.is_file();
        let Some(file) = self.framework.start_file(&self.prepared).filter(missing) else {
            return Ok(());
        };
        let mut job = self.job(file.program, file.arguments, Limits::default());
        job.collect = vec![file.written.clone()];
        let mut finished = fillrate_sandbox::run(&job)?;
        let bytes = finished.collected.remove(&file.written);
        if bytes.is_none() {
            let project = &self.prepared.project.name;
            let end = finished.end;
            tracing::warn!("{project}: {SLOW_START}: {end}");
        }
        let written = WholeFile::create(&file.kept).and_then(|mut whole| {
            whole.write_all(&bytes.unwrap_or_default())?;
            whole.finish()
        });
        written.map_err(|source| VerdictError::Cache {
            path: file.kept,
            source,
        })
    }

    /// True if the framework can't write the file from which its runs start.
    pub(crate) fn starts_slowly(&self) -> bool {
        let is_empty = |file: StartFile| file.kept.metadata().is_ok_and(|kept| kept.len() == 0);
        self.framework
            .start_file(&self.prepared)
            .is_some_and(is_empty)
    }

    /// Reports in `ended` the number of tests that have ended in the furthest run.
    pub(crate) fn count_tests(&mut self, ended: &Arc<AtomicUsize>) {
        self.tests_ended = Arc::clone(ended);
    }

    /// Leaves files of tests, or tests, out of every run from now on. Returns whether the framework
    /// can.
    pub(crate) fn leave_out(&mut self, files: &[String]) -> bool {
        // All or none: a part of them would leave out other tests than the caller records.
        let arguments: Option<Vec<String>> = files
            .iter()
            .map(|file| self.framework.leave_out(file))
            .collect();
        let Some(arguments) = arguments else {
            return false;
        };
        // The frameworks read the arguments from either copy of the settings.
        self.test.args.extend(arguments.iter().cloned());
        if let Some(test) = &mut self.prepared.project.test {
            test.args.extend(arguments);
        }
        self.left_out.extend(files.iter().cloned());
        true
    }

    /// The least share of the tests that must pass in the unchanged project.
    pub(crate) fn min_share(&self) -> f64 {
        self.test.min_share.unwrap_or(DEFAULT_MIN_SHARE)
    }

    pub(crate) fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The manifest's time limit for the tests of a changed file, start-up excluded.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        let seconds = self.test.timeout?;
        Some(Duration::from_secs(seconds.into()))
    }

    /// Evidence that its runs can't give and that is not required.
    pub(crate) fn unavailable_evidence(&self) -> &'static [Evidence] {
        self.framework.unavailable_evidence()
    }

    /// The exit status of a run in which only the sentinels fail.
    pub(crate) fn status(&self) -> i32 {
        self.framework.status()
    }

    /// Returns true if its runs can be started before their instructions are known, see
    /// [`WarmStart::waits_for_instructions`].
    pub(crate) fn waits_for_instructions(&self) -> bool {
        self.framework.waits_for_instructions()
    }

    /// The file of a test, see [`TestIds::file_of`].
    pub(crate) fn file_of<'a>(&self, id: &'a str) -> Option<&'a str> {
        self.framework.file_of(id)
    }

    /// The ids that a test function may have, see [`TestIds::test_ids`].
    pub(crate) fn test_ids(&self, path: &str, names: &[String]) -> Vec<String> {
        self.framework.test_ids(path, names)
    }

    /// The files in which tests of these ids may be, in the order of the ids.
    pub(crate) fn test_files(&self, ids: &[&str]) -> Vec<String> {
        let mut files: Vec<(usize, String)> = Vec::new();
        for path in self.guarded.iter().filter_map(|path| path.to_str()) {
            // Without names, these are the prefixes of all ids of the file.
            let starts = self.test_ids(path, &[]);
            let text = LazyCell::new(|| self.read(path).unwrap_or_default());
            let holds = |id: &str| {
                let declaration = || self.framework.declaration(id);
                starts.iter().any(|start| id.starts_with(start.as_str()))
                    && declaration().is_none_or(|declaration| text.contains(&declaration))
            };
            if let Some(index) = ids.iter().position(|id| holds(id)) {
                files.push((index, path.to_owned()));
            }
        }
        files.sort();
        files.into_iter().map(|(_, path)| path).collect()
    }

    /// The project's files that tests must not change, by their paths in it.
    pub(crate) fn guarded_files(&self) -> impl Iterator<Item = &str> {
        self.guarded.iter().filter_map(|path| path.to_str())
    }

    /// Returns true if it can run single tests and record the lines that each runs.
    pub(crate) fn can_select(&self) -> bool {
        // Only the scripts that report out of band select tests and record lines.
        self.framework.report_file(&self.prepared.project).is_none()
    }

    /// Returns true if tests must not change this file of the project.
    pub(crate) fn is_guarded(&self, path: &str) -> bool {
        self.guarded
            .iter()
            .any(|guarded| guarded == Path::new(path))
    }

    /// The hash of all that the results of a run without changes depend on.
    pub(crate) fn key(&self) -> String {
        let test = &self.test;
        // What is left out follows from the rest.
        let own = test.args.len() - self.left_out.len();
        // The file may be outside the source, whose digest then lacks it.
        let configuration = test
            .config
            .as_deref()
            .and_then(|path| std::fs::read_to_string(path).ok());
        let scripts: Vec<&str> = self
            .framework
            .scripts()
            .iter()
            .map(|(_, text)| *text)
            .collect();
        let key = serde_json::json!({
            "calls": CALLS,
            "source": self.prepared.digest,
            "environment": self.prepared.environment.key,
            "arguments": &test.args[..own],
            "folder": test.folder,
            "path": test.path,
            "configuration": configuration,
            "variables": self.environment(),
            "holes": self.prepared.project.holes.patterns(),
            "exclude": self.prepared.project.exclude.patterns(),
            "command": test.command,
            "report": test.report,
            "timeout": test.timeout,
            "min_share": test.min_share,
            "scripts": scripts,
        });
        sha256_hex(key.to_string().as_bytes())
    }

    /// Reads a file of the unchanged project.
    ///
    /// # Errors
    /// The file can't be read.
    pub(crate) fn read(&self, path: &str) -> Result<String, VerdictError> {
        let path = self.prepared.source.join(path);
        std::fs::read_to_string(&path).map_err(|source| VerdictError::Cache { path, source })
    }

    /// Runs tests.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(crate) fn run(&self, run: &TestRun<'_>) -> Result<TestRunResult, VerdictError> {
        let mut job = self.test_job(run.limits.clone());
        // The first overlay is the project.
        job.overlays[0].replaced.extend(run.overlay_files());
        self.run_job(job, &run.instructions())
    }

    /// Runs tests on a copy of the project, made for this run, of which nothing is compiled.
    ///
    /// # Errors
    /// The copy can't be made; the sandbox is unavailable.
    pub(crate) fn run_in_copy(&self, run: &TestRun<'_>) -> Result<TestRunResult, VerdictError> {
        let cache_error = |source| VerdictError::Cache {
            path: std::env::temp_dir(),
            source,
        };
        let folder = tempfile::tempdir().map_err(cache_error)?;
        let copy = folder.path().join("project");
        self.prepared
            .copy_source(&copy)
            .map_err(|error| VerdictError::NotRunnable {
                project: self.prepared.project.name.clone(),
                reason: error.to_string(),
            })?;
        for FileContents { path, contents } in run.replaced {
            let path = copy.join(path);
            let time = path.metadata().and_then(|metadata| metadata.modified());
            std::fs::write(&path, contents).map_err(cache_error)?;
            // A file that is newer than the others would be known as the one that was changed.
            if let Ok(time) = time {
                let file = std::fs::File::open(&path).map_err(cache_error)?;
                file.set_modified(time).map_err(cache_error)?;
            }
        }
        let mut job = self.test_job(run.limits.clone());
        job.overlays[0].lower = copy;
        let compiled = self.framework.compiled_files();
        job.overlays
            // The compiled form of the unchanged project is left out, so the run compiles
            // everything.
            .retain(|overlay| Some(&overlay.at) != compiled.as_ref());
        if let Some(last) = job.overlays.last_mut() {
            last.replaced.extend(self.framework.nothing_compiled());
        }
        self.run_job(job, &run.instructions())
    }

    /// Compiles several versions of a file: for each an identifier of its compiled form, the same
    /// for two versions that compile to the same, or `None` if it does not compile. `None` in all
    /// if the language has no compiled form to compare.
    ///
    /// # Errors
    /// The sandbox is unavailable, or the compiler fails.
    pub(crate) fn compile_versions(
        &self,
        versions: &[&str],
    ) -> Result<Option<Vec<Option<String>>>, VerdictError> {
        let Some((program, arguments)) = self.framework.compiler() else {
            return Ok(None);
        };
        let mut job = self.job(program, arguments, Limits::default());
        let line = serde_json::to_string(versions).unwrap_or_default();
        job.input = Some(line + "\n");
        let finished = fillrate_sandbox::run(&job)?;
        let compiled: Option<Vec<Option<String>>> = serde_json::from_slice(&finished.reply).ok();
        compiled
            .filter(|compiled| compiled.len() == versions.len())
            .map(Some)
            .ok_or_else(|| VerdictError::NotRunnable {
                project: self.prepared.project.name.clone(),
                reason: format!("its compiler fails: {}", finished.stderr.text()),
            })
    }

    /// The framework's program that compiles changed files, see
    /// [`Compilation::compile_checker`](super::framework::Compilation::compile_checker).
    pub(crate) fn compile_checker_job(&self, limits: Limits) -> Option<Job> {
        let (program, mut arguments) = self.framework.compile_checker(&self.prepared)?;
        arguments.extend(self.framework.arguments(&self.test.args));
        Some(self.job_in_folder(program, arguments, limits))
    }

    /// The framework's own command.
    pub(super) fn test_job(&self, limits: Limits) -> Job {
        let (program, mut arguments) = self.framework.command(&self.prepared);
        arguments.extend(self.framework.arguments(&self.test.args));
        self.job_in_folder(program, arguments, limits)
    }

    /// A program in the folder in which the tests run.
    fn job_in_folder(&self, program: String, arguments: Vec<String>, limits: Limits) -> Job {
        let mut job = self.job(program, arguments, limits);
        if let Some(folder) = &self.test.folder {
            job.directory = Path::new(REPOSITORY).join(folder);
        }
        job
    }

    /// Runs a job of tests with these instructions.
    fn run_job(
        &self,
        mut job: Job,
        instructions: &RunInstructions<'_>,
    ) -> Result<TestRunResult, VerdictError> {
        // A command that writes a report file gets no secret on its standard input.
        job.input = self.report_path().is_none().then(|| instructions.line());
        let finished = fillrate_sandbox::run_counting(&job, TEST_MARK, &self.tests_ended)?;
        Ok(self.result(finished, instructions))
    }

    /// A program on a copy-on-write view of the project.
    pub(crate) fn job(&self, program: String, arguments: Vec<String>, limits: Limits) -> Job {
        let mut job = Job::new(program, REPOSITORY);
        job.arguments = arguments;
        job.environment = self.environment();
        job.binds = vec![Bind::read_only(&self.scripts, HARNESS)];
        job.binds.extend(self.framework.binds(&self.prepared));
        let mut overlay = Overlay::new(&self.prepared.source, REPOSITORY);
        overlay.guarded.clone_from(&self.guarded);
        job.overlays = vec![overlay];
        job.overlays.extend(self.framework.overlays(&self.prepared));
        job.collect = self.report_path().into_iter().collect();
        job.limits = limits;
        job
    }

    /// Runs a command of the shell with the repository in the folder `root`, which it may write to.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(crate) fn run_command(
        &self,
        command: &str,
        root: &Path,
        limits: Limits,
    ) -> Result<Finished, VerdictError> {
        let arguments = vec!["-c".to_owned(), command.to_owned()];
        let mut job = self.job("/bin/sh".to_owned(), arguments, limits);
        // The command works on the writable folder itself, bound below in place of the overlay.
        job.overlays.clear();
        job.collect.clear();
        // What is shown within the repository, such as packages of a workspace, needs folders there.
        let within = job.binds.iter().filter_map(|bind| {
            let inside = bind.at.strip_prefix(REPOSITORY).ok()?;
            let folder = root.join(inside);
            let is_new = !folder.exists() && std::fs::create_dir_all(&folder).is_ok();
            is_new.then_some(folder)
        });
        let made: Vec<PathBuf> = within.collect();
        job.binds.push(Bind::writable(root, REPOSITORY));
        let finished = fillrate_sandbox::run(&job);
        for folder in made {
            // It stays if the command has written into it.
            let _ = std::fs::remove_dir(folder);
        }
        Ok(finished?)
    }

    /// The report file inside the sandbox, if the report is a file.
    fn report_path(&self) -> Option<PathBuf> {
        let path = self.framework.report_file(&self.prepared.project)?;
        Some(Path::new(REPOSITORY).join(path))
    }

    /// The result of a sandbox job with these instructions.
    pub(super) fn result(
        &self,
        finished: Finished,
        instructions: &RunInstructions<'_>,
    ) -> TestRunResult {
        self.result_with_nonce(finished, &instructions.nonce, &instructions.token)
    }

    /// The result of a sandbox job whose report is signed with `nonce`, and whose sentinels have
    /// `token` in their messages.
    pub(super) fn result_with_nonce(
        &self,
        finished: Finished,
        nonce: &str,
        token: &str,
    ) -> TestRunResult {
        // A missing report file gives an empty report, which has not ended.
        let bytes = match self.report_path() {
            Some(path) => finished.collected.get(&path),
            None => Some(&finished.reply),
        };
        let mut report = bytes
            .map(|bytes| self.framework.read_report(bytes, nonce))
            .unwrap_or_default();
        report.check_sentinels(self.framework.sentinels(), token);
        let output = [finished.stdout.text(), finished.stderr.text()].concat();
        // Compiled files that the scripts removed themselves are no change by the tests.
        let mut changed = paths_from_project(&finished.changed);
        changed.retain(|path| {
            let name = path.strip_prefix(OUTSIDE_PROJECT);
            name.is_none_or(|name| !report.removed.contains(name))
        });
        TestRunResult {
            end: finished.end,
            report,
            changed,
            unreadable: paths_from_project(&finished.unreadable),
            output: last_bytes(&output, OUTPUT_KEPT).to_owned(),
            wall: finished.wall,
            peak_memory: finished.peak_memory,
            level: finished.level.to_string(),
        }
    }

    fn environment(&self) -> BTreeMap<String, String> {
        [
            ("HOME", "/tmp".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("CI", "true".to_owned()),
        ]
        // Later entries win: the manifest's variables over the framework's, over these.
        .into_iter()
        .chain(self.framework.environment(&self.prepared.project))
        .map(|(name, value)| (name.to_owned(), value))
        .chain(self.prepared.project.environment.env.clone())
        .collect()
    }
}

/// Paths inside the sandbox as seen from the project, without those that belong to neither the
/// project nor a transformer. In names that are not UTF-8, bytes that are not ASCII are escaped, so
/// that different names stay different.
fn paths_from_project(paths: &[PathBuf]) -> Vec<String> {
    let inside = paths.iter().filter_map(|path| path_from_project(path));
    inside
        .map(|path| match path.to_str() {
            Some(text) => text.to_owned(),
            None => path
                .as_os_str()
                .as_encoded_bytes()
                .escape_ascii()
                .to_string(),
        })
        .collect()
}

/// A path inside the sandbox as seen from the project; `None` for one that belongs to neither the
/// project nor a transformer.
fn path_from_project(path: &Path) -> Option<PathBuf> {
    if let Ok(inside) = path.strip_prefix(REPOSITORY) {
        return Some(inside.to_owned());
    }
    let name = path.strip_prefix(TRANSFORMED).ok()?;
    Some(Path::new(OUTSIDE_PROJECT).join(name))
}

/// The last `limit` bytes of a text, or a few fewer, cut between characters.
fn last_bytes(text: &str, limit: usize) -> &str {
    let mut start = text.len().saturating_sub(limit);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
