//! The caller's side: starts the stages, enforces the limits, drains the output and reports the
//! end.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::cgroup::Group;
use super::changes::FileChanges;
use super::output::Capture;
use super::watch::{INTERVAL, TreeWatch};
use super::wire::{
    Course, ProgramStatus, RunRequest, StageOrder, StageReport, StartSignal, send, take,
};
use super::{Captured, End, Finished, Job, Level, Limits, MemoryControl, SandboxError, enter};

/// Longest time from the start of the first stage to the start of the program, copies of
/// overlays included.
const SETUP: Duration = Duration::from_secs(60);
/// Longest time the kernel may take to end a killed tree.
const KILL_TIME: Duration = Duration::from_secs(60);

pub(super) fn run(executable: &Path, job: &Job) -> Result<Finished, SandboxError> {
    Session::start(executable, job.clone(), Course::Once, None)?.run_to_end()
}

/// As [`run`]; `counter` gets the number of lines of the reply that contain `mark`, about once a
/// second.
pub(super) fn run_counting(
    executable: &Path,
    job: &Job,
    mark: &str,
    counter: &Arc<AtomicUsize>,
) -> Result<Finished, SandboxError> {
    let mark = Some(mark.to_owned());
    let mut session = Session::start(executable, job.clone(), Course::Once, mark)?;
    session.counter = Some(Arc::clone(counter));
    session.run_to_end()
}

/// Starts a spare and waits until its program is started.
pub(super) fn start_spare(executable: &Path, job: Job) -> Result<Session, SandboxError> {
    let mut session = Session::start(executable, job, Course::Spare, None)?;
    session.watch_until(|now| matches!(now.state, WorkerState::Idle))?;
    Ok(session)
}

/// The first stage and the processes below it. Dropping it ends and reaps all that are left.
#[derive(Debug)]
struct Tree {
    first: Child,
    /// Pid 1 as seen from here, until it is known to be dead.
    init: Option<Pid>,
    socket: UnixStream,
}

impl Tree {
    fn start(executable: &Path) -> Result<Self, SandboxError> {
        let failed = |error: io::Error| SandboxError::at("start", executable, error);
        let (socket, theirs) = UnixStream::pair().map_err(failed)?;
        let first = Command::new(executable)
            .arg(enter::FIRST_STAGE)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        Ok(Self {
            first,
            init: None,
            socket,
        })
    }

    /// Kills pid 1 and with it its namespace; before there is one, the first stage.
    fn kill(&mut self) {
        // An error means that it is already dead.
        match self.init {
            Some(init) => drop(kill(init, Signal::SIGKILL)),
            None => drop(self.first.kill()),
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.init.is_some() {
            self.kill();
        }
        let _ = self.socket.shutdown(Shutdown::Both);
        // The first stage ends by itself once pid 1 is dead and the socket is shut; pid 1 follows
        // it in any case.
        if self.init.is_none() {
            let _ = self.first.kill();
        }
        let _ = self.first.wait();
    }
}

/// One run, or a worker's sandbox, from the order to the last report.
pub(super) struct Session {
    order: StageOrder,
    limits: Limits,
    tree: Tree,
    // Behind the tree, which must be dead before its group can be removed.
    group: Option<Group>,
    stdout: Stream<ChildStdout>,
    stderr: Stream<ChildStderr>,
    incoming: Vec<u8>,
    watch: Option<TreeWatch>,
    /// Deadline for the next event that must happen.
    deadline: Instant,
    next_look: Instant,
    started: Option<Instant>,
    level: Option<Level>,
    /// The limit for which the tree was killed.
    stopped: Option<End>,
    status: Option<ProgramStatus>,
    wall: Duration,
    reply: String,
    files: FileChanges,
    collected: Vec<Option<String>>,
    peak: u64,
    /// Processor time at the last look: the kernel does not count processes that die with pid 1.
    cpu: Duration,
    /// Processor time when the run began, in a worker's sandbox.
    cpu_before: Duration,
    /// State of a worker's sandbox.
    state: WorkerState,
    /// Processor time and peak memory of the largest process, from the first stage's last report.
    used: Option<(Duration, u64)>,
    /// Highest [`StageReport::Counted`] of all runs that share it; `None` counts none.
    counter: Option<Arc<AtomicUsize>>,
}

impl Session {
    fn new(order: StageOrder, group: Option<Group>, mut tree: Tree) -> Result<Self, SandboxError> {
        let limits = order.job.limits.clone();
        let lost = || SandboxError::setup("drain its output", "there is no pipe");
        let stdout = tree.first.stdout.take().ok_or_else(lost)?;
        let stderr = tree.first.stderr.take().ok_or_else(lost)?;
        let now = Instant::now();
        Ok(Self {
            stdout: Stream::new(stdout, limits.output_kept),
            stderr: Stream::new(stderr, limits.output_kept),
            order,
            limits,
            group,
            tree,
            incoming: Vec::new(),
            watch: None,
            deadline: now + SETUP,
            next_look: now + SETUP,
            started: None,
            level: None,
            stopped: None,
            status: None,
            wall: Duration::ZERO,
            reply: String::new(),
            files: FileChanges::default(),
            collected: Vec::new(),
            peak: 0,
            cpu: Duration::ZERO,
            cpu_before: Duration::ZERO,
            state: WorkerState::Loading,
            used: None,
            counter: None,
        })
    }

