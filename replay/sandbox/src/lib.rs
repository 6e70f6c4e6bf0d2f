//! Runs one untrusted process tree under isolation and limits, and reports how it ended.
//!
//! [`run()`] executes the binary again as `sandbox-init`. That first stage leaves the host's
//! user, mount, pid, ipc, network and uts namespaces and starts the second stage, which is pid 1
//! of the new pid namespace: it builds a root of read-only binds, gives up every capability,
//! filters system calls, starts the program and reaps what it leaves behind. When pid 1 ends, the
//! kernel ends everything in its namespace, daemons in sessions of their own included.
//!
//! The caller's side enforces the time limits, watches memory and processes, and drains the output.
//! All three communicate over one socket, which is the stages' standard input, so that no further
//! descriptor has to be inherited and the program sees none but its standard three.
//!
//! It never falls back silently: the isolation reached is a [`Level`], and a job that requires more
//! than the kernel grants ends in [`SandboxError::BelowLevel`] before its program starts.

mod cgroup;
mod changes;
mod encoded;
mod enter;
mod filter;
mod fork_server;
mod init;
mod kernel;
mod level;
mod mounts;
mod output;
mod program;
mod run;
mod spare;
mod watch;
mod wire;
mod worker;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use enter::enter_if_requested;
pub use level::{Level, MemoryControl, OverlayKind};
pub use output::Captured;
pub use spare::{Spare, SpareRun};
pub use worker::{ForkRun, Worker};

/// Runs `job` to its end and returns its result. Blocks the calling thread, which must live until
/// this returns: the kernel ends the sandbox together with the thread that started it.
///
/// # Errors
///
/// Every [`SandboxError`]. A program that fails, crashes or is stopped at a limit is not an error;
/// its result is an [`End`].
pub fn run(job: &Job) -> Result<Finished, SandboxError> {
    Sandbox::default().run(job)
}

/// As [`run()`]. While the program runs, `counter` is raised to the number of lines of its reply
/// that contain `mark` near their beginning, about once a second: for people who wait, since the
/// program can write what it likes.
///
/// # Errors
///
/// As [`run()`].
pub fn run_counting(
    job: &Job,
    mark: &str,
    counter: &Arc<AtomicUsize>,
) -> Result<Finished, SandboxError> {
    Sandbox::default().run_counting(job, mark, counter)
}

/// Returns the highest level this machine reaches, determined by running a shell that does nothing.
///
/// # Errors
///
/// [`SandboxError::BelowLevel`] if the kernel refuses a part that every level requires; its message
/// names the part and a remedy.
pub fn probe() -> Result<Level, SandboxError> {
    Sandbox::default().probe()
}

/// Starts sandboxes, with the binary that becomes their inner stages.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// A program whose `main` calls [`enter_if_requested`] first. `/proc/self/exe` by default.
    pub executable: PathBuf,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            executable: PathBuf::from("/proc/self/exe"),
        }
    }
}

impl Sandbox {
    /// As [`run()`], with this executable.
    ///
    /// # Errors
    ///
    /// As [`run()`].
    pub fn run(&self, job: &Job) -> Result<Finished, SandboxError> {
        job.check()?;
        run::run(&self.executable, job)
    }

    /// As [`run_counting()`], with this executable.
    ///
    /// # Errors
    ///
    /// As [`run()`].
    pub fn run_counting(
        &self,
        job: &Job,
        mark: &str,
        counter: &Arc<AtomicUsize>,
    ) -> Result<Finished, SandboxError> {
        job.check()?;
        run::run_counting(&self.executable, job, mark, counter)
    }

    /// As [`probe`], with this executable.
    ///
    /// # Errors
    ///
    /// As [`probe`].
    pub fn probe(&self) -> Result<Level, SandboxError> {
        let lower = tempfile::tempdir().map_err(|error| SandboxError::Setup {
            step: "make a folder to probe with".into(),
            reason: error.to_string(),
        })?;
        let mut job = Job::new("/bin/sh", "/probe");
        job.arguments = vec!["-c".into(), ":".into()];
        job.overlays.push(Overlay::new(lower.path(), "/probe"));
        self.run(&job).map(|finished| finished.level)
    }
}

/// A program to run, the files it may see and its limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The program: an absolute path inside the sandbox, or a name looked up in its `PATH`.
    pub program: String,
    /// The program's arguments, its own name not among them.
    pub arguments: Vec<String>,
    /// The whole environment. `PATH`, `HOME` (`/tmp`) and `LANG` (`C.UTF-8`) are added where they
    /// are missing; nothing of the caller's environment is.
    pub environment: BTreeMap<String, String>,
    /// The working directory, an absolute path inside the sandbox.
    pub directory: PathBuf,
    /// Host files and directories to show in addition to the system's own.
    pub binds: Vec<Bind>,
    /// Host directories to show copy-on-write.
    pub overlays: Vec<Overlay>,
    /// Text on the program's standard input, which is then one end of a socket; the bytes that the
    /// program writes into it are [`Finished::reply`]. Unlike the contents of a file, bytes that
    /// were written can't be changed from inside. If `None`, standard input is empty.
    #[serde(default)]
    pub input: Option<String>,
    /// Files to read from the sandbox after the program and all its processes have ended. Absolute
    /// paths inside. A path that is missing, is not a regular file or is larger than
    /// [`Limits::collect`] is omitted from [`Finished::collected`].
    pub collect: Vec<PathBuf>,
    /// The limits of the program.
    pub limits: Limits,
    /// The least acceptable level; the program is not started below it.
    pub required: Level,
}

