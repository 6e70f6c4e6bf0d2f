// A vitest 3 reporter that writes every test's outcome out of band.
//
// Use: vitest run --reporter=<this file>, with the working directory at the
// root of the repository.
//
// Environment:
//   FILLRATE_REPORT  the file that JSON lines are appended to (required); a
//                    path of its own for every run, in a writable directory
//   FILLRATE_SELECT  a JSON file with the list of test ids to report; the
//                    wrapper configuration makes the others not run
//
// Lines (`event`): `test`, `collect_error`, `coverage` (gathered from the
// workers, see fillrate_coverage.mjs), `harness_error` and, last, `end`.  A
// run without an `end` line did not finish, whatever its exit status says.  A
// fault of the reporter itself ends the process at once with status 70.

import fs from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";

/** Exit status of a run whose harness broke; vitest itself uses 0 and 1. */
const HARNESS_BROKEN = 70;
/** Longest failure message that is kept, in characters. */
const MESSAGE_LIMIT = 4000;

/** Give the repository's root: the directory in which vitest was started. */
export function repositoryRoot() {
  // The wrapper configuration keeps it for the workers, where a test may
  // change the working directory.
  return process.env.FILLRATE_ROOT ?? fs.realpathSync(process.cwd());
}

/** Make an absolute path relative to the repository, with `/` between parts. */
export function repositoryPath(file) {
  return path.relative(repositoryRoot(), file).split(path.sep).join("/");
}

/** Read the JSON file that an environment variable names, if it does. */
export function readJson(variable) {
  const file = process.env[variable];
  return file ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined;
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

/** Say whether an error is one of the parser or of a source transform. */
function isSyntaxError(error) {
  const text = String(error?.message);
  return (
    error?.name === "SyntaxError" ||
    error?.code === "PARSE_ERROR" ||
    /^Transform failed with \d+ error|Parse failure:|^Failed to parse source/.test(text) ||
    (error?.cause !== undefined && isSyntaxError(error.cause))
  );
}

/** Wrap a reporter's method so that its own fault ends the run. */
function guarded(method) {
  return function (...args) {
    try {
      return method.apply(this, args);
    } catch (error) {
      try {
        process.stderr.write(`${error?.stack}\n`);
        this.write({ event: "harness_error", message: message([error]) });
      } finally {
        process.exit(HARNESS_BROKEN);
      }
    }
  };
}

/** The reporter; vitest makes one instance in its main process. */
export default class FillrateReporter {
  /** Open the report; each line is one write, so nothing waits in a buffer. */
  onInit = guarded(() => {
    this.tests = 0;
    this.settled = new Set();
    this.path = process.env.FILLRATE_REPORT;
    this.descriptor = fs.openSync(this.path, "a");
    const selected = readJson("FILLRATE_SELECT");
    this.selected = selected && new Set(selected);
  });

  /** Append one line. */
  write(event) {
    fs.writeSync(this.descriptor, `${JSON.stringify(event)}\n`);
  }

  /** Report a file that can't be loaded; vitest gives it no other event. */
  onTestModuleCollected = guarded((module) => {
    if (module.task.tasks.length === 0 && module.errors().length > 0) {
      this.settle(module);
    }
  });

  /** Report a file's tests when its last hook has ended. */
  onTestModuleEnd = guarded((module) => this.settle(module));

  /**
   * Write the lines of one file, once.
   *
   * Tests that have neither a result nor a skip did not run, because they are
   * not selected, after a bail-out, or as their worker died: no line.
   */
  settle(module) {
    if (this.settled.has(module.id)) return;
    this.settled.add(module.id);
    if (module.task.tasks.length === 0) {
      const errors = module.errors();
      const id = repositoryPath(module.moduleId);
      const syntax = errors.some(isSyntaxError);
      this.write({ event: "collect_error", id, message: message(errors), syntax });
      return;
    }
    const ids = testIds(module.task);
    const broken = this.brokenByHooks(module);
    for (const test of module.children.allTests()) {
      const id = ids.get(test.task);
      const { state, errors, note } = test.result();
      if (this.selected && !this.selected.has(id)) continue;
      if (state === "pending") continue;
      const blame = state === "failed" ? undefined : broken.get(test.task);
      this.tests += 1;
      this.write({
        event: "test",
        id,
        outcome: blame ? "error" : state,
        seconds: Math.round((test.diagnostic()?.duration ?? 0) * 1000) / 1e6,
        message: blame ?? (state === "skipped" ? (note ?? "") : message(errors)),
      });
    }
  }

  /**
   * Find the tests that a failed hook of a suite or of the file spoils.
   *
   * After a failed beforeAll vitest calls the tests skipped: they are errors.
   * After a failed afterAll they have all passed: the last one takes it, as
   * the last test of a class does in pytest.
   */
  brokenByHooks(module) {
    const broken = new Map();
    for (const suite of [module, ...module.children.allSuites()]) {
      if (suite.errors().length === 0) continue;
      const text = message(suite.errors());
      const ran = [...suite.children.allTests()].filter((test) => this.chosen(test));
      const skipped = ran.filter((test) => test.task.result?.state === "skip");
      const spoilt = skipped.length === ran.length ? skipped : ran.slice(-1);
      for (const test of spoilt) broken.set(test.task, text);
    }
    return broken;
  }

  /** Say whether a test has a result, as unselected ones have none. */
  chosen(test) {
    return test.result().state !== "pending";
  }

  /** Write what is left, then the line that says the run is complete. */
  onTestRunEnd = guarded((modules, unhandled, reason) => {
    for (const module of modules) {
      if (module.task.tasks.length > 0 || module.errors().length > 0) this.settle(module);
    }
    this.gatherCoverage();
    const failed = reason !== "passed" || unhandled.length > 0;
    const end = { event: "end", status: failed ? 1 : 0, tests: this.tests };
    if (unhandled.length > 0) end.message = message(unhandled);
    this.write(end);
  });

  /**
   * Move the workers' coverage files into the report, one line per test and
   * file.  Retried tests and files imported by many workers are merged.
   */
  gatherCoverage() {
    const directory = path.dirname(path.resolve(this.path));
    const prefix = `${path.basename(this.path)}.cov.`;
    const merged = new Map();
    for (const name of fs.readdirSync(directory).sort()) {
      if (!name.startsWith(prefix)) continue;
      const part = path.join(directory, name);
      // What follows the last line feed was cut off when its worker died.
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
