//! Hostile programs against the real sandbox.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fillrate_sandbox::{
    Bind, End, Finished, ForkRun, Job, Level, MemoryControl, Overlay, OverlayKind, Replaced,
    Sandbox, SandboxError, Spare, SpareRun, Worker,
};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::geteuid;

const MIB: u64 = 1 << 20;

fn sandbox() -> Sandbox {
    // Set where the tests run as a user who cannot reach the build's own folder.
    let executable = std::env::var_os("SANDBOX_EXECUTABLE")
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_fillrate").into());
    Sandbox {
        executable: executable.into(),
    }
}

fn job(program: &str, arguments: &[&str]) -> Job {
    let mut job = Job::new(program, "/");
    job.arguments = arguments.iter().map(ToString::to_string).collect();
    job.limits.wall = Duration::from_secs(30);
    job
}

fn python(code: &str) -> Job {
    job("/usr/bin/python3", &["-I", "-c", code])
}

fn shell(code: &str) -> Job {
    job("/bin/sh", &["-c", code])
}

fn run(job: &Job) -> Finished {
    sandbox().run(job).unwrap()
}

/// Runs a job that must succeed; what it printed.
fn said(job: &Job) -> String {
    let finished = run(job);
    assert_eq!(
        finished.end,
        End::Exited(0),
        "stdout: {}\nstderr: {}",
        finished.stdout.text(),
        finished.stderr.text()
    );
    finished.stdout.text().into_owned()
}

/// A repository of two files and a directory.
fn repository() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("tests")).unwrap();
    fs::write(directory.path().join("a.py"), "A = 1\n").unwrap();
    fs::write(directory.path().join("tests/b.py"), "B = 1\n").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

fn in_repository(repository: &Path, mut job: Job) -> Job {
    job.overlays.push(Overlay::new(repository, "/repo"));
    job.directory = "/repo".into();
    job
}

/// Names in `/proc` and command lines of the host's processes.
fn processes() -> Vec<(String, String)> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let entry = entry.unwrap();
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            Some((entry.file_name().into_string().ok()?, line))
        })
        .collect()
}

/// Command lines of the host's processes that contain `marker`.
fn alive(marker: &str) -> Vec<String> {
    let lines = processes().into_iter().map(|(_, line)| line);
    lines.filter(|line| line.contains(marker)).collect()
}

/// A text that no other process of this machine carries.
fn marker(test: &str) -> String {
    format!("fillrate-{test}-{}", std::process::id())
}

/// Waits until no process with `marker` is left; how many were left at the end.
fn survivors(marker: &str) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left = alive(marker);
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

// How a run ends.

#[test]
fn the_exit_status_is_told() {
    assert_eq!(run(&shell("exit 0")).end, End::Exited(0));
    assert_eq!(run(&shell("exit 42")).end, End::Exited(42));
    // What a shell makes of a signal is a status, not a signal.
    assert_eq!(run(&shell("exit 137")).end, End::Exited(137));
}

#[test]
fn the_signal_is_told() {
    assert_eq!(run(&shell("kill -SEGV $$")).end, End::Signalled(11));
    assert_eq!(run(&shell("kill -KILL $$")).end, End::Signalled(9));
    assert_eq!(run(&python("import os; os.abort()")).end, End::Signalled(6));
    assert_eq!(
        run(&python("import os; os.kill(os.getpid(), 40)")).end,
        End::Signalled(40)
    );
}

#[test]
fn both_streams_are_kept_apart() {
    let finished = run(&shell("echo out; echo err >&2"));
    assert_eq!(finished.stdout.text(), "out\n");
    assert_eq!(finished.stderr.text(), "err\n");
}

#[test]
fn standard_input_is_empty() {
    assert_eq!(
        said(&python("import sys; print(len(sys.stdin.read()))")),
        "0\n"
    );
}

