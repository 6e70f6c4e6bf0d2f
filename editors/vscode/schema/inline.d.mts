/** Replaces the references in a schema by what they refer to. */
export function inlined(schema: unknown): unknown;

/** Returns the manifest with the schema of `fillrate.settings` in it. */
export function withSchema<Manifest>(manifest: Manifest, schema: unknown): Manifest;
