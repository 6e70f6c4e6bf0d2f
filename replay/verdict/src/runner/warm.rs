//! Warm workers: processes that have imported what tests need, and run them without its start-up
//! time.

pub(super) mod versions;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fillrate_sandbox::{ForkRun, Job, Limits, Overlay, Replaced, Sandbox, Spare, SpareRun, Worker};
use parking_lot::Mutex;

use super::framework::{LoadedCode, Readiness, WarmProgram};
use super::project::{ProjectRunner, TestRun, TestRunResult};
use super::transformer::{START_TIME, Transformer};
use crate::error::VerdictError;

pub(crate) use super::transformer::ask;

/// The warm workers of one project.
#[derive(Default)]
pub(crate) struct WarmWorkers {
    idle: Mutex<Vec<IdleWorker>>,
    /// True if a worker failed to collect the tests, though one succeeded at baseline.
    uncollectable: AtomicBool,
    /// True if no process can run the tests on several versions of a file.
    unversioned: AtomicBool,
    /// Transforms files for runs without the framework's own main process. `None` before the first
    /// run, and after the transformer died.
    transformer: Mutex<Option<Transformer>>,
    /// Sandboxes that were started for runs to come, each with its start. A run takes one and
    /// leaves another in its place, so that there is one for each run at the same time.
    spares: Mutex<Vec<(Spare, Instant)>>,
}

/// A worker that waits for a run.
struct IdleWorker {
    worker: Worker,
    readiness: Readiness,
    since: Instant,
}

/// Lifetime of a worker that has collected a project's tests, after which it is no longer forked.
/// The time that modules read at import must not be older than in a slow run of all tests.
const COLLECTED_LIFETIME: Duration = Duration::from_secs(60);

impl WarmWorkers {
    /// Runs tests in a fork of a warm worker, on transformed files, or in a process that was
    /// started before; `None` if the framework can't, or this run needs the whole framework.
    /// `compiled` is the compiled form of the changed files, if a compiler that stays loaded made
    /// it.
    ///
    /// # Errors
    /// The sandbox is unavailable or supports no workers; the framework refuses to be forked.
    pub(crate) fn run(
        &self,
        runner: &ProjectRunner,
        run: &TestRun<'_>,
        loaded: &LoadedCode,
        readiness: Readiness,
        memory: u64,
        compiled: Vec<Replaced>,
    ) -> Result<Option<TestRunResult>, VerdictError> {
        let collected = readiness == Readiness::Collected;
        if collected && (run.coverage.is_some() || self.uncollectable.load(Ordering::Relaxed)) {
            return Ok(None);
        }
        let framework = &runner.framework;
        if framework.waits_for_instructions() {
            if collected || run.coverage.is_some() {
                return Ok(None);
            }
            let job = runner.test_job(run.limits.clone());
            return self.run_spare(runner, run, &job, compiled).map(Some);
        }
        let Some(program) = framework.warm_program(runner.prepared(), loaded, readiness) else {
            return Ok(None);
        };
        if let Some(host) = &program.host {
            return self.run_transformed(runner, run, &program, host);
        }
        let IdleWorker { worker, since, .. } =
            self.take_worker(runner, program, readiness, memory)?;
        let instructions = run.instructions();
        let fork_run = ForkRun {
            replaced: run.overlay_files().collect(),
            input: instructions.line(),
            wall: run.limits.wall,
            cpu: run.limits.cpu,
        };
        let (finished, worker) = worker.run(fork_run)?;
        self.keep_worker(worker, readiness, since);
        let result = runner.result(finished, &instructions);
        Ok((!result.report.missed).then_some(result))
    }

    /// Takes an idle worker with this readiness, or starts one.
    fn take_worker(
        &self,
        runner: &ProjectRunner,
        program: WarmProgram,
        readiness: Readiness,
        memory: u64,
    ) -> Result<IdleWorker, VerdictError> {
        if let Some(idle) = self.take_idle(readiness) {
            return Ok(idle);
        }
        let limits = Limits {
            memory,
            ..Limits::default()
        };
        let mut job = runner.job(program.program, program.arguments, limits);
        job.input = Some(program.task);
        Ok(IdleWorker {
            worker: Worker::start(Sandbox::default().executable, job)?,
            readiness,
            since: Instant::now(),
        })
    }

