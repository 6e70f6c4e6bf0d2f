// Packages the extension: `npm run package [-- [--out FILE] [--target TARGET] [PROGRAM]]`.
//
// With a program, the file is for one platform and has the program in it, stripped: a person needs
// neither a toolchain nor PATH. Without one, it is for every platform and finds the program.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));

/** Platforms of VS Code by Rust's names of them; README.md says on which Fillrate builds. */
const TARGETS = {
  "linux-x64": "x86_64-unknown-linux-gnu",
  "linux-arm64": "aarch64-unknown-linux-gnu",
  "darwin-x64": "x86_64-apple-darwin",
  "darwin-arm64": "aarch64-apple-darwin",
  "win32-x64": "x86_64-pc-windows-msvc",
};

const bin = join(here, "bin");
/** Both licences, under the one name that packages have it by. */
const licence = join(here, "LICENSE.txt");

function fail(message) {
  rmSync(bin, { recursive: true, force: true });
  process.stderr.write(`package: ${message}\n`);
  process.exit(1);
}

const USAGE = "npm run package [-- [--out FILE] [--target TARGET] [PROGRAM]]";

function parsed() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { out: { type: "string" }, target: { type: "string" } },
    });
  } catch (error) {
    return fail(`${error.message}\nuse: ${USAGE}`);
  }
}

const { values, positionals } = parsed();
const [given, ...more] = positionals;
const own = `${process.platform}-${process.arch}`;
const target = values.target ?? own;
if (more.length > 0) {
  fail("one program goes into a package");
}
if (given === undefined && values.target !== undefined) {
  fail(`a package for ${target} needs the program built for ${TARGETS[target] ?? "it"}`);
}
rmSync(bin, { recursive: true, force: true });
const vsce = [
  "package",
  "--no-dependencies",
  "--readme-path",
  "dist/README.md",
  "--no-rewrite-relative-links",
];
if (given !== undefined) {
  if (!Object.hasOwn(TARGETS, target)) {
    fail(`there is no platform ${target}; there are ${Object.keys(TARGETS).join(", ")}`);
  }
  const program = resolve(given);
  if (!existsSync(program)) {
    fail(`there is no program at ${program}: build it (cargo build --release), then name it`);
  }
  const name = target.startsWith("win32") ? "fillrate.exe" : "fillrate";
  mkdirSync(bin);
  copyFileSync(program, join(bin, name));
  chmodSync(join(bin, name), 0o755);
  if (target === own) {
    strip(join(bin, name));
    const said = version(join(bin, name));
    if (!said.startsWith("fillrate ")) {
      fail(
        `${basename(program)} is not Fillrate: its --version is ${JSON.stringify(said.split("\n")[0])}`,
      );
    }
  }
  vsce.push("--target", target);
}
if (values.out !== undefined) {
  vsce.push("--out", values.out);
}
try {
  writeFileSync(licence, licences());
  const tool = join(here, "node_modules", ".bin", "vsce");
  execFileSync(tool, vsce, { cwd: here, stdio: "inherit" });
  if (given === undefined) {
    process.stderr.write(
      "package: the program is not in it; name one to put it in: npm run package -- PROGRAM\n",
    );
  }
} finally {
  rmSync(bin, { recursive: true, force: true });
  rmSync(licence, { force: true });
}

/** The project's licences, which a copy of this folder brings along. */
function licences() {
  return ["LICENSE-MIT", "LICENSE-APACHE"]
    .map((name) => {
      const found = [here, join(here, "../..")]
        .map((folder) => join(folder, name))
        .find(existsSync);
      if (found === undefined) {
        throw new Error(`${name} is neither here nor at the top of the project`);
      }
      return readFileSync(found, "utf8").trim();
    })
    .join(`\n\n${"-".repeat(80)}\n\n`);
}

/** Returns the output of a program's `--version`. */
function version(program) {
  try {
    return execFileSync(program, ["--version"], { encoding: "utf8" });
  } catch (error) {
    return fail(`${basename(program)} can't be run: ${error.message}`);
  }
}

/** Drops the program's symbols; one that was built for release has none. */
function strip(program) {
  try {
    execFileSync("strip", [program], { stdio: "ignore" });
  } catch {
    process.stderr.write("package: `strip` is unavailable; the program keeps its symbols\n");
  }
}
