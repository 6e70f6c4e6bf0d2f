import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));

test("walkthrough names files and commands that exist", () => {
  const commands = new Set(
    manifest.contributes.commands.map((one: { command: string }) => one.command),
  );
  const [walkthrough] = manifest.contributes.walkthroughs;
  assert.equal(walkthrough.steps.length, 3);
  for (const step of walkthrough.steps) {
    assert.ok(existsSync(step.media.markdown), step.media.markdown);
    const links = [...step.description.matchAll(/\(command:([\w.]+)\)/g)].map(([, name]) => name);
    const events = step.completionEvents.map((event: string) => event.replace("onCommand:", ""));
    for (const command of [...links, ...events]) {
      assert.ok(commands.has(command), command);
    }
  }
  assert.ok(readFileSync(".vscodeignore", "utf8").includes("!walkthrough/*.md"));
});
