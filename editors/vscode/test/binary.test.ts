import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { find, INSTALL, isOlder, judged, refusal } from "../src/binary";

/** Runs with a folder that holds a program of this name and contents. */
async function withProgram(
  contents: string,
  run: (folder: string, path: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "fillrate-"));
  try {
    const path = join(folder, "fillrate");
    await writeFile(path, contents);
    await chmod(path, 0o755);
    await run(folder, path);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const problem = (found: object) => ("problem" in found ? String(found.problem) : "");

test("versions compare by their numbers", () => {
  assert.ok(isOlder("0.9.0", "0.10.0"));
  assert.ok(!isOlder("1.0.0-beta", "0.10.0"));
  assert.ok(!isOlder("0.1.0", "0.1.0"));
});

test("what says it is Fillrate is judged by its version", () => {
  assert.deepEqual(judged("/p", "fillrate 0.1.0\n"), { path: "/p", version: "0.1.0" });
  assert.match(problem(judged("/p", "fillrate 0.0.9")), /0\.0\.9, and .* needs 0\.1\.0/);
  assert.match(problem(judged("/p", "ls (GNU coreutils) 9.1")), /is not Fillrate/);
});

test("the program on PATH is found", () =>
  withProgram("#!/bin/sh\necho fillrate 7.0.0\n", async (folder, path) => {
    assert.deepEqual(await find("", { PATH: `relative:/nowhere:${folder}` }), {
      path,
      version: "7.0.0",
    });
  }));

test("the setting wins, and a wrong one is no reason to take another", async () => {
  await withProgram("#!/bin/sh\necho fillrate 7.0.0\n", async (folder) => {
    const found = await find("/nowhere/fillrate", { PATH: folder });
    assert.match(problem(found), /fillrate\.path is \/nowhere\/fillrate, but there is no program/);
  });
  assert.match(problem(await find("fillrate", {})), /must be an absolute path/);
});

test("a program that can't be started says why", () =>
  withProgram("#!/nowhere/interpreter\n", async (_, path) => {
    assert.match(problem(await find(path, {})), /can't be started: /);
  }));

test("a program that refuses its settings says why, and one that serves ends with its input", () =>
  withProgram(
    '#!/bin/sh\n[ "$1 $2" = "serve --bad" ] && echo "fillrate: no setting: modle" >&2 && exit 1\ncat\n',
    async (_, path) => {
      assert.equal(await refusal(path, ["--bad"], process.env), "no setting: modle");
      assert.equal(await refusal(path, [], process.env), undefined);
    },
  ));

test("the extension's own program comes before the one on PATH", () =>
  withProgram("#!/bin/sh\necho fillrate 7.0.0\n", async (folder) => {
    const extension = await mkdtemp(join(tmpdir(), "extension-"));
    try {
      await mkdir(join(extension, "bin"));
      const own = join(extension, "bin", "fillrate");
      await writeFile(own, "#!/bin/sh\necho fillrate 8.0.0\n");
      await chmod(own, 0o755);
      const found = await find("", { PATH: folder }, extension);
      assert.deepEqual(found, { path: own, version: "8.0.0" });
    } finally {
      await rm(extension, { recursive: true });
    }
  }));

test("where there is no program, the command that installs it is named", async () => {
  // This machine may have one of cargo's.
  const home = process.env.HOME;
  process.env.HOME = "/nowhere";
  try {
    const found = await find("", { PATH: "/nowhere" });
    assert.ok("problem" in found && found.missing === true && found.problem.includes(INSTALL));
  } finally {
    process.env.HOME = home;
  }
});
