// vitest configuration for the zod 4.6.7 package, which ships its sources and
// tests but not the configuration of its repository.
//
// It is a plain object, so that it can be outside the package and needs
// nothing but vitest 3 and a vite that fits it (vitest 3.2.7, vite 7.3.8).
export default {
  // The tests import "zod/v4" and the like.  This condition of the package's
  // own exports leads to src/*.ts; without it the built .js files would be
  // tested, and an edit of a source file would change nothing.
  resolve: { conditions: ["@zod/source"] },
  test: {
    // 91 files, 1054 tests.  Of all 196 files 193 run (2648 tests); file,
    // redos and to-json-schema in src/v4/classic/tests import packages that
    // are not dependencies of the published one.
    include: [
      "src/v3/tests/**/*.test.ts",
      "src/v4/core/tests/**/*.test.ts",
      "src/v4/classic/tests/string*.test.ts",
    ],
    // Importing "zod/compile", as compile-global.test.ts does, changes a global
    // of the worker; compile-off-by-default.test.ts fails where it can see it.
    isolate: true,
    // Threads start faster than processes: 17 s against 24 s on two cores.
    pool: "threads",
  },
};
