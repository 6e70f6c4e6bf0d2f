/**
 * The messages between server and client beyond LSP's own. `server/docs/requests.md` has the
 * table of methods.
 */

/** A notification of the server: its status. */
export const STATUS = "fillrate/status";

/** A notification of the client: what became of a completion in the editor. */
export const EVENT = "fillrate/event";

/** A request: which models there are. */
export const MODELS = "fillrate/models";

/** A request: how a completion came about. */
export const EXPLAIN = "fillrate/explain";

/** A request: delete everything in the local store. */
export const PURGE = "fillrate/purge";

/** The command of every item: executing it records that the item was accepted. */
export const ACCEPT = "fillrate.accept";

/** The scheme of documents that are cells of notebooks. */
export const CELL = "vscode-notebook-cell";

/** The language of the cells that are completed. */
export const CELL_LANGUAGE = "python";

/** One candidate of one completion. */
export interface Identity {
  /** The completion's globally unique id. */
  completion: string;
  /** The candidate's index in it, from 0. */
  candidate: number;
}

/** The certainty of a display: the editor observed it, or it was concluded. */
export type Certainty = "confirmed" | "estimated";

/** The parameters of {@link EVENT}. */
export interface Event extends Identity {
  event: "shown" | "partlyAccepted" | "dismissed";
  certainty: Certainty;
  /** Time for which it was displayed, in milliseconds; absent while it is displayed. */
  shownMs?: number;
  /** Number of characters (Unicode code points) that a partial accept inserted. */
  characters?: number;
  /** Unit of a partial accept. */
  unit?: "word" | "line" | "characters";
}

/** The argument of {@link ACCEPT}. */
export interface Acceptance extends Identity {
  shownMs?: number;
  certainty?: Certainty;
}

/** The parameters of {@link STATUS}. */
export interface Status {
  state: "starting" | "indexing" | "ready" | "asking" | "silent" | "fault";
  /** The state in a few words, the same in every editor. */
  text?: string;
  /** Number of indexed files; absent or `null` until it is known. */
  files?: number | null;
  /** With `fault`, what is wrong; with `silent`, why the last request showed nothing. */
  message?: string | null;
  /** With `fault`, what failed in a few words. */
  cause?: string;
  /** With `fault`, what the person can do about it. */
  advice?: string;
  /** With `fault`, since when, in milliseconds since 1970. */
  sinceMs?: number;
  /** With `silent`, the document that it is said of. */
  uri?: string;
  /** The name of the model that answers; none in a blind trial. */
  model?: string | null;
  /** True if a trial is running. */
  trial?: boolean;
  /** True if the local record keeps code. */
  content?: boolean;
}

/** The units for each of which a trial assigns a model; `pairs` shows two models together. */
export const UNITS = ["request", "session", "day", "pairs"] as const;

/** One of {@link UNITS}. */
export type Unit = (typeof UNITS)[number];

/** The answer to {@link MODELS}. */
export interface Models {
  models: { name: string; about: string; active: boolean }[];
  trial: null | { models: string[]; unit: string; blind: boolean; seed: number };
  /** Settings and path of the local record; absent if the server does not record. */
  telemetry?: { enabled: boolean; content: boolean; path: string; sendsTo?: string | null };
}

/** A piece of another file that the model was given. */
export interface Window {
  path?: string;
  /** From 0. */
  first_line?: number;
  text?: string;
  score?: number;
}

/** A change that a clean-up rule made to a model's text. */
export interface Decision {
  rule?: string;
  /** The text that was cut off; if rewritten, the text before. */
  removed?: string;
  rewritten?: boolean;
}

/** The origin of a completion; members of older or newer servers are ignored. */
export interface Trace {
  model?: string;
  about?: string;
  source?: string;
  windows?: Window[];
  first_round?: string | null;
  prompt?: string;
  steps?: { raw: string; decisions: Decision[] }[];
  nothing?: string | null;
  fault?: string | null;
  wait_ms?: number;
  context_ms?: number;
  first_text_ms?: number | null;
  model_ms?: number;
  cleanup_ms?: number;
  configuration?: string;
}

/** The answer to {@link EXPLAIN}. */
export interface Explanation {
  candidates: string[];
  trace: Trace;
}
