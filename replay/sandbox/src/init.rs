//! The second stage: pid 1 of the sandbox. It builds the root, gives up its rights, starts the
//! program, reaps what the program leaves behind and reports how the program ended.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caps::CapSet;
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::personality::{self, Persona};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket as open_socket};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, sethostname, setsid};

use super::changes::FileChanges;
use super::kernel::Kernel;
use super::program::{InputChannel, command};
use super::wire::{
    Course, ProgramStatus, RunRequest, StageOrder, StageReport, StartSignal, receive, send,
};
use super::{Job, Limits, MemoryControl, SandboxError, filter, fork_server, mounts};

pub(super) fn second_stage(socket: &UnixStream) -> Result<(), SandboxError> {
    prctl::set_pdeathsig(Signal::SIGKILL)
        .map_err(|errno| SandboxError::setup("tie pid 1 to the first stage's life", errno))?;
    if std::process::id() != 1 {
        return Err(SandboxError::setup(
            "become pid 1",
            "it is started by fillrate alone",
        ));
    }
    // Leaves the first stage's session and process group, which are outside: a signal to the
    // sender's own group crosses pid namespaces.
    setsid().map_err(|errno| SandboxError::setup("start a session inside", errno))?;
    // An end of file means that the caller died before it sent the order.
    let order: StageOrder = receive(socket).map_err(|error| SandboxError::Lost {
        reason: error.to_string(),
    })?;
    let job = &order.job;

    sethostname("sandbox").map_err(|errno| SandboxError::setup("set its host name", errno))?;
    loopback_up().map_err(|error| SandboxError::setup("bring up its loopback device", error))?;
    // Kernels and containers may keep this file from being written.
    let _ = draw_ports();
    let kernel = Kernel::running();
    let renewable = order.course == Course::Worker;
    let mut root = mounts::build(job, kernel, renewable)?;
    order.level(root.kind).satisfies(&job.required)?;
    set_limits(&job.limits, kernel)?;
    fix_addresses()?;
    if renewable {
        // Pid 1 mounts again before each run, so only the program's own stage gives up rights.
        close_to_tracing()?;
    } else {
        give_up_rights(order.memory)?;
    }

    let lost = |error: io::Error| SandboxError::Lost {
        reason: error.to_string(),
    };
    send(socket, &StageReport::Ready(root.kind)).map_err(lost)?;
    // The caller moves this process into its control group while the root is being built, which
    // takes the kernel about as long.
    let StartSignal = receive(socket).map_err(lost)?;
    if renewable {
        return fork_server::serve(&order, root.renewal, socket);
    }
    let (child, mut channel) = start(job)?;
    if order.course == Course::Spare {
        send(socket, &StageReport::Idle).map_err(lost)?;
        let next: RunRequest = match receive(socket) {
            Ok(next) => next,
            // The caller no longer needs the spare.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(lost(error)),
        };
        mounts::lay_over(job, &mut root.before, &next.replaced)?;
        if let Some(channel) = &mut channel {
            channel.left = next.input.into_bytes();
        }
        send(socket, &StageReport::Begun).map_err(lost)?;
    }
    let mut count = order.counted.as_deref().map(LineCount::new);
    let mut status = attend(child, socket, channel.as_mut(), count.as_mut())?;
    end_survivors();
    let mut reply = Vec::new();
    if let Some(mut channel) = channel {
        // All writers at the other end are dead, so the channel ends after their last bytes.
        while channel.open && !channel.too_much {
            channel.exchange();
        }
        if channel.too_much {
            status = ProgramStatus::SaidTooMuch;
        }
        if let Some(count) = &mut count {
            let lines = count.lines_in(&channel.said);
            send(socket, &StageReport::Counted(lines)).map_err(lost)?;
        }
        reply = channel.said;
    }
    let files = FileChanges::since(&root.before);
    let collected = job
        .collect
        .iter()
        .map(|path| take_out(path, job.limits.collect).map(|bytes| STANDARD.encode(bytes)))
        .collect();
    let ended = StageReport::Ended {
        status,
        reply: STANDARD.encode(reply),
        files,
        collected,
    };
    send(socket, &ended).map_err(lost)
}

