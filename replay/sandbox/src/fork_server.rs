//! Pid 1 of a worker's sandbox: one program loads what is slow to load and then waits, and each
//! run is executed by a fork of it.
//!
//! Between two runs everything but pid 1 and the waiting program is killed, and everything that
//! can be written to is replaced: the overlays, `/tmp` and `/dev/shm` are mounted anew, and the
//! fork has standard streams of its own. What is left in common is read-only or is the waiting
//! program's memory, which nothing that runs in a run may touch: it is closed to tracing, and
//! the filter refuses to change other processes' limits. A signal can reach it; then the run
//! fails and the sandbox ends. Counters of the network can't be set back: a run
//! that moved one is the sandbox's last.
//!
//! A program that only reads text, and runs none of it, may also answer by itself: it receives a
//! line and writes one. Then nothing is killed and nothing is replaced.
//!
//! The waiting program communicates over its standard input, a socket. It first writes a line,
//! `ready` or `unfit REASON`. It then receives single bytes, each with the three descriptors that
//! become a fork's standard streams. It writes a line with the fork's wait status when the fork is
//! dead.

use std::fs;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, pipe};

use super::changes::FileChanges;
use super::mounts::Renewal;
use super::output::Capture;
use super::program::{InputChannel, PROGRAM_STAGE, command};
use super::wire::{ProgramStatus, RunRequest, StageOrder, StageReport, receive, send};
use super::{Job, SandboxError};

/// Timeout for ending killed processes.
const KILL_TIME: Duration = Duration::from_secs(10);

/// Serves runs until the caller closes its socket.
pub(super) fn serve(
    order: &StageOrder,
    mut renewal: Renewal,
    caller: &UnixStream,
) -> Result<(), SandboxError> {
    let lost = |error: io::Error| SandboxError::Lost {
        reason: error.to_string(),
    };
    renewal.renew(&[])?;
    let mut waiting = ForkingProgram::start(order)?;
    send(caller, &StageReport::Idle).map_err(lost)?;
    loop {
        let next: RunRequest = match receive(caller) {
            Ok(next) => next,
            // The caller has no further runs.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(lost(error)),
        };
        if next.without_fork {
            send(caller, &StageReport::Begun).map_err(lost)?;
            let answer = waiting.answer(&next.input, order.job.limits.collect)?;
            let last = answer.is_none();
            send(caller, &answered(answer)).map_err(lost)?;
            if last {
                return Ok(());
            }
            continue;
        }
        let before = renewal.renew(next.replaced.first().map_or(&[], Vec::as_slice))?;
        let quiet = network_counters();
        send(caller, &StageReport::Begun).map_err(lost)?;
        let mut fork = ForkInProgress::begin(&order.job, &next, &waiting)?;
        let mut end = fork.attend(&mut waiting, caller)?;
        if !waiting.kill_others()? {
            end = ListeningEnd::Dead;
        }
        // The line about the killed fork must not be read as that of the next run.
        if end == ListeningEnd::TooMuch && waiting.line().is_none() {
            end = ListeningEnd::Dead;
        }
        // All writers are dead, so this reads the last of the output.
        fork.drain();
        // The counters would show the next run that this one sent something.
        let last = end == ListeningEnd::Dead || network_counters() != quiet;
        let files = FileChanges::since(&before);
        let over = StageReport::RunOver {
            status: match end {
                _ if fork.too_much() => ProgramStatus::SaidTooMuch,
                ListeningEnd::Status(status) => status,
                ListeningEnd::TooMuch | ListeningEnd::Dead => {
                    ProgramStatus::Signalled(Signal::SIGKILL as i32)
                }
            },
            reply: STANDARD.encode(&fork.channel.said),
            files,
            stdout: fork.stdout.capture.finish(),
            stderr: fork.stderr.capture.finish(),
            last,
        };
        send(caller, &over).map_err(lost)?;
        if last {
            return Ok(());
        }
    }
}

/// The counters of the network namespace. Those of the whole machine, which others move too, are
/// not among them.
fn network_counters() -> String {
    ["dev", "netstat", "snmp", "snmp6"]
        .map(|name| fs::read_to_string(format!("/proc/self/net/{name}")).unwrap_or_default())
        .concat()
}

/// Report of a run in which the waiting program answered with a line, or died.
fn answered(answer: Option<Vec<u8>>) -> StageReport {
    let nothing = || Capture::new(0).finish();
    StageReport::RunOver {
        status: match &answer {
            Some(_) => ProgramStatus::Exited(0),
            None => ProgramStatus::Signalled(Signal::SIGKILL as i32),
        },
        last: answer.is_none(),
        reply: STANDARD.encode(answer.unwrap_or_default()),
        files: FileChanges::default(),
        stdout: nothing(),
        stderr: nothing(),
    }
}

