"""A warm worker: a Python that has loaded what tests need and forks for each run.

It loads the libraries, and each fork starts a pytest of its own; or it also runs
pytest until the project's tests are collected, and each fork puts the changed
file's functions in place (see ``fillrate_swap``) and runs the tests.  The first
supports every change, the second is faster.

Standard input is a socket.  The first line is a JSON object:

``modules``
    The names of modules to load: third-party ones and the standard library's.
``sources``
    The project's files that its tests load, and for each whether pytest
    rewrites its assertions.
``arguments``
    pytest's arguments, the same for every run.
``plain_names``
    Whether a test's id is its parent's id and then its own name.
``directory``
    The repository's root.  It holds the unchanged project now and a different
    copy for every run.
``read``
    The project's files that are read during collection, and not only imported.
``collected``
    Whether forks start after the tests are collected.

It answers ``ready`` or ``unfit REASON``.  Every byte that follows comes with three
descriptors, the standard streams of a fork; when the fork is dead, its wait
status goes back as a line.
"""

import ast
import atexit
import ctypes
import functools
import gc
import hashlib
import importlib
import importlib.machinery
import json
import marshal
import os
import random
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

import fillrate_harness
import fillrate_swap
import fillrate_versions
from _pytest import config
from _pytest.assertion import rewrite

#: prctl(2): whether this process can be traced and its memory opened.
PR_SET_DUMPABLE = 4
#: Folders whose contents belong to one run and must not be cached.
TEMPORARY = ("/box/repo", "/tmp")


def load(names, directory):
    """Import what can be imported; a run would report the rest.

    What imports the project is left to each run.
    """
    keeper = ProjectKeeper(directory)
    sys.meta_path.insert(0, keeper)
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException:
            pass
        # A package that failed to import the project is loaded only in part: each run loads it
        # anew.
        for importer in keeper.take_importers():
            for known in [known for known in sys.modules if is_within(known, importer)]:
                del sys.modules[known]
    sys.meta_path.remove(keeper)


def is_within(name, package):
    """Return whether a module is this package or within it."""
    return name == package or name.startswith(f"{package}.")


class ProjectKeeper:
    """Keeps the project's code out of this process while packages are loaded.

    Forks would run it as it was, and could read there what was in a hole.  Some packages import
    a project whose tests use them, as bs4 imports soupsieve.
    """

    def __init__(self, directory):
        """Keep out what is in this folder."""
        self.inside = os.path.join(directory, "")
        self.importers = set()

    def find_spec(self, name, path=None, target=None):
        """Refuse a module of the project; others are found as ever."""
        if not self.leads_inside(sys.path if path is None else path):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if not spec or not self.leads_inside([spec.origin, *(spec.submodule_search_locations or [])]):
            return None
        # Every package on the stack, up to the one that is loaded, was importing this module.
        frame = sys._getframe(1)
        while frame and frame.f_code is not load.__code__:
            self.importers.add(str(frame.f_globals.get("__name__")).split(".")[0])
            frame = frame.f_back
        raise ModuleNotFoundError(f"{name} is the project's", name=name)

    def leads_inside(self, places):
        """Return whether one of these is in the project."""
        return any(os.path.join(str(place), "").startswith(self.inside) for place in places)

    def take_importers(self):
        """Return the packages that were importing what was refused since."""
        taken, self.importers = self.importers - {"importlib"}, set()
        return taken


