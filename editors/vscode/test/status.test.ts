import assert from "node:assert/strict";
import { test } from "node:test";
import { isLanguageOff, statusItem } from "../src/status";

const running = (status: Parameters<typeof statusItem>[0] & { kind: "running" }) =>
  statusItem(status);

test("the model is in the bar, and the files in its tooltip", () => {
  const item = running({ kind: "running", status: { state: "ready", model: "qwen", files: 12 } });
  assert.equal(item.text, "$(sparkle) qwen");
  assert.deepEqual(item.lines, ["Ready.", "Model: qwen", "Files read: 12"]);
});

test("the bar keeps its text while only the icon changes", () => {
  const message = "the model answered with what is after the cursor already";
  const edited = { uri: "file:///a.py" };
  const states = ["ready", "asking", "silent", "fault", "indexing"] as const;
  const items = states.map((state) =>
    statusItem(
      { kind: "running", status: { state, text: `${state}: why`, model: "qwen", message } },
      edited,
    ),
  );
  const names = items.map(({ text }) => text.replace(/^\$\([^)]*\) /, ""));
  assert.deepEqual(new Set(names), new Set(["qwen"]));
  assert.equal(items[2]?.lines[0], `Nothing is shown: ${message}`);
});

test("without a file nothing is said of the last one", () => {
  const status = { state: "silent", model: "qwen", message: "why", uri: "file:///a.py" } as const;
  assert.deepEqual(running({ kind: "running", status }).lines, ["Ready.", "Model: qwen"]);
});

test("a language is off where the server said so of the document", () => {
  const message =
    "completions are switched off for the language `go`; set `languages.go` to true for completions in it";
  const status = { state: "silent", message, uri: "file:///a.go" } as const;
  assert.equal(isLanguageOff({ kind: "running", status }, "file:///a.go"), true);
  assert.equal(isLanguageOff({ kind: "running", status }, "file:///b.go"), false);
  const other = { ...status, message: "the model answered with nothing" };
  assert.equal(isLanguageOff({ kind: "running", status: other }, "file:///a.go"), false);
  assert.equal(isLanguageOff({ kind: "starting" }, "file:///a.go"), false);
});

test("a blind trial names no model", () => {
  const item = running({ kind: "running", status: { state: "ready", trial: true, model: null } });
  assert.match(item.text, /blind trial/);
  assert.match(item.lines.join(" "), /is hidden/);
});

test("keeping code is a warning", () => {
  const item = running({ kind: "running", status: { state: "ready", content: true } });
  assert.equal(item.severity, "warning");
  assert.match(item.lines.join(" "), /keeps code/);
});

test("faults say what went wrong", () => {
  assert.deepEqual(statusItem({ kind: "broken", problem: "It is missing." }), {
    text: "$(error) Fillrate",
    lines: ["It is missing."],
    severity: "error",
  });
  const item = running({
    kind: "running",
    status: {
      state: "fault",
      text: "fault: the host is unknown",
      cause: "the host is unknown",
      message: "dns error: failed to look up host.example",
      sinceMs: 0,
      advice: "Start it.",
    },
  });
  assert.equal(item.text, "$(error) Fillrate");
  assert.equal(item.severity, "error");
  assert.equal(item.lines[0], "The host is unknown. Start it.");
  assert.match(item.lines[1] ?? "", /^Since /);
});

test("every state has its words", () => {
  const states = ["starting", "indexing", "ready", "asking", "silent", "fault"] as const;
  const texts = states.map(
    (state) => statusItem({ kind: "running", status: { state } }, { uri: "file:///a.py" }).lines[0],
  );
  assert.equal(new Set(texts).size, states.length);
  assert.match(statusItem({ kind: "off" }).lines[0] ?? "", /off/);
});

test("what is said of one document is not shown in another", () => {
  const status = {
    state: "silent",
    text: "qwen: silent (this file is not sent)",
    message: "this file is not sent",
    uri: "file:///.env",
    model: "qwen",
  } as const;
  const first = (uri: string) => statusItem({ kind: "running", status }, { uri }).lines[0];
  assert.equal(first("file:///.env"), "Nothing is shown: this file is not sent");
  assert.equal(first("file:///a.py"), "Ready.");
});

test("documents in which nothing is asked say so", () => {
  const edited = { uri: "vscode-notebook-cell:/a.ipynb#1", silent: "notebook cells" };
  const item = statusItem({ kind: "running", status: { state: "ready", model: "qwen" } }, edited);
  assert.equal(item.text, "$(dash) qwen");
  assert.equal(item.lines[0], "Nothing is shown: notebook cells");
});
