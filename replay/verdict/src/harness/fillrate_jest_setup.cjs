// A jest set-up file, the first of every test file's.
//
// It appends the sentinel, runs only the selected tests, and records the lines
// that each of them runs.  It depends on the runner of the tests within a file,
// whose tests it changes once the file is collected: jest-circus, or
// jest-jasmine2, which was the default before jest 27.  See
// <https://github.com/jestjs/jest/tree/main/packages/jest-circus>.

"use strict";

const fs = require("fs");
const {
  FlagCheck, SENTINEL, expectations, findIneffective, lock, lockAssertions, repositoryPath,
} = require("./fillrate_report.cjs");
const { decodeMappings, sourceLines } = require("./fillrate_source_map.cjs");

const { token, select, coverage, scratch } = globalThis.FILLRATE;
delete globalThis.FILLRATE;
const selected = select && new Set(select);
// A configuration may leave jest's functions out of the global scope.
const jestGlobals = globalThis.test ? globalThis : require("@jest/globals");
const { afterAll, afterEach, beforeAll, beforeEach, expect, test } = jestGlobals;
const expectNow = () => globalThis.expect ?? expect;
lockAssertions();
const wrong = [...token].reverse().join("");

/** Return the id of a test with these titles from the file to it. */
function idOf(titles) {
  return [repositoryPath(expect.getState().testPath), ...titles].join(" > ");
}

/** Return whether a test with these titles is selected. */
function isSelected(titles) {
  return !selected || selected.has(idOf(titles));
}

/** Expectations of jest that must fail, by name; they use the `expect` of the time of the call. */
const own = {
  ...expectations(token),
  toBe: () => expectNow()(token).toBe(wrong),
  toEqual: () => expectNow()({ list: [1, token] }).toEqual({ list: [1, wrong] }),
  toStrictEqual: () => expectNow()([token]).toStrictEqual([wrong]),
  toContain: () => expectNow()([token]).toContain(wrong),
  toMatch: () => expectNow()(token).toMatch(/^no$/),
  toThrow: () => expectNow()(() => token).toThrow(),
  not: () => expectNow()(token).not.toBe(token),
  toBeTruthy: () => expectNow()(token === wrong).toBeTruthy(),
  toBeCloseTo: () => expectNow()(token.length).toBeCloseTo(token.length + 1),
  rejects: () => expectNow()(Promise.resolve(token)).rejects.toThrow(),
  resolves: () => expectNow()(Promise.resolve(token)).resolves.toBe(wrong),
};

/** Return jest's matchers, by name. */
function matchers() {
  return globalThis[Symbol.for("$$jest-matchers-object")]?.matchers ?? {};
}

/** The names of jest's own matchers: a project may add some at any time. */
const builtins = Object.keys(matchers());

/** The tests of a file under jest-circus. */
class Circus {
  constructor() {
    beforeAll(() => this.#arrange());
  }

  /** The runner's state of this test file, if it is jest-circus. */
  static state() {
    const symbols = Object.getOwnPropertySymbols(globalThis);
    const symbol = symbols.find(({ description }) => description === "JEST_STATE_SYMBOL");
    return symbol && globalThis[symbol];
  }

  /** List the titles from the file to a test. */
  static titlesOf(test) {
    const titles = [];
    for (let part = test; part.parent; part = part.parent) titles.unshift(part.name);
    return titles;
  }

  /** List the tests in a block. */
  static testsIn(block) {
    return block.children.flatMap((child) => (child.type === "test" ? [child] : Circus.testsIn(child)));
  }

  /** Return what decides over whether and how often a test runs, and what its failure means, as a text. */
  static flagsOf({ failing, mode, name }) {
    return `${name} ${failing} ${mode} ${Circus.retries()}`;
  }

  /** Return how often a test that fails is run again, if that is set. */
  static retries() {
    const symbols = Object.getOwnPropertySymbols(globalThis);
    const times = symbols.find(({ description }) => description === "RETRY_TIMES");
    return times && globalThis[times];
  }

  /** The id of the running test, unless it is the sentinel. */
  currentTest() {
    const test = Circus.state().currentlyRunningTest;
    return test.name === SENTINEL ? undefined : idOf(Circus.titlesOf(test));
  }

  #arrange() {
    const state = Circus.state();
    const { rootDescribeBlock: root, testNamePattern: pattern } = state;
    const isSentinel = (child) => child.name === SENTINEL && child.parent === root;
    const sentinel = root.children.find(isSentinel);
    root.children = [...root.children.filter((child) => child !== sentinel), sentinel];
    // Until jest 29 a block keeps a second list of its tests.
    if (root.tests) root.tests = [...root.tests.filter((child) => child !== sentinel), sentinel];
    for (const test of Circus.testsIn(root)) {
      const titles = Circus.titlesOf(test);
      const matches = !pattern || pattern.test(titles.join(" "));
      if (test !== sentinel && !(matches && isSelected(titles))) test.mode = "skip";
    }
    // Neither a name pattern nor a test that is marked to run alone may skip it.
    state.testNamePattern = null;
    sentinel.mode = "only";
    flags = new FlagCheck(Circus.testsIn(root), Circus.flagsOf);
    lock(matchers(), builtins);
  }
}

