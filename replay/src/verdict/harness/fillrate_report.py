"""What Python's harnesses share: order, report, seal, coverage.

Standard input is a socket.  Its first line is the order, a JSON object:

``nonce``
    A word that every line of the report repeats.  Code that is being tested
    runs in this process, but it was not there when the word was read.
``token``
    A word that the message of every failing sentinel must hold.
``select``
    The list of node ids to run, or null: all tests run.
``coverage``
    The list of repository-relative files whose lines are recorded by test, or
    null: nothing is recorded.
``first_failure_ends``
    Whether the first test that fails is the last that runs.
``changed``
    The list of repository-relative files that differ from the project's own.

The report goes back through the socket, one JSON object a line (``event``):
``test``, ``sentinel``, ``collect_error``, ``coverage``, ``harness_error`` and,
last, ``end``.  A run without an ``end`` line did not finish, whatever its exit
status says.  A fault of the harness itself ends the process at once with status
70, so that it can never pass for a test's result.

The seal tells whether the functions that decide over tests are still those of
the beginning.  Nothing here knows a test framework.
"""

import functools
import json
import operator
import os
import socket
import sys
import threading
import traceback
import types
import warnings

#: Exit status of a run whose harness broke; pytest itself uses 0 to 5.
HARNESS_BROKEN = 70
#: How much of a failure's message is kept, in characters.
MESSAGE_LIMIT = 4000
#: Coverage context of whatever runs between two tests; it is not reported.
BETWEEN_TESTS = "\0between"


class Report:
    """The socket that JSON lines are written to."""

    def __init__(self, descriptor, nonce, root):
        """Keep the socket; each line is one write, so nothing waits in a buffer."""
        self.descriptor = descriptor
        self.nonce = nonce
        self.owner = os.getpid()
        self.prefix = os.path.join(root, "")

    def write(self, event, **fields):
        """Append one line, unless this is a child that a test has forked."""
        if os.getpid() != self.owner:
            return
        line = json.dumps(
            {"event": event, "nonce": self.nonce, **fields}, separators=(",", ":")
        )
        left = (line + "\n").encode("ascii")
        while left:
            left = left[os.write(self.descriptor, left) :]

    def message(self, text):
        """Make paths relative to the repository; keep both ends of what is too long.

        A traceback says what happened at its end.
        """
        text = text.replace(self.prefix, "")
        if len(text) <= MESSAGE_LIMIT:
            return text
        start = MESSAGE_LIMIT // 4
        return text[:start] + "\n...\n" + text[-(MESSAGE_LIMIT - start) :]


def break_off(report, error):
    """End the process because the harness itself failed.

    An exception would not do: pytest turns one raised in a hook into a test's
    failure or into a warning, depending on the hook.
    """
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        sys.__stderr__.write(text)
        sys.__stderr__.flush()
        if report is not None:
            report.write("harness_error", message=report.message(text))
    finally:
        os._exit(HARNESS_BROKEN)


def guarded(method):
    """Decorate a method of the plugin so that its own fault ends the run."""

    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            return break_off(self.report, error)

    return wrapper


def is_syntax_error(error):
    """Say whether a SyntaxError is the exception or anywhere among its causes.

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


class Seal:
    """The functions of modules as they were, and what became of them."""

    #: Modules that decide over every test; they are looked at after each one.
    DECIDING = ()

    def __init__(self):
        """Seal everything that is loaded."""
        self.modules = {}
        self.added = []
        self.finders = [list(sys.meta_path), list(sys.path_hooks)]
        self.quick = None
        self.extend(lambda name, module: True)

    def extend(self, wanted):
        """Seal the modules that were loaded since."""
        self.added = []
        for name, module in list(sys.modules.items()):
            if isinstance(module, types.ModuleType) and name not in self.modules:
                if wanted(name, module):
                    self.modules[name] = (module, list(parts_of(module)))
                    self.added.append(name)
        self.quick = None

    def renew(self):
        """Seal the modules of the last extension as they are now.

        They may hold functions of the project, whose code was put in place since.
        """
        for name in self.added:
            module, _ = self.modules[name]
            self.modules[name] = (module, list(parts_of(module)))
        self.quick = None

    def broken(self, names):
        """Yield the names of functions that are others now, or gone."""
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
        """List what is broken of the modules that decide.

        This is done after every test, so that it must not take long.
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
        """Yield everything that differs from how it was, as stable words."""
        for name in self.broken(list(self.modules)):
            yield f"changed {name}"
        for before, now in zip(self.finders, (sys.meta_path, sys.path_hooks)):
            for finder in now:
                if not any(finder is known for known in before):
                    kind = finder if isinstance(finder, type) else type(finder)
                    yield f"import hook {kind.__module__}.{kind.__qualname__}"


class Part:
    """What a module or a class held: functions, classes and the like.

    What is bound below as a default is what this looks with; a name that is
    looked up only then could be another's by then.
    """

    def __init__(self, holder, held):
        """Keep what is ``held``, by name, and the code of what are functions."""
        self.holder = holder
        self.names = tuple(held)
        self.values = tuple(held.values())
        self.functions = [v for v in self.values if isinstance(v, types.FunctionType)]
        self.codes = [function.__code__ for function in self.functions]
        self.get = operator.itemgetter(*self.names)

    def holds(
        self, all=all, map=map, same=operator.is_, code=operator.attrgetter("__code__")
    ):
        """Say whether all of it is there, and the same."""
        try:
            values = self.get(self.holder.__dict__)
        except KeyError:
            return False
        if len(self.names) == 1:
            values = (values,)
        return all(map(same, values, self.values)) and all(
            map(same, map(code, self.functions), self.codes)
        )

    def broken(self, module):
        """Yield the names of what is not."""
        if self.holds():
            return
        codes = dict(zip(map(id, self.functions), self.codes))
        for name, value in zip(self.names, self.values):
            code = codes.get(id(value))
            now = self.holder.__dict__.get(name)
            if now is not value or (code is not None and value.__code__ is not code):
                yield f"{module}.{getattr(self.holder, '__qualname__', '')}.{name}"


def parts_of(module):
    """Yield the parts of a module that are sealed."""
    held = {}
    for key, value in list(vars(module).items()):
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
            held[key] = value
        if isinstance(value, type) and value.__module__ == module.__name__:
            kinds = (types.FunctionType, property, classmethod, staticmethod)
            own = {k: v for k, v in list(vars(value).items()) if isinstance(v, kinds)}
            if own:
                yield Part(value, own)
    if held:
        yield Part(module, held)


class LineCoverage:
    """Line coverage with one dynamic context per test."""

    def __init__(self, root, files):
        """Start measuring the given repository-relative files."""
        # The core built on sys.monitoring reports a line once and then turns
        # its event off, so a second test would not be seen to run it.  The
        # variable is taken back so that the tests' environment stays as given.
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
            # none of the files ran, which is a fair result here.
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


def left_threads(before):
    """Yield the kinds of threads that are running now and were not before."""
    for thread in threading.enumerate():
        if thread not in before:
            target = getattr(thread, "_target", None)
            yield f"thread {getattr(target, '__qualname__', type(thread).__qualname__)}"


def take_order():
    """Read the order; give it and the socket, which nobody else holds then."""
    with socket.socket(fileno=os.dup(0)) as given:
        with given.makefile("rb") as lines:
            order = json.loads(lines.readline())
        descriptor = os.dup(given.fileno())
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return order, descriptor
