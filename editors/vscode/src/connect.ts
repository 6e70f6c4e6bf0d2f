/** Leading a person to a model: its table in `fillrate.toml`, its key, and whether it answers. */

import { dirname } from "node:path";
import * as vscode from "vscode";
import schema from "../schema/fillrate.schema.json";
import { type Diagnosis, diagnose } from "./doctor";
import type { Keys } from "./keys";
import { names, use } from "./models";
import { addressProblem, PROVIDERS, type Provider } from "./providers";
import { type Session, sentence } from "./session";
import {
  existing,
  freeName,
  isClosed,
  keyVariables,
  type ModelTable,
  settingsFile,
  withTable,
} from "./toml";

/** The families of models that have a template. */
const FAMILIES = schema.definitions.model.properties.family.enum;

/** Timeout for Ollama's list of models, in milliseconds. */
const LIST_MS = 2000;

/** The person's settings file. */
export function configuration(): vscode.Uri {
  const args = vscode.workspace.getConfiguration("fillrate").get<string[]>("arguments", []);
  return vscode.Uri.file(settingsFile(args));
}

/** Opens the person's `fillrate.toml`, which is created if it is missing. */
export async function openConfiguration(): Promise<void> {
  const uri = configuration();
  if ((await read(uri)) === undefined) {
    await write(uri, EMPTY);
  }
  await vscode.window.showTextDocument(uri);
}

/** A new `fillrate.toml`. */
const EMPTY = `# Settings of Fillrate. Without a model here, the embedded baseline answers.
# The command "Fillrate: Connect a Model" adds one.

# [models.local]
# protocol = "llama-infill"
# url = "http://127.0.0.1:8080"
`;

/** Asks for a model and its key, writes them down, and has the model fill holes. */
export async function connect(session: Session, keys: Keys): Promise<void> {
  const provider = await vscode.window.showQuickPick(PROVIDERS, {
    title: "Fillrate: connect a model",
    placeHolder: "What runs the model",
    matchOnDetail: true,
    ignoreFocusOut: true,
  });
  if (provider === undefined) {
    return;
  }
  const url = await ask(`the address of ${provider.label}`, {
    value: provider.url,
    prompt: "As the server's own documentation prints it",
    validateInput: (text) => addressProblem(text.trim()),
  });
  if (url === undefined) {
    return;
  }
  const model = provider.model === undefined ? "" : await askModel(provider, url);
  if (model === undefined) {
    return;
  }
  const key = provider.key === undefined ? "" : await askKey(provider, keys);
  if (key === undefined) {
    return;
  }
  const uri = configuration();
  const text = (await read(uri)) ?? "";
  const name = await place(provider, text, await names(session), uri);
  if (name === undefined) {
    return;
  }
  const takesKey =
    provider.key !== undefined &&
    (key !== "" || provider.needsKey === true || (await keys.variables()).includes(provider.key));
  const table: ModelTable = {
    name,
    protocol: provider.protocol,
    url,
    model,
    ...(takesKey ? { key: provider.key } : {}),
  };
  try {
    if (provider.key !== undefined && key !== "") {
      await keys.store(provider.key, key);
    }
    let found = await check(session, keys, table);
    if (found?.needsFamily === true) {
      const family = await vscode.window.showQuickPick(FAMILIES, {
        title: `Fillrate: the family of ${model}`,
        placeHolder: "Which model it comes from decides its prompt; its name does not say it",
        ignoreFocusOut: true,
      });
      if (family === undefined) {
        return;
      }
      table.family = family;
      found = await check(session, keys, table);
    }
    // A person may have edited the file meanwhile.
    await write(uri, withTable((await read(uri)) ?? "", table));
    // The server learns of the model at its start, and refuses one that it does not know.
    await session.restart();
    await use(name);
    if (found !== undefined) {
      show(session, table, found);
    }
  } catch (error) {
    void vscode.window.showErrorMessage(`Fillrate: ${uri.fsPath}: ${sentence(error)}`);
  }
}

