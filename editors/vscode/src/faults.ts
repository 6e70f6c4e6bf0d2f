/** Messages for faults: the cause in a few words, then the advice. */

import type { Status } from "./protocol";

/** Labels of the actions that a fault's message can offer. */
export const ACTIONS = {
  openConfiguration: "Open fillrate.toml",
  enterKey: "Enter Key",
  pickModel: "Pick Model",
  showLog: "Show Log",
} as const;

/** A command of the extension that a fault's message offers. */
export type Action = keyof typeof ACTIONS;

/** A fault's message. */
export interface Fault {
  /** Cause and advice. */
  text: string;
  actions: Action[];
}

/** Longest part of a message that is our own words about a file's line, in characters. */
const LONGEST = 240;

/**
 * The message about a fault: the cause, then what to do. Where the cause alone does not say what is
 * wrong, it has the first sentence of the model's server's words, which may be of any length.
 */
export function faultOf(status: Status): Fault {
  const message = status.message ?? "";
  const variable = missingKey(message);
  if (variable !== undefined) {
    return {
      text: `A key is missing. Enter the one for ${variable}, or change key_env in fillrate.toml.`,
      actions: ["enterKey", "openConfiguration", "pickModel", "showLog"],
    };
  }
  const cause = sentence(withWords(status.cause ?? "no completions can be given", message));
  // Without advice, the message is the server's own: where the settings are wrong, and how.
  const advice = status.advice ?? shortened(message);
  const isRefused = /^the key was refused|^access was denied/.test(status.cause ?? "");
  return {
    text: advice === "" ? cause : `${cause} ${sentence(advice)}`,
    actions: isRefused
      ? ["enterKey", "openConfiguration", "pickModel", "showLog"]
      : ["openConfiguration", "pickModel", "showLog"],
  };
}

/** Returns a cause with the words of the model's server, if it says no more than that it refused. */
function withWords(cause: string, message: string): string {
  const [, words] = /answered \d+: (.*?)(?:[.:;\n] ?| \(https?:)/.exec(message) ?? [];
  const isVague = cause === "the model's server failed" || cause === "the request was refused";
  return isVague && words && !words.startsWith("<") ? `${cause}: “${shortened(words)}”` : cause;
}

/** Returns the environment variable of a key that is not set, if that is the fault. */
export function missingKey(message: string): string | undefined {
  return /the environment variable (\w+), which key_env names, is not set/.exec(message)?.[1];
}

/** Returns a text with a capital and a full stop. */
export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

function shortened(text: string): string {
  const line = text.trim().split("\n")[0] ?? "";
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1)}…`;
}
