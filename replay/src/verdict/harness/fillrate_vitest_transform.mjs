// A vitest that transforms a project's files and never runs a test.
//
// Use: node <this file> run OPTION…, with vitest's own options.  It only reads
// text: the code under test runs in other sandboxes, which can't reach this
// process, so that its state depends on the unchanged project alone.
//
// Standard input is a socket.  The first line is a JSON object:
//   transform  true
//   directory  the repository's root
//   requests   the workers' requests to vitest's main process, see
//              fillrate_vitest.mjs: lists of "fetch", mode, id and of
//              "resolve", mode, id, importer, each as text
// The answer is `ready`, or `unfit` and why the project's tests need vitest's own
// main process.  Every other line gets an object as its answer.  The answer to an
// empty object is:
//   files      by name, the text of the files that fillrate_vitest_host.mjs and
//              fillrate_vitest_worker.mjs find in a folder
// The answer to an object with these members is the `files` that change:
//   path       a file of the project
//   contents   its contents

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import v8 from "node:v8";
import { createVitest, parseCLI, version } from "vitest/node";
import { repositoryPath, repositoryRoot, readInstructions } from "./fillrate_vitest.mjs";

/** A pool in place of vitest's: it returns what vitest passes to its pools. */
const POOL = fileURLToPath(new URL("fillrate_vitest_pool.mjs", import.meta.url));
const SENTINEL = fileURLToPath(new URL("fillrate_sentinel.mjs", import.meta.url));
const SELECT = fileURLToPath(new URL("fillrate_select.mjs", import.meta.url));