/** Asks for a key and stores it; an empty one deletes the one that is stored. */
export async function enterKey(session: Session, keys: Keys): Promise<void> {
  const inFile = keyVariables((await read(configuration())) ?? "");
  const stored = await keys.variables();
  const known = [...new Set([...inFile, ...stored])];
  const [only] = known;
  let variable = only;
  if (known.length !== 1) {
    const other = { label: "Another…", description: "a variable that key_env will name" };
    const items = known.map((label) => ({
      label,
      description: stored.includes(label) ? "stored" : "not stored",
    }));
    const picked = await vscode.window.showQuickPick([...items, other], {
      title: "Fillrate: enter a key",
      placeHolder: "The environment variable that key_env names in fillrate.toml",
      ignoreFocusOut: true,
    });
    if (picked === undefined) {
      return;
    }
    variable =
      picked === other
        ? await ask("the environment variable", {
            prompt: "As key_env names it in fillrate.toml",
            validateInput: (text) =>
              /^[A-Za-z_][A-Za-z0-9_]*$/.test(text.trim())
                ? undefined
                : "Write a name such as CODESTRAL_API_KEY; the key is asked for next.",
          })
        : picked.label;
  }
  if (variable === undefined) {
    return;
  }
  const key = await ask(`the key for ${variable}`, {
    password: true,
    prompt: "It is kept in this editor's secret storage. Leave it empty to delete the stored one.",
  });
  if (key === undefined) {
    return;
  }
  await keys.store(variable, key);
  void vscode.window.showInformationMessage(
    key === ""
      ? `Fillrate: the key for ${variable} was deleted.`
      : `Fillrate: the key for ${variable} is stored.`,
  );
  await session.restart();
}

/** Asks for a line of text, without the blanks around it. */
async function ask(
  what: string,
  options: Omit<vscode.InputBoxOptions, "title">,
): Promise<string | undefined> {
  const given = await vscode.window.showInputBox({
    title: `Fillrate: ${what}`,
    ignoreFocusOut: true,
    ...options,
  });
  return given?.trim();
}

/** Asks for the model's name; Ollama says which it has. */
async function askModel(provider: Provider, url: string): Promise<string | undefined> {
  const own = provider.protocol === "ollama-generate" ? await ollamaModels(url) : [];
  if (own !== undefined && own.length > 0) {
    const other = "Another…";
    const picked = await vscode.window.showQuickPick([...own, other], {
      title: "Fillrate: the model",
      placeHolder: "Base models that were trained to fill in complete best",
      ignoreFocusOut: true,
    });
    if (picked !== other) {
      return picked;
    }
  }
  return ask("the model's name", {
    value: provider.model ?? "",
    prompt:
      own === undefined
        ? `Nothing answers at ${url}. Start it (“ollama serve”) and connect again to pick one of its models, or type the name of one`
        : own.length === 0 && provider.protocol === "ollama-generate"
          ? "It has no model yet: “ollama pull NAME” downloads one"
          : "As its server knows it",
    validateInput: (text) => (text.trim() === "" ? "The server needs a name." : undefined),
  });
}

/** Returns the names of the models that an Ollama has; `undefined` if it can't be asked. */
async function ollamaModels(url: string): Promise<string[] | undefined> {
  try {
    const address = new URL("/api/tags", url);
    const response = await fetch(address, { signal: AbortSignal.timeout(LIST_MS) });
    const { models } = (await response.json()) as { models?: { name?: unknown }[] };
    return (models ?? []).flatMap(({ name }) => (typeof name === "string" ? [name] : []));
  } catch {
    return undefined;
  }
}

/** Asks for the provider's key. An empty one keeps what is stored or in the environment. */
async function askKey(provider: Provider, keys: Keys): Promise<string | undefined> {
  const variable = provider.key ?? "";
  const isKnown =
    (await keys.variables()).includes(variable) || (process.env[variable] ?? "") !== "";
  const isRequired = provider.needsKey === true && !isKnown;
  return ask(`the key of ${provider.label}`, {
    password: true,
    prompt: isKnown
      ? `Leave it empty to use the one that ${variable} has already.`
      : `It is kept in this editor's secret storage, never in a file${isRequired ? "" : "; leave it empty if there is none"}.`,
    validateInput: (text) =>
      isRequired && text.trim() === "" ? `${provider.label} needs a key.` : undefined,
  });
}

