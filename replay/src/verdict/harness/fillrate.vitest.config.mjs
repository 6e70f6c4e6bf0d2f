// A vitest configuration that wraps the project's own.
//
// Use: vitest run --root . --config <this file> --configLoader native, with
// the working directory at the root of the repository.  Options on the command
// line (--pool, --no-isolate, --bail, …) override what is set here.
//
// Environment:
//   FILLRATE_VITEST_CONFIG   the project's configuration, relative to the root
//                            or absolute; without it, vitest's defaults
//
// The instructions are read from standard input, see fillrate_vitest.mjs.

import path from "node:path";
import { fileURLToPath } from "node:url";
import { loadConfigFromFile, mergeConfig } from "vite";
import { repositoryRoot, readInstructions } from "./fillrate_vitest.mjs";

/** Return the path of a file of this directory. */
function harnessFile(name) {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** Load the project's configuration without writing anything. */
async function projectConfig(environment, root) {
  const given = process.env.FILLRATE_VITEST_CONFIG;
  if (!given) return {};
  // Vite's default loader writes a bundle into node_modules, which is
  // read-only in the sandbox.  Node can't import TypeScript by itself.
  const loader = /\.m?js$/.test(given) ? "native" : "runner";
  const loaded = await loadConfigFromFile(
    environment, path.resolve(root, given), root, "error", undefined, loader,
  );
  return loaded.config;
}

/** List the files of the selected ids as patterns that match just them. */
function selectedFiles(selected) {
  const files = new Set(selected.map((id) => id.split(" > ")[0]));
  return [...files].map((file) => file.replace(/[\\()[\]{}!*?+@|]/g, "\\$&"));
}

export default async (environment) => {
  const root = repositoryRoot();
  // Workers inherit it; see repositoryRoot.
  process.env.FILLRATE_ROOT = root;
  const project = await projectConfig(environment, root);
  if (project.test?.projects || project.test?.workspace) {
    throw new Error("A configuration with several vitest projects is not supported.");
  }
  const config = mergeConfig(project, {
    root,
    test: {
      watch: false,
      cache: false,
      coverage: { enabled: false },
      typecheck: { enabled: false },
      sequence: { shuffle: false },
      // The reporter ends the run itself: a sentinel's failure must not.
      bail: 0,
    },
  });
  // Assigned rather than merged: mergeConfig would append to the lists.
  const { test } = config;
  test.setupFiles = [test.setupFiles ?? []].flat();
  const { token, select, coverage, transform } = readInstructions();
  test.reporters = transform ? [{}] : [harnessFile("fillrate_vitest.mjs")];
  test.provide = { ...test.provide, fillrate: { token, select, coverage } };
  test.setupFiles.unshift(harnessFile("fillrate_sentinel.mjs"));
  if (select) {
    test.include = selectedFiles(select);
    test.setupFiles.unshift(harnessFile("fillrate_select.mjs"));
  }
  if (coverage) {
    // The counters must start before the project's own set-up files, and can't
    // tell apart tests that run at the same time.
    test.setupFiles.unshift(harnessFile("fillrate_coverage.mjs"));
    test.sequence.setupFiles = "list";
    test.maxConcurrency = 1;
  }
  return config;
};
