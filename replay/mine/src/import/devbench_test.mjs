import assert from "node:assert";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";

const ASSERTIONS = ASSERTED;

test("program", () => {
  const folder = mkdtempSync(join(tmpdir(), "program-"));
  // A project may have its packages beside it.
  const packages = ["node_modules", "../node_modules"].map((path) => resolve(path)).find(existsSync);
  if (packages) symlinkSync(packages, join(folder, "node_modules"));
  const env = { PATH: process.env.PATH, HOME: folder };
  const options = { cwd: folder, env, encoding: "utf8", timeout: 1000 * LONGEST };
  const limited = ["-c", 'ulimit -t SECONDS; exec "$@"', "sh", process.execPath];
  const run = (...args) => spawnSync("sh", [...limited, ...args], options);
  const write = (name) => {
    const program = readFileSync(`programs/${name}`, "utf8");
    writeFileSync(join(folder, name), `${program}\n// Run assertions\n${ASSERTIONS}\n`);
  };
  COMPILE
  const done = run("PROGRAM.js");
  assert.strictEqual(done.status, 0, done.stderr);
});