#[test]
fn a_missing_program_is_a_clear_error() {
    let error = sandbox().run(&job("/no/such/program", &[])).unwrap_err();
    assert!(matches!(error, SandboxError::Program { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("/no/such/program") && text.contains("No such file"),
        "{text}"
    );
}

#[test]
fn a_missing_working_directory_is_a_clear_error() {
    let mut job = shell(":");
    job.directory = "/no/such/place".into();
    let text = sandbox().run(&job).unwrap_err().to_string();
    assert!(text.contains("working directory /no/such/place"), "{text}");
}

#[test]
fn a_missing_host_directory_is_a_clear_error() {
    let mut job = shell(":");
    job.binds.push(Bind::same("/no/such/host/directory"));
    let text = sandbox().run(&job).unwrap_err().to_string();
    assert!(text.contains("/no/such/host/directory"), "{text}");
}

#[test]
fn a_job_that_contradicts_itself_is_refused() {
    let mut climbing = shell(":");
    climbing
        .overlays
        .push(Overlay::new("/usr", "/repo").replacing("../x", "x"));
    let mut relative = shell(":");
    relative.binds.push(Bind::read_only("/usr", "usr"));
    let mut nothing = shell(":");
    nothing.limits.processes = 0;
    for job in [climbing, relative, nothing] {
        let error = sandbox().run(&job).unwrap_err();
        assert!(matches!(error, SandboxError::Job { .. }), "{error:?}");
    }
}

#[test]
fn an_executable_that_is_no_sandbox_is_an_error_not_a_verdict() {
    let other = Sandbox {
        executable: "/bin/true".into(),
    };
    let error = other.run(&shell(":")).unwrap_err();
    assert!(matches!(error, SandboxError::Lost { .. }), "{error:?}");
}

#[test]
fn a_stage_started_by_hand_refuses() {
    for stage in ["sandbox-init", "sandbox-pid1"] {
        let output = Command::new(sandbox().executable)
            .arg(stage)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(!output.status.success());
    }
}

// What a program sees.

#[test]
fn addresses_are_the_same_in_every_run() {
    // A set that holds `None` is in the order of its address in Python before 3.12.
    let job = python(
        "print(*(line.split()[0].split('-')[1] for line in open('/proc/self/maps') if '[stack]' in line))",
    );
    let first = said(&job);
    assert_eq!(first.len(), 13, "{first}");
    for _ in 0..3 {
        assert_eq!(said(&job), first);
    }
}

#[test]
fn nothing_of_the_callers_environment_is_visible() {
    // The harness's own variables are the secret: every process started by cargo has these.
    let secret = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let text = said(&python(
        "
import os, glob
print(dict(os.environ))
for name in glob.glob('/proc/[0-9]*/environ'):
    try:
        print(name, open(name, 'rb').read())
    except OSError as error:
        print(name, error)
",
    ));
    assert!(text.contains("/environ b'HOME="), "{text}");
    assert!(!text.contains(&secret) && !text.contains("CARGO"), "{text}");
}

#[test]
fn the_jobs_environment_is_all_there_is() {
    let mut job = shell("env | sort");
    job.environment.insert("MODE".into(), "test".into());
    assert_eq!(
        said(&job),
        "HOME=/tmp\nLANG=C.UTF-8\nMODE=test\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD=/\n"
    );
}

#[test]
fn no_host_process_is_visible() {
    let own = std::process::id().to_string();
    let text = said(&shell(
        "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; ls /proc",
    ));
    let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    // Not even pid 1 and the stages, which may not be traced.
    assert!(
        !pids.is_empty() && pids.iter().all(|pid| (2..100).contains(pid)),
        "{text}"
    );
    assert!(!text.lines().any(|line| line == own), "{text}");
}

#[test]
fn no_host_file_is_visible_but_the_systems() {
    let text = said(&shell(
        "ls -d /* /dev/* /etc/* /home/* /run/* /var/* 2>/dev/null; true",
    ));
    let expected = "/bin /dev /etc /lib /lib32 /lib64 /libx32 /nix /proc /sbin /tmp /usr \
                    /dev/fd /dev/full /dev/null /dev/random /dev/shm /dev/stderr /dev/stdin \
                    /dev/stdout /dev/urandom /dev/zero /etc/alternatives /etc/group /etc/hostname /etc/hosts \
                    /etc/locale.alias /etc/mime.types /etc/protocols /etc/services /etc/timezone \
                    /etc/ld.so.cache /etc/localtime /etc/nsswitch.conf /etc/passwd /etc/ssl";
    let unexpected: Vec<_> = text
        .lines()
        .filter(|line| !expected.split(' ').any(|name| name == *line))
        .collect();
    assert_eq!(unexpected, Vec::<&str>::new());
    for needed in ["/usr", "/proc", "/dev/shm", "/etc/passwd"] {
        assert!(
            text.lines().any(|line| line == needed),
            "{needed} is missing"
        );
    }
    assert_eq!(
        said(&shell(
            "cat /etc/shadow /etc/ssl/private/* 2>/dev/null; true"
        )),
        ""
    );
}

#[test]
fn only_the_three_standard_descriptors_are_open() {
    // One that the caller leaves open across exec must not get through either.
    let left_open = fs::File::open("/etc/passwd").unwrap();
    fcntl(&left_open, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    assert!(left_open.as_raw_fd() > 2);
    let text = said(&python(
        "import os; print(sorted(os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))",
    ));
    // The fourth is the listing's own.
    assert_eq!(text, "['0', '1', '2'] 4\n");
}

#[test]
fn the_user_is_an_ordinary_one() {
    assert_eq!(
        said(&shell("id -u; id -g; id -un; hostname")),
        "1000\n1000\nsandbox\nsandbox\n"
    );
}

// What a program can change.

#[test]
fn writes_to_the_repository_stay_inside() {
    let repository = repository();
    let job = in_repository(
        repository.path(),
        shell(
            "echo 'A = 2' > a.py && mkdir tests/new && echo x > tests/new/c && rm tests/b.py && cat a.py && ls tests",
        ),
    );
    assert_eq!(said(&job), "A = 2\nnew\n");
    assert_eq!(
        fs::read_to_string(repository.path().join("a.py")).unwrap(),
        "A = 1\n"
    );
    assert!(repository.path().join("tests/b.py").exists());
    assert!(!repository.path().join("tests/new").exists());
}

// Here and below, only folders of the test's own are attacked: where a defence is broken, the
// machine that finds it out must not be the price.
#[test]
fn a_removed_repository_is_still_there_outside() {
    let (repository, canary) = (repository(), self::repository());
    let mut job = in_repository(
        repository.path(),
        shell("rm -rf /repo/* /canary/* 2>/dev/null; ls -A /repo; mkdir tests && ls /repo"),
    );
    job.binds.push(Bind::read_only(canary.path(), "/canary"));
    assert_eq!(said(&job), "tests\n");
    for folder in [&repository, &canary] {
        assert!(folder.path().join("tests/b.py").exists());
    }
}

#[test]
fn replaced_files_are_seen_with_their_old_mode() {
    let repository = repository();
    let script = repository.path().join("run.sh");
    fs::write(&script, "#!/bin/sh\necho old\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut job = shell("./run.sh; cat a.py deep/er/new.txt");
    job.directory = "/repo".into();
    job.overlays.push(
        Overlay::new(repository.path(), "/repo")
            .replacing("run.sh", "#!/bin/sh\necho new\n")
            .replacing("a.py", "A = 3\n")
            .replacing("deep/er/new.txt", "deep\n"),
    );
    assert_eq!(said(&job), "new\nA = 3\ndeep\n");
    assert_eq!(
        fs::read_to_string(&script).unwrap(),
        "#!/bin/sh\necho old\n"
    );
    assert!(!repository.path().join("deep").exists());
}

#[test]
fn a_replaced_file_follows_links_inside_the_repository_only() {
    let (repository, outside) = (repository(), tempfile::tempdir().unwrap());
    symlink("tests", repository.path().join("inner")).unwrap();
    symlink(outside.path(), repository.path().join("outer")).unwrap();
    symlink(
        format!("/old{}", outside.path().display()),
        repository.path().join("guess"),
    )
    .unwrap();
    let mut job = shell("cat tests/b.py");
    job.directory = "/repo".into();
    job.overlays
        .push(Overlay::new(repository.path(), "/repo").replacing("inner/b.py", "B = 2\n"));
    assert_eq!(said(&job), "B = 2\n");
    for link in ["outer/x", "guess/x"] {
        job.overlays[0] = Overlay::new(repository.path(), "/repo").replacing(link, "x");
        let error = sandbox().run(&job).unwrap_err();
        assert!(
            matches!(error, SandboxError::Job { .. }),
            "{link}: {error:?}"
        );
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_mount_point_never_goes_through_a_link_of_the_repository() {
    let (repository, outside) = (repository(), tempfile::tempdir().unwrap());
    symlink(
        format!("/old{}", outside.path().display()),
        repository.path().join("venv"),
    )
    .unwrap();
    let mut job = in_repository(repository.path(), shell(":"));
    job.binds
        .push(Bind::read_only("/usr/share", "/repo/venv/made"));
    let error = sandbox().run(&job).unwrap_err();
    assert!(matches!(error, SandboxError::Job { .. }), "{error:?}");
    assert!(!outside.path().join("made").exists());
}

#[test]
fn binds_are_read_only_unless_asked() {
    let (kept, given) = (repository(), repository());
    let mut job = shell(
        "echo x > /kept/x; echo x > /given/x; test -w /usr || test -w / || echo x > /x; ls /kept /given",
    );
    job.binds.push(Bind::read_only(kept.path(), "/kept"));
    job.binds.push(Bind::writable(given.path(), "/given"));
    let finished = run(&job);
    assert_eq!(
        finished.stdout.text(),
        "/given:\na.py\ntests\nx\n\n/kept:\na.py\ntests\n"
    );
    assert_eq!(
        finished
            .stderr
            .text()
            .matches("Read-only file system")
            .count(),
        2
    );
    assert!(given.path().join("x").exists() && !kept.path().join("x").exists());
}

#[test]
fn binds_at_deep_host_paths_and_single_files_work() {
    let directory = repository();
    let deep = directory.path().join("tests");
    let mut job = in_repository(directory.path(), Job::new("/bin/sh", "/"));
    job.arguments = vec![
        "-c".into(),
        format!("cat {}/b.py /repo/tests/one.py", deep.display()),
    ];
    job.binds.push(Bind::same(&deep));
    job.binds
        .push(Bind::read_only(deep.join("b.py"), "/repo/tests/one.py"));
    assert_eq!(said(&job), "B = 1\nB = 1\n");
    assert!(!deep.join("one.py").exists());
}

#[test]
fn a_missing_mount_point_in_a_host_directory_is_not_made() {
    let directory = repository();
    let mut job = shell(":");
    job.binds.push(Bind::writable(directory.path(), "/given"));
    job.binds
        .push(Bind::read_only("/usr/share", "/given/share"));
    let error = sandbox().run(&job).unwrap_err();
    assert!(matches!(error, SandboxError::Job { .. }), "{error:?}");
    assert!(!directory.path().join("share").exists());
}

#[test]
fn files_are_taken_out_and_nothing_else_is() {
    let mut job = shell(
        "cd /tmp; printf 'a\\377' > report; mkfifo fifo; ln -s report link; mkdir dir; head -c 3000 /dev/zero > big",
    );
    // The limit is above the report's size and below that of `big`.
    job.limits.collect = 2000;
    for name in ["report", "fifo", "link", "dir", "big", "missing"] {
        job.collect.push(Path::new("/tmp").join(name));
    }
    let finished = run(&job);
    assert_eq!(finished.end, End::Exited(0));
    let collected: Vec<_> = finished.collected.into_iter().collect();
    assert_eq!(
        collected,
        [(PathBuf::from("/tmp/report"), b"a\xff".to_vec())]
    );
}

// The network.

#[test]
fn the_hosts_sockets_are_out_of_reach_and_loopback_works() {
    // The sockets exist on the host, so that a refusal shows the isolation and no absence.
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let name = marker("abstract");
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _unix = UnixListener::bind_addr(&address).unwrap();
    let code = format!(
        r"
import socket
def tries(family, address):
    s = socket.socket(family)
    s.settimeout(2)
    try:
        s.connect(address)
        print('connected', address)
    except OSError as error:
        print(type(error).__name__, error.errno)
tries(socket.AF_INET, ('127.0.0.1', {port}))
tries(socket.AF_INET, ('192.0.2.1', 80))
tries(socket.AF_UNIX, '\0{name}')
for family in (socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG):
    try:
        socket.socket(family, socket.SOCK_SEQPACKET if family == socket.AF_ALG else socket.SOCK_STREAM)
        print('made', family)
    except OSError as error:
        print(type(error).__name__, error.errno)
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
print('own loopback')
"
    );
    assert_eq!(
        said(&python(&code)),
        "ConnectionRefusedError 111\nOSError 101\nConnectionRefusedError 111\n\
         PermissionError 1\nPermissionError 1\nPermissionError 1\nown loopback\n"
    );
}

// Limits.

#[test]
fn sleeping_for_ever_times_out() {
    let mut job = shell("echo begun; sleep 1000");
    job.limits.wall = Duration::from_secs(2);
    let finished = run(&job);
    assert_eq!(finished.end, End::TimedOut);
    assert_eq!(finished.stdout.text(), "begun\n");
    assert!(
        finished.wall >= Duration::from_secs(2),
        "{:?}",
        finished.wall
    );
}

#[test]
fn ignoring_every_signal_does_not_help_against_the_clock() {
    let mut job = python(
        "
import signal, time
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: time.sleep(1)
",
    );
    job.limits.wall = Duration::from_millis(700);
    assert_eq!(run(&job).end, End::TimedOut);
}

#[test]
fn processor_time_is_counted_over_the_whole_tree() {
    // Each child alone stays far below the limit, and is dead before the next begins.
    let mut job = shell("while :; do /usr/bin/python3 -I -c 'sum(range(2000000))'; done");
    job.limits.cpu = Duration::from_millis(600);
    let finished = run(&job);
    assert_eq!(finished.end, End::OutOfProcessor);
    assert!(
        finished.cpu >= Duration::from_millis(500),
        "{:?}",
        finished.cpu
    );
}

#[test]
fn processor_time_of_what_the_program_leaves_behind_is_counted() {
    let job = python(
        "
import os, time
if os.fork() == 0:
    os.setsid()
    while time.process_time() < 0.3: pass
    open('/tmp/done', 'w').close()
    time.sleep(1000)
while not os.path.exists('/tmp/done'): time.sleep(0.01)
",
    );
    let finished = run(&job);
    assert_eq!(finished.end, End::Exited(0));
    assert!(
        finished.cpu >= Duration::from_millis(300),
        "{:?}",
        finished.cpu
    );
}

#[test]
fn eating_memory_is_out_of_memory() {
    let mut job = python("b = []\nwhile True: b.append(bytearray(b'x' * 4000000))");
    job.limits.memory = 200 * MIB;
    let finished = run(&job);
    assert_eq!(finished.end, End::OutOfMemory);
    // The peak shows that the limit, and no other fault, ended the program.
    assert!(finished.peak_memory > 100 * MIB, "{}", finished.peak_memory);
}

#[test]
fn a_childs_death_for_want_of_memory_is_told_although_the_program_goes_on() {
    let mut job = python(
        "
import subprocess, sys
subprocess.run([sys.executable, '-c', 'b = []\\nwhile True: b.append(bytearray(b\"x\" * 4000000))'])
",
    );
    job.limits.memory = 200 * MIB;
    assert_eq!(run(&job).end, End::OutOfMemory);
}

#[test]
fn memory_below_the_limit_is_fine_and_reported() {
    let mut job = python("b = bytearray(b'x' * 100_000_000)");
    job.limits.memory = 400 * MIB;
    let finished = run(&job);
    assert_eq!(finished.end, End::Exited(0));
    assert!(
        (95 * MIB..250 * MIB).contains(&finished.peak_memory),
        "{}",
        finished.peak_memory
    );
}

#[test]
fn memory_shared_by_forks_counts_once() {
    let mut job = python(
        "
import os, time
b = bytearray(b'x' * 100_000_000)
children = [os.fork() for _ in range(1)]
for _ in range(5):
    if children[-1]: children.append(os.fork())
time.sleep(0.3)
",
    );
    // The limit is exceeded if the shared pages are counted for each process.
    job.limits.memory = 250 * MIB;
    assert_eq!(run(&job).end, End::Exited(0));
}

#[test]
fn files_in_memory_count_as_memory() {
    let mut job = python(
        "
import time
for place in ('/tmp', '/dev/shm'):
    open(place + '/x', 'wb').write(b'x' * 150_000_000)
time.sleep(5)
",
    );
    job.limits.memory = 200 * MIB;
    assert_eq!(run(&job).end, End::OutOfMemory);
}

#[test]
fn forking_without_end_is_too_many_processes() {
    let mut job = python("import os\nwhile True:\n try: os.fork()\n except OSError: pass");
    job.limits.processes = 50;
    let finished = run(&job);
    assert_eq!(finished.end, End::TooManyProcesses);
    // The host can still start programs, so only the sandbox ran out of processes.
    assert!(Command::new("/bin/true").status().unwrap().success());
}

#[test]
fn threads_count_as_processes() {
    let mut job = python(
        "
import threading, time
while True: threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
",
    );
    job.limits.processes = 30;
    assert_eq!(run(&job).end, End::TooManyProcesses);
}

#[test]
fn printing_without_end_is_too_much_output() {
    let mut job = shell("echo first; yes; echo last");
    job.limits.output = 4 * MIB;
    job.limits.output_kept = 1000;
    let finished = run(&job);
    assert_eq!(finished.end, End::TooMuchOutput);
    // The first and the last output are kept, which mostly have the cause of a failure.
    assert!(finished.stdout.head.starts_with(b"first\n"));
    assert_eq!(
        (finished.stdout.head.len(), finished.stdout.tail.len()),
        (500, 500)
    );
    assert!(finished.stdout.dropped > 3 * MIB);
}

#[test]
fn much_output_below_the_limit_keeps_head_and_tail() {
    let mut job = shell("echo first; head -c 1000000 /dev/zero; echo last; echo problem >&2");
    job.limits.output_kept = 100;
    let finished = run(&job);
    assert_eq!(finished.end, End::Exited(0));
    assert!(finished.stdout.head.starts_with(b"first\n"));
    assert!(finished.stdout.tail.ends_with(b"last\n"));
    assert_eq!(finished.stdout.dropped, 1_000_011 - 100);
    assert_eq!(finished.stderr.text(), "problem\n");
}

#[test]
fn the_disk_is_one_capped_memory() {
    let repository = repository();
    let mut job = in_repository(
        repository.path(),
        python(
            "
import os
total = 0
for place in ('/tmp', '/repo', '/dev/shm'):
    try:
        for number in range(1000):
            with open(f'{place}/{number}', 'wb', buffering=0) as file:
                for _ in range(10):
                    total += file.write(b'x' * 1000000)
        print('endless', place)
    except OSError as error:
        print(place, error.errno)
print(total <= 40 * 2**20, total > 30 * 2**20)
for place in ('/', '/dev', '/etc', '/proc', '/usr/lib'):
    try:
        open(place + '/x', 'w')
        print('wrote', place)
    except OSError as error:
        assert error.errno in (30, 2, 13), error
",
        ),
    );
    job.limits.disk = 40 * MIB;
    assert_eq!(said(&job), "/tmp 28\n/repo 28\n/dev/shm 28\nTrue True\n");
}

#[test]
fn empty_files_without_end_run_out_too() {
    let mut job = python(
        "
try:
    for number in range(10**7):
        open(f'/tmp/{number}', 'w').close()
except OSError as error:
    print(error.errno)
",
    );
    job.limits.disk = 16 * MIB;
    assert_eq!(said(&job), "28\n");
}

#[test]
fn one_file_has_a_largest_size() {
    let mut job = python(
        "
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    open('/tmp/x', 'wb').truncate(3_000_000)
    print('made')
except OSError as error:
    print(error.errno)
",
    );
    job.limits.file_size = 2_000_000;
    assert_eq!(said(&job), "27\n");
}

// Getting away.

#[test]
fn daemons_do_not_survive() {
    let marker = marker("daemon");
    let code = format!(
        "
import os, sys, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in range(3): os.close(fd)
            os.execv('/usr/bin/python3', ['python3', '-c', 'import time; time.sleep(1000)', '{marker}'])
        os._exit(0)
time.sleep(0.5)
"
    );
    let finished = run(&python(&code));
    assert_eq!(finished.end, End::Exited(0));
    // No wait is needed: the sandbox's end implies that of all its processes.
    assert_eq!(alive(&marker), Vec::<String>::new());
}

#[test]
fn daemons_do_not_survive_a_time_out_either() {
    let marker = marker("late");
    let mut job = shell(&format!(
        "setsid sh -c 'sleep 1000; : {marker}' & sleep 1000"
    ));
    job.limits.wall = Duration::from_millis(500);
    assert_eq!(run(&job).end, End::TimedOut);
    assert_eq!(alive(&marker), Vec::<String>::new());
}

#[test]
fn killing_everything_in_sight_reaches_only_itself() {
    let text = said(&python(
        "
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for target in (1, 0, -1):
    try: os.kill(target, signal.SIGTERM)
    except ProcessLookupError: print('no process')
os.kill(1, signal.SIGKILL)
os.kill(1, signal.SIGSTOP)
print('pid 1 lives')
",
    ));
    assert_eq!(text, "no process\npid 1 lives\n");
    // To its own group, which must not be the first stage's.
    assert_eq!(
        run(&python("import os; os.kill(0, 9)")).end,
        End::Signalled(9)
    );
}

#[test]
fn a_killed_caller_leaves_nothing() {
    let marker = marker("orphan");
    let said = tempfile::NamedTempFile::new().unwrap();
    // This test binary again, as a caller that will be killed.
    let mut caller = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "caller_to_be_killed", "--ignored", "--nocapture"])
        .env("SANDBOX_MARKER", &marker)
        .stdout(said.reopen().unwrap())
        .stderr(said.reopen().unwrap())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    // The caller must be killed while the sandbox runs, so both processes are awaited first.
    while alive(&marker).len() < 2 {
        let ended = caller.try_wait().unwrap();
        assert!(
            ended.is_none() && Instant::now() < deadline,
            "the sandbox never started: {ended:?}\n{}",
            std::fs::read_to_string(said.path()).unwrap()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    caller.kill().unwrap();
    caller.wait().unwrap();
    assert_eq!(survivors(&marker), Vec::<String>::new());
}

#[test]
#[ignore = "started by a_killed_caller_leaves_nothing"]
fn caller_to_be_killed() {
    // Run by hand, as all ignored tests may be, it does nothing.
    let Ok(marker) = std::env::var("SANDBOX_MARKER") else {
        return;
    };
    run(&shell(&format!(
        "setsid sh -c 'sleep 300; : {marker}' & sleep 300; : {marker}"
    )));
}

#[test]
fn nothing_can_be_mounted_traced_or_loaded() {
    let text = said(&python(
        r"
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
def tries(name, result):
    print(name, 'worked' if result >= 0 else os.strerror(ctypes.get_errno()))
tries('mount', libc.mount(b'x', b'/tmp', b'tmpfs', 0, None))
tries('umount', libc.umount2(b'/proc', 2))
tries('chroot', libc.chroot(b'/tmp'))
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000):
    tries(f'unshare {flag:#x}', libc.unshare(flag))
tries('setns', libc.setns(0, 0))
tries('ptrace', libc.ptrace(16, 1, None, None))
tries('personality', libc.personality(0x0800000))
tries('prlimit', libc.prlimit(1, 7, None, ctypes.create_string_buffer(16)))
tries('sethostname', libc.sethostname(b'x', 1))
tries('setuid', libc.setuid(0))
tries('ioctl', libc.ioctl(0, 0x5412, b'x'))
tries('sock_diag', libc.socket(16, 3, 4))
if platform.machine() == 'x86_64':
    calls = dict(clone_newuser=(56, 0x10000011, 0, 0, 0, 0), clone3=(435, None, 0), bpf=(321, 0, None, 0),
        perf=(298, None, 0, -1, -1, 0), userfaultfd=(323, 0), io_uring=(425, 1, None), keyctl=(250, 0, -3, 0),
        kexec=(246, 0, 0, None, 0), init_module=(175, None, 0, b''), reboot=(169, 0, 0, 0, None),
        open_tree=(428, -100, b'/', 0), fsopen=(430, b'tmpfs', 0), move_mount=(429, -1, b'', -1, b'', 0),
        vm_read=(310, 1, None, 0, None, 0, 0), pidfd_getfd=(438, 0, 0, 0),
        x32_mount=(0x40000000 | 165, b'x', b'/tmp', b'tmpfs', 0, None), x32_unshare=(0x40000000 | 272, 0x10000000))
    for name, arguments in calls.items():
        tries(name, libc.syscall(*arguments))
",
    ));
    for line in text.lines() {
        let refused = line.ends_with("Operation not permitted")
            || line == "setuid Invalid argument"
            || (line.ends_with("Function not implemented")
                && ["clone3", "io_uring", "x32_"]
                    .iter()
                    .any(|name| line.starts_with(name)));
        assert!(refused, "{text}");
    }
    // A script that fails early would print no line that is not refused.
    assert!(text.lines().count() >= 15, "{text}");
}

#[test]
fn no_capability_and_no_way_to_one_is_left() {
    let marker = marker("rights");
    let mut job = shell(&format!(
        ": {marker}; echo > /given/started; while [ ! -e /given/over ]; do sleep 0.01; done"
    ));
    let given = repository();
    job.binds.push(Bind::writable(given.path(), "/given"));
    let running = std::thread::spawn(move || run(&job));
    // The status is read while the program runs, since nothing is left of it afterwards.
    while !given.path().join("started").exists() {
        assert!(!running.is_finished());
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = |pid: &str| fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let value = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap().trim().to_owned()
    };
    let program = processes()
        .into_iter()
        .find(|(_, line)| line.starts_with("/bin/sh") && line.contains(&marker))
        .unwrap();
    // From the program to its pid 1, which was started as such.
    let mut pid = program.0;
    let mut checked = 0;
    loop {
        let text = status(&pid);
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            assert_eq!(value(&text, set), "0000000000000000", "{set} {text}");
        }
        assert_eq!(value(&text, "NoNewPrivs:"), "1");
        assert_eq!(value(&text, "Seccomp:"), "2");
        checked += 1;
        if value(&text, "NSpid:").ends_with("\t1") {
            break;
        }
        pid = value(&text, "PPid:");
    }
    // At least the program and its pid 1 were examined.
    assert!(checked >= 2);
    fs::write(given.path().join("over"), "").unwrap();
    assert_eq!(running.join().unwrap().end, End::Exited(0));
}

#[test]
fn pid_1_is_closed_to_the_program() {
    let text = said(&python(
        "
import os
for name in ('mem', 'environ', 'maps', 'fd/0', 'fd/1', 'root', 'cwd', 'exe'):
    try:
        path = '/proc/1/' + name
        if name in ('root', 'cwd', 'exe', 'fd/0'): os.readlink(path)
        else: open(path, 'rb').read(1)
        print(name, 'open')
    except PermissionError:
        pass
",
    ));
    assert_eq!(text, "");
}

#[test]
fn the_kernels_switches_cannot_be_turned() {
    let text = said(&python(
        "
import os
opened = []
for directory, _, names in os.walk('/proc'):
    if directory.startswith('/proc/') and directory.split('/')[2].isdigit(): continue
    for name in names:
        path = os.path.join(directory, name)
        try:
            os.close(os.open(path, os.O_WRONLY))
            # A masked file is /dev/null.
            if os.stat(path).st_rdev != os.stat('/dev/null').st_rdev:
                opened.append(path)
        except OSError:
            pass
hidden = ('kallsyms', 'keys', 'timer_list', 'vmallocinfo', 'kpagecgroup', 'kpagecount', 'kpageflags', 'sched_debug', 'kcore')
print(opened)
print(sum(len(open('/proc/' + name).read()) for name in hidden if os.path.exists('/proc/' + name)))
",
    ));
    assert_eq!(text, "[]\n0\n");
}

#[test]
fn a_crash_leaves_no_core() {
    // One byte: zero would still let a host's core handler run, core(5).
    let text = said(&python(
        "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))",
    ));
    assert_eq!(text, "(1, 1)\n");
}

// The level.

#[test]
fn the_probe_and_a_run_agree() {
    let repository = repository();
    let finished = run(&in_repository(repository.path(), shell(":")));
    assert_eq!(sandbox().probe().unwrap(), finished.level);
    println!("level: {}", finished.level);
}

#[test]
fn a_level_above_the_machines_is_refused_before_anything_runs() {
    let given = repository();
    let mut job = shell("echo ran > /given/ran");
    job.binds.push(Bind::writable(given.path(), "/given"));
    job.required = Level {
        overlay: OverlayKind::Overlayfs,
        memory: MemoryControl::CgroupV2,
    };
    let reached = sandbox().probe().unwrap();
    let result = sandbox().run(&job);
    // Machines differ in what they reach, so the refusal is compared with the probe.
    assert_eq!(result.is_ok(), reached.satisfies(&job.required).is_ok());
    assert_eq!(given.path().join("ran").exists(), result.is_ok());
}

/// Runs an ignored test of this file as the root of a user namespace of its own, behind some shell
/// commands that spoil the machine for it.
fn in_spoiled_namespace(commands: &str, test: &str) {
    let Some(unshare) = find("unshare") else {
        return;
    };
    let output = Command::new(unshare)
        .args(["--user", "--map-root-user", "--mount", "/bin/sh", "-ec"])
        .arg(format!(
            "{commands}\nexec \"$0\" --exact {test} --ignored --nocapture"
        ))
        .arg(std::env::current_exe().unwrap())
        // The ignored tests do nothing without it, so they are harmless if run by hand.
        .env("SANDBOX_SPOILED", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        // A filter that matches no test succeeds as well, so the count is examined.
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn where_no_overlay_can_be_mounted_a_copy_is_made_and_said() {
    // The kernel stacks two file systems at most, so over these two there is no third.
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().display();
    in_spoiled_namespace(
        &format!(
            "mount -t tmpfs tmpfs {at}; cd {at}; mkdir a b c u1 w1 u2 w2; echo lower > a/file; ln -s file a/link
mount -t overlay overlay -o lowerdir={at}/a,upperdir={at}/u1,workdir={at}/w1,userxattr {at}/b
mount -t overlay overlay -o lowerdir={at}/b,upperdir={at}/u2,workdir={at}/w2,userxattr {at}/c
export SANDBOX_LOWER={at}/c"
        ),
        "inner_copy",
    );
}

#[test]
#[ignore = "started by where_no_overlay_can_be_mounted_a_copy_is_made_and_said"]
fn inner_copy() {
    let Some(lower) = std::env::var_os("SANDBOX_LOWER") else {
        return;
    };
    let mut job = shell("cat file link other; echo inside > file");
    job.directory = "/repo".into();
    job.overlays
        .push(Overlay::new(&lower, "/repo").replacing("other", "laid over\n"));
    let finished = run(&job);
    assert_eq!(finished.stdout.text(), "lower\nlower\nlaid over\n");
    assert_eq!(finished.level.overlay, OverlayKind::Copy);
    assert!(finished.level.to_string().starts_with("copy/"));
    // A copy must not write through to the folder that it was made of.
    assert_eq!(
        fs::read_to_string(Path::new(&lower).join("file")).unwrap(),
        "lower\n"
    );

    job.required.overlay = OverlayKind::Overlayfs;
    let error = sandbox().run(&job).unwrap_err();
    assert!(
        matches!(error, SandboxError::BelowLevel { .. }),
        "{error:?}"
    );
}

#[test]
fn another_users_repository_can_be_written_to_as_a_copy() {
    // Only root can give files away; for others there is nothing to see here.
    if !geteuid().is_root() {
        return;
    }
    let repository = repository();
    for path in ["", "a.py", "tests", "tests/b.py"] {
        chown(repository.path().join(path), Some(12_345), Some(12_345)).unwrap();
    }
    let mut job = shell("echo 'B = 2' > tests/b.py; touch new; cat a.py tests/b.py");
    job.directory = "/repo".into();
    job.overlays
        .push(Overlay::new(repository.path(), "/repo").replacing("a.py", "A = 2\n"));
    let finished = run(&job);
    assert_eq!(
        finished.stdout.text(),
        "A = 2\nB = 2\n",
        "{}",
        finished.stderr.text()
    );
    assert_eq!(finished.level.overlay, OverlayKind::Copy);
    assert!(!repository.path().join("new").exists());
}

#[test]
fn forbidden_user_namespaces_are_an_error_that_names_the_switch() {
    in_spoiled_namespace(
        "echo 0 > /proc/sys/user/max_user_namespaces",
        "inner_no_user_namespaces",
    );
}

#[test]
#[ignore = "started by forbidden_user_namespaces_are_an_error_that_names_the_switch"]
fn inner_no_user_namespaces() {
    if std::env::var_os("SANDBOX_SPOILED").is_none() {
        return;
    }
    let error = sandbox().probe().unwrap_err();
    assert!(
        matches!(error, SandboxError::BelowLevel { .. }),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(text.contains("sysctl user.max_user_namespaces="), "{text}");
}

#[test]
fn a_hidden_proc_is_an_error_that_says_so() {
    in_spoiled_namespace("mount -t tmpfs tmpfs /proc/bus", "inner_hidden_proc");
}

#[test]
#[ignore = "started by a_hidden_proc_is_an_error_that_says_so"]
fn inner_hidden_proc() {
    if std::env::var_os("SANDBOX_SPOILED").is_none() {
        return;
    }
    let error = sandbox().probe().unwrap_err();
    assert!(
        matches!(error, SandboxError::BelowLevel { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("own /proc"), "{error}");
}

// Real programs.

#[test]
fn eight_at_a_time_do_not_disturb_each_other() {
    let repository = repository();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|number| {
                let path = repository.path();
                scope.spawn(move || {
                    // The sleep makes the runs overlap.
                    let mut job = shell("cat a.py; sleep 0.2; cat a.py; exit $STATUS");
                    job.directory = "/repo".into();
                    job.environment.insert("STATUS".into(), number.to_string());
                    job.overlays
                        .push(Overlay::new(path, "/repo").replacing("a.py", format!("{number}\n")));
                    run(&job)
                })
            })
            .collect();
        for (number, finished) in runs.into_iter().enumerate() {
            let finished = finished.join().unwrap();
            assert_eq!(finished.end, End::Exited(i32::try_from(number).unwrap()));
            assert_eq!(finished.stdout.text(), format!("{number}\n{number}\n"));
        }
    });
}

#[test]
fn python_with_threads_subprocesses_and_pools_works() {
    let repository = repository();
    let job = in_repository(
        repository.path(),
        job(
            "/usr/bin/python3",
            &[
                "-c",
                "
import sys; sys.path.insert(0, '.')
import a, json, sqlite3, ssl, subprocess, tempfile, threading
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(2) as pool:
    print(sum(pool.map(abs, range(-5, 5))))
print(subprocess.check_output(['sh', '-c', 'echo hi'], text=True), end='')
print(a.A, tempfile.gettempdir())
",
            ],
        ),
    );
    assert_eq!(said(&job), "25\nhi\n1 /tmp\n");
}

#[test]
fn node_works() {
    let Some(node) = find("node") else { return };
    let mut job = job(
        node.to_str().unwrap(),
        &[
            "-e",
            "require('fs').writeFileSync('/tmp/x', 'y'); new (require('worker_threads').Worker)('console.log(1 + 1)', {eval: true})",
        ],
    );
    job.binds.push(Bind::same(&node));
    // The sandbox shows `/usr` anyway, and a mount within it is refused.
    if node.starts_with("/usr") {
        job.binds.clear();
    }
    assert_eq!(said(&job), "2\n");
}

#[test]
fn an_interpreter_that_lives_in_a_home_directory_works_through_a_bind() {
    // A whole installation at a deep path of its own, reached through a virtual environment.
    let home = tempfile::tempdir().unwrap();
    let prefix = home.path().join("versions/3");
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::copy("/usr/bin/python3", prefix.join("bin/python3")).unwrap();
    let venv = home.path().join("venv/bin");
    fs::create_dir_all(&venv).unwrap();
    symlink(prefix.join("bin/python3"), venv.join("python")).unwrap();
    let mut job = job(
        venv.join("python").to_str().unwrap(),
        &["-c", "import sys; print(sys.executable)"],
    );
    job.binds.push(Bind::same(&prefix));
    job.binds.push(Bind::same(home.path().join("venv")));
    assert_eq!(said(&job), format!("{}/python\n", venv.display()));
}

/// A program of this machine; without it a test fails where `CI` is set and is skipped elsewhere.
fn find(program: &str) -> Option<PathBuf> {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
        .map(|path| path.canonicalize().unwrap());
    assert!(
        found.is_some() || std::env::var_os("CI").is_none(),
        "{program} is missing"
    );
    if found.is_none() {
        println!("skipped: {program} is not installed");
    }
    found
}

// The same as somebody else: started by root, this runs every test again as an ordinary user, in
// whose place no control group can be made.

#[test]
fn everything_holds_for_an_ordinary_user_too() {
    if !geteuid().is_root() {
        return;
    }
    let Some(setpriv) = find("setpriv") else {
        return;
    };
    // Where that user can reach it.
    let place = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir_in("/tmp")
        .unwrap();
    let copies = [
        (std::env::current_exe().unwrap(), place.path().join("tests")),
        (sandbox().executable, place.path().join("fillrate")),
    ];
    for (from, to) in &copies {
        fs::copy(from, to).unwrap();
        fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut child = Command::new(setpriv)
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&copies[0].1)
        .args(["--test-threads=2", "--show-output"])
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .env("SANDBOX_EXECUTABLE", &copies[1].1)
        .env("TMPDIR", "/tmp")
        .env_remove("CI")
        .current_dir("/")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut report = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut report)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{report}");
    assert!(report.contains("test result: ok."), "{report}");
    assert!(
        report.contains("level: full/watch") || report.contains("level: copy/watch"),
        "{report}"
    );
}

// A sandbox that is kept.

/// A program that waits, and runs the Python that each run asks for.
const WAITING: &str = r#"
import ctypes, json, os, socket, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
orders = socket.socket(fileno=os.dup(0))
first = b""
while not first.endswith(b"\n"):
    first += orders.recv(4096)
orders.sendall(b"ready\n" if first == b"go\n" else b"unfit as the order says\n")
while True:
    byte, streams, _, _ = socket.recv_fds(orders, 1, 3)
    if not byte:
        break
    child = os.fork()
    if child == 0:
        orders.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        input = b""
        while not input.endswith(b"\n"):
            input += os.read(0, 1)
        exec(json.loads(input), {})
        sys.exit(0)
    for stream in streams:
        os.close(stream)
    orders.sendall(b"%d\n" % os.waitpid(child, 0)[1])
"#;

fn worker(repository: &Path) -> Worker {
    let mut job = in_repository(repository, python(WAITING));
    job.input = Some("go\n".into());
    job.overlays[0].guarded = vec!["tests/b.py".into()];
    Worker::start(sandbox().executable, job).unwrap()
}

fn fork_run(code: &str) -> ForkRun {
    ForkRun {
        replaced: Vec::new(),
        input: serde_json::to_string(code).unwrap() + "\n",
        wall: Duration::from_secs(20),
        cpu: Duration::from_secs(20),
    }
}

/// Runs a fork that must succeed and leave the worker fit; what it printed.
#[track_caller]
fn next(worker: Worker, code: &str) -> (Worker, String) {
    let (finished, worker) = worker.run(fork_run(code)).unwrap();
    let err = finished.stderr.text().into_owned();
    assert_eq!(finished.end, End::Exited(0), "{err}");
    (worker.unwrap(), finished.stdout.text().into_owned())
}

#[test]
fn a_round_sees_nothing_of_the_round_before() {
    let repository = repository();
    let worker = worker(repository.path());
    let (worker, _) = next(
        worker,
        "import os, shutil, subprocess, sys
for path in ['/tmp/x', '/dev/shm/x', '/repo/x', '/repo/tests/b.py', '/repo/a.py']:
    open(path, 'w').write('left')
shutil.rmtree('/repo/tests')
subprocess.Popen([sys.executable, '-c', 'import os, time; os.setsid(); time.sleep(600)'])
os.set_blocking(1, False)
os.set_blocking(2, False)",
    );
    let (_, said) = next(
        worker,
        "import os
print(os.listdir('/tmp'), os.listdir('/dev/shm'), sorted(os.listdir('/repo')))
print(open('/repo/a.py').read(), open('/repo/tests/b.py').read())
names = [open(f'/proc/{pid}/cmdline').read() for pid in os.listdir('/proc') if pid.isdigit()]
print(sum('600' in name for name in names), os.get_blocking(1), os.get_blocking(2))",
    );
    insta::assert_snapshot!(said, @"
    [] [] ['a.py', 'tests']
    A = 1
     B = 1

    0 True True
    ");
    assert!(fs::read_to_string(repository.path().join("a.py")).unwrap() == "A = 1\n");
}

#[test]
fn a_round_has_its_own_replaced_files_question_and_statement() {
    let repository = repository();
    let mut worker = worker(repository.path());
    for number in 0..3 {
        let mut run = fork_run("import os\nos.write(0, open('/repo/a.py', 'rb').read())");
        let content = format!("A = {number}");
        run.replaced = vec![Replaced {
            path: "a.py".into(),
            content: content.clone().into(),
        }];
        let (finished, same) = worker.run(run).unwrap();
        assert_eq!(finished.reply, content.as_bytes());
        assert_eq!(finished.changed, Vec::<PathBuf>::new());
        worker = same.unwrap();
    }
}

#[test]
fn what_a_round_changes_of_guarded_and_new_files_is_told() {
    let repository = repository();
    let changes = |code: &str| {
        let (finished, _) = worker(repository.path()).run(fork_run(code)).unwrap();
        assert_eq!(finished.end, End::Exited(0));
        finished.changed
    };
    let none: [&str; 0] = [];
    assert_eq!(
        changes("open('/repo/a.py', 'a').write('x')"),
        none.map(PathBuf::from)
    );
    assert_eq!(
        changes("open('/repo/tests/b.py', 'a').write('x')"),
        [PathBuf::from("/repo/tests/b.py")]
    );
    assert_eq!(
        changes("import shutil\nshutil.rmtree('/repo/tests')"),
        [PathBuf::from("/repo/tests/b.py")]
    );
    assert_eq!(
        changes("import os\nos.mkdir('/repo/n')\nopen('/repo/n/c.py', 'w')"),
        [PathBuf::from("/repo/n/c.py")]
    );
}

/// Changes everything that could outlive a program, of itself and of the processes that it was
/// started by, in ways that the kernel may refuse.
const LEAVES_BEHIND: &str = "
import ctypes, mmap, os, resource
libc = ctypes.CDLL(None, use_errno=True)
def attempt(call, *arguments):
    try:
        return call(*arguments)
    except OSError:
        return None
size = 64 << 20
memory = libc.shmget(0x5eed, size, 0o1666)
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(memory, None, 0)
if at not in (None, ctypes.c_void_p(-1).value):
    ctypes.memset(at, 1, size)
libc.semget(0x5eed, 3, 0o1666)
libc.msgget(0x5eed, 0o1666)
libc.mq_open(b'/seed', os.O_CREAT | os.O_RDWR, 0o666, None)
add_key, ioprio_set = (248, 251) if os.uname().machine == 'x86_64' else (217, 30)
for keyring in (-3, -4):  # the session's and the user's
    libc.syscall(add_key, b'user', b'seed', b'data', 4, keyring)
for folder in ('/tmp', '/dev/shm'):
    with open(folder + '/seed', 'wb') as file:
        attempt(file.write, bytes(size))
shared = mmap.mmap(-1, size)
shared.write(bytes(size))
for pid in (os.getppid(), 1, 0):
    attempt(os.setpriority, os.PRIO_PROCESS, pid, 7)
    attempt(os.sched_setaffinity, pid, {min(os.sched_getaffinity(0))})
    attempt(os.sched_setscheduler, pid, os.SCHED_BATCH, os.sched_param(0))
    libc.syscall(ioprio_set, 1, pid, 3 << 13)  # idle
    attempt(resource.prlimit, pid, resource.RLIMIT_NOFILE, (64, 64))
    attempt(lambda: open(f'/proc/{pid or os.getpid()}/oom_score_adj').read())
attempt(os.setpriority, os.PRIO_PGRP, os.getpgid(os.getppid()), 7)
attempt(os.setpriority, os.PRIO_USER, os.getuid(), 7)
";

/// Returns the items above that a program finds.
const FOUND: &str = "
import ctypes, os, resource
libc = ctypes.CDLL(None)
def lines(name):
    with open('/proc/sysvipc/' + name) as file:
        return len(file.readlines()) - 1
print([lines(name) for name in ('shm', 'sem', 'msg')])
print(libc.mq_open(b'/seed', os.O_RDWR))
request_key, ioprio_get = (249, 252) if os.uname().machine == 'x86_64' else (218, 31)
print(libc.syscall(request_key, b'user', b'seed', None, 0))
print([os.path.exists(folder + '/seed') for folder in ('/tmp', '/dev/shm')])
for pid in (os.getppid(), 1, 0):
    print(os.getpriority(os.PRIO_PROCESS, pid), len(os.sched_getaffinity(pid)))
    print(os.sched_getscheduler(pid), libc.syscall(ioprio_get, 1, pid))
print(resource.getrlimit(resource.RLIMIT_NOFILE))
";

#[test]
fn rounds_leave_neither_kernel_objects_nor_priorities() {
    let repository = repository();
    let fresh = said(&in_repository(repository.path(), python(FOUND)));
    assert!(
        fresh.starts_with("[0, 0, 0]\n-1\n-1\n[False, False]\n0 "),
        "{fresh}"
    );
    let (worker, before) = next(worker(repository.path()), FOUND);
    let (worker, _) = next(worker, LEAVES_BEHIND);
    let (_, after) = next(worker, FOUND);
    assert_eq!((&*after, &*before), (&*fresh, &*fresh));
    // A program of its own each time can leave nothing to the next either.
    said(&in_repository(repository.path(), python(LEAVES_BEHIND)));
    assert_eq!(
        said(&in_repository(repository.path(), python(FOUND))),
        fresh
    );
}

#[test]
fn rounds_number_their_processes_alike() {
    let repository = repository();
    let numbers = "import os
pid = os.fork() or os._exit(0)
os.waitpid(pid, 0)
print(os.getpid(), pid)";
    let (worker, first) = next(worker(repository.path()), numbers);
    let forks = "import os
for _ in range(40):
    os.waitpid(os.fork() or os._exit(0), 0)";
    let (worker, _) = next(worker, forks);
    let (_, after) = next(worker, numbers);
    assert_eq!(after, first);
}

/// The counters of a network can't be set back, so the next run would read them.
#[test]
fn a_round_that_moves_a_network_counter_is_its_workers_last() {
    let repository = repository();
    let (quiet, _) = next(worker(repository.path()), "print()");
    let datagram = "import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))";
    let (finished, fit) = quiet.run(fork_run(datagram)).unwrap();
    assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text());
    assert!(fit.is_none());
}

/// Toolchains are there if the home or the cache is in a temporary folder.
#[test]
fn binds_below_temporary_folders_are_in_every_round() {
    let (repository, kept) = (repository(), repository());
    let mut job = in_repository(repository.path(), python(WAITING));
    job.input = Some("go\n".into());
    job.binds.push(Bind::read_only(kept.path(), "/tmp/kept/it"));
    job.binds
        .push(Bind::read_only(kept.path().join("a.py"), "/dev/shm/a.py"));
    let mut worker = Worker::start(sandbox().executable, job).unwrap();
    let look = "import os
print(open('/tmp/kept/it/tests/b.py').read(), open('/dev/shm/a.py').read())
for path in ['/tmp/kept/it/x', '/dev/shm/a.py']:
    try: open(path, 'w')
    except OSError as error: print(error.strerror)
open('/tmp/kept/left', 'w')
print(sorted(os.listdir('/tmp/kept')))";
    for _ in 0..2 {
        let said;
        (worker, said) = next(worker, look);
        insta::allow_duplicates! {
            insta::assert_snapshot!(said, @r"
            B = 1
             A = 1

            Read-only file system
            Read-only file system
            ['it', 'left']
            ");
        }
    }
}

/// Each run leaves two thirds of the memory limit in files and shared mappings.
#[test]
fn rounds_are_charged_for_their_own_memory_alone() {
    let repository = repository();
    let mut job = in_repository(repository.path(), python(WAITING));
    job.input = Some("go\n".into());
    job.limits.memory = 288 << 20;
    let mut worker = Worker::start(sandbox().executable, job).unwrap();
    for _ in 0..4 {
        (worker, _) = next(worker, LEAVES_BEHIND);
    }
}

/// Ways to make files unreadable, and their visible results.
const UNREADABLE: [(&str, &[&str], &[&str]); 6] = [
    ("open(b'/repo/\\xff.py', 'w')", &["/repo/\\xff.py"], &[]),
    (
        // What supervises a run opens what the program has closed.
        "import os\nos.makedirs(b'/repo/\\xff')\nopen(b'/repo/\\xff/n.py', 'w')\nos.chmod(b'/repo/\\xff', 0)",
        &["/repo/\\xff/n.py"],
        &[],
    ),
    (
        "import os\nopen('/repo/c.py', 'w')\nos.chmod('/repo', 0)",
        &["/repo/c.py"],
        &[],
    ),
    ("import os\nos.chmod('/repo/tests', 0)", &[], &[]),
    (
        "import os, socket\nos.chdir('/repo')\nos.mkfifo('f')\n\
         socket.socket(socket.AF_UNIX).bind('s')\nos.symlink('l', 'l')",
        &["/repo/f", "/repo/l", "/repo/s"],
        &[],
    ),
    (
        "import os\nos.mkdir('/repo/n')\nos.chdir('/repo/n')\n\
         [open(str(i) + 'x' * 240, 'w').close() for i in range(20_000)]",
        &[],
        &["/repo"],
    ),
];

/// Paths with bytes escaped that are not ASCII.
fn escaped(paths: &[PathBuf]) -> Vec<String> {
    let bytes = paths.iter().map(|path| path.as_os_str().as_encoded_bytes());
    bytes
        .map(|bytes| bytes.escape_ascii().to_string())
        .collect()
}

#[test]
fn unreadable_files_and_names_that_are_not_text_are_listed() {
    let repository = repository();
    for (code, changed, unreadable) in UNREADABLE {
        let (warm, _) = worker(repository.path()).run(fork_run(code)).unwrap();
        let mut cold = in_repository(repository.path(), python(code));
        cold.overlays[0].guarded = vec!["tests/b.py".into()];
        for finished in [warm, run(&cold)] {
            assert_eq!(
                finished.end,
                End::Exited(0),
                "{code}: {}",
                finished.stderr.text()
            );
            assert_eq!(escaped(&finished.unreadable), unreadable, "{code}");
            if unreadable.is_empty() {
                assert_eq!(escaped(&finished.changed), changed, "{code}");
            }
        }
    }
}

#[test]
fn trees_deeper_than_a_path_can_be_are_listed() {
    let repository = repository();
    let code = "import os\nos.chdir('/repo')\n\
                for _ in range(60):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)";
    let finished = run(&in_repository(repository.path(), python(code)));
    assert_eq!(finished.end, End::Exited(0));
    assert_eq!(finished.unreadable.len(), 1);
}

#[test]
fn a_round_that_stops_the_waiting_program_and_floods_its_output_ends() {
    let repository = repository();
    let (finished, _) = worker(repository.path())
        .run(fork_run(
            "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n\
             while True: os.write(1, b'x' * 65536)",
        ))
        .unwrap();
    assert_eq!(finished.end, End::TooMuchOutput);
}

#[test]
fn a_round_that_hits_the_waiting_program_ends_the_worker_and_says_so() {
    let repository = repository();
    let (finished, worker) = worker(repository.path())
        .run(fork_run(
            "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)",
        ))
        .unwrap();
    assert_eq!(finished.end, End::Signalled(9));
    assert!(worker.is_none());
}

#[test]
fn the_waiting_program_is_closed_to_its_forks() {
    let repository = repository();
    let (_, said) = next(
        worker(repository.path()),
        "import os
def refused(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return 'open'
parent = os.getppid()
print(refused(lambda: open(f'/proc/{parent}/mem', 'rb')))
print(refused(lambda: os.readlink(f'/proc/{parent}/fd/0')))
import resource
print(refused(lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1))))
print(refused(lambda: open('/proc/1/mem', 'rb')))
print([line.split()[1] for line in open('/proc/self/status') if line.startswith(('CapEff', 'Seccomp:'))])
print(os.listdir('/hidden'), os.listdir('/staging'))
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.umount2(b'/hidden', 2), libc.umount2(b'/repo', 2), libc.unshare(0x10000000))",
    );
    insta::assert_snapshot!(said, @"
    PermissionError
    PermissionError
    PermissionError
    PermissionError
    ['0000000000000000', '2']
    [] []
    -1 -1 -1
    ");
}

#[test]
fn a_round_has_limits_of_its_own() {
    let repository = repository();
    let ends = |code: &str, wall| {
        let mut run = fork_run(code);
        run.wall = Duration::from_millis(wall);
        let (finished, worker) = worker(repository.path()).run(run).unwrap();
        (finished.end, worker.is_some())
    };
    assert_eq!(
        ends("import time\ntime.sleep(600)", 300),
        (End::TimedOut, false)
    );
    assert_eq!(
        ends("while True: print('x' * 100000)", 30_000),
        (End::TooMuchOutput, true)
    );
}

#[test]
fn output_without_end_in_one_round_does_not_disturb_the_next() {
    let repository = repository();
    let (finished, worker) = worker(repository.path())
        .run(fork_run("while True: print('x' * 100000)"))
        .unwrap();
    assert_eq!(finished.end, End::TooMuchOutput);
    let (_, said) = next(worker.unwrap(), "print('here')");
    assert_eq!(said, "here\n");
}

#[test]
fn a_program_that_is_not_fit_to_wait_says_why() {
    let mut job = python(WAITING);
    job.input = Some("stay\n".into());
    let error = Worker::start(sandbox().executable, job).unwrap_err();
    assert!(
        matches!(&error, SandboxError::Unfit { reason } if reason == "as the order says"),
        "{error:?}"
    );
}

#[test]
fn a_worker_that_is_let_go_leaves_nothing() {
    let marker = marker("worker");
    let mut job = python(&format!("# {marker}\n{WAITING}"));
    job.input = Some("go\n".into());
    drop(Worker::start(sandbox().executable, job).unwrap());
    assert_eq!(survivors(&marker), Vec::<String>::new());
}

/// A program that answers every line by itself, as the line requests.
const ANSWERING: &str = r#"
import sys, time
lines = iter(sys.stdin.buffer.readline, b"")
next(lines)
asked = 0
print("ready", file=(out := open(0, "w")), flush=True)
for line in lines:
    asked += 1
    if line == b"die\n":
        sys.exit(3)
    if line == b"sleep\n":
        time.sleep(600)
    print(asked, "x" * (10 << 20) if line == b"long\n" else line.decode().strip(), file=out, flush=True)
"#;

/// A program that answers, of which an answer may have this many bytes.
fn answering(most: u64) -> Worker {
    let mut job = python(ANSWERING);
    job.input = Some("go\n".into());
    job.limits.collect = most;
    Worker::start(sandbox().executable, job).unwrap()
}

const TIME_LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_program_that_is_kept_answers_lines_itself_and_goes_on() {
    let mut worker = answering(32 << 20);
    for (input, answer) in [("a", "1 a"), ("b", "2 b")] {
        let (finished, same) = worker.query(format!("{input}\n"), TIME_LIMIT).unwrap();
        assert_eq!(finished.end, End::Exited(0));
        assert_eq!(finished.reply, answer.as_bytes());
        worker = same.unwrap();
    }
    let (finished, worker) = worker.query("long\n".into(), TIME_LIMIT).unwrap();
    assert_eq!(finished.reply.len(), 2 + (10 << 20));
    assert!(worker.is_some());
}

#[test]
fn a_program_that_dies_says_too_much_or_nothing_is_not_asked_again() {
    let (finished, worker) = answering(1 << 20)
        .query("die\n".into(), TIME_LIMIT)
        .unwrap();
    assert!(finished.reply.is_empty() && finished.end != End::Exited(0));
    assert!(worker.is_none());

    let (finished, worker) = answering(1 << 20)
        .query("long\n".into(), TIME_LIMIT)
        .unwrap();
    assert!(finished.reply.is_empty() && finished.end != End::Exited(0));
    assert!(worker.is_none());

    let (finished, worker) = answering(1 << 20)
        .query("sleep\n".into(), Duration::from_millis(300))
        .unwrap();
    assert_eq!(finished.end, End::TimedOut);
    assert!(worker.is_none());
}

// Spares.

/// Starts a spare in this repository, the first of whose overlays has its tests guarded.
fn spare(repository: &Path, code: &str) -> Spare {
    let mut job = in_repository(repository, python(code));
    job.overlays[0].guarded = vec!["tests/b.py".into()];
    Spare::start(sandbox().executable, job).unwrap()
}

fn spare_run(replaced: &[(&str, &str)], input: &str) -> SpareRun {
    let replaced = replaced.iter().map(|(path, content)| Replaced {
        path: path.into(),
        content: content.as_bytes().to_vec(),
    });
    SpareRun {
        replaced: vec![replaced.collect()],
        input: input.to_owned(),
        wall: Duration::from_secs(5),
        cpu: Duration::from_secs(5),
    }
}

#[test]
fn marked_lines_of_a_reply_are_counted() {
    let code = "import os\n\
                for index in range(3): os.write(0, b'{\"mark\":1}\\n')\n\
                os.write(0, b'x' * 300 + b'\"mark\":\\nother\\n{\"mark\":')";
    let counter = Arc::default();
    let mut job = python(code);
    job.input = Some("go\n".into());
    let finished = sandbox().run_counting(&job, "\"mark\":", &counter).unwrap();
    assert_eq!(finished.end, End::Exited(0));
    // Neither what is deep in a line nor a part of one counts.
    assert_eq!(counter.load(Ordering::Relaxed), 3);
}

#[test]
fn a_spare_gets_its_files_and_its_input_when_it_runs() {
    let repository = repository();
    let closed = repository.path().join("a.py");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o444)).unwrap();
    let code = "
import os, socket
channel = socket.socket(fileno=0)
line = channel.recv(100).decode()
text = ''.join(open(path).read() for path in ('a.py', 'tests/b.py', 'new/c.py'))
open('made.py', 'w').close()
channel.send((line + text + oct(os.stat('a.py').st_mode & 0o777)).encode())
";
    let spare = spare(repository.path(), code);
    let files = [
        ("a.py", "A = 2\n"),
        ("tests/b.py", "B = 2\n"),
        ("new/c.py", "C = 2\n"),
    ];
    let finished = spare.run(spare_run(&files, "go\n")).unwrap();
    assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text());
    assert_eq!(
        String::from_utf8_lossy(&finished.reply),
        "go\nA = 2\nB = 2\nC = 2\n0o444"
    );
    // A replaced file does not count as changed.
    assert_eq!(finished.changed, [PathBuf::from("/repo/made.py")]);
    assert_eq!(fs::read_to_string(&closed).unwrap(), "A = 1\n");
}

#[test]
fn a_spares_limits_count_from_its_run_on() {
    let (repository, shared) = (repository(), tempfile::tempdir().unwrap());
    let code = "
import time
while time.process_time() < 1: pass
open('/shared/waiting', 'w').close()
input()
print('read')
";
    let mut job = in_repository(repository.path(), python(code));
    job.binds.push(Bind::writable(shared.path(), "/shared"));
    let started = Instant::now();
    let patient = Spare::start(sandbox().executable, job).unwrap();
    let mut run = spare_run(&[], "go\n");
    (run.wall, run.cpu) = (Duration::from_secs(4), Duration::from_millis(500));
    // Waits until the spare has exceeded both limits. Its program reports its processor time, so
    // that the test does not depend on the machine's load.
    while !shared.path().join("waiting").exists() || started.elapsed() < run.wall {
        assert!(started.elapsed() < TIME_LIMIT, "the spare does not wait");
        std::thread::sleep(Duration::from_millis(20));
    }
    let finished = patient.run(run.clone()).unwrap();
    assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text());
    assert_eq!(finished.stdout.text(), "read\n");
    let slow = spare(repository.path(), "import time; input(); time.sleep(600)");
    assert_eq!(slow.run(run.clone()).unwrap().end, End::TimedOut);
    run.wall = TIME_LIMIT;
    let busy = spare(repository.path(), "input()\nwhile True: pass");
    assert_eq!(busy.run(run).unwrap().end, End::OutOfProcessor);
}

#[test]
fn a_dropped_spare_leaves_nothing() {
    let marker = marker("spare");
    let mut job = shell(&format!("sleep 1000; : {marker}"));
    job.directory = "/".into();
    let unused = Spare::start(sandbox().executable, job).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while alive(&marker).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!alive(&marker).is_empty());
    drop(unused);
    assert_eq!(survivors(&marker), Vec::<String>::new());
}