fn start(job: &Job) -> Result<(Child, Option<InputChannel>), SandboxError> {
    let failed = |reason: String| SandboxError::Program {
        program: job.program.clone(),
        reason,
    };
    if !job.directory.is_dir() {
        return Err(failed(format!(
            "its working directory {} does not exist inside",
            job.directory.display()
        )));
    }
    let channel = job
        .input
        .as_ref()
        .map(|input| InputChannel::begin(input, job.limits.collect))
        .transpose()
        .map_err(|error| failed(error.to_string()))?;
    let (channel, stdin) = match channel {
        Some((channel, theirs)) => (Some(channel), Stdio::from(OwnedFd::from(theirs))),
        None => (None, Stdio::null()),
    };
    let mut program = Command::new(&job.program);
    program.args(&job.arguments);
    let child = command(program, job)
        .current_dir(&job.directory)
        .stdin(stdin)
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    Ok((child, channel))
}

/// Waits for the program and reaps orphans until then. If the caller disconnects, pid 1 ends.
fn attend(
    mut child: Child,
    socket: &UnixStream,
    mut channel: Option<&mut InputChannel>,
    mut count: Option<&mut LineCount<'_>>,
) -> Result<ProgramStatus, SandboxError> {
    let failed = |errno: Errno| SandboxError::setup("wait for the program", errno);
    // Blocked after the program's start, which would otherwise inherit the mask.
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    mask.thread_block().map_err(failed)?;
    let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
        .map_err(failed)?;
    loop {
        if let Some(status) = reap(&mut child)? {
            return Ok(status);
        }
        let mut ready = vec![
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(socket.as_fd(), PollFlags::POLLIN),
        ];
        if let Some(channel) = channel.as_ref().filter(|channel| channel.open) {
            ready.push(PollFd::new(channel.socket.as_fd(), channel.poll_flags()));
        }
        match poll(&mut ready, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(failed(errno)),
        }
        if ready[1].any() == Some(true) {
            return Err(SandboxError::Lost {
                reason: "the caller is gone".into(),
            });
        }
        let received = ready.get(2).is_some_and(|fd| fd.any() == Some(true));
        if let (true, Some(channel)) = (received, channel.as_mut()) {
            channel.exchange();
            if channel.too_much {
                return Ok(ProgramStatus::SaidTooMuch);
            }
            if let Some(lines) = count.as_mut().and_then(|count| count.due(&channel.said)) {
                // A caller that is gone is noticed above.
                let _ = send(socket, &StageReport::Counted(lines));
            }
        }
        // The next pass reaps all dead children, however many deaths one signal reports.
        while let Ok(Some(_)) = signals.read_signal() {}
    }
}

/// Counts lines of a reply while it grows.
struct LineCount<'a> {
    mark: &'a [u8],
    /// Number of bytes that are looked through.
    seen: usize,
    lines: usize,
    /// Time of the last report.
    reported: Instant,
}

impl<'a> LineCount<'a> {
    /// Time between two reports.
    const EVERY: Duration = Duration::from_secs(1);
    /// Number of bytes of a line in which the mark is looked for: lines may be long.
    const LOOKED_AT: usize = 200;

    fn new(mark: &'a str) -> Self {
        Self {
            mark: mark.as_bytes(),
            seen: 0,
            lines: 0,
            reported: Instant::now(),
        }
    }

    /// The number of lines, if it is time to report it.
    fn due(&mut self, said: &[u8]) -> Option<usize> {
        if self.reported.elapsed() < Self::EVERY {
            return None;
        }
        self.reported = Instant::now();
        Some(self.lines_in(said))
    }

