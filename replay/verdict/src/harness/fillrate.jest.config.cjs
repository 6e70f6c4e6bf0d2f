// A jest configuration that wraps the project's own.
//
// Use: jest --config=<this file>, with the working directory at the root of the
// repository.  The project's configuration is found there as jest finds it by
// itself, or is the file in FILLRATE_JEST_CONFIG, relative to the root.  Options
// on the command line override what is set here.

"use strict";

const fs = require("fs");
const Module = require("module");
const os = require("os");
const path = require("path");
const { FOLDER, ROOT, requireFrom } = require("./fillrate_report.cjs");
const { SCRATCH, instructions } = require("./fillrate_jest.cjs");

/** The most processes at one time: each has a dozen threads. */
const MOST_AT_ONCE = 8;

/** How the names of configurations end. */
const CONFIG_ENDINGS = ["ts", "js", "mjs", "cjs", "json", "cts", "mts"];

/** jest's own packages, wherever its package manager has put them. */
const jestRequire = requireFrom("jest", "jest-cli", "jest-config");

/** Return a function that loads the configuration at a path: of a file or of a folder. */
function configReader() {
  const config = jestRequire("jest-config");
  if (config.readInitialOptions) {
    return async (given) => {
      const { config: options, configPath } = await config.readInitialOptions(undefined, { packageRootOrConfig: given });
      const folder = configPath ? path.dirname(configPath) : given;
      return { ...options, rootDir: path.resolve(folder, options.rootDir ?? ".") };
    };
  }
  // Before jest 28 they are private.
  const build = path.join(path.dirname(jestRequire.resolve("jest-config")));
  const load = (name) => jestRequire(path.join(build, name)).default;
  const [find, read] = [load("resolveConfigPath.js"), load("readConfigFileAndSetRootDir.js")];
  return async (given) => ({ ...(await read(find(given, FOLDER))) });
}

/**
 * Load a configuration in TypeScript, whose types are removed first.
 *
 * jest leaves that to Node where Node can do it, and else compiles it with the project's settings,
 * which may be for bundlers.
 */
async function withoutTypes(given) {
  const files = CONFIG_ENDINGS.map((ending) => path.join(given, `jest.config.${ending}`));
  const file = fs.statSync(given).isDirectory() ? files.find((one) => fs.existsSync(one)) : given;
  const typescript = requireFrom("typescript")("typescript");
  const compilerOptions = { module: typescript.ModuleKind.CommonJS, target: typescript.ScriptTarget.ES2020, esModuleInterop: true };
  const { outputText } = typescript.transpileModule(fs.readFileSync(file, "utf8"), { fileName: file, compilerOptions });
  const module = new Module(file);
  module.filename = file;
  module.paths = Module._nodeModulePaths(path.dirname(file));
  module._compile(outputText, file);
  const exported = module.exports.default ?? module.exports;
  const options = typeof exported === "function" ? await exported() : exported;
  return { ...options, rootDir: path.resolve(path.dirname(file), options.rootDir ?? ".") };
}

/** Return a function as jest's, which loads what jest can't compile without its types. */
function typesRemoved(read) {
  return async (given) => {
    try {
      return await read(given);
    } catch (error) {
      if (!/Failed to parse the TypeScript config/.test(error?.message)) throw error;
      return withoutTypes(given).catch(() => { throw error; });
    }
  };
}

/** Load the project's configuration, if it has one. */
async function projectConfig(read) {
  const given = process.env.FILLRATE_JEST_CONFIG;
  try {
    return await read(given ? path.resolve(FOLDER, given) : FOLDER);
  } catch (error) {
    if (!given && /Could not find a config file/.test(error?.message)) return { rootDir: FOLDER };
    throw error;
  }
}

/** Load the configurations of several projects: each an object, or a path or pattern of folders and files. */
async function projectConfigs(read, { projects, rootDir }) {
  const glob = jestRequire("glob");
  const configs = await Promise.all(projects.map(async (project) => {
    if (typeof project !== "string") return [{ ...project, rootDir: path.resolve(rootDir, (project.rootDir ?? ".").replace("<rootDir>", rootDir)) }];
    const place = path.resolve(rootDir, project.replace("<rootDir>", rootDir));
    const places = fs.existsSync(place) ? [place] : glob.sync(place).sort();
    return Promise.all(places.filter(hasConfig).map(read));
  }));
  return configs.flat();
}

