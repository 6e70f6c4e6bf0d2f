import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { explanationPage, promptParts } from "../src/explain";
import type { Explanation } from "../src/protocol";

const place = { file: "src/a.py", line: 3, column: 5 };
const sheet = { style: "explain.css", source: "https://editor" };
const trace = {
  model: "qwen",
  about: "fill-in-the-middle by its name",
  source: "model",
  windows: [{ path: "b.py", first_line: 4, text: "def b(): ...", score: 1.5 }],
  prompt:
    "<|repo_name|>w\n<|file_sep|>b.py\ndef b(): ...\n<|fim_prefix|>x = <|fim_suffix|>\n<|fim_middle|>",
  steps: [{ raw: "1\n```\n2", decisions: [{ rule: "fence", removed: "```\n2" }] }],
  wait_ms: 0,
  context_ms: 1.25,
  model_ms: 20,
  cleanup_ms: 0.1,
};
const page = (explanation: Explanation, blind = false, off?: string) =>
  explanationPage(place, explanation, { blind, off }, sheet);

test("the whole page", () => {
  const snapshot = "test/explain.snapshot";
  const html = page({ candidates: ["1"], trace });
  if (process.env.UPDATE_SNAPSHOTS) {
    writeFileSync(snapshot, html);
  }
  assert.equal(html, readFileSync(snapshot, "utf8"));
});

test("a prompt is cut at its special tokens, and nothing of it is lost", () => {
  const kinds = (prompt: string) => {
    const parts = promptParts(prompt);
    assert.equal(parts.map(({ tokens, text }) => tokens.join("") + text).join(""), prompt);
    return parts.map(({ kind, text }) => [kind, text]);
  };
  assert.deepEqual(kinds(trace.prompt), [
    ["other", "w\n"],
    ["other", "b.py\ndef b(): ...\n"],
    ["before", "x = "],
    ["after", "\n"],
    ["here", ""],
  ]);
  assert.deepEqual(kinds("<[fim-suffix]>b<[fim-prefix]>a<[fim-middle]>"), [
    ["after", "b"],
    ["before", "a"],
    ["here", ""],
  ]);
  assert.deepEqual(kinds("<｜fim▁begin｜>a<｜fim▁hole｜>b<｜fim▁end｜>"), [
    ["before", "a"],
    ["after", "b"],
    ["here", ""],
  ]);
  assert.deepEqual(kinds("<PRE> a <SUF>b <MID>"), [
    ["before", " a "],
    ["after", "b "],
    ["here", ""],
  ]);
  assert.deepEqual(kinds("# b.py\n<fim_prefix>a<fim_suffix><fim_middle>"), [
    ["plain", "# b.py\n"],
    ["before", "a"],
    ["after", ""],
    ["here", ""],
  ]);
  assert.deepEqual(kinds("Complete this."), [["plain", "Complete this."]]);
});

test("code can't become markup", () => {
  const evil = "</pre><script>x()</script>";
  const html = page({
    candidates: [evil],
    trace: {
      ...trace,
      model: evil,
      prompt: evil,
      windows: [{ path: evil, text: evil }],
      steps: [{ raw: evil, decisions: [{ rule: evil, removed: evil }] }],
    },
  });
  assert.ok(!html.includes("<script"), html);
});

test("a blind trial's model is not named", () => {
  const html = page({ candidates: ["1"], trace: { ...trace, configuration: "c0ffee" } }, true);
  for (const name of ["qwen", "by its name", "c0ffee"]) {
    assert.ok(!html.includes(name), html);
  }
});

test("why there is nothing to show, and what went wrong", () => {
  const html = page({
    candidates: [],
    trace: {
      nothing: "the model returned an empty completion",
      fault: "No such host.",
      steps: [{ raw: "", decisions: [] }],
    },
  });
  assert.match(html, /<h2>What went wrong<\/h2>\s*<p class="notice">No such host\./);
  assert.match(
    html,
    /<h2>Why there is nothing to show<\/h2>\s*<p class="notice">The model returned/,
  );
  assert.match(html, /<h2>What the model wrote<\/h2>\n<p>Nothing\.<\/p>/);
});

test("a position where completions are off says so, and that no model was asked", () => {
  const off = "Snoozed until 10:30:00.";
  const html = page({ candidates: [], trace: { source: "uncalled" } }, false, off);
  assert.match(html, /Why nothing is shown while you type<\/h2>\n<p class="notice">Snoozed until/);
  assert.match(html, /<dd>no model was asked<\/dd>/);
});
