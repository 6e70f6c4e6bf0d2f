// A jest reporter, for jest 28 and later with its own runner jest-circus, that
// writes every test's outcome out of band.
//
// Use: jest --config=fillrate.jest.config.cjs, which names this file, with the
// working directory at the root of the repository.
//
// Input and output are described in fillrate_report.cjs.  Only jest's main process
// knows the nonce.  Tests run in other processes or, if jest expects that to be
// faster, in a context of their own in this one.

"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { Report, SENTINEL, message, preload, readLine, refuseInspector, repositoryPath } = require("./fillrate_report.cjs");

/** The prefix of files in which set-up files write lines. */
const SCRATCH = "/tmp/fillrate.cov.";
refuseInspector();
preload(
  ["jest", "@jest/core"],
  ["jest", "@jest/core", "jest-haste-map"],
  ["jest", "@jest/core", "jest-runner"],
  ["jest", "@jest/core", "jest-config", "jest-circus/runner"],
  ["jest", "@jest/core", "jest-config", "babel-jest", "@babel/core"],
  ["ts-jest", "typescript"],
);
const instructions = readLine(0);
const report = new Report(0, instructions.nonce);
const selected = instructions.select && new Set(instructions.select);

/** Return the id of a test. */
function idOf(file, { ancestorTitles, title }) {
  return [repositoryPath(file), ...ancestorTitles, title].join(" > ");
}

/** Return whether a result is the sentinel's. */
function isSentinel({ title }) {
  return title === SENTINEL;
}

/** The reporter; jest makes one instance. */
class FillrateReporter {
  tests = 0;
  /** By kind of sentinel: the files in which it did not fail. */
  sentinels = { expectations: [], test: [] };
  ran = false;

  /** End the run at the first failed test, if the instructions say so. */
  onTestCaseResult(test, result) {
    report.guard(() => {
      if (!instructions.first_failure_ends || isSentinel(result) || result.status !== "failed") return;
      // It may be run again, and pass.
      if (fs.existsSync(`${SCRATCH}retries`)) return;
      if (this.write(test.path, result)) process.exit(1);
    });
  }

  /** Write the lines of one file. */
  onTestFileResult(test, results) {
    report.guard(() => {
      const file = repositoryPath(test.path);
      if (results.testExecError) {
        const { testExecError: error } = results;
        const text = message(error);
        const syntax = /SyntaxError/.test(text);
        report.write({ event: "collect_error", id: file, message: text, syntax });
      }
      for (const result of results.testResults) {
        if (!isSentinel(result)) this.write(test.path, result);
      }
      this.checkSentinel(file, results.testResults);
    });
  }

  /** Write the line of a selected test; return whether it is selected. */
  write(file, result) {
    const id = idOf(file, result);
    if (selected && !selected.has(id)) return false;
    const outcomes = { passed: "passed", failed: "failed" };
    this.tests += 1;
    report.write({
      event: "test",
      id,
      outcome: outcomes[result.status] ?? "skipped",
      // From milliseconds to seconds, rounded to microseconds.
      seconds: Math.round((result.duration ?? 0) * 1000) / 1e6,
      message: message({ name: "", message: "", stack: (result.failureMessages ?? []).join("\n") }),
    });
    return true;
  }

  /** Check the sentinel of a file, if any of its tests ran. */
  checkSentinel(file, results) {
    const ran = ({ status }) => ["passed", "failed"].includes(status);
    if (!results.some((result) => ran(result) && !isSentinel(result))) return;
    this.ran = true;
    const own = results.filter(isSentinel);
    const said = own[0]?.failureMessages?.[0]?.split("\n")[0] ?? "";
    const start = `Error: ${instructions.token}`;
    const failed = own.length === 1 && own[0].status === "failed" && said.startsWith(start);
    if (!failed) this.sentinels.test.push(file);
    const ineffective = said.slice(start.length);
    if (!failed || ineffective) this.sentinels.expectations.push(`${file}: ${ineffective}`);
  }

  /** Write the rest, then the line that marks the run as complete. */
  onRunComplete(_contexts, results) {
    report.guard(() => {
      for (const [id, passed] of this.ran ? Object.entries(this.sentinels) : []) {
        const outcome = passed.length > 0 ? "passed" : "failed";
        report.write({ event: "sentinel", id, outcome, message: `${instructions.token} ${passed}` });
      }
      this.gatherCoverage();
      const end = { event: "end", tests: this.tests };
      if (results.runExecError) end.message = message(results.runExecError);
      // Without its end, a report is not complete.
      if (!results.wasInterrupted) report.write(end);
    });
  }

  /** Move the lines of the set-up files into the report. */
  gatherCoverage() {
    if (!instructions.coverage) return;
    const prefix = path.basename(SCRATCH);
    const folder = path.dirname(SCRATCH);
    const names = fs.readdirSync(folder).filter((name) => name.startsWith(prefix));
    for (const name of names.sort()) {
      const file = path.join(folder, name);
      for (const line of fs.readFileSync(file, "utf8").split("\n").slice(0, -1)) {
        report.write({ event: "coverage", ...JSON.parse(line) });
      }
      fs.unlinkSync(file);
    }
  }
}

module.exports = FillrateReporter;
Object.assign(module.exports, { SCRATCH, instructions });
