/** A completion's trace as a document that a person can read. */

import type { Explanation, Trace } from "./protocol";

/** What is explained. */
export interface Place {
  /** The file, as the person knows it. */
  file: string;
  /** Its line, from 1. */
  line: number;
  /** Its column, from 1. */
  column: number;
  /** The language's id, which colours code. */
  language: string;
}

/**
 * The trace as Markdown.
 *
 * @param blind Whether a blind trial is under way, in which the model is not named.
 */
export function explained(place: Place, explanation: Explanation, blind: boolean): string {
  const { candidates, trace } = explanation;
  const parts: string[] = [
    `# Completion at ${place.file}:${place.line}:${place.column}`,
    summary(trace, candidates.length, blind),
  ];
  if (trace.fault) {
    parts.push("## What went wrong", trace.fault);
  }
  if (trace.nothing) {
    parts.push("## Why there is nothing to show", trace.nothing);
  }
  candidates.forEach((candidate, index) => {
    const title = candidates.length === 1 ? "What is offered" : `Candidate ${index + 1}`;
    parts.push(`## ${title}`, fenced(candidate, place.language));
  });
  parts.push("## Time", times(trace));
  parts.push("## Windows of other files", ...windows(trace, place.language));
  if (trace.first_round) {
    parts.push(
      "## First round",
      "What the model answered first, to find windows with.",
      fenced(trace.first_round, place.language),
    );
  }
  if (trace.prompt) {
    parts.push("## What was sent to the model", fenced(trace.prompt, "text"));
  }
  parts.push(...steps(trace, place.language));
  return `${parts.join("\n\n")}\n`;
}

const SOURCES: Record<string, string> = {
  model: "the model was asked",
  cache: "the same was asked before, and its answer was used again",
  "typed-through": "the beginning of an earlier completion was typed",
  running: "the model was already writing it",
};

function summary(trace: Trace, candidates: number, blind: boolean): string {
  const rows: [string, string][] = [];
  if (blind) {
    rows.push(["Model", "not told, since the trial is blind"]);
  } else {
    rows.push(["Model", trace.model ?? "unknown"]);
    if (trace.about) {
      rows.push(["How it is asked", trace.about]);
    }
  }
  rows.push(["Candidates", String(candidates)]);
  if (trace.source !== undefined) {
    rows.push(["Where from", SOURCES[trace.source] ?? trace.source]);
  }
  if (trace.configuration && !blind) {
    rows.push(["Configuration", trace.configuration]);
  }
  return rows.map(([name, value]) => `- ${name}: ${value}`).join("\n");
}

function times(trace: Trace): string {
  const rows: [string, number | null | undefined][] = [
    ["waiting for the next key", trace.wait_ms],
    ["finding windows", trace.context_ms],
    ["until the model's first text", trace.first_text_ms],
    ["the model", trace.model_ms],
    ["clean-up", trace.cleanup_ms],
  ];
  const lines = rows.flatMap(([name, ms]) =>
    typeof ms === "number" ? [`| ${name} | ${ms.toFixed(1)} |`] : [],
  );
  return ["| step | milliseconds |", "| --- | ---: |", ...lines].join("\n");
}

function windows(trace: Trace, language: string): string[] {
  const given = trace.windows ?? [];
  if (given.length === 0) {
    return ["None was given to the model."];
  }
  return given.flatMap((window, index) => {
    const line = typeof window.first_line === "number" ? `, line ${window.first_line + 1}` : "";
    const score = typeof window.score === "number" ? `, score ${window.score.toFixed(3)}` : "";
    return [
      `### ${index + 1}. ${window.path ?? "a file"}${line}${score}`,
      fenced(window.text ?? "", language),
    ];
  });
}

function steps(trace: Trace, language: string): string[] {
  const all = trace.steps ?? [];
  return all.flatMap((step, index) => {
    const title = all.length === 1 ? "What the model wrote" : `What the model wrote, ${index + 1}`;
    const decisions = step.decisions.flatMap((decision) => {
      const did = decision.rewritten === true ? "rewrote this" : "removed this";
      const rule = `The rule \`${decision.rule ?? "unknown"}\` ${did}:`;
      return [rule, fenced(decision.removed ?? "", language)];
    });
    return [
      `## ${title}`,
      fenced(step.raw, language),
      ...(decisions.length === 0 ? ["Clean-up removed nothing."] : decisions),
    ];
  });
}

/** Code in a fence that is longer than any in it. */
function fenced(code: string, language: string): string {
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map((match) => match[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${code}${code.endsWith("\n") ? "" : "\n"}${fence}`;
}
