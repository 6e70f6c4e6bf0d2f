"""Code that Python's harnesses share: instructions, report, snapshots, coverage.

Standard input is a socket.  Its first line holds the instructions, a JSON object:

``nonce``
    Repeated in every line of the report.  Code under test runs in this process,
    but is loaded only after the nonce was read.
``token``
    Part of every sentinel's failure message.
``select``
    The list of node ids to run, or null: all tests run.
``coverage``
    The list of repository-relative files whose lines are recorded by test, or
    null: nothing is recorded.
``first_failure_ends``
    Whether the first failed test ends the run.
``test_seconds``
    The time after which a test ends the run, or null; observed under pytest.
``changed``
    The list of repository-relative files that differ from the project's own.
``versions``, ``ranks``
    See ``fillrate_versions``.

The report goes back through the socket, one JSON object a line (``event``):
``test``, ``sentinel``, ``collect_error``, ``coverage``, ``harness_error`` and,
last, ``end``.  A run without an ``end`` line is incomplete, whatever its exit
status.  An error of the harness itself ends the process at once with status 70,
so that it never counts as a test's result.

A snapshot detects whether functions that decide over tests were replaced.
Nothing here depends on a test framework but Python's own.
"""

import contextlib
import functools
import json
import operator
import os
import select
import signal
import socket
import sys
import threading
import traceback
import types
import unittest.case
import warnings

#: unittest and pytest leave this file's frames out of a failure's traceback.
__unittest = True
#: Exit status after an error of the harness; pytest itself uses 0 to 5.
HARNESS_BROKEN = 70
#: How much of a failure's message is kept, in characters.
MESSAGE_LIMIT = 4000
#: Coverage context of whatever runs between two tests; it is not reported.
BETWEEN_TESTS = "\0between"


def encoded(value, quoted=json.encoder.encode_basestring_ascii):
    """Return plain data as JSON.

    Code under test could replace what the json module calls, and would see the nonce.
    """
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{quoted(k)}:{encoded(v)}" for k, v in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([encoded(part) for part in value]) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


class Report:
    """The socket that JSON lines are written to."""

    def __init__(self, descriptor, nonce, root):
        """Keep the socket; each line is one unbuffered write."""
        self.descriptor = descriptor
        self.nonce = nonce
        self.owner = os.getpid()
        self.prefix = os.path.join(root, "")

    def write(self, event, pid=os.getpid, send=os.write, **fields):
        """Append one line, unless a test has forked this process."""
        if pid() != self.owner:
            return
        line = encoded({"event": event, "nonce": self.nonce, **fields})
        left = (line + "\n").encode("ascii")
        while left:
            left = left[send(self.descriptor, left) :]

    def message(self, text):
        """Make paths relative to the repository; remove the middle of a long text.

        The end of a traceback has the exception.
        """
        text = text.replace(self.prefix, "")
        if len(text) <= MESSAGE_LIMIT:
            return text
        start = MESSAGE_LIMIT // 4
        return text[:start] + "\n...\n" + text[-(MESSAGE_LIMIT - start) :]


class TestWatch:
    """A process that ends the run of a test that does not end, and reports its name.

    A thread could not do this: it would make forks of the tests unsafe, of which Python 3.12 warns.
    Nor could an alarm, which tests may use themselves.
    """

    def __init__(self, report, seconds):
        """Start the process.  It is nobody's child, so that no test waits for it."""
        reader, self.pipe = os.pipe()
        main = os.getpid()
        child = os.fork()
        if child == 0:
            if os.fork() == 0:
                os.close(self.pipe)
                self.watch(reader, main, report, seconds)
            os._exit(0)
        os.close(reader)
        os.waitpid(child, 0)

    @staticmethod
    def watch(reader, main, report, seconds):
        """Read the name of each test that starts, until the run or a test takes too long."""
        name = b""
        while True:
            ready, _, _ = select.select([reader], [], [], seconds if name else None)
            if ready:
                names = os.read(reader, 1 << 16)
                if not names:
                    return
                # A read may end within a name, which the next one completes.
                name = (name + names).split(b"\0")[-1]
                continue
            # `write` ignores every process but the owner.
            report.owner = os.getpid()
            message = f"it does not end within {seconds} s"
            report.write("collect_error", id=name.decode(), message=message)
            os.kill(main, signal.SIGKILL)
            return

    def starts(self, name):
        """Say which test runs from now on; an empty name is none."""
        # The process may be gone, with all others that a test has killed.
        with contextlib.suppress(OSError):
            os.write(self.pipe, b"\0" + name.encode())


