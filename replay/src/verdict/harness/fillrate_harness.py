"""What stands beside the tests in a pytest run: report, sentinels, seal, coverage.

``fillrate_pytest`` makes a plugin of it.  It works with pytest 7 and 8 on
Python 3.9 and later, in one process (``-p no:xdist``).

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

The report goes back through the socket, one JSON object a line (``event``):
``test``, ``sentinel``, ``collect_error``, ``coverage``, ``harness_error`` and,
last, ``end``.  A run without an ``end`` line did not finish, whatever its exit
status says.  A fault of the plugin itself ends the process at once with status
70, so that it can never pass for a test's result.

Sentinels are tests that must fail, one for each way in which tests usually
say no.  They run last and through everything that the project's own tests run
through, so that whoever bends that bends them.  The seal tells whether the
functions that decide over tests are still those of the beginning.
"""

import functools
import importlib.metadata
import json
import os
import socket
import sys
import tempfile
import threading
import traceback
import types
import unittest.case
import warnings
from pathlib import Path

import pytest

#: Exit status of a run whose harness broke; pytest itself uses 0 to 5.
HARNESS_BROKEN = 70
#: Longest failure message that is kept, in characters.
MESSAGE_LIMIT = 4000
#: Coverage context of whatever runs between two tests; it is not reported.
BETWEEN_TESTS = "\0between"

#: Tests that must fail.  ``repr`` of the token takes the place of ``TOKEN``.
SENTINELS = """
import unittest

import pytest


def test_assertion():
    assert [1, TOKEN] == [1, TOKEN[::-1]], TOKEN


def test_exception():
    raise RuntimeError(TOKEN)


def test_expected_exception():
    with pytest.raises(ValueError, match=TOKEN):
        raise ValueError(TOKEN[::-1])


class SentinelTest(unittest.TestCase):
    def test_method(self):
        self.assertEqual(TOKEN, TOKEN[::-1], TOKEN)

    def test_truth(self):
        self.assertTrue(TOKEN == TOKEN[::-1], TOKEN)
"""


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
        """Make paths relative to the repository, then cut to the limit."""
        return text.replace(self.prefix, "")[:MESSAGE_LIMIT]


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


#: The seal of a process that was made to be forked, see fillrate_warm.
SEALED = None


class Seal:
    """The functions of modules as they were, and what became of them."""

    #: Modules that decide over every test; they are looked at after each one.
    DECIDING = (
        "_pytest.assertion",
        "_pytest.assertion.rewrite",
        "_pytest.assertion.util",
        "_pytest.outcomes",
        "_pytest.python_api",
        "_pytest.raises",
        "_pytest.reports",
        "_pytest.runner",
        "_pytest.skipping",
        "_pytest._code.code",
        "builtins",
        "pluggy._callers",
        "pluggy._hooks",
        "pytest",
        "unittest.case",
        __name__,
    )

    def __init__(self):
        """Seal everything that is loaded."""
        self.modules = {}
        self.finders = [[], []]
        self.quick = None
        self.present = []
        self.extend(lambda name, module: True)

    def extend(self, wanted):
        """Seal the modules that were loaded since."""
        for name, module in list(sys.modules.items()):
            if isinstance(module, types.ModuleType) and name not in self.modules:
                if wanted(name, module):
                    self.modules[name] = (module, list(parts_of(module)))

    def broken(self, names):
        """Yield the names of functions that are others now, or gone."""
        for name in names:
            if name not in self.modules:
                continue
            module, parts = self.modules[name]
            if sys.modules.get(name) is not module:
                yield name
                continue
            for holder, key, value, code in parts:
                now = holder.__dict__.get(key)
                if now is not value or (code is not None and now.__code__ is not code):
                    yield f"{name}.{getattr(holder, '__qualname__', '')}.{key}"

    def deciding(self):
        """List what is broken of the modules that decide.

        This is done after every test, so that it must not take long.
        """
        if self.quick is None:
            known = [name for name in self.DECIDING if name in self.modules]
            self.quick = [
                (holder.__dict__.get, key, value, code)
                for name in known
                for holder, key, value, code in self.modules[name][1]
            ]
            self.present = [(name, self.modules[name][0]) for name in known]
        for name, module in self.present:
            if sys.modules.get(name) is not module:
                return list(self.broken(self.DECIDING))
        for get, key, value, code in self.quick:
            if get(key) is not value or (code is not None and value.__code__ is not code):
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


def parts_of(module):
    """Yield holder, name, value and code of a module's functions and methods."""
    for key, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType):
            yield module, key, value, value.__code__
        elif isinstance(value, (types.BuiltinFunctionType, type)):
            yield module, key, value, None
        if isinstance(value, type) and value.__module__ == module.__name__:
            for name, part in list(vars(value).items()):
                if isinstance(part, types.FunctionType):
                    yield value, name, part, part.__code__
                elif isinstance(part, (property, classmethod, staticmethod)):
                    yield value, name, part, None


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