#[test]
fn a_spare_that_cannot_start_says_why_when_it_is_to_run() {
    let unable = Spare::start(sandbox().executable, job("/no/such/program", &[])).unwrap();
    let error = unable.run(spare_run(&[], "")).unwrap_err();
    assert!(matches!(error, SandboxError::Program { .. }), "{error:?}");
}

/// Prints a checksum of each readable file under `/proc` and `/sys`, but for what the whole machine
/// moves and for what a process counts of itself while it reads, and the options of a new socket.
const READABLE: &str = "
import json, os, re, socket, zlib
# Moved by everybody on the machine.
machine = {'cpuinfo', 'loadavg', 'meminfo', 'diskstats', 'swaps', 'uptime', 'cgroups', 'irq', 'fs',
           'softnet_stat', 'protocols', 'sockstat', 'ptype', 'random', 'pressure', 'modules', 'driver'}
# Of the reading process: its times, memory and descriptors.
own = {'stat', 'sched', 'schedstat', 'io', 'status', 'statm', 'smaps', 'smaps_rollup', 'maps',
       'numa_maps', 'pagemap', 'mem', 'fd', 'fdinfo', 'map_files', 'task', 'root', 'cwd', 'exe', 'net',
       'timerslack_ns', 'wchan', 'stack', 'syscall', 'auxv', 'clear_refs', 'attr', 'ns', 'arch_status'}