class RefusedError(Exception):
    """The project's tests can't be run so that they decide."""


def abort(report, error):
    """End the process because the harness itself failed, or refuses the project.

    An exception is no way to do this: pytest turns one raised in a hook into a
    test's failure or into a warning, depending on the hook.
    """
    text = str(error)
    if not isinstance(error, RefusedError):
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        sys.__stderr__.write(text)
        sys.__stderr__.flush()
        if report is not None:
            report.write("harness_error", message=report.message(text))
    finally:
        os._exit(HARNESS_BROKEN)


def guarded(method):
    """Decorate a method of the plugin so that its own error ends the run."""

    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            return abort(self.report, error)

    return wrapper


def is_syntax_error(error):
    """Return whether a SyntaxError is the exception or anywhere among its causes.

    pytest wraps what an import raises: a CollectError has the original as its
    cause, a ConftestImportFailure (pytest 7) has it in ``excinfo``.
    """
    pending, seen = [error], set()
    while pending:
        error = pending.pop()
        if not isinstance(error, BaseException) or id(error) in seen:
            continue
        seen.add(id(error))
        # Before Python 3.12 a NUL in the source was a plain ValueError.
        if isinstance(error, SyntaxError) or "null bytes" in str(error):
            return True
        pending += [error.__cause__, error.__context__]
        excinfo = getattr(error, "excinfo", None)
        if isinstance(excinfo, tuple):
            pending.append(excinfo[1])
    return False


class Snapshot:
    """The functions of modules at one time, to detect those replaced later."""

    #: Modules that decide over every test; checked after each one.
    DECIDING = ()

    def __init__(self):
        """Take a snapshot of all loaded modules."""
        self.modules = {}
        self.added = []
        self.quick = None
        self.extend(lambda name, module: True)
        self.begin()

    def begin(self):
        """Count import hooks and threads from now on."""
        self.finders = [list(sys.meta_path), list(sys.path_hooks)]
        self.threads = StartedThreads()

    def extend(self, wanted):
        """Add the modules that were loaded since."""
        self.added = []
        for name, module in list(sys.modules.items()):
            if isinstance(module, types.ModuleType) and name not in self.modules:
                if wanted(name, module):
                    self.modules[name] = (module, list(snapshot_parts(module)))
                    self.added.append(name)
        self.quick = None

    def refresh(self):
        """Take the snapshot of the modules of the last extension again.

        They may hold functions of the project, whose code was replaced since.
        """
        for name in self.added:
            module, _ = self.modules[name]
            self.modules[name] = (module, list(snapshot_parts(module)))
        self.quick = None

    def broken(self, names):
        """Yield the names of functions that were replaced or removed."""
        for name in names:
            if name not in self.modules:
                continue
            module, parts = self.modules[name]
            if sys.modules.get(name) is not module:
                yield name
                continue
            for part in parts:
                yield from part.broken(name)

    def deciding(self):
        """List what was replaced of the modules that decide.

        This runs after every test, so that it must be fast.
        """
        if self.quick is None:
            known = [name for name in self.DECIDING if name in self.modules]
            self.quick = [(name, *self.modules[name]) for name in known]
        for name, module, parts in self.quick:
            if sys.modules.get(name) is not module:
                return list(self.broken(self.DECIDING))
            for part in parts:
                if not part.holds():
                    return list(self.broken(self.DECIDING))
        return []

    def marks(self):
        """Yield all differences from the snapshot, the same for two runs of the same code."""
        for name in self.broken(list(self.modules)):
            yield f"changed {name}"
        for before, now in zip(self.finders, (sys.meta_path, sys.path_hooks)):
            for finder in now:
                if not any(finder is known for known in before):
                    kind = finder if isinstance(finder, type) else type(finder)
                    yield f"import hook {kind.__module__}.{kind.__qualname__}"
        yield from self.threads.marks()


