// Bundles the extension: `node esbuild.mjs [production | tests]`.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const what = process.argv[2] ?? "development";

const shared = {
  absWorkingDir: here,
  bundle: true,
  logLevel: "warning",
  metafile: true,
  minify: what === "production",
  target: "es2022",
};

rmSync(join(here, "dist"), { recursive: true, force: true });
mkdirSync(join(here, "dist"));

if (what === "tests") {
  await esbuild.build({
    ...shared,
    entryPoints: readdirSync(join(here, "test")).flatMap((name) =>
      name.endsWith(".test.ts") ? [join("test", name)] : [],
    ),
    outdir: "dist/test",
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
    // Nothing that the tests meet needs the editor; one that does fails at its import.
    external: ["vscode"],
  });
} else {
  const extension = await esbuild.build({
    ...shared,
    entryPoints: { extension: "src/extension.ts" },
    outdir: "dist",
    format: "cjs",
    platform: "node",
    external: ["vscode"],
  });
  const statistics = await esbuild.build({
    ...shared,
    entryPoints: { statistics: "webview/statistics.ts", explain: "webview/explain.css" },
    outdir: "dist",
    format: "iife",
    platform: "browser",
  });
  writeFileSync(join(here, "dist", "THIRD-PARTY.txt"), notices([extension, statistics]));
  writeFileSync(join(here, "dist", "README.md"), readme());
}

/** The extension's page as the package has it: the editor knows no links but whole ones. */
function readme() {
  const read = (name) => readFileSync(join(here, name), "utf8");
  const { url, directory } = JSON.parse(read("package.json")).repository;
  return read("README.md").replace(/\]\((?!https?:|#)([^)]+)\)/g, (_, link) => {
    const kind = link.endsWith(".png") ? "raw" : "blob";
    return `](${new URL(`${directory}/${link}`, `${url.replace(/\.git$/, "")}/${kind}/HEAD/`)})`;
  });
}

/** The licences of the packages that were bundled, as they want to go with them. */
function notices(builds) {
  const inputs = builds.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const folders = inputs.flatMap((path) => {
    const found = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path);
    return found === null ? [] : [found[0]];
  });
  return [...new Set(folders)]
    .sort()
    .map((folder) => {
      const licence = readdirSync(join(here, folder)).find((name) => /^licen[cs]e/i.test(name));
      if (licence === undefined) {
        throw new Error(`${folder} is bundled and has no licence beside it`);
      }
      const text = readFileSync(join(here, folder, licence), "utf8");
      return `${folder.split("node_modules/").at(-1)}\n\n${text.trim()}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}
