// TypeScript's own checker, kept: says which errors a file with other contents
// adds to those that the project has already.
//
// It reads files and never runs them.  Standard input is a socket.  The first
// line that comes is a JSON object with the repository's root as `directory`;
// it is answered with `ready`, or with `unfit` and why.  Every other line has
//   path      a file of the project
//   contents  what it has in place of its own
// and is answered with
//   own       the errors that are new in this file
//   others    those that are new in the project's other files
// or with `outside`, where the project's tsconfig.json does not lead to the
// file.  Every answer is computed from the unchanged project's program, so that
// none depends on another question.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

/** Most errors that are told in full. */
const TOLD = 20;

/** Write a line; nothing waits in a buffer. */
function say(text) {
  const line = Buffer.from(`${text}\n`);
  let sent = 0;
  while (sent < line.length) sent += fs.writeSync(0, line, sent);
}

/** Wait for the next line; nothing when there will be none. */
function hear() {
  const pieces = [];
  const buffer = Buffer.alloc(1 << 16);
  while (pieces.length === 0 || pieces.at(-1).at(-1) !== 10) {
    const length = fs.readSync(0, buffer);
    if (length === 0) return undefined;
    pieces.push(Buffer.from(buffer.subarray(0, length)));
  }
  return JSON.parse(Buffer.concat(pieces).toString("utf8"));
}

/** The project as its tsconfig.json has it. */
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
    /** What was read once and is never changed. */
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
    // Tells the builder whether a file is the same.
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
    // Asked for single files, a builder would not look at those that a change affects.
    const all = [...builder.getSyntacticDiagnostics(), ...builder.getSemanticDiagnostics()];
    return all
      .filter(({ category }) => category === Error)
      .map((diagnostic) => ({ file: diagnostic.file?.fileName, text: this.words(diagnostic) }));
  }

  words({ code, messageText }) {
    return `TS${code}: ${this.ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  }

  /** How often each error is there: lines move with a change and tell nothing. */
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
      const told = (errors) => ({ count: errors.length, first: errors.slice(0, TOLD).map(({ text }) => text) });
      return {
        own: told(fresh.filter((error) => error.file === name)),
        others: told(fresh.filter((error) => error.file !== name)),
      };
    } finally {
      this.changed = undefined;
    }
  }
}

const { directory } = hear();
let project;
try {
  project = new Project(createRequire(import.meta.url)("typescript"), directory);
} catch (error) {
  say(`unfit ${String(error?.message).split("\n")[0]}`);
  process.exit(0);
}
say("ready");
for (let question = hear(); question; question = hear()) {
  say(JSON.stringify(project.check(question.path, question.contents)));
}
