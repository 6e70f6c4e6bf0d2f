// Writes the schema of fillrate.toml into package.json, as that of the setting `fillrate.settings`:
// `npm run schema`. A setting's schema can't refer to a file.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Replaces the references in a schema by what they refer to. */
export function inlined(schema, root = schema) {
  if (Array.isArray(schema)) {
    return schema.map((part) => inlined(part, root));
  }
  if (typeof schema !== "object" || schema === null) {
    return schema;
  }
  const { $ref, allOf, ...own } = schema;
  const [, group, name] = /^#\/(\w+)\/(\w+)$/.exec($ref ?? allOf?.[0].$ref ?? "") ?? [];
  const merged = group === undefined ? own : { ...root[group][name], ...own };
  return Object.fromEntries(
    Object.entries(merged).map(([key, part]) => [key, inlined(part, root)]),
  );
}

/** Returns the manifest with the schema in it. */
export function withSchema(manifest, schema) {
  const { type, additionalProperties, properties } = inlined(schema);
  const settings = manifest.contributes.configuration.properties;
  const { default: none, scope, order, markdownDescription } = settings["fillrate.settings"];
  settings["fillrate.settings"] = {
    type,
    default: none,
    scope,
    order,
    markdownDescription,
    additionalProperties,
    properties,
  };
  return manifest;
}

if (process.argv.includes("--write")) {
  const here = dirname(fileURLToPath(import.meta.url));
  const read = (name) => JSON.parse(readFileSync(join(here, name), "utf8"));
  const manifest = withSchema(read("../package.json"), read("fillrate.schema.json"));
  writeFileSync(join(here, "../package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}