/** Write a line, unbuffered. */
function writeLine(text) {
  const line = Buffer.from(`${text}\n`);
  let sent = 0;
  while (sent < line.length) {
    try {
      sent += fs.writeSync(0, line, sent);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

/** Yield the lines of standard input until its end. */
async function* requests() {
  let pieces = [];
  for await (const piece of process.stdin) {
    pieces.push(piece);
    if (piece.at(-1) !== 10) continue;
    yield JSON.parse(Buffer.concat(pieces).toString("utf8"));
    pieces = [];
  }
}

/** Return why a project needs vitest's own main process, if so. */
function unfit(vitest, pools) {
  const { config, vite } = vitest;
  const [pool] = pools;
  const reasons = {
    [`vitest ${version} is not known`]: !/^3\.2\./.test(version),
    "several projects": vitest.projects.length !== 1,
    "plugins of its own": vite.config.plugins.some(({ name }) => !/^(vite|vitest|alias$|commonjs$)/.test(name)),
    "a global set-up": config.globalSetup.length > 0,
    "a choice of environments or pools by file": (config.environmentMatchGlobs ?? []).length + (config.poolMatchGlobs ?? []).length > 0,
    "a browser": config.browser.enabled,
    "a name pattern": config.testNamePattern !== undefined,
    "a place for snapshots of its own": config.resolveSnapshotPath !== undefined,
    "files that share a process": !["forks", "threads"].includes(pool) || pools.length !== 1 || !isolated(config, pool),
    "errors that don't count": config.dangerouslyIgnoreUnhandledErrors === true,
    "an environment of its own": config.environment !== "node",
  };
  return Object.keys(reasons).find((reason) => reasons[reason]);
}

/** Return whether each test file has a process or thread of its own. */
function isolated({ poolOptions = {} }, pool) {
  const { isolate = true, singleFork = false, singleThread = false } = poolOptions[pool] ?? {};
  return isolate && !singleFork && !singleThread;
}

/** Return the number of concurrent workers, as vitest's pools compute it. */
function mostWorkers({ poolOptions, maxWorkers, fileParallelism }, pool, processors) {
  if (!fileParallelism) return 1;
  const { maxForks, maxThreads } = poolOptions?.[pool] ?? {};
  return (pool === "forks" ? maxForks : maxThreads) ?? maxWorkers ?? Math.max(processors - 1, 1);
}

/** Computes the answers of vitest's main process for a project. */
class Transformer {
  constructor(vitest) {
    this.vitest = vitest;
    this.project = vitest.projects[0];
    this.index = {};
    /** By repository-relative file: the answers that depend on it, as pairs of name and request. */
    this.modules = new Map();
    this.count = 0;
  }

  /** Answer a worker's request as vitest's main process does: an object of what to return or to throw. */
  async answer([kind, mode, id, importer]) {
    const { vitenode } = this.project;
    try {
      const given =
        kind === "fetch"
          ? await vitenode.fetchResult(id, mode)
          : await vitenode.resolveId(id, importer ?? undefined, mode);
      if (kind === "resolve") return { given: given ?? null };
      return { given: given.externalize ? { externalize: given.externalize } : { code: given.code } };
    } catch (error) {
      const { name, message, stack, plugin, id: where, loc, frame } = error;
      return { thrown: { name, message, stack, __vitest_rollup_error__: { plugin, id: where, loc, frame } } };
    }
  }

  /** Return the text of an answer's file. */
  text({ given, thrown }) {
    return JSON.stringify(thrown ? { thrown } : given);
  }

  /** Answer all requests, each in a file of its own unless the answer is short. */
  async transformAll(texts, settings) {
    const files = {};
    for (const text of [...texts, ...forSelection(texts)]) {
      const request = JSON.parse(text);
      const answer = await this.answer(request);
      // A failed request reaches the main process of the run again.
      if (answer.thrown) continue;
      if (request[0] === "resolve" || answer.given.externalize) {
        this.index[text] = { given: answer.given };
        continue;
      }
      const name = `${this.count++}.json`;
      files[name] = this.text(answer);
      this.index[text] = { file: name };
      const file = this.fileOf(request[2]);
      if (!file) continue;
      if (!this.modules.has(file)) this.modules.set(file, []);
      this.modules.get(file).push([name, request]);
    }
    files["index.json"] = JSON.stringify(this.index);
    files["settings.json"] = JSON.stringify(settings);
    return { files };
  }

  /** Return the project's file of a module, if it has one. */
  fileOf(id) {
    const root = repositoryRoot();
    const plain = id.replace(/[?#].*$/, "").replace(/^\/@fs\//, "/");
    const file = [plain, path.join(root, plain)].find((one) => one.startsWith(`${root}/`) && fs.existsSync(one));
    return file && repositoryPath(file);
  }

  /** Transform a file with other contents. */
  async change({ path: file, contents }) {
    const absolute = path.join(repositoryRoot(), file);
    const original = fs.readFileSync(absolute);
    const graph = this.project.vite.moduleGraph;
    const invalidate = () => {
      for (const module of graph.getModulesByFile(absolute) ?? []) graph.invalidateModule(module);
      for (const cache of [...Object.values(this.project.vitenode.fetchCaches), this.project.vitenode.fetchCache]) {
        for (const known of [...cache.keys()]) if (known.startsWith(absolute)) cache.delete(known);
      }
    };
    const files = {};
    try {
      fs.writeFileSync(absolute, contents);
      invalidate();
      for (const [name, request] of this.modules.get(file) ?? []) {
        files[name] = this.text(await this.answer(request));
      }
    } finally {
      fs.writeFileSync(absolute, original);
      invalidate();
    }
    return { files };
  }
}

/** Return the requests of a run with selected tests, which those of a run of all tests lack. */
function forSelection(requests) {
  return requests.filter((text) => text.includes(SENTINEL)).map((text) => text.replaceAll(SENTINEL, SELECT));
}

/** Return the environment of a test file, as vitest's pools determine it. */
function environmentOf(file, config) {
  const code = fs.readFileSync(file, "utf8");
  const name = /@(?:vitest|jest)-environment\s+([\w-]+)\b/.exec(code)?.[1] ?? config.environment ?? "node";
  if (name !== "node" || /@(?:vitest|jest)-environment-options\s/.test(code)) return undefined;
  return { name, transformMode: undefined, options: null };
}

/** Run vitest up to the point where it would start workers. */
async function main() {
  const instructions = readInstructions();
  process.chdir(instructions.directory);
  process.env.TEST = "true";
  process.env.VITEST = "true";
  process.env.NODE_ENV ??= "test";
  const { filter, options } = parseCLI(["vitest", ...process.argv.slice(2)]);
  const vitest = await createVitest("test", { ...options, run: true, watch: false });
  const { config } = vitest;
  const specifications = await vitest.globTestSpecifications(filter);
  const pools = [...new Set(specifications.map(({ pool }) => pool))];
  const reason = unfit(vitest, pools);
  const environments = specifications.map(({ moduleId }) => environmentOf(moduleId, config));
  if (reason || environments.includes(undefined)) {
    writeLine(`unfit it has ${reason ?? "an environment of its own"}`);
    process.exit(0);
  }
  for (const specification of specifications) {
    specification.pool = POOL;
    specification[2] = { ...specification[2], pool: POOL };
  }
  const shown = await new Promise((resolve) => {
    globalThis[Symbol.for("fillrate.pool")] = resolve;
    vitest.runTestSpecifications(specifications);
  });
  const { serializedConfig } = vitest.projects[0];
  const packages = createRequire(createRequire(import.meta.url).resolve("vitest/package.json"));
  const { availableParallelism } = await import("node:os");
  const settings = {
    config: v8.serialize({ ...serializedConfig, pool: pools[0] }).toString("base64"),
    select: SELECT,
    files: shown.files,
    pool: pools[0],
    workers: mostWorkers(config, pools[0], availableParallelism()),
    atomics: config.poolOptions?.threads?.useAtomics ?? false,
    execArgv: [...(config.poolOptions?.[pools[0]]?.execArgv ?? []), ...shown.execArgv],
    env: shown.env,
    patience: config.teardownTimeout,
    project: vitest.projects[0].name,
    provided: vitest.projects[0].getProvidedContext(),
    tinypool: packages.resolve("tinypool"),
    vitest: path.dirname(packages.resolve("./package.json")),
  };
  const transformer = new Transformer(vitest);
  writeLine("ready");
  for await (const request of requests()) {
    let answer;
    try {
      answer = request.path ? await transformer.change(request) : await transformer.transformAll(instructions.requests, settings);
    } catch (error) {
      answer = { fault: String(error?.stack) };
    }
    writeLine(JSON.stringify(answer));
  }
  process.exit(0);
}

try {
  await main();
} catch (error) {
  // vitest ends the process before node would say what happened.
  process.stderr.write(`${error?.stack}\n`);
  process.exit(1);
}
