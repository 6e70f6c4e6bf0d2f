/** The status bar's text. */

import { faultOf } from "./faults";
import type { Status } from "./protocol";

/** The server's state, as far as it is known. */
export type Situation =
  /** Switched off by the person. */
  | { kind: "off"; why?: string }
  /** There is no server, and why. */
  | { kind: "broken"; problem: string }
  /** The server was started and has not reported yet. */
  | { kind: "starting" }
  /** The server's last report. */
  | { kind: "running"; status: Status };

/** A status bar item's contents. */
export interface Item {
  /** With an icon, as VS Code writes them. */
  text: string;
  /** The same and more, in lines. */
  lines: string[];
  /** Severity, which determines its colour. */
  severity: "none" | "warning" | "error";
}

/** The longest name shown in the bar, in characters; the whole is in the tooltip. */
const NAME_LENGTH = 24;

/** The document that is being edited. */
export interface Edited {
  /** Its address, as the server knows it. */
  uri: string;
  /** The reason why no completion is requested in it; `undefined` if some are. */
  silent?: string;
}

/**
 * The status bar's text for a state: an icon and the model's name. Only the icon changes while a
 * person types, so that the bar keeps its width; reasons are in the tooltip.
 *
 * @param automatic True if typing requests completions.
 */
export function statusItem(situation: Situation, edited?: Edited, automatic = true): Item {
  switch (situation.kind) {
    case "off":
      return item("circle-slash", "Fillrate", [situation.why ?? "Switched off everywhere."]);
    case "broken":
      return item("error", "Fillrate", [situation.problem], "error");
    case "starting":
      return item("loading~spin", "Fillrate", ["The server is starting."]);
    case "running": {
      const shown = running(situation.status, edited);
      return automatic ? shown : { ...shown, lines: [...shown.lines, MANUAL] };
    }
  }
}

/** Line of the tooltip if automatic completions are off. */
const MANUAL = "Typing requests nothing; Alt+\\ does.";

function running(status: Status, edited: Edited | undefined): Item {
  const lines = details(status);
  const severity = status.content === true ? "warning" : "none";
  const trial = status.trial === true;
  const name =
    typeof status.model === "string"
      ? `${status.model}${trial ? " (trial)" : ""}`
      : trial
        ? "blind trial"
        : "Fillrate";
  const text = shortened(name);
  switch (status.state) {
    case "starting":
      return item("loading~spin", text, ["The server is starting.", ...lines], severity);
    case "indexing":
      return item(
        "loading~spin",
        text,
        ["The workspace's files are being read.", ...lines],
        severity,
      );
    case "asking":
      return item("sync~spin", text, ["The model is writing.", ...lines], severity);
    case "fault":
      return item("error", text, [...faultLines(status), ...lines], "error");
    case "silent":
    case "ready":
      return resting(status, edited, name, { lines, severity });
    default:
      return item(
        "question",
        text,
        [`The server says “${String(status.state)}”.`, ...lines],
        severity,
      );
  }
}

/** Nothing is under way: ready, or silent in the document that is being edited. */
function resting(
  status: Status,
  edited: Edited | undefined,
  name: string,
  { lines, severity }: Pick<Item, "lines" | "severity">,
): Item {
  // What was said of another document, such as a secret file, is not true of this one.
  // Without a document, nothing is said of any.
  const here = edited !== undefined && (status.uri === undefined || status.uri === edited.uri);
  const said = status.state === "silent" && here ? (status.message ?? "no reason") : undefined;
  const why = edited?.silent ?? said;
  if (why === undefined) {
    return item("sparkle", shortened(name), ["Ready.", ...lines], severity);
  }
  return item("dash", shortened(name), [`Nothing is shown: ${inEditor(why)}`, ...lines], severity);
}

/** True if the server said last that a document's language is off, such as by `fillrate.toml`. */
export function isLanguageOff(situation: Situation, uri: string): boolean {
  return (
    situation.kind === "running" &&
    situation.status.uri === uri &&
    languageOff(situation.status.message ?? "") !== undefined
  );
}

/** The language that is off, if that is a reason of the server's. */
function languageOff(why: string): string | undefined {
  return /^completions are switched off for the language `([^`]+)`/.exec(why)?.[1];
}

/** A reason of the server's with what to do here, which it knows only for a settings file. */
function inEditor(why: string): string {
  const language = languageOff(why);
  return language === undefined
    ? why
    : `completions are off in ${language}. “Fillrate: Switch This Language On or Off” switches them on.`;
}

/** Returns a line with a fault's cause and advice, and one with its start if that is known. */
function faultLines(status: Status): string[] {
  const lines = [faultOf(status).text];
  if (typeof status.sinceMs === "number") {
    lines.push(`Since ${new Date(status.sinceMs).toLocaleTimeString()}.`);
  }
  return lines;
}

/** Returns lines with the details that the status has in addition to the state. */
function details(status: Status): string[] {
  const trial = status.trial === true;
  const lines: string[] = [];
  if (typeof status.model === "string") {
    lines.push(`Model: ${status.model}`);
  }
  if (trial) {
    lines.push(
      typeof status.model === "string"
        ? "A trial is under way."
        : "A blind trial is under way: which model answers is hidden.",
    );
  }
  if (typeof status.files === "number") {
    lines.push(`Files read: ${status.files}`);
  }
  if (status.content === true) {
    lines.push("The local record keeps code, since telemetry.content is set.");
  }
  return lines;
}

function item(
  icon: string,
  text: string,
  lines: string[],
  severity: Item["severity"] = "none",
): Item {
  return { text: `$(${icon}) ${text}`, lines, severity };
}

function shortened(name: string): string {
  const letters = [...name];
  return letters.length <= NAME_LENGTH ? name : `${letters.slice(0, NAME_LENGTH - 1).join("")}…`;
}
