"""What stands beside the tests in a pytest run: report, sentinels, seal, coverage.

``fillrate_pytest`` makes a plugin of it.  It works with pytest 7 and 8 on
Python 3.9 and later, in one process (``-p no:xdist``).

What is read and written is described in ``fillrate_report``.

Sentinels are tests that must fail, one for each way in which tests usually
say no.  They run last and through everything that the project's own tests run
through, so that whoever bends that bends them.  The seal tells whether the
functions that decide over tests are still those of the beginning.
"""

import functools
import importlib.metadata
import os
import shutil
import sys
import tempfile
import threading
import traceback
import unittest
import unittest.case
from pathlib import Path

import fillrate_report
import pytest
from _pytest._code import ExceptionInfo
from _pytest.unittest import UnitTestCase
from fillrate_report import (
    BETWEEN_TESTS,
    LineCoverage,
    Report,
    break_off,
    guarded,
    is_syntax_error,
    left_threads,
    take_order,
)
from fillrate_swap import Readings

#: Tests that must fail.  ``TOKEN`` is set before they run.
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


#: The seal of a process that was made to be forked, see fillrate_warm.
SEALED = None
#: What waits, in a process that is forked when all tests are collected, for the
#: order of a fork: see fillrate_warm.
WAIT = None
#: Whether every test is known by the names of what it stands in, one after the
#: other: then what holds no selected test need not even be collected.
PLAIN_NAMES = False
#: The names of the methods to collect, while a unittest class is.
METHODS = None
#: Whether exceptions are shown as Python does, whatever they are asked for as.
NATIVELY = False


class Seal(fillrate_report.Seal):
    """The seal of what decides under pytest."""

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
        "fillrate_report",
        __name__,
    )


class Plugin:
    """The hooks; pytest finds them because the instance is registered."""

    def __init__(self, report, root, order, seal, coverage):
        """Keep the settings; ``selected`` is None when every test runs.

        Without an order every test is collected, and the order comes then.
        """
        self.report = report
        self.root = root
        selected = order and order["select"]
        self.selected = None if selected is None else set(selected)
        self.selected_files = selected and {name.split("::")[0] for name in selected}
        self.wanted = within(selected) if selected and PLAIN_NAMES else None
        self.plain_names = False
        self.order = order
        self.seal = seal
        self.coverage = coverage
        self.readings = Readings(root) if coverage else None
        self.read = []
        self.phases = []
        self.tests = 0
        self.functions = {}
        self.sentinels = {}
        self.sentinel_names = {}
        self.sentinel_file = None
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

    @pytest.hookimpl(tryfirst=True)
    @guarded
    def pytest_pycollect_makeitem(self, collector, name):
        """Leave out functions and classes without a selected test."""
        if self.wanted is not None and f"{collector.nodeid}::{name}" not in self.wanted:
            return []
        return None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, session, config, items):
        """Deselect by exact node id; then add what must fail.

        Other plugins may rename items, so that this must come after them.  But
        to sort many takes pytest long: where every name is known before, what
        is not selected leaves before.
        """
        names = [item.nodeid for item in items]
        self.deselect(config, items, self.selected_are_among(items))
        yield
        self.plain_names = are_plain(items) and set(names) == {item.nodeid for item in items}
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
        self.wanted = None
        folder = Path(tempfile.mkdtemp(prefix="fillrate-"))
        path = folder / f"test_{folder.name.replace('-', '_')}.py"
        path.write_text(SENTINELS, encoding="utf-8")
        pytest.register_assert_rewrite(path.stem)
        module = pytest.Module.from_parent(session, path=path)
        found = list(session.genitems(module))
        self.sentinel_file = path
        self.sentinels = {item: item.name for item in found}
        self.sentinel_names = vars(module.obj)
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
        if excinfo is None or self.report is None:
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
        global METHODS, NATIVELY
        if self.wanted is not None and isinstance(collector, UnitTestCase):
            start = collector.nodeid + "::"
            METHODS = {name[len(start) :] for name in self.wanted if name.startswith(start)}
        NATIVELY = True
        outcome = yield
        METHODS = None
        NATIVELY = False
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
        """Write one collection failure; a process that waits for an order ends over it."""
        if self.report is None:
            return
        message = self.report.message(text)
        syntax = is_syntax_error(error)
        self.report.write("collect_error", id=name, message=message, syntax=syntax)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self):
        """Show quickly why the session ends: because of what can't be collected."""
        global NATIVELY
        NATIVELY = True

    # Running

    @pytest.hookimpl(tryfirst=True)
    @guarded
    def pytest_runtestloop(self, session):
        """Wait for an order, if there is none yet."""
        if self.order is None:
            if session.testsfailed:
                # What can't be collected can't be run either; pytest says so next.
                return
            self.be_forked(session)
        self.sentinel_names["TOKEN"] = self.order["token"]
        if self.readings:
            self.read = self.readings.end()

    def be_forked(self, session):
        """Wait for the order of a fork, and leave only the tests that it selects."""
        if self.sentinel_file:
            shutil.rmtree(self.sentinel_file.parent)
        self.order, descriptor, fits = WAIT(session.config)
        self.report = Report(descriptor, self.order["nonce"], self.root)
        if not fits:
            self.report.write("miss")
            os._exit(0)
        if self.sentinel_file:
            # Without it, pytest shows how it calls tests in every failure's message.
            self.sentinel_file.parent.mkdir()
            self.sentinel_file.write_text(SENTINELS, encoding="utf-8")
        self.seal.renew()
        self.functions = {item: code_of(item) for item in self.functions}
        if self.order["select"] is not None:
            self.selected = {*self.order["select"], *(item.nodeid for item in self.sentinels)}
            self.deselect(session.config, session.items, True)

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

    @pytest.hookimpl(tryfirst=True)
    @guarded
    def pytest_runtest_makereport(self, item, call):
        """Begin a failure's traceback where the test does.

        Python's own way to show it has pytest's frames, too: dozens, whose
        sources would have to be read, before what the test says.
        """
        wanted = getattr(item, "_traceback_filter", None)
        if call.excinfo is not None and wanted is not None:
            call.excinfo.traceback = wanted(call.excinfo)

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
        if self.order["first_failure_ends"] and outcome in ("failed", "error"):
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
        if self.report is None:
            return
        if self.coverage:
            for test, name, lines in self.coverage.finish():
                self.report.write("coverage", test=test, file=name, lines=lines)
        marks = []
        if not session.shouldfail:
            # Otherwise the verdict is clear, and looking takes as long as some tests.
            marks = sorted(set(self.seal.marks()) | set(left_threads(self.threads)))
        status = int(session.exitstatus)
        fields = {"read": self.read} if self.read else {}
        if self.selected is None:
            fields["modules"] = list(self.modules())
            fields["sources"] = dict(self.sources())
            fields["plain_names"] = self.plain_names
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


