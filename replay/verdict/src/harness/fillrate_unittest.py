"""Runs Python's own unittest, and reports every test out of band.

Start it with ``python -m fillrate_unittest ARGUMENTS`` and this directory on
``PYTHONPATH``; the working directory must be the root of the repository.  The
arguments are those of ``python -m unittest``: none means discovery from the
root.  It works on Python 3.9 and later.

Input and output are described in ``fillrate_report``.  A test's id is
``TestCase.id()``; of several tests of one id, all but the first are numbered.
Suites are flattened into their tests, which run in the same order and with
their class's and module's fixtures; the project's own suite classes are
ignored.

Sentinels are tests that must fail.  They run last and through the same code as
the project's own tests, so that code which changes the framework affects them.
"""

import os
import sys
import time
import traceback
import unittest
import unittest.case
import unittest.loader
import unittest.suite
from unittest.util import strclass

import fillrate_report
from fillrate_report import (
    BETWEEN_TESTS,
    LineCoverage,
    Report,
    TestData,
    abort,
    guarded,
    is_syntax_error,
    observe_raises,
    read_instructions,
    refuse_loaded,
)


class Snapshot(fillrate_report.Snapshot):
    """The snapshot of the modules that decide under unittest."""

    #: Modules that decide over every test; checked after each one.
    DECIDING = (
        "builtins",
        "fillrate_report",
        "unittest",
        "unittest.async_case",
        "unittest.case",
        "unittest.loader",
        "unittest.result",
        "unittest.suite",
        __name__,
    )


def make_sentinels(token):
    """Make the sentinels, one for each way in which tests usually fail."""
    wrong = token[::-1]

    class SentinelTest(unittest.TestCase):
        def test_assertion(self):
            assert [1, token] == [1, wrong], token

        def test_equality(self):
            self.assertEqual(token, wrong, token)

        def test_exception(self):
            raise RuntimeError(token)

        def test_expected_exception(self):
            with self.assertRaisesRegex(ValueError, token):
                raise ValueError(wrong)

        def test_subtest(self):
            with self.subTest():
                self.assertIn(token, [wrong], token)

        def test_truth(self):
            self.assertTrue(token == wrong, token)

    return list(unittest.defaultTestLoader.loadTestsFromTestCase(SentinelTest))


def tests_of(suite):
    """Yield the tests of a suite and of the suites in it, in order."""
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from tests_of(part)
        else:
            yield part


def code_of(test):
    """Return the code of the function that a test calls."""
    function = getattr(test, getattr(test, "_testMethodName", ""), None)
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", function)


def holders_of(test):
    """Return the module and the class of a test, which may hold what it compares with."""
    return [sys.modules.get(type(test).__module__), type(test)]


def overrides_of(test):
    """List what overrides unittest's own methods in a test."""
    overrides = set()
    for holder in (test, *type(test).__mro__):
        if holder in (unittest.TestCase, unittest.IsolatedAsyncioTestCase, object):
            continue
        for name, value in vars(holder).items():
            if callable(getattr(unittest.TestCase, name, None)):
                overrides.add((name, id(value)))
    return overrides


def format_exception(kind, error, trace):
    """Format an exception: its message first, then the traceback from the test on."""
    # Frames of modules with this global are unittest's and this harness's, not the test's.
    while trace is not None and "__unittest" in trace.tb_frame.f_globals:
        trace = trace.tb_next
    said = "".join(traceback.format_exception_only(kind, error))
    return said + "".join(traceback.format_exception(kind, error, trace))


