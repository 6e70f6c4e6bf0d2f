import assert from "node:assert/strict";
import { test } from "node:test";
import { PROVIDERS } from "../src/providers";
import {
  existing,
  freeName,
  isClosed,
  keyVariables,
  settingsFile,
  withTable,
  written,
} from "../src/toml";

const llama = { name: "llama", protocol: "llama-infill", url: "http://127.0.0.1:8080" };
const LLAMA = `[models.llama]
protocol = "llama-infill"
url = "http://127.0.0.1:8080"
`;

test("the settings file is that of --config, else the person's", () => {
  const environment = { XDG_CONFIG_HOME: "/c" };
  assert.equal(settingsFile([], environment), "/c/fillrate/fillrate.toml");
  assert.equal(settingsFile(["--config", "/x.toml"], environment), "/x.toml");
  assert.equal(settingsFile(["--config=/x.toml"], environment), "/x.toml");
});

test("a table has what was asked for and no key", () => {
  const table = { ...llama, name: "a b", model: 'qu"en', key: "KEY" };
  assert.equal(
    written(table),
    `[models."a b"]\nprotocol = "llama-infill"\nurl = "http://127.0.0.1:8080"\nname = "qu\\"en"\nkey_env = "KEY"\n`,
  );
  assert.equal(written(llama), LLAMA);
});

test("a new file uses its model, and one that has decided keeps its choice", () => {
  assert.equal(withTable("", llama), `use = "llama"\n\n${LLAMA}`);
  const telemetry = "[telemetry]\ncontent = false";
  assert.equal(withTable(telemetry, llama), `use = "llama"\n\n${telemetry}\n\n${LLAMA}`);
  for (const decided of [
    'use = "x"\n',
    '[model]\nname = "x"\n',
    '[trial]\nmodels = ["a", "b"]\n',
  ]) {
    assert.equal(withTable(decided, llama), `${decided}\n${LLAMA}`);
  }
});

test("a table of the same name is replaced, and nothing else changes", () => {
  const before = `# mine
use = "steady"

[models.steady]
url = "http://a"

[models.llama] # old
url = "http://old"
key_command = [
  "pass",
]
[models.llama.headers]
X = "y"

# about the next
[telemetry]
enabled = true
`;
  assert.match(existing(before, "llama") ?? "", /^\[models\.llama\] # old\n(.*\n)*X = "y"$/);
  assert.equal(existing(before, "lla"), undefined);
  assert.equal(
    withTable(before, llama),
    `# mine
use = "steady"

[models.steady]
url = "http://a"

${LLAMA}

# about the next
[telemetry]
enabled = true
`,
  );
  const again = withTable(before, llama);
  assert.equal(withTable(again, llama).replace(/\n+/g, "\n"), again.replace(/\n+/g, "\n"));
  assert.equal(existing('[models."a.b"]\nurl = "x"\n', "a.b"), '[models."a.b"]\nurl = "x"');
});

test("models in one line take no table, and a trial's list is none", () => {
  assert.equal(isClosed('models = { a = { url = "x" } }\n'), true);
  assert.equal(isClosed('[trial]\nmodels = ["a", "b"]\n'), false);
});

test("variables of keys are found, except in comments", () => {
  const text = `key_env = "A"\n# key_env = "B"\n[x]\nkey_env='C' # c\nkey_env = "A"\n`;
  assert.deepEqual(keyVariables(text), ["A", "C"]);
});

test("a name that is taken gets a number", () => {
  const taken = ["llama", "llama-2"];
  assert.equal(
    freeName("llama", (name) => taken.includes(name)),
    "llama-3",
  );
  assert.equal(
    freeName("ollama", (name) => taken.includes(name)),
    "ollama",
  );
});

test("providers have names of their own, and protocols and variables that can be", () => {
  assert.equal(new Set(PROVIDERS.map(({ name }) => name)).size, PROVIDERS.length);
  for (const { key, needsKey, url } of PROVIDERS) {
    assert.ok(key === undefined || /^[A-Z_]+$/.test(key), key);
    assert.ok(key !== undefined || needsKey === undefined);
    assert.ok(URL.canParse(url), url);
  }
});
