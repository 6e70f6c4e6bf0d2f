// A reporter for vitest 1 and later that writes every test's outcome out of band;
// see fillrate_vitest_run.mjs.
//
// Standard input is a socket.  Its first line holds the instructions, a JSON object:
//   nonce     repeated in every line of the report; only vitest's main process
//             knows it, and tests run in others
//   token     part of every sentinel's failure message
//   select    the list of test ids to run, or null for all
//   coverage  the list of source files whose lines are recorded by test, or null
//   first_failure_ends
//
// The report goes back through the socket.  Lines (`event`): `test`,
// `sentinel`, `collect_error`, `coverage` (gathered from the workers, see
// fillrate_coverage.mjs), `harness_error` and, last, `end`, with the workers'
// requests as `modules` if all tests ran.  A run without an `end` line is
// incomplete, whatever its exit status.  An error of the reporter itself ends the
// process at once with status 70.

import fs from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";

/** Exit status after an error of the harness; vitest itself uses 0 and 1. */
const HARNESS_BROKEN = 70;
/** Longest failure message that is kept, in characters. */
const MESSAGE_LIMIT = 4000;

/** Return the repository's root: the directory in which vitest was started. */
export function repositoryRoot() {
  // The wrapper configuration keeps it for the workers, where a test may
  // change the working directory.
  return process.env.FILLRATE_ROOT ?? fs.realpathSync(process.cwd());
}

/** Make an absolute path relative to the repository, with `/` between parts. */
export function repositoryPath(file) {
  return path.relative(repositoryRoot(), file).split(path.sep).join("/");
}

/** The prefix of sentinels' names; see fillrate_sentinel.mjs. */
export const SENTINEL = "fillrate sentinel";
/** The prefix of files that workers write for the reporter. */
export const SCRATCH = "/tmp/fillrate";

/** Read the instructions from standard input; once, in vitest's main process only. */
export function readInstructions() {
  const bytes = [];
  const buffer = Buffer.alloc(1 << 16);
  while (bytes.length === 0 || bytes.at(-1).at(-1) !== 10) {
    const length = fs.readSync(0, buffer);
    if (length === 0) throw new Error("Standard input ends within the instructions.");
    bytes.push(Buffer.from(buffer.subarray(0, length)));
  }
  return JSON.parse(Buffer.concat(bytes).toString("utf8"));
}

/**
 * Name every test of a file: a map from vitest's task to its id.
 *
 * Workers and reporter hold copies of the same tree, so both get the same ids.
 * Duplicates are numbered in the order of definition.
 */
export function testIds(file) {
  const ids = new Map();
  const used = new Map();
  const visit = (suite, prefix) => {
    for (const task of suite.tasks) {
      const name = `${prefix} > ${task.name}`;
      if (task.type === "suite") {
        visit(task, name);
      } else {
        const count = (used.get(name) ?? 0) + 1;
        used.set(name, count);
        ids.set(task, count === 1 ? name : `${name} #${count}`);
      }
    }
  };
  visit(file, repositoryPath(file.filepath));
  return ids;
}

/**
 * Make a hook that gets its file.  vitest passes the suite to hooks, from 4.1 on behind another
 * argument; and then it reads in a hook's text which fixtures its first parameter takes, so this
 * names none.
 */
export function withFile(hook) {
  return function () {
    return hook(arguments[arguments.length - 1]);
  };
}

/** Ignore the signal by which node opens an inspector, through which another process could change this one. */
export function refuseInspector() {
  process.on("SIGUSR1", () => {});
}

/** Turn vitest's errors into one plain text with repository-relative paths. */
function message(errors) {
  const texts = (errors ?? []).map((error) => {
    const head = `${error.name ?? "Error"}: ${error.message ?? ""}`;
    const stack = String(error.stack ?? "");
    const text = stack.includes(String(error.message)) ? stack : `${head}\n${stack}`;
    return error.diff ? `${text}\n${error.diff}` : text;
  });
  return stripVTControlCharacters(texts.join("\n"))
    .replaceAll(`${repositoryRoot()}${path.sep}`, "")
    .slice(0, MESSAGE_LIMIT);
}

