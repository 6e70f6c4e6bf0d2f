//! One run of a project's tests in the sandbox, whatever the runner.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::baseline::Loaded;
use super::report::Report;
use super::stage::{self, SCENE, Stage};
use super::{Evidence, VerdictError, jest, junit, mocha, node, pytest, types, unittest, vitest};
use crate::corpus::manifest::{self, Project};
use crate::corpus::{CorpusError, Prepared, tree};
use crate::sandbox::{self, Bind, End, Finished, Job, Limits, Overlay, Replaced, Round, Worker};
use crate::task::sha256_hex;

/// A project set up for running its tests.
pub(super) struct Bench {
    prepared: Prepared,
    /// How its tests are run.
    test: manifest::Test,
    runner: &'static dyn Runner,
    /// The folder with the scripts that run beside the tests.
    harness: PathBuf,
    /// The project's files that tests have no business in changing, by their paths in it.
    guarded: Vec<PathBuf>,
    idle: Mutex<Vec<Idle>>,
    /// Whether a process could not collect the tests, though one could before.
    uncollectable: AtomicBool,
    /// What transforms for runs that do without the framework's own main process.
    stage: Mutex<Option<Stage>>,
}

/// What is run.
#[derive(Clone)]
pub(super) struct TestRun<'a> {
    /// Files that have other contents or are new, by their paths in the project.
    pub(super) replaced: &'a [(&'a str, &'a str)],
    /// The tests to run; nothing means all.
    pub(super) select: Option<&'a [&'a str]>,
    /// The files whose lines are recorded by test; nothing means no recording.
    pub(super) coverage: Option<&'a [String]>,
    /// Whether to stop at the first failure.
    pub(super) first_failure_ends: bool,
    /// How far it may go.
    pub(super) limits: Limits,
}

impl TestRun<'_> {
    fn laid_over(&self) -> impl Iterator<Item = Replaced> {
        self.replaced.iter().map(|(path, contents)| Replaced {
            path: (*path).into(),
            content: (*contents).into(),
        })
    }
}

/// What a run left behind.
pub(super) struct Finding {
    pub(super) end: End,
    pub(super) report: Report,
    /// Files of the project, by their paths in it, that are new, or were written to and no run
    /// may write to them. Those of the framework that lie beside it begin with [`BESIDE`].
    pub(super) changed: Vec<String>,
    /// The end of what was printed.
    pub(super) output: String,
    pub(super) wall: Duration,
    pub(super) peak_memory: u64,
    pub(super) level: String,
}

/// A test framework: how it is started and what runs beside it.
pub(super) trait Runner: Sync {
    /// The scripts that run beside the tests, as name and contents.
    fn harness(&self) -> &'static [(&'static str, &'static str)];

    /// The tests that must fail and are run after the project's own, by name. With them failing
    /// and all others passing, the framework ends with [`STATUS`].
    fn sentinels(&self) -> &'static [&'static str];

    /// What of a pass its runs can't show, and is not asked for.
    fn lacks(&self) -> &'static [Evidence] {
        &[]
    }

    /// The exit status of a run in which nothing but the sentinels failed.
    fn status(&self) -> i32 {
        STATUS
    }

    /// The file of JUnit XML, relative to the repository, that takes the place of the report. A
    /// runner with one neither chooses tests nor tells which lines they run.
    fn writes(&self, _project: &Project) -> Option<PathBuf> {
        None
    }

    /// The program inside the sandbox and its arguments.
    fn command(&self, prepared: &Prepared) -> (String, Vec<String>);

    /// How the framework is started so that it has this at hand; nothing where it can't.
    fn warm(&self, _: &Prepared, _: &Loaded, _: Readiness) -> Option<Warm> {
        None
    }

    /// The file of a test, where to run any test of a file costs about as much as to run them all.
    fn file<'a>(&self, _id: &'a str) -> Option<&'a str> {
        None
    }

    /// A program that tells which of several versions of a file compile to the same, see
    /// [`Bench::compiled`]; nothing where there is no compiled form to look at.
    fn compiler(&self) -> Option<(String, Vec<String>)> {
        None
    }

    /// What the framework needs in its environment.
    fn environment(&self, project: &Project) -> Vec<(&'static str, String)>;

    /// What must be seen of the host beside the project and the harness.
    fn binds(&self, prepared: &Prepared) -> Vec<Bind>;
}

