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
// in vitest 4.  All state of a run is in this process, which runs once.  It reads
// the instructions when a first worker is on its way, so that it may be started
// before there are any.

import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import v8 from "node:v8";
import { MessageChannel, Worker } from "node:worker_threads";
import { ReportWriter, guarded, readInstructions, refuseInspector, repositoryRoot } from "./fillrate_vitest.mjs";
import { importTinypool } from "./fillrate_vitest_tinypool.mjs";

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

/** Have vitest 3's worker in a pool run one file, and return the end of its channel. */
function runInPool(pool, run, { filepath, workerId, lane, worker = WORKER }, provided, { settings, config, folder }) {
  const { channel, transferList, port } = CHANNELS[settings.pool](run);
  const task = {
    pool: settings.pool,
    worker,
    config: serializable(config, settings.pool),
    files: [{ filepath }],
    invalidates: [],
    environment: { name: "node", transformMode: undefined, options: null },
    workerId,
    projectName: settings.project,
    providedContext: { ...settings.provided, fillrate: provided },
    ...(port && { port }),
    fillrate: { folder, lane },
  };
  const ran = pool.run(task, { channel, ...(transferList && { transferList }) });
  return { ran, close: channel.onClose };
}

/** Prepare for vitest 3's workers, started by the tinypool that it uses, each in a pool of its own. */
async function prepareTinypool({ settings, folder }) {
  const { Tinypool } = await importTinypool(settings.tinypool);
  const start = () =>
    new Tinypool({
      runtime: settings.pool === "forks" ? "child_process" : "worker_threads",
      filename: WORKER,
      name: "run",
      teardown: "teardown",
      useAtomics: settings.atomics,
      // It starts at once and loads vitest's worker before there is a file for it.
      minThreads: 1,
      maxThreads: 1,
      env: { ...settings.env, FILLRATE_ROOT: repositoryRoot() },
      execArgv: settings.execArgv,
      terminateTimeout: settings.teardownTimeout,
      concurrentTasksPerWorker: 1,
      isolateWorkers: true,
    });
  const runFile = async (pool, run, { filepath, workerId }, lane, { config, provided }) => {
    // No other takes its place.
    pool.options.minThreads = 0;
    try {
      await runInPool(pool, run, { filepath, workerId, lane }, provided, { settings, config, folder }).ran;
    } catch (error) {
      if (error instanceof Error && /Failed to terminate worker/.test(error.message)) return;
      run.catch(error, "Unhandled Error");
    }
  };
  return { start, runFile, files: settings.files.map((filepath) => ({ filepath })) };
}

/** Functions that start a worker of vitest 4 and return a channel of messages, by pool. */
const STARTS = {
  forks(file, env, execArgv) {
    // Standard input is the report's.
    const stdio = ["ignore", "inherit", "inherit", "ipc"];
    const child = fork(file, [], { env, execArgv, stdio, serialization: "advanced" });
    const stop = async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const killing = setTimeout(() => child.kill("SIGKILL"), 500);
      child.kill();
      await once(child, "exit");
      clearTimeout(killing);
    };
    return { channel: child, send: (message) => child.connected && child.send(message, () => {}), stop };
  },
  threads(file, env, execArgv) {
    const thread = new Worker(file, { env, execArgv });
    return { channel: thread, send: (message) => thread.postMessage(message), stop: () => thread.terminate() };
  },
};

/** Prepare for vitest 4's workers. */
async function prepareWorkers({ settings, folder }) {
  const index = JSON.parse(fs.readFileSync(path.join(folder, "index.json"), "utf8"));
  const find = (miss, ...request) => {
    const known = index[JSON.stringify(request)];
    if (!known) return miss(...request);
    return known.file ? JSON.parse(fs.readFileSync(path.join(folder, known.file), "utf8")) : known.given;
  };
  const known = (miss, ...request) => {
    const { thrown, ...given } = find(miss, ...request) ?? {};
    if (thrown) throw thrown;
    return Object.keys(given).length > 0 ? given : null;
  };
  const answersFor = (run) => {
    const { fetch: missFetch, resolveId: missResolve } = methods(run, {});
    return {
      fetch: (id, importer, environment) => known(missFetch, "fetch", environment, id, importer ?? null),
      resolve: (id, importer, environment) => known(missResolve, "resolve", environment, id, importer ?? null),
    };
  };
  const tasks = v8.deserialize(Buffer.from(settings.tasks, "base64"));
  const file = path.join(settings.vitest, `dist/workers/${settings.pool}.js`);
  // All workers have the same options.
  const [{ env, execArgv }] = tasks;
  return {
    start: () => STARTS[settings.pool](file, { ...env, FILLRATE_ROOT: repositoryRoot() }, execArgv),
    runFile: (worker, run, { task }, _lane, options) => runTask(worker, run, task, options, answersFor(run)),
    files: tasks.map((task) => ({ filepath: task.run.context.files[0].filepath, task })),
  };
}

/** Run one task in a worker of vitest 4, as its PoolRunner does. */
async function runTask(worker, run, { start, run: request }, { config, provided, teardownTimeout }, answers) {
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
    const late = new Promise((resolve) => setTimeout(resolve, teardownTimeout).unref());
    await Promise.race([late, ask({ type: "stop", __vitest_worker_request__: true }, "stopped")]);
  } catch (error) {
    run.catch(error, "Unhandled Error");
  }
  await worker.stop();
}

/** Run files, each in a worker of its own, as many at a time as vitest does. */
async function runFiles(run, { start, runFile }, files, waiting, options) {
  const left = [...files];
  const lane = async (number) => {
    while (left.length > 0 && !run.cancelled) {
      const file = left.shift();
      const worker = waiting.shift() ?? start();
      // The next worker starts while this one runs its file.
      while (waiting.length < Math.min(left.length, options.workers)) waiting.push(start());
      await runFile(worker, run, file, number, options);
    }
  };
  await Promise.all(Array.from({ length: options.workers }, (_, index) => lane(index + 1)));
}

async function main() {
  refuseInspector();
  process.env.FILLRATE_ROOT = repositoryRoot();
  const folder = process.argv[2];
  const settings = JSON.parse(fs.readFileSync(path.join(folder, "settings.json"), "utf8"));
  const config = v8.deserialize(Buffer.from(settings.config, "base64"));
  const workers = await (settings.version === 4 ? prepareWorkers : prepareTinypool)({ settings, folder });
  // A sandbox that is started in advance waits here with a worker that has run nothing.
  const waiting = [workers.start()];
  const instructions = readInstructions();
  const { token, select, coverage, versions } = instructions;
  if (select) config.setupFiles = [settings.select, ...config.setupFiles];
  if (versions) {
    const { runVersions } = await import("./fillrate_vitest_versions.mjs");
    const [pool] = waiting;
    return runVersions(pool, instructions, { Run, config, folder, runInPool, settings });
  }
  const chosen = select && new Set(select.map((id) => path.join(repositoryRoot(), id.split(" > ")[0])));
  const files = workers.files.map((file, index) => ({ ...file, workerId: index + 1 }));
  const wanted = files.filter(({ filepath }) => !chosen || chosen.has(filepath));
  const run = new Run(new ReportWriter(instructions));
  await runFiles(run, workers, wanted, waiting, {
    config,
    provided: { token, select, coverage },
    workers: settings.workers,
    teardownTimeout: settings.teardownTimeout,
  });
  const status = run.status();
  guarded(run.writer, () => run.writer.end(run.files.values(), [...run.errors]))();
  process.exit(status);
}

await main();
