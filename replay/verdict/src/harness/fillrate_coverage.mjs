// A vitest set-up file that records which lines each test runs.
//
// V8's precise coverage counts in blocks; a count is read, and set to zero,
// when a test has ended.  What ran since the previous count belongs to the test:
// its hooks and also a beforeAll that precedes it.  What ran until the file was
// collected is import time and has the empty test id.
//
// To read the counters takes some ms.  In a file of many thousand tests, a
// group of successive tests shares one reading, and each is said to run what
// any of them ran.  Which tests run at a hole then errs on the safe side.
//
// Each worker appends to a file of its own, `$SCRATCH.cov.<pid>.<thread>`,
// because lines may be longer than what is appended in one piece.  The
// reporter moves them into the report at the end of the run.
//
// The instructions' `coverage` is the list of repository-relative source files.

import fs from "node:fs";
import { Session } from "node:inspector";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import vm from "node:vm";
import { threadId } from "node:worker_threads";
import { afterAll, beforeAll, beforeEach, inject } from "vitest";
import { SCRATCH, SENTINEL, repositoryPath, testIds, withFile } from "./fillrate_vitest.mjs";

// Loaded as it is, not transformed with the project.
const { mappedOffsets, plainOffsets } = createRequire(import.meta.url)("./fillrate_source_map.cjs");

/** vite-node's prefix of a module's code, on the code's first line. */
const WRAPPER = /^'use strict';async \([^)]*\)=>\{\{/;
const SOURCE_MAP = /\/\/# sourceMappingURL=data:application\/json[^,]*;base64,([A-Za-z0-9+/=]+)/g;

/** Limit on readings of the counters for one test file whose tests end one after the other. */
const READINGS = 1000;

/**
 * List where in a script's text each original line has code: pairs of offset
 * and 1-based line, in ascending order of offset.  A script without a source
 * map is its own source.
 */
function codeOffsets(script) {
  // Columns of the first line are counted from behind the wrapper.
  const wrapper = WRAPPER.exec(script)?.[0].length ?? 0;
  const encoded = [...script.matchAll(SOURCE_MAP)].at(-1)?.[1];
  if (!encoded) return plainOffsets(script, wrapper);
  const map = JSON.parse(Buffer.from(encoded, "base64").toString("utf8"));
  return mappedOffsets(script, map, 0, wrapper);
}

/** List the lines with code whose innermost counted range has run. */
function linesRun(offsets, functions) {
  const ranges = functions.flatMap((entry) => entry.ranges);
  if (!ranges.some((range) => range.count > 0)) return [];
  // Ranges nest, so an outer one sorts before those within it.
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const lines = new Set();
  const open = [];
  let next = 0;
  for (const [offset, line] of offsets) {
    while (next < ranges.length && ranges[next].startOffset <= offset) open.push(ranges[next++]);
    while (open.length > 0 && open.at(-1).endOffset <= offset) open.pop();
    if (open.length > 0 && open.at(-1).count > 0) lines.add(line);
  }
  return [...lines].sort((a, b) => a - b);
}

/** The counters of this worker's V8 and the scripts seen so far. */
class Recorder {
  /** Start counting; code that is already compiled counts too. */
  constructor() {
    this.output = `${SCRATCH}.cov.${process.pid}.${threadId}`;
    this.files = new Set(inject("fillrate").coverage);
    this.scripts = new Map();
    this.sources = new Map();
    this.keepSources();
    this.session = new Session();
    this.session.connect();
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

  /** Return the repository-relative file of a script, if it is to be measured. */
  measuredFile(url) {
    if (!url.startsWith("/") && !url.startsWith("file:")) return undefined;
    const file = repositoryPath(url.startsWith("file:") ? fileURLToPath(url) : url);
    return this.files.has(file) ? file : undefined;
  }

  /** Return a script's repository-relative file and its offsets, if it is measured. */
  script({ scriptId, url }) {
    if (!this.scripts.has(scriptId)) {
      const file = this.measuredFile(url);
      this.scripts.set(scriptId, file && { file, offsets: this.offsets(file) });
    }
    return this.scripts.get(scriptId);
  }

  /** Return the offsets of a measured file; a file of unknown text is an error. */
  offsets(file) {
    if (!this.sources.has(file)) throw new Error(`The text that ran for ${file} is not known.`);
    return codeOffsets(this.sources.get(file));
  }

  /**
   * Keep the text of each measured script that vite-node is about to run.
   *
   * The inspector could give it as well, but to enable and disable its debugger
   * makes V8 drop the block counts of functions that were compiled before.
   */
  keepSources() {
    const run = vm.runInThisContext;
    const { sources } = this;
    const measured = (name) => this.measuredFile(name);
    vm.runInThisContext = function (code, options) {
      const file = measured(options?.filename ?? "");
      if (file) sources.set(file, code);
      return run.call(this, code, options);
    };
  }

  /** Read the counters, set them to zero, and write them down for each of the tests. */
  take(tests) {
    let text = "";
    for (const entry of this.post("Profiler.takePreciseCoverage").result) {
      const script = this.script(entry);
      const lines = script ? linesRun(script.offsets, entry.functions) : [];
      if (lines.length === 0) continue;
      for (const test of tests) text += `${JSON.stringify({ test, file: script.file, lines })}\n`;
    }
    if (text) fs.appendFileSync(this.output, text);
  }
}

// Without isolation this file is evaluated again for each test file of a
// worker, while the counters must be started once.
const recorder = (globalThis[Symbol.for("fillrate.coverage")] ??= new Recorder());
let ids;
/** The ids of tests that ended since the counters were read, and how many share a reading. */
let ended = [];
let groupSize = 1;

/** Read the counters for the tests that ended. */
function takeEnded() {
  if (ended.length > 0) recorder.take(ended);
  ended = [];
}

// The first hook that runs once the test file has been imported and collected.
beforeAll(withFile((file) => {
  ids = testIds(file);
  groupSize = Math.ceil(ids.size / READINGS);
  recorder.take([""]);
}));

afterAll(takeEnded);

// A callback of onTestFinished runs after every afterEach, in reverse order of
// registration, so the one registered first is the last.
beforeEach(({ task, onTestFinished }) => {
  if (task.name.startsWith(SENTINEL)) return;
  onTestFinished(() => {
    ended.push(ids.get(task));
    if (ended.length >= groupSize) takeEnded();
  });
});
