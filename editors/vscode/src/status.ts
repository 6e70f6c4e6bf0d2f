/** The status bar's text. */

import type { Status } from "./protocol";

/** What is known of the server. */
export type Situation =
  /** Switched off by the person. */
  | { kind: "off" }
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
  /** How it is coloured. */
  severity: "none" | "warning" | "error";
}

/** The longest reason shown in the bar itself, in characters; the whole is in the tooltip. */
const REASON_LENGTH = 40;

/** The status bar's text for a state. */
export function statusItem(situation: Situation): Item {
  switch (situation.kind) {
    case "off":
      return item("circle-slash", "off", ["Switched off: no completions are asked for."]);
    case "broken":
      return item("error", "error", [situation.problem], "error");
    case "starting":
      return item("loading~spin", "starting", ["The server is starting."]);
    case "running":
      return running(situation.status);
  }
}

function running(status: Status): Item {
  const trial = status.trial === true;
  const name = status.model ?? (trial ? "blind trial" : "ready");
  const lines: string[] = [];
  if (typeof status.model === "string") {
    lines.push(`Model: ${status.model}`);
  }
  if (trial) {
    lines.push(
      typeof status.model === "string"
        ? "A trial is under way."
        : "A blind trial is under way: which model answers is not told.",
    );
  }
  if (typeof status.files === "number") {
    lines.push(`Files read: ${status.files}`);
  }
  const severity = status.content === true ? "warning" : "none";
  if (status.content === true) {
    lines.push("The local record keeps code, since telemetry.content is set.");
  }
  const message = status.message ?? undefined;
  switch (status.state) {
    case "starting":
      return item("loading~spin", name, ["The server is starting.", ...lines], severity);
    case "indexing":
      return item(
        "loading~spin",
        name,
        ["The workspace's files are being read.", ...lines],
        severity,
      );
    case "busy":
      return item("sync~spin", name, ["The model is writing.", ...lines], severity);
    case "error":
      return item("error", "error", [message ?? "The server can't work.", ...lines], "error");
    case "ready":
      return message === undefined
        ? item("sparkle", name, ["Ready.", ...lines], severity)
        : item(
            "dash",
            `${name}: ${shortened(message)}`,
            [`Nothing is shown: ${message}`, ...lines],
            severity,
          );
    default:
      return item(
        "question",
        name,
        [`The server says “${String(status.state)}”.`, ...lines],
        severity,
      );
  }
}

function item(
  icon: string,
  text: string,
  lines: string[],
  severity: Item["severity"] = "none",
): Item {
  return { text: `$(${icon}) Fillrate ${text}`, lines, severity };
}

function shortened(reason: string): string {
  const line = reason.split("\n")[0] ?? "";
  const letters = [...line];
  return letters.length <= REASON_LENGTH
    ? line
    : `${letters.slice(0, REASON_LENGTH - 1).join("")}…`;
}
