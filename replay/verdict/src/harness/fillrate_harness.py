"""The harness of a pytest run: report, sentinels, snapshots, coverage.

``fillrate_pytest`` makes a plugin of it.  It works with pytest 7 to 9 on
Python 3.9 and later, in one process (``-p no:xdist``).

Input and output are described in ``fillrate_report``.

Sentinels are tests that must fail, one for each way in which tests usually
fail.  They run last and through the same code as the project's own tests, so
that code which changes the framework affects them.  The snapshot detects
whether functions that decide over tests were replaced.
"""

import functools
import importlib
import importlib.metadata
import os
import runpy
import shutil
import sys
import tempfile
import traceback
import unittest
import unittest.case
from pathlib import Path

import fillrate_options
import fillrate_report
import pytest
from _pytest._code import ExceptionInfo
from _pytest.config import PytestPluginManager, default_plugins
from _pytest.unittest import UnitTestCase
from fillrate_report import (
    BETWEEN_TESTS,
    LineCoverage,
    Report,
    TestData,
    TestWatch,
    abort,
    guarded,
    is_syntax_error,
    observe_raises,
    read_instructions,
    refuse_loaded,
)
from fillrate_swap import Readings

#: The sentinels.  ``TOKEN`` is set before they run.
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


#: The snapshot of a warm worker, see fillrate_warm.
SNAPSHOT = None
#: In a warm worker that has collected all tests: the function that waits for the
#: instructions of a fork, see fillrate_warm.
WAIT = None
#: Drops what a warm worker has compiled of files, given by their paths in the project.
FORGET = list
#: Whether every test's id is its parent's id and then its own name: then classes
#: without a selected test need not even be collected.
PLAIN_NAMES = False
#: The names of the methods to collect, during the collection of a unittest class.
WANTED_METHODS = None
#: Whether exceptions are formatted as Python does, whatever the style requested.
NATIVE_TRACEBACKS = False
#: What parts of unittest's tests have raised, which pytest runs too.
RAISED = observe_raises()


class Snapshot(fillrate_report.Snapshot):
    """The snapshot of the modules that decide under pytest."""

    #: Modules that decide over every test; checked after each one.
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

    def __init__(self):
        """Load pytest's own plugins first, as pytest does: some of them decide, too."""
        for name in default_plugins:
            importlib.import_module(f"_pytest.{name}")
        super().__init__()


class SentinelModule(pytest.Module):
    """The module of the sentinels, whatever names the project's settings give its tests."""

    def funcnamefilter(self, name):
        """Collect by the names that the sentinels have."""
        return name.startswith("test_")


