// vitest's own worker, with the main process's answers in a folder.
//
// fillrate_vitest_transform.mjs writes the folder, which all workers of a run
// share.  Its modules are what vitest's main process makes of the same files; any
// other request goes to the main process.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const vitest = path.dirname(createRequire(import.meta.url).resolve("vitest/package.json"));
const workers = ["forks", "threads"].map((pool) => pathToFileURL(path.join(vitest, `dist/workers/${pool}.js`)).href);
const { readFileSync } = fs;
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

class Worker {
  async init(pool) {
    this.worker ??= (await import(workers[pool === "forks" ? 0 : 1])).default;
    return this.worker;
  }

  getRpcOptions(ctx) {
    return this.worker.getRpcOptions(ctx);
  }

  async runTests(state) {
    state.rpc = answered(state.rpc, state.ctx.fillrate);
    return this.worker.runTests(state);
  }

  async collectTests(state) {
    return this.worker.collectTests(state);
  }
}

const worker = new Worker();
// The pool is known before the first task.
await worker.init(process.send ? "forks" : "threads");

export { worker as default };
