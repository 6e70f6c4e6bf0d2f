// A vitest that transforms a project's files and never runs a test.
//
// Use: node <this file> OPTION…, with vitest's own options.  It only reads
// text: the code under test runs in other sandboxes, which can't reach this
// process, so that its state depends on the unchanged project alone.
//
// Standard input is a socket.  The first line is a JSON object:
//   transform  true
//   directory  the repository's root
//   requests   the workers' requests to vitest's main process, see
//              fillrate_vitest.mjs: lists of "fetch" or "resolve" and its
//              arguments, each as text
// The answer is `ready`, or `unfit` and why the project's tests need vitest's own
// main process.  Every other line gets an object as its answer.  The answer to an
// empty object is:
//   files      by name, the text of the files that fillrate_vitest_host.mjs and
//              fillrate_vitest_worker.mjs find in a folder
// The answer to an object with these members is the `files` that change:
//   path       a file of the project
//   contents   its contents

import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import v8 from "node:v8";
import { repositoryPath, repositoryRoot, readInstructions } from "./fillrate_vitest.mjs";
import { openVitest } from "./fillrate_vitest_open.mjs";

/** A pool in place of vitest 3's: it returns what vitest passes to its pools. */
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
function unfit(vitest, specifications) {
  const { config, vite } = vitest;
  const pools = [...new Set(specifications.map(({ pool }) => pool))];
  const [pool] = pools;
  const own = ({ name }) => !/^(vite|vitest|alias$|commonjs$|builtin:|rolldown|native:)/.test(name);
  const reasons = {
    "several projects": vitest.projects.length !== 1,
    "plugins of its own": vite.config.plugins.some(own),
    "a global set-up": config.globalSetup.length > 0,
    "a choice of environments or pools by file": (config.environmentMatchGlobs ?? []).length + (config.poolMatchGlobs ?? []).length > 0,
    "a browser": config.browser.enabled,
    "a name pattern": config.testNamePattern !== undefined,
    "a place for snapshots of its own": config.resolveSnapshotPath !== undefined,
    "files that share a process": !["forks", "threads"].includes(pool) || pools.length !== 1 || !isolated(config, pool),
    "errors that don't count": config.dangerouslyIgnoreUnhandledErrors === true,
  };
  return Object.keys(reasons).find((reason) => reasons[reason]);
}

/** Return whether each test file has a process or thread of its own. */
function isolated({ poolOptions = {}, isolate: all = true }, pool) {
  const { isolate = true, singleFork = false, singleThread = false } = poolOptions[pool] ?? {};
  return all && isolate && !singleFork && !singleThread;
}

/** Return the number of concurrent workers, as vitest's pools compute it. */
function mostWorkers({ poolOptions, maxWorkers, fileParallelism }, pool) {
  if (!fileParallelism) return 1;
  const { maxForks, maxThreads } = poolOptions?.[pool] ?? {};
  return (pool === "forks" ? maxForks : maxThreads) ?? maxWorkers ?? Math.max(availableParallelism() - 1, 1);
}

/** Answers a project's workers as vitest's main process does, and keeps the answers as files. */
class Transformer {
  constructor(vitest) {
    this.project = vitest.projects[0];
    this.index = {};
    /** By repository-relative file: the answers that depend on it, as pairs of name and request. */
    this.modules = new Map();
    this.count = 0;
  }

