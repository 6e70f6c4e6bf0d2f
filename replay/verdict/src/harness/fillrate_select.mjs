// A vitest set-up file that runs only the selected tests.
//
// It sets the other tests' mode to `skip` when the file has been collected,
// just as vitest's own name filter does, but by exact id: a name pattern can't
// distinguish tests of the same name.  The reporter omits unselected tests.

import { beforeAll, inject } from "vitest";
import { SENTINEL, testIds, withFile } from "./fillrate_vitest.mjs";

/** Skip what is not selected; return whether anything is left to run. */
function narrow(suite, ids, selected) {
  let left = false;
  for (const task of suite.tasks) {
    if (task.name.startsWith(SENTINEL)) continue;
    const kept = task.type === "suite" ? narrow(task, ids, selected) : selected.has(ids.get(task));
    if (!kept) task.mode = "skip";
    left ||= kept;
  }
  return left;
}

const selected = new Set(inject("fillrate").select);
beforeAll(withFile((file) => {
  narrow(file, testIds(file), selected);
}));