def skip_reason(phase):
    """Give the reason of a skip, which pytest keeps as (path, line, reason)."""
    if isinstance(phase.longrepr, tuple):
        return str(phase.longrepr[2])
    return phase.longreprtext


def entry_points(group):
    """Give the entry points of a group; before Python 3.10 they are a dict."""
    every = importlib.metadata.entry_points()
    return every.select(group=group) if hasattr(every, "select") else every.get(group, [])


def are_plain(items):
    """Say whether each item's id is its parent's and then its own name."""
    return all(
        item.nodeid == f"{item.parent.nodeid}::{item.name}"
        and "[" not in item.nodeid.split("::")[0]
        for item in items
    )


def within(selected):
    """Give the ids of all that selected tests stand in, and theirs without parameters."""
    wanted = set()
    for name in selected:
        parts = name.split("[")[0].split("::")
        wanted.update("::".join(parts[:length]) for length in range(2, len(parts) + 1))
    return wanted


def choose_methods():
    """Let pytest make tests only of those methods of a unittest class that are wanted."""
    every = unittest.TestLoader.getTestCaseNames

    @functools.wraps(every)
    def wanted(self, testCaseClass):
        names = every(self, testCaseClass)
        return names if METHODS is None else [name for name in names if name in METHODS]

    unittest.TestLoader.getTestCaseNames = wanted


def show_natively():
    """Let exceptions that end a collection be shown as ``--tb=native`` shows others.

    pytest shows them in another way whatever it is told, and reads and parses
    the source of every frame to do so, which takes as long as a run of tests.
    """
    every = ExceptionInfo.getrepr

    @functools.wraps(every)
    def getrepr(self, *args, **kwargs):
        return every(self, style="native") if NATIVELY else every(self, *args, **kwargs)

    ExceptionInfo.getrepr = getrepr


def code_of(item):
    """Give the code of the function that a test calls."""
    function = getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", function)


def plugin():
    """Build the plugin of this process."""
    return create(None, None) if WAIT else create(*take_order())


def create(order, descriptor):
    """Build the plugin and start coverage at once.

    This runs before any conftest.py and so before the project is imported.
    """
    report = None
    try:
        root = os.path.realpath(os.getcwd())
        report = order and Report(descriptor, order["nonce"], root)
        files = order and order["coverage"]
        coverage = None if files is None else LineCoverage(root, files)
        if SEALED is None:
            show_natively()
        seal = SEALED or Seal()
        seal.finders = [list(sys.meta_path), list(sys.path_hooks)]
        return Plugin(report, root, order, seal, coverage)
    except Exception as error:
        return break_off(report, error)