class Plugin:
    """The hooks; pytest finds them because the instance is registered."""

    def __init__(self, report, root, instructions, snapshot, coverage):
        """Keep the settings; ``selected`` is None when every test runs.

        Without instructions every test is collected, and they follow then.
        """
        self.report = report
        self.root = root
        selected = instructions and instructions["select"]
        self.selected = None if selected is None else set(selected)
        self.selected_files = selected and {name.split("::")[0] for name in selected}
        self.wanted = within(selected) if selected and PLAIN_NAMES else None
        self.plain_names = False
        self.instructions = instructions
        seconds = instructions and instructions.get("test_seconds")
        self.watch = TestWatch(report, seconds) if seconds else None
        self.snapshot = snapshot
        self.coverage = coverage
        self.readings = Readings(root) if coverage else None
        self.read = []
        self.phases = []
        self.tests = 0
        self.functions = {}
        self.data = TestData(())
        self.sentinels = {}
        self.sentinel_ids = set()
        self.sentinel_names = {}
        self.sentinel_file = None
        self.raised = None
        self.traced = sys.gettrace()
        self.neutralised = set()

    # Collection

    @guarded
    def pytest_ignore_collect(self, collection_path, config):
        """Leave out files without a selected test, so they aren't imported."""
        # An __init__.py represents its package, and a directory may hold conftest
        # files: both are kept.
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
        """Deselect by exact node id; then add the sentinels.

        Other plugins may rename items, so that this must come after them.  But
        pytest takes long to sort many items: if all selected names are present
        before, the others are deselected before.
        """
        names = [item.nodeid for item in items]
        self.deselect(config, items, self.selected_are_among(items))
        yield
        self.plain_names = are_plain(items) and set(names) == {item.nodeid for item in items}
        self.deselect(config, items, True)
        self.begin(session, items)

    def selected_are_among(self, items):
        """Return whether every selected test has its final name already."""
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
        """Take the snapshot of what is about to run, and add the sentinels."""
        inside = os.path.join(self.root, "")
        tests = {item.module for item in items if hasattr(item, "module")}
        # The project may change its own modules.
        self.snapshot.extend(
            lambda name, module: module in tests
            or not str(getattr(module, "__file__", None) or inside).startswith(inside)
        )
        self.functions = {item: code_of(item) for item in items}
        self.data = TestData({holder for item in items for holder in holders_of(item)})
        if items:
            items += self.make_sentinels(session)

    def make_sentinels(self, session):
        """Collect the sentinels."""
        # The names of the sentinels are not among the wanted ones.
        self.wanted = None
        folder = Path(tempfile.mkdtemp(prefix="fillrate-"))
        path = folder / f"test_{folder.name.replace('-', '_')}.py"
        path.write_text(SENTINELS, encoding="utf-8")
        # Assertions are rewritten when a module is imported, so it must be registered before.
        pytest.register_assert_rewrite(path.stem)
        module = SentinelModule.from_parent(session, path=path)
        found = list(session.genitems(module))
        self.sentinel_file = path
        self.sentinels = {item: item.name for item in found}
        self.sentinel_ids = {item.nodeid for item in found}
        self.sentinel_names = vars(module.obj)
        self.functions.update((item, code_of(item)) for item in found)
        return found

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config, parser):
        """Report a conftest.py that can't be imported; pytest ends with 4."""
        self.prepare_options(early_config, parser)
        outcome = yield
        self.initial_conftests_loaded(outcome.excinfo)

    @guarded
    def prepare_options(self, config, parser):
        """Keep plugins that start now from measuring lines, and accept what none knows."""
        self.neutralised |= fillrate_options.neutralise(config.known_args_namespace)
        fillrate_options.accept_unknown(config, parser)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config):
        """Run one process, in order, to the end."""
        self.set_options(config)
        yield

    @guarded
    def set_options(self, config):
        """Give options that can't be honoured the values without effect."""
        self.neutralised |= fillrate_options.neutralise(config.option)
        if self.instructions and self.selected is None:
            # What a whole run can't collect is set aside, and the rest counts.
            config.option.continue_on_collection_errors = True

    @guarded
    def initial_conftests_loaded(self, excinfo):
        """Write the failure and the end, as no session will start."""
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
        global WANTED_METHODS, NATIVE_TRACEBACKS
        if self.wanted is not None and isinstance(collector, UnitTestCase):
            start = collector.nodeid + "::"
            WANTED_METHODS = {name[len(start) :] for name in self.wanted if name.startswith(start)}
        NATIVE_TRACEBACKS = True
        outcome = yield
        WANTED_METHODS = None
        NATIVE_TRACEBACKS = False
        if outcome.excinfo is None:
            self.collected(outcome.get_result())

    @guarded
    def collected(self, report):
        """Write the failure while pytest still has its exception."""
        if report.failed:
            call = getattr(report, "call", None)
            error = call.excinfo.value if call and call.excinfo else None
            self.collect_error(report.nodeid.split("::")[0], report.longreprtext, error)

    def collect_error(self, name, text, error):
        """Write one collection failure; without instructions the process ends later."""
        if self.report is None:
            return
        message = self.report.message(text)
        syntax = is_syntax_error(error)
        self.report.write("collect_error", id=name, message=message, syntax=syntax)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self):
        """Show quickly why the session ends: what can't be collected."""
        global NATIVE_TRACEBACKS
        NATIVE_TRACEBACKS = True

    # Running

    @pytest.hookimpl(tryfirst=True)
    @guarded
    def pytest_runtestloop(self, session):
        """Wait for instructions, if there are none yet."""
        if self.instructions is None:
            if session.testsfailed:
                # What can't be collected can't run either; pytest reports it next.
                return
            self.wait_for_instructions(session)
        self.sentinel_names["TOKEN"] = self.instructions["token"]
        if self.readings:
            self.read = self.readings.end()

    def wait_for_instructions(self, session):
        """Wait for the instructions of a fork, and keep only the tests that they select."""
        if self.sentinel_file:
            shutil.rmtree(self.sentinel_file.parent)
        self.instructions, descriptor, fits = WAIT(session.config)
        self.report = Report(descriptor, self.instructions["nonce"], self.root)
        if not fits:
            self.report.write("miss")
            os._exit(0)
        if self.sentinel_file:
            # Without it, pytest adds its own frames to every failure's message.
            self.sentinel_file.parent.mkdir()
            self.sentinel_file.write_text(SENTINELS, encoding="utf-8")
        self.snapshot.refresh()
        self.functions = {item: code_of(item) for item in self.functions}
        if self.instructions["select"] is not None:
            sentinels = {item.nodeid for item in self.sentinels}
            self.selected = {*self.instructions["select"], *sentinels}
            self.deselect(session.config, session.items, True)
        self.order(session.items)

    def order(self, items):
        """Order the tests as the instructions may say; the sentinels stay last."""
        ranks = self.instructions.get("ranks")
        if ranks:
            # A test without a rank comes last, as do the sentinels; sorting is stable.
            items.sort(key=lambda item: ranks.get(item.nodeid, (len(items), 0)))

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
        RAISED.clear()
        if self.watch:
            self.watch.starts(item.nodeid)
        if code_of(item) is not self.functions.get(item):
            self.report.write("broken", what=f"the function of {item.nodeid}")
        if self.coverage:
            self.coverage.switch(BETWEEN_TESTS if item in self.sentinels else item.nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        """Observe how the test's function ends."""
        outcome = yield
        self.called(item, outcome.excinfo)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        """Observe how the test's function ends, within what other plugins make of it."""
        self.function_starts(pyfuncitem)
        outcome = yield
        if outcome.excinfo:
            self.raised = outcome.excinfo[1]

    @guarded
    def function_starts(self, item):
        """Report a function that is not the collected one."""
        self.raised = None
        if code_of(item) is not self.functions.get(item):
            self.report.write("broken", what=f"the function of {item.nodeid} when it is called")

    @guarded
    def called(self, item, excinfo):
        """Keep what was raised; check the framework before it goes on."""
        if excinfo:
            self.raised = excinfo[1]
        for name in self.snapshot.deciding():
            self.report.write("broken", what=name)
        for holder in holders_of(item):
            self.data.check(holder)
        if sys.gettrace() is not self.traced or sys.getprofile() is not None:
            self.report.write("broken", what="the interpreter's trace function")

    @pytest.hookimpl(tryfirst=True)
    @guarded
    def pytest_runtest_makereport(self, item, call):
        """Begin a failure's traceback where the test does.

        A native traceback would have dozens of pytest's frames first, whose
        sources would have to be read.
        """
        wanted = getattr(item, "_traceback_filter", None)
        if call.excinfo is not None and wanted is not None:
            call.excinfo.traceback = wanted(call.excinfo)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report):
        """Leave the sentinels out of what pytest prints: only the project's tests are of interest."""
        if report.nodeid in self.sentinel_ids:
            return "", "", ""
        return None

    @guarded
    def pytest_runtest_logreport(self, report):
        """Keep the reports of the phases of the test that runs now."""
        self.phases.append(report)

    @guarded
    def test_ended(self, item):
        """Close the coverage context and write the test's line."""
        if self.watch:
            self.watch.starts("")
        if self.coverage:
            self.coverage.switch(BETWEEN_TESTS)
            self.snapshot.threads.note()
        outcome, message = self.judge()
        seconds = round(sum(phase.duration for phase in self.phases), 6)
        message = self.report.message(message)
        if item in self.sentinels:
            name = self.sentinels[item]
            self.report.write("sentinel", id=name, outcome=outcome, message=message)
            return
        self.tests += 1
        # A test whose function raised can't pass, unless its report was changed.
        if outcome == "passed" and (self.raised is not None or RAISED):
            self.report.write("broken", what=f"the outcome of {item.nodeid}")
        self.report.write(
            "test", id=item.nodeid, outcome=outcome, seconds=seconds, message=message
        )
        if self.instructions["first_failure_ends"] and outcome in ("failed", "error"):
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
            # Otherwise the verdict is clear, and the check takes as long as some tests.
            marks = {*self.snapshot.marks(), *self.data.marks}
        status = int(session.exitstatus)
        fields = {"read": self.read} if self.read else {}
        if self.selected is None:
            fields["modules"] = list(self.modules())
            fields["sources"] = dict(self.sources())
            fields["plain_names"] = self.plain_names
            fields["neutralised"] = sorted(self.neutralised)
        self.report.write("end", status=status, tests=self.tests, marks=sorted(marks), **fields)

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

        Plugins are left out: pytest must load them itself to rewrite their
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
    """Return the reason of a skip, which pytest keeps as (path, line, reason)."""
    if isinstance(phase.longrepr, tuple):
        return str(phase.longrepr[2])
    return phase.longreprtext