/// What a process has at hand before a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// What the project's own tests load; of the project itself at most what was made of its text.
    Loaded,
    /// The project itself, unchanged, and all of its tests, collected.
    Collected,
}

/// A worker that waits for a run.
struct Idle {
    worker: Worker,
    readiness: Readiness,
    since: Instant,
}

/// How long forks of one process that has collected a project's tests are made. What its modules
/// noted of the time when they were imported must not be older than in a slow run of all tests.
const COLLECTED_LIFE: Duration = Duration::from_secs(60);

/// A program for a [`Worker`].
pub(super) struct Warm {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// What it is told first.
    pub(super) task: String,
    /// The arguments with which the same program runs tests, in a sandbox made for that run, on
    /// what the first has transformed; nothing where forks of the first run them.
    pub(super) host: Option<Vec<String>>,
}

/// Where things are inside the sandbox.
pub(super) const REPOSITORY: &str = "/box/repo";
pub(super) const HARNESS: &str = "/box/harness";

/// What the names of files begin with that are the framework's and not the project's.
pub(super) const BESIDE: &str = "../";

/// The exit status of a run in which nothing but the sentinels failed: every runner's for failed
/// tests; mocha's is their number. A program that ends itself with a status of its own choice has to guess it, too.
pub(super) const STATUS: i32 = 1;

/// The end of the output that is kept in a verdict, in bytes.
const OUTPUT_KEPT: usize = 8 << 10;

