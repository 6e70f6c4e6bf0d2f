// Runs tests of node's own test framework, and reports every test out of band.
//
// Use: node fillrate_node.mjs [OPTION of node ...] [FILE, FOLDER or PATTERN ...],
// with the working directory at the root of the repository.  Without arguments,
// and within folders, the files are those that `node --test` takes by itself.
// With `--import`, `--require`, `--loader` or types to strip, these may be
// TypeScript.  `--leave-out=FILE` leaves out one of them.
//
// Each file runs in a process of its own, fillrate_node_file.mjs, as under
// `node --test`.  The `run()` of node:test is unsuitable: up to Node 22 it neither
// passes anything to those processes, which the sentinels need, nor has a channel
// to them that is separate from what tests print.
//
// As many of those processes as run at one time are started before the instructions are
// read, so that a run can wait for them, and later ones while others run; unless an
// option loads a file of the repository.
//
// Input and output are described in fillrate_report.cjs.  Only this process, in
// which no code of the project runs, knows the nonce; every file's process signs
// with a nonce of its own.  Selection is by file: all tests of a file with a
// selected test run, and the selected ones are reported.  Recording lines by test
// requires Node 20.16, 22.3 or newer.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { FOLDER, HARNESS_BROKEN, Report, readLine, refuseInspector, repositoryPath } from "./fillrate_report.cjs";

/** The file that runs one file of tests. */
const CHILD = new URL("fillrate_node_file.mjs", import.meta.url);
const REPORTER = new URL("fillrate_node_reporter.mjs", import.meta.url);
/** The most processes at one time: each has a dozen threads. */
const MOST_AT_ONCE = 8;

/** Options of node with a value that may be the next argument. */
const WITH_VALUE = ["--import", "--require", "-r", "--loader", "--experimental-loader", "--conditions", "-C", "--env-file"];
const LEAVE_OUT = "--leave-out=";
const LOADS = /^(--import|--require|-r|--loader|--experimental-loader|--experimental-(strip|transform)-types)\b/;

/** Split arguments into options of node, names of files, and files that are left out. */
function splitArguments(all) {
  const [options, names, leftOut] = [[], [], new Set()];
  for (let index = 0; index < all.length; index += 1) {
    const argument = all[index];
    if (!argument.startsWith("-")) names.push(argument);
    else if (argument.startsWith(LEAVE_OUT)) leftOut.add(argument.slice(LEAVE_OUT.length));
    else if (/^--(experimental-)?test\b/.test(argument)) throw new Error(`The option ${argument} is not supported.`);
    else options.push(argument, ...(WITH_VALUE.includes(argument) ? [all[(index += 1)]] : []));
  }
  return { options, names, leftOut };
}

/** Return the regular expression of a pattern with `*`, `**`, `?` and `{a,b}`. */
function expression(pattern) {
  const parts = { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]" };
  const plain = (text) =>
    text.replace(/\*\*\/|\*\*|[*?]|[.+^$()|[\]{}\\]/g, (part) => parts[part] ?? `\\${part}`);
  const pieces = pattern.split(/\{([^{}]*)\}/);
  const source = pieces.map((piece, index) => (index % 2 ? `(?:${piece.split(",").map(plain).join("|")})` : plain(piece)));
  return new RegExp(`^${source.join("")}$`);
}

/** The names of test files, as `node --test` has them. */
class TestNames {
  constructor(typescript) {
    const ending = typescript ? "\\.[cm]?[jt]s$" : "\\.[cm]?js$";
    this.inTestFolder = new RegExp(ending);
    this.anywhere = new RegExp(`(^test|^test-.+|[._-]test)${ending}`);
  }

  /** List the files in a folder and below it. */
  static *walk(folder) {
    const entries = fs.readdirSync(folder, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name === "node_modules" || entry.name.startsWith(".")) continue;
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) yield* TestNames.walk(file);
      else yield file;
    }
  }

  /** List the test files in a folder. */
  inFolder(folder) {
    return [...TestNames.walk(folder)].filter((file) => {
      if (/\.d\.[cm]?ts$/.test(file)) return false;
      const inTest = `${path.basename(folder)}/${path.relative(folder, path.dirname(file))}/`;
      return (/(^|\/)test\//.test(inTest) ? this.inTestFolder : this.anywhere).test(path.basename(file));
    });
  }

  /** List the wanted test files, relative to the repository. */
  wanted(names) {
    const files = (names.length > 0 ? names : ["."]).flatMap((name) => {
      const file = path.resolve(FOLDER, name);
      if (fs.existsSync(file)) return fs.statSync(file).isDirectory() ? this.inFolder(file) : [file];
      const pattern = expression(file);
      const found = [...TestNames.walk(FOLDER)].filter((one) => pattern.test(one));
      if (found.length === 0) throw new Error(`No file matches ${name}.`);
      return found;
    });
    return [...new Set(files)].map(repositoryPath);
  }
}

/** The processes that wait for a file. */
class Waiting {
  #options;
  #ready = [];