impl Job {
    /// A job that runs `program` in `directory` with the default limits and the lowest level, and
    /// sees only the system's own directories.
    #[must_use]
    pub fn new(program: impl Into<String>, directory: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            directory: directory.into(),
            binds: Vec::new(),
            overlays: Vec::new(),
            input: None,
            collect: Vec::new(),
            limits: Limits::default(),
            required: Level::LOWEST,
        }
    }

    fn check(&self) -> Result<(), SandboxError> {
        let invalid = |reason: String| Err(SandboxError::Job { reason });
        let inside = [&self.directory]
            .into_iter()
            .chain(self.binds.iter().map(|bind| &bind.at))
            .chain(self.overlays.iter().map(|overlay| &overlay.at))
            .chain(&self.collect);
        for path in inside {
            if !mounts::is_plain_absolute(path) {
                return invalid(format!(
                    "the path {} inside the sandbox must be absolute and without `.` or `..`",
                    path.display()
                ));
            }
        }
        for overlay in &self.overlays {
            let replaced = overlay.replaced.iter().map(|replaced| &replaced.path);
            for path in replaced.chain(&overlay.guarded) {
                if !mounts::is_plain_relative(path) {
                    return invalid(format!(
                        "the file {} must be named relative to its overlay and without `..`",
                        path.display()
                    ));
                }
            }
        }
        if self.limits.processes == 0 || self.limits.memory == 0 || self.limits.disk == 0 {
            return invalid("the limits on processes, memory and disk must be above zero".into());
        }
        Ok(())
    }
}

/// A host file or directory shown inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// The file or directory on the host; symbolic links are followed.
    pub source: PathBuf,
    /// Its path inside, absolute. Missing parents are made.
    pub at: PathBuf,
    /// True if the program may write to the host's own file or directory. The limit on disk does
    /// not cover what it writes there.
    pub writable: bool,
}

impl Bind {
    /// `source` read-only at its own host path.
    #[must_use]
    pub fn same(source: impl Into<PathBuf>) -> Self {
        let source = source.into();
        Self {
            at: source.clone(),
            source,
            writable: false,
        }
    }

    /// `source` read-only at `at`.
    #[must_use]
    pub fn read_only(source: impl Into<PathBuf>, at: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            at: at.into(),
            writable: false,
        }
    }

    /// `source` at `at`, with writes going through to the host.
    #[must_use]
    pub fn writable(source: impl Into<PathBuf>, at: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            at: at.into(),
            writable: true,
        }
    }
}

/// A host directory shown copy-on-write: reads come from the host, writes stay in memory and are
/// discarded afterwards. The host directory must not change while the sandbox runs. A directory of
/// another user than the caller is copied, [`OverlayKind::Copy`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// The directory on the host.
    pub lower: PathBuf,
    /// Its path inside, absolute.
    pub at: PathBuf,
    /// Files laid over it before the program starts.
    pub replaced: Vec<Replaced>,
    /// Files, relative to the overlay, that should stay unchanged: the program may write to them,
    /// but [`Finished::changed`] lists those that it did write to.
    #[serde(default)]
    pub guarded: Vec<PathBuf>,
}

impl Overlay {
    /// `lower` at `at`, with nothing laid over it.
    #[must_use]
    pub fn new(lower: impl Into<PathBuf>, at: impl Into<PathBuf>) -> Self {
        Self {
            lower: lower.into(),
            at: at.into(),
            replaced: Vec::new(),
            guarded: Vec::new(),
        }
    }

    /// The same with the file at `path`, relative to the overlay, replaced or added.
    #[must_use]
    pub fn replacing(mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        self.replaced.push(Replaced {
            path: path.into(),
            content: content.into(),
        });
        self
    }
}

/// One file laid over an [`Overlay`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// Relative to the overlay. A symbolic link is followed as long as it stays inside.
    pub path: PathBuf,
    /// The whole new content. The file keeps the mode it had; its time is the present.
    #[serde(with = "encoded::bytes")]
    pub content: Vec<u8>,
}