class Result(unittest.TestResult):
    """The result object, which unittest notifies of each test's outcome."""

    def __init__(self, report, instructions, snapshot, coverage, tests, sentinels, raised):
        """Keep the tests to run, in order, and what each test's code is now."""
        super().__init__()
        self.report = report
        #: What was raised since the test began.
        self.raised = raised
        self.first_failure_ends = instructions["first_failure_ends"]
        self.snapshot = snapshot
        self.coverage = coverage
        self.ids = {id(test): name for name, test in tests}
        self.sentinels = {id(test): test._testMethodName for test in sentinels}
        self.cases = [test for _, test in tests]
        self.names = [name for name, _ in tests]
        self.positions = {id(test): position for position, test in enumerate(self.cases)}
        self.initial = {
            id(test): (code_of(test), overrides_of(test))
            for test in [*self.cases, *sentinels]
        }
        self.data = TestData({holder for test in self.cases for holder in holders_of(test)})
        self.written = set()
        self.traced = sys.gettrace()
        #: Code that runs before the next test, its class's fixtures included, counts as its own.
        self.next = 0
        self.switch_coverage()
        self.reset()

    def reset(self):
        """Forget the last test."""
        self.raised.clear()
        self.failures_now = []
        self.passed_now = False
        self.skipped_now = None

    def switch_coverage(self):
        """Count the lines from now on for the next test."""
        if self.coverage:
            left = self.names[self.next : self.next + 1]
            self.coverage.switch(left[0] if left else BETWEEN_TESTS)

    @guarded
    def startTest(self, test):
        """Begin one test."""
        super().startTest(test)
        self.reset()
        self.started = time.perf_counter()
        name = self.ids.get(id(test))
        if name is not None:
            self.next = self.positions[id(test)]
            self.switch_coverage()
        if code_of(test) is not self.initial[id(test)][0]:
            self.report.write("broken", what=f"the function of {name}")

    @guarded
    def addSuccess(self, test):
        """The test passed, if none of its parts failed."""
        self.passed_now = True

    @guarded
    def addFailure(self, test, err):
        """An assertion failed."""
        self.failed(test, err)

    @guarded
    def addError(self, test, err):
        """Something was raised, in the test or in the fixtures around it."""
        self.failed(test, err)

    @guarded
    def addSubTest(self, test, subtest, err):
        """A part of the test ended."""
        if err is not None:
            self.failed(test, err)

    @guarded
    def addSkip(self, test, reason):
        """The test, a part of it or its whole class is skipped."""
        if self.is_fixture(test):
            self.fail_fixture_tests(test, "skipped", reason)
        else:
            self.skipped_now = str(reason)

    @guarded
    def addExpectedFailure(self, test, err):
        """An expected failure counts as skipped, as in pytest."""
        self.skipped_now = "The failure is expected."

    @guarded
    def addUnexpectedSuccess(self, test):
        """A test that should fail passed."""
        self.failures_now.append("The failure that is expected did not come.")
        self.errors.append((test, self.failures_now[-1]))

    def failed(self, test, err):
        """Keep what was raised."""
        text = format_exception(*err)
        # unittest's own exit status depends on this list.
        self.errors.append((test, text))
        if self.is_fixture(test):
            self.fail_fixture_tests(test, "error", text)
        else:
            self.failures_now.append(text)

    @staticmethod
    def is_fixture(test):
        """Return whether this is a fixture of several tests."""
        return isinstance(test, unittest.suite._ErrorHolder)

    def fail_fixture_tests(self, holder, outcome, message):
        """Write the results of tests whose class's or module's fixture fails.

        After a failed set-up they don't run.  After a failed teardown they have
        run and passed: the last of them gets the error, as the last test of a
        class does in pytest.
        """
        # A fixture's description is `setUpClass (module.Class)` or `setUpModule (module)`.
        what, _, scope = holder.description.partition(" (")
        scope = scope.rstrip(")")
        affected = [
            test
            for test in self.cases
            if scope in (strclass(type(test)), type(test).__module__)
        ]
        if what.startswith("tearDown"):
            affected = [test for test in affected if id(test) in self.written][-1:]
        else:
            affected = [test for test in affected if id(test) not in self.written]
        for test in affected:
            self.write(test, outcome, 0.0, message)
        if not affected:
            text = self.report.message(message)
            self.report.write("collect_error", id=holder.description, message=text)

    @guarded
    def stopTest(self, test):
        """Close the coverage context and write the test's line."""
        super().stopTest(test)
        seconds = time.perf_counter() - self.started
        self.check_framework(test)
        outcome, message = self.judge()
        # The test raised an exception that unittest takes for no failure.
        if outcome == "passed" and self.raised:
            outcome = "failed"
            error = self.raised[0]
            message = format_exception(type(error), error, error.__traceback__)
            self.errors.append((test, message))
        self.write(test, outcome, seconds, message)
        if id(test) in self.ids:
            self.next += 1
            self.switch_coverage()
            if self.coverage:
                self.snapshot.threads.note()
            if self.first_failure_ends and outcome == "failed":
                self.stop()

    def judge(self):
        """Reduce the test's results to one outcome and its message."""
        if self.failures_now:
            return "failed", self.failures_now[0]
        if self.passed_now:
            return "passed", ""
        if self.skipped_now is not None:
            return "skipped", self.skipped_now
        return "error", "The test was interrupted."

    def check_framework(self, test):
        """Report functions of the framework that were replaced, before the next test runs."""
        for name in self.snapshot.deciding():
            self.report.write("broken", what=name)
        for holder in holders_of(test):
            self.data.check(holder)
        if sys.gettrace() is not self.traced or sys.getprofile() is not None:
            self.report.write("broken", what="the interpreter's trace function")
        # An attribute of the object would hide its class's method.
        for name in vars(self):
            if callable(getattr(Result, name, None)):
                self.report.write("broken", what=f"the result's {name}")
        before = self.initial[id(test)][1]
        for name, _ in sorted(overrides_of(test) - before):
            self.report.write("broken", what=f"{type(test).__qualname__}.{name}")

    def write(self, test, outcome, seconds, message):
        """Write one line."""
        message = self.report.message(message)
        if id(test) in self.sentinels:
            name = self.sentinels[id(test)]
            self.report.write("sentinel", id=name, outcome=outcome, message=message)
            return
        self.written.add(id(test))
        name = self.ids.get(id(test), str(test))
        self.report.write(
            "test", id=name, outcome=outcome, seconds=round(seconds, 6), message=message
        )


