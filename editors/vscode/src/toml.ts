/**
 * Edits of `fillrate.toml` that leave what a person wrote there as it is. Only the server reads the
 * file as TOML; here its lines are enough.
 */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** A table `[models.NAME]`. */
export interface ModelTable {
  name: string;
  protocol: string;
  url: string;
  /** The model's name as its server knows it. */
  model?: string;
  /** The template of prompts, if the name does not determine it. */
  family?: string;
  /** The environment variable of the key. */
  key?: string;
}

/** The names that a table may have without quotes. */
const BARE = /^[A-Za-z0-9_-]+$/;

/** Returns the path of the settings file that the server reads for a person. */
export function settingsFile(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): string {
  for (const [index, argument] of args.entries()) {
    const path = argument.startsWith("--config=")
      ? argument.slice("--config=".length)
      : argument === "--config"
        ? args[index + 1]
        : undefined;
    if (path !== undefined && isAbsolute(path)) {
      return path;
    }
  }
  const named = environment.XDG_CONFIG_HOME ?? "";
  const folder = isAbsolute(named) ? named : join(homedir(), ".config");
  return join(folder, "fillrate", "fillrate.toml");
}

/** Writes a table. */
export function written(table: ModelTable): string {
  const values = {
    protocol: table.protocol,
    url: table.url,
    name: table.model,
    family: table.family,
    key_env: table.key,
  };
  const lines = Object.entries(values).flatMap(([key, value]) =>
    value === undefined || value === "" ? [] : [`${key} = ${JSON.stringify(value)}`],
  );
  return [`[models.${quoted(table.name)}]`, ...lines, ""].join("\n");
}

/** A file with this one table, which is in use. */
export function writtenAlone(table: ModelTable): string {
  return `use = ${JSON.stringify(table.name)}\n\n${written(table)}`;
}

/** Returns a table of the file with all tables in it, unchanged. */
export function existing(text: string, name: string): string | undefined {
  const lines = text.split("\n");
  const held = spans(lines, name).map(([first, end]) => lines.slice(first, end).join("\n"));
  return held.length === 0 ? undefined : held.join("\n").trimEnd();
}

/**
 * Returns the file with a table: in the place of one of its name, else at the end. Where the file
 * says of no model that it is in use, this one is.
 */
export function withTable(text: string, table: ModelTable): string {
  const lines = text.split("\n");
  const [place, ...others] = spans(lines, table.name);
  if (place !== undefined) {
    for (const [first, end] of others.reverse()) {
      lines.splice(first, end - first);
    }
    const [first, end] = place;
    lines.splice(first, end - first, ...written(table).split("\n"));
    return ended(lines.join("\n"));
  }
  if (text.trim() === "") {
    return writtenAlone(table);
  }
  const decided = /^\s*(use\s*=|model\s*[.=]|\[\s*(model|trial)\s*[\].])/m.test(text);
  const use = decided ? "" : `use = ${JSON.stringify(table.name)}\n\n`;
  return `${use}${ended(text)}\n${written(table)}`;
}

/** True if the file writes its models in a way that no table can be added to. */
export function isClosed(text: string): boolean {
  return /^\s*models\s*=\s*\{/m.test(text);
}

/** Returns the environment variables that the file takes keys from. */
export function keyVariables(text: string): string[] {
  const found = text.matchAll(/^[^#\n]*\bkey_env\s*=\s*["']([A-Za-z_][A-Za-z0-9_]*)["']/gm);
  return [...new Set([...found].map(([, name]) => name ?? ""))];
}

/** Returns a name that is not taken. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let number = 2; isTaken(free); number += 1) {
    free = `${name}-${number}`;
  }
  return free;
}

/** The lines of `[models.NAME]` and of the tables in it: from the header's on, up to the end. */
function spans(lines: readonly string[], name: string): [number, number][] {
  const names = [name, JSON.stringify(name), `'${name}'`].map(escaped).join("|");
  const header = new RegExp(`^\\s*\\[\\s*models\\s*\\.\\s*(?:${names})\\s*[\\].]`);
  const found: [number, number][] = [];
  for (const [first, line] of lines.entries()) {
    if (!header.test(line)) {
      continue;
    }
    const next = lines.findIndex((other, index) => index > first && isHeader(other));
    let end = next === -1 ? lines.length : next;
    // Comments right above the next table are about that.
    while (next !== -1 && end > first + 1 && /^\s*(#|$)/.test(lines[end - 1] ?? "")) {
      end -= 1;
    }
    found.push([first, end]);
  }
  return found;
}

/** True for the header of a table; lines of a list of lists end otherwise. */
function isHeader(line: string): boolean {
  return /^\s*\[{1,2}\s*[A-Za-z0-9_"'-][^,]*\]{1,2}\s*(#.*)?$/.test(line);
}

function quoted(name: string): string {
  return BARE.test(name) ? name : JSON.stringify(name);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function ended(text: string): string {
  return `${text.trimEnd()}\n`;
}
