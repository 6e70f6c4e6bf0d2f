// What the harnesses for JavaScript share: instructions, report, snapshots, coverage.
//
// Standard input is a socket.  Its first line holds the instructions, a JSON object:
//   nonce     repeated in every line of the report
//   token     part of every sentinel's failure message
//   select    the list of test ids to run, or null for all
//   coverage  the list of source files whose lines are recorded by test, or null
//   first_failure_ends
//
// The report goes back through the socket.  Lines (`event`): `test`,
// `sentinel`, `broken`, `collect_error`, `coverage`, `harness_error` and, last,
// `end`.  A run without an `end` line is incomplete, whatever its exit status.
// An error of a harness itself ends the process at once with status 70.
//
// A test's id is `FILE > suite > test`.  Tests of one id count as one, with the
// worst outcome of them.
//
// This file is loaded before any code of the project, and keeps the functions
// that it needs: code that replaces JSON.stringify does not get the nonce.  It
// names node's modules as jest before 27 knows them.

"use strict";

const assert = require("assert");
const fs = require("fs");
const inspector = require("inspector");
const { createRequire } = require("module");
const path = require("path");
const { fileURLToPath } = require("url");
const { stripVTControlCharacters } = require("util");
const { mapOf, mappedOffsets, plainOffsets, sourcesOf } = require("./fillrate_source_map.cjs");

/** Exit status after an error of the harness; the frameworks use 0 and 1. */
const HARNESS_BROKEN = 70;
/** Longest failure message that is kept, in characters. */
const MESSAGE_LIMIT = 4000;
/** The name of the sentinel, a test that must fail. */
const SENTINEL = "fillrate sentinel";

const { readSync, writeSync } = fs;
const { parse, stringify } = JSON;
const { byteLength, from: bytesOf } = Buffer;
const { defineProperty, getOwnPropertyDescriptor } = Object;
const leave = process.exit;
const strip = stripVTControlCharacters;

/** The directory in which the harness was started: the repository's root, or a package's in it. */
const FOLDER = fs.realpathSync(process.cwd());
/** The repository's root. */
const ROOT = process.env.FILLRATE_ROOT ?? FOLDER;

/** Make an absolute path relative to the repository, with `/` between parts. */
function repositoryPath(file) {
  return path.relative(ROOT, file).split(path.sep).join("/");
}

/** Return a function that requires as the last of these packages does, each found from the one before it. */
function requireFrom(...packages) {
  const start = createRequire(path.join(FOLDER, "package.json"));
  return packages.reduce((requires, name) => createRequire(requires.resolve(`${name}/package.json`)), start);
}

/**
 * Load modules that a run will need, so that it can wait for its instructions with them: each is
 * named after the packages that it is found through.
 */
function preload(...modules) {
  for (const parts of modules) {
    try {
      requireFrom(...parts.slice(0, -1))(parts.at(-1));
    } catch {
      // Not every project has each of them.
    }
  }
}

/** Read one line from a descriptor and parse it. */
function readLine(descriptor) {
  const parts = [];
  const buffer = Buffer.alloc(1 << 16);
  while (parts.length === 0 || parts.at(-1).at(-1) !== 10) {
    let length;
    try {
      length = readSync(descriptor, buffer);
    } catch (error) {
      if (error.code === "EAGAIN") continue;
      throw error;
    }
    if (length === 0) throw new Error("The input ends within its first line.");
    parts.push(bytesOf(buffer.subarray(0, length)));
  }
  return parse(Buffer.concat(parts).toString("utf8"));
}

/** Return whether an error comes from the parser. */
function isSyntaxError(error) {
  return error?.name === "SyntaxError" || /^SyntaxError\b/m.test(String(error?.stack));
}

/** Turn an error into plain text with repository-relative paths. */
function message(error) {
  if (error === undefined || error === null) return "";
  const head = `${error.name ?? "Error"}: ${error.message ?? error}`;
  const stack = typeof error.stack === "string" ? error.stack : "";
  const text = stack.includes(String(error.message)) ? stack : `${head}\n${stack}`;
  return strip(text)
    .replaceAll(`file://${ROOT}/`, "")
    .replaceAll(`${ROOT}${path.sep}`, "")
    .slice(0, MESSAGE_LIMIT);
}

/** The socket that JSON lines are written to. */
class Report {
  #descriptor;
  #nonce;

  constructor(descriptor, nonce) {
    this.#descriptor = descriptor;
    this.#nonce = nonce;
  }

  /** Append one line, unbuffered. No function that could be replaced sees the nonce. */
  write(event) {
    this.pass(`{"nonce":"${this.#nonce}",${stringify({ __proto__: null, ...event }).slice(1)}`);
  }