/** Return whether an error comes from the parser or a source transform. */
function isSyntaxError(error) {
  const text = String(error?.message);
  return (
    error?.name === "SyntaxError" ||
    error?.code === "PARSE_ERROR" ||
    /^Transform failed with \d+ error|Parse failure:|^Failed to parse source/.test(text) ||
    (error?.cause !== undefined && isSyntaxError(error.cause))
  );
}

/** List the tests of a file or suite, those of its suites included. */
function testsOf(suite) {
  return suite.tasks.flatMap((task) => (task.type === "suite" ? testsOf(task) : [task]));
}

/** List a file or suite and all suites in it. */
function suitesOf(suite) {
  return [suite, ...suite.tasks.filter((task) => task.type === "suite").flatMap(suitesOf)];
}

/** Return a test's result in the terms of vitest's reporters. */
function resultOf({ result, mode }) {
  if (!result && (mode === "skip" || mode === "todo")) return { state: "skipped" };
  if (!result || result.state === "run" || result.state === "queued") return { state: "pending" };
  const state = { fail: "failed", pass: "passed" }[result.state] ?? "skipped";
  return { state, errors: result.errors, note: result.note };
}

/** Return the errors of a file or suite itself. */
function errorsOf(suite) {
  return suite.result?.errors ?? [];
}

/** Writes the report of a run from vitest's own tasks. */
export class ReportWriter {
  constructor(instructions) {
    this.instructions = instructions;
    this.tests = 0;
    this.written = new Set();
    this.selected = instructions.select && new Set(instructions.select);
    /** By kind of sentinel: the files in which it did not fail. */
    this.sentinels = { expectations: [], test: [] };
  }

  /** Append one line; nothing waits in a buffer. */
  write(event) {
    const line = Buffer.from(`${JSON.stringify({ nonce: this.instructions.nonce, ...event })}\n`);
    let sent = 0;
    while (sent < line.length) {
      try {
        sent += fs.writeSync(0, line, sent);
      } catch (error) {
        if (error.code !== "EAGAIN") throw error;
      }
    }
  }

  /** Return whether this test's failure ends the run, as the instructions may say. */
  endsRun(test) {
    if (!this.instructions.first_failure_ends || test.name.startsWith(SENTINEL)) return false;
    return resultOf(test).state === "failed";
  }

  /** Report a file that can't be loaded, since vitest gives it no other event; return whether that ends the run. */
  collected(file) {
    if (file.tasks.length > 0 || errorsOf(file).length === 0) return false;
    this.writeFile(file);
    return this.instructions.first_failure_ends;
  }

  /**
   * Write the lines of one file, once.
   *
   * Tests with neither a result nor a skip did not run: they are not selected,
   * the run ended early, or their worker died.  They get no line.
   */
  writeFile(file) {
    if (this.written.has(file.id)) return;
    this.written.add(file.id);
    if (file.tasks.length === 0) {
      const errors = errorsOf(file);
      const id = repositoryPath(file.filepath);
      const syntax = errors.some(isSyntaxError);
      this.write({ event: "collect_error", id, message: message(errors), syntax });
      return;
    }
    const ids = testIds(file);
    const broken = this.brokenByHooks(file);
    this.checkSentinels(file);
    for (const test of testsOf(file)) {
      if (test.name.startsWith(SENTINEL)) continue;
      const id = ids.get(test);
      const { state, errors, note } = resultOf(test);
      if (this.selected && !this.selected.has(id)) continue;
      if (state === "pending") continue;
      const blame = state === "failed" ? undefined : broken.get(test);
      this.tests += 1;
      this.write({
        event: "test",
        id,
        outcome: blame ? "error" : state,
        seconds: Math.round((test.result?.duration ?? 0) * 1000) / 1e6,
        message: blame ?? (state === "skipped" ? (note ?? "") : message(errors)),
      });
    }
  }

