// Plays a person in VS Code: a real one, in a real browser, with the packaged extension.
//
// Run with Node 24: `node vscode.mjs INPUT.json`. The input says where everything is (see
// `Input` below). What was seen goes to standard output as one JSON object, pictures go to the
// folder `pictures`, and a step that fails ends the program with what stood on the screen.

import { execFileSync, spawn } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

/**
 * @typedef {object} Input
 * @property {string} tools The folder of code-server and playwright-core.
 * @property {string} chromium The browser.
 * @property {string} fillrate The program under test.
 * @property {string} folder A folder of this run's own, in which the extension is unpacked.
 * @property {string} pictures Where pictures go.
 * @property {string} pairs The file of lines whose brackets and quotes the editor closes.
 * @property {string} idioms The file of everyday idioms.
 * @property {string} [vsix] The package to install. Without it, the extension is there, unpacked.
 */

/** @type {Input} */
const input = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(join(input.tools, "package.json"))("playwright-core");

/** Timeout for anything expected, long enough for a busy machine, in milliseconds. */
const TIMEOUT = 30_000;

/** Lines that the model completes from three characters on; each list holds candidates. */
const LINES = [
  ["total = sum(values)", "total = len(values)"],
  ["average = total / count"],
  ["highest = max(values)"],
  ["result = compute(total, rate)\n    return result"],
  ["lowest = min(values) + offset"],
  ["show(values, count)"],
  ["prices = {'a': 1, 'b': 2}"],
  ["word = 'hello'"],
];

/** Lines whose brackets and quotes the editor closes, by language. */
const LANGUAGES = JSON.parse(readFileSync(input.pairs, "utf8"));

/** Everyday idioms, each in a file of its own. */
const IDIOMS = JSON.parse(readFileSync(input.idioms, "utf8"));

/** Returns the model's completion at the cursor of an idiom; `undefined` if it is at none. */
function idiomatic(before) {
  const idiom = IDIOMS.find((one) => before === one.before);
  return idiom && [idiom.answer];
}

/** Returns completions of a line of {@link LANGUAGES}, even without its last character. */
function paired(before, line) {
  const language = LANGUAGES.find(({ head }) => before.includes(head));
  for (const [beginning, rest] of language?.lines ?? []) {
    if (line === beginning) {
      return [rest];
    }
    if (line === beginning.slice(0, -1)) {
      return [beginning.at(-1) + rest];
    }
  }
  return language && [];
}

/** Every prompt that the model received. */
const prompts = [];

/** Error response of the model's server in place of completions; `undefined` if there is none. */
let refusal;

/** Promise that the model's server awaits before it answers. */
let held = Promise.resolve();

/** The key that the API of {@link infilled} takes. */
const KEY = "k-8c1f-never-in-a-file";

/** Completions for the holes of `fillrate doctor`, by the beginnings of their lines. */
const HOLES = [
  ["return (", "a * b"],
  ["return ", "a - b;"],
  ["", "return max(numbers)"],
];

const began = Date.now();
const at = (name) => join(input.folder, name);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const say = (text) => process.stderr.write(`${((Date.now() - began) / 1000).toFixed(1)} s: ${text}\n`);

/** Waits until a function gives something; then gives that. */
async function until(what, ask, timeout = TIMEOUT) {
  const end = Date.now() + timeout;
  for (;;) {
    const got = await ask();
    if (got) {
      return got;
    }
    if (Date.now() > end) {
      throw new Error(`waited in vain for ${what}`);
    }
    await pause(50);
  }
}

/** Returns the completion of an API that receives prefix and suffix; empty if it has none. */
function infilled(prefix) {
  const line = prefix.split("\n").at(-1).trimStart();
  const known = LINES.find(([first]) => line.length >= 3 && first.startsWith(line));
  return known ? known[0].slice(line.length) : HOLES.find(([beginning]) => line === beginning)?.[1] ?? "";
}

/** A model on loopback that speaks `/v1/completions`. */
async function model() {
  const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const part of request) {
      body += part;
    }
    const answer = (status, content) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(content));
    };
    if (request.url === "/api/tags") {
      answer(200, { models: [{ name: "qwen2.5-coder:0.5b-base" }] });
      return;
    }
    if (request.url === "/api/generate") {
      answer(404, { error: "BODY-OF-THE-SERVER" });
      return;
    }
    if (refusal) {
      answer(refusal.status, { error: refusal.body });
      return;
    }
    const asked = JSON.parse(body);
    prompts.push(asked.prompt);
    await held;
    if (request.url === "/v1/fim/completions") {
      if (request.headers.authorization !== `Bearer ${KEY}`) {
        answer(401, { message: "Unauthorized" });
        return;
      }
      answer(200, { choices: [{ message: { content: infilled(asked.prompt) }, finish_reason: "stop" }] });
      return;
    }
    const before = asked.prompt.split("<|fim_suffix|>")[0].split("<|fim_prefix|>").at(-1);
    const line = before.split("\n").at(-1).trimStart();
    const texts =
      idiomatic(before) ??
      paired(before, line) ??
      LINES.flatMap((candidates) =>
        line.length >= 3 && candidates[0].startsWith(line) ? candidates : [],
      ).flatMap((candidate) => (candidate.startsWith(line) ? [candidate.slice(line.length)] : []));
    const choices = Array.from({ length: asked.n ?? 1 }, (_, index) => ({
      index,
      text: texts[index % Math.max(1, texts.length)] ?? "",
      finish_reason: "stop",
    }));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

