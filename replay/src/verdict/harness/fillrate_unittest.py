"""What runs Python's own unittest, and reports every test out of band.

Start it with ``python -m fillrate_unittest ARGUMENTS`` and this directory on
``PYTHONPATH``; the working directory must be the root of the repository.  The
arguments are those of ``python -m unittest``: none means discovery from the
root.  It works on Python 3.9 and later.

What is read and written is described in ``fillrate_report``.  A test's id is
``TestCase.id()``; of several tests of one id, all but the first are numbered.
Suites are taken apart into their tests, which run in the same order and with
their class's and module's fixtures; a suite class of the project's own that
does more than hold tests is not asked.

Sentinels are tests that must fail.  They run last and through everything that
the project's own tests run through, so that whoever bends that bends them.
"""

import os
import sys
import threading
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
    break_off,
    guarded,
    is_syntax_error,
    left_threads,
    take_order,
)


class Seal(fillrate_report.Seal):
    """The seal of what decides under unittest."""

    #: Modules that decide over every test; they are looked at after each one.
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
    """Make the tests that must fail, one for each way to say no."""
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
    """Give the code of the function that a test calls."""
    function = getattr(test, getattr(test, "_testMethodName", ""), None)
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", function)


def standing_of(test):
    """List what takes the place of unittest's own methods in a test."""
    standing = set()
    for holder in (test, *type(test).__mro__):
        if holder in (unittest.TestCase, unittest.IsolatedAsyncioTestCase, object):
            continue
        for name, value in vars(holder).items():
            if callable(getattr(unittest.TestCase, name, None)):
                standing.add((name, id(value)))
    return standing


def text_of(kind, error, trace):
    """Write an exception, what it says first and then where, from the test on."""
    while trace is not None and "__unittest" in trace.tb_frame.f_globals:
        trace = trace.tb_next
    said = "".join(traceback.format_exception_only(kind, error))
    return said + "".join(traceback.format_exception(kind, error, trace))