  /** Check the sentinels of a file, if any of its tests ran. */
  checkSentinels(module) {
    const { token } = this.instructions;
    const tests = testsOf(module);
    const own = tests.filter((test) => test.name === `${SENTINEL} ${token}`);
    const states = ["passed", "failed"];
    if (!tests.some((test) => !own.includes(test) && states.includes(resultOf(test).state))) return;
    const file = repositoryPath(module.filepath);
    const held = module.meta.fillrate;
    if (held?.token !== token || held.ineffective.length > 0) {
      this.sentinels.expectations.push(`${file}: ${held?.ineffective.join(", ") ?? "no expectation ran"}`);
    }
    const failed = (test) => {
      const { state, errors } = resultOf(test);
      return state === "failed" && (errors ?? []).some((error) => error.message === token);
    };
    if (own.length !== 1 || !failed(own[0])) this.sentinels.test.push(file);
  }

  /**
   * Find the tests that a failed hook of a suite or of the file affects.
   *
   * After a failed beforeAll vitest reports the tests as skipped: they are errors.
   * After a failed afterAll they have all passed: the last one gets the error, as
   * the last test of a class does in pytest.
   */
  brokenByHooks(file) {
    const broken = new Map();
    for (const suite of suitesOf(file)) {
      if (errorsOf(suite).length === 0) continue;
      const text = message(errorsOf(suite));
      const ran = testsOf(suite).filter((test) => this.chosen(test));
      const skipped = ran.filter((test) => test.result?.state === "skip");
      const affected = skipped.length === ran.length ? skipped : ran.slice(-1);
      for (const test of affected) broken.set(test, text);
    }
    return broken;
  }

  /** Return whether a test has a result, as unselected ones have none. */
  chosen(test) {
    return resultOf(test).state !== "pending" && !test.name.startsWith(SENTINEL);
  }

  /** Write the rest, then the line that marks the run as complete. */
  end(files, unhandled, more = {}) {
    for (const file of files) {
      if (file.tasks.length > 0 || errorsOf(file).length > 0) this.writeFile(file);
    }
    this.gatherCoverage();
    for (const [id, passed] of Object.entries(this.sentinels)) {
      const outcome = passed.length > 0 ? "passed" : "failed";
      this.write({ event: "sentinel", id, outcome, message: `${this.instructions.token} ${passed}` });
    }
    const end = { event: "end", tests: this.tests, ...more };
    if (unhandled.length > 0) end.message = message(unhandled);
    this.write(end);
  }

  /**
   * Move the workers' coverage files into the report, one line per test and
   * file.  Retried tests and files imported by many workers are merged.
   */
  gatherCoverage() {
    if (!this.instructions.coverage) return;
    const directory = path.dirname(SCRATCH);
    const prefix = `${path.basename(SCRATCH)}.cov.`;
    const merged = new Map();
    for (const name of fs.readdirSync(directory).sort()) {
      if (!name.startsWith(prefix)) continue;
      const part = path.join(directory, name);
      // What follows the last line feed is truncated: its worker died.
      for (const line of fs.readFileSync(part, "utf8").split("\n").slice(0, -1)) {
        const { test, file, lines } = JSON.parse(line);
        const key = JSON.stringify([test, file]);
        if (!merged.has(key)) merged.set(key, new Set());
        for (const number of lines) merged.get(key).add(number);
      }
      fs.unlinkSync(part);
    }
    for (const key of [...merged.keys()].sort()) {
      const [test, file] = JSON.parse(key);
      const lines = [...merged.get(key)].sort((a, b) => a - b);
      this.write({ event: "coverage", test, file, lines });
    }
  }
}