class Compiled:
    """Compiled code of the project's files, by file name, with a digest of the whole text.

    A file whose text differs in a single byte is compiled again in the run:
    unlike with bytecode files, times and sizes don't matter.

    No text is read into this process in a way that leaves it there: what is freed
    keeps its contents, and a fork can look through its own memory.  Code is kept as
    bytes that a fork wipes before any code of the project runs in it.
    """

    def __init__(self, directory, sources, imports):
        """Compile these files, which pytest rewrites or not.

        ``imports`` records the code that each import gets.
        """
        self.imports = imports
        self.plain = {}
        self.rewritten = {}
        paths = {os.path.join(directory, name): sources[name] for name in sources}
        for path, code in compile_elsewhere(paths).items():
            known = self.rewritten if paths[path] else self.plain
            known[path] = (digest(path), code)

    def forget(self, paths):
        """Drop what was compiled of these files: it would show what was in a hole."""
        for path in paths:
            for compiled in (self.plain, self.rewritten):
                if known := compiled.pop(path, None):
                    known[1][:] = bytes(len(known[1]))

    def install(self):
        """Make imports, and pytest, look here first."""
        loader = importlib.machinery.SourceFileLoader
        from_file = loader.get_code

        def get_code(self_, fullname):
            path = self_.get_filename(fullname)
            known = look_up(self.plain, path)
            if known is None:
                return from_file(self_, fullname)
            self.imports.record_code(path, known)
            return known

        loader.get_code = get_code
        if not hasattr(rewrite, "_rewrite_test"):
            return
        rewrite_test = rewrite._rewrite_test

        def cached(path, settings):
            # With this setting, pytest writes more into the code.
            if settings.getini("enable_assertion_pass_hook"):
                return rewrite_test(path, settings)
            known = look_up(self.rewritten, str(path))
            return (path.stat(), known) if known else rewrite_test(path, settings)

        rewrite._rewrite_test = cached


def compile_elsewhere(paths):
    """Compile files in a process of its own, whose memory ends with it.

    ``paths`` says of each whether pytest rewrites it.  Returns the code of each as
    bytes.  Those that don't compile are left out: a run that needs one reports what
    is wrong with it.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            for number, (path, rewritten) in enumerate(paths.items()):
                try:
                    code = marshal.dumps(compile_file(path, rewritten))
                except Exception:
                    continue
                pipe.write(b"%d %d\n" % (number, len(code)))
                pipe.write(code)
        os._exit(0)
    os.close(writer)
    names = list(paths)
    compiled = {}
    # Unbuffered, so that no copy of the code is left in a buffer.
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while line := pipe.readline():
            number, length = map(int, line.split())
            code = bytearray(length)
            view = memoryview(code)
            while len(view) and (read := pipe.readinto(view)):
                view = view[read:]
            compiled[names[number]] = code
    os.waitpid(child, 0)
    return compiled


def compile_file(path, rewritten):
    """Compile a file as an import, or pytest, would."""
    text = Path(path).read_bytes()
    if not rewritten:
        return compile(text, path, "exec", dont_inherit=True)
    tree = ast.parse(text, filename=path)
    rewrite.rewrite_asserts(tree, text, path, None)
    return compile(tree, path, "exec", dont_inherit=True)


def digest(path):
    """Return what stands for a file's text, through a buffer that is wiped."""
    found = hashlib.sha256()
    buffer = bytearray(1 << 16)
    view = memoryview(buffer)
    with open(path, "rb", buffering=0) as file:
        while length := file.readinto(buffer):
            found.update(view[:length])
    view[:] = bytes(len(buffer))
    return found.digest()


def look_up(compiled, path):
    """Return the code of a file as it is now, or None."""
    known = compiled.get(path)
    try:
        return marshal.loads(known[1]) if known and known[0] == digest(path) else None
    except OSError:
        return None


def unfit():
    """Return why this process must not be forked, if so."""
    tasks = len(os.listdir("/proc/self/task"))
    if tasks > 1:
        return f"{tasks - 1} threads run as soon as its packages are loaded"
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        if any(line.split(" ", 2)[1].startswith("rw-s") for line in maps):
            return "it shares writable memory with its forks"
    return None