/** The settings of the editor, which leave out what would move or appear beside ghost text. */
const SETTINGS = {
  "workbench.colorTheme": "Light Modern",
  "workbench.reduceMotion": "on",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.editor.empty.hint": "hidden",
  "workbench.editor.useModal": "off",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "chat.disableAIFeatures": true,
  "editor.minimap.enabled": false,
  "editor.quickSuggestions": { other: "off", comments: "off", strings: "off" },
  "editor.suggestOnTriggerCharacters": false,
  "editor.wordBasedSuggestions": "off",
  "extensions.ignoreRecommendations": true,
  "extensions.autoCheckUpdates": false,
  "files.autoSave": "off",
};

/** The folders and settings of a person who never used this machine before. */
function prepare(url) {
  const tables = ["steady", "eager"].map(
    (name) => `[models.${name}]
protocol = "openai-completions"
url = "${url}"
name = "qwen2.5-coder-${name}"
`,
  );
  mkdirSync(at("config/fillrate"), { recursive: true });
  writeFileSync(
    at("config/fillrate/fillrate.toml"),
    `use = "steady"\n\n${tables.join("\n")}\n[telemetry]\nretention_s = [1, 2]\n\n[languages]\nruby = false\n`,
  );
  mkdirSync(at("work/.vscode"), { recursive: true });
  writeFileSync(at("work/sums.py"), "def compute(total, rate):\n    return total * rate\n");
  writeFileSync(at("work/open.py"), "def f(values, count, rate, offset):\n    pass\n");
  writeFileSync(at("work/notes.md"), "# Notes\n\n");
  writeFileSync(at("work/off.rb"), "# Off\n\n");
  for (const name of ["cursors.py", "undo.py", "pairs.py", "before.py", "modes.py", "api.py"]) {
    writeFileSync(at(`work/${name}`), "def f(values, count):\n    # one\n    # two\n");
  }
  for (const way of ["after", "over"]) {
    for (const { file, head, tail } of LANGUAGES) {
      writeFileSync(at(`work/${way}-${file}`), head + tail);
    }
  }
  for (const { file, before, after } of IDIOMS) {
    writeFileSync(at(`work/${file}`), before + after);
  }
  const cell = (kind, text) => ({
    cell_type: kind,
    metadata: {},
    source: [text],
    ...(kind === "code" ? { execution_count: null, outputs: [] } : {}),
  });
  const notebook = {
    cells: [
      cell("code", "values = [1, 2]"),
      cell("markdown", "Their number:"),
      cell("code", "count = len(values)"),
      cell("code", "pass"),
    ],
    metadata: { language_info: { name: "python" } },
    nbformat: 4,
    nbformat_minor: 2,
  };
  writeFileSync(at("work/cells.ipynb"), JSON.stringify(notebook));
  mkdirSync(at("user/User"), { recursive: true });
  mkdirSync(at("user/Machine"), { recursive: true });
  writeFileSync(at("user/User/settings.json"), JSON.stringify(SETTINGS));
  // What only this machine may set. The link is there to be changed.
  symlinkSync(input.fillrate, at("fillrate"));
  const machine = { "fillrate.path": at("fillrate") };
  writeFileSync(at("user/Machine/settings.json"), JSON.stringify(machine));
}

/** The project and the settings of a person who has the editor and the package, and nothing else. */
function prepareNothing() {
  const bodies = ["width * height", "width + height", "max(width, height)", "width - height"];
  const text = bodies.map(
    (body, number) =>
      `def area_${number}(width, height):\n    total = ${body}\n    return total\n\n`,
  );
  mkdirSync(at("work"), { recursive: true });
  writeFileSync(at("work/open.py"), text.join("\n"));
  mkdirSync(at("user/User"), { recursive: true });
  // Nothing takes the keys but the file.
  const settings = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "chat.disableAIFeatures": true,
  };
  writeFileSync(at("user/User/settings.json"), JSON.stringify(settings));
}

/** The editor's program. */
const EDITOR = [
  join(input.tools, "bin/node"),
  join(input.tools, "node_modules/code-server/out/node/entry.js"),
];
const FOLDERS = ["--user-data-dir", at("user"), "--extensions-dir", at("extensions")];
/** Nothing of the person who runs the tests; and no toolchain, where the package is tried. */
const ENVIRONMENT = {
  PATH: input.vsix ? "/usr/bin:/bin" : process.env.PATH,
  LANG: "C.UTF-8",
  HOME: at("home"),
  XDG_CONFIG_HOME: at("config"),
  XDG_DATA_HOME: at("data"),
  XDG_STATE_HOME: at("state"),
  XDG_CACHE_HOME: at("cache"),
};

/** Starts code-server; gives its process and its address. */
async function serve() {
  const [node, entry] = EDITOR;
  const child = spawn(
    node,
    [
      entry,
      ...["--auth", "none", "--bind-addr", "127.0.0.1:0", ...FOLDERS],
      ...["--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"],
      "--disable-getting-started-override",
      at("work"),
    ],
    { env: ENVIRONMENT, stdio: ["ignore", "pipe", "pipe"] },
  );
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data) => {
      said += data;
    });
  }
  const address = await until("code-server", () => {
    if (child.exitCode !== null) {
      throw new Error(`code-server ended: ${said}`);
    }
    return /listening on (http:\/\/\S+?)\/?\s/.exec(said)?.[1];
  });
  return { child, address };
}

/** Returns the telemetry records of completions: one object for each. */
function recorded() {
  const output = execFileSync(
    input.fillrate,
    ["telemetry", "export", "--store", at("data/fillrate/telemetry.db")],
    { encoding: "utf8" },
  );
  return output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
    // There are lines of another kind, too: how much entered the files.
    .filter((line) => "completion" in line);
}

