// Runs a project's tests under its vitest, from version 1 on.
//
// Use: node <this file> [OPTION or FILTER of vitest ...], with the working
// directory at the root of the repository.
//
// The instructions are read from standard input, see fillrate_vitest.mjs.

import { FillrateReporter, readInstructions } from "./fillrate_vitest.mjs";
import { openVitest } from "./fillrate_vitest_open.mjs";

// As vitest's own program sets them.
process.env.TEST = "true";
process.env.VITEST = "true";
process.env.NODE_ENV ??= "test";
const instructions = readInstructions();
let vitest;
try {
  // Not by its path: vite 6.4.6 loads no file from outside of the project before it is open.
  const reporter = new FillrateReporter(instructions);
  const opened = await openVitest(instructions, process.argv.slice(2), [reporter]);
  vitest = opened.vitest;
  await vitest.start(opened.filter);
} catch (error) {
  // Of several errors, the message says only that there are some.
  const reasons = error instanceof AggregateError ? error.errors : [error];
  for (const reason of reasons) process.stderr.write(`${reason?.stack}\n`);
  process.exitCode = 1;
}
await (vitest ? vitest.exit() : process.exit());