class ForkServer:
    """Forks a process for each run that the socket requests."""

    def __init__(self):
        """Take the socket from standard input, and read its first line."""
        self.socket = socket.socket(fileno=os.dup(0))
        # With a copy of the socket, as pytest keeps of standard input, a fork could
        # write in the name of this process.
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        line = b""
        while not line.endswith(b"\n"):
            line += self.socket.recv(1 << 16)
        self.task = json.loads(line)
        self.libc = ctypes.CDLL(None)
        # Otherwise a fork could trace this process, or read its memory.
        self.libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)

    def refuse(self, reason):
        """Report that this process can't be forked, and end it."""
        self.socket.sendall(f"unfit {reason}\n".encode())
        os._exit(0)

    def fork(self):
        """Fork for each request; return the standard streams, in the fork."""
        # The collector never visits what exists now, so that forks go on sharing it.
        gc.collect()
        gc.freeze()
        self.socket.sendall(b"ready\n")
        while True:
            byte, streams, _, _ = socket.recv_fds(self.socket, 1, 3)
            if not byte:
                os._exit(0)
            child = os.fork()
            if child == 0:
                self.socket.close()
                self.libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
                os.setpgid(0, 0)
                self.enter_repository()
                return streams
            for stream in streams:
                os.close(stream)
            _, status = os.waitpid(child, 0)
            self.socket.sendall(b"%d\n" % status)

    def enter_repository(self):
        """Change to the repository of this run, and clear caches of other folders."""
        os.chdir(self.task["directory"])
        for path in list(sys.path_importer_cache):
            if path.startswith(TEMPORARY):
                del sys.path_importer_cache[path]
        importlib.invalidate_caches()


def use_streams(streams):
    """Make these the standard streams."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)


def restart_clock(config):
    """Count the time that pytest prints at its end from now, and not from before the fork."""
    terminal = config.pluginmanager.getplugin("terminalreporter")
    # pytest 8.4 has another attribute than those before it.
    if hasattr(terminal, "_session_start"):
        terminal._session_start = type(terminal._session_start)()
    elif hasattr(terminal, "_sessionstarttime"):
        terminal._sessionstarttime = time.time()


def shuffle():
    """Reseed NumPy's random numbers in each fork, as Python reseeds its own."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def exit_quickly(status):
    """End as the interpreter does, but without freeing all objects.

    That takes as long as some tests do.  See Py_FinalizeEx,
    https://docs.python.org/3/c-api/init.html#c.Py_FinalizeEx.
    """
    try:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status & 0xFF)


def run(arguments, directory, end=exit_quickly):
    """Run pytest in the repository, and ``end`` with its status."""
    try:
        fillrate_harness.run(arguments, directory)
    except SystemExit as exit:
        if isinstance(exit.code, int):
            end(exit.code)
        raise


def prepare(arguments, directory):
    """Create pytest's configuration before any code of the project runs."""
    os.chdir(directory)
    make = config.get_config
    made = [make(list(arguments), None)]
    os.chdir("/")

    def get_config(args=None, plugins=None, **others):
        if made and list(args or ()) == arguments and not plugins and not others:
            return made.pop()
        return make(args, plugins, **others)

    config.get_config = functools.wraps(make)(get_config)


