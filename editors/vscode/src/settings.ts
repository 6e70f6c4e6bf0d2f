/** The settings that this editor sends to the server. */

import { UNITS, type Unit } from "./protocol";

/** The settings of this editor that concern the server. */
export interface EditorSettings {
  /** `fillrate.model`. */
  model: string;
  /** `fillrate.trial`. */
  trial: unknown;
  /** `fillrate.settings`. */
  settings: unknown;
  /** `fillrate.languages`. */
  languages?: unknown;
}

/** A trial as the server's settings have it. */
export interface Trial {
  models: string[];
  unit: Unit;
  seed?: number;
  blind?: boolean;
}

/**
 * The settings, as in `fillrate.toml`, that the server is sent; they replace those it was sent
 * before. A model that was picked by hand ends a trial that a file starts, since the server
 * passes `use` over in a trial.
 */
export function serverSettings(editor: EditorSettings): Record<string, unknown> {
  const settings: Record<string, unknown> = isTable(editor.settings) ? { ...editor.settings } : {};
  const trial = readTrial(editor.trial);
  if (isTable(editor.languages) && Object.keys(editor.languages).length > 0) {
    const own = isTable(settings.languages) ? settings.languages : {};
    settings.languages = { ...own, ...editor.languages };
  }
  if (editor.model !== "") {
    settings.use = editor.model;
  }
  if (trial !== undefined) {
    settings.trial = trial;
  } else if (editor.trial === false || editor.model !== "") {
    settings.trial = null;
  }
  return settings;
}

/** Returns `fillrate.settings` with a number of candidates for a model, given by its name. */
export function withCandidates(
  settings: unknown,
  model: string,
  number: number,
): Record<string, unknown> {
  const path = model === "default" ? ["model"] : ["models", model];
  return [...path, "candidates"].reduceRight<(table: unknown) => unknown>(
    (inner, key) => (table) => {
      const own = isTable(table) ? table : {};
      return { ...own, [key]: inner(own[key]) };
    },
    () => number,
  )(settings) as Record<string, unknown>;
}

/** True if completions are on in a language, by `fillrate.languages`. */
export function isLanguageOn(languages: unknown, language: string): boolean {
  return !isTable(languages) || (languages[language] ?? languages["*"] ?? true) !== false;
}

/** Prose and data, in which the server completes only if a person says so: by VS Code's names. */
const PROSE = new Set(
  (
    "asciidoc bibtex csv diff patch dotenv env git-commit scminput git-rebase json json5 jsonc " +
    "jsonl latex tex log mail email markdown pandoc quarto rmd org plaintext properties " +
    "restructuredtext tsv"
  ).split(" "),
);

/**
 * True if completions come in a language by what `fillrate.languages` and, where that is silent,
 * the server's own defaults say. What a switch is to reverse.
 */
export function isLanguageServed(languages: unknown, language: string): boolean {
  const own = isTable(languages) ? languages[language] : undefined;
  return own === undefined && PROSE.has(language) ? false : isLanguageOn(languages, language);
}

/** The trial that `fillrate.trial` asks for, if it is one. */
export function readTrial(value: unknown): Trial | undefined {
  if (!isTable(value) || !Array.isArray(value.models)) {
    return undefined;
  }
  const models = value.models.filter((name): name is string => typeof name === "string");
  if (models.length < 2) {
    return undefined;
  }
  const trial: Trial = {
    models,
    unit: UNITS.find((unit) => unit === value.unit) ?? "request",
  };
  if (typeof value.seed === "number") {
    trial.seed = value.seed;
  }
  if (typeof value.blind === "boolean") {
    trial.blind = value.blind;
  }
  return trial;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
