// What runs one file of tests for node's own runner; see fillrate_node.mjs.
//
// Descriptor 3 is a socket: the order comes in as one line, with the file and the
// word to sign with, and the report goes out; see fillrate_node_reporter.mjs.
//
// After the file's own tests comes one that must fail; see fillrate_report.cjs.
// A file without any test is one test, as it is for `node --test`.

import path from "node:path";
import nodeTest from "node:test";
import { pathToFileURL } from "node:url";
import { coverage, failedToLoad, file, token } from "./fillrate_node_reporter.mjs";
import { ROOT, SENTINEL, expectations, silent } from "./fillrate_report.cjs";

const { test } = nodeTest;
const absolute = path.join(ROOT, file);
process.argv.splice(1, process.argv.length, absolute);
process.execArgv.length = 0;
const own = expectations(token);
try {
  await import(pathToFileURL(absolute));
} catch (error) {
  failedToLoad(error);
}
coverage?.imported();
test(SENTINEL, async () => {
  const bent = await silent(own);
  throw new Error(`${token}${bent}`);
});
