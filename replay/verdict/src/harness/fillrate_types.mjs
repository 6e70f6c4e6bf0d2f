// TypeScript's own checker as a long-lived process: returns the errors that a
// file with other contents adds to the project's own.
//
// It reads files and never runs them.  Standard input is a socket.  The first
// line is a JSON object with the repository's root as `directory`; the answer is
// `ready`, or `unfit` and why.  Every other line has
//   path      a file of the project
//   contents  its contents
// and gets as its answer
//   own       the new errors in this file
//   others    the new errors in the project's other files
// or `outside`, if the project's tsconfig.json does not include the file.  Every
// answer is computed from the unchanged project's program, so that none depends
// on another request.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

/** The most errors whose text is returned. */
const MAX_ERRORS = 20;

/** Write a line, unbuffered. */
function writeLine(text) {
  const line = Buffer.from(`${text}\n`);
  let sent = 0;
  while (sent < line.length) sent += fs.writeSync(0, line, sent);
}

/** Read the next line; undefined at the end. */
function readLine() {
  const pieces = [];
  const buffer = Buffer.alloc(1 << 16);
  while (pieces.length === 0 || pieces.at(-1).at(-1) !== 10) {
    const length = fs.readSync(0, buffer);
    if (length === 0) return undefined;
    pieces.push(Buffer.from(buffer.subarray(0, length)));
  }
  return JSON.parse(Buffer.concat(pieces).toString("utf8"));
}

/** The project as its tsconfig.json defines it. */
class Project {
  constructor(ts, directory) {
    this.ts = ts;
    this.directory = directory;
    const file = path.join(directory, "tsconfig.json");
    const fatal = (diagnostic) => {
      throw new Error(this.words(diagnostic));
    };
    const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fatal };
    this.config = ts.getParsedCommandLineOfConfigFile(file, { noEmit: true, composite: false, incremental: false }, host);
    this.config.errors.forEach(fatal);
    this.host = ts.createCompilerHost(this.config.options, true);
    /** The files read so far, which never change. */
    this.files = new Map();
    this.read = this.host.getSourceFile.bind(this.host);
    this.changed = undefined;
    this.host.getSourceFile = (name, options) => {
      if (name === this.changed?.name) return this.source(name, this.changed.contents, options);
      if (!this.files.has(name)) {
        const text = this.host.readFile(name);
        this.files.set(name, text === undefined ? undefined : this.source(name, text, options));
      }
      return this.files.get(name);
    };
    this.builder = this.build(undefined);
    this.known = this.count(this.errors(this.builder));
  }

  source(name, text, options) {
    const source = this.ts.createSourceFile(name, text, options, true);
    // The builder compares it to detect changes.
    source.version = this.ts.sys.createHash(text);
    return source;
  }

  build(before) {
    const { fileNames, options, projectReferences } = this.config;
    return this.ts.createSemanticDiagnosticsBuilderProgram(
      fileNames, options, this.host, before, undefined, projectReferences,
    );
  }

  /** All errors, with the file of each. */
  errors(builder) {
    const { Error } = this.ts.DiagnosticCategory;
    // For single files, a builder would not check those that a change affects.
    const all = [...builder.getSyntacticDiagnostics(), ...builder.getSemanticDiagnostics()];
    return all
      .filter(({ category }) => category === Error)
      .map((diagnostic) => ({ file: diagnostic.file?.fileName, text: this.words(diagnostic) }));
  }

  words({ code, messageText }) {
    return `TS${code}: ${this.ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  }

  /** Count each error without its line, which moves with a change. */
  count(errors) {
    const counts = new Map();
    for (const error of errors) {
      const key = JSON.stringify(error);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  }

  check(file, contents) {
    const name = path.join(this.directory, file);
    if (!this.builder.getSourceFile(name)) return { outside: true };
    this.changed = { name, contents };
    try {
      const left = new Map(this.known);
      const fresh = this.errors(this.build(this.builder)).filter((error) => {
        const key = JSON.stringify(error);
        const count = left.get(key) ?? 0;
        left.set(key, count - 1);
        return count <= 0;
      });
      const summarize = (errors) => ({ count: errors.length, first: errors.slice(0, MAX_ERRORS).map(({ text }) => text) });
      return {
        own: summarize(fresh.filter((error) => error.file === name)),
        others: summarize(fresh.filter((error) => error.file !== name)),
      };
    } finally {
      this.changed = undefined;
    }
  }
}

const { directory } = readLine();
let project;
try {
  project = new Project(createRequire(import.meta.url)("typescript"), directory);
} catch (error) {
  writeLine(`unfit ${String(error?.message).split("\n")[0]}`);
  process.exit(0);
}
writeLine("ready");
for (let request = readLine(); request; request = readLine()) {
  writeLine(JSON.stringify(project.check(request.path, request.contents)));
}