/** Returns the name for a table; asks before one of the file is replaced. */
async function place(
  provider: Provider,
  text: string,
  taken: readonly string[],
  uri: vscode.Uri,
): Promise<string | undefined> {
  const open = vscode.workspace.textDocuments.find(
    (document) => document.uri.toString() === uri.toString(),
  );
  if (open?.isDirty === true) {
    void vscode.window.showErrorMessage(`Fillrate: save ${uri.fsPath} first, then connect again.`);
    return undefined;
  }
  if (isClosed(text)) {
    void vscode.window.showErrorMessage(
      `Fillrate: ${uri.fsPath} has all models in one line, “models = …”. Write each as a table [models.NAME], then connect again.`,
    );
    return undefined;
  }
  const { name } = provider;
  const isTaken = (free: string) => existing(text, free) !== undefined || taken.includes(free);
  const other = freeName(name, isTaken);
  const old = existing(text, name);
  if (old === undefined) {
    return other;
  }
  const replace = "Replace It";
  const add = `Add “${other}”`;
  const answer = await vscode.window.showWarningMessage(
    `fillrate.toml has a model “${name}” already.`,
    { modal: true, detail: `${uri.fsPath}\n\n${old}` },
    replace,
    add,
  );
  return answer === replace ? name : answer === add ? other : undefined;
}

/** Has the model fill holes. Gives nothing if there is no program, or if a person stops it. */
async function check(
  session: Session,
  keys: Keys,
  table: ModelTable,
): Promise<Diagnosis | undefined> {
  const program = session.path;
  if (program === undefined) {
    // Why there is none was said when it was looked for.
    return undefined;
  }
  const stop = new AbortController();
  const found = await vscode.window.withProgress(
    {
      location: vscode.ProgressLocation.Notification,
      title: `Fillrate: “${table.name}” fills three holes…`,
      cancellable: true,
    },
    async (_, token) => {
      token.onCancellationRequested(() => stop.abort());
      return diagnose(program, table, await keys.environment(), stop.signal);
    },
  );
  session.log(`fillrate doctor --model: ${table.name}\n${found.output}`);
  return stop.signal.aborted ? undefined : found;
}

/** Shows what came of the holes. */
function show(session: Session, table: ModelTable, found: Diagnosis): void {
  const about = `Fillrate: “${table.name}”`;
  switch (found.kind) {
    case "fits":
      session.tell("info", `${about} answers now. ${found.text}`, ["showLog"]);
      break;
    case "misfits":
      session.tell("warning", `${about} answers, but does not fit. ${found.text}`, [
        "openConfiguration",
        "showLog",
      ]);
      break;
    case "fault":
      session.tell("error", `${about} ${failure(table, found)}. ${found.text}`, [
        ...(table.key === undefined ? [] : ["enterKey" as const]),
        "openConfiguration",
        "showLog",
      ]);
      break;
  }
}

/** What a model's server did in place of completing. */
function failure(table: ModelTable, { status, answered }: Diagnosis): string {
  switch (status) {
    case undefined:
      return `does not ${answered ? "always " : ""}answer at ${table.url}`;
    case 401:
      return `refuses ${table.key === undefined ? "requests without a key" : "the key"}`;
    case 403:
      return "denies access";
    case 404:
      return `knows no such model or address: ${table.url}`;
    default:
      return `fails with HTTP ${status} at ${table.url}`;
  }
}

/** Returns a file's text; `undefined` if there is none. */
async function read(uri: vscode.Uri): Promise<string | undefined> {
  try {
    return Buffer.from(await vscode.workspace.fs.readFile(uri)).toString("utf8");
  } catch (error) {
    // What can't be read is not overwritten.
    if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") {
      return undefined;
    }
    throw error;
  }
}

/** True while {@link write} saves a document, after which it is for its caller to go on. */
let isWriting = false;

/** True if a document is saved by a person, and not by one of our commands. */
export function isSavedByHand(): boolean {
  return !isWriting;
}

/** Writes a file; through its document, which an editor may show, if there is one. */
async function write(uri: vscode.Uri, text: string): Promise<void> {
  if ((await read(uri)) === undefined) {
    await vscode.workspace.fs.createDirectory(vscode.Uri.file(dirname(uri.fsPath)));
    await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
    return;
  }
  const document = await vscode.workspace.openTextDocument(uri);
  const edit = new vscode.WorkspaceEdit();
  edit.replace(uri, new vscode.Range(0, 0, document.lineCount, 0), text);
  isWriting = true;
  try {
    if (!(await vscode.workspace.applyEdit(edit)) || !(await document.save())) {
      throw new Error("the file can't be saved");
    }
  } finally {
    isWriting = false;
  }
}
