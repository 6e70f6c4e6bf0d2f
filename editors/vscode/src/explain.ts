/** The explanation of a completion as a page: every step that led to it, in order. */

import { sentence } from "./faults";
import type { Decision, Explanation, Trace, Window } from "./protocol";
import { escaped } from "./statistics";

/** The position of the explained completion. */
export interface Place {
  /** The file, as the person knows it. */
  file: string;
  /** Its line, from 1. */
  line: number;
  /** Its column, from 1. */
  column: number;
}

/** The kind of a part of a prompt. */
export type PartKind = "other" | "before" | "after" | "here" | "plain";

/** A part of a prompt, from one special token to the next. */
export interface PromptPart {
  kind: PartKind;
  /** The special tokens that it begins with. */
  tokens: string[];
  text: string;
}

/** The special tokens that mark the parts of a prompt, of every family of models. */
const TOKEN =
  /<\|(?:fim_(?:prefix|suffix|middle)|file_sep|file_separator|repo_name)\|>|<｜fim▁(?:begin|hole|end)｜>|<\[fim-(?:prefix|suffix|middle)\]>|<(?:fim_(?:prefix|suffix|middle)|PRE|SUF|MID|filename|reponame|repo_name|file_sep)>|\[(?:PREFIX|SUFFIX|MIDDLE)\]/g;

/** Headings of the parts of a prompt, by kind. */
const PARTS: Record<PartKind, string> = {
  other: "Other files",
  before: "Before the cursor",
  after: "After the cursor",
  here: "Here the model writes",
  plain: "Prompt",
};

/**
 * Returns the page, as HTML. It has no script.
 *
 * @param shown Whether the model is named, which it is not in a blind trial, and why nothing is
 * shown while typing, if so.
 * @param sheet The address of its style sheet, and the source allowed for it.
 */