    /// Starts a sandbox for a job.
    fn start(
        executable: &Path,
        job: Job,
        course: Course,
        counted: Option<String>,
    ) -> Result<Self, SandboxError> {
        let group = Group::create(&job.limits);
        let memory = group.as_ref().map_or(MemoryControl::Watch, Group::control);
        let most = Level {
            overlay: super::OverlayKind::Overlayfs,
            memory,
        };
        most.satisfies(&job.required)?;
        let order = StageOrder {
            job,
            memory,
            course,
            counted,
        };
        Self::new(order, group, Tree::start(executable)?)
    }

    /// Runs a spare's program to its end.
    pub(super) fn run_spare(mut self, run: &super::SpareRun) -> Result<Finished, SandboxError> {
        self.request(
            &RunRequest {
                replaced: run.replaced.clone(),
                input: run.input.clone(),
                without_fork: false,
            },
            run.wall,
            run.cpu,
        )?;
        self.run_to_end()
    }

    /// Has a waiting program begin a run, with these limits on wall-clock and processor time.
    fn request(
        &mut self,
        next: &RunRequest,
        wall: Duration,
        cpu: Duration,
    ) -> Result<(), SandboxError> {
        // The tree's processor time includes the start of the program and all earlier runs.
        if let Some(Ok(sample)) = self.watch.as_ref().map(TreeWatch::sample) {
            self.cpu_before = sample.cpu;
        }
        self.cpu = Duration::ZERO;
        self.peak = 0;
        self.limits.wall = wall;
        self.limits.cpu = cpu;
        self.state = WorkerState::Idle;
        self.started = None;
        self.deadline = Instant::now() + SETUP;
        send(&self.tree.socket, next).map_err(|error| SandboxError::Lost {
            reason: error.to_string(),
        })
    }

    fn run_to_end(mut self) -> Result<Finished, SandboxError> {
        self.watch_until(|_| false)?;
        // Everything that could write is dead or about to exit.
        while !self.stdout.ended {
            self.stdout.drain()?;
        }
        while !self.stderr.ended {
            self.stderr.drain()?;
        }
        self.finish()
    }

    /// Enforces the limits until `came` is true or the first stage has sent its last report.
    fn watch_until(&mut self, came: impl Fn(&Self) -> bool) -> Result<(), SandboxError> {
        while self.used.is_none() && !came(self) {
            let (news, out, err) = self.wait()?;
            if out {
                self.stdout.drain()?;
            }
            if err {
                self.stderr.drain()?;
            }
            if self.stdout.total + self.stderr.total > self.limits.output {
                self.stop(End::TooMuchOutput);
            }
            if news {
                self.read_reports()?;
            }
            let now = Instant::now();
            if now >= self.next_look {
                self.check_limits();
                // A sample of a big tree is slow, so samples take at most a fifth of the time.
                let after = Instant::now();
                self.next_look = after + INTERVAL + 4 * (after - now);
            }
            if now >= self.deadline {
                self.deadline_passed()?;
            }
        }
        Ok(())
    }

