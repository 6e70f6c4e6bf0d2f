// What runs the tests of node's own runner, and reports every test out of band.
//
// Use: node fillrate_node.mjs [FILE or FOLDER ...], with the working directory
// at the root of the repository.  Without arguments, and within folders, the
// files are those that `node --test` takes by itself.
//
// Each file is run by a process of its own, fillrate_node_file.mjs, as
// `node --test` does it.  The `run()` of node:test is not used: up to Node 22 it
// neither hands anything to those processes, which the sentinels need, nor does
// it have a channel to them that what tests print can't be taken for.
//
// What is read and written is described in fillrate_report.cjs.  The nonce is
// known in this process alone, in which no code of the project runs; every file's
// process signs with a word of its own.  Selection is by file: of a file with a
// selected test all tests are run, and those selected are reported.  Lines are
// recorded by test, which takes Node 20.16, 22.3 or newer.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { HARNESS_BROKEN, ROOT, Report, repositoryPath, takeLine } from "./fillrate_report.cjs";

/** The file that runs one file of tests. */
const CHILD = new URL("fillrate_node_file.mjs", import.meta.url);
const REPORTER = new URL("fillrate_node_reporter.mjs", import.meta.url);
/** The most processes at one time: each has a dozen threads. */
const MOST_AT_ONCE = 8;

/** Names of test files, as `node --test` has them. */
const IN_TEST_FOLDER = /\.[cm]?js$/;
const BY_NAME = /(^test|^test-.+|[._-]test)\.[cm]?js$/;

/** List the test files in a folder. */
function testFiles(folder, inTest) {
  const found = [];
  const entries = fs.readdirSync(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name === "node_modules" || entry.name.startsWith(".")) continue;
      found.push(...testFiles(file, inTest || entry.name === "test"));
    } else if ((inTest ? IN_TEST_FOLDER : BY_NAME).test(entry.name)) {
      found.push(file);
    }
  }
  return found;
}

/** List the test files that are asked for, relative to the repository. */
function wantedFiles(names) {
  const files = (names.length > 0 ? names : ["."]).flatMap((name) => {
    const file = path.resolve(ROOT, name);
    const inTest = path.basename(file) === "test";
    return fs.statSync(file).isDirectory() ? testFiles(file, inTest) : [file];
  });
  return [...new Set(files)].map(repositoryPath);
}

/** The run of all files. */
class Run {
  constructor(order, report) {
    this.order = order;
    this.report = report;
    this.selected = order.select && new Set(order.select);
    this.children = new Set();
    this.tests = 0;
    this.marks = new Set();
    this.whole = true;
    this.over = false;
    this.statuses = [];
    /** What each kind of sentinel came to: the files in which it let something pass. */
    this.sentinels = { expectations: [], test: [] };
  }

  /** Run all files, some at one time, and give the exit status. */
  async all(files) {
    const chosen = this.selected && new Set([...this.selected].map((id) => id.split(" > ")[0]));
    const left = chosen ? files.filter((file) => chosen.has(file)) : [...files];
    const some = left.length > 0;
    const lanes = Math.max(1, Math.min(os.availableParallelism() - 1, MOST_AT_ONCE));
    const lane = async () => {
      while (left.length > 0 && !this.over) await this.file(left.shift());
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    for (const [id, passed] of some ? Object.entries(this.sentinels) : []) {
      const outcome = passed.length > 0 ? "passed" : "failed";
      this.report.write({ event: "sentinel", id, outcome, message: `${this.order.token} ${passed}` });
    }
    if (this.whole) {
      this.report.write({ event: "end", tests: this.tests, marks: [...this.marks].sort() });
    }
    return this.statuses.find((status) => status !== 1) ?? 1;
  }

  /** Run one file. */
  file(file) {
    const { token, coverage } = this.order;
    const word = randomBytes(16).toString("hex");
    const child = spawn(
      process.execPath,
      [`--test-reporter=${REPORTER}`, "--test-reporter-destination=stdout", fileURLToPath(CHILD)],
      { stdio: ["ignore", "inherit", "inherit", "pipe"] },
    );
    this.children.add(child);
    const channel = child.stdio[3];
    channel.on("error", () => {});
    channel.write(`${JSON.stringify({ word, token, file, coverage })}\n`);
    const held = { expectations: false, test: false };
    let ended = false;
    createInterface({ input: channel }).on("line", (line) => {
      const event = signed(line, word);
      if (!event) this.report.pass(line);
      else if (event.event === "sentinel") held[event.id] = event.outcome === "failed";
      else if (event.event === "end") {
        ended = true;
        for (const mark of event.marks) this.marks.add(mark);
      } else this.pass(event);
    });
    return new Promise((resolve) => {
      child.on("close", (status, signal) => {
        this.children.delete(child);
        for (const id of Object.keys(held)) if (!held[id]) this.sentinels[id].push(file);
        if (status === HARNESS_BROKEN) process.exit(HARNESS_BROKEN);
        if (!ended) this.whole = false;
        this.statuses.push(status ?? 128 + (os.constants.signals[signal] ?? 0));
        resolve();
      });
    });
  }

  /** Hand one line of a file's process on. */
  pass({ nonce, ...event }) {
    if (event.event === "test") {
      if (this.selected && !this.selected.has(event.id)) return;
      this.tests += 1;
    }
    this.report.write(event);
    if (!this.order.first_failure_ends) return;
    if (event.event === "collect_error" || ["failed", "error"].includes(event.outcome)) {
      this.over = true;
      this.whole = false;
      for (const child of this.children) child.kill("SIGKILL");
    }
  }
}

/** Give a line's event if the line has the word. */
function signed(line, word) {
  try {
    const event = JSON.parse(line);
    return event?.nonce === word ? event : undefined;
  } catch {
    return undefined;
  }
}

const order = takeLine(0);
const report = new Report(0, order.nonce);
try {
  const status = await new Run(order, report).all(wantedFiles(process.argv.slice(2)));
  process.exit(status);
} catch (error) {
  report.breakOff(error);
}