  /** Append a line as it is. */
  pass(line) {
    const length = byteLength(line) + 1;
    const bytes = bytesOf(`${line}\n`);
    let sent = 0;
    while (sent < length) {
      try {
        sent += writeSync(this.#descriptor, bytes, sent, length - sent);
      } catch (error) {
        if (error.code !== "EAGAIN") throw error;
      }
    }
  }

  /** Call a part of the harness; its own error ends the run. */
  guard(work) {
    try {
      return work();
    } catch (error) {
      return this.abort(error);
    }
  }

  /** End the process because the harness itself failed. */
  abort(error) {
    try {
      process.stderr.write(`${error?.stack}\n`);
      this.write({ event: "harness_error", message: message(error) });
    } finally {
      leave.call(process, HARNESS_BROKEN);
    }
  }
}

/** The project's code, loaded later, can't replace the methods of a report. */
Object.freeze(Report.prototype);

/** The functions of objects at one time, to detect those that are replaced later. */
class Snapshot {
  #parts = [];

  /** Take the snapshot of objects by name, and of the prototypes of their constructors. */
  constructor(objects) {
    for (const [name, object] of Object.entries(objects)) {
      this.#keep(name, object);
      for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
        const made = typeof value === "function" && value.prototype;
        if (made) this.#keep(`${name}.${key}.prototype`, made);
      }
    }
  }

  #keep(name, object) {
    // A value that is computed on first use changes by itself then.
    const functions = Object.entries(Object.getOwnPropertyDescriptors(object))
      .filter(([, { value }]) => typeof value === "function");
    this.#parts.push([name, object, functions.map(([key, { value }]) => [key, value])]);
  }

  /** List the functions that were replaced or removed. */
  broken() {
    const found = [];
    for (const [name, object, functions] of this.#parts) {
      for (const [key, value] of functions) {
        if (Object.getOwnPropertyDescriptor(object, key)?.value !== value) found.push(`${name}.${key}`);
      }
    }
    return found;
  }
}

/** Make methods of an object immutable: some attacks replace one for a moment only. */
function lock(object, keys = Reflect.ownKeys(object)) {
  for (const key of keys) {
    const { configurable, value } = getOwnPropertyDescriptor(object, key);
    if (!configurable) continue;
    const methods = typeof value === "function" ? { writable: false } : {};
    defineProperty(object, key, { configurable: false, ...methods });
  }
}

/** Make what decides over assertions immutable, before the project's code is loaded. */
function lockAssertions() {
  lock(assert);
  lock(assert.strict);
  defineProperty(Object, "is", { configurable: false, writable: false });
}

/**
 * List the flags that differ from those at collection; `flags` maps a test to a text.  Tests have
 * other titles among twins, so that what is known of the project names none.
 */
class FlagCheck {
  #before = new Map();
  #flags;

  constructor(tests, flags) {
    this.#flags = flags;
    for (const test of tests) this.#before.set(test, flags(test));
  }

