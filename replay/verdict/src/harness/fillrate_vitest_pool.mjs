// A vitest pool that runs nothing and returns its arguments; see
// fillrate_vitest_transform.mjs.

/** Pass on the order of the files and the workers' options. */
export default function pool(_vitest, { execArgv, env }) {
  return {
    name: "fillrate",
    runTests(specifications) {
      const files = specifications.map(({ moduleId }) => moduleId);
      globalThis[Symbol.for("fillrate.pool")]({ files, execArgv, env });
    },
    collectTests() {},
  };
}
