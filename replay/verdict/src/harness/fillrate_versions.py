"""Runs tests on one version of a file after the other, each in a fork.

The process that forks is itself a fork of a warm worker that has collected all
tests, see ``fillrate_warm``, and is there for this run alone.  The versions were
made to be judged, such as mutants, and are not hostile: they share a sandbox.

The instructions have the member ``versions``, a list of objects:

``nonce``
    Repeated in every line of the report on this version.
``contents``
    The file's text.
``groups``
    The selected tests in the groups in which they run, as lists of their indices.
    Of several groups the first runs in its order, the others in that of the files.
``seconds``
    How long the tests may take.

The last line on each version is ``exited``, with the ``status`` of the fork, or
null if it was killed, and the ``seconds`` that it took.  A version that leaves
anything behind, a process or a file of the repository, is the last: the others
need another run.
"""

import os
import shutil
import signal
import time

import fillrate_report

#: Folders that begin empty in every run.
SCRATCH = ("/tmp", "/dev/shm")


class Versions:
    """The versions of a file and the state of the sandbox before the first of them."""

    def __init__(self, instructions, descriptor, path, files):
        """Keep the instructions; ``files`` lists the repository's with their times."""
        self.versions = instructions.pop("versions")
        self.instructions = instructions
        self.descriptor = descriptor
        self.path = path
        self.files = files
        self.before = self.state()

    def run(self):
        """Fork for each version; return its instructions in the fork, and never here."""
        # `sigtimedwait` receives only a signal that is blocked.
        watched = {signal.SIGCHLD}
        signal.pthread_sigmask(signal.SIG_BLOCK, watched)
        for version in self.versions:
            started = time.monotonic()
            child = os.fork()
            if child == 0:
                os.setpgid(0, 0)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, watched)
                return self.begin(version)
            status = wait(child, started + version["seconds"])
            seconds = time.monotonic() - started
            report = fillrate_report.Report(self.descriptor, version["nonce"], "")
            report.write("exited", status=status, seconds=seconds)
            if not self.clean():
                break
        os._exit(0)

    def begin(self, version):
        """Put a version in place; return the instructions of its run."""
        with open(self.path, "wb") as file:
            file.write(version["contents"].encode())
        select = self.instructions["select"]
        ranks = {}
        groups = version["groups"]
        for rank, group in enumerate(groups):
            in_order = rank == 0 and len(groups) > 1
            for place, index in enumerate(group):
                ranks[select[index]] = (rank, place if in_order else 0)
        return {**self.instructions, "nonce": version["nonce"], "ranks": ranks}

    def state(self):
        """Return what must be the same before each version."""
        files = self.files()
        # The file differs in every version.
        files.pop(self.path, None)
        processes = {name for name in os.listdir("/proc") if name.isdigit()}
        return files, processes

    def clean(self):
        """Empty the folders of temporary files; return whether nothing else is left."""
        for folder in SCRATCH:
            for entry in os.scandir(folder):
                if entry.path in self.before[0]:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
        return self.state() == self.before


def wait(child, deadline):
    """Wait for a fork; return its exit status, or None if it was killed."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        left = deadline - time.monotonic()
        if left <= 0:
            break
        signal.sigtimedwait({signal.SIGCHLD}, left)
    # The fork may not have made its group yet.
    for kill, target in ((os.killpg, child), (os.kill, child)):
        try:
            kill(target, signal.SIGKILL)
        except ProcessLookupError:
            continue
    os.waitpid(child, 0)
    return None
