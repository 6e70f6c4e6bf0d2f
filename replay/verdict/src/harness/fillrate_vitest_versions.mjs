// Runs test files on one version of a module after the other, in one of vitest 3's
// workers, with all modules loaded anew for each file.
//
// fillrate_vitest_host.mjs starts it if the instructions have the member
// `versions`, a list of objects:
//   nonce    repeated in every line of the report on this version
//   files    by name, the texts of the modules that differ, in the folder of all
//   groups   the selected tests in the groups in which they run, as lists of indices
//   seconds  how long the tests may take
//
// The versions were made to be judged, such as mutants, and are not hostile.  The
// last line on each is `exited`, with the `status` of a run of vitest, or null if it
// needs a run of its own, and the `seconds` that it took.  A worker that is not as it
// was at first, see fillrate_vitest_versions_worker.mjs, runs no further file; and a
// version that leaves a process, or a file of the repository, is the last.  Then this
// process ends, and what is left needs another one.

import fs from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ReportWriter, repositoryRoot } from "./fillrate_vitest.mjs";

const WORKER = fileURLToPath(new URL("fillrate_vitest_versions_worker.mjs", import.meta.url));
/** Message of the error that the worker throws if its state has changed. */
const CHANGED = "fillrate: the worker has changed";
/** Folders of temporary files. */
const SCRATCH = ["/tmp", "/dev/shm"];
/** Exit status if no version can run here. */
const MISSED = 71;

/** Return the file of a test. */
function fileOf(id) {
  return id.split(" > ")[0];
}

/** Return whether the project's modules load packages, whose state can't be loaded anew. */
function loadsPackages(folder) {
  const index = JSON.parse(fs.readFileSync(path.join(folder, "index.json"), "utf8"));
  const outside = Object.values(index).map(({ given }) => given?.externalize);
  return outside.some((id) => id !== undefined && !isBuiltin(id));
}

/** Run all versions in a pool with one worker; `host` holds what the host of single runs has. */
export async function runVersions(pool, instructions, host) {
  const { settings, folder } = host;
  const { select, versions } = instructions;
  if (settings.version !== 3 || loadsPackages(folder)) process.exit(MISSED);
  pool.options.isolateWorkers = false;
  // The worker compares itself with what it is after one file of the unchanged project.
  const first = fileOf(select[versions[0].groups[0][0]]);
  const unchanged = new host.Run(new SilentWriter(instructions));
  if (await runFile(pool, unchanged, first, instructions, host)) process.exit(MISSED);
  const [scratch, before] = [new Set(scratchFiles()), leftovers()];
  for (const version of versions) {
    for (const [name, text] of Object.entries(version.files)) fs.writeFileSync(path.join(folder, name), text);
    const files = [...new Set(version.groups.flat().map((index) => fileOf(select[index])))];
    const writer = new ReportWriter({ ...instructions, nonce: version.nonce });
    if (!(await runVersion(pool, writer, files, version.seconds, instructions, host))) break;
    for (const file of scratchFiles()) if (!scratch.has(file)) fs.rmSync(file, { recursive: true, force: true });
    if (leftovers() !== before) break;
  }
  process.exit(0);
}

/** List the temporary files. */
function scratchFiles() {
  return SCRATCH.flatMap((folder) => fs.readdirSync(folder).map((name) => path.join(folder, name)));
}

/** Return what no version may leave, processes and files of the repository, as a text. */
function leftovers() {
  const left = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const visit = (folder) => {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) visit(file);
      else {
        const { mtimeMs, size } = fs.lstatSync(file);
        left.push(`${file} ${mtimeMs} ${size}`);
      }
    }
  };
  visit(repositoryRoot());
  return left.join("\n");
}

/** Run files until a test fails; return whether another version can follow. */
async function runVersion(pool, writer, files, seconds, instructions, host) {
  const started = performance.now();
  const run = new host.Run(writer);
  const end = (status) => writer.write({ event: "exited", status, seconds: (performance.now() - started) / 1000 });
  const timer = setTimeout(() => {
    end(null);
    process.exit(0);
  }, seconds * 1000);
  for (const [index, file] of files.entries()) {
    if (run.cancelled) break;
    const fault = await runFile(pool, run, file, instructions, host);
    if (!fault) continue;
    // What changed the worker before the first file was another version.
    if (index > 0 || fault !== CHANGED) end(null);
    return false;
  }
  clearTimeout(timer);
  writer.end(run.files.values(), [...run.errors]);
  end(run.status());
  return true;
}

/** Writes nothing: the tests of the unchanged project are known to pass. */
class SilentWriter extends ReportWriter {
  write() {}
}

/** Run a test file in the worker; return what happened apart from the tests' results, if anything. */
async function runFile(pool, run, file, { token, select }, host) {
  const provided = { token, select: select.filter((id) => fileOf(id) === file), coverage: null };
  const filepath = path.join(repositoryRoot(), file);
  const { ran, close } = host.runInPool(pool, run, { filepath, workerId: 1, lane: 1, worker: WORKER }, provided, host);
  try {
    await ran;
    return undefined;
  } catch (error) {
    const text = String(error?.message);
    return text.includes(CHANGED) ? CHANGED : text;
  } finally {
    run.onCancel.length = 0;
    close();
  }
}
