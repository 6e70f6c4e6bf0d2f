// A vitest set-up file that adds the sentinels, which must fail, to every test file.
//
// They are one test, last in the file, and one expectation of each kind after the
// file's last hook.  Code that changes the runner or the expectations so that
// tests can't fail changes the sentinels too.  The reporter checks both; see
// fillrate_vitest.mjs.

import assert from "node:assert/strict";
import { afterAll, beforeAll, chai, expect, inject, test } from "vitest";
import { SENTINEL } from "./fillrate_vitest.mjs";

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

test(`${SENTINEL} ${token}`, () => {
  throw new Error(token);
});

beforeAll((file) => {
  const isSentinel = (task) => task.name === `${SENTINEL} ${token}`;
  const own = file.tasks.filter(isSentinel);
  file.tasks = [...file.tasks.filter((task) => !isSentinel(task)), ...own];
  // A file with nothing to run has no sentinel.  A test that is marked to run
  // alone makes vitest skip all others.
  const idle = file.tasks.every((task) => isSentinel(task) || task.mode !== "run");
  for (const task of own) Object.assign(task, { mode: idle ? "skip" : "run", retry: 0 });
});

// The hook that is registered first runs last.
afterAll(async (file) => {
  file.meta.fillrate = { token, ineffective: await findIneffective() };
});
