// A host of vitest's own workers in place of vitest's main process, which starts
// slowly: the answers to the workers' requests are in a folder.
//
// Use: node <this file> <folder>, with the working directory at the root of
// the repository.  fillrate_vitest_transform.mjs wrote the folder, the changed
// file's modules included.  Standard input and the report are as in
// fillrate_vitest.mjs, by the same code.  A worker's request without an answer
// in the folder ends the run with the line `miss`: vitest itself must run it.
//
// Every test file has a process or thread of its own, started as vitest does: by
// the same tinypool with the same options in vitest 3, and with the same messages
// in vitest 4.  All state of a run is in this process, which runs once.

import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import v8 from "node:v8";
import { MessageChannel, Worker } from "node:worker_threads";
import { ReportWriter, guarded, readInstructions, refuseInspector, repositoryRoot } from "./fillrate_vitest.mjs";

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

/** The methods that a worker may call, like vitest's createMethodsRPC; `more` replaces some. */
function methods(run, more) {
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
    onTaskArtifactRecord(id, artifact) {
      if (artifact.attachments?.length > 0) miss("onTaskArtifactRecord")(id);
      return artifact;
    },
    onTaskUpdate: (packs, events) => run.update(packs, events),
    onUserConsoleLog() {},
    onUnhandledError: (error, type) => run.catch(error, type),
    onCancel: (reason) => run.cancel(reason),
    getCountOfFailedTests: () =>
      [...run.tasks.values()].filter(({ result }) => result?.state === "fail").length,
    ...more,
  };
}

/** Answer a worker's messages, as birpc does: q is a request, s a response. */
function answering(run, post, more = {}) {
  const functions = methods(run, more);
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

/** Run test files in vitest 3's workers, by the tinypool that it uses. */
async function runInTinypool(run, { settings, config, folder, provided, wanted }) {
  const { Tinypool } = await import(pathToFileURL(settings.tinypool));
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
  const ran = settings.files.filter(wanted).map(async (filepath, index) => {
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
      providedContext: { ...settings.provided, fillrate: provided },
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
  return () => pool.destroy();
}

/** How vitest 4 starts a worker, by pool: a channel of messages. */
const STARTS = {
  forks(file, env, execArgv) {
    // Standard input is the report's.
    const stdio = ["ignore", "inherit", "inherit", "ipc"];
    const child = fork(file, [], { env, execArgv, stdio, serialization: "advanced" });
    const stop = async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const patience = setTimeout(() => child.kill("SIGKILL"), 500);
      child.kill();
      await once(child, "exit");
      clearTimeout(patience);
    };
    return { channel: child, send: (message) => child.connected && child.send(message, () => {}), stop };
  },
  threads(file, env, execArgv) {
    const thread = new Worker(file, { env, execArgv });
    return { channel: thread, send: (message) => thread.postMessage(message), stop: () => thread.terminate() };
  },
};

/** Run one task in a worker of vitest 4, as its PoolRunner does. */
async function runTask(run, { settings, config, provided }, { env, execArgv, start, run: request }, answers) {
  const file = path.join(settings.vitest, `dist/workers/${settings.pool}.js`);
  const worker = STARTS[settings.pool](file, { ...env, FILLRATE_ROOT: repositoryRoot() }, execArgv);
  const answer = answering(run, worker.send, answers);
  const responses = new EventEmitter();
  worker.channel.on("message", (message) => {
    if (message?.__vitest_worker_response__) responses.emit(message.type, message);
    else answer(message);
  });
  const ended = new Promise((_, reject) => {
    worker.channel.once("error", reject);
    worker.channel.once("exit", () => reject(new Error("Worker exited unexpectedly")));
  });
  ended.catch(() => {});
  const ask = async (message, type) => {
    const answered = once(responses, type);
    worker.send(message);
    const [{ error }] = await Promise.race([answered, ended]);
    if (error) throw error;
  };
  try {
    await ask({ ...start, context: { ...start.context, config } }, "started");
    const providedContext = { ...request.context.providedContext, fillrate: provided };
    await ask({ ...request, context: { ...request.context, providedContext } }, "testfileFinished");
    const patience = new Promise((resolve) => setTimeout(resolve, settings.patience).unref());
    await Promise.race([patience, ask({ type: "stop", __vitest_worker_request__: true }, "stopped")]);
  } catch (error) {
    run.catch(error, "Unhandled Error");
  }
  await worker.stop();
}

/** Run test files in vitest 4's workers, each in one of its own. */
async function runInWorkers(run, options) {
  const { settings, folder, wanted } = options;
  const index = JSON.parse(fs.readFileSync(path.join(folder, "index.json"), "utf8"));
  const find = (miss, ...request) => {
    const known = index[JSON.stringify(request)];
    if (!known) return miss(...request);
    return known.file ? JSON.parse(fs.readFileSync(path.join(folder, known.file), "utf8")) : known.given;
  };
  const { fetch: missFetch, resolveId: missResolve } = methods(run, {});
  const known = (miss, ...request) => {
    const { thrown, ...given } = find(miss, ...request) ?? {};
    if (thrown) throw thrown;
    return Object.keys(given).length > 0 ? given : null;
  };
  const answers = {
    fetch: (id, importer, environment) => known(missFetch, "fetch", environment, id, importer ?? null),
    resolve: (id, importer, environment) => known(missResolve, "resolve", environment, id, importer ?? null),
  };
  const left = v8
    .deserialize(Buffer.from(settings.tasks, "base64"))
    .filter(({ run: { context } }) => wanted(context.files[0].filepath));
  const lane = async () => {
    while (left.length > 0 && !run.cancelled) await runTask(run, options, left.shift(), answers);
  };
  await Promise.all(Array.from({ length: settings.workers }, lane));
  return async () => {};
}

async function main() {
  refuseInspector();
  process.env.FILLRATE_ROOT = repositoryRoot();
  const instructions = readInstructions();
  const folder = process.argv[2];
  const settings = JSON.parse(fs.readFileSync(path.join(folder, "settings.json"), "utf8"));
  const config = v8.deserialize(Buffer.from(settings.config, "base64"));
  const { token, select, coverage } = instructions;
  if (select) config.setupFiles = [settings.select, ...config.setupFiles];
  const chosen = select && new Set(select.map((id) => path.join(repositoryRoot(), id.split(" > ")[0])));
  const run = new Run(new ReportWriter(instructions));
  const start = settings.version === 4 ? runInWorkers : runInTinypool;
  const destroy = await start(run, {
    settings,
    config,
    folder,
    provided: { token, select, coverage },
    wanted: (file) => !chosen || chosen.has(file),
  });
  const status = run.status();
  guarded(run.writer, () => run.writer.end(run.files.values(), [...run.errors]))();
  await Promise.race([destroy(), new Promise((resolve) => setTimeout(resolve, settings.patience))]);
  process.exit(status);
}

await main();
