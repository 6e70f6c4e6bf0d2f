// A vitest set-up file that runs only the tests named in FILLRATE_SELECT.
//
// It sets the other tests' mode to `skip` when the file has been collected,
// just as vitest's own name filter does, but by exact id.  A name pattern
// could not tell apart tests of the same name.  The reporter leaves the tests
// that are not selected out of its report.

import { beforeAll } from "vitest";
import { readJson, testIds } from "./fillrate_vitest.mjs";

/** Skip what is not selected; say whether anything is left to run. */
function narrow(suite, ids, selected) {
  let left = false;
  for (const task of suite.tasks) {
    const kept = task.type === "suite" ? narrow(task, ids, selected) : selected.has(ids.get(task));
    if (!kept) task.mode = "skip";
    left ||= kept;
  }
  return left;
}

const selected = new Set(readJson("FILLRATE_SELECT"));
beforeAll((file) => {
  narrow(file, testIds(file), selected);
});