const oracle = await model();
if (input.vsix) {
  prepareNothing();
  const [node, entry] = EDITOR;
  execFileSync(node, [entry, ...FOLDERS, "--install-extension", input.vsix], {
    env: ENVIRONMENT,
    stdio: "pipe",
  });
  say("the package is installed");
} else {
  prepare(oracle.url);
}
const server = await serve();
say("code-server listens");
const browser = await chromium.launch({
  executablePath: input.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
const page = await browser.newPage({ viewport: { width: 1100, height: 640 } });
page.setDefaultTimeout(TIMEOUT);
const errors = [];
page.on("console", (message) => {
  if (message.type() === "error") {
    errors.push(`${message.text()} (${message.location().url})`);
  }
});
page.on("pageerror", (error) => errors.push(`${error.stack ?? error.message}`));

const picture = (name) => page.screenshot({ path: join(input.pictures, `${name}.png`) });
const ghost = page.locator(".ghost-text, .ghost-text-decoration, .ghost-text-decoration-preview");
const bar = page.locator(`[id="fillrate.fillrate.fillrate.status"]`);
/** Returns the status bar's label for screen readers, which is its tooltip as well. */
const spoken = async () =>
  (await bar.locator("[aria-label]").first().getAttribute("aria-label")) ?? "";
/** Writes the settings of the folder. */
const ofWorkspace = (settings) =>
  writeFileSync(at("work/.vscode/settings.json"), JSON.stringify(settings));
const file = (name = "open.py") => readFileSync(at(`work/${name}`), "utf8");
/** A page of ours in an editor tab. */
const inside = page.frameLocator("iframe.webview").frameLocator("iframe");

/** Types as a person does, who looks at each key. */
const type = (text) => page.keyboard.type(text, { delay: 40 });

/** Runs a command from the palette. */
async function command(title, category = "Fillrate") {
  const palette = page.locator(".quick-input-widget");
  // A key that is pressed while an editor closes is lost.
  await until("the palette", async () => {
    await page.keyboard.press("F1");
    return palette.waitFor({ timeout: 2000 }).then(
      () => true,
      () => false,
    );
  });
  await page.keyboard.insertText(`${category}: ${title}`);
  // The list may put another command first.
  await page.locator(`.quick-input-list [aria-label^="${category}: ${title}"]`).first().click();
}

/** Chooses something in a list by its text. */
async function choose(text) {
  await page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first().click();
}

/** Answers a question for a line of text, which is proposed if nothing is given. */
async function answer(title, text) {
  await page.locator(".quick-input-titlebar", { hasText: title }).waitFor();
  const box = page.locator(".quick-input-box input");
  if (text !== undefined) {
    await box.fill(text);
  }
  await page.keyboard.press("Enter");
}

/** Messages on the screen. */
const toasts = (text = /Fillrate/) => page.locator(".notification-toast", { hasText: text });

/** Begins a line for which there must be no ghost text, and takes it back. */
async function nothingAfter(text) {
  const before = prompts.length;
  await type(text);
  // Far longer than the wait after a key.
  await pause(1000);
  const silent = (await ghost.count()) === 0 && prompts.length === before;
  await page.keyboard.press("Escape");
  await page.keyboard.press("Shift+Home");
  await page.keyboard.press("Backspace");
  return silent;
}

/** Every file under a folder that holds a text. */
const holding = (folder, text) =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    .filter((path) => readFileSync(path).includes(text));

/** Chooses a colour theme. */
async function theme(name) {
  await command("Color Theme", "Preferences");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Modern" }).first().waitFor();
  await page.keyboard.insertText(name);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
  await page.keyboard.press("Enter");
}

/** The rows of the list that a command opened. */
async function listed(title) {
  await page.locator(".quick-input-titlebar", { hasText: title }).waitFor();
  const rows = page.locator(".quick-input-list .monaco-list-row");
  await rows.first().waitFor();
  return rows.allInnerTexts();
}

/** Opens a file in the editor, and puts the cursor at its end. */
async function open(name) {
  await page.keyboard.press("Control+P");
  await page.locator(".quick-input-widget").waitFor();
  await page.keyboard.insertText(name);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".tab.active", { hasText: name }).waitFor();
  await page.locator(".monaco-editor .view-lines").first().waitFor();
  await page.keyboard.press("Control+End");
}

/** Begins a line and waits for ghost text. */
async function ghostAfter(text) {
  await type(text);
  await ghost.first().waitFor();
}

const save = () =>
  // What is taken comes a moment after its key, and a save between the two leaves it out.
  until("the file to be saved", async () => {
    await page.keyboard.press("Control+S");
    await pause(200);
    return (await page.locator(".tab.active.dirty").count()) === 0;
  });

const saved = async (name) => {
  await save();
  return file(name);
};

/** Returns the saved file once its last line begins so: it is empty for a moment while it is written. */
const endingWith = (begin) =>
  until(`the file to end with a line of "${begin}"`, async () => {
    const text = await saved();
    return text.trimEnd().split("\n").pop().trim().startsWith(begin) && text;
  });

const seen = {};
/** The steps, in order. Each leaves the editor as the next one needs it. */
const steps = {
  async "the extension starts"() {
    await page.goto(`${server.address}/?folder=${at("work")}`);
    await page.locator(".monaco-workbench").waitFor();
    await until("the status bar", async () => (await bar.count()) > 0);
    await open("open.py");
    await until("the model's name", async () => /steady|ready/.test(await bar.innerText()));
    // The editor requests no completion for what is typed before it knows the provider, which nothing shows.
    await pause(3000);
  },

  async "ghost text, Tab, and the buffer is right"() {
    await ghostAfter("    highest = ");
    // Long enough to be read.
    await pause(900);
    seen.ghost = (await ghost.allInnerTexts()).join("").replaceAll("\u00a0", " ");
    await picture("ghost-text");
    await page.keyboard.press("Tab");
    seen.accepted = await endingWith("highest");
    // Retention is measured by such an edit.
    await page.keyboard.press("ArrowLeft");
    await type(", 0");
    await page.keyboard.press("End");
  },

  async "Escape dismisses"() {
    await page.keyboard.press("Enter");
    await ghostAfter("lowest = ");
    await pause(200);
    await page.keyboard.press("Escape");
    await ghost.first().waitFor({ state: "detached" });
    seen.dismissed = await endingWith("lowest");
    await page.keyboard.press("Shift+Home");
    await page.keyboard.press("Backspace");
  },

  async "a word, and a line"() {
    await ghostAfter("result = ");
    await pause(200);
    await page.keyboard.press("Control+ArrowRight");
    await until("the word", async () => (await saved()).includes("result = compute"));
    seen.word = file();
    await ghost.first().waitFor();
    await page.keyboard.press("Control+Alt+ArrowRight");
    await until("the line", async () => (await saved()).includes("rate)"));
    seen.line = file();
    // The second line of the completion goes on standing.
    await pause(200);
    await page.keyboard.press("Escape");
    await ghost.first().waitFor({ state: "detached" });
  },

  async "the next candidate and the previous"() {
    await command("Choose the Number of Candidates");
    await page.locator(".quick-input-titlebar", { hasText: "number of candidates" }).waitFor();
    await choose("2");
    const settings = () => readFileSync(at("user/Machine/settings.json"), "utf8");
    await until("the setting", async () => settings().includes('"candidates": 2'));
    await ghostAfter("total = ");
    await pause(200);
    const text = async () => (await ghost.allInnerTexts()).join("");
    const first = await text();
    await page.keyboard.press("Alt+]");
    await until("the next candidate", async () => !["", first].includes(await text()));
    const second = await text();
    await pause(200);
    await page.keyboard.press("Alt+[");
    await until("the candidate before", async () => (await text()) === first);
    await pause(200);
    await page.keyboard.press("Alt+]");
    await until("the next candidate again", async () => (await text()) === second);
    seen.candidates = [first, second];
    await pause(200);
    await page.keyboard.press("Tab");
    seen.second = await endingWith("total");
  },

  async "the model picker"() {
    await command("Pick Model");
    seen.models = await listed("pick a model");
    await picture("pick-model");
    await page.keyboard.insertText("eager");
    await page.keyboard.press("Enter");
    await until("the other model", async () => /eager/.test(await bar.innerText()));
    await page.keyboard.press("Enter");
    await ghostAfter("average = ");
    await pause(200);
    await page.keyboard.press("Tab");
    seen.other = await endingWith("average");
  },

  async "the explain view"() {
    await page.keyboard.press("Enter");
    await type("highest = ");
    await command("Explain This Position");
    await page.locator(".tab", { hasText: /open\.py:\d+:\d+/ }).waitFor();
    await inside.getByRole("heading", { name: /Completion at open\.py/ }).waitFor();
    seen.explanation = await inside.locator("main").innerText();
    seen.explained = await inside.locator("main").ariaSnapshot();
    await picture("explain-light");
    await inside.getByRole("heading", { name: "What was sent to the model" }).scrollIntoViewIfNeeded();
    await picture("explain-light-prompt");
    await theme("Dark Modern");
    await inside.locator("body.vscode-dark").waitFor();
    await pause(300);
    await picture("explain-dark");
    await theme("Light Modern");
    await page.keyboard.press("Control+W");
    await page.locator(".tab", { hasText: /open\.py:\d+:\d+/ }).waitFor({ state: "detached" });
  },

  async "the switch"() {
    const name = /steady|eager/.exec(await bar.innerText())[0];
    await command("Switch On or Off");
    await until("the bar to say so", async () => /Switched off/.test(await spoken()));
    // Switching on ends a snooze.
    await command("Snooze for 5 Minutes");
    await command("Switch On or Off");
    await until("the bar to say so", async () => (await bar.innerText()).includes(name));
  },

  async "a blind trial, and its end"() {
    const name = /steady|eager/.exec(await bar.innerText())[0];
    await command("Start a Trial");
    await listed("1 of 3");
    for (const name of ["eager", "steady"]) {
      await page.locator(".quick-input-list .monaco-list-row", { hasText: name }).click();
    }
    await page.keyboard.press("Enter");
    seen.units = await listed("2 of 3");
    await page.keyboard.press("Enter");
    await listed("3 of 3");
    await page.keyboard.press("Enter");
    await until("the blind trial", async () => /blind trial/.test(await bar.innerText()));
    await picture("trial");
    await command("Stop the Trial");
    await until("its end", async () => (await bar.innerText()).includes(name));
    seen.trial = JSON.parse(readFileSync(at("user/Machine/settings.json"), "utf8"))["fillrate.trial"];
  },

  async "the statistics page, in three themes"() {
    await command("Show Statistics");
    await inside.getByRole("heading", { name: "What you accept" }).waitFor();
    await inside.getByRole("table", { name: "Figures by model", exact: true }).waitFor();
    seen.statistics = await inside.locator("main").innerText();
    seen.charts = await inside.getByRole("img").count();
    await picture("statistics-light");
    await inside.getByRole("img").first().scrollIntoViewIfNeeded();
    await picture("statistics-light-chart");
    // By keyboard: the span of time is the first thing that can be reached.
    await inside.locator("#span").focus();
    await page.keyboard.press("ArrowDown");
    await inside.getByRole("status").filter({ hasText: "Last 7 days" }).waitFor();
    seen.outline = await inside.locator("main").ariaSnapshot();
    for (const [name, label, mark] of [
      ["dark", "Dark Modern", "vscode-dark"],
      ["contrast", "Dark High Contrast", "vscode-high-contrast"],
    ]) {
      await theme(label);
      await inside.locator(`body.${mark}`).waitFor();
      await pause(300);
      await inside.getByRole("img").first().scrollIntoViewIfNeeded();
      await picture(`statistics-${name}`);
    }
    await theme("Light Modern");
    await page.keyboard.press("Control+W");
  },

  async "what was recorded, and its end"() {
    await until("retention", () => {
      seen.recorded = recorded();
      return seen.recorded.every((one) => !one.accepted || "2" in one.retention);
    });
    await command("Delete What Was Recorded");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await picture("purge");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    seen.afterNo = recorded().length;
    await command("Delete What Was Recorded");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await until("an empty record", () => recorded().length === 0);
  },

  async "several cursors"() {
    await open("cursors.py");
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("End");
    await page.keyboard.press("Shift+Alt+ArrowDown");
    await page.keyboard.press("Enter");
    await ghostAfter("highest = ");
    await pause(500);
    await picture("cursors");
    await page.keyboard.press("Tab");
    seen.cursors = await saved("cursors.py");
    await page.keyboard.press("Escape");
  },

  async "undo takes all of it, Backspace and undo ask nothing"() {
    await open("undo.py");
    await ghostAfter("    highest = ");
    await pause(300);
    await page.keyboard.press("Tab");
    seen.taken = await saved("undo.py");
    await pause(700);
    const before = prompts.length;
    await page.keyboard.press("Control+Z");
    await pause(700);
    seen.undone = await saved("undo.py");
    for (let index = 0; index < 3; index += 1) {
      await page.keyboard.press("Backspace");
      await pause(700);
    }
    seen.askedAfterDeletion = prompts.length - before;
    // A key that writes is answered.
    await type("y");
    await until("the model to be asked", () => prompts.length > before);
    seen.taken_back = await saved("undo.py");
  },

  async "brackets that the editor closes"() {
    await open("pairs.py");
    for (const line of ["    show(", "prices = {", "word = '"]) {
      await ghostAfter(line);
      await pause(300);
      await page.keyboard.press("Tab");
      await pause(300);
      await page.keyboard.press("End");
      await page.keyboard.press("Enter");
    }
    seen.pairs = await saved("pairs.py");
  },

  async "brackets and quotes that the editor closes, in every language"() {
    const standing = async () => (await ghost.allInnerTexts()).join("").replaceAll("\u00a0", " ");
    for (const way of ["after", "over"]) {
      for (const { file: name, head, lines } of LANGUAGES) {
        await open(`${way}-${name}`);
        await page.keyboard.press("Control+Home");
        for (const _ of head.split("\n").slice(2)) {
          await page.keyboard.press("ArrowDown");
        }
        for (const [beginning, , written, rest] of lines) {
          await page.keyboard.press("End");
          await page.keyboard.press("Enter");
          const opening = beginning.at(-1);
          await type(beginning.slice(0, -1));
          if (way === "over") {
            await until(`${opening} in ghost text`, async () =>
              (await standing()).startsWith(opening),
            );
          }
          const expected = written.slice(beginning.length, -1);
          // An editor closes nothing before it has read the line and the language's pairs.
          await until(`${expected} in ${name}`, async () => {
            await type(opening);
            const fits = async () => (await standing()) === expected;
            const came = await until(expected, fits, 3000).catch(() => false);
            if (!came) {
              await page.keyboard.press("Backspace");
            }
            return came;
          });
          // What is shown and what is accepted part for a moment after a key.
          await pause(200);
          await page.keyboard.press("Tab");
          await until("the accept", async () => (await ghost.count()) === 0);
          await page.keyboard.press("End");
          await type(rest);
        }
        await saved(`${way}-${name}`);
      }
    }
    await picture("pairs");
  },

  async "everyday idioms"() {
    for (const { name, file: idiom, before } of IDIOMS) {
      await open(idiom);
      const lines = before.split("\n");
      await page.keyboard.press("Control+G");
      await page.locator(".quick-input-widget").waitFor();
      // The editor counts columns as they are seen.
      const seenBefore = lines.at(-1).replaceAll("\t", " ".repeat(4));
      await page.keyboard.insertText(`${lines.length}:${seenBefore.length + 1}`);
      await page.keyboard.press("Enter");
      await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
      // By hand, as the cursor came without a key that writes.
      await until(`ghost text at ${name}`, async () => {
        await page.keyboard.press("Alt+\\");
        const came = ghost.first().waitFor({ timeout: 3000 });
        return came.then(() => true).catch(() => false);
      });
      await pause(300);
      await page.keyboard.press("Tab");
      await until("the accept", async () => (await ghost.count()) === 0);
      await saved(idiom);
    }
    await picture("idioms");
  },

  async "a file that is renamed"() {
    await open("before.py");
    await command("Reveal Active File in Explorer View", "File");
    await pause(500);
    await page.keyboard.press("F2");
    const name = page.locator(".explorer-item-edited input");
    await name.waitFor();
    await name.fill("after.py");
    await page.keyboard.press("Enter");
    await page.locator(".tab.active", { hasText: "after.py" }).waitFor();
    await page.locator(".editor-instance .view-lines").first().click();
    await page.keyboard.press("Control+End");
    await ghostAfter("    highest = ");
    await pause(300);
    await page.keyboard.press("Tab");
    seen.renamed = await saved("after.py");
  },

  async "a cell of a notebook"() {
    await page.keyboard.press("Control+P");
    await page.locator(".quick-input-widget").waitFor();
    await page.keyboard.insertText("cells.ipynb");
    await page
      .locator(".quick-input-list .monaco-list-row", { hasText: "cells.ipynb" })
      .first()
      .waitFor();
    await page.keyboard.press("Enter");
    const cells = page.locator(".notebookOverlay .code-cell-row");
    await cells.nth(2).locator(".view-lines").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.press("Enter");
    // At once: in a pause between two keys the model would be asked for the rest of a word, and
    // what it says would hold for the rest of the line, which is then never asked for.
    await page.keyboard.insertText("highest = ");
    await ghost.first().waitFor();
    await pause(300);
    await picture("notebook");
    seen.cellPrompt = prompts.at(-1);
    await page.keyboard.press("Tab");
    seen.notebook = await saved("cells.ipynb");
    seen.cellBar = await spoken();
    await page.keyboard.press("Control+W");
  },

  async "by hand, and without automatic completions"() {
    await open("modes.py");
    const isManual = async () => /Typing requests nothing/.test(await spoken());
    await command("Switch Automatic Completions On or Off");
    await until("the bar to say so", isManual);
    await type("    ");
    seen.notAutomatic = await nothingAfter("highest = ");
    await type("highest = ");
    await page.keyboard.press("Alt+\\");
    await ghost.first().waitFor();
    await pause(200);
    await page.keyboard.press("Tab");
    seen.byHand = await saved("modes.py");
    await command("Switch Automatic Completions On or Off");
    await until("the bar to say so", async () => !(await isManual()));
    await page.keyboard.press("Enter");
    seen.automatic = !(await nothingAfter("average = "));
    // What arrives after they were switched off is not shown. A command would take the focus.
    const before = prompts.length;
    let release;
    held = new Promise((resolve) => {
      release = resolve;
    });
    await type("lowest = ");
    await until("the model to be asked", () => prompts.length > before);
    ofWorkspace({ "fillrate.automatic": false });
    await until("the bar to say so", isManual);
    release();
    await pause(1000);
    seen.late = (await ghost.count()) === 0;
    await page.keyboard.press("Shift+Home");
    await page.keyboard.press("Backspace");
    ofWorkspace({});
    await until("the bar to say so", async () => !(await isManual()));
    await save();
  },

  async "a snooze, and a language"() {
    const says = (words) => until(words, async () => words.test(await spoken()));
    for (const minutes of [5, 30]) {
      await command(`Snooze for ${minutes} Minutes`);
      await says(/Snoozed until/);
      seen[`snoozed${minutes}`] = await nothingAfter("average = ");
      await command("Switch On or Off");
      await says(/Ready|Nothing is shown/);
    }
    await command("Switch This Language On or Off");
    await says(/Switched off for python/);
    seen.languageOff = await nothingAfter("average = ");
    await command("Switch This Language On or Off");
    await says(/Ready|Nothing is shown/);
    // Where the folder's settings have it off, they are changed.
    ofWorkspace({ "fillrate.languages": { python: false } });
    await says(/Switched off for python/);
    await command("Switch This Language On or Off");
    await says(/Ready|Nothing is shown/);
    ofWorkspace({});
    await ghostAfter("average = ");
    await page.keyboard.press("Escape");
    await ghost.first().waitFor({ state: "detached" });
    await page.keyboard.press("Shift+Home");
    await page.keyboard.press("Backspace");
  },

  async "prose, and what fillrate.toml has off, is off until it is switched on"() {
    for (const [name, language] of [
      ["off.rb", "ruby"],
      ["notes.md", "markdown"],
    ]) {
      const says = (words) => until(words, async () => (await spoken()).includes(words));
      await open(name);
      await type("average = ");
      await says(`completions are off in ${language}`);
      seen.prose = await spoken();
      await command("Switch This Language On or Off");
      await says("Ready");
      await page.keyboard.press("Enter");
      await ghostAfter("average = ");
      await page.keyboard.press("Escape");
      await command("Switch This Language On or Off");
      await says(`Switched off for ${language}`);
      await command("Revert File", "File");
      await page.keyboard.press("Control+W");
    }
    await open("modes.py");
  },

  async "the status bar keeps its width"() {
    await bar.evaluate((item) => {
      const seen = { widths: [], icons: [] };
      const look = () => {
        seen.widths.push(item.getBoundingClientRect().width);
        seen.icons.push(item.querySelector(".codicon")?.className);
      };
      look();
      new MutationObserver(look).observe(item, {
        attributes: true,
        characterData: true,
        childList: true,
        subtree: true,
      });
      window.ofTheBar = seen;
    });
    // Some of it is completed, some is not.
    await type("highest = other + ");
    await pause(1000);
    seen.bar = await page.evaluate(() => ({
      widths: [...new Set(window.ofTheBar.widths)],
      icons: [...new Set(window.ofTheBar.icons)].length,
    }));
    await page.keyboard.press("Shift+Home");
    await page.keyboard.press("Backspace");
    await saved("modes.py");
  },

  async "one message for each fault"() {
    refusal = { status: 404, body: "BODY-OF-THE-SERVER" };
    // What was answered before is not requested again.
    await type("other = ");
    await toasts("Model or address is unknown").waitFor();
    await picture("fault");
    seen.fault = await toasts().allInnerTexts();
    // The same fault is not reported twice.
    await type("1 + ");
    await pause(1000);
    seen.faultsOfOneKind = await toasts().count();
    refusal = { status: 403, body: "BODY-OF-THE-SERVER" };
    await type("2 + ");
    await toasts("Access was denied").waitFor();
    seen.otherFault = await toasts().allInnerTexts();
    await toasts().getByRole("button", { name: "Open fillrate.toml" }).click();
    await page.locator(".tab.active", { hasText: "fillrate.toml" }).waitFor();
    await page.keyboard.press("Control+W");
    refusal = { status: 404, body: "BODY-OF-THE-SERVER" };
    await open("modes.py");
    await type("3 + ");
    await toasts("Model or address is unknown").waitFor();
    refusal = undefined;
    await page.keyboard.press("Enter");
    await ghostAfter("average = ");
    await until("the message to go", async () => (await toasts().count()) === 0);
    await page.keyboard.press("Escape");
    await saved("modes.py");
  },

  async "a walkthrough leads to a model, and its key"() {
    await command("Open Walkthrough...", "Welcome");
    await choose("Start with Fillrate");
    const step_ = (name) => page.locator(".getting-started-step", { hasText: name }).first();
    await step_("Try it").click();
    const shown = inside.locator("img").first();
    await until("the picture", () =>
      shown.evaluate((image) => image.naturalWidth > 0, undefined, { timeout: 5000 }).catch(() => false),
    );
    await picture("walkthrough-picture");
    await step_("Connect a model").click();
    await picture("walkthrough");
    await page.getByRole("button", { name: "Connect a Model", exact: true }).click();
    seen.providers = await listed("connect a model");
    await picture("connect");
    await choose("Codestral");
    await answer("the address of Codestral", "127.0.0.1:1");
    await page.locator(".quick-input-message", { hasText: "Put http:// or https:// before it" }).waitFor();
    await answer("the address of Codestral", oracle.url);
    await answer("the model's name");
    await answer("the key of Codestral", KEY);
    await toasts("“codestral” answers now").waitFor();
    await picture("connected");
    seen.connected = await toasts("answers now").innerText();
    seen.written = readFileSync(at("config/fillrate/fillrate.toml"), "utf8");
    seen.keyInFiles = holding(input.folder, KEY).map((path) => path.replace(input.folder, "…"));
    await until("the model's name", async () => /codestral/.test(await bar.innerText()));
    await open("api.py");
    await ghostAfter("    highest = ");
    await pause(200);
    await page.keyboard.press("Tab");
    seen.api = await saved("api.py");
  },

  async "a model of the same name, and another key"() {
    const before = readFileSync(at("config/fillrate/fillrate.toml"), "utf8");
    await command("Connect a Model");
    await choose("Codestral");
    await answer("the address of Codestral", oracle.url);
    await answer("the model's name", "codestral-other");
    await answer("the key of Codestral");
    const dialog = page.locator(".monaco-dialog-box");
    await dialog.waitFor();
    seen.replace = await dialog.innerText();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    seen.untouched = readFileSync(at("config/fillrate/fillrate.toml"), "utf8") === before;
    await command("Enter a Key");
    await answer("the key for CODESTRAL_API_KEY", "");
    await toasts("A key is missing").waitFor();
    await picture("key-missing");
    await toasts("A key is missing").getByRole("button", { name: "Enter Key" }).click();
    await answer("the key for CODESTRAL_API_KEY", KEY);
    await until("the message to go", async () => (await toasts("A key is missing").count()) === 0);
    await open("api.py");
    await page.keyboard.press("Enter");
    await ghostAfter("average = ");
    await page.keyboard.press("Escape");
    await saved("api.py");
    await command("Pick Model");
    await listed("pick a model");
    await choose("steady");
    await until("the model's name", async () => /steady/.test(await bar.innerText()));
  },

  async "an Ollama says which models it has, and refuses to complete"() {
    await command("Connect a Model");
    await choose("Ollama");
    await answer("the address of Ollama", oracle.url);
    seen.ollama = await listed("the model");
    await choose("0.5b-base");
    const message = toasts("“ollama” knows no such model or address");
    await message.waitFor();
    seen.unanswered = await message.innerText();
    await message.getByRole("button", { name: "Open fillrate.toml" }).click();
    await page.locator(".tab.active", { hasText: "fillrate.toml" }).waitFor();
    // What is saved there is in force at once.
    await page.keyboard.press("Control+Home");
    await page.keyboard.insertText('modle = "x"\n');
    await save();
    await toasts("The settings can't be used").waitFor();
    seen.settingsFault = await toasts("The settings can't be used").innerText();
    await page.keyboard.press("Shift+Control+Home");
    await page.keyboard.press("Backspace");
    await save();
    await until("the message to go", async () => (await toasts("The settings can't be used").count()) === 0);
    await page.keyboard.press("Control+W");
  },

  async "an Ollama that is not running"() {
    await command("Connect a Model");
    await choose("Ollama");
    await answer("the address of Ollama", "http://127.0.0.1:1");
    await page.locator(".quick-input-message", { hasText: "Nothing answers at http://127.0.0.1:1" }).waitFor();
    seen.noOllama = await page.locator(".quick-input-message").innerText();
    await page.keyboard.press("Escape");
  },

  async "a key that is refused"() {
    await command("Connect a Model");
    await choose("Codestral");
    await answer("the address of Codestral", oracle.url);
    await answer("the model's name");
    await answer("the key of Codestral", "wrong");
    const dialog = page.locator(".monaco-dialog-box");
    await dialog.waitFor();
    await dialog.getByRole("button", { name: "Add" }).click();
    const message = toasts("refuses the key");
    await message.waitFor();
    seen.refusedKey = await message.innerText();
    await open("api.py");
    await command("Request a Completion");
    await toasts("The key was refused").waitFor();
    await until("one message", async () => (await page.locator(".notification-toast").count()) === 1);
    await toasts("The key was refused").getByRole("button", { name: "Enter Key" }).click();
    await answer("the key for CODESTRAL_API_KEY", KEY);
    await until("the model's name", async () => /codestral/.test(await bar.innerText()));
  },

  async "a model whose name says no family"() {
    await command("Connect a Model");
    await choose("OpenAI-compatible server");
    await answer("the address of OpenAI-compatible server", oracle.url);
    await answer("the model's name", "my-own");
    await answer("the key of OpenAI-compatible server", "");
    await listed("the family of my-own");
    await picture("family");
    await choose("qwen2.5-coder");
    const message = toasts("“server” answers, but does not fit");
    await message.waitFor();
    seen.misfits = await message.innerText();
    seen.family = readFileSync(at("config/fillrate/fillrate.toml"), "utf8");
    await command("Pick Model");
    await listed("pick a model");
    // The list holds only the rows that are in view.
    await page.keyboard.insertText("steady");
    await choose("steady");
    await until("the model's name", async () => /steady/.test(await bar.innerText()));
  },

  async "settings where the program runs, completed"() {
    await command("Open Settings");
    const page_ = page.locator(".settings-editor");
    await page_.waitFor();
    await page_.locator(".setting-item", { hasText: "Path" }).first().waitFor();
    seen.settingsPage = await page_.innerText();
    await picture("settings");
    await page.keyboard.press("Control+W");
    await command("Open Remote Settings (JSON)", "Preferences");
    await page.locator(".tab.active", { hasText: "settings.json" }).waitFor();
    await page.locator(".editor-instance .view-lines").first().click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText('{"fillrate.settings": {"model": {"protocol": "openai-chat", "');
    const suggestions = page.locator(".suggest-widget .monaco-list-row");
    const named = (name) =>
      until(name, async () => {
        await page.keyboard.press("Control+Space");
        return page.locator(".suggest-widget .monaco-list-row", { hasText: name }).first()
          .waitFor({ timeout: 2000 }).then(() => true, () => false);
      });
    await named("key_env");
    await picture("settings-completed");
    seen.suggested = (await suggestions.allInnerTexts()).map((text) => text.trim());
    await page.keyboard.press("Escape");
    await command("Revert File", "File");
    await page.keyboard.press("Control+W");
  },

  async "the page of the extension"() {
    await command("Show Installed Extensions", "Extensions");
    await page.locator(".extension-list-item", { hasText: "Fillrate" }).first().click();
    await inside.locator("img").first().waitFor({ state: "attached" });
    // It is in the project, where no test of ours can look.
    seen.pagePicture = await inside.locator("img").first().getAttribute("src");
    seen.page = await inside.locator("body").innerText();
    await picture("extension");
    await page.keyboard.press("Control+W");
  },

  async "a program that is missing or too old"() {
    const toast = toasts;
    rmSync(at("fillrate"));
    await command("Restart Server");
    await toast("there is no program there").waitFor();
    await until("the bar to say so", async () => /no program there/.test(await spoken()));
    await picture("missing");
    writeFileSync(at("fillrate"), "#!/bin/sh\necho fillrate 0.0.9\n", { mode: 0o755 });
    await command("Restart Server");
    await toast("needs 0.1.0 or newer").waitFor();
    rmSync(at("fillrate"));
    symlinkSync(input.fillrate, at("fillrate"));
    await command("Restart Server");
    await until("the server", async () => /steady|eager/.test(await bar.innerText()));
  },
};

/** Steps of a person who has only the editor and the package: with `input.vsix`. */
const firstSteps = {
  async "ghost text of the package"() {
    await page.goto(`${server.address}/?folder=${at("work")}`);
    await page.locator(".monaco-workbench").waitFor();
    await open("open.py");
    await page.locator(".editor-instance .view-lines").first().click();
    await page.keyboard.press("Control+End");
    await type("def total(width, height):");
    await page.keyboard.press("Enter");
    // What is typed before the extension has started is not completed.
    await until("ghost text", async () => {
      await type("total = ");
      const came = await ghost
        .first()
        .waitFor({ timeout: 2000 })
        .then(
          () => true,
          () => false,
        );
      if (!came) {
        await page.keyboard.press("Shift+Home");
        await page.keyboard.press("Backspace");
      }
      return came;
    }, 60_000);
    seen.seconds = (Date.now() - began) / 1000;
    seen.ghost = (await ghost.allInnerTexts()).join("").replaceAll("\u00a0", " ");
    await pause(300);
    await picture("first-minute");
    await page.keyboard.press("Tab");
    // By default the editor saves by itself and marks nothing as unsaved, so only the file tells.
    await until("the completion in the file", async () => (await saved("open.py")).trimEnd().endsWith(`    total = ${seen.ghost}`));
    seen.accepted = file("open.py");
    seen.bar = await bar.innerText();
  },
};

/** Returns the lines of the extension host's logs. */
function logged(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => /exthost.*\.log$/.test(path) && statSync(path).isFile())
    .flatMap((path) => readFileSync(path, "utf8").split("\n"));
}

