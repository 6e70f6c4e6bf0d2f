// Imports tinypool, which starts the workers of vitest 3 and is a part of each.

import childProcess from "node:child_process";
import { pathToFileURL } from "node:url";

/**
 * Import tinypool, without having it count the machine's physical cores.
 *
 * That starts twelve processes, and the number is a default that vitest sets.
 */
export async function importTinypool(file) {
  const { execSync } = childProcess;
  childProcess.execSync = () => {
    throw new Error("The cores are not counted.");
  };
  try {
    return await import(pathToFileURL(file));
  } finally {
    childProcess.execSync = execSync;
  }
}