# Numbers, and an order of lines, that are drawn for a worker and its sockets.
drawn = {'mountinfo', 'cgroup', 'autogroup', 'unix', 'netlink', 'ip_local_port_range'}
found = {}
def read(path):
    try:
        with open(path, 'rb') as file:
            # Buffered, since the kernel gives a long table in pieces.
            data = file.read(1 << 16)
        if os.path.basename(path) in drawn:
            data = re.sub(rb'[0-9a-f]*[0-9][0-9a-f]*', b'', data)
            data = b' '.join(sorted(data.splitlines()))
        found[path] = zlib.crc32(data)
    except OSError as error:
        found[path] = type(error).__name__
def walk(top, without):
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in without]
        for name in names:
            path = os.path.join(folder, name)
            if name not in without and not os.path.islink(path):
                read(path)
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for family in (socket.AF_UNIX, socket.AF_INET):
        for option in range(100):
            try:
                value = socket.socket(family, kind).getsockopt(socket.SOL_SOCKET, option, 64).hex()
            except OSError as error:
                value = error.errno
            found[f'option {option} of {family} {kind}'] = value
numbers = [name for name in os.listdir('/proc') if name.isdigit()]
found['numbers'] = sorted(map(int, numbers))
walk('/proc', machine | set(numbers))
walk('/sys', ())
# Its `stat` is of the machine too, and no mount can cover what every process's folder has.
walk(f'/proc/{os.getpid()}/net', machine | {'stat'})
walk(f'/proc/{os.getpid()}', own)
for pid in (1, os.getppid()):
    for name in ('stat', 'status', 'sched', 'schedstat', 'io', 'cmdline'):
        read(f'/proc/{pid}/{name}')
