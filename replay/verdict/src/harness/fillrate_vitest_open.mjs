// Opens a project's vitest, from version 1 on, with what the harness adds to it.
//
// vitest finds and loads the project's configuration by itself.  One that is
// outside of the repository is in FILLRATE_VITEST_CONFIG, an absolute path.
// What the harness needs is set for each vitest project once vitest has read
// all configurations, so that none can override it.

import path from "node:path";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { repositoryRoot } from "./fillrate_vitest.mjs";

/** Return the path of a file of this directory. */
function harnessFile(name) {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** Import a module as vitest itself does, wherever its package manager has put it. */
async function importFromVitest(name) {
  const vitest = createRequire(path.resolve("package.json")).resolve("vitest/package.json");
  return import(pathToFileURL(createRequire(vitest).resolve(name)));
}

/** Load a configuration that is outside of the repository, without writing anything. */
async function configBeside(file, root) {
  if (/\.m?js$/.test(file)) {
    const { default: config } = await import(pathToFileURL(file));
    return typeof config === "function" ? config({ command: "serve", mode: "test" }) : config;
  }
  const { loadConfigFromFile } = await importFromVitest("vite");
  const environment = { command: "serve", mode: "test" };
  // vite's default loader writes a bundle beside the configuration.
  const loaded = await loadConfigFromFile(environment, file, root, "error", undefined, "runner");
  return loaded.config;
}

/** Add to a vitest project what the harness needs. */
function adjust(project, { token, select, coverage }) {
  const { config } = project;
  // vite refuses to load files of other folders.
  const server = project.vite ?? project.server;
  server.config.server.fs.allow.push(path.dirname(fileURLToPath(import.meta.url)));
  config.setupFiles = [config.setupFiles ?? []].flat();
  config.setupFiles.unshift(harnessFile("fillrate_sentinel.mjs"));
  config.sequence = { ...config.sequence, shuffle: false };
  // Options of the command line reach only the first of several projects here. A compiler that
  // checks types reports each of a file's tests once more, and runs no sentinel.
  config.typecheck = { ...config.typecheck, enabled: false };
  if (select) config.setupFiles.unshift(harnessFile("fillrate_select.mjs"));
  if (coverage) {
    // The counters must start before the project's own set-up files, and can't tell apart tests
    // that run at the same time.
    config.setupFiles.unshift(harnessFile("fillrate_coverage.mjs"));
    config.sequence.setupFiles = "list";
    config.maxConcurrency = 1;
  }
  project.provide("fillrate", { token, select, coverage });
}

/** Open vitest with arguments of its command line; return it and the names of the wanted files. */
export async function openVitest(instructions, given, reporters) {
  const root = repositoryRoot();
  // Workers inherit it; see repositoryRoot.
  process.env.FILLRATE_ROOT = root;
  const { createVitest, parseCLI } = await importFromVitest("vitest/node");
  const { filter, options } = parseCLI(["vitest", "run", ...given]);
  const beside = process.env.FILLRATE_VITEST_CONFIG;
  const { "--": _, exclude, ...known } = options;
  // Names of files are relative to the repository, and patterns to the folder of the tests.
  const below = path.relative(root, process.cwd());
  const own = (pattern) => (below && pattern.startsWith(`${below}/`) ? pattern.slice(below.length + 1) : pattern);
  const vitest = await createVitest(
    "test",
    {
      ...known,
      // As on the command line, in addition to what the settings exclude.
      ...(exclude && { cliExclude: [exclude].flat().map(own) }),
      ...(beside && { config: false }),
      root: path.resolve(known.root ?? "."),
      run: true,
      watch: false,
      reporters,
      coverage: { enabled: false },
      // The reporter ends the run itself: a sentinel's failure must not.
      bail: 0,
    },
    { cacheDir: "/tmp/fillrate-vite", ...(beside && (await configBeside(beside, root))) },
  );
  for (const project of vitest.projects) {
    if (project.config.browser?.enabled) throw new Error("Tests that run in a browser are not supported.");
    adjust(project, instructions);
  }
  const files = instructions.select && new Set(instructions.select.map((id) => id.split(" > ")[0]));
  return { vitest, filter: files ? [...files].map(own) : filter };
}
