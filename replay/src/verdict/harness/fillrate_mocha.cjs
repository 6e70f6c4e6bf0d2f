// A mocha reporter, from mocha 8 on, that writes every test's outcome out of band.
//
// Use: mocha --require <this file> --reporter <this file> --no-parallel, with the
// working directory at the root of the repository.  As a required module it is
// loaded before any code of the project.
//
// What is read and written is described in fillrate_report.cjs.  All files are
// loaded and run in this one process.  When the run begins, tests that are not
// selected are taken out of their suites, and one that must fail is appended to
// the root suite: mocha ends with the number of failures as its status.

"use strict";

const {
  LineCoverage, Report, SENTINEL, Seal, expectations, foundations, libraries,
  message, repositoryPath, silent, takeLine,
} = require("./fillrate_report.cjs");

const order = takeLine(0);
const report = new Report(0, order.nonce);
const coverage = order.coverage && new LineCoverage(order.coverage);
const all = new Seal(libraries());
let begun = false;

// What mocha can't load it tells nobody but the terminal.
process.once("exit", () => {
  if (!begun) report.write({ event: "collect_error", id: "the tests", message: "see the output" });
});

/** Give a test's or a hook's id. */
function idOf(runnable) {
  let holder = runnable;
  while (holder && !holder.file) holder = holder.parent;
  const file = holder ? repositoryPath(holder.file) : "";
  return [file, ...runnable.titlePath()].join(" > ");
}

/** Expectations of chai that don't hold, where the project has chai. */
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

/** Keep of a suite and the suites in it only the tests that are wanted. */
function narrow(suite, wanted) {
  suite.tests = suite.tests.filter(wanted);
  for (const inner of suite.suites) narrow(inner, wanted);
  suite.suites = suite.suites.filter((inner) => inner.total() > 0);
}

/** The reporter. */
class FillrateReporter {
  constructor(runner) {
    this.runner = runner;
    this.tests = 0;
    this.errors = new Map();
    const on = (event, work) => runner.on(event, (...args) => report.guard(() => work(...args)));
    on("start", () => this.begin());
    on("test", (test) => this.own(test) && coverage?.begins(idOf(test)));
    on("fail", (runnable, error) => this.failed(runnable, error));
    on("test end", (test) => this.ended(test));
    on("end", () => this.end());
  }

  /** Say whether a test is the project's. */
  own(test) {
    return test !== this.sentinel;
  }

  /** Choose the tests, and add what must fail. */
  begin() {
    begun = true;
    coverage?.imported();
    const { runner } = this;
    if (runner.isParallelMode?.()) throw new Error("mocha's parallel mode is not supported.");
    const { suite } = runner;
    const { Suite, Test, Runnable, Hook, Runner } = require("mocha");
    this.deciding = new Seal({
      ...foundations(),
      "mocha Hook": Hook.prototype,
      "mocha Runnable": Runnable.prototype,
      "mocha Runner": Runner.prototype,
      "mocha Suite": Suite.prototype,
      "mocha Test": Test.prototype,
      "mocha reporter": FillrateReporter.prototype,
    });
    // A pattern for names would leave out the sentinel as well.
    const { _grep: pattern, _invert: inverted } = runner;
    if (pattern) {
      narrow(suite, (test) => pattern.test(test.fullTitle()) !== Boolean(inverted));
      runner._grep = runner._defaultGrep;
      runner._invert = false;
    }
    if (order.select) {
      const selected = new Set(order.select);
      narrow(suite, (test) => selected.has(idOf(test)));
    }
    if (suite.total() === 0) return;
    const own = expectations(order.token);
    this.sentinel = new Test(SENTINEL, async () => {
      const bent = await silent({ ...own, ...(await chaiExpectations(order.token)) });
      throw new Error(`${order.token}${bent}`);
    });
    this.sentinel.retries(0);
    const last = Suite.create(suite, SENTINEL);
    last.addTest(this.sentinel);
  }

  /** Keep what was thrown; a hook's fault is an error of the test it was called for. */
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
    this.look();
    const error = this.errors.get(test);
    if (!this.own(test)) {
      const said = String(error?.message);
      const failed = test.state === "failed" && said.startsWith(order.token);
      const bent = said.slice(order.token.length);
      this.hold("test", failed);
      this.hold("expectations", failed && !bent, bent);
      return;
    }
    coverage?.ends(idOf(test));
    const outcomes = { passed: "passed", failed: "failed", pending: "skipped" };
    this.write(test, outcomes[test.state] ?? (test.isPending() ? "skipped" : "error"), message(error));
  }

  /** Say what a sentinel came to. */
  hold(id, failed, said = "") {
    const outcome = failed ? "failed" : "passed";
    report.write({ event: "sentinel", id, outcome, message: `${order.token} ${said}` });
  }

  /** Write one line, and end the run at the first failure if it was ordered so. */
  write(runnable, outcome, said) {
    this.tests += 1;
    const seconds = Math.round((runnable.duration ?? 0) * 1000) / 1e6;
    report.write({ event: "test", id: idOf(runnable), outcome, seconds, message: said });
    if (order.first_failure_ends && ["failed", "error"].includes(outcome)) this.runner.abort();
  }

  /** Look at what decides, between two tests. */
  look() {
    for (const what of this.deciding.broken()) report.write({ event: "broken", what });
  }

  /** Write what is left, then the line that says the run is complete. */
  end() {
    this.look();
    for (const event of coverage?.events() ?? []) report.write(event);
    const marks = all.broken().map((what) => `changed ${what}`);
    report.write({ event: "end", tests: this.tests, marks });
  }
}

module.exports = FillrateReporter;
