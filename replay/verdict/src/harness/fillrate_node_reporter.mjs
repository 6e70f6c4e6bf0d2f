// The reporter of one file's process under node's own runner; see
// fillrate_node_file.mjs, which loads it first.
//
// It is a file of its own, since node waits for the whole reporter before it starts
// the first test, and the program may wait for that test.

import nodeTest from "node:test";
import {
  LineCoverage, Report, SENTINEL, Snapshot, coreObjects, isSyntaxError, libraryObjects,
  lockAssertions, message, readLine,
} from "./fillrate_report.cjs";

const { nonce, token, file, coverage: files } = readLine(3);
export { file, token };
const report = new Report(3, nonce);
const { afterEach, beforeEach } = nodeTest;
const deciding = new Snapshot({ ...coreObjects(), "node:test": nodeTest });
const all = new Snapshot(libraryObjects());
lockAssertions();
export const coverage = files && new LineCoverage(files);
/** The file's own exception. */
let fault;

/** Record that the file can't be loaded. */
export function failedToLoad(error) {
  fault = { error };
}

let context;

/** Return the id of a test by its full name. */
function idOf(name) {
  return `${file} > ${name}`;
}

/** Return the test that a hook is called for, unless it is the sentinel. */
function ownTest({ name, fullName }) {
  if (name === SENTINEL) return undefined;
  if (fullName === undefined) throw new Error("Recording lines takes Node 20.16, 22.3 or newer.");
  return idOf(fullName);
}

/** Report functions of the framework that were replaced since the last test. */
function checkFramework() {
  for (const what of deciding.broken()) report.write({ event: "broken", what });
  for (const what of context?.broken() ?? []) report.write({ event: "broken", what });
}

beforeEach((test) => report.guard(() => {
  context ??= new Snapshot({ "a test's context": Object.getPrototypeOf(test) });
  const id = coverage && ownTest(test);
  if (id) coverage.startTest(id);
}));
afterEach((test) => report.guard(() => {
  checkFramework();
  const id = coverage && ownTest(test);
  if (id) coverage.endTest(id);
}));

/** The reporter: turns node:test's events into lines. */
export default async function* fillrate(source) {
  const names = [];
  let tests = 0;
  for await (const { type, data } of source) {
    if (type === "test:start") {
      // A test starts after the suites around it, each one level above the next.
      names.length = data.nesting;
      names.push(data.name);
    } else if (type === "test:pass" || type === "test:fail") {
      const id = idOf([...names.slice(0, data.nesting), data.name].join(" > "));
      if (data.name === SENTINEL) report.guard(() => sentinelEnded(data, type));
      else if (report.guard(() => testEnded(id, data, type))) tests += 1;
    }
  }
  report.guard(() => {
    checkFramework();
    if (fault) collectError();
    // Under node's runner, a file without tests is a test itself.
    else if (tests === 0) report.write({ event: "test", id: file, outcome: "passed", seconds: 0 });
    for (const event of coverage?.events() ?? []) report.write(event);
    report.write({ event: "end", marks: all.broken().map((what) => `changed ${what}`) });
  });
}

/** Write a test's line; return whether it is a test. */
function testEnded(id, data, type) {
  const { error } = data.details;
  const failed = type === "test:fail";
  // A suite fails with its tests; only the failure of its hooks is its own.
  if (data.details.type === "suite" && (!failed || error?.failureType === "subtestsFailed")) return false;
  const skipped = data.skip !== undefined || data.todo !== undefined;
  const outcome = skipped ? "skipped" : failed ? "failed" : "passed";
  const seconds = Math.round(data.details.duration_ms * 1000) / 1e6;
  const said = skipped ? String(data.skip ?? data.todo) : message(error?.cause ?? error);
  report.write({ event: "test", id, outcome, seconds, message: said });
  return true;
}

/** Write the sentinel's lines. */
function sentinelEnded(data, type) {
  const said = String(data.details.error?.cause?.message);
  const failed = type === "test:fail" && said.startsWith(token);
  const ineffective = said.slice(token.length);
  report.write({ event: "sentinel", id: "test", outcome: failed ? "failed" : "passed" });
  report.write({ event: "sentinel", id: "expectations", outcome: failed && !ineffective ? "failed" : "passed" });
}

/** Report that the file can't be loaded. */
function collectError() {
  report.write({
    event: "collect_error", id: file, message: message(fault.error), syntax: isSyntaxError(fault.error),
  });
}