class StartedThreads:
    """The kinds of threads that tests start and leave.

    Some are of a pool and end when they were idle for a while, so that the last tests alone say
    whether a run leaves one: where the original is observed, every test's count.
    """

    def __init__(self):
        """Keep the threads of now, which no test started."""
        self.before = set(threading.enumerate())
        self.noted = set()

    def note(self):
        """Note the threads of now for the end."""
        self.noted.update(self.running())

    def running(self):
        """Yield the kinds of threads that run now and didn't before."""
        for thread in threading.enumerate():
            if thread not in self.before:
                target = getattr(thread, "_target", None)
                yield f"thread {getattr(target, '__qualname__', type(thread).__qualname__)}"

    def marks(self):
        """Return what was noted and runs now."""
        return {*self.noted, *self.running()}


class SnapshotPart:
    """The functions, classes and the like of a module or a class.

    Functions that the check uses are bound as defaults: code under test could
    replace a name that is looked up at the time of the call.
    """

    def __init__(self, holder, held):
        """Keep the values in ``held`` by name, and the code of functions among them."""
        self.holder = holder
        self.names = tuple(held)
        self.values = tuple(held.values())
        self.functions = [v for v in self.values if is_kind(v, types.FunctionType)]
        self.codes = [function.__code__ for function in self.functions]
        self.get = operator.itemgetter(*self.names)

    def holds(
        self, all=all, map=map, same=operator.is_, code=operator.attrgetter("__code__")
    ):
        """Return whether all values are present and unchanged."""
        try:
            values = self.get(self.holder.__dict__)
        except KeyError:
            return False
        # With a single name, `itemgetter` returns no tuple.
        if len(self.names) == 1:
            values = (values,)
        return all(map(same, values, self.values)) and all(
            map(same, map(code, self.functions), self.codes)
        )

    def broken(self, module):
        """Yield the names of those that are not."""
        if self.holds():
            return
        codes = dict(zip(map(id, self.functions), self.codes))
        for name, value in zip(self.names, self.values):
            code = codes.get(id(value))
            now = self.holder.__dict__.get(name)
            if now is not value or (code is not None and value.__code__ is not code):
                yield f"{module}.{getattr(self.holder, '__qualname__', '')}.{name}"


def is_kind(value, kinds):
    """Return whether a value's own type is of one of these kinds.

    ``isinstance`` would also ask the value: a proxy answers for what it stands for, loads it, and
    may fail at that.
    """
    return issubclass(type(value), kinds)


def snapshot_parts(module):
    """Yield the parts of a module's snapshot."""
    held = {}
    for key, value in list(vars(module).items()):
        if is_kind(value, (types.FunctionType, types.BuiltinFunctionType, type)):
            held[key] = value
        if is_kind(value, type) and value.__module__ == module.__name__:
            kinds = (types.FunctionType, property, classmethod, staticmethod)
            own = {k: v for k, v in list(vars(value).items()) if is_kind(v, kinds)}
            if own:
                yield SnapshotPart(value, own)
    if held:
        yield SnapshotPart(module, held)


class TestData:
    """The data of test modules and classes, which tests compare results with."""

    #: How many values of one module or class are compared.
    MOST_VALUES = 20_000

    def __init__(self, holders):
        """Remember the data of these modules and classes."""
        self.before = {holder: self.values(holder, vars(holder)) for holder in holders}
        self.marks = set()

    def check(self, holder):
        """Note what differs in one of them; none of it is looked at again."""
        before = self.before.get(holder)
        if before is None:
            return
        now = self.values(holder, before)
        for name in [name for name, value in before.items() if now.get(name) != value]:
            del before[name]
            where = getattr(holder, "__qualname__", None) or holder.__name__
            self.marks.add(f"changed data {where}.{name}")

    def values(self, holder, names):
        """Return the data that a module or class holds by these names, in a form that compares.

        This runs after every test: a class may hold thousands of functions
        that were made from a table, which are no data.
        """
        left = [self.MOST_VALUES]
        held = vars(holder)
        data = ((name, held[name]) for name in list(names) if name in held)
        return {
            name: frozen(value, left, 0)
            for name, value in data
            if is_kind(value, DATA) and not name.startswith("__")
        }


