// A mocha reporter, from mocha 5 on, that writes every test's outcome out of band.
//
// Use: mocha --require <this file> --reporter <this file>, without parallel mode, with the
// working directory at the root of the repository.  As a required module it is
// loaded before any code of the project.
//
// Input and output are described in fillrate_report.cjs.  All files are loaded and
// run in this one process.  When the run starts, unselected tests are removed from
// their suites and the sentinel is appended to the root suite: mocha exits with
// the number of failures.

"use strict";

const {
  FlagCheck, LineCoverage, Report, SENTINEL, Snapshot, coreObjects, expectations, findIneffective,
  libraryObjects, lockAssertions, message, preload, readLine, repositoryPath,
} = require("./fillrate_report.cjs");

preload(["ts-node", "typescript"]);
// Tests may put others in their places.
const [exit, later] = [process.exit.bind(process), setTimeout];
const instructions = readLine(0);
const report = new Report(0, instructions.nonce);
const coverage = instructions.coverage && new LineCoverage(instructions.coverage);
const all = new Snapshot(libraryObjects());
lockAssertions();
let started = false;

// mocha reports files that it can't load on the terminal alone.
process.once("exit", () => {
  if (!started) report.write({ event: "collect_error", id: "the tests", message: "see the output" });
});

/** Return a test's or a hook's id. */
function idOf(runnable) {
  let holder = runnable;
  while (holder && !holder.file) holder = holder.parent;
  const file = holder ? repositoryPath(holder.file) : "";
  return [file, ...runnable.titlePath()].join(" > ");
}

/** Return expectations of chai that must fail, if the project has chai. */
async function chaiExpectations(token) {
  const chai = await import("chai").catch(() => undefined);
  if (!chai?.expect) return {};
  const { assert, expect } = chai;
  const wrong = [...token].reverse().join("");
  return {
    "chai.assert": () => assert(token === wrong),
    "chai.assert.equal": () => assert.equal(token, wrong),
    "chai.assert.deepEqual": () => assert.deepEqual([token], [wrong]),
    "chai equal": () => expect(token).to.equal(wrong),
    "chai deep equal": () => expect({ list: [token] }).to.deep.equal({ list: [wrong] }),
    "chai throw": () => expect(() => token).to.throw(),
    "chai true": () => expect(token === wrong).to.be.true,
    "chai not": () => expect(token).to.not.equal(token),
  };
}

/** List the tests of a suite and of the suites in it. */
function testsOf(suite) {
  return [...suite.tests, ...suite.suites.flatMap(testsOf)];
}

/** Return what decides over how often a test runs, as a text. */
function flagsOf({ _retries: retries }) {
  return String(retries);
}

/** Remove the unwanted tests of a suite and the suites in it. */
function narrow(suite, wanted) {
  suite.tests = suite.tests.filter(wanted);
  for (const inner of suite.suites) narrow(inner, wanted);
  suite.suites = suite.suites.filter((inner) => inner.total() > 0);
}

/** Time that a process with a failed test may stay after its last test, in milliseconds. */
const LEAVING_MS = 500;

/** The reporter. */
class FillrateReporter {
  constructor(runner) {
    this.runner = runner;
    this.tests = 0;
    this.hasFailed = false;
    this.errors = new Map();
    const on = (event, work) => runner.on(event, (...args) => report.guard(() => work(...args)));
    on("start", () => this.begin());
    on("test", (test) => this.own(test) && coverage?.startTest(idOf(test)));
    on("fail", (runnable, error) => this.failed(runnable, error));
    on("test end", (test) => this.ended(test));
    on("end", () => this.end());
  }

  /** Return whether a test is the project's. */
  own(test) {
    return test !== this.sentinel;
  }