  changed() {
    const found = [];
    for (const [test, flags] of this.#before) if (this.#flags(test) !== flags) found.push(`the flags of a test: ${this.#flags(test)}`);
    return found;
  }
}

/** Ignore the signal by which node opens an inspector, through which another process could change this one. */
function refuseInspector() {
  process.on("SIGUSR1", () => {});
}

/** Return the objects that decide over tests in every framework. */
function coreObjects() {
  const objects = { assert, "assert.strict": assert.strict, JSON, process };
  return objects;
}

/** Return libraries that no test should change. */
function libraryObjects() {
  const objects = { Math, Reflect };
  const builtins = [
    Array, BigInt, Boolean, Date, Error, Function, Map, Number, Object, Promise, RegExp, Set,
    String, Symbol, WeakMap, WeakSet,
  ];
  for (const builtin of builtins) {
    objects[builtin.name] = builtin;
    objects[`${builtin.name}.prototype`] = builtin.prototype;
  }
  for (const name of ["events", "fs", "module", "path", "timers", "url", "util", "vm"]) {
    objects[name] = require(`node:${name}`);
  }
  return objects;
}

/** Return expectations that must fail, by name: the usual ways in which tests fail. */
function expectations(token) {
  const wrong = [...token].reverse().join("");
  const raise = () => {
    throw new Error(token);
  };
  return {
    assert: () => assert(token === wrong),
    equal: () => assert.equal(token, wrong),
    strictEqual: () => assert.strictEqual(token, wrong),
    deepEqual: () => assert.deepEqual([1, token], [1, wrong]),
    deepStrictEqual: () => assert.deepStrictEqual({ list: [token] }, { list: [wrong] }),
    ok: () => assert.ok(token === wrong),
    match: () => assert.match(token, /^no$/),
    throws: () => assert.throws(() => token),
    doesNotThrow: () => assert.doesNotThrow(raise),
    rejects: () => assert.rejects(Promise.resolve(token)),
    fail: () => assert.fail(token),
    strict: () => assert.strict.equal(token, wrong),
  };
}

/** List the names of expectations that don't fail. */
async function findIneffective(all) {
  const names = [];
  for (const [name, expectation] of Object.entries(all)) {
    try {
      await expectation();
      names.push(name);
    } catch {
      // Expected.
    }
  }
  return names;
}

/** List the lines whose innermost counted range has run. */
function linesRun(offsets, functions) {
  const ranges = functions.flatMap((entry) => entry.ranges);
  if (!ranges.some((range) => range.count > 0)) return [];
  // Ranges nest, so an outer one sorts before those within it.
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const lines = [];
  const open = [];
  let next = 0;
  for (const [offset, line] of offsets) {
    while (next < ranges.length && ranges[next].startOffset <= offset) open.push(ranges[next++]);
    while (open.length > 0 && open.at(-1).endOffset <= offset) open.pop();
    if (open.length > 0 && open.at(-1).count > 0) lines.push(line);
  }
  return lines;
}

/**
 * Which lines of files run, by test, from V8's own counters.
 *
 * A file that is compiled at import has other offsets than the text on disk: V8 is asked for the
 * text that runs, and its source map says which lines it came from.  What runs between two tests
 * belongs to both, since hooks do; what runs while several tests are under way belongs to all of
 * them.
 */
class LineCoverage {
  /** Start counting; to be called before the project's code is loaded. */
  constructor(files) {
    this.files = new Set(files);
    /** By script: the measured files that it was made from, each with its offsets. */
    this.scripts = new Map();
    /** By test and file. */
    this.lines = new Map();
    this.running = new Set();
    this.ended = [];
    this.loaded = false;
    this.session = new inspector.Session();
    this.session.connect();
    // Only the debugger knows texts.  Disabled again it would drop the counts of blocks.
    this.post("Debugger.enable");
    this.post("Debugger.setSkipAllPauses", { skip: true });
    this.post("Profiler.enable");
    this.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** Send a command to V8, which answers before `post` returns. */
  post(method, parameters) {
    let answer;
    this.session.post(method, parameters, (error, result) => {
      if (error) throw new Error(`${method}: ${error.message}`);
      answer = result;
    });
    return answer;
  }

  /** Return the measured files that a script was made from, each with its offsets. */
  script({ scriptId, url }) {
    if (!this.scripts.has(scriptId)) this.scripts.set(scriptId, this.parts(scriptId, url));
    return this.scripts.get(scriptId);
  }

  parts(scriptId, url) {
    const plain = url.replace(/[?#].*$/, "");
    if (!plain.startsWith("/") && !plain.startsWith("file:")) return [];
    const path = plain.startsWith("file:") ? fileURLToPath(plain) : plain;
    const own = repositoryPath(path);
    if (own.startsWith("../") || /(^|\/)node_modules\//.test(own)) return [];
    const text = this.post("Debugger.getScriptSource", { scriptId }).scriptSource;
    const map = mapOf(text, path);
    if (!map) return this.files.has(own) ? [{ file: own, offsets: plainOffsets(text) }] : [];
    // A map of one source may name it in a way of its own.
    const names = map.sources.length === 1 && this.files.has(own) ? [own] : sourcesOf(map, path).map(repositoryPath);
    return names.flatMap((file, index) =>
      this.files.has(file) ? [{ file, offsets: mappedOffsets(text, map, index) }] : [],
    );
  }

  /** Read the counters, set them to zero, and add them to these tests' lines. */
  take(tests) {
    for (const entry of this.post("Profiler.takePreciseCoverage").result) {
      for (const { file, offsets } of this.script(entry)) {
        const lines = linesRun(offsets, entry.functions);
        for (const test of lines.length > 0 ? tests : []) {
          const key = stringify([test, file]);
          if (!this.lines.has(key)) this.lines.set(key, new Set());
          for (const line of lines) this.lines.get(key).add(line);
        }
      }
    }
  }

  /** Count the lines that have run so far as import time. */
  endImports() {
    if (!this.loaded) this.take([""]);
    this.loaded = true;
  }

  /** Count lines for a test from now on. */
  startTest(test) {
    this.endImports();
    this.take([...this.running, ...this.ended, test]);
    this.running.add(test);
  }

  /** Count lines for a test no more. */
  endTest(test) {
    this.take([...this.running]);
    this.running.delete(test);
    this.ended = [test];
  }

  /** List the lines as events. */
  events() {
    this.endImports();
    this.take([...this.running, ...this.ended]);
    return [...this.lines.keys()].sort().map((key) => {
      const [test, file] = parse(key);
      const lines = [...this.lines.get(key)].sort((a, b) => a - b);
      return { event: "coverage", test, file, lines };
    });
  }
}

module.exports = {
  FlagCheck, FOLDER, HARNESS_BROKEN, LineCoverage, ROOT, Report, SENTINEL, Snapshot, coreObjects,
  expectations, findIneffective, isSyntaxError, libraryObjects, lock, lockAssertions, message,
  preload, readLine, refuseInspector, repositoryPath, requireFrom,
};