  constructor(options) {
    this.#options = options;
  }

  /** Start processes until this many wait. */
  keep(number) {
    while (this.#ready.length < number) this.#ready.push(this.#start());
  }

  /** Return one that waits, or start it. */
  take() {
    return this.#ready.shift() ?? this.#start();
  }

  /** End those that no file is left for. */
  end() {
    for (const child of this.#ready.splice(0)) child.kill("SIGKILL");
  }

  #start() {
    const reporter = [`--test-reporter=${REPORTER}`, "--test-reporter-destination=stdout"];
    const child = spawn(process.execPath, [...this.#options, ...reporter, fileURLToPath(CHILD)], {
      stdio: ["ignore", "inherit", "inherit", "pipe"],
    });
    child.stdio[3].on("error", () => {});
    return child;
  }
}

/** Return whether an option has node load a file of the repository before a test file. */
function loadsOwnFile(options) {
  const values = options.flatMap((option) => option.split("="));
  return values.some((value) => /^(\.|\/|file:)/.test(value) || fs.existsSync(path.join(FOLDER, value)));
}

/** Return how many files run at one time. */
function lanesOf() {
  return Math.max(1, Math.min(os.availableParallelism() - 1, MOST_AT_ONCE));
}

/** The run of all files. */
class Run {
  /** `ahead` is how many processes wait for the next files. */
  constructor(instructions, report, waiting, ahead) {
    this.instructions = instructions;
    this.report = report;
    this.waiting = waiting;
    this.ahead = ahead;
    this.selected = instructions.select && new Set(instructions.select);
    this.children = new Set();
    this.tests = 0;
    this.marks = new Set();
    this.complete = true;
    this.stopped = false;
    this.statuses = [];
    /** By kind of sentinel: the files in which it did not fail. */
    this.sentinels = { expectations: [], test: [] };
  }

  /** Run all files, several concurrently, and return the exit status. */
  async all(files) {
    const chosen = this.selected && new Set([...this.selected].map((id) => id.split(" > ")[0]));
    const left = chosen ? files.filter((file) => chosen.has(file)) : [...files];
    const some = left.length > 0;
    const lane = async () => {
      while (left.length > 0 && !this.stopped) {
        const ended = this.file(left.shift());
        this.waiting.keep(Math.min(this.ahead, left.length));
        await ended;
      }
    };
    await Promise.all(Array.from({ length: lanesOf() }, lane));
    this.waiting.end();
    for (const [id, passed] of some ? Object.entries(this.sentinels) : []) {
      const outcome = passed.length > 0 ? "passed" : "failed";
      this.report.write({ event: "sentinel", id, outcome, message: `${this.instructions.token} ${passed}` });
    }
    if (this.complete) {
      this.report.write({ event: "end", tests: this.tests, marks: [...this.marks].sort() });
    }
    return this.statuses.find((status) => status !== 1) ?? 1;
  }

  /** Run one file. */
  file(file) {
    const { token, coverage } = this.instructions;
    const nonce = randomBytes(16).toString("hex");
    const child = this.waiting.take();
    this.children.add(child);
    const channel = child.stdio[3];
    channel.write(`${JSON.stringify({ nonce, token, file, coverage })}\n`);
    const held = { expectations: false, test: false };
    let ended = false;
    createInterface({ input: channel }).on("line", (line) => {
      const event = signed(line, nonce);
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
        if (!ended) this.complete = false;
        this.statuses.push(status ?? 128 + (os.constants.signals[signal] ?? 0));
        resolve();
      });
    });
  }

  /** Pass on one line of a file's process. */
  pass({ nonce, ...event }) {
    if (event.event === "test") {
      if (this.selected && !this.selected.has(event.id)) return;
      this.tests += 1;
    }
    this.report.write(event);
    if (!this.instructions.first_failure_ends) return;
    if (event.event === "collect_error" || ["failed", "error"].includes(event.outcome)) {
      this.stopped = true;
      this.complete = false;
      for (const child of this.children) child.kill("SIGKILL");
    }
  }
}

/** Return a line's event if the line has the nonce. */
function signed(line, nonce) {
  try {
    const event = JSON.parse(line);
    return event?.nonce === nonce ? event : undefined;
  } catch {
    return undefined;
  }
}

refuseInspector();
let report;
try {
  const { options, names, leftOut } = splitArguments(process.argv.slice(2));
  const waiting = new Waiting(options);
  const ahead = loadsOwnFile(options) ? 0 : lanesOf();
  waiting.keep(ahead);
  const instructions = readLine(0);
  report = new Report(0, instructions.nonce);
  const typescript = options.some((option) => LOADS.test(option)) || Boolean(process.features.typescript);
  const files = new TestNames(typescript).wanted(names).filter((file) => !leftOut.has(file));
  const status = await new Run(instructions, report, waiting, ahead).all(files);
  process.exit(status);
} catch (error) {
  (report ?? new Report(0, readLine(0).nonce)).abort(error);
}