/** Wrap a method so that its own error ends the run: a broken harness says nothing of the tests. */
export function guarded(writer, method) {
  return function (...args) {
    try {
      return method.apply(this, args);
    } catch (error) {
      try {
        process.stderr.write(`${error?.stack}\n`);
        writer.write({ event: "harness_error", message: message([error]) });
      } finally {
        process.exit(HARNESS_BROKEN);
      }
    }
  };
}

/** The reporter, in vitest's main process. */
export class FillrateReporter {
  constructor(instructions) {
    refuseInspector();
    const writer = new ReportWriter(instructions);
    const requests = new Set();
    const end = (files, unhandled) => writer.end(files, unhandled, { modules: [...requests].sort() });
    this.onInit = guarded(writer, (vitest) => {
      this.vitest = vitest;
      if (!(Number.parseInt(vitest.version, 10) >= 3)) {
        return this.reportLikeVitest2(writer, end);
      }
      if (!writer.instructions.select && !writer.instructions.coverage) keepRequests(vitest, requests);
    });
    this.onTestCaseResult = guarded(writer, ({ task }) => {
      if (writer.endsRun(task)) this.vitest.cancelCurrentRun("test-failure");
    });
    this.onTestModuleCollected = guarded(writer, ({ task }) => {
      if (writer.collected(task)) this.vitest.cancelCurrentRun("test-failure");
    });
    // When its last hook has ended.
    this.onTestModuleEnd = guarded(writer, ({ task }) => writer.writeFile(task));
    this.onTestRunEnd = guarded(writer, (modules, unhandled) => end(modules.map(({ task }) => task), unhandled));
  }

  /** Use the events of vitest 1 and 2, which later versions have as well. */
  reportLikeVitest2(writer, end) {
    const cancel = () => this.vitest.cancelCurrentRun("test-failure");
    this.onCollected = guarded(writer, (files) => {
      if ((files ?? []).some((file) => writer.collected(file))) cancel();
    });
    this.onTaskUpdate = guarded(writer, (packs) => {
      const tasks = packs.map(([id]) => this.vitest.state.idMap.get(id));
      if (tasks.some((task) => task && task.type !== "suite" && writer.endsRun(task))) cancel();
    });
    this.onFinished = guarded(writer, (files, unhandled) => end(files ?? [], unhandled ?? []));
  }
}

/** Record the workers' requests to vitest's main process; see fillrate_vitest_transform.mjs. */
function keepRequests({ projects: [project] }, requests) {
  if (project.vitenode) keepRequestsOfViteNode(project, requests);
  else if (project._fetcher) keepRequestsOfModuleRunner(project, requests);
}

/** For vitest 3. */
function keepRequestsOfViteNode({ vitenode }, requests) {
  const { fetchResult, resolveId } = vitenode;
  vitenode.fetchResult = function (id, mode) {
    requests.add(JSON.stringify(["fetch", mode, id]));
    return fetchResult.call(this, id, mode);
  };
  vitenode.resolveId = function (id, importer, mode) {
    requests.add(JSON.stringify(["resolve", mode, id, importer ?? null]));
    return resolveId.call(this, id, importer, mode);
  };
}

/** For vitest 4. */
function keepRequestsOfModuleRunner(project, requests) {
  const { _fetcher: fetcher } = project;
  project._fetcher = function (id, importer, environment, ...rest) {
    requests.add(JSON.stringify(["fetch", environment.name, id, importer ?? null]));
    return fetcher.call(this, id, importer, environment, ...rest);
  };
  for (const [name, { pluginContainer }] of Object.entries(project.vite.environments)) {
    const { resolveId } = pluginContainer;
    pluginContainer.resolveId = function (...given) {
      // vite's own calls have options.
      if (given.length <= 2) requests.add(JSON.stringify(["resolve", name, given[0], given[1] ?? null]));
      return resolveId.apply(this, given);
    };
  }
}
