// A jest configuration that wraps the project's own.
//
// Use: jest --config=<this file>, with the working directory at the root of the
// repository.  The project's configuration is found there as jest finds it by
// itself; one with several projects is not supported.  Options on the command
// line override what is set here.

"use strict";

const os = require("node:os");
const path = require("node:path");
const { ROOT } = require("./fillrate_report.cjs");
const { SCRATCH, instructions } = require("./fillrate_jest.cjs");

/** The most processes at one time: each has a dozen threads. */
const MOST_AT_ONCE = 8;

/** Load the project's configuration, if it has one. */
async function projectConfig() {
  const { readInitialOptions } = require("jest-config");
  try {
    const { config, configPath } = await readInitialOptions(undefined, { packageRootOrConfig: ROOT });
    const folder = configPath ? path.dirname(configPath) : ROOT;
    return { ...config, rootDir: path.resolve(folder, config.rootDir ?? ".") };
  } catch (error) {
    if (/Could not find a config file/.test(error?.message)) return { rootDir: ROOT };
    throw error;
  }
}

module.exports = async () => {
  const project = await projectConfig();
  if (project.projects) throw new Error("A configuration with several jest projects is not supported.");
  const { token, select, coverage } = instructions;
  const config = {
    ...project,
    reporters: [path.join(__dirname, "fillrate_jest.cjs")],
    setupFilesAfterEnv: [
      path.join(__dirname, "fillrate_jest_setup.cjs"),
      ...(project.setupFilesAfterEnv ?? []),
    ],
    // The set-up file removes it before the project's code is loaded.
    globals: { ...project.globals, FILLRATE: { token, select, coverage, scratch: SCRATCH } },
    // The scripts are not transformed.
    transformIgnorePatterns: [
      ...(project.transformIgnorePatterns ?? ["/node_modules/", "\\.pnp\\.[^\\/]+$"]),
      "/fillrate_[a-z_]+\\.cjs$",
    ],
    // The reporter ends the run itself: a sentinel's failure must not.
    bail: 0,
    cache: false,
    cacheDirectory: "/tmp/fillrate-jest",
    maxWorkers: Math.max(1, Math.min(os.availableParallelism() - 1, MOST_AT_ONCE)),
    watchman: false,
    // jest's own counters are by statement of the untransformed file.
    collectCoverage: coverage !== null,
    collectCoverageFrom: coverage ?? [],
    coverageDirectory: "/tmp/fillrate-jest-coverage",
    coverageProvider: "babel",
    coverageReporters: [],
    coveragePathIgnorePatterns: ["/node_modules/", "/fillrate_[a-z_]+\\.cjs$"],
    coverageThreshold: {},
  };
  if (select) {
    delete config.testRegex;
    const files = new Set(select.map((id) => id.split(" > ")[0]));
    config.testMatch = [...files].map((file) => `${ROOT}/${file.replace(/[\\()[\]{}!*?+@|]/g, "\\$&")}`);
  }
  return config;
};