class Plugin:
    """The hooks; pytest finds them because the instance is registered."""

    def __init__(self, report, root, order, seal, coverage):
        """Keep the settings; ``selected`` is None when every test runs."""
        self.report = report
        self.root = root
        selected = order["select"]
        self.selected = None if selected is None else set(selected)
        self.selected_files = selected and {name.split("::")[0] for name in selected}
        self.first_failure_ends = order["first_failure_ends"]
        self.token = order["token"]
        self.seal = seal
        self.coverage = coverage
        self.phases = []
        self.tests = 0
        self.functions = {}
        self.sentinels = {}
        self.threads = set(threading.enumerate())
        self.raised = None
        self.traced = sys.gettrace()

    # Collection

    @guarded
    def pytest_ignore_collect(self, collection_path, config):
        """Leave out files without a selected test, so they aren't imported."""
        # An __init__.py stands for its package, and a directory may hold
        # conftest files: both are kept.
        if self.selected is None or collection_path.name == "__init__.py":
            return None
        try:
            name = collection_path.relative_to(config.rootpath).as_posix()
        except ValueError:
            return None
        if name in self.selected_files or not collection_path.is_file():
            return None
        return True

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, session, config, items):
        """Deselect by exact node id; then add what must fail.

        Other plugins may rename items, so that this must come after them.  But
        to sort many takes pytest long: where every name is known before, what
        is not selected leaves before.
        """
        self.deselect(config, items, self.selected_are_among(items))
        yield
        self.deselect(config, items, True)
        self.begin(session, items)

    def selected_are_among(self, items):
        """Say whether every selected test has its name by now."""
        return self.selected is not None and self.selected <= {item.nodeid for item in items}

    @guarded
    def deselect(self, config, items, sure):
        """Drop what is not selected."""
        if self.selected is None or not sure:
            return
        dropped = [item for item in items if item.nodeid not in self.selected]
        if dropped:
            items[:] = [item for item in items if item.nodeid in self.selected]
            config.hook.pytest_deselected(items=dropped)

    @guarded
    def begin(self, session, items):
        """Look at what is about to run, and add the sentinels."""
        inside = os.path.join(self.root, "")
        tests = {item.module for item in items if hasattr(item, "module")}
        # The project's own modules may do to themselves what they like.
        self.seal.extend(
            lambda name, module: module in tests
            or not str(getattr(module, "__file__", None) or inside).startswith(inside)
        )
        self.functions = {item: code_of(item) for item in items}
        if items:
            items += self.make_sentinels(session)

    def make_sentinels(self, session):
        """Collect the tests that must fail."""
        folder = Path(tempfile.mkdtemp(prefix="fillrate-"))
        path = folder / f"test_{self.token}.py"
        path.write_text(SENTINELS.replace("TOKEN", repr(self.token)), encoding="utf-8")
        pytest.register_assert_rewrite(path.stem)
        module = pytest.Module.from_parent(session, path=path)
        found = list(session.genitems(module))
        self.sentinels = {item: item.name for item in found}
        self.functions.update((item, code_of(item)) for item in found)
        return found

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self):
        """Report a conftest.py that can't be imported; pytest ends with 4."""
        outcome = yield
        self.initial_conftests_loaded(outcome.excinfo)

    @guarded
    def initial_conftests_loaded(self, excinfo):
        """Write the failure and the end, as no session will be started."""
        if excinfo is None:
            return
        error = excinfo[1]
        text = "".join(traceback.format_exception(type(error), error, excinfo[2]))
        path = str(getattr(error, "path", ""))
        name = os.path.relpath(path, self.root).replace(os.sep, "/") if path else ""
        self.collect_error(name, text, error)
        status = int(pytest.ExitCode.USAGE_ERROR)
        self.report.write("end", status=status, tests=0, marks=[])

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        """Report a file that can't be collected."""
        outcome = yield
        if outcome.excinfo is None:
            self.collected(outcome.get_result())

    @guarded
    def collected(self, report):
        """Write the failure while pytest still keeps the exception with it."""
        if report.failed:
            call = getattr(report, "call", None)
            error = call.excinfo.value if call and call.excinfo else None
            self.collect_error(report.nodeid.split("::")[0], report.longreprtext, error)

    def collect_error(self, name, text, error):
        """Write one collection failure."""
        message = self.report.message(text)
        syntax = is_syntax_error(error)
        self.report.write("collect_error", id=name, message=message, syntax=syntax)

    # Running

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Enclose set-up, call and teardown of one test."""
        self.test_starts(item)
        yield
        self.test_ended(item)

    @guarded
    def test_starts(self, item):
        """Begin the test's coverage context."""
        self.phases = []
        self.raised = None
        if code_of(item) is not self.functions.get(item):
            self.report.write("broken", what=f"the function of {item.nodeid}")
        if self.coverage:
            self.coverage.switch(BETWEEN_TESTS if item in self.sentinels else item.nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        """See with own eyes how the test's function ends."""
        outcome = yield
        self.called(item, outcome.excinfo)

    @guarded
    def called(self, item, excinfo):
        """Keep what was raised; look at the framework before it runs on."""
        self.raised = excinfo and excinfo[1]
        for name in self.seal.deciding():
            self.report.write("broken", what=name)
        if sys.gettrace() is not self.traced or sys.getprofile() is not None:
            self.report.write("broken", what="the interpreter's trace function")

    @guarded
    def pytest_runtest_logreport(self, report):
        """Keep the reports of the phases of the test that runs now."""
        self.phases.append(report)

    @guarded
    def test_ended(self, item):
        """Close the coverage context and write the test's line."""
        if self.coverage:
            self.coverage.switch(BETWEEN_TESTS)
        outcome, message = self.judge()
        seconds = round(sum(phase.duration for phase in self.phases), 6)
        message = self.report.message(message)
        if item in self.sentinels:
            name = self.sentinels[item]
            self.report.write("sentinel", id=name, outcome=outcome, message=message)
            return
        self.tests += 1
        if outcome == "passed" and self.raised is not None:
            self.report.write("broken", what=f"the outcome of {item.nodeid}")
        self.report.write(
            "test", id=item.nodeid, outcome=outcome, seconds=seconds, message=message
        )
        if self.first_failure_ends and outcome in ("failed", "error"):
            item.session.shouldfail = "the first failure ends the run"

    def judge(self):
        """Reduce the reports of the phases to one outcome and its message.

        A failed call stays a failure even if the teardown fails too.  An
        expected failure is a skip in pytest's own terms; a strict unexpected
        pass is already a failure there.  Subtests add reports of their own
        for the call, and one that fails is enough.
        """
        calls = [phase for phase in self.phases if phase.when == "call"]
        around = [phase for phase in self.phases if phase.when != "call"]
        for name, phases in (("failed", calls), ("error", around)):
            for phase in phases:
                if phase.failed:
                    return name, phase.longreprtext
        if any(phase.passed for phase in calls):
            return "passed", ""
        for phase in self.phases:
            if phase.skipped:
                return "skipped", getattr(phase, "wasxfail", "") or skip_reason(phase)
        return "error", "The test was interrupted."

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session):
        """Write the rest when every other plugin has settled the status."""
        yield
        self.session_ended(session)

    @guarded
    def session_ended(self, session):
        """Write the coverage, then the line that says the run is complete."""
        if self.coverage:
            for test, name, lines in self.coverage.finish():
                self.report.write("coverage", test=test, file=name, lines=lines)
        marks = sorted(set(self.seal.marks()) | set(self.left_threads()))
        status = int(session.exitstatus)
        fields = {}
        if self.selected is None:
            fields["modules"] = list(self.modules())
            fields["sources"] = dict(self.sources())
        self.report.write("end", status=status, tests=self.tests, marks=marks, **fields)

    def sources(self):
        """Yield the project's loaded files, and whether pytest rewrote them."""
        inside = os.path.join(self.root, "")
        for module in list(sys.modules.values()):
            file = str(getattr(module, "__file__", None) or "")
            if file.startswith(inside) and file.endswith(".py"):
                loader = type(getattr(module, "__loader__", None)).__name__
                yield file[len(inside) :], loader == "AssertionRewritingHook"

    def modules(self):
        """Yield the names of loaded modules that are not the project's own.

        pytest wants to load its plugins itself, so that it can rewrite their
        assertions.
        """
        plugins = {
            entry.value.split(":")[0].split(".")[0]
            for entry in entry_points("pytest11")
        }
        for name, module in list(sys.modules.items()):
            file = str(getattr(module, "__file__", None) or "")
            folders = (sys.prefix, sys.base_prefix)
            if file.startswith(folders) and name.split(".")[0] not in plugins:
                if name != "__main__" and not name.startswith(("fillrate_", "coverage")):
                    yield name

    def left_threads(self):
        """Yield the kinds of threads that the tests left running."""
        for thread in threading.enumerate():
            if thread not in self.threads:
                target = getattr(thread, "_target", None)
                yield f"thread {getattr(target, '__qualname__', type(thread).__qualname__)}"


def skip_reason(phase):
    """Give the reason of a skip, which pytest keeps as (path, line, reason)."""
    if isinstance(phase.longrepr, tuple):
        return str(phase.longrepr[2])
    return phase.longreprtext


def entry_points(group):
    """Give the entry points of a group; before Python 3.10 they are a dict."""
    every = importlib.metadata.entry_points()
    return every.select(group=group) if hasattr(every, "select") else every.get(group, [])


def code_of(item):
    """Give the code of the function that a test calls."""
    function = getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", function)


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


def create(order, descriptor):
    """Build the plugin and start coverage at once.

    This runs before any conftest.py and so before the project is imported.
    """
    report = None
    try:
        root = os.path.realpath(os.getcwd())
        report = Report(descriptor, order["nonce"], root)
        files = order["coverage"]
        coverage = None if files is None else LineCoverage(root, files)
        seal = SEALED or Seal()
        seal.finders = [list(sys.meta_path), list(sys.path_hooks)]
        return Plugin(report, root, order, seal, coverage)
    except Exception as error:
        return break_off(report, error)
