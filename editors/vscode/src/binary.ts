/** Finding the `fillrate` program, and whether it is new enough. */

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, chmod, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";

/** The oldest program that this extension works with. */
export const OLDEST = "0.1.0";

/** Timeout for `fillrate --version`, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** A program that can be started, or the reason why there is none, as a sentence. */
export type Found =
  | { path: string; version: string }
  | {
      problem: string;
      /** True if no program was found at all. */
      missing?: true;
    };

/** The command that installs the program from a checkout of Fillrate. */
export const INSTALL = "cargo install --locked --path replay";

/**
 * Finds the program: the one that is set, else the extension's own, else the first on `PATH`, else
 * cargo's.
 *
 * @param setting `fillrate.path`; empty where it is not set.
 * @param extension The extension's folder, which has a program in it if it was packaged for a
 *   platform.
 */
export async function find(
  setting: string,
  environment: NodeJS.ProcessEnv = process.env,
  extension?: string,
): Promise<Found> {
  const path = setting === "" ? await search(environment, extension) : expanded(setting);
  if (path === undefined) {
    return {
      missing: true,
      problem:
        "The program fillrate was found neither on PATH nor in ~/.cargo/bin. " +
        `Install it (${INSTALL}, in a checkout of Fillrate), or set fillrate.path to where it is.`,
    };
  }
  if (!(await isProgram(path))) {
    const why = isAbsolute(path) ? "there is no program there" : "it must be an absolute path";
    return { problem: `fillrate.path is ${path}, but ${why}.` };
  }
  return check(path);
}

/** Asks a program for its version. */
async function check(path: string): Promise<Found> {
  const said = await new Promise<{ output: string } | { error: string }>((resolve) => {
    execFile(path, ["--version"], { timeout: TIMEOUT_MS }, (error, output) => {
      resolve(error === null ? { output } : { error: error.message.trim() });
    });
  });
  if ("error" in said) {
    return { problem: `${path} can't be started: ${said.error}` };
  }
  return judged(path, said.output);
}

/**
 * Returns why a program does not serve with these arguments, in its own words: its settings are
 * wrong, say. Its input is empty, so it ends at once if it serves.
 */
export function refusal(
  path: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: TIMEOUT_MS, env: environment };
    const child = execFile(path, ["serve", ...args], options, (error, _, said) => {
      const isRefused = error !== null && error.killed !== true && typeof error.code === "number";
      const last = said.trim().split("\n").at(-1) ?? "";
      resolve(isRefused && last !== "" ? last.replace(/^fillrate: /, "") : undefined);
    });
    child.stdin?.on("error", () => undefined).end();
  });
}

/** The program that printed this for `fillrate --version`, or the problem with it. */
export function judged(path: string, output: string): Found {
  const version = /^fillrate (\d+\.\d+\.\d+\S*)/.exec(output.trim())?.[1];
  if (version === undefined) {
    return {
      problem: `${path} is not Fillrate: asked for its version, it said “${first(output)}”.`,
    };
  }
  if (isOlder(version, OLDEST)) {
    return {
      problem: `${path} is Fillrate ${version}, and this extension needs ${OLDEST} or newer. Install a newer one.`,
    };
  }
  return { path, version };
}

/** Returns true if one version precedes another; text after a hyphen or a plus is ignored. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [numbers(version), numbers(than)];
  for (let place = 0; place < 3; place += 1) {
    const difference = (a[place] ?? 0) - (b[place] ?? 0);
    if (difference !== 0) {
      return difference < 0;
    }
  }
  return false;
}

function numbers(version: string): number[] {
  return (version.split(/[-+]/)[0] ?? "").split(".").map(Number);
}

function first(output: string): string {
  return output.trim().split("\n")[0]?.slice(0, 80) ?? "";
}

async function search(
  environment: NodeJS.ProcessEnv,
  extension: string | undefined,
): Promise<string | undefined> {
  const name = process.platform === "win32" ? "fillrate.exe" : "fillrate";
  const own = extension === undefined ? [] : [join(extension, "bin")];
  if (own[0] !== undefined) {
    // Not every way of unpacking an extension keeps the mode.
    await chmod(join(own[0], name), 0o755).catch(() => undefined);
  }
  const folders = (environment.PATH ?? "").split(delimiter).filter(isAbsolute);
  for (const folder of [...own, ...folders, join(homedir(), ".cargo", "bin")]) {
    const path = join(folder, name);
    if (await isProgram(path)) {
      return path;
    }
  }
  return undefined;
}

/** A path that may begin with the home folder's short form. */
function expanded(path: string): string {
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
}

async function isProgram(path: string): Promise<boolean> {
  if (!isAbsolute(path)) {
    return false;
  }
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
