import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { inlined, withSchema } from "../schema/inline.mjs";

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

test("fillrate.settings has the schema of fillrate.toml", () => {
  const schema = JSON.parse(readFileSync("schema/fillrate.schema.json", "utf8"));
  // After a change: npm run schema
  assert.deepEqual(withSchema(structuredClone(manifest), schema), manifest);
  const setting = manifest.contributes.configuration.properties["fillrate.settings"];
  assert.ok(setting.properties.model.properties.protocol.enum.includes("ollama-generate"));
  assert.ok(setting.properties.models.additionalProperties.properties.key_env);
  assert.ok(!JSON.stringify(inlined(schema)).includes("$ref"));
});

test("every command that a menu, a key or a page names is one", () => {
  const { commands, menus, keybindings } = manifest.contributes;
  const known = commands.map((one: { command: string }) => one.command);
  assert.equal(new Set(known).size, known.length);
  for (const { command } of [...menus.commandPalette, ...keybindings]) {
    assert.ok(known.includes(command), command);
  }
  const page = readFileSync("README.md", "utf8");
  for (const { title } of commands.filter(
    ({ command }: { command: string }) => !/next|previous|accept|dismiss/.test(command),
  )) {
    assert.ok(page.includes(title), `README.md does not name ${title}`);
  }
});

test("the page begins with what the extension does", () => {
  const page = readFileSync("README.md", "utf8");
  assert.ok(page.indexOf("![") < page.indexOf("```"));
  assert.ok(page.indexOf("## Keys") < page.indexOf("cargo"));
});