impl Bench {
    pub(super) fn new(prepared: &Prepared, cache: &Path) -> Result<Self, VerdictError> {
        let refuse = |reason: String| VerdictError::NotRunnable {
            project: prepared.project.name.clone(),
            reason,
        };
        let Some(test) = &prepared.project.test else {
            return Err(refuse("it has none".to_owned()));
        };
        let runner: &'static dyn Runner = match test.runner {
            manifest::Runner::Pytest => &pytest::Pytest,
            manifest::Runner::Unittest => &unittest::Unittest,
            manifest::Runner::Vitest => &vitest::Vitest,
            manifest::Runner::Node => &node::Node,
            manifest::Runner::Mocha => &mocha::Mocha,
            manifest::Runner::Jest => &jest::Jest,
            manifest::Runner::Junit => &junit::Junit,
        };
        let faulty = |error: CorpusError| refuse(error.to_string());
        // A run that dies early would be judged by what lies there.
        if let Some(path) = runner.writes(&prepared.project)
            && prepared.source.join(&path).exists()
        {
            return Err(refuse(format!(
                "its source has a file {} already; let the command write its report elsewhere",
                path.display()
            )));
        }
        Ok(Self {
            prepared: prepared.clone(),
            test: test.clone(),
            runner,
            harness: lay_out(runner.harness(), cache)?,
            guarded: tree::other_files(prepared).map_err(faulty)?,
            idle: Mutex::default(),
            uncollectable: AtomicBool::new(false),
            stage: Mutex::default(),
        })
    }

    pub(super) fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The time that the manifest gives the tests of a changed file, beside what starting takes.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let seconds = self.test.timeout?;
        Some(Duration::from_secs(seconds.into()))
    }

    /// What of a pass its runs can't show, and is not asked for.
    pub(super) fn lacks(&self) -> &'static [Evidence] {
        self.runner.lacks()
    }

    /// The exit status of a run in which nothing but the sentinels failed.
    pub(super) fn status(&self) -> i32 {
        self.runner.status()
    }

    /// The file of a test, see [`Runner::file`].
    pub(super) fn file<'a>(&self, id: &'a str) -> Option<&'a str> {
        self.runner.file(id)
    }

    /// Whether single tests can be run, and the lines that each runs be told.
    pub(super) fn chooses(&self) -> bool {
        self.runner.writes(&self.prepared.project).is_none()
    }

    /// Whether a file of the project, by its path in it, is one that tests have no business in
    /// changing.
    pub(super) fn guards(&self, path: &str) -> bool {
        self.guarded
            .iter()
            .any(|guarded| guarded == Path::new(path))
    }

    /// What the outcome of a run without changes depends on.
    pub(super) fn key(&self) -> String {
        let test = &self.test;
        let config = test
            .config
            .as_deref()
            .and_then(|path| std::fs::read_to_string(path).ok());
        let mut parts = vec![
            self.prepared.digest.clone(),
            self.prepared.environment.key.clone(),
            format!("{:?} {:?} {config:?}", test.args, test.path),
            format!("{:?}", self.environment()),
            format!("{:?}", self.prepared.project.holes.patterns()),
            format!("{:?}", self.prepared.project.exclude.patterns()),
        ];
        parts.extend(test.command.iter().chain(&test.report).cloned());
        parts.extend(test.timeout.map(|seconds| format!("timeout {seconds}")));
        parts.extend(
            self.runner
                .harness()
                .iter()
                .map(|(_, text)| (*text).to_owned()),
        );
        sha256_hex(parts.join("\0").as_bytes())
    }

    /// A file of the project as its source has it.
    pub(super) fn read(&self, path: &str) -> Result<String, VerdictError> {
        let path = self.prepared.source.join(path);
        std::fs::read_to_string(&path).map_err(|source| VerdictError::Cache { path, source })
    }

    /// Runs tests.
    ///
    /// # Errors
    /// The sandbox can't be had.
    pub(super) fn run(&self, run: &TestRun<'_>) -> Result<Finding, VerdictError> {
        let order = Order::new(run);
        let (program, arguments) = self.runner.command(&self.prepared);
        let mut job = self.job(program, arguments, run.limits.clone());
        job.arguments.extend(self.test.args.iter().cloned());
        job.question = self.written().is_none().then(|| order.line());
        job.overlays[0].replaced.extend(run.laid_over());
        let finished = sandbox::run(&job)?;
        Ok(self.finding(finished, &order))
    }

    /// Runs tests on a copy of the project, made for this run.
    ///
    /// # Errors
    /// The copy can't be made; the sandbox can't be had.
    pub(super) fn run_in_copy(&self, run: &TestRun<'_>) -> Result<Finding, VerdictError> {
        let fault = |source| VerdictError::Cache {
            path: std::env::temp_dir(),
            source,
        };
        let folder = tempfile::tempdir().map_err(fault)?;
        let copy = folder.path().join("project");
        tree::copy_source(&self.prepared, &copy).map_err(|error| VerdictError::NotRunnable {
            project: self.prepared.project.name.clone(),
            reason: error.to_string(),
        })?;
        for (path, contents) in run.replaced {
            std::fs::write(copy.join(path), contents).map_err(fault)?;
        }
        let order = Order::new(run);
        let (program, arguments) = self.runner.command(&self.prepared);
        let mut job = self.job(program, arguments, run.limits.clone());
        job.arguments.extend(self.test.args.iter().cloned());
        job.question = self.written().is_none().then(|| order.line());
        job.overlays[0].lower = copy;
        let finished = sandbox::run(&job)?;
        Ok(self.finding(finished, &order))
    }

    /// Runs tests in a fork of a process that has all this at hand, or on what such a process
    /// transforms; nothing where the framework can't, or this run has to be done by more of it.
    ///
    /// # Errors
    /// The sandbox can't be had, or not be kept; the framework is not fit for it.
    pub(super) fn run_warm(
        &self,
        run: &TestRun<'_>,
        loaded: &Loaded,
        readiness: Readiness,
        memory: u64,
    ) -> Result<Option<Finding>, VerdictError> {
        let collected = readiness == Readiness::Collected;
        if collected && (run.coverage.is_some() || self.uncollectable.load(Ordering::Relaxed)) {
            return Ok(None);
        }
        let Some(warm) = self.runner.warm(&self.prepared, loaded, readiness) else {
            return Ok(None);
        };
        if let Some(host) = &warm.host {
            return self.run_staged(run, &warm, host);
        }
        let Idle { worker, since, .. } = match self.take_idle(readiness) {
            Some(idle) => idle,
            None => {
                let limits = Limits {
                    memory,
                    ..Limits::default()
                };
                let mut job = self.job(warm.program, warm.arguments, limits);
                job.question = Some(warm.task);
                Idle {
                    worker: Worker::start(sandbox::Sandbox::default().executable, job)?,
                    readiness,
                    since: Instant::now(),
                }
            }
        };
        let order = Order::new(run);
        let round = Round {
            replaced: run.laid_over().collect(),
            question: order.line(),
            wall: run.limits.wall,
            cpu: run.limits.cpu,
        };
        let (finished, worker) = worker.round(round)?;
        super::lock(&self.idle).extend(worker.map(|worker| Idle {
            worker,
            readiness,
            since,
        }));
        let finding = self.finding(finished, &order);
        Ok((!finding.report.missed).then_some(finding))
    }

    /// A worker that waits with this at hand, if there is one; those that are too old are dropped.
    fn take_idle(&self, readiness: Readiness) -> Option<Idle> {
        let mut idle = super::lock(&self.idle);
        idle.retain(|idle| {
            idle.readiness == Readiness::Loaded || idle.since.elapsed() < COLLECTED_LIFE
        });
        let index = idle.iter().position(|idle| idle.readiness == readiness)?;
        Some(idle.swap_remove(index))
    }

    /// Has no further process collect the tests before a run.
    pub(super) fn give_up_collecting(&self) {
        self.uncollectable.store(true, Ordering::Relaxed);
    }

    fn run_staged(
        &self,
        run: &TestRun<'_>,
        warm: &Warm,
        host: &[String],
    ) -> Result<Option<Finding>, VerdictError> {
        if run.coverage.is_some() || run.replaced.len() > 1 {
            return Ok(None);
        }
        let overlay = {
            let mut kept = super::lock(&self.stage);
            if kept.is_none() {
                let mut job = self.job(
                    warm.program.clone(),
                    warm.arguments.clone(),
                    Limits {
                        wall: stage::WHOLE,
                        cpu: stage::WHOLE,
                        memory: 4 << 30,
                        // All modules of the project, in one line.
                        collect: 1 << 30,
                        ..Limits::default()
                    },
                );
                job.question = Some(warm.task.clone());
                *kept = Some(Stage::set(job)?);
            }
            let overlay = match (&mut *kept, run.replaced.first()) {
                (Some(stage), Some((path, contents))) => stage.change(path, contents)?,
                (Some(stage), None) => Some(stage.overlay(Vec::new())),
                (None, _) => None,
            };
            if overlay.is_none() {
                *kept = None;
            }
            overlay
        };
        let Some(overlay) = overlay else {
            return Ok(None);
        };
        let order = Order::new(run);
        let mut job = self.job(warm.program.clone(), host.to_vec(), run.limits.clone());
        job.question = Some(order.line());
        job.overlays[0].replaced.extend(run.laid_over());
        job.overlays.push(overlay);
        let finding = self.finding(sandbox::run(&job)?, &order);
        Ok((!finding.report.missed).then_some(finding))
    }

    /// For each text a word that is the same for two that compile to the same, or nothing where it
    /// does not compile; nothing at all where the framework's language has no such form.
    ///
    /// # Errors
    /// The sandbox can't be had, or the compiler says nothing.
    pub(super) fn compiled(
        &self,
        texts: &[&str],
    ) -> Result<Option<Vec<Option<String>>>, VerdictError> {
        let Some((program, arguments)) = self.runner.compiler() else {
            return Ok(None);
        };
        let mut job = self.job(program, arguments, Limits::default());
        let question = serde_json::to_string(texts).unwrap_or_default();
        job.question = Some(question + "\n");
        let finished = sandbox::run(&job)?;
        let compiled: Option<Vec<Option<String>>> =
            serde_json::from_slice(&finished.statement).ok();
        compiled
            .filter(|compiled| compiled.len() == texts.len())
            .map(Some)
            .ok_or_else(|| VerdictError::NotRunnable {
                project: self.prepared.project.name.clone(),
                reason: format!("its compiler says nothing: {}", finished.stderr.text()),
            })
    }

    /// The checker of a project that has TypeScript in its environment and says how it is
    /// configured; nothing for others.
    ///
    /// # Errors
    /// The script beside it can't be written.
    pub(super) fn checker(&self, cache: &Path) -> Result<Option<Job>, VerdictError> {
        let environment = &self.prepared.environment;
        let there = environment.root.join("node_modules/typescript").is_dir()
            && self.prepared.source.join("tsconfig.json").is_file();
        if !there {
            return Ok(None);
        }
        let limits = Limits {
            wall: types::WHOLE,
            cpu: types::WHOLE,
            memory: 4 << 30,
            ..Limits::default()
        };
        let program = environment.interpreter.display().to_string();
        let (name, _) = types::SCRIPT;
        let mut job = self.job(program, vec![format!("{HARNESS}/{name}")], limits);
        job.binds.retain(|bind| bind.at != Path::new(HARNESS));
        job.binds
            .push(Bind::read_only(lay_out(&[types::SCRIPT], cache)?, HARNESS));
        job.question = Some(serde_json::json!({"directory": REPOSITORY}).to_string() + "\n");
        Ok(Some(job))
    }

    /// The program on a copy-on-write view of the project.
    fn job(&self, program: String, arguments: Vec<String>, limits: Limits) -> Job {
        let mut job = Job::new(program, REPOSITORY);
        job.arguments = arguments;
        job.environment = self.environment();
        job.binds = vec![Bind::read_only(&self.harness, HARNESS)];
        job.binds.extend(self.runner.binds(&self.prepared));
        let mut overlay = Overlay::new(&self.prepared.source, REPOSITORY);
        overlay.guarded.clone_from(&self.guarded);
        job.overlays = vec![overlay];
        job.collect = self.written().into_iter().collect();
        job.limits = limits;
        job
    }

    /// Where inside the tests leave their report, where it does not go over their standard input.
    fn written(&self) -> Option<PathBuf> {
        let path = self.runner.writes(&self.prepared.project)?;
        Some(Path::new(REPOSITORY).join(path))
    }

    fn finding(&self, finished: Finished, order: &Order<'_>) -> Finding {
        let mut report = match self.written() {
            Some(path) => finished
                .collected
                .get(&path)
                .map(|bytes| junit::read(bytes))
                .unwrap_or_default(),
            None => Report::parse(&finished.statement, &order.nonce),
        };
        report.hold_sentinels(self.runner.sentinels(), &order.token);
        let output = [finished.stdout.text(), finished.stderr.text()].concat();
        Finding {
            end: finished.end,
            report,
            changed: finished
                .changed
                .iter()
                .filter_map(|path| {
                    let inside = path.strip_prefix(REPOSITORY).ok();
                    let beside = || {
                        path.strip_prefix(SCENE)
                            .ok()
                            .map(|name| Path::new(BESIDE).join(name))
                    };
                    inside.map(Path::to_owned).or_else(beside)
                })
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
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
        .into_iter()
        .chain(self.runner.environment(&self.prepared.project))
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }
}

