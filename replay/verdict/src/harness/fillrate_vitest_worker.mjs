// vitest 3's own worker, with the main process's answers in a folder.
//
// It is loaded in whole before it is given a file: vitest's modules are all the same
// for every file.
//
// fillrate_vitest_transform.mjs writes the folder, which all workers of a run
// share.  Its modules are what vitest's main process makes of the same files; any
// other request goes to the main process.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { importTinypool } from "./fillrate_vitest_tinypool.mjs";

const manifest = createRequire(import.meta.url).resolve("vitest/package.json");
const vitest = path.dirname(manifest);
const workers = ["forks", "threads"].map((pool) => pathToFileURL(path.join(vitest, `dist/workers/${pool}.js`)).href);
const { readFileSync } = fs;
/** Name of the global variable in which vitest keeps a worker's state. */
const STATE = "__vitest_worker__";
const state = { environment: { name: "node" } };
const { parse, stringify } = JSON;

/** Return a copy of the calls to the main process, two of which are answered here. */
function answered(rpc, folder) {
  const index = parse(readFileSync(path.join(folder, "index.json"), "utf8"));
  const find = (request, ask) => {
    const known = index[stringify(request)];
    if (!known) return ask();
    if (!known.file) return structuredClone(known.given);
    const { thrown, ...given } = parse(readFileSync(path.join(folder, known.file), "utf8"));
    if (thrown) throw thrown;
    return given;
  };
  const fetch = async (id, mode) => find(["fetch", mode, id], () => rpc.fetch(id, mode));
  const resolveId = async (id, importer, mode) =>
    find(["resolve", mode, id, importer ?? null], () => rpc.resolveId(id, importer, mode));
  return new Proxy(rpc, {
    get: (target, name) => ({ fetch, resolveId })[name] ?? Reflect.get(target, name),
  });
}

/** Import vitest's modules that a worker imports with its first file, in their order. */
async function preload() {
  const chunks = path.join(vitest, "dist/chunks");
  const base = fs.readdirSync(chunks).filter((name) => /^runBaseTests\.[\w-]+\.js$/.test(name));
  if (base.length !== 1) return;
  // Some take hold of the worker's state, which later gets its contents.
  Object.defineProperty(globalThis, STATE, { value: state, configurable: true, writable: true });
  for (const name of [path.join("chunks", base[0]), "index.js", "runners.js"]) {
    await import(pathToFileURL(path.join(vitest, "dist", name)));
  }
  delete globalThis[STATE];
}

class Worker {
  async init(pool) {
    this.worker ??= (await import(workers[pool === "forks" ? 0 : 1])).default;
    return this.worker;
  }

  getRpcOptions(ctx) {
    return this.worker.getRpcOptions(ctx);
  }

  async runTests(given) {
    const { folder, lane } = given.ctx.fillrate;
    // Each worker is the only one of its pool.
    process.env.VITEST_POOL_ID = String(lane);
    Object.assign(state, given, { rpc: answered(given.rpc, folder) });
    return this.worker.runTests(state);
  }

  async collectTests(given) {
    return this.worker.collectTests(given);
  }
}

const worker = new Worker();
// A part of every worker.
await importTinypool(createRequire(manifest).resolve("tinypool"));
// The pool is known before the first task.
await worker.init(process.send ? "forks" : "threads");
await preload();

export { worker as default };
export const { run, teardown } = await import(pathToFileURL(path.join(vitest, "dist/worker.js")));