def entry_points(group):
    """Return the entry points of a group; before Python 3.10 they are a dict."""
    every = importlib.metadata.entry_points()
    return every.select(group=group) if hasattr(every, "select") else every.get(group, [])


def are_plain(items):
    """Return whether each item's id is its parent's and then its own name."""
    return all(
        item.nodeid == f"{item.parent.nodeid}::{item.name}"
        # within() takes a bracket for the beginning of the parameters.
        and "[" not in item.nodeid.split("::")[0]
        for item in items
    )


def within(selected):
    """Return the ids of the selected tests' parents, and theirs without parameters."""
    wanted = set()
    for name in selected:
        parts = name.split("[")[0].split("::")
        wanted.update("::".join(parts[:length]) for length in range(2, len(parts) + 1))
    return wanted


def limit_methods():
    """Make pytest collect only the wanted methods of a unittest class."""
    every = unittest.TestLoader.getTestCaseNames

    @functools.wraps(every)
    def wanted(self, testCaseClass):
        names = every(self, testCaseClass)
        if WANTED_METHODS is None:
            return names
        return [name for name in names if name in WANTED_METHODS]

    unittest.TestLoader.getTestCaseNames = wanted


def use_native_tracebacks():
    """Format exceptions that end a collection as ``--tb=native`` formats others.

    pytest ignores the option for them, and reads and parses the source of every
    frame, which takes as long as a run of tests.  Of a file that skips itself, it
    takes the line of the skip from its own form.
    """
    every = ExceptionInfo.getrepr
    skips = (pytest.skip.Exception, unittest.SkipTest)

    @functools.wraps(every)
    def getrepr(self, *args, **kwargs):
        if NATIVE_TRACEBACKS and not isinstance(self.value, skips):
            return every(self, style="native")
        return every(self, *args, **kwargs)

    ExceptionInfo.getrepr = getrepr