/** The tests of a file under jest-jasmine2. */
class Jasmine {
  #current;
  #ids = new Map();

  constructor(env) {
    const { execute } = env;
    env.execute = (...args) => {
      this.#arrange(env.topSuite());
      return execute.apply(env, args);
    };
    env.addReporter({
      specStarted: ({ id }) => {
        this.#current = this.#ids.get(id);
      },
    });
  }

  /** The id of the running test, unless it is the sentinel. */
  currentTest() {
    return this.#current;
  }

  #arrange(root) {
    const isSentinel = (child) => child.description === SENTINEL;
    const sentinel = root.children.find(isSentinel);
    root.children = [...root.children.filter((child) => child !== sentinel), sentinel];
    const visit = (child, before) => {
      const titles = [...before, child.description];
      if (child.children) child.children.forEach((inner) => visit(inner, titles));
      else if (!isSelected(titles)) child.disable();
      else this.#ids.set(child.id, idOf(titles));
    };
    for (const child of root.children) if (child !== sentinel) visit(child, []);
  }
}

const tests = globalThis.jasmine?.getEnv ? new Jasmine(globalThis.jasmine.getEnv()) : new Circus();
if (tests instanceof Circus && !Circus.state()) {
  throw new Error("Only jest's own runners, jest-circus and jest-jasmine2, are supported.");
}

/** The flags at collection, and what differed from them after a test. */
let flags;
const changed = new Set();
function checkFlags() {
  for (const what of flags?.changed() ?? []) changed.add(what);
}

test(SENTINEL, async () => {
  checkFlags();
  const ineffective = [...(await findIneffective(own)), ...changed];
  throw new Error(`${token}${ineffective}`);
});
beforeEach(checkFlags);
afterEach(checkFlags);
// The reporter learns only of each attempt, not whether another follows.
beforeEach(() => {
  if (tests instanceof Circus && Circus.retries() > 0) fs.closeSync(fs.openSync(`${scratch}retries`, "w"));
});

/** Return where statements stand in the source, if a transformer made the file that jest counts in. */
function sourceStatements({ statementMap, inputSourceMap }) {
  if (!inputSourceMap) return statementMap;
  const decoded = decodeMappings(inputSourceMap);
  const mapped = Object.entries(statementMap).flatMap(([key, statement]) => {
    const [from, to] = sourceLines(decoded, statement) ?? [];
    return from === undefined ? [] : [[key, { start: { line: from + 1 }, end: { line: to + 1 } }]];
  });
  return Object.fromEntries(mapped);
}

/** Line coverage by test, from the counters that jest adds to files. */
class LineCoverage {
  constructor() {
    this.counts = new Map();
    this.statements = new Map();
    this.lines = new Map();
    this.before = [""];
  }

  /** Add the lines that ran since the last call to these tests. */
  take(tests) {
    for (const [absolute, counters] of Object.entries(globalThis.__coverage__ ?? {})) {
      const file = repositoryPath(absolute);
      if (!coverage.includes(file)) continue;
      const last = this.counts.get(file) ?? {};
      const ran = Object.keys(counters.s).filter((key) => counters.s[key] !== (last[key] ?? 0));
      this.counts.set(file, { ...counters.s });
      if (ran.length === 0) continue;
      if (!this.statements.has(file)) this.statements.set(file, sourceStatements(counters));
      for (const test of tests) {
        const key = JSON.stringify([test, file]);
        if (!this.lines.has(key)) this.lines.set(key, new Set());
        for (const line of linesRun(this.statements.get(file), new Set(ran))) this.lines.get(key).add(line);
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
  beforeEach(() => {
    const test = tests.currentTest();
    if (test) recorder.startTest(test);
  });
  afterEach(() => recorder.take(recorder.before));
  afterAll(() => recorder.save());
}
