"""A pytest plugin that reports every test, and its line coverage, out of band.

Load it with ``-p fillrate_pytest`` and this directory on ``PYTHONPATH``; the
working directory must be the root of the repository.  It works with pytest 7
and 8 on Python 3.9 and later, in one process (``-p no:xdist``).

Environment:

``FILLRATE_REPORT``
    The file that JSON lines are appended to.  Required.
``FILLRATE_SELECT``
    A JSON file with the list of node ids to run.  Without it, all tests run.
``FILLRATE_COVERAGE`` = ``1``
    Also record which lines each test runs.
``FILLRATE_COVERAGE_FILES``
    A JSON file with the list of repository-relative files to measure.

Lines written (``event``): ``test``, ``collect_error``, ``coverage``,
``harness_error`` and, last, ``end``.  A run without an ``end`` line did not
finish, whatever its exit status says.  A fault of the plugin itself ends the
process at once with status 70, so that it can never pass for a test's result.
"""

import functools
import json
import os
import sys
import traceback
import warnings

import pytest

#: Exit status of a run whose harness broke; pytest itself uses 0 to 5.
HARNESS_BROKEN = 70
#: Longest failure message that is kept, in characters.
MESSAGE_LIMIT = 4000
#: Coverage context of whatever runs between two tests; it is not reported.
BETWEEN_TESTS = "\0between"


class Report:
    """The append-only file of JSON lines."""

    def __init__(self, path, root):
        """Open the file; each line is one write, so nothing waits in a buffer."""
        self.descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.owner = os.getpid()
        self.prefix = os.path.join(root, "")

    def write(self, event, **fields):
        """Append one line, unless this is a child that a test has forked."""
        if os.getpid() != self.owner:
            return
        line = json.dumps({"event": event, **fields}, separators=(",", ":")) + "\n"
        left = line.encode("ascii")
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

    def __init__(self, report, root, selected, coverage):
        """Keep the settings; ``selected`` is None when every test runs."""
        self.report = report
        self.root = root
        self.selected = selected
        self.selected_files = selected and {name.split("::")[0] for name in selected}
        self.coverage = coverage
        self.phases = []
        self.tests = 0

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

    @pytest.hookimpl(trylast=True)
    @guarded
    def pytest_collection_modifyitems(self, config, items):
        """Deselect by exact node id, after other plugins have renamed items."""
        if self.selected is None:
            return
        dropped = [item for item in items if item.nodeid not in self.selected]
        if dropped:
            items[:] = [item for item in items if item.nodeid in self.selected]
            config.hook.pytest_deselected(items=dropped)

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
        self.report.write("end", status=int(pytest.ExitCode.USAGE_ERROR), tests=0)

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
        self.test_starts(item.nodeid)
        yield
        self.test_ended(item.nodeid)

    @guarded
    def test_starts(self, nodeid):
        """Begin the test's coverage context."""
        self.phases = []
        if self.coverage:
            self.coverage.switch(nodeid)

    @guarded
    def pytest_runtest_logreport(self, report):
        """Keep the reports of the phases of the test that runs now."""
        self.phases.append(report)

    @guarded
    def test_ended(self, nodeid):
        """Close the coverage context and write the test's line."""
        if self.coverage:
            self.coverage.switch(BETWEEN_TESTS)
        outcome, message = self.judge()
        seconds = round(sum(phase.duration for phase in self.phases), 6)
        message = self.report.message(message)
        self.tests += 1
        self.report.write("test", id=nodeid, outcome=outcome, seconds=seconds, message=message)

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
        self.report.write("end", status=int(session.exitstatus), tests=self.tests)


def skip_reason(phase):
    """Give the reason of a skip, which pytest keeps as (path, line, reason)."""
    if isinstance(phase.longrepr, tuple):
        return str(phase.longrepr[2])
    return phase.longreprtext


def read_json(variable):
    """Read the JSON file that an environment variable names, if it does."""
    path = os.environ.get(variable)
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def create():
    """Build the plugin from the environment and start coverage at once.

    This runs when pytest imports the module for ``-p``, before any conftest.py
    and so before the project is imported.
    """
    report = None
    try:
        root = os.path.realpath(os.getcwd())
        report = Report(os.environ["FILLRATE_REPORT"], root)
        selected = read_json("FILLRATE_SELECT")
        coverage = None
        if os.environ.get("FILLRATE_COVERAGE") == "1":
            files = read_json("FILLRATE_COVERAGE_FILES")
            if files is None:
                raise ValueError("FILLRATE_COVERAGE_FILES is not set")
            coverage = LineCoverage(root, files)
        # The tests have no use for these, and must not come to depend on them.
        for name in [name for name in os.environ if name.startswith("FILLRATE_")]:
            del os.environ[name]
        return Plugin(report, root, None if selected is None else set(selected), coverage)
    except Exception as error:
        return break_off(report, error)


#: pytest registers the module, and a module's functions are its hooks; these
#: are the instance's bound methods under the names that pytest looks for.
_plugin = create()
for _name in dir(_plugin):
    if _name.startswith("pytest_"):
        globals()[_name] = getattr(_plugin, _name)