    /// The number of whole lines with the mark.
    fn lines_in(&mut self, said: &[u8]) -> usize {
        let fresh = said.get(self.seen..).unwrap_or_default();
        // The last line may still be growing.
        let Some(end) = fresh.iter().rposition(|byte| *byte == b'\n') else {
            return self.lines;
        };
        for line in fresh[..end].split(|byte| *byte == b'\n') {
            let start = &line[..line.len().min(Self::LOOKED_AT)];
            // `windows` panics for a size of 0.
            let mut parts = start.windows(self.mark.len().max(1));
            self.lines += usize::from(parts.any(|part| part == self.mark));
        }
        self.seen += end + 1;
        self.lines
    }
}

/// Reaps all dead children. Returns the program's own status if it is among them.
fn reap(child: &mut Child) -> Result<Option<ProgramStatus>, SandboxError> {
    let target = i32::try_from(child.id()).unwrap_or(-1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(program_status(status))),
            Ok(None) => {}
            // Reaped by a waitpid below that could not name its signal: nix knows no real-time
            // signals, of which this is the first.
            Err(_) => return Ok(Some(ProgramStatus::Signalled(libc::SIGRTMIN()))),
        }
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(None),
            Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == target => {
                return Ok(Some(ProgramStatus::Exited(code)));
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == target => {
                return Ok(Some(ProgramStatus::Signalled(signal as i32)));
            }
            Ok(_) | Err(Errno::EINTR | Errno::EINVAL) => {}
            Err(errno) => return Err(SandboxError::setup("wait for the program", errno)),
        }
    }
}

fn program_status(status: ExitStatus) -> ProgramStatus {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProgramStatus::Exited(code),
        (None, signal) => ProgramStatus::Signalled(signal.unwrap_or(0)),
    }
}

/// Kills and reaps everything but pid 1. Then collected files no longer change, and all processor
/// time is counted: the kernel does not count processes that die with pid 1.
fn end_survivors() {
    // ESRCH means that no process is left.
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    while !matches!(waitpid(Pid::from_raw(-1), None), Err(Errno::ECHILD)) {}
}

/// Returns the content of a regular file of at most `limit` bytes. The program chose the file at
/// `path`: a fifo must not block, a link must not lead elsewhere, a device must not be read.
fn take_out(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let file: File = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(path)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    // One byte beyond the limit shows that a file which grows meanwhile exceeds it.
    file.take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some(bytes)
}

/// Gives programs inside the same addresses in every run: collections that hash by address, such
/// as a set that holds `None` in Python before 3.12, then keep their order, and tests that are
/// named by it keep their names. If the host forbids the switch, as Docker's default profile does,
/// addresses are random.
fn fix_addresses() -> Result<(), SandboxError> {
    match personality::set(Persona::ADDR_NO_RANDOMIZE) {
        Ok(_) | Err(Errno::EPERM | Errno::ENOSYS) => Ok(()),
        Err(errno) => Err(SandboxError::setup("fix the addresses", errno)),
    }
}

fn set_limits(limits: &Limits, kernel: Kernel) -> Result<(), SandboxError> {
    // Processor time has no limit here: a limit per process says little about a tree, and pid 1
    // would share it. The caller's watch adds up the tree. Nor has memory: a refused allocation
    // would look like a fault of the program.
    let mut all = vec![
        ("file size", Resource::RLIMIT_FSIZE, limits.file_size),
        ("open files", Resource::RLIMIT_NOFILE, limits.open_files),
        // One byte is too little for a core file, and unlike 0 it also prevents a core handler
        // that the host runs through a pipe, core(5).
        ("core size", Resource::RLIMIT_CORE, 1),
    ];
    if kernel.at_least(5, 14) {
        // Counted per user namespace since 5.14; before, the caller's other processes would
        // count. It is well above the job's limit, so that the watch ends the run before the
        // kernel refuses a process, which the program would report as its own failure. It only
        // bounds what starts between two samples. The kernel does not apply it to a host's root.
        let processes = 4 * u64::from(limits.processes) + 256;
        all.push(("processes", Resource::RLIMIT_NPROC, processes));
    }
    for (name, resource, limit) in all {
        // A process without rights on the host can't raise the hard limit it was started with.
        getrlimit(resource)
            .map(|(_, hard)| limit.min(hard))
            .and_then(|limit| setrlimit(resource, limit, limit))
            .map_err(|errno| SandboxError::setup(format!("limit the {name}"), errno))?;
    }
    Ok(())
}