class Collected:
    """A pytest that is forked when it has collected all tests."""

    def __init__(self, server, imports):
        """Record the files and streams before any code of the project runs."""
        self.server = server
        self.imports = imports
        self.owner = os.getpid()
        self.streams = [os.readlink(f"/proc/self/fd/{number}") for number in range(3)]
        self.before = self.written()

    def written(self):
        """List the writable files, with their times and sizes."""
        found = {}
        for top in (self.server.task["directory"], "/tmp", "/dev/shm"):
            for folder, _, names in os.walk(top):
                for name in names:
                    path = os.path.join(folder, name)
                    status = os.lstat(path)
                    found[path] = (status.st_mtime_ns, status.st_size)
                found[folder] = None
        return found

    def run(self):
        """Collect and fork; end each fork as pytest ends."""
        fillrate_harness.WAIT = self.wait
        os.chdir(self.server.task["directory"])
        self.imports.begin()
        run(self.server.task["arguments"], self.server.task["directory"], self.end)

    def end(self, status):
        """End a fork; in the process to be forked, pytest has given up too early."""
        if os.getpid() == self.owner:
            self.server.refuse("its tests can't be collected")
        exit_quickly(status)

    def wait(self, config):
        """Fork; then read the instructions, and swap the changed files' functions.

        Return the instructions, the report's descriptor, and whether that worked.
        """
        alone = self.imports.end()
        capture = config.pluginmanager.getplugin("capturemanager")
        captures = captures_of(capture)
        reason = unfit() or self.unfit(captures)
        if not alone:
            reason = "it sets a profile function itself"
        if reason:
            self.server.refuse(reason)
        state = random.getstate()
        sys.stdout.flush()
        sys.stderr.flush()
        os.chdir("/")
        streams = self.server.fork()
        for stream, captured in captures:
            os.dup2(streams[stream], captured.targetfd_save, inheritable=False)
        use_streams(streams)
        restart_clock(config)
        instructions, descriptor = fillrate_harness.read_instructions()
        root = os.path.join(self.server.task["directory"], "")
        changed = [root + name for name in instructions["changed"]]
        own = "versions" in instructions
        if own:
            versions = fillrate_versions.Versions(
                instructions, descriptor, changed[0], self.written
            )
            instructions = versions.run()
        if self.imports.seeded:
            random.setstate(state)
        else:
            shuffle()
        for _, captured in captures:
            # Nothing that a fork writes may be visible to the next one.
            captured.tmpfile.seek(0)
            with tempfile.TemporaryFile() as fresh:
                os.dup2(fresh.fileno(), captured.tmpfile.fileno(), inheritable=False)
        # A new file may hold tests, or shadow another file.
        fits = all(path in self.before and self.imports.swap(path) for path in changed)
        if not own:
            self.imports.forget()
            fillrate_harness.FORGET(instructions["changed"])
        return instructions, descriptor, fits

    def unfit(self, captures):
        """Return why a fork would differ from a process that collects the tests itself."""
        try:
            os.waitpid(-1, os.WNOHANG)
            return "other processes run once its tests are collected"
        except ChildProcessError:
            pass
        own = {self.server.socket.fileno(), 0, 1, 2}
        for _, captured in captures:
            own |= {captured.targetfd_save, captured.tmpfile.fileno()}
        for number in map(int, os.listdir("/proc/self/fd")):
            try:
                target = os.readlink(f"/proc/self/fd/{number}")
            except OSError:
                # The descriptor that the list was read with.
                continue
            known = (*self.streams, "/dev/null", "/dev/urandom")
            if number not in own and target not in known:
                return f"{target} is open once its tests are collected"
        now = self.written()
        for path in now.keys() | self.before.keys():
            if now.get(path, 0) != self.before.get(path, 0):
                return f"{path} is made or changed when its tests are collected"
        return None


def captures_of(manager):
    """Return the objects with which pytest captures descriptors 1 and 2.

    It may capture only what Python's own streams write, in memory, or nothing.
    """
    capturing = getattr(manager, "_global_capturing", None)
    captures = [(1, getattr(capturing, "out", None)), (2, getattr(capturing, "err", None))]
    return [pair for pair in captures if hasattr(pair[1], "targetfd_save")]


def main():
    """Load, then fork a run for each request."""
    server = ForkServer()
    task = server.task
    load(task["modules"], task["directory"])
    imports = fillrate_swap.Imports(task["directory"], task["read"])
    compiled = Compiled(task["directory"], task["sources"], imports)
    compiled.install()
    root = os.path.join(task["directory"], "")
    fillrate_harness.FORGET = lambda changed: compiled.forget(root + name for name in changed)
    if not task["collected"]:
        prepare(task["arguments"], task["directory"])
    fillrate_harness.PLAIN_NAMES = task["plain_names"]
    fillrate_harness.limit_methods()
    fillrate_harness.use_native_tracebacks()
    reason = unfit()
    if reason:
        server.refuse(reason)
    fillrate_harness.SNAPSHOT = fillrate_harness.Snapshot()
    if task["collected"]:
        Collected(server, imports).run()
        return
    use_streams(server.fork())
    shuffle()
    run(task["arguments"], task["directory"])


if __name__ == "__main__":
    main()