export function explanationPage(
  place: Place,
  explanation: Explanation,
  shown: { blind: boolean; off?: string | undefined },
  sheet: { style: string; source: string },
): string {
  const { candidates, trace } = explanation;
  const title = `Completion at ${place.file}:${place.line}:${place.column}`;
  const parts = [
    summary(trace, candidates.length, shown.blind),
    notice("Why nothing is shown while you type", shown.off),
    notice("What went wrong", trace.fault),
    notice("Why there is nothing to show", trace.nothing),
    ...candidates.map((candidate, index) => {
      const name = candidates.length === 1 ? "What is offered" : `Candidate ${index + 1}`;
      return section(name, code(candidate, name, "offered"));
    }),
    times(trace),
    windows(trace.windows ?? []),
    firstRound(trace.first_round),
    prompt(trace.prompt),
    ...steps(trace),
  ];
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${escaped(sheet.source)};">
<link rel="stylesheet" href="${escaped(sheet.style)}">
<title>${escaped(title)}</title>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${parts.filter((part) => part !== "").join("\n")}
</main>
</body>
</html>
`;
}

/** The parts of a prompt. Texts and tokens together are the prompt. */
export function promptParts(prompt: string): PromptPart[] {
  const parts: PromptPart[] = [];
  let end = 0;
  for (const match of prompt.matchAll(TOKEN)) {
    const [token] = match;
    const text = prompt.slice(end, match.index);
    const last = parts.at(-1);
    if (last !== undefined) {
      last.text = text;
    } else if (text !== "") {
      parts.push({ kind: "plain", tokens: [], text });
    }
    // A repository's name and a file's separator follow each other without text.
    const kind = kindOf(token);
    if (last !== undefined && text === "" && last.kind === kind) {
      last.tokens.push(token);
    } else {
      parts.push({ kind, tokens: [token], text: "" });
    }
    end = match.index + token.length;
  }
  const rest = prompt.slice(end);
  const last = parts.at(-1);
  if (last === undefined) {
    return [{ kind: "plain", tokens: [], text: rest }];
  }
  last.text = rest;
  return parts;
}

function kindOf(token: string): PartKind {
  if (/prefix|PRE|begin/.test(token)) {
    return "before";
  }
  if (/suffix|SUF|hole/.test(token)) {
    return "after";
  }
  return /middle|MID|end/.test(token) ? "here" : "other";
}

const SOURCES: Record<string, string> = {
  model: "the model was asked",
  cache: "the same was asked before, and its answer was used again",
  "typed-through": "the beginning of an earlier completion was typed",
  running: "the model was already writing it",
  uncalled: "no model was asked",
};

function summary(trace: Trace, candidates: number, blind: boolean): string {
  const rows: [string, string][] = [];
  if (blind) {
    rows.push(["Model", "hidden, since the trial is blind"]);
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
  const items = rows.map(
    ([name, value]) => `<div><dt>${escaped(name)}</dt><dd>${escaped(value)}</dd></div>`,
  );
  return `<dl>${items.join("")}</dl>`;
}

function notice(title: string, text: string | null | undefined): string {
  return text ? section(title, `<p class="notice">${escaped(sentence(text))}</p>`) : "";
}

function times(trace: Trace): string {
  const rows: [string, number | null | undefined][] = [
    ["waiting for the next key", trace.wait_ms],
    ["finding windows", trace.context_ms],
    ["until the model's first text", trace.first_text_ms],
    ["the model", trace.model_ms],
    ["clean-up", trace.cleanup_ms],
  ];
  const body = rows.flatMap(([name, ms]) =>
    typeof ms === "number"
      ? [`<tr><th scope="row">${escaped(name)}</th><td>${ms.toFixed(1)}</td></tr>`]
      : [],
  );
  return section(
    "Time",
    `<table><caption>Milliseconds of each step</caption>
<thead><tr><th scope="col">Step</th><th scope="col">Milliseconds</th></tr></thead>
<tbody>${body.join("\n")}</tbody></table>`,
  );
}

function windows(given: Window[]): string {
  const title = "Windows of other files";
  if (given.length === 0) {
    return section(title, "<p>None was given to the model.</p>");
  }
  const items = given.map((window) => {
    const path = window.path ?? "a file";
    const line = typeof window.first_line === "number" ? `line ${window.first_line + 1}` : "";
    const score = typeof window.score === "number" ? `score ${window.score.toFixed(3)}` : "";
    const more = [line, score].filter((part) => part !== "").join(", ");
    return `<li><h3>${escaped(path)} <small>${more}</small></h3>${code(window.text ?? "", `Window of ${path}`, "other")}</li>`;
  });
  return section(title, `<ol>${items.join("\n")}</ol>`);
}

function firstRound(text: string | null | undefined): string {
  return text
    ? section(
        "First round",
        `<p>What the model answered first, to find windows with.</p>${code(text, "First round", "here")}`,
      )
    : "";
}

function prompt(text: string | undefined): string {
  if (!text) {
    return "";
  }
  const parts = promptParts(text).map(({ kind, tokens, text: content }) => {
    const name = PARTS[kind];
    const marks = tokens.map((token) => `<mark>${escaped(token)}</mark>`).join("");
    return `<div class="part"><h3>${name}</h3>${block(marks + escaped(content), `Prompt: ${name}`, kind)}</div>`;
  });
  const count = [...text].length;
  return section(
    "What was sent to the model",
    `<p>${count} characters, in this order. Special tokens are marked.</p>${parts.join("\n")}`,
  );
}

function steps(trace: Trace): string[] {
  const all = trace.steps ?? [];
  return all.map((step, index) => {
    const title = all.length === 1 ? "What the model wrote" : `What the model wrote, ${index + 1}`;
    const decisions =
      step.decisions.length === 0
        ? "<p>Clean-up removed nothing.</p>"
        : `<p>Clean-up, in order:</p><ol>${step.decisions.map(decided).join("\n")}</ol>`;
    const raw = step.raw === "" ? "<p>Nothing.</p>" : code(step.raw, title, "here") + decisions;
    return section(title, raw);
  });
}

function decided(decision: Decision): string {
  const rule = decision.rule ?? "unknown";
  const did = decision.rewritten === true ? "rewrote this" : "removed this";
  return `<li><p>The rule <code>${escaped(rule)}</code> ${did}:</p>${code(decision.removed ?? "", `What ${rule} ${did.split(" ")[0]}`, "removed")}</li>`;
}

function section(title: string, body: string): string {
  return `<section><h2>${escaped(title)}</h2>\n${body}\n</section>`;
}

function code(text: string, name: string, kind: PartKind | "offered" | "removed"): string {
  return block(escaped(text), name, kind);
}

/** Code that scrolls, by keyboard too. */
function block(html: string, name: string, kind: string): string {
  // HTML drops the first line break in `pre`.
  return `<pre class="${kind}" role="region" aria-label="${escaped(name)}" tabindex="0">\n${html}</pre>`;
}