/// Becomes the program of a worker's sandbox, without the rights of pid 1.
pub(super) fn program_stage() -> Result<(), SandboxError> {
    let mut arguments = std::env::args_os().skip(2);
    let memory = match arguments.next() {
        Some(word) if word == "group" => MemoryControl::CgroupV1,
        _ => MemoryControl::Watch,
    };
    let Some(program) = arguments.next() else {
        return Err(SandboxError::setup(
            "start its program",
            "it is started by fillrate alone",
        ));
    };
    give_up_rights(memory)?;
    let error = Command::new(&program).args(arguments).exec();
    Err(SandboxError::Program {
        program: program.to_string_lossy().into_owned(),
        reason: error.to_string(),
    })
}

fn give_up_rights(memory: MemoryControl) -> Result<(), SandboxError> {
    for (name, set) in [
        ("ambient", CapSet::Ambient),
        ("bounding", CapSet::Bounding),
        ("inheritable", CapSet::Inheritable),
        ("effective", CapSet::Effective),
        ("permitted", CapSet::Permitted),
    ] {
        caps::clear(None, set)
            .map_err(|error| SandboxError::setup(format!("drop its {name} capabilities"), error))?;
    }
    prctl::set_no_new_privs()
        .map_err(|errno| SandboxError::setup("rule out new privileges", errno))?;
    close_to_tracing()?;
    filter::apply(memory)
}

/// Keeps the program, which has the same user, from this process's memory and descriptors.
fn close_to_tracing() -> Result<(), SandboxError> {
    prctl::set_dumpable(false)
        .map_err(|errno| SandboxError::setup("close itself to tracing", errno))
}

/// Draws the ports from which those of outgoing connections come, out of the usual ones. The kernel
/// chooses among them by a counter of the whole machine, which else would tell a run what an earlier
/// one did: a worker in which anything used the network has no next run.
fn draw_ports() -> io::Result<()> {
    let mut drawn = [0; 4];
    File::open("/dev/urandom")?.read_exact(&mut drawn)?;
    let [first, size] = [[drawn[0], drawn[1]], [drawn[2], drawn[3]]].map(u16::from_ne_bytes);
    let first = 32_768 + first % 12_000;
    // The kernel prefers ends of different parity.
    let last = first + 8001 + size % 4000 * 2;
    std::fs::write(
        "/proc/sys/net/ipv4/ip_local_port_range",
        format!("{first} {last}"),
    )
}

/// Sets the loopback device up through a route netlink request, rtnetlink(7). The fields are in
/// the order of `struct nlmsghdr` and `struct ifinfomsg`.
fn loopback_up() -> io::Result<()> {
    const LENGTH: u32 = 32;
    const LOOPBACK_INDEX: i32 = 1;
    let mut socket = File::from(open_socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?);
    let mut request = Vec::new();
    request.extend_from_slice(&LENGTH.to_ne_bytes());
    request.extend_from_slice(&libc::RTM_NEWLINK.to_ne_bytes());
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
    request.extend_from_slice(&flags.to_ne_bytes());
    request.extend_from_slice(&[0; 8]); // sequence number, port
    request.extend_from_slice(&[0; 4]); // address family, padding, device type
    request.extend_from_slice(&LOOPBACK_INDEX.to_ne_bytes());
    let up = libc::IFF_UP as u32;
    request.extend_from_slice(&up.to_ne_bytes()); // flags
    request.extend_from_slice(&up.to_ne_bytes()); // which of them to change
    socket.write_all(&request)?;
    let mut answer = [0; 128];
    let length = socket.read(&mut answer)?;
    // An acknowledgement is an error message with code 0 after its header of 16 bytes.
    match answer[..length]
        .get(16..20)
        .and_then(|code| code.try_into().ok())
        .map(i32::from_ne_bytes)
    {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
