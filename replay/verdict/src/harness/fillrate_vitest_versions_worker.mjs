// vitest 3's own worker, which refuses to run a file if it is not as it was when it
// ran its second one: so nothing that the files before left can make a difference.
//
// vitest loads all modules of the project anew for each file.  What it does not
// renew is compared here: global variables, the language's own objects, node's
// modules, the environment, listeners, timers and everything else that is open.

import { createRequire } from "node:module";
import worker from "./fillrate_vitest_worker.mjs";

const require = createRequire(import.meta.url);
/** Modules of node that tests replace functions of. */
const MODULES = [
  "assert", "child_process", "crypto", "dns", "events", "fs", "fs/promises", "http", "https", "net", "os", "path",
  "perf_hooks", "process", "stream", "timers", "timers/promises", "url", "util",
].map((name) => require(`node:${name}`));
/** Global variables that vitest sets for each file. */
const OWN = /^__vitest/;

/** Types of resources that vitest itself opens at times. */
const VITEST_OPEN = new Set(["Timeout", "Immediate", "TickObject", "Microtask"]);

/** The timers that the project's code has set, once vitest has its own functions for it. */
const timers = new Set();
function observeTimers() {
  for (const name of ["setTimeout", "setInterval", "setImmediate"]) {
    const set = globalThis[name];
    const observed = (...given) => {
      const timer = set(...given);
      timers.add(timer);
      return timer;
    };
    Object.defineProperties(observed, Object.getOwnPropertyDescriptors(set));
    globalThis[name] = observed;
  }
}

/** Add an object's properties to a list: what each is, by identity. */
function addProperties(found, object) {
  for (const key of Reflect.ownKeys(object)) {
    if (typeof key === "string" && OWN.test(key)) continue;
    const property = Object.getOwnPropertyDescriptor(object, key);
    found.push(key, property.get ?? property.value, property.set, property.writable, property.enumerable);
  }
}

/** List what the next file could notice, in a form that compares one by one. */
function state() {
  const open = process.getActiveResourcesInfo().filter((name) => !VITEST_OPEN.has(name));
  for (const timer of timers) if (timer._destroyed) timers.delete(timer);
  const found = [process.cwd(), process.exitCode, timers.size, ...open.sort()];
  for (const [name, value] of Object.entries(process.env)) found.push(name, value);
  for (const name of process.eventNames()) found.push(name, process.listenerCount(name));
  addProperties(found, globalThis);
  for (const key of Object.getOwnPropertyNames(globalThis)) {
    const { value } = Object.getOwnPropertyDescriptor(globalThis, key);
    if (value === globalThis || OWN.test(key) || Object(value) !== value) continue;
    addProperties(found, value);
    if (typeof value === "function" && Object(value.prototype) === value.prototype) addProperties(found, value.prototype);
  }
  for (const module of MODULES) addProperties(found, module);
  return found;
}

/** Return the first difference between two states, if any. */
function difference(before, now) {
  const length = Math.max(before.length, now.length);
  for (let index = 0; index < length; index += 1) {
    if (!Object.is(before[index], now[index])) return [index, String(before[index]), String(now[index])];
  }
  return undefined;
}

let runs = 0;
let before;

export default {
  getRpcOptions: (ctx) => worker.getRpcOptions(ctx),
  collectTests: (given) => worker.collectTests(given),
  async runTests(given) {
    runs += 1;
    if (runs === 2) observeTimers();
    const now = runs > 1 ? state() : undefined;
    before ??= now;
    const changed = before && difference(before, now);
    if (changed) {
      throw new Error(`fillrate: the worker has changed ${changed}`);
    }
    await worker.runTests(given);
  },
};
