// Runs one test file under node's own test framework; see fillrate_node.mjs.
//
// Descriptor 3 is a socket: its first line holds the instructions, with the file
// and the nonce, and the report goes out; see fillrate_node_reporter.mjs.
//
// The sentinel follows the file's own tests; see fillrate_report.cjs.  A file
// without any test counts as one test, as under `node --test`.

import path from "node:path";
import nodeTest from "node:test";
import { pathToFileURL } from "node:url";
import { coverage, failedToLoad, file, token } from "./fillrate_node_reporter.mjs";
import { ROOT, SENTINEL, expectations, findIneffective } from "./fillrate_report.cjs";

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
coverage?.endImports();
test(SENTINEL, async () => {
  const ineffective = await findIneffective(own);
  throw new Error(`${token}${ineffective}`);
});