print(json.dumps(found))
";

/// Modules of the disturbances.
const IMPORTS: &str =
    "import ctypes, fcntl, mmap, os, resource, select, socket, subprocess, threading, time
libc = ctypes.CDLL(None)";

/// The kernel chooses an outgoing connection's port by a counter of the machine.
#[test]
fn every_network_has_ports_of_its_own() {
    let read = || {
        said(&python(
            "print(open('/proc/sys/net/ipv4/ip_local_port_range').read())",
        ))
    };
    let outside = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let numbers = |text: &str| -> Vec<u32> {
        let words = text.split_whitespace();
        words.map(|word| word.parse().unwrap()).collect()
    };
    let drawn: BTreeSet<Vec<u32>> = (0..3).map(|_| numbers(&read())).collect();
    // Where the file can't be written, all have the default.
    if !drawn.contains(&numbers(&outside)) {
        assert_eq!(drawn.len(), 3, "{drawn:?}");
        let is_usual = |range: &Vec<u32>| range[0] >= 32_768 && range[1] <= 60_999;
        assert!(drawn.iter().all(is_usual), "{drawn:?}");
    }
}

/// Actions of a run that something readable could count, one a line, as `NAME: CODE`.
const DISTURBANCES: &str = r#"
nothing: pass
datagrams: s = socket.socket(2, 2); s.bind(('127.0.0.1', 0)); [(s.sendto(b'x', s.getsockname()), s.recv(1)) for _ in range(7)]
datagrams of version 6: s = socket.socket(10, 2); s.bind(('::1', 0)); [(s.sendto(b'x', s.getsockname()), s.recv(1)) for _ in range(7)]
light datagrams: s = socket.socket(2, 2, 136); s.bind(('127.0.0.1', 0)); s.sendto(b'x', s.getsockname())
a datagram to nobody: socket.socket(2, 2).sendto(b'x', ('127.0.0.1', 9))
a connection: s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); s.accept()[0].send(b'x'); c.recv(1)
a refused connection: socket.create_connection(('127.0.0.1', 9))
a connection to no network: socket.create_connection(('192.0.2.1', 9), 1)
a listener that is left: os.fork() or (os.setsid(), socket.create_server(('127.0.0.1', 7777)), time.sleep(600))
an echo request: s = socket.socket(2, 2, 1); s.sendto(b'\x08\x00\x00\x00\x00\x00\x00\x01', ('127.0.0.1', 0))
socket pairs: pairs = [socket.socketpair() for _ in range(100)]
an abstract socket: s = socket.socket(1, 1); s.bind('\0left'); s.listen(); os.fork() or time.sleep(600)
a routing question: s = socket.socket(16, 3, 0); s.bind((0, 0))
processes: [os.waitpid(os.fork() or os._exit(0), 0) for _ in range(400)]
programs: [subprocess.run(['/bin/true']) for _ in range(20)]
threads: [threading.Thread(target=time.sleep, args=(0.01,)).start() for _ in range(100)]
orphans: [os.fork() or (os.fork() or time.sleep(600), os._exit(0)) for _ in range(20)]
a daemon: os.fork() or (os.setsid(), time.sleep(600))
a session: os.fork() or (os.setsid(), os._exit(0))
files: [open(f'/tmp/{n}', 'w').write('x' * 9999) for n in range(500)]
files in memory: [open(f'/dev/shm/{n}', 'w').write('x' * 9999) for n in range(500)]
files of the repository: [open(f'/repo/{n}', 'w').write('x' * 9999) for n in range(500)]
a removed repository: import shutil; shutil.rmtree('/repo', ignore_errors=True)
a held lock: f = open('/tmp/l', 'w'); fcntl.flock(f, 2); os.fork() or time.sleep(600)
a lock on a file of all: f = open('/repo/a.py', 'r'); fcntl.flock(f, 1); os.fork() or time.sleep(600)
a lease: f = open('/tmp/l', 'w'); fcntl.fcntl(f, 1024, 1); os.fork() or time.sleep(600)
pipes: pipes = [os.pipe() for _ in range(100)]; os.fork() or time.sleep(600)
a watch on files: n = libc.inotify_init(); libc.inotify_add_watch(n, b'/repo', 0xfff); os.fork() or time.sleep(600)
events: e = select.epoll(); libc.eventfd(0, 0); libc.timerfd_create(0, 0)
a file without name: libc.memfd_create(b'left', 0)
memory: m = mmap.mmap(-1, 64 << 20); m.write(bytes(64 << 20))
locked memory: libc.mlockall(3)
processor time: end = time.process_time() + 0.3; [None for _ in iter(lambda: time.process_time() < end, False)]
faults: [mmap.mmap(-1, 4096).write(b'x') for _ in range(5000)]
switches: [time.sleep(0) or os.sched_yield() for _ in range(5000)]
shared memory: libc.shmget(0x5eed, 4096, 0o1666)
a semaphore: libc.semget(0x5eed, 3, 0o1666)
a queue: libc.msgget(0x5eed, 0o1666)
a named queue: libc.mq_open(b'/left', os.O_CREAT | os.O_RDWR, 0o666, None)
a key: libc.syscall(248, b'user', b'left', b'data', 4, -4)
priority of the parent: os.setpriority(0, os.getppid(), 7)
processors of the parent: os.sched_setaffinity(os.getppid(), {0})
policy of the parent: os.sched_setscheduler(os.getppid(), 3, os.sched_param(0))
limits of the parent: resource.prlimit(os.getppid(), 7, (64, 64))
signals to the parent: os.kill(os.getppid(), 19); os.kill(os.getppid(), 18)
a name: libc.prctl(15, b'left', 0, 0, 0)
a terminal: os.openpty()
"#;

#[test]
fn a_round_reads_nothing_of_what_the_round_before_did() {
    let repository = repository();
    let round = |fit: Option<Worker>, code: &str| {
        fit.unwrap_or_else(|| worker(repository.path()))
            .run(fork_run(code))
            .unwrap()
    };
    let read = |fit: Option<Worker>| {
        let (finished, fit) = round(fit, READABLE);
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text());
        let found: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&finished.stdout.text()).unwrap();
        (found, fit)
    };
    let (first, mut fit) = read(None);
    assert!(first.len() > 100);
    let mut changed = Vec::new();
    for line in DISTURBANCES.trim().lines() {
        let (name, code) = line.split_once(": ").unwrap();
        let code = format!("{IMPORTS}\ntry: {code}\nexcept OSError: pass");
        (_, fit) = round(fit, &code);
        let found;
        (found, fit) = read(fit);
        let names = first.keys().chain(found.keys()).collect::<BTreeSet<_>>();
        let differ = names
            .into_iter()
            .filter(|name| first.get(*name) != found.get(*name));
        changed.extend(differ.map(|path| format!("{name}: {path}")));
    }
    assert_eq!(changed, Vec::<String>::new());
}
