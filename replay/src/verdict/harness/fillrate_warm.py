"""A Python that has loaded what tests need and forks a pytest for each run.

Standard input is a socket.  The first line that comes is a JSON object:

``modules``
    The names of modules to load: third-party ones and the standard library's.
``sources``
    The project's files that its tests load, and for each whether pytest
    rewrites its assertions.
``arguments``
    pytest's arguments, the same for every run.
``plain_names``
    Whether a test's id says what it stands in, see fillrate_harness.
``directory``
    The repository's root.  It holds the unchanged project now and is another
    for every run.

It says ``ready`` or ``unfit REASON``.  Every byte that comes then brings three
descriptors along, the standard streams of a fork; when the fork is dead, its
wait status goes back as a line.
"""

import ast
import atexit
import ctypes
import functools
import gc
import importlib
import importlib.machinery
import json
import os
import runpy
import socket
import sys
import threading
from pathlib import Path

import fillrate_harness
from _pytest import config
from _pytest.assertion import rewrite

#: prctl(2): whether this process can be traced and its memory opened.
PR_SET_DUMPABLE = 4
#: What is below these belongs to a run: nothing of it may be remembered.
FLEETING = ("/box/repo", "/tmp")


def load(names):
    """Import what can be imported; a run would find out about the rest."""
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException:
            continue


class Compiled:
    """Code of the project's files, by file name and the whole text.

    A file whose text differs in a single byte is compiled in the run that
    meets it: nothing is told by times or sizes, as it is with bytecode files.
    """

    def __init__(self):
        """Know nothing yet."""
        self.plain = {}
        self.rewritten = {}

    def compile(self, path, rewritten):
        """Compile a file as an import, or pytest, would."""
        try:
            text = Path(path).read_bytes()
            if rewritten:
                tree = ast.parse(text, filename=path)
                rewrite.rewrite_asserts(tree, text, path, None)
                self.rewritten[path, text] = compile(tree, path, "exec", dont_inherit=True)
            else:
                self.plain[path, text] = compile(text, path, "exec", dont_inherit=True)
        except Exception:
            # A run that needs it will say what is wrong with it.
            return

    def install(self):
        """Let imports, and pytest, look here first."""
        loader = importlib.machinery.SourceFileLoader
        to_code = loader.source_to_code

        def source_to_code(self_, data, path, *, _optimize=-1):
            known = self.plain.get((path, bytes(data)))
            return known or to_code(self_, data, path, _optimize=_optimize)

        loader.source_to_code = source_to_code
        if not hasattr(rewrite, "_rewrite_test"):
            return
        rewrite_test = rewrite._rewrite_test

        def cached(path, settings):
            # With this setting, pytest writes more into the code.
            if settings.getini("enable_assertion_pass_hook"):
                return rewrite_test(path, settings)
            known = self.rewritten.get((str(path), path.read_bytes()))
            return (path.stat(), known) if known else rewrite_test(path, settings)

        rewrite._rewrite_test = cached


def unfit():
    """Say why this process must not be forked, if so."""
    tasks = len(os.listdir("/proc/self/task"))
    if tasks > 1:
        return f"{tasks - 1} threads run as soon as its packages are loaded"
    return None


def run(arguments, directory):
    """Be what ``python -m pytest`` is, in the repository."""
    os.setpgid(0, 0)
    os.chdir(directory)
    for path in list(sys.path_importer_cache):
        if path.startswith(FLEETING):
            del sys.path_importer_cache[path]
    importlib.invalidate_caches()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    sys.path[0] = directory
    sys.argv = ["pytest", *arguments]
    try:
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, int):
            leave(end.code)
        raise


def leave(status):
    """End as the interpreter does, but without taking everything apart first.

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


def prepare(arguments, directory):
    """Make what pytest begins with, before the project has any part in it."""
    os.chdir(directory)
    make = config.get_config
    made = [make(list(arguments), None)]
    os.chdir("/")

    def get_config(args=None, plugins=None, **others):
        if made and list(args or ()) == arguments and not plugins and not others:
            return made.pop()
        return make(args, plugins, **others)

    config.get_config = functools.wraps(make)(get_config)


def main():
    """Load, then fork a run for each byte that comes."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    orders = socket.socket(fileno=os.dup(0))
    line = b""
    while not line.endswith(b"\n"):
        line += orders.recv(1 << 16)
    task = json.loads(line)
    load(task["modules"])
    compiled = Compiled()
    for name, rewritten in task["sources"].items():
        compiled.compile(os.path.join(task["directory"], name), rewritten)
    compiled.install()
    prepare(task["arguments"], task["directory"])
    fillrate_harness.PLAIN_NAMES = task["plain_names"]
    fillrate_harness.choose_methods()
    reason = unfit()
    if reason:
        orders.sendall(f"unfit {reason}\n".encode())
        return
    fillrate_harness.SEALED = fillrate_harness.Seal()
    # What exists now is never looked at again, so that forks go on sharing it.
    gc.collect()
    gc.freeze()
    orders.sendall(b"ready\n")
    while True:
        byte, streams, _, _ = socket.recv_fds(orders, 1, 3)
        if not byte:
            return
        child = os.fork()
        if child == 0:
            orders.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
            run(task["arguments"], task["directory"])
            return
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        orders.sendall(b"%d\n" % status)


if __name__ == "__main__":
    main()