def report_broken_plugins(report):
    """Report an installed plugin that pytest can't load, and end the process.

    pytest would end without a test.  The run is incomplete, so that the project's own
    tests are run again without the plugin.
    """

    def reporting(method):
        @functools.wraps(method)
        def call(self, *args, **kwargs):
            try:
                return method(self, *args, **kwargs)
            except Exception as error:
                broken = (entry for entry in entry_points("pytest11") if is_broken(self, entry, error))
                entry = next(broken, None)
                if entry is None:
                    raise
                cause = error.__cause__ or error
                text = "".join(traceback.format_exception(type(cause), cause, cause.__traceback__))
                sys.__stderr__.write(text)
                sys.__stderr__.flush()
                message = report.message(text)
                report.write("collect_error", id=f"plugin://{entry.name}", message=message)
                os._exit(int(pytest.ExitCode.INTERNAL_ERROR))

        return call

    for name in ("load_setuptools_entrypoints", "check_pending"):
        setattr(PytestPluginManager, name, reporting(getattr(PytestPluginManager, name)))


def is_broken(manager, entry, error):
    """Return whether an installed plugin is the cause of an error."""
    # pytest 9 raises another error because of pluggy's.
    invalid = getattr(error.__cause__ or error, "plugin", None)
    known = manager.get_plugin(entry.name)
    if known is None and not manager.is_blocked(entry.name):
        # pluggy before 1.7 knows a plugin whose hooks are invalid.
        try:
            known = entry.load()
        except BaseException:
            return invalid is None
    return known is not None and known is invalid


def holders_of(item):
    """Return the module and the class of a test, which may hold what it compares with."""
    holders = (getattr(item, "module", None), getattr(item, "cls", None))
    return [holder for holder in holders if holder is not None]


def code_of(item):
    """Return the code of the function that a test calls."""
    function = getattr(item, "obj", None)
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", function)


def run(arguments, directory):
    """Do what ``python -m pytest`` does in the repository.

    The plugin is made first: pytest 9 imports the project, if its settings name a warning of it,
    before it loads any plugin.
    """
    plugin()
    # ``python -m`` has the working directory here, and not the folder of a script.
    sys.path[0] = directory
    sys.argv = ["pytest", *arguments]
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)


@functools.cache
def plugin():
    """Return the plugin of this process."""
    if WAIT:
        return create(None, None)
    instructions, descriptor = read_instructions()
    FORGET(instructions["changed"])
    return create(instructions, descriptor)


def create(instructions, descriptor):
    """Build the plugin and start coverage at once, before the project is imported."""
    report = None
    try:
        root = os.path.realpath(os.getcwd())
        report = instructions and Report(descriptor, instructions["nonce"], root)
        files = instructions and instructions["coverage"]
        coverage = None if files is None else LineCoverage(root, files)
        refuse_loaded(root, files or [])
        if SNAPSHOT is None:
            use_native_tracebacks()
        if report:
            report_broken_plugins(report)
        snapshot = SNAPSHOT or Snapshot()
        snapshot.begin()
        return Plugin(report, root, instructions, snapshot, coverage)
    except Exception as error:
        return abort(report, error)
