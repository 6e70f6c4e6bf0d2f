// A vitest set-up file that adds the sentinels, which must fail, to every test file.
//
// They are one test, last in the file, and one expectation of each kind after the
// file's last hook.  Code that changes the runner or the expectations so that
// tests can't fail changes the sentinels too.  The reporter checks both; see
// fillrate_vitest.mjs.

import assert from "node:assert/strict";
import { afterAll, afterEach, beforeAll, beforeEach, chai, expect, inject, test } from "vitest";
import { SENTINEL, testIds, withFile } from "./fillrate_vitest.mjs";

const { token } = inject("fillrate");
const wrong = [...token].reverse().join("");

/** Expectations that must fail, by name. */
const EXPECTATIONS = {
  toBe: () => expect(token).toBe(wrong),
  toEqual: () => expect({ list: [1, token] }).toEqual({ list: [1, wrong] }),
  toStrictEqual: () => expect([token]).toStrictEqual([wrong]),
  toContain: () => expect([token]).toContain(wrong),
  toMatch: () => expect(token).toMatch(/^no$/),
  toThrow: () => expect(() => token).toThrow(),
  not: () => expect(token).not.toBe(token),
  toBeTruthy: () => expect(token === wrong).toBeTruthy(),
  chai: () => chai.assert.deepEqual([token], [wrong]),
  assert: () => assert.equal(token, wrong),
  rejects: () => expect(Promise.resolve(token)).rejects.toThrow(),
  resolves: () => expect(Promise.resolve(token)).resolves.toBe(wrong),
};

/** List the names of expectations that don't fail. */
async function findIneffective() {
  const names = [];
  for (const [name, expectation] of Object.entries(EXPECTATIONS)) {
    try {
      await expectation();
      names.push(name);
    } catch {
      // Expected.
    }
  }
  return names;
}

/** Return what decides over whether and how often a test runs, and what its failure means, as a text. */
function flagsOf({ fails, repeats, retry }) {
  return `${fails} ${repeats} ${retry}`;
}

/** The tests of this file with their flags at collection, and the ids of those that differed later. */
const flags = new Map();
const changed = new Set();
function checkFlags(test) {
  const known = flags.get(test);
  if (known && flagsOf(test) !== known[1]) changed.add(`the flags of ${known[0]}`);
}

/** The names of vitest's own matchers: a project may add some at any time. Files may share a process. */
const { prototype } = chai.Assertion;
const builtins = (globalThis[Symbol.for("fillrate.matchers")] ??= Object.getOwnPropertyNames(prototype));

/** Make matchers immutable: some attacks replace one for a moment only. */
function lockMatchers() {
  for (const name of builtins) {
    const { configurable, value } = Object.getOwnPropertyDescriptor(prototype, name);
    if (!configurable) continue;
    // vitest assigns some of its own again for a test that takes `expect` from its context, which
    // must not throw.
    const method = typeof value === "function" ? { get: () => value, set() {} } : {};
    Object.defineProperty(prototype, name, { configurable: false, ...method });
  }
}

test(`${SENTINEL} ${token}`, () => {
  throw new Error(token);
});

beforeAll(withFile((file) => {
  const isSentinel = (task) => task.name === `${SENTINEL} ${token}`;
  const own = file.tasks.filter(isSentinel);
  file.tasks = [...file.tasks.filter((task) => !isSentinel(task)), ...own];
  // A file with nothing to run has no sentinel.  A test that is marked to run
  // alone makes vitest skip all others.
  const idle = file.tasks.every((task) => isSentinel(task) || task.mode !== "run");
  for (const task of own) Object.assign(task, { mode: idle ? "skip" : "run", retry: 0 });
  for (const [test, id] of testIds(file)) flags.set(test, [id, flagsOf(test)]);
  lockMatchers();
  Object.defineProperty(Object, "is", { configurable: false, writable: false });
}));
// Only those of the test itself, since they count from its start to its end: all tests at every test
// would take minutes in a file of some ten thousand.
beforeEach(({ task }) => checkFlags(task));
afterEach(({ task }) => checkFlags(task));

// The hook that is registered first runs last.
afterAll(withFile(async (file) => {
  for (const test of flags.keys()) checkFlags(test);
  file.meta.fillrate = { token, ineffective: [...(await findIneffective()), ...changed] };
}));
