// A host of vitest's own workers in place of vitest's main process, which starts
// slowly: the answers to the workers' requests are in a folder.
//
// Use: node <this file> <folder>, with the working directory at the root of
// the repository.  fillrate_vitest_transform.mjs wrote the folder, the changed
// file's modules included.  Standard input and the report are as in
// fillrate_vitest.mjs, by the same code.  A worker's request without an answer
// in the folder ends the run with the line `miss`: vitest itself must run it.
//
// Every test file has a process or thread of its own, started by the same
// tinypool with the same options as vitest's, and all state of a run is in this
// process, which runs once.

import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import v8 from "node:v8";
import { MessageChannel } from "node:worker_threads";
import { ReportWriter, guarded, repositoryRoot, readInstructions } from "./fillrate_vitest.mjs";

/** Exit status of a run that vitest itself must repeat. */
const MISSED = 71;
const WORKER = fileURLToPath(new URL("fillrate_vitest_worker.mjs", import.meta.url));

/** The state of a run, like vitest's StateManager and TestRun. */
class Run {
  constructor(writer) {
    this.writer = writer;
    this.files = new Map();
    this.tasks = new Map();
    this.errors = new Set();
    this.cancelled = false;
    this.onCancel = [];
    this.writeFile = guarded(writer, (file) => writer.writeFile(file));
    this.reportUnloadable = guarded(writer, (file) => writer.collected(file));
    this.endsRun = guarded(writer, (test) => writer.endsRun(test));
  }

  collect(files) {
    for (const file of files) {
      this.files.set(file.filepath, file);
      this.know(file);
    }
  }

  know(task) {
    this.tasks.set(task.id, task);
    if (task.type === "suite") task.tasks.forEach((inner) => this.know(inner));
  }

  update(packs, events) {
    for (const [id, result, meta] of packs) {
      const task = this.tasks.get(id);
      if (!task) continue;
      Object.assign(task, { result, meta });
      if (result?.state === "skip") task.mode = "skip";
    }
    for (const [id, event] of events) {
      const task = this.tasks.get(id);
      if (!task) this.catch(new Error(`Entity must be found for task ${id}`));
      else if (event === "test-finished" && task.type !== "suite" && this.endsRun(task)) this.cancel("test-failure");
      else if (event === "suite-finished" && task.filepath) this.writeFile(task);
    }
  }

  catch(error, type) {
    if (Array.isArray(error?.errors)) {
      for (const inner of error.errors) this.catch(inner, type);
    } else if (error?.code === "VITEST_PENDING") {
      const task = this.tasks.get(error.taskId);
      if (!task) return;
      task.mode = "skip";
      task.result = { ...task.result, state: "skip", note: error.note };
    } else {
      this.errors.add(error === Object(error) ? error : { message: error });
    }
  }

  cancel(reason) {
    this.cancelled = true;
    for (const listener of this.onCancel.splice(0)) listener(reason);
  }

  /** The exit status of vitest. */
  status() {
    const failed = [...this.files.values()].some(({ result }) => result?.state === "fail");
    return this.cancelled || failed || this.errors.size > 0 ? 1 : 0;
  }
}

/** The methods that a worker may call, like vitest's createMethodsRPC. */
function methods(run) {
  const miss = (call) => (...args) => {
    run.writer.write({ event: "miss", what: `${call} ${args.join(" ")}`.slice(0, 1000) });
    process.exit(MISSED);
  };
  return {
    snapshotSaved() {},
    resolveSnapshotPath: (file) => path.join(path.dirname(file), "__snapshots__", `${path.basename(file)}.snap`),
    getSourceMap: miss("getSourceMap"),
    fetch: miss("fetch"),
    resolveId: miss("resolveId"),
    transform: miss("transform"),
    onQueued: (file) => run.collect([file]),
    onCollected(files) {
      run.collect(files);
      if (files.some((file) => run.reportUnloadable(file))) run.cancel("test-failure");
    },
    onAfterSuiteRun() {},
    onTaskAnnotate(id, annotation) {
      if (annotation.attachment) miss("onTaskAnnotate")(id);
      run.tasks.get(id).annotations.push(annotation);
      return annotation;
    },
    onTaskUpdate: (packs, events) => run.update(packs, events),
    onUserConsoleLog() {},
    onUnhandledError: (error, type) => run.catch(error, type),
    onCancel: (reason) => run.cancel(reason),
    getCountOfFailedTests: () =>
      [...run.tasks.values()].filter(({ result }) => result?.state === "fail").length,
  };
}