/// What the scripts beside the tests are told, on their standard input: a line of JSON.
#[derive(Serialize)]
struct Order<'a> {
    /// Repeated in every line of the report. The scripts read it before any code of the project
    /// runs, and it is written nowhere else.
    nonce: String,
    /// Part of what every sentinel says when it fails.
    token: String,
    select: Option<&'a [&'a str]>,
    coverage: Option<&'a [String]>,
    first_failure_ends: bool,
    /// The files that differ from the project's own.
    changed: Vec<&'a str>,
}

impl<'a> Order<'a> {
    fn new(run: &TestRun<'a>) -> Self {
        let word = || format!("{:032x}", rand::random::<u128>());
        Self {
            nonce: word(),
            token: word(),
            select: run.select,
            coverage: run.coverage,
            first_failure_ends: run.first_failure_ends,
            changed: run.replaced.iter().map(|(path, _)| *path).collect(),
        }
    }

    fn line(&self) -> String {
        let line = serde_json::to_string(self).unwrap_or_default();
        line + "\n"
    }
}

/// Writes scripts, each a name and contents, into the cache, once for each version of them.
fn lay_out(scripts: &[(&str, &str)], cache: &Path) -> Result<PathBuf, VerdictError> {
    let all: Vec<&str> = scripts
        .iter()
        .flat_map(|(name, text)| [*name, *text])
        .collect();
    let folder = cache
        .join("harness")
        .join(&sha256_hex(all.join("\0").as_bytes())[..16]);
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |source| VerdictError::Cache { path, source }
    };
    if folder.is_dir() {
        return Ok(folder);
    }
    let parent = cache.join("harness");
    std::fs::create_dir_all(&parent).map_err(fault(&parent))?;
    let fresh = tempfile::tempdir_in(&parent).map_err(fault(&parent))?;
    for (name, text) in scripts {
        let path = fresh.path().join(name);
        std::fs::write(&path, text).map_err(fault(&path))?;
    }
    let fresh = fresh.keep();
    readable(&fresh).map_err(fault(&fresh))?;
    if let Err(error) = std::fs::rename(&fresh, &folder) {
        // Another process was faster; its files are the same.
        let _ = std::fs::remove_dir_all(&fresh);
        if !folder.is_dir() {
            return Err(fault(&folder)(error));
        }
    }
    Ok(folder)
}

/// Lets everybody read a folder: inside the sandbox its owner is somebody else.
pub(super) fn readable(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

/// The end of a text, cut at a character.
fn last_bytes(text: &str, most: usize) -> &str {
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