/** Return whether a path is a configuration, or a folder with one as jest sees it. */
function hasConfig(place) {
  if (!fs.statSync(place).isDirectory()) return true;
  const names = ["package.json", ...CONFIG_ENDINGS.map((ending) => `jest.config.${ending}`)];
  return names.some((name) => fs.existsSync(path.join(place, name)));
}

/** Return the pattern that matches just this path. */
function escaped(file) {
  return file.replace(/[\\()[\]{}!*?+@|]/g, "\\$&");
}

/** Return what one project's tests are run with in addition to its own settings. */
function wrapped(project, several) {
  const { token, select, coverage } = instructions;
  const config = {
    ...project,
    setupFilesAfterEnv: [
      path.join(__dirname, "fillrate_jest_setup.cjs"),
      ...(project.setupFilesAfterEnv ?? []),
    ],
    // The set-up file removes it before the project's code is loaded.
    globals: { ...project.globals, FILLRATE: { token, select, coverage, scratch: SCRATCH } },
    coveragePathIgnorePatterns: ["/node_modules/", "/fillrate_[a-z_]+\\.cjs$"],
  };
  const leftOut = (process.env.FILLRATE_JEST_LEFT_OUT ?? "").split("\n").filter(Boolean);
  if (leftOut.length > 0) {
    const pattern = (file) => `^${path.join(ROOT, file).replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;
    config.testPathIgnorePatterns = [...(project.testPathIgnorePatterns ?? ["/node_modules/"]), ...leftOut.map(pattern)];
  }
  // The scripts are not transformed.  What a preset sets is jest's to read.
  if (project.transformIgnorePatterns || !project.preset) {
    config.transformIgnorePatterns = [
      ...(project.transformIgnorePatterns ?? ["/node_modules/", "\\.pnp\\.[^\\/]+$"]),
      "/fillrate_[a-z_]+\\.cjs$",
    ];
  }
  if (select) {
    const files = [...new Set(select.map((id) => id.split(" > ")[0]))];
    if (several) {
      // Which of the projects has a file, their own patterns say.
      const chosen = files.map((file) => path.join(ROOT, file).replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
      config.testPathIgnorePatterns = [...(config.testPathIgnorePatterns ?? ["/node_modules/"]), `^(?!(?:${chosen.join("|")})$)`];
    } else {
      delete config.testRegex;
      config.testMatch = files.map((file) => escaped(path.join(ROOT, file)));
    }
  }
  return config;
}

module.exports = async () => {
  const read = typesRemoved(configReader());
  const project = await projectConfig(read);
  const { coverage } = instructions;
  const several = project.projects?.length > 0;
  const processors = os.availableParallelism?.() ?? os.cpus().length;
  const config = {
    ...(several ? project : wrapped(project, false)),
    reporters: [path.join(__dirname, "fillrate_jest.cjs")],
    // The reporter ends the run itself: a sentinel's failure must not.
    bail: 0,
    cache: false,
    cacheDirectory: "/tmp/fillrate-jest",
    maxWorkers: Math.max(1, Math.min(processors - 1, MOST_AT_ONCE)),
    watchman: false,
    // jest's own counters are by statement of the file that it has transformed.
    collectCoverage: coverage !== null,
    coverageDirectory: "/tmp/fillrate-jest-coverage",
    coverageProvider: "babel",
    coverageReporters: [],
    coverageThreshold: {},
  };
  // Plug-ins of jest's watch mode need what no run in a sandbox has.
  delete config.watchPlugins;
  const projects = several ? await projectConfigs(read, project) : [project];
  if (several) config.projects = projects.map((one) => wrapped(one, true));
  // Its patterns are relative to the root of whichever project has the file.
  const roots = new Set(projects.map(({ rootDir }) => rootDir));
  config.collectCoverageFrom = [...roots].flatMap((root) =>
    (coverage ?? []).map((file) => escaped(path.relative(root, path.join(ROOT, file)))),
  );
  return config;
};