/// The program that waits and forks, or answers by itself.
struct ForkingProgram {
    child: Child,
    socket: UnixStream,
    received: Vec<u8>,
}

impl ForkingProgram {
    fn start(order: &StageOrder) -> Result<Self, SandboxError> {
        let job = &order.job;
        let failed = |reason: String| SandboxError::Program {
            program: job.program.clone(),
            reason,
        };
        let (mut channel, theirs) =
            InputChannel::begin(job.input.as_deref().unwrap_or_default(), 1 << 20)
                .map_err(|error| failed(error.to_string()))?;
        // A stage between gives up the rights that pid 1 keeps.
        let mut starter = Command::new("/proc/self/exe");
        starter
            .arg(PROGRAM_STAGE)
            .arg(if order.memory == super::MemoryControl::Watch {
                "watch"
            } else {
                "group"
            })
            .arg(&job.program)
            .args(&job.arguments);
        let child = command(starter, job)
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        // Its instructions may be longer than what a socket holds.
        while !channel.left.is_empty() {
            let mut fds = [PollFd::new(channel.socket.as_fd(), PollFlags::POLLOUT)];
            let _ = poll(&mut fds, PollTimeout::NONE);
            channel.write_input();
        }
        let socket = channel.socket;
        socket
            .set_nonblocking(false)
            .map_err(|error| failed(error.to_string()))?;
        let mut waiting = Self {
            child,
            socket,
            received: Vec::new(),
        };
        let Some(line) = waiting.line() else {
            return Err(failed("it ended before it was ready".to_owned()));
        };
        match line.strip_prefix("unfit ") {
            Some(reason) => Err(SandboxError::Unfit {
                reason: reason.to_owned(),
            }),
            None if line == "ready" => Ok(waiting),
            None => Err(failed(format!("it wrote `{line}` in place of `ready`"))),
        }
    }