  /** Answer a request: an object of what to return or to throw. */
  async answer([kind, ...rest]) {
    try {
      return { given: (await this[kind](...rest)) ?? null };
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

  /** Transform files with other contents, given as pairs of path and contents. */
  async change(changes) {
    const files = {};
    const originals = [];
    try {
      for (const [file, contents] of changes) {
        const absolute = path.join(repositoryRoot(), file);
        originals.push([absolute, fs.readFileSync(absolute)]);
        fs.writeFileSync(absolute, contents);
        this.invalidate(absolute);
      }
      for (const [name, request] of changes.flatMap(([file]) => this.modules.get(file) ?? [])) {
        files[name] = this.text(await this.answer(request));
      }
    } finally {
      for (const [absolute, original] of originals) {
        fs.writeFileSync(absolute, original);
        this.invalidate(absolute);
      }
    }
    return { files };
  }
}

/** For vitest 3, whose workers run modules by vite-node. */
class ViteNodeTransformer extends Transformer {
  async fetch(mode, id) {
    const { externalize, code } = await this.project.vitenode.fetchResult(id, mode);
    return externalize ? { externalize } : { code };
  }

  resolve(mode, id, importer) {
    return this.project.vitenode.resolveId(id, importer ?? undefined, mode);
  }

  /** Forget what a file was transformed to. */
  invalidate(absolute) {
    const { vite, vitenode } = this.project;
    for (const module of vite.moduleGraph.getModulesByFile(absolute) ?? []) vite.moduleGraph.invalidateModule(module);
    for (const cache of [...Object.values(vitenode.fetchCaches), vitenode.fetchCache]) {
      for (const known of [...cache.keys()]) if (known.startsWith(absolute)) cache.delete(known);
    }
  }

  /** Return what the host needs to start workers: vitest passes it to a pool that runs nothing. */
  async settings(vitest, specifications) {
    const { config } = vitest;
    const [{ pool }] = specifications;
    for (const specification of specifications) {
      specification.pool = POOL;
      specification[2] = { ...specification[2], pool: POOL };
    }
    const shown = await new Promise((resolve) => {
      globalThis[Symbol.for("fillrate.pool")] = resolve;
      vitest.runTestSpecifications(specifications);
    });
    const vitestRequire = requireFromVitest();
    return {
      config: v8.serialize({ ...this.project.serializedConfig, pool }).toString("base64"),
      files: shown.files,
      pool,
      workers: mostWorkers(config, pool),
      atomics: config.poolOptions?.threads?.useAtomics ?? false,
      execArgv: [...(config.poolOptions?.[pool]?.execArgv ?? []), ...shown.execArgv],
      env: shown.env,
      project: this.project.name,
      provided: this.project.getProvidedContext(),
      tinypool: vitestRequire.resolve("tinypool"),
    };
  }
}

/** For vitest 4, whose workers run modules by vite's module runner. */
class ModuleRunnerTransformer extends Transformer {
  fetch(environment, id, importer) {
    return this.worker.ask("fetch", id, importer ?? undefined, environment);
  }

  resolve(environment, id, importer) {
    return this.worker.ask("resolve", id, importer ?? undefined, environment);
  }

  /** Forget what a file was transformed to. */
  invalidate(absolute) {
    for (const { moduleGraph } of Object.values(this.project.vite.environments)) {
      for (const module of moduleGraph.getModulesByFile(absolute) ?? []) moduleGraph.invalidateModule(module);
    }
  }

  /** Return what the host needs to start workers: what vitest sends to workers that run nothing. */
  async settings(vitest, specifications) {
    const [{ pool }] = specifications;
    const workers = [];
    this.worker = await new Promise((resolve) => {
      this.project.config.poolRunner = {
        name: "fillrate",
        createPoolWorker(options) {
          const last = workers.length + 1 === specifications.length && resolve;
          workers.push(new RecordingWorker(pool, options, last));
          return workers.at(-1);
        },
      };
      for (const specification of specifications) specification.pool = "fillrate";
      vitest.runTestSpecifications(specifications, true);
    });
    // All files have the same configuration.
    const { config } = workers[0].task.start.context;
    const tasks = workers.map(({ task }) => {
      const context = { ...task.start.context, config: null };
      return { ...task, start: { ...task.start, context } };
    });
    return {
      config: v8.serialize(config).toString("base64"),
      tasks: v8.serialize(tasks).toString("base64"),
      pool,
      workers: mostWorkers(vitest.config, pool),
    };
  }
}

/**
 * A worker of vitest 4 that records what it is sent and runs nothing.
 *
 * The last one of a run never ends, and sends requests to vitest's main process.
 */
class RecordingWorker {
  #listeners = new Set();
  #asked = new Map();
  #last;

  constructor(pool, { env, execArgv }, last) {
    this.name = pool;
    this.task = { env, execArgv };
    this.#last = last;
  }

  on(event, listener) {
    if (event === "message") this.#listeners.add(listener);
  }

  off(_event, listener) {
    this.#listeners.delete(listener);
  }

  #emit(message) {
    setImmediate(() => this.#listeners.forEach((listener) => listener(message)));
  }

  /** Take a message of the main process: birpc's answers, and requests to a worker. */
  send(message) {
    if (message.t === "s") {
      const { resolve, reject } = this.#asked.get(message.i) ?? {};
      this.#asked.delete(message.i);
      if (message.e) reject?.(message.e);
      else resolve?.(message.r);
    }
    if (!message.__vitest_worker_request__) return;
    if (["start", "run"].includes(message.type)) this.task[message.type] = message;
    if (message.type === "run" && this.#last) return this.#last(this);
    const type = { start: "started", run: "testfileFinished", stop: "stopped" }[message.type];
    this.#emit({ __vitest_worker_response__: true, type });
  }

  /** Send a request to the main process, as birpc does. */
  ask(method, ...args) {
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#emit({ t: "q", i: id, m: method, a: args });
    });
  }

  deserialize(message) {
    return message;
  }

  async start() {}

  async stop() {}
}

/** Return the requests of a run with selected tests, which those of a run of all tests lack. */
function forSelection(requests) {
  return requests.filter((text) => text.includes(SENTINEL)).map((text) => text.replaceAll(SENTINEL, SELECT));
}

/** Return a function that requires as vitest's own modules do. */
function requireFromVitest() {
  const project = createRequire(path.join(repositoryRoot(), "package.json"));
  return createRequire(project.resolve("vitest/package.json"));
}

/** Return whether a test file has an environment that only vitest's main process can prepare; vitest 4 leaves it to the workers. */
function hasOwnEnvironment(file, config, version) {
  const code = fs.readFileSync(file, "utf8");
  if (/@(?:vitest|jest)-environment-options\s/.test(code)) return true;
  const name = /@(?:vitest|jest)-environment\s+([\w-]+)\b/.exec(code)?.[1] ?? config.environment ?? "node";
  return !(version === 4 ? ["node", "jsdom", "happy-dom", "edge-runtime"] : ["node"]).includes(name);
}

/** Run vitest up to the point where it would start workers. */
async function main() {
  const instructions = readInstructions();
  process.chdir(instructions.directory);
  process.env.TEST = "true";
  process.env.VITEST = "true";
  process.env.NODE_ENV ??= "test";
  const { vitest, filter } = await openVitest(instructions, process.argv.slice(2), [{}]);
  const version = Number.parseInt(vitest.version, 10);
  const reason = /^(3\.2|4)\./.test(vitest.version) ? undefined : `vitest ${vitest.version ?? "1 or 2"}, which has no warm engine`;
  const specifications = reason ? [] : await vitest.globTestSpecifications(filter);
  const unusual = () => specifications.some(({ moduleId }) => hasOwnEnvironment(moduleId, vitest.config, version));
  const why = reason ?? unfit(vitest, specifications) ?? (unusual() ? "an environment of its own" : undefined);
  if (why) {
    writeLine(`unfit it has ${why}`);
    process.exit(0);
  }
  const transformer = version === 4 ? new ModuleRunnerTransformer(vitest) : new ViteNodeTransformer(vitest);
  const settings = {
    ...(await transformer.settings(vitest, specifications)),
    version,
    select: SELECT,
    teardownTimeout: vitest.config.teardownTimeout,
    vitest: path.dirname(requireFromVitest().resolve("./package.json")),
  };
  writeLine("ready");
  for await (const request of requests()) {
    let answer;
    try {
      answer = request.changes ? await transformer.change(request.changes) : await transformer.transformAll(instructions.requests, settings);
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