/** Answer a worker's messages, as birpc does: q is a request, s a response. */
function answering(run, post) {
  const functions = methods(run);
  run.onCancel.push((reason) => post({ t: "q", m: "onCancel", a: [reason] }));
  return async ({ t, m, a, i }) => {
    if (t !== "q") return;
    let answer;
    try {
      if (!Object.hasOwn(functions, m)) throw new Error(`[birpc] function "${m}" not found`);
      answer = { t: "s", i, r: await functions[m](...a) };
    } catch (error) {
      answer = { t: "s", i, e: error };
    }
    if (i) post(answer);
  };
}

/** The channels to a worker, by pool. */
const CHANNELS = {
  forks(run) {
    let send = () => {};
    const answer = answering(run, (value) => send(v8.serialize(value)));
    const channel = {
      onMessage: (callback) => (send = callback),
      postMessage: (message) => answer(v8.deserialize(Buffer.from(message))),
      onClose: () => (send = () => {}),
    };
    return { channel };
  },
  threads(run) {
    const { port1, port2 } = new MessageChannel();
    port2.on("message", answering(run, (value) => port2.postMessage(value)));
    const onClose = () => [port1, port2].forEach((port) => port.close());
    return { channel: { onClose }, transferList: [port1], port: port1 };
  },
};

/** Return the configuration in its serializable form. */
function serializable(config, pool) {
  if (pool === "threads" || !config.defines) return config;
  return { ...config, defines: { keys: Object.keys(config.defines), original: config.defines } };
}

async function main() {
  process.env.FILLRATE_ROOT = repositoryRoot();
  const instructions = readInstructions();
  const folder = process.argv[2];
  const settings = JSON.parse(fs.readFileSync(path.join(folder, "settings.json"), "utf8"));
  const { Tinypool } = await import(pathToFileURL(settings.tinypool));
  const config = v8.deserialize(Buffer.from(settings.config, "base64"));
  const { token, select, coverage } = instructions;
  if (select) config.setupFiles = [settings.select, ...config.setupFiles];
  const chosen = select && new Set(select.map((id) => path.join(repositoryRoot(), id.split(" > ")[0])));
  const files = settings.files.filter((file) => !chosen || chosen.has(file));
  const run = new Run(new ReportWriter(instructions));
  const pool = new Tinypool({
    runtime: settings.pool === "forks" ? "child_process" : "worker_threads",
    filename: path.join(settings.vitest, "dist/worker.js"),
    teardown: "teardown",
    useAtomics: settings.atomics,
    // No worker starts before there is a file for it.
    minThreads: 0,
    maxThreads: settings.workers,
    env: { ...settings.env, FILLRATE_ROOT: repositoryRoot() },
    execArgv: settings.execArgv,
    terminateTimeout: settings.patience,
    concurrentTasksPerWorker: 1,
    isolateWorkers: true,
  });
  run.onCancel.push(() => pool.cancelPendingTasks());
  const ran = files.map(async (filepath, index) => {
    const { channel, transferList, port } = CHANNELS[settings.pool](run);
    const task = {
      pool: settings.pool,
      worker: WORKER,
      config: serializable(config, settings.pool),
      files: [{ filepath }],
      invalidates: [],
      environment: { name: "node", transformMode: undefined, options: null },
      workerId: index + 1,
      projectName: settings.project,
      providedContext: { ...settings.provided, fillrate: { token, select, coverage } },
      ...(port && { port }),
      fillrate: folder,
    };
    try {
      await pool.run(task, { name: "run", channel, ...(transferList && { transferList }) });
    } catch (error) {
      if (error instanceof Error && /Failed to terminate worker/.test(error.message)) return;
      if (run.cancelled && error instanceof Error && /The task has been cancelled/.test(error.message)) return;
      run.catch(error, "Unhandled Error");
    }
  });
  await Promise.all(ran);
  const status = run.status();
  guarded(run.writer, () => run.writer.end(run.files.values(), [...run.errors]))();
  await Promise.race([pool.destroy(), new Promise((resolve) => setTimeout(resolve, settings.patience))]);
  process.exit(status);
}

await main();