    /// Waits for the next line it writes and returns it; `None` if it is dead.
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(line) = self.whole_line() {
                return Some(line);
            }
            let mut bytes = [0; 256];
            match self.socket.read(&mut bytes) {
                Ok(0) | Err(_) => return None,
                Ok(length) => self.received.extend_from_slice(&bytes[..length]),
            }
        }
    }

    /// Returns its answer to a line, without the line feed; `None` if it is dead or writes more
    /// than `most` bytes. The caller enforces the time limit.
    fn answer(&mut self, input: &str, most: u64) -> Result<Option<Vec<u8>>, SandboxError> {
        let mut said = std::mem::take(&mut self.received);
        if self.socket.write_all(input.as_bytes()).is_err() {
            return Ok(None);
        }
        let mut bytes = vec![0; 256 << 10];
        while said.last() != Some(&b'\n') {
            match self.socket.read(&mut bytes) {
                Ok(0) => return Ok(None),
                Ok(length) => said.extend_from_slice(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Ok(None),
            }
            if said.len() as u64 > most {
                return Ok(None);
            }
        }
        said.pop();
        Ok(Some(said))
    }

    fn whole_line(&mut self) -> Option<String> {
        let end = self.received.iter().position(|byte| *byte == b'\n')?;
        let line = self.received.drain(..=end).collect::<Vec<_>>();
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }

    /// Kills and reaps everything but pid 1 and this program. Returns true if nothing is left:
    /// remains of a run in the kernel may outlast [`KILL_TIME`], which ends the sandbox.
    fn kill_others(&self) -> Result<bool, SandboxError> {
        let failed = |reason: &dyn std::fmt::Display| SandboxError::setup("end a run", reason);
        let own = i32::try_from(self.child.id()).unwrap_or(-1);
        let deadline = Instant::now() + KILL_TIME;
        loop {
            // The waiting program may have been stopped, and only it can reap its forks.
            let _ = kill(Pid::from_raw(own), Signal::SIGCONT);
            while matches!(
                waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)),
                Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::EINVAL)
            ) {}
            // Listed in every pass, since a process may fork until its signal arrives.
            let others: Vec<i32> = fs::read_dir("/proc")
                .map_err(|error| failed(&error))?
                .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
                .filter(|pid| *pid != 1 && *pid != own)
                .collect();
            if others.is_empty() {
                return Ok(true);
            }
            for pid in others {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            if Instant::now() > deadline {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

/// End of the part of a run in which the program's output is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListeningEnd {
    /// The fork is dead.
    Status(ProgramStatus),
    /// It writes too much; its end is still reported once it is killed.
    TooMuch,
    /// The waiting program is dead.
    Dead,
}

/// A fork that runs.
struct ForkInProgress {
    channel: InputChannel,
    stdout: Stream,
    stderr: Stream,
    /// Most bytes of output.
    output: u64,
}

impl ForkInProgress {
    fn begin(job: &Job, next: &RunRequest, waiting: &ForkingProgram) -> Result<Self, SandboxError> {
        let failed = |reason: &dyn std::fmt::Display| SandboxError::setup("begin a run", reason);
        let (channel, theirs) =
            InputChannel::begin(&next.input, job.limits.collect).map_err(|error| failed(&error))?;
        let kept = job.limits.output_kept;
        let (stdout, out) = Stream::open(kept).map_err(|errno| failed(&errno))?;
        let (stderr, err) = Stream::open(kept).map_err(|errno| failed(&errno))?;
        let descriptors = [theirs.as_raw_fd(), out.as_raw_fd(), err.as_raw_fd()];
        sendmsg::<()>(
            waiting.socket.as_raw_fd(),
            &[IoSlice::new(b"f")],
            &[ControlMessage::ScmRights(&descriptors)],
            MsgFlags::MSG_NOSIGNAL,
            None,
        )
        .map_err(|errno| failed(&errno))?;
        Ok(Self {
            channel,
            stdout,
            stderr,
            output: job.limits.output,
        })
    }

    /// Reads output until the fork is dead or writes too much.
    fn attend(
        &mut self,
        waiting: &mut ForkingProgram,
        caller: &UnixStream,
    ) -> Result<ListeningEnd, SandboxError> {
        loop {
            // `ready` below has the same order.
            let mut fds = vec![
                PollFd::new(caller.as_fd(), PollFlags::POLLIN),
                PollFd::new(waiting.socket.as_fd(), PollFlags::POLLIN),
            ];
            if self.channel.open {
                fds.push(PollFd::new(
                    self.channel.socket.as_fd(),
                    self.channel.poll_flags(),
                ));
            }
            for stream in [&self.stdout, &self.stderr] {
                if stream.open {
                    fds.push(PollFd::new(stream.pipe.as_fd(), PollFlags::POLLIN));
                }
            }
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(SandboxError::setup("attend a run", errno)),
            }
            let ready: Vec<bool> = fds.iter().map(|fd| fd.any() == Some(true)).collect();
            if ready[0] {
                return Err(SandboxError::Lost {
                    reason: "the caller is gone".into(),
                });
            }
            self.drain();
            if self.too_much() {
                return Ok(ListeningEnd::TooMuch);
            }
            if ready[1] {
                let raw = waiting.line().and_then(|line| line.parse().ok());
                return Ok(raw.map_or(ListeningEnd::Dead, |raw| ListeningEnd::Status(status(raw))));
            }
        }
    }

    /// Reads all output written so far.
    fn drain(&mut self) {
        self.channel.exchange();
        self.stdout.drain(self.output);
        self.stderr.drain(self.output);
    }

    fn too_much(&self) -> bool {
        self.channel.too_much || self.stdout.total + self.stderr.total > self.output
    }
}

/// A wait status, wait(2), as Python's `os.waitpid` gives it.
fn status(raw: i32) -> ProgramStatus {
    match WaitStatus::from_raw(Pid::from_raw(1), raw) {
        Ok(WaitStatus::Exited(_, code)) => ProgramStatus::Exited(code),
        Ok(WaitStatus::Signaled(_, signal, _)) => ProgramStatus::Signalled(signal as i32),
        _ => ProgramStatus::Signalled(raw & 0x7f),
    }
}

/// An output pipe of a fork.
struct Stream {
    pipe: fs::File,
    capture: Capture,
    total: u64,
    open: bool,
}

impl Stream {
    fn open(kept: usize) -> nix::Result<(Self, OwnedFd)> {
        let (ours, theirs) = pipe()?;
        fcntl(&ours, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let stream = Self {
            pipe: ours.into(),
            capture: Capture::new(kept),
            total: 0,
            open: true,
        };
        Ok((stream, theirs))
    }

    /// Reads what is there, up to one read beyond `most` bytes in all.
    fn drain(&mut self, most: u64) {
        let mut bytes = [0; 64 << 10];
        while self.open && self.total <= most {
            match self.pipe.read(&mut bytes) {
                Ok(0) => self.open = false,
                Ok(length) => {
                    self.total += length as u64;
                    self.capture.push(&bytes[..length]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.open = false,
            }
        }
    }
}
