/** `fillrate doctor --model`: asks a model to fill holes, and says whether it is asked rightly. */

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ModelTable, writtenAlone } from "./toml";

/** Timeout for loading the model and filling the holes, in milliseconds. */
const TIMEOUT_MS = 360_000;

/** The most that is shown of a fault, in characters. */
const LONGEST = 240;

/** Result of `fillrate doctor`. */
export interface Diagnosis {
  kind: "fits" | "misfits" | "fault";
  /** True if the model answered at least once. */
  answered: boolean;
  /** The result in one or two sentences. */
  text: string;
  /** With a fault, the status of the HTTP response that the model's server gave instead. */
  status?: number;
  /** Everything that the program printed. */
  output: string;
  /** True if the model's name does not determine the template of its prompts. */
  needsFamily: boolean;
}

/**
 * Runs the program on a settings file that has this model alone.
 *
 * @param keys Keys by environment variables.
 */
export async function diagnose(
  program: string,
  table: ModelTable,
  keys: Record<string, string>,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const folder = await mkdtemp(join(tmpdir(), "fillrate-"));
  try {
    const file = join(folder, "fillrate.toml");
    await writeFile(file, writtenAlone(table));
    return await new Promise((resolve) => {
      execFile(
        program,
        ["doctor", "--model", file],
        { timeout: TIMEOUT_MS, signal, env: { ...process.env, ...keys } },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : error.code;
          resolve(judged(code, stdout, stderr.trim() || (error?.message ?? "")));
        },
      );
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads what the program printed. */
export function judged(
  code: string | number | null | undefined,
  stdout: string,
  stderr: string,
): Diagnosis {
  const output = [stdout.trimEnd(), stderr].filter((text) => text !== "").join("\n");
  const last = stdout.trimEnd().split("\n").at(-1) ?? "";
  // The program prints the model with its first answer.
  const answered = /^ {2}model /m.test(stdout);
  const needsFamily = stderr.includes("identifies no model family");
  if (code === 0) {
    return { kind: "fits", text: last, output, answered, needsFamily };
  }
  if (code === 3) {
    return { kind: "misfits", text: last, output, answered, needsFamily };
  }
  const [, status] = /\banswered (\d{3})\b/.exec(stderr) ?? [];
  return {
    kind: "fault",
    text: advice(stderr),
    ...(status === undefined ? {} : { status: Number(status) }),
    output,
    answered,
    needsFamily,
  };
}

/** Returns the advice of a fault, without the text of a model's server, which has no limit. */
function advice(stderr: string): string {
  const fault = stderr.replace(/^fillrate: /, "").replaceAll("\n", " ");
  const end = /(?:cannot be reached|\(https?:\/\/\S*\)|did not answer within \S+)\. (?=[A-Z])/g;
  const last = [...fault.matchAll(end)].at(-1);
  if (last !== undefined) {
    return fault.slice(last.index + last[0].length);
  }
  if (/answered \d/.test(fault)) {
    return "The log has the reason.";
  }
  return fault.length <= LONGEST ? fault : `${fault.slice(0, LONGEST - 1)}…`;
}