class Loaded(unittest.TestProgram):
    """unittest's own reading of its arguments, up to the tests."""

    def runTests(self):
        """Run nothing: ``test`` has the loaded tests."""


def split_loaded(report, tests):
    """Report what can't be loaded; return the tests with their ids."""
    named, used = [], {}
    complete = True
    for test in tests:
        if isinstance(test, unittest.loader._FailedTest):
            complete = False
            error = test._exception
            name = test._testMethodName
            path = name.replace(".", "/") + ".py"
            report.write(
                "collect_error",
                id=path if os.path.exists(path) else name,
                message=report.message(str(error)),
                syntax=is_syntax_error(error) or "SyntaxError" in str(error),
            )
            continue
        name = test.id()
        used[name] = used.get(name, 0) + 1
        named.append((name if used[name] == 1 else f"{name} #{used[name]}", test))
    return named, complete


def run(report, root, instructions):
    """Load the tests, run the selected ones and report; return the status."""
    raised = observe_raises()
    snapshot = Snapshot()
    files = instructions["coverage"]
    coverage = None if files is None else LineCoverage(root, files)
    refuse_loaded(root, files or [])
    loaded = Loaded(module=None, argv=["python -m unittest", *sys.argv[1:]], exit=False)
    named, complete = split_loaded(report, tests_of(loaded.test))
    if instructions["select"] is not None:
        selected = set(instructions["select"])
        named = [(name, test) for name, test in named if name in selected]
    inside = os.path.join(root, "")
    modules = {sys.modules.get(type(test).__module__) for _, test in named}
    # The project may change its own modules.
    snapshot.extend(
        lambda name, module: module in modules
        or not str(getattr(module, "__file__", None) or inside).startswith(inside)
    )
    sentinels = make_sentinels(instructions["token"]) if named else []
    result = Result(report, instructions, snapshot, coverage, named, sentinels, raised)
    if complete:
        unittest.TestSuite([*(test for _, test in named), *sentinels]).run(result)
    if coverage:
        for test, name, lines in coverage.finish():
            report.write("coverage", test=test, file=name, lines=lines)
    marks = {*snapshot.marks(), *result.data.marks}
    report.write("end", tests=len(result.written), marks=sorted(marks))
    return 0 if complete and result.wasSuccessful() else 1


def main():
    """Read the instructions and run; an error of this file ends with a status of its own."""
    report = None
    try:
        instructions, descriptor = read_instructions()
        root = os.path.realpath(os.getcwd())
        report = Report(descriptor, instructions["nonce"], root)
        return run(report, root, instructions)
    except Exception as error:
        return abort(report, error)


if __name__ == "__main__":
    sys.exit(main())