/// The limits of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time from the program's start.
    pub wall: Duration,
    /// Processor time of the whole tree, user and system, summed over cores.
    pub cpu: Duration,
    /// Memory of the whole tree in bytes. Under a control group it includes what the job wrote to
    /// its temporary file systems.
    pub memory: u64,
    /// Processes and threads at one time.
    pub processes: u32,
    /// Open files per process.
    pub open_files: u64,
    /// Size of any one file in bytes.
    pub file_size: u64,
    /// Bytes written altogether to `/tmp`, `/dev/shm` and the overlays; beyond it writes fail
    /// with "no space left".
    pub disk: u64,
    /// Bytes on standard output and standard error together; beyond it the tree is killed.
    pub output: u64,
    /// Bytes kept of each of the two streams: the first half and the last half of this many.
    pub output_kept: usize,
    /// Largest file that [`Job::collect`] takes out, and longest [`Finished::reply`], in bytes;
    /// beyond the latter the tree is killed.
    pub collect: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(60),
            cpu: Duration::from_secs(120),
            memory: 2 << 30,
            processes: 256,
            open_files: 1024,
            file_size: 256 << 20,
            disk: 512 << 20,
            output: 32 << 20,
            output_kept: 256 << 10,
            collect: 16 << 20,
        }
    }
}

/// Result of a job whose program was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The way it ended.
    pub end: End,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// Bytes that the program wrote to its standard input, for a job with a [`Job::input`]. Empty
    /// if a limit stopped the job.
    #[serde(with = "encoded::bytes")]
    pub reply: Vec<u8>,
    /// Paths inside, sorted: [`Overlay::guarded`] files that were removed or written to, and files
    /// that are in an overlay now and were not when the program started. Empty if a limit stopped
    /// the job.
    #[serde(with = "encoded::paths")]
    pub changed: Vec<PathBuf>,
    /// Folders inside, of overlays, that can't be read or not to their end: the program closed
    /// them, their paths are too long, or there are too many files. Then [`Finished::changed`]
    /// lacks their contents. Empty if a limit stopped the job.
    #[serde(with = "encoded::paths")]
    pub unreadable: Vec<PathBuf>,
    /// The files of [`Job::collect`]. Empty if a limit stopped the job.
    #[serde(with = "encoded::files")]
    pub collected: BTreeMap<PathBuf, Vec<u8>>,
    /// Wall-clock time from the program's start to its end.
    pub wall: Duration,
    /// Processor time of the whole tree, some two milliseconds of the sandbox's own included.
    pub cpu: Duration,
    /// The most memory the tree was seen to hold, in bytes: the control group's own figure, or
    /// without one the largest of the samples taken and of any single process's peak.
    pub peak_memory: u64,
    /// The isolation it ran under.
    pub level: Level,
}

/// End of a job. A limit that was hit outranks the status the program ended with, even if the
/// program went on after it, because the limit then affected its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The program exited with this status.
    Exited(i32),
    /// The program was ended by this signal, not sent by the sandbox.
    Signalled(i32),
    /// [`Limits::wall`] ran out.
    TimedOut,
    /// [`Limits::cpu`] ran out.
    OutOfProcessor,
    /// [`Limits::memory`] was exceeded.
    OutOfMemory,
    /// [`Limits::processes`] was exceeded.
    TooManyProcesses,
    /// [`Limits::output`] was exceeded.
    TooMuchOutput,
}

/// Formats the end as the predicate of a sentence about the program.
impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(formatter, "exited with status {status}"),
            Self::Signalled(signal) => write!(formatter, "was ended by signal {signal}"),
            Self::TimedOut => formatter.write_str("exceeded its time limit"),
            Self::OutOfProcessor => formatter.write_str("exceeded its limit of processor time"),
            Self::OutOfMemory => formatter.write_str("exceeded its memory limit"),
            Self::TooManyProcesses => formatter.write_str("started too many processes"),
            Self::TooMuchOutput => formatter.write_str("wrote too much output"),
        }
    }
}

/// Reasons why a job could not be run or judged. None is the fault of the program.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel or this machine's set-up does not grant a feature that the job requires.
    #[error("the sandbox stays below the required level: {refused}; {remedy}")]
    BelowLevel {
        /// The refused feature.
        refused: String,
        /// Advice for the user.
        remedy: String,
    },
    /// The job's program could not be started.
    #[error(
        "{program} cannot be started in the sandbox: {reason}; check that it is under a directory the sandbox shows"
    )]
    Program {
        /// As named in the job.
        program: String,
        /// The system's error.
        reason: String,
    },
    /// A worker's program reports that it can't serve runs of its job.
    #[error("the worker's program is unfit: {reason}")]
    Unfit {
        /// The program's own message.
        reason: String,
    },
    /// The job contradicts itself.
    #[error("the sandbox job is not valid: {reason}")]
    Job {
        /// The fault of the job.
        reason: String,
    },
    /// A step of building the sandbox failed.
    #[error("the sandbox could not {step}: {reason}")]
    Setup {
        /// The step that failed.
        step: String,
        /// The system's error.
        reason: String,
    },
    /// A stage of the sandbox went away without saying how the program ended.
    #[error("the sandbox ended without a report ({reason}); run the job again")]
    Lost {
        /// The event that was seen instead.
        reason: String,
    },
}

impl SandboxError {
    fn setup(step: impl Into<String>, reason: impl ToString) -> Self {
        Self::Setup {
            step: step.into(),
            reason: reason.to_string(),
        }
    }

    fn at(step: &str, path: &Path, reason: impl ToString) -> Self {
        Self::setup(format!("{step} {}", path.display()), reason)
    }
}