    /// Keeps a worker for another run, if it can run another.
    fn keep_worker(&self, worker: Option<Worker>, readiness: Readiness, since: Instant) {
        self.idle.lock().extend(worker.map(|worker| IdleWorker {
            worker,
            readiness,
            since,
        }));
    }

    /// Takes an idle worker with this readiness, and drops those that are too old.
    fn take_idle(&self, readiness: Readiness) -> Option<IdleWorker> {
        let mut idle = self.idle.lock();
        idle.retain(|idle| {
            idle.readiness == Readiness::Loaded || idle.since.elapsed() < COLLECTED_LIFETIME
        });
        let index = idle.iter().position(|idle| idle.readiness == readiness)?;
        Some(idle.swap_remove(index))
    }

    /// Starts no further worker that collects the tests.
    pub(crate) fn disable_collecting(&self) {
        self.uncollectable.store(true, Ordering::Relaxed);
    }

    fn run_transformed(
        &self,
        runner: &ProjectRunner,
        run: &TestRun<'_>,
        program: &WarmProgram,
        host: &[String],
    ) -> Result<Option<TestRunResult>, VerdictError> {
        if run.coverage.is_some() {
            return Ok(None);
        }
        let overlay = {
            let mut slot = self.transformer.lock();
            if slot.is_none() {
                // They show the files of one that died.
                self.spares.lock().clear();
                *slot = Some(start_transformer(runner, program)?);
            }
            let overlay = match &mut *slot {
                Some(transformer) if !run.replaced.is_empty() => {
                    transformer.transform(run.replaced)?
                }
                Some(transformer) => Some(transformer.overlay(Vec::new())),
                None => None,
            };
            if overlay.is_none() {
                *slot = None;
            }
            overlay
        };
        let Some(overlay) = overlay else {
            return Ok(None);
        };
        let mut job = runner.job(program.program.clone(), host.to_vec(), run.limits.clone());
        let changed = overlay.replaced;
        job.overlays.push(Overlay {
            replaced: Vec::new(),
            ..overlay
        });
        let result = self.run_spare(runner, run, &job, changed)?;
        Ok((!result.report.missed).then_some(result))
    }

    /// Runs tests in a sandbox that was started for this job, with `last` laid over the last of its
    /// overlays and the run's own files over the first.
    fn run_spare(
        &self,
        runner: &ProjectRunner,
        run: &TestRun<'_>,
        job: &Job,
        last: Vec<Replaced>,
    ) -> Result<TestRunResult, VerdictError> {
        let mut replaced = vec![Vec::new(); job.overlays.len()];
        replaced[0].extend(run.overlay_files());
        replaced[job.overlays.len() - 1].extend(last);
        let instructions = run.instructions();
        let finished = self.spare(job)?.run(SpareRun {
            replaced,
            input: instructions.line(),
            wall: run.limits.wall,
            cpu: run.limits.cpu,
        })?;
        Ok(runner.result(finished, &instructions))
    }

    /// Starts a sandbox for a run to come if none waits and runs wait for their instructions.
    ///
    /// # Errors
    /// The sandbox is unavailable.
    pub(crate) fn start_spare(
        &self,
        runner: &ProjectRunner,
        limits: Limits,
    ) -> Result<(), VerdictError> {
        let mut spares = self.spares.lock();
        if spares.is_empty() && runner.waits_for_instructions() {
            let job = runner.test_job(limits);
            let spare = Spare::start(Sandbox::default().executable, job)?;
            spares.push((spare, Instant::now()));
        }
        Ok(())
    }

    /// Takes a sandbox for this job, or starts one, and starts the next.
    fn spare(&self, job: &Job) -> Result<Spare, VerdictError> {
        let start = || Spare::start(Sandbox::default().executable, job.clone());
        let waiting = {
            let mut spares = self.spares.lock();
            spares.retain(|(_, since)| since.elapsed() < COLLECTED_LIFETIME);
            spares.pop()
        };
        let spare = match waiting {
            Some((spare, _)) => spare,
            None => start()?,
        };
        let next = start()?;
        self.spares.lock().push((next, Instant::now()));
        Ok(spare)
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