#: The types of data that is compared.
CONTAINERS = (list, tuple, dict, set, frozenset)
DATA = (int, float, complex, str, bytes, type(None), *CONTAINERS)


def frozen(value, left, depth):
    """Return data in a form that compares by exact types and values.

    Objects of other types are compared by identity.  What goes beyond ``left``
    values or a depth of 50 is ignored.
    """
    left[0] -= 1
    if left[0] < 0 or depth > 50:
        return None
    kind = type(value)
    if kind in (list, tuple):
        return (kind.__name__, tuple(frozen(part, left, depth + 1) for part in value))
    if kind is dict:
        return (
            "dict",
            tuple(
                (frozen(key, left, depth + 1), frozen(part, left, depth + 1))
                for key, part in value.items()
            ),
        )
    if kind in (set, frozenset):
        return (kind.__name__, frozenset(frozen(part, left, depth + 1) for part in value))
    # NaN differs from itself, and 0.0 equals -0.0; with their texts it is the other way.
    if kind in (float, complex):
        return (kind.__name__, repr(value))
    if kind in DATA:
        return (kind.__name__, value)
    return ("object", id(value))


class LineCoverage:
    """Line coverage with one dynamic context per test."""

    def __init__(self, root, files):
        """Start measuring the given repository-relative files."""
        # The core built on sys.monitoring reports a line once and then disables
        # its event, so that a second test would not be recorded.  The variable is
        # restored so that the tests' environment does not change.
        before = os.environ.get("COVERAGE_CORE")
        os.environ["COVERAGE_CORE"] = "ctrace"
        try:
            import coverage

            self.root = root
            # No data file and no configuration file: the project's own
            # settings (branch, omit, exclusions) must not change the lines.
            # An empty include list would mean "everything".
            include = [os.path.join(root, name) for name in files]
            self.coverage = coverage.Coverage(
                data_file=None,
                config_file=False,
                include=include or [os.path.join(root, "\1")],
                branch=False,
            )
            self.coverage.start()
        finally:
            if before is None:
                del os.environ["COVERAGE_CORE"]
            else:
                os.environ["COVERAGE_CORE"] = before

    def switch(self, context):
        """Count the lines that run from now on for this context."""
        self.coverage.switch_context(context)

    def finish(self):
        """Stop, and yield (test, file, lines); the test "" is import time."""
        with warnings.catch_warnings():
            # A project may turn warnings into errors, and coverage warns when
            # none of the files ran, which is a valid result here.
            warnings.simplefilter("ignore")
            self.coverage.stop()
            data = self.coverage.get_data()
        for path in sorted(data.measured_files()):
            by_test = {}
            for line, contexts in data.contexts_by_lineno(path).items():
                for context in contexts:
                    by_test.setdefault(context, []).append(line)
            name = os.path.relpath(path, self.root).replace(os.sep, "/")
            for context in sorted(by_test):
                if context != BETWEEN_TESTS:
                    yield context, name, sorted(by_test[context])


def observe_raises():
    """Make unittest note what each part of a test raises; return the list.

    To unittest some exceptions mean no failure, such as the one by which it ends a subtest.  Code
    under test can raise them too.
    """
    noted = []
    executor = unittest.case._Outcome.testPartExecutor

    @contextlib.contextmanager
    def observed(self, *args, **kwargs):
        with executor(self, *args, **kwargs):
            try:
                yield
            except BaseException as error:
                noted.append(error)
                raise

    unittest.case._Outcome.testPartExecutor = observed
    return noted


def refuse_loaded(root, files):
    """Refuse a project one of whose files is loaded already, as one that pytest itself runs on.

    A completion in it would run before anything is watched.
    """
    own = {os.path.join(root, file): file for file in files}
    for module in list(sys.modules.values()):
        file = own.get(os.path.realpath(str(getattr(module, "__file__", None) or "")))
        if file:
            raise RefusedError(
                f"what runs them loads {file} itself, before anything is watched; replay another "
                "project, or leave this file out of `holes` in the manifest"
            )


def read_instructions():
    """Read the instructions; return them and the only descriptor of the socket."""
    with socket.socket(fileno=os.dup(0)) as given:
        with given.makefile("rb") as lines:
            instructions = json.loads(lines.readline())
        descriptor = os.dup(given.fileno())
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return instructions, descriptor