class Result(unittest.TestResult):
    """What unittest tells how each test ends."""

    def __init__(self, report, order, seal, coverage, tests, sentinels):
        """Keep what is to be run, in order, and what each test looks like now."""
        super().__init__()
        self.report = report
        self.first_failure_ends = order["first_failure_ends"]
        self.seal = seal
        self.coverage = coverage
        self.ids = {id(test): name for name, test in tests}
        self.sentinels = {id(test): test._testMethodName for test in sentinels}
        self.cases = [test for _, test in tests]
        self.names = [name for name, _ in tests]
        self.places = {id(test): place for place, test in enumerate(self.cases)}
        self.looks = {
            id(test): (code_of(test), standing_of(test))
            for test in [*self.cases, *sentinels]
        }
        self.written = set()
        self.traced = sys.gettrace()
        #: The way to the next test, its class's fixtures included, counts as its own.
        self.next = 0
        self.tell_coverage()
        self.forget()

    def forget(self):
        """Begin anew with a test that nothing is known of."""
        self.failures_now = []
        self.passed_now = False
        self.skipped_now = None

    def tell_coverage(self):
        """Count the lines from now on for the test that is next."""
        if self.coverage:
            left = self.names[self.next : self.next + 1]
            self.coverage.switch(left[0] if left else BETWEEN_TESTS)

    @guarded
    def startTest(self, test):
        """Begin one test."""
        super().startTest(test)
        self.forget()
        self.started = time.perf_counter()
        name = self.ids.get(id(test))
        if name is not None:
            self.next = self.places[id(test)]
            self.tell_coverage()
        if code_of(test) is not self.looks[id(test)][0]:
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
        """The test, a part of it or its whole class did not want to run."""
        if self.is_fixture(test):
            self.spoil(test, "skipped", reason)
        else:
            self.skipped_now = str(reason)

    @guarded
    def addExpectedFailure(self, test, err):
        """A failure that is expected is no answer: a skip, as in pytest's terms."""
        self.skipped_now = "The failure is expected."

    @guarded
    def addUnexpectedSuccess(self, test):
        """A test that should fail passed."""
        self.failures_now.append("The failure that is expected did not come.")
        self.errors.append((test, self.failures_now[-1]))

    def failed(self, test, err):
        """Keep what was raised."""
        text = text_of(*err)
        # unittest's own exit status depends on this list.
        self.errors.append((test, text))
        if self.is_fixture(test):
            self.spoil(test, "error", text)
        else:
            self.failures_now.append(text)

    @staticmethod
    def is_fixture(test):
        """Say whether this is no test but stands for a fixture of many."""
        return isinstance(test, unittest.suite._ErrorHolder)

    def spoil(self, holder, outcome, message):
        """Write the tests that a class's or module's fixture takes with it.

        After a failed set-up they don't run.  After a failed end they have run
        and passed: the last of them takes it, as the last test of a class does
        in pytest.
        """
        what, _, scope = holder.description.partition(" (")
        scope = scope.rstrip(")")
        spoilt = [
            test
            for test in self.cases
            if scope in (strclass(type(test)), type(test).__module__)
        ]
        if what.startswith("tearDown"):
            spoilt = [test for test in spoilt if id(test) in self.written][-1:]
        else:
            spoilt = [test for test in spoilt if id(test) not in self.written]
        for test in spoilt:
            self.write(test, outcome, 0.0, message)
        if not spoilt:
            text = self.report.message(message)
            self.report.write("collect_error", id=holder.description, message=text)

    @guarded
    def stopTest(self, test):
        """Close the coverage context and write the test's line."""
        super().stopTest(test)
        seconds = time.perf_counter() - self.started
        self.look(test)
        outcome, message = self.judge()
        self.write(test, outcome, seconds, message)
        if id(test) in self.ids:
            self.next += 1
            self.tell_coverage()
            if self.first_failure_ends and outcome == "failed":
                self.stop()

    def judge(self):
        """Reduce what was said of the test to one outcome and its message."""
        if self.failures_now:
            return "failed", self.failures_now[0]
        if self.passed_now:
            return "passed", ""
        if self.skipped_now is not None:
            return "skipped", self.skipped_now
        return "error", "The test was interrupted."

    def look(self, test):
        """Look at what decides, before the next test runs."""
        for name in self.seal.deciding():
            self.report.write("broken", what=name)
        if sys.gettrace() is not self.traced or sys.getprofile() is not None:
            self.report.write("broken", what="the interpreter's trace function")
        for name in vars(self):
            if callable(getattr(Result, name, None)):
                self.report.write("broken", what=f"the result's {name}")
        before = self.looks[id(test)][1]
        for name, _ in sorted(standing_of(test) - before):
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
        """Run nothing: ``test`` is what was asked for."""


def sort_out(report, tests):
    """Report what could not be loaded; give the tests with their ids."""
    named, used = [], {}
    whole = True
    for test in tests:
        if isinstance(test, unittest.loader._FailedTest):
            whole = False
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
    return named, whole


def run(report, root, order):
    """Load the tests, run those that are asked for, report; give the status."""
    seal = Seal()
    files = order["coverage"]
    coverage = None if files is None else LineCoverage(root, files)
    threads = set(threading.enumerate())
    loaded = Loaded(module=None, argv=["python -m unittest", *sys.argv[1:]], exit=False)
    named, whole = sort_out(report, tests_of(loaded.test))
    if order["select"] is not None:
        selected = set(order["select"])
        named = [(name, test) for name, test in named if name in selected]
    inside = os.path.join(root, "")
    modules = {sys.modules.get(type(test).__module__) for _, test in named}
    # The project's own modules may do to themselves what they like.
    seal.extend(
        lambda name, module: module in modules
        or not str(getattr(module, "__file__", None) or inside).startswith(inside)
    )
    sentinels = make_sentinels(order["token"]) if named else []
    result = Result(report, order, seal, coverage, named, sentinels)
    if whole:
        unittest.TestSuite([*(test for _, test in named), *sentinels]).run(result)
    if coverage:
        for test, name, lines in coverage.finish():
            report.write("coverage", test=test, file=name, lines=lines)
    marks = sorted(set(seal.marks()) | set(left_threads(threads)))
    report.write("end", tests=len(result.written), marks=marks)
    return 0 if whole and result.wasSuccessful() else 1


def main():
    """Take the order and run; a fault of this file ends with a status of its own."""
    report = None
    try:
        order, descriptor = take_order()
        root = os.path.realpath(os.getcwd())
        report = Report(descriptor, order["nonce"], root)
        return run(report, root, order)
    except Exception as error:
        return break_off(report, error)


if __name__ == "__main__":
    sys.exit(main())