let step = "";
let status = 0;
const only = process.env.FILLRATE_TEST_STEPS?.split(",");
try {
  for (const [name, run] of Object.entries(input.vsix ? firstSteps : steps)) {
    if (only && !only.some((word) => name.includes(word))) {
      continue;
    }
    step = name;
    await run();
    say(name);
  }
} catch (error) {
  status = 1;
  await picture("failed").catch(() => {});
  say(`failed at “${step}”: ${error.stack}\nThe bar says: ${await bar.innerText({ timeout: 500 }).catch(() => "nothing")}`);
} finally {
  // Those of the editor itself, which is in a folder of our name, are not ours.
  const log = logged(at("user/logs"));
  seen.logged = log.some((line) => / is Fillrate \d/.test(line));
  seen.errors = [...errors, ...log.filter((line) => /\[error\]/i.test(line) && /fillrate/i.test(line))]
    .map((text) => text.replaceAll(input.tools, "…").replaceAll(input.folder, "…"))
    .filter((text) => /fillrate/i.test(text))
    // The picture of the extension's page is wherever the project is.
    .filter((text) => !text.includes("https://github.com/"))
    // What these steps provoke.
    .filter((text) => !/there is no program there|needs 0\.1\.0 or newer|Model or address is unknown|Access was denied|A key is missing|does not (always )?answer|knows no such model or address|refuses the key|The key was refused|The settings can't be used|there is no setting `modle`/.test(text));
  await browser.close();
  server.child.kill();
  oracle.server.close();
}
// A pipe takes only so much at once.
process.stdout.write(`${JSON.stringify(seen, null, 1)}\n`, () => process.exit(status));
