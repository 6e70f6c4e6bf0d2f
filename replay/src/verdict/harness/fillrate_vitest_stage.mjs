// A vitest that transforms a project's files and never runs a test.
//
// Use: node <this file> run OPTION…, with vitest's own options.  It is only
// ever shown text: the code under test runs in other sandboxes, which have no
// way to reach this process, so that what it keeps stays what the unchanged
// project made it.
//
// Standard input is a socket.  The first line that comes is a JSON object:
//   stage      true
//   directory  the repository's root
//   requests   what workers asked vitest's main process for, see
//              fillrate_vitest.mjs: lists of "fetch", mode, id and of
//              "resolve", mode, id, importer, each as text
// and is answered with `ready`, or with `unfit` and why the project's tests
// can't be run without vitest's own main process.  Every other line is answered
// with an object.  An empty question is answered with:
//   files      by name, the text of the files that fillrate_vitest_host.mjs and
//              fillrate_vitest_worker.mjs find in a folder
// and one of these:
//   path       a file of the project
//   contents   what it has in place of its own
// with the `files` that differ for it.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import v8 from "node:v8";
import { createVitest, parseCLI, version } from "vitest/node";
import { repositoryPath, repositoryRoot, takeOrder } from "./fillrate_vitest.mjs";

/** Where a pool of our own stands in for vitest's: it shows what vitest gives its pools. */
const POOL = fileURLToPath(new URL("fillrate_vitest_pool.mjs", import.meta.url));
const SENTINEL = fileURLToPath(new URL("fillrate_sentinel.mjs", import.meta.url));
const SELECT = fileURLToPath(new URL("fillrate_select.mjs", import.meta.url));

/** Write a line; nothing waits in a buffer. */
function say(text) {
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

/** Give the lines that come, until there will be no more. */
async function* questions() {
  let pieces = [];
  for await (const piece of process.stdin) {
    pieces.push(piece);
    if (piece.at(-1) !== 10) continue;
    yield JSON.parse(Buffer.concat(pieces).toString("utf8"));
    pieces = [];
  }
}

/** Say why a project needs vitest's own main process, if so. */
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

/** Say whether each file of tests has a process or thread of its own. */
function isolated({ poolOptions = {} }, pool) {
  const { isolate = true, singleFork = false, singleThread = false } = poolOptions[pool] ?? {};
  return isolate && !singleFork && !singleThread;
}

/** Give the number of workers at one time, as vitest's pools do. */
function mostWorkers({ poolOptions, maxWorkers, fileParallelism }, pool, processors) {
  if (!fileParallelism) return 1;
  const { maxForks, maxThreads } = poolOptions?.[pool] ?? {};
  return (pool === "forks" ? maxForks : maxThreads) ?? maxWorkers ?? Math.max(processors - 1, 1);
}

/** What vitest's main process knows of a project, laid out for others. */
class Stage {
  constructor(vitest) {
    this.vitest = vitest;
    this.project = vitest.projects[0];
    this.index = {};
    /** By repository-relative file: what is asked for that is made of it, as pairs of name and request. */
    this.modules = new Map();
    this.count = 0;
  }

  /** Do for a worker what vitest's main process does: an object of what to give or to throw. */
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

  /** The text of the file for an answer. */
  text({ given, thrown }) {
    return JSON.stringify(thrown ? { thrown } : given);
  }

  /** Answer all requests, each in a file of its own unless there is next to nothing to say. */
  async lay(texts, scene) {
    const files = {};
    for (const text of [...texts, ...forSelection(texts)]) {
      const request = JSON.parse(text);
      const answer = await this.answer(request);
      // What fails here is asked for again where it happens.
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
    files["scene.json"] = JSON.stringify(scene);
    return { files };
  }

  /** Give the project's file that a module is made of, if it is made of one. */
  fileOf(id) {
    const root = repositoryRoot();
    const plain = id.replace(/[?#].*$/, "").replace(/^\/@fs\//, "/");
    const file = [plain, path.join(root, plain)].find((one) => one.startsWith(`${root}/`) && fs.existsSync(one));
    return file && repositoryPath(file);
  }

  /** Transform a file with other contents. */
  async change({ path: file, contents }) {
    const place = path.join(repositoryRoot(), file);
    const original = fs.readFileSync(place);
    const graph = this.project.vite.moduleGraph;
    const forget = () => {
      for (const module of graph.getModulesByFile(place) ?? []) graph.invalidateModule(module);
      for (const cache of [...Object.values(this.project.vitenode.fetchCaches), this.project.vitenode.fetchCache]) {
        for (const known of [...cache.keys()]) if (known.startsWith(place)) cache.delete(known);
      }
    };
    const files = {};
    try {
      fs.writeFileSync(place, contents);
      forget();
      for (const [name, request] of this.modules.get(file) ?? []) {
        files[name] = this.text(await this.answer(request));
      }
    } finally {
      fs.writeFileSync(place, original);
      forget();
    }
    return { files };
  }
}

/** What is asked for when tests are selected: the requests came from a run of all of them. */
function forSelection(requests) {
  return requests.filter((text) => text.includes(SENTINEL)).map((text) => text.replaceAll(SENTINEL, SELECT));
}

/** Give each file of tests its environment, as vitest's pools do. */
function environmentOf(file, config) {
  const code = fs.readFileSync(file, "utf8");
  const name = /@(?:vitest|jest)-environment\s+([\w-]+)\b/.exec(code)?.[1] ?? config.environment ?? "node";
  if (name !== "node" || /@(?:vitest|jest)-environment-options\s/.test(code)) return undefined;
  return { name, transformMode: undefined, options: null };
}

/** Be vitest up to the point where it would start workers. */
async function main() {
  const order = takeOrder();
  process.chdir(order.directory);
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
    say(`unfit it has ${reason ?? "an environment of its own"}`);
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
  const scene = {
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
  const stage = new Stage(vitest);
  say("ready");
  for await (const question of questions()) {
    let answer;
    try {
      answer = question.path ? await stage.change(question) : await stage.lay(order.requests, scene);
    } catch (error) {
      answer = { fault: String(error?.stack) };
    }
    say(JSON.stringify(answer));
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
