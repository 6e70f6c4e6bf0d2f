// A pool of vitest that runs nothing and shows what it was given; see
// fillrate_vitest_stage.mjs.

/** Tell the order of the files and what workers would be started with. */
export default function pool(vitest, { execArgv, env }) {
  return {
    name: "fillrate",
    runTests(specifications) {
      const files = specifications.map(({ moduleId }) => moduleId);
      globalThis[Symbol.for("fillrate.pool")]({ files, execArgv, env });
    },
    collectTests() {},
  };
}
