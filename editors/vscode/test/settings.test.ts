import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isLanguageOn,
  isLanguageServed,
  readTrial,
  serverSettings,
  withCandidates,
} from "../src/settings";

const nothing = { model: "", trial: null, settings: {} };

test("an editor that sets nothing sends nothing", () => {
  assert.deepEqual(serverSettings(nothing), {});
});

test("a model that was picked ends a trial that a file starts", () => {
  assert.deepEqual(serverSettings({ ...nothing, model: "a" }), { use: "a", trial: null });
});

test("a trial goes along with the model that answers after it", () => {
  const trial = { models: ["a", "b"], unit: "day", seed: 3, blind: true };
  assert.deepEqual(serverSettings({ ...nothing, model: "a", trial }), { use: "a", trial });
});

test("a trial that is none is not sent", () => {
  assert.equal(readTrial({ models: ["a"] }), undefined);
  assert.equal(readTrial("request"), undefined);
  assert.deepEqual(readTrial({ models: ["a", "b", 3], unit: "hour", blind: "yes" }), {
    models: ["a", "b"],
    unit: "request",
  });
  assert.deepEqual(serverSettings({ ...nothing, trial: false }), { trial: null });
});

test("a number of candidates is laid over the settings of its model", () => {
  const settings = { model: { seed: 1 }, models: { a: { seed: 2 } } };
  assert.deepEqual(withCandidates(settings, "default", 3), {
    ...settings,
    model: { seed: 1, candidates: 3 },
  });
  assert.deepEqual(withCandidates(settings, "a", 3), {
    ...settings,
    models: { a: { seed: 2, candidates: 3 } },
  });
  assert.deepEqual(withCandidates(undefined, "a", 1), { models: { a: { candidates: 1 } } });
});

test("a language is on by its own entry, else by that of all others", () => {
  const languages = { "*": false, python: true };
  assert.equal(isLanguageOn(languages, "python"), true);
  assert.equal(isLanguageOn(languages, "markdown"), false);
  assert.equal(isLanguageOn({}, "markdown"), true);
  assert.deepEqual(serverSettings({ ...nothing, languages }), { languages });
  assert.deepEqual(serverSettings({ ...nothing, languages: {} }), {});
});

test("a switch reverses what is in effect, in prose too", () => {
  assert.equal(isLanguageServed({}, "markdown"), false);
  assert.equal(isLanguageServed({ "*": true }, "markdown"), false);
  assert.equal(isLanguageServed({ markdown: true }, "markdown"), true);
  assert.equal(isLanguageServed({}, "python"), true);
  assert.equal(isLanguageServed({ python: false }, "python"), false);
});

test("settings as in the file go along, and the picked model over them", () => {
  const settings = { use: "b", context: { profile: "none" } };
  assert.deepEqual(serverSettings({ ...nothing, settings }), settings);
  assert.equal(serverSettings({ ...nothing, model: "a", settings }).use, "a");
  assert.deepEqual(settings, { use: "b", context: { profile: "none" } });
});

test("languages go along with those of the settings, and over them", () => {
  const settings = { languages: { markdown: true, go: false } };
  const languages = { go: true, python: false };
  assert.deepEqual(serverSettings({ ...nothing, settings, languages }), {
    languages: { markdown: true, go: true, python: false },
  });
  assert.deepEqual(settings, { languages: { markdown: true, go: false } });
});