  /** Select the tests, and add the sentinel. */
  begin() {
    started = true;
    coverage?.endImports();
    const { runner } = this;
    if (runner.isParallelMode?.()) throw new Error("mocha's parallel mode is not supported.");
    const { suite } = runner;
    const { Suite, Test, Runnable, Hook, Runner } = require("mocha");
    this.deciding = new Snapshot({
      ...coreObjects(),
      "mocha Hook": Hook.prototype,
      "mocha Runnable": Runnable.prototype,
      "mocha Runner": Runner.prototype,
      "mocha Suite": Suite.prototype,
      "mocha Test": Test.prototype,
      "mocha reporter": FillrateReporter.prototype,
    });
    // A name pattern would leave out the sentinel as well.
    const { _grep: pattern, _invert: inverted } = runner;
    if (pattern) {
      narrow(suite, (test) => pattern.test(test.fullTitle()) !== Boolean(inverted));
      runner._grep = runner._defaultGrep;
      runner._invert = false;
    }
    if (instructions.select) {
      const selected = new Set(instructions.select);
      narrow(suite, (test) => selected.has(idOf(test)));
    }
    this.flags = new FlagCheck(testsOf(suite), flagsOf);
    if (suite.total() === 0) return;
    const own = expectations(instructions.token);
    this.sentinel = new Test(SENTINEL, async () => {
      const ineffective = await findIneffective({ ...own, ...(await chaiExpectations(instructions.token)) });
      throw new Error(`${instructions.token}${ineffective}`);
    });
    this.sentinel.retries(0);
    const last = Suite.create(suite, SENTINEL);
    last.addTest(this.sentinel);
  }

  /** Keep what was thrown; a hook's error is one of the test it was called for. */
  failed(runnable, error) {
    if (runnable.type !== "hook") {
      this.errors.set(runnable, error);
      return;
    }
    const test = runnable.ctx?.currentTest;
    this.write(test && this.own(test) ? test : runnable, "error", message(error));
  }

  /** Write a test's line. */
  ended(test) {
    this.checkFramework();
    const error = this.errors.get(test);
    if (!this.own(test)) {
      const said = String(error?.message);
      const failed = test.state === "failed" && said.startsWith(instructions.token);
      const ineffective = said.slice(instructions.token.length);
      this.writeSentinel("test", failed);
      this.writeSentinel("expectations", failed && !ineffective, ineffective);
      return;
    }
    coverage?.endTest(idOf(test));
    const outcomes = { passed: "passed", failed: "failed", pending: "skipped" };
    this.write(test, outcomes[test.state] ?? (test.isPending() ? "skipped" : "error"), message(error));
  }

  /** Write a sentinel's line. */
  writeSentinel(id, failed, said = "") {
    const outcome = failed ? "failed" : "passed";
    report.write({ event: "sentinel", id, outcome, message: `${instructions.token} ${said}` });
  }

  /** Write one line, and end the run at the first failure if the instructions say so. */
  write(runnable, outcome, said) {
    this.tests += 1;
    const seconds = Math.round((runnable.duration ?? 0) * 1000) / 1e6;
    report.write({ event: "test", id: idOf(runnable), outcome, seconds, message: said });
    if (!["failed", "error"].includes(outcome)) return;
    this.hasFailed = true;
    if (instructions.first_failure_ends) this.runner.abort();
  }

  /** Report functions of the framework that were replaced since the last test. */
  checkFramework() {
    const broken = [...this.deciding.broken(), ...(this.flags?.changed() ?? [])];
    for (const what of broken) report.write({ event: "broken", what });
  }

  /** Write the rest, then the line that marks the run as complete. */
  end() {
    this.checkFramework();
    for (const event of coverage?.events() ?? []) report.write(event);
    const marks = all.broken().map((what) => `changed ${what}`);
    report.write({ event: "end", tests: this.tests, marks });
    // Without its option `--exit`, mocha waits for what a failed test left open, such as a server
    // with a request that is never answered.  Only the time limit would end it.
    if (this.hasFailed) later(exit, LEAVING_MS).unref();
  }
}

module.exports = FillrateReporter;
