// A jest set-up file, the first of every test file's.
//
// It appends the sentinel, runs only the selected tests, and records the lines
// that each of them runs.  It depends on jest-circus, whose state it changes once
// the file is collected: see
// <https://github.com/jestjs/jest/tree/main/packages/jest-circus>.

"use strict";

const fs = require("node:fs");
const { SENTINEL, expectations, repositoryPath, findIneffective } = require("./fillrate_report.cjs");

const { token, select, coverage, scratch } = globalThis.FILLRATE;
delete globalThis.FILLRATE;
const selected = select && new Set(select);
const { afterAll, afterEach, beforeAll, beforeEach, expect, test } = globalThis;
const wrong = [...token].reverse().join("");

/** Return jest-circus's state of this test file. */
function circus() {
  const symbols = Object.getOwnPropertySymbols(globalThis);
  const symbol = symbols.find(({ description }) => description === "JEST_STATE_SYMBOL");
  if (!symbol) throw new Error("Only jest's own runner, jest-circus, is supported.");
  return globalThis[symbol];
}

/** List the titles from the file to a test. */
function titlesOf(test) {
  const titles = [];
  for (let part = test; part.parent; part = part.parent) titles.unshift(part.name);
  return titles;
}

/** Return a test's id. */
function idOf(test) {
  return [repositoryPath(expect.getState().testPath), ...titlesOf(test)].join(" > ");
}

/** List the tests in a block. */
function testsIn(block) {
  return block.children.flatMap((child) => (child.type === "test" ? [child] : testsIn(child)));
}

/** Expectations of jest that must fail, by name; they use the `expect` of the time of the call. */
const own = {
  ...expectations(token),
  toBe: () => globalThis.expect(token).toBe(wrong),
  toEqual: () => globalThis.expect({ list: [1, token] }).toEqual({ list: [1, wrong] }),
  toStrictEqual: () => globalThis.expect([token]).toStrictEqual([wrong]),
  toContain: () => globalThis.expect([token]).toContain(wrong),
  toMatch: () => globalThis.expect(token).toMatch(/^no$/),
  toThrow: () => globalThis.expect(() => token).toThrow(),
  not: () => globalThis.expect(token).not.toBe(token),
  toBeTruthy: () => globalThis.expect(token === wrong).toBeTruthy(),
  toBeCloseTo: () => globalThis.expect(token.length).toBeCloseTo(token.length + 1),
  rejects: () => globalThis.expect(Promise.resolve(token)).rejects.toThrow(),
  resolves: () => globalThis.expect(Promise.resolve(token)).resolves.toBe(wrong),
};

test(SENTINEL, async () => {
  const ineffective = await findIneffective(own);
  throw new Error(`${token}${ineffective}`);
});

beforeAll(() => {
  const state = circus();
  const { rootDescribeBlock: root, testNamePattern: pattern } = state;
  const isSentinel = (child) => child.name === SENTINEL && child.parent === root;
  const sentinel = root.children.find(isSentinel);
  root.children = [...root.children.filter((child) => child !== sentinel), sentinel];
  for (const test of testsIn(root)) {
    const matches = !pattern || pattern.test(titlesOf(test).join(" "));
    const wanted = matches && (!selected || selected.has(idOf(test)));
    if (test !== sentinel && !wanted) test.mode = "skip";
  }
  // Neither a name pattern nor a test that is marked to run alone may skip it.
  state.testNamePattern = null;
  sentinel.mode = "only";
});

/** Line coverage by test, from the counters that jest adds to files. */
class LineCoverage {
  constructor() {
    this.counts = new Map();
    this.lines = new Map();
    this.before = [""];
  }

  /** Add the lines that ran since the last call to these tests. */
  take(tests) {
    for (const [absolute, { s: counts, statementMap }] of Object.entries(globalThis.__coverage__ ?? {})) {
      const file = repositoryPath(absolute);
      const last = this.counts.get(file) ?? {};
      const ran = Object.keys(counts).filter((key) => counts[key] !== (last[key] ?? 0));
      this.counts.set(file, { ...counts });
      if (ran.length === 0) continue;
      for (const test of tests) {
        const key = JSON.stringify([test, file]);
        if (!this.lines.has(key)) this.lines.set(key, new Set());
        for (const line of linesRun(statementMap, new Set(ran))) this.lines.get(key).add(line);
      }
    }
  }

  /** Count lines for a test; what ran since the one before counts for both. */
  startTest(test) {
    if (this.before[0] === "") {
      this.take(this.before);
      this.before = [];
    }
    this.take([...this.before, test]);
    this.before = [test];
  }

  /** Write the lines for the reporter. */
  save() {
    this.take(this.before);
    const text = [...this.lines].map(([key, lines]) => {
      const [test, file] = JSON.parse(key);
      return `${JSON.stringify({ test, file, lines: [...lines].sort((a, b) => a - b) })}\n`;
    });
    const name = `${process.pid}.${Math.random().toString(36).slice(2)}`;
    fs.writeFileSync(scratch + name, text.join(""));
  }
}

/** List the lines whose innermost statement has run. */
function linesRun(statements, ran) {
  const lines = new Set();
  const length = ({ start, end }) => end.line - start.line;
  const nested = Object.entries(statements).sort(([, a], [, b]) => length(b) - length(a));
  for (const [key, { start, end }] of nested) {
    for (let line = start.line; line <= end.line; line += 1) {
      if (ran.has(key)) lines.add(line);
      else lines.delete(line);
    }
  }
  return lines;
}

if (coverage) {
  const recorder = new LineCoverage();
  const current = () => circus().currentlyRunningTest;
  beforeEach(() => {
    const test = current();
    if (test.name !== SENTINEL) recorder.startTest(idOf(test));
  });
  afterEach(() => recorder.take(recorder.before));
  afterAll(() => recorder.save());
}