    /// Waits for input or the next deadline. Returns, for the stages, standard output and standard
    /// error in this order, true if there is something to read.
    fn wait(&self) -> Result<(bool, bool, bool), SandboxError> {
        let until = self.deadline.min(self.next_look);
        let left = until.saturating_duration_since(Instant::now());
        // Rounded up: a wait of zero would spin.
        let timeout = u16::try_from(left.as_millis() + 1).unwrap_or(u16::MAX);
        let fds = [
            (!self.stdout.ended).then(|| self.stdout.pipe.as_fd()),
            (!self.stderr.ended).then(|| self.stderr.pipe.as_fd()),
        ];
        let mut polled = vec![PollFd::new(self.tree.socket.as_fd(), PollFlags::POLLIN)];
        polled.extend(
            fds.into_iter()
                .flatten()
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN)),
        );
        match poll(&mut polled, PollTimeout::from(timeout)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(SandboxError::setup("wait for news", errno)),
        }
        let mut ready = polled.iter().map(|fd| fd.any() == Some(true));
        let mut next = |open: bool| open && ready.next() == Some(true);
        Ok((
            next(true),
            next(!self.stdout.ended),
            next(!self.stderr.ended),
        ))
    }

    fn read_reports(&mut self) -> Result<(), SandboxError> {
        let lost = |reason: String| SandboxError::Lost { reason };
        let mut bytes = [0; 16 << 10];
        match self.tree.socket.read(&mut bytes) {
            Ok(0) => return Err(lost("its stages went away".into())),
            Ok(length) => self.incoming.extend_from_slice(&bytes[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(lost(error.to_string())),
        }
        loop {
            match take(&mut self.incoming) {
                Ok(Some(report)) => self.handle_report(report)?,
                Ok(None) => return Ok(()),
                Err(error) => return Err(lost(error.to_string())),
            }
        }
    }

    fn handle_report(&mut self, report: StageReport) -> Result<(), SandboxError> {
        let lost = |error: io::Error| SandboxError::Lost {
            reason: error.to_string(),
        };
        match report {
            StageReport::Started(pid) => {
                self.tree.init = Some(Pid::from_raw(pid));
                send(&self.tree.socket, &self.order).map_err(lost)?;
                // The move follows the order, because the kernel takes some 7 ms for the first of a
                // series of moves. Pid 1 builds its root in parallel and starts nothing before
                // `StartSignal`.
                if let Some(group) = &self.group {
                    group.admit(pid).map_err(|error| {
                        SandboxError::setup("move it into its control group", error)
                    })?;
                }
            }
            StageReport::Ready(overlay) => {
                let watch = self.tree.init.map(|init| TreeWatch::new(init.as_raw()));
                let watch = watch.transpose().map_err(lost)?;
                // Without a watch no limit is enforced, so an unreadable tree is an error.
                if let Some(watch) = &watch {
                    watch
                        .sample()
                        .map_err(|error| SandboxError::setup("watch its processes", error))?;
                }
                self.watch = watch;
                self.level = Some(self.order.level(overlay));
                send(&self.tree.socket, &StartSignal).map_err(lost)?;
                self.mark_start();
            }
            StageReport::Counted(count) => {
                if let Some(counter) = &self.counter {
                    counter.fetch_max(count, Ordering::Relaxed);
                }
            }
            StageReport::Ended {
                status,
                reply,
                files,
                collected,
            } => {
                self.mark_end();
                self.status = Some(status);
                self.reply = reply;
                self.files = files;
                self.collected = collected;
            }
            StageReport::Gone => {
                self.mark_end();
                // After the shutdown below the first stage reaps pid 1, and its number is reused.
                self.tree.init = None;
                self.watch = None;
                self.deadline = Instant::now() + KILL_TIME;
                self.tree.socket.shutdown(Shutdown::Write).map_err(lost)?;
            }
            StageReport::Used {
                cpu_us,
                peak_process,
            } => self.used = Some((Duration::from_micros(cpu_us), peak_process)),
            StageReport::Idle => {
                self.state = WorkerState::Idle;
                // Nothing is due before the next run.
                self.deadline = Instant::now() + NO_DEADLINE;
            }
            StageReport::Begun => {
                self.mark_start();
                self.state = WorkerState::Begun;
            }
            StageReport::RunOver {
                status,
                reply,
                files,
                stdout,
                stderr,
                last,
            } => {
                let wall = self.started.map(|started| started.elapsed());
                self.deadline = Instant::now() + NO_DEADLINE;
                self.state = WorkerState::Over(Box::new(Over {
                    status,
                    reply,
                    files,
                    stdout,
                    stderr,
                    last,
                    wall: wall.unwrap_or_default(),
                }));
            }
            StageReport::Failed(failure) => return Err(failure.into()),
        }
        Ok(())
    }

    /// Starts the limits on time.
    fn mark_start(&mut self) {
        let now = Instant::now();
        self.started = Some(now);
        self.deadline = now + self.limits.wall;
        self.next_look = now + INTERVAL;
    }

    fn mark_end(&mut self) {
        if let (Some(started), Duration::ZERO) = (self.started, self.wall) {
            self.wall = started.elapsed();
            // Collected files may still be in transit.
            self.deadline = Instant::now() + KILL_TIME;
        }
    }

    /// Compares the tree with its limits.
    fn check_limits(&mut self) {
        let Some(watch) = &self.watch else { return };
        // The tree is unreadable only while pid 1 is dying, and a report of that follows.
        let Ok(sample) = watch.sample() else { return };
        // Processes come before memory, as in `Group::limit_met`.
        if sample.tasks > u64::from(self.limits.processes) {
            self.stop(End::TooManyProcesses);
            return;
        }
        let mut held = sample.resident;
        if self.order.memory == MemoryControl::Watch {
            held += watch.disk().unwrap_or(0);
            // Resident memory counts a shared page once per process, so it may exceed the real use.
            if held > self.limits.memory {
                let exact = watch.proportional().unwrap_or(sample.resident);
                held = exact + watch.disk().unwrap_or(0);
            }
            if held > self.limits.memory {
                self.stop(End::OutOfMemory);
            }
        }
        self.peak = self.peak.max(held);
        self.cpu = self.cpu.max(sample.cpu);
        if sample.cpu.saturating_sub(self.cpu_before) > self.limits.cpu {
            self.stop(End::OutOfProcessor);
        }
        if let Some(end) = self.group.as_ref().and_then(Group::limit_met) {
            self.stop(end);
        }
    }

    /// Kills the tree for `end`, unless it was killed or has ended before.
    fn stop(&mut self, end: End) {
        if self.stopped.is_none() && self.status.is_none() && self.started.is_some() {
            self.stopped = Some(end);
            if let Some(Ok(sample)) = self.watch.as_ref().map(TreeWatch::sample) {
                self.cpu = self.cpu.max(sample.cpu);
            }
            self.tree.kill();
            self.deadline = Instant::now() + KILL_TIME;
        }
    }

    /// The deadline has passed.
    fn deadline_passed(&mut self) -> Result<(), SandboxError> {
        if self.started.is_none() {
            let reason = format!("it took longer than {} s", SETUP.as_secs());
            return Err(SandboxError::setup("get ready", reason));
        }
        if self.stopped.is_some() || self.status.is_some() || self.wall > Duration::ZERO {
            let reason = format!("its tree did not die within {} s", KILL_TIME.as_secs());
            return Err(SandboxError::Lost { reason });
        }
        self.stop(End::TimedOut);
        Ok(())
    }

    fn finish(self) -> Result<Finished, SandboxError> {
        let (cpu, peak_process) = self.used.unwrap_or_default();
        // The kernel may have killed only one process of the tree, or the program may have
        // continued after a refusal. Its status is then a consequence of the limit.
        let limit = self.stopped.or_else(|| self.group.as_ref()?.limit_met());
        let end = match (limit, self.status) {
            (Some(end), _) => end,
            (None, Some(status)) => status.end(),
            (None, None) => {
                return Err(SandboxError::Lost {
                    reason: "pid 1 of the sandbox was killed from outside".into(),
                });
            }
        };
        let Some(level) = self.level else {
            return Err(SandboxError::Lost {
                reason: "it never became ready".into(),
            });
        };
        let decoded = |content: String| {
            STANDARD
                .decode(content)
                .map_err(|error| SandboxError::Lost {
                    reason: error.to_string(),
                })
        };
        let mut collected = BTreeMap::new();
        for (path, content) in self.order.job.collect.iter().zip(self.collected) {
            if let Some(content) = content {
                collected.insert(path.clone(), decoded(content)?);
            }
        }
        let peak_memory = self
            .group
            .as_ref()
            .and_then(Group::peak_memory)
            .unwrap_or_else(|| self.peak.max(peak_process));
        Ok(Finished {
            end,
            stdout: self.stdout.capture.finish(),
            stderr: self.stderr.capture.finish(),
            reply: decoded(self.reply)?,
            changed: self.files.changed,
            unreadable: self.files.unreadable,
            collected,
            wall: self.wall,
            cpu: cpu.max(self.cpu),
            peak_memory,
            level,
        })
    }
}

/// State of a worker's sandbox.
enum WorkerState {
    Loading,
    Idle,
    Begun,
    Over(Box<Over>),
}

/// A run's end.
struct Over {
    status: ProgramStatus,
    reply: String,
    files: FileChanges,
    stdout: Captured,
    stderr: Captured,
    last: bool,
    wall: Duration,
}

/// Timeout that is longer than any wait.
const NO_DEADLINE: Duration = Duration::from_secs(365 * 24 * 3600);

/// A worker's sandbox, from the caller's side.
pub(super) struct WarmSandbox {
    /// `None` once it is dead.
    session: Option<Session>,
}

impl WarmSandbox {
    /// Starts it and waits until its program does.
    pub(super) fn start(executable: &Path, job: &Job) -> Result<Self, SandboxError> {
        let mut order = job.clone();
        // A copy takes too long to renew for every run.
        order.required.overlay = super::OverlayKind::Overlayfs;
        let mut session = Session::start(executable, order, Course::Worker, None)?;
        session.watch_until(|now| matches!(now.state, WorkerState::Idle))?;
        if session.used.is_some() {
            let end = session.stopped;
            return Err(SandboxError::Program {
                program: job.program.clone(),
                reason: format!("it was ended before it was ready ({end:?})"),
            });
        }
        Ok(Self {
            session: Some(session),
        })
    }

    /// Returns true if it can run another fork.
    pub(super) fn alive(&self) -> bool {
        self.session.is_some()
    }

    /// Executes a run to its end, in a fork or, if `without_fork`, in the waiting program. A limit
    /// that is reached ends the sandbox with it.
    pub(super) fn run(
        &mut self,
        run: &super::ForkRun,
        without_fork: bool,
    ) -> Result<Finished, SandboxError> {
        let mut session = self.session.take().ok_or_else(|| SandboxError::Lost {
            reason: "it has ended".into(),
        })?;
        let next = RunRequest {
            replaced: vec![run.replaced.clone()],
            input: run.input.clone(),
            without_fork,
        };
        session.request(&next, run.wall, run.cpu)?;
        session.watch_until(|now| matches!(now.state, WorkerState::Over(_)))?;
        let over = match std::mem::replace(&mut session.state, WorkerState::Idle) {
            WorkerState::Over(over) if session.stopped.is_none() => over,
            _ => return session.run_to_end(),
        };
        // A short run ends before its first sample, so this one makes the limits hold for it too.
        if let Some(Ok(sample)) = session.watch.as_ref().map(TreeWatch::sample) {
            session.cpu = sample.cpu;
        }
        session.check_limits();
        if session.stopped.is_some() {
            return session.run_to_end();
        }
        let Some(level) = session.level else {
            return Err(SandboxError::Lost {
                reason: "it never became ready".into(),
            });
        };
        let reply = STANDARD
            .decode(&over.reply)
            .map_err(|error| SandboxError::Lost {
                reason: error.to_string(),
            })?;
        let finished = Finished {
            end: over.status.end(),
            stdout: over.stdout,
            stderr: over.stderr,
            reply,
            changed: over.files.changed,
            unreadable: over.files.unreadable,
            collected: BTreeMap::new(),
            wall: over.wall,
            cpu: session.cpu.saturating_sub(session.cpu_before),
            peak_memory: session.peak,
            level,
        };
        if !over.last {
            self.session = Some(session);
        }
        Ok(finished)
    }
}

/// One of the program's output pipes.
struct Stream<P> {
    pipe: P,
    capture: Capture,
    total: u64,
    ended: bool,
}

impl<P: Read> Stream<P> {
    fn new(pipe: P, kept: usize) -> Self {
        Self {
            pipe,
            capture: Capture::new(kept),
            total: 0,
            ended: false,
        }
    }

    /// Reads the available bytes once; waits if there are none.
    fn drain(&mut self) -> Result<(), SandboxError> {
        let mut bytes = [0; 64 << 10];
        match self.pipe.read(&mut bytes) {
            Ok(0) => self.ended = true,
            Ok(length) => {
                self.total += length as u64;
                self.capture.push(&bytes[..length]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(SandboxError::setup("drain its output", error)),
        }
        Ok(())
    }
}
