import assert from "node:assert/strict";
import { test } from "node:test";
import { explained } from "../src/explain";

const place = { file: "src/a.py", line: 3, column: 5, language: "python" };
const trace = {
  model: "qwen",
  about: "fill-in-the-middle by its name",
  source: "model",
  windows: [{ path: "b.py", first_line: 4, text: "def b(): ...", score: 1.5 }],
  prompt: "<|fim_prefix|>x",
  steps: [{ raw: "1\n```\n2", decisions: [{ rule: "fence", removed: "```\n2" }] }],
  wait_ms: 0,
  context_ms: 1.25,
  model_ms: 20,
  cleanup_ms: 0.1,
};

test("each step of a completion stands in the document", () => {
  const text = explained(place, { candidates: ["1"], trace }, false);
  for (const part of [
    "# Completion at src/a.py:3:5",
    "- Model: qwen",
    "the model was asked",
    "### 1. b.py, line 5, score 1.500",
    "| finding windows | 1.3 |",
    "<|fim_prefix|>x",
    "The rule `fence` removed this:",
  ]) {
    assert.ok(text.includes(part), `“${part}” stands in:\n${text}`);
  }
});

test("code with fences of its own stays in its fence", () => {
  const text = explained(place, { candidates: ["a\n````\nb"], trace }, false);
  assert.ok(text.includes("`````python\na\n````\nb\n`````"), text);
});

test("a blind trial's model is not told", () => {
  const text = explained(
    place,
    { candidates: ["1"], trace: { ...trace, configuration: "c0ffee" } },
    true,
  );
  for (const told of ["qwen", "by its name", "c0ffee"]) {
    assert.ok(!text.includes(told), text);
  }
});

test("why there is nothing to show, and what went wrong", () => {
  const text = explained(
    place,
    { candidates: [], trace: { nothing: "The model said nothing.", fault: "No such host." } },
    false,
  );
  assert.match(text, /## What went wrong\n\nNo such host\./);
  assert.match(text, /## Why there is nothing to show\n\nThe model said nothing\./);
});
