/** The extension: ghost text from Fillrate's server, and commands about it. */

import { basename } from "node:path";
import * as vscode from "vscode";
import { configuration, connect, enterKey, isSavedByHand, openConfiguration } from "./connect";
import { Ghost } from "./ghost";
import { Keys } from "./keys";
import { change, chooseCandidates, models, pickModel, startTrial, stopTrial } from "./models";
import { showExplanation, showStatistics } from "./panel";
import { CELL, CELL_LANGUAGE, EVENT, EXPLAIN, type Explanation, PURGE } from "./protocol";
import { openSettings, Session, sentence } from "./session";
import { isLanguageOn, isLanguageServed } from "./settings";
import { type Edited, isLanguageOff, type Situation, statusItem } from "./status";

/** Called by the editor once, when it has started. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const ghost = new Ghost(isRequested, (event) => {
    void session.running?.sendNotification(EVENT, event);
  });
  const keys = new Keys(context.secrets);
  const session = new Session(ghost.middleware, context.extensionPath, keys);
  const bar = vscode.window.createStatusBarItem("fillrate.status", vscode.StatusBarAlignment.Right);
  bar.name = "Fillrate";
  bar.command = "fillrate.menu";
  const redraw = () => show(bar, session);
  const refresh = () => {
    if (whyOff() !== undefined) {
      ghost.hide();
    }
    redraw();
  };
  const commands: Record<string, () => unknown> = {
    menu: () => menu(session),
    connect: () => connect(session, keys),
    enterKey: () => enterKey(session, keys),
    pickModel: () => pickModel(session),
    candidates: () => chooseCandidates(session),
    toggle: () => toggle(refresh),
    toggleAutomatic: () => flip("automatic", isAutomatic()),
    explain: () => explain(session, context.extensionUri),
    statistics: () => showStatistics(session, context.extensionUri),
    startTrial: () => startTrial(session),
    stopTrial: () => stopTrial(session),
    purge: () => purge(session),
    restart: () => session.restart(),
    trigger: () => requestCompletion(),
    openConfiguration: () => openConfiguration(),
    openSettings: () => openSettings("@ext:fillrate.fillrate"),
    showLog: () => session.showLog(),
    toggleLanguage: () => toggleLanguage(session),
    snooze5: () => snooze(5, refresh),
    snooze30: () => snooze(30, refresh),
  };
  context.subscriptions.push(
    ghost,
    session,
    bar,
    session.onSituation(redraw),
    vscode.window.onDidChangeActiveTextEditor(redraw),
    vscode.workspace.onDidSaveTextDocument(async ({ uri }) => {
      // The server reads these files at its start.
      if (isSettingsFile(uri) && isSavedByHand()) {
        await session.restart();
      }
    }),
    ...Object.entries(commands).map(([name, run]) =>
      vscode.commands.registerCommand(`fillrate.${name}`, run),
    ),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      const changed = (...names: string[]) =>
        names.some((name) => event.affectsConfiguration(`fillrate.${name}`));
      if (changed("enabled", "languages", "automatic")) {
        refresh();
      }
      if (changed("path", "arguments")) {
        await session.restart();
      } else if (changed("model", "trial", "settings", "languages")) {
        await session.configure();
      }
    }),
  );
  redraw();
  bar.show();
  await session.restart();
}

function isOn(): boolean {
  return vscode.workspace.getConfiguration("fillrate").get("enabled", true);
}

function isAutomatic(): boolean {
  return vscode.workspace.getConfiguration("fillrate").get("automatic", true);
}

/** Time for which a message is in the status bar, in milliseconds. */
const SAID_MS = 4000;

/** The end of the snooze, in milliseconds since 1970; in the past if there is none. */
let snoozedUntil = 0;

function isSnoozed(): boolean {
  return Date.now() < snoozedUntil;
}

/** Returns the reason why completions are off, as a sentence; `undefined` if they are on. */
function whyOff(document = vscode.window.activeTextEditor?.document): string | undefined {
  if (!isOn()) {
    return "Switched off: no completions are requested.";
  }
  if (isSnoozed()) {
    return `Snoozed until ${new Date(snoozedUntil).toLocaleTimeString()}.`;
  }
  const languages = vscode.workspace.getConfiguration("fillrate").get("languages");
  return document === undefined || isLanguageOn(languages, document.languageId)
    ? undefined
    : `Switched off for ${document.languageId} by fillrate.languages.`;
}

/** True if completions are requested in a document: by hand also without automatic ones. */
function isRequested(document: vscode.TextDocument, invoked: boolean): boolean {
  return (invoked || isAutomatic()) && whyOff(document) === undefined;
}

/** Switches completions off for some minutes. */
function snooze(minutes: number, refresh: () => void): void {
  snoozedUntil = Date.now() + minutes * 60_000;
  refresh();
  setTimeout(refresh, minutes * 60_000 + 1);
}

/** Switches completions on or off in the active document's language. */
async function toggleLanguage(session: Session): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined) {
    void vscode.window.showInformationMessage("Fillrate: open a file of the language first.");
    return;
  }
  const language = document.languageId;
  const languages = vscode.workspace.getConfiguration("fillrate").get("languages");
  const on =
    isLanguageServed(languages, language) && !isLanguageOff(session.known, document.uri.toString());
  await change<Record<string, boolean>>("languages", (own) => ({ ...own, [language]: !on }));
  vscode.window.setStatusBarMessage(
    `Fillrate: completions are ${on ? "off" : "on"} in ${language}.`,
    SAID_MS,
  );
}

/** True for the person's `fillrate.toml` and that of an open folder. */
function isSettingsFile(uri: vscode.Uri): boolean {
  const own = uri.fsPath === configuration().fsPath;
  const folders = vscode.workspace.workspaceFolders ?? [];
  return (
    own ||
    (basename(uri.fsPath) === "fillrate.toml" &&
      folders.some(
        (folder) => vscode.Uri.joinPath(folder.uri, "fillrate.toml").fsPath === uri.fsPath,
      ))
  );
}

/** The document in the active editor, and why nothing is asked in it. */
function edited(): Edited | undefined {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined) {
    return undefined;
  }
  const uri = document.uri.toString();
  switch (document.uri.scheme) {
    case "file":
    case "untitled":
      return { uri };
    case CELL:
      return document.languageId === CELL_LANGUAGE
        ? { uri }
        : { uri, silent: `cells of notebooks in “${document.languageId}” are not completed` };
    default:
      return { uri, silent: `“${document.uri.scheme}” documents are not completed` };
  }
}

/** Returns the server's state; if completions are off here, `off` with the reason. */
function situation(session: Session): Situation {
  const why = whyOff();
  return why === undefined ? session.known : { kind: "off", why };
}

function show(bar: vscode.StatusBarItem, session: Session): void {
  const { known } = session;
  const trial = known.kind === "running" && known.status.trial === true;
  void vscode.commands.executeCommand("setContext", "fillrate.trial", trial);
  const item = statusItem(situation(session), edited(), isAutomatic());
  bar.text = item.text;
  bar.tooltip = inMarkdown(item.lines);
  bar.accessibilityInformation = {
    label: `${item.text.replace(/^\$\([^)]*\) /, "")}. ${inText(item.lines).map(ended).join(" ")}`,
    role: "button",
  };
  bar.backgroundColor =
    item.severity === "none"
      ? undefined
      : new vscode.ThemeColor(`statusBarItem.${item.severity}Background`);
}

/** Lines in which what is between backticks is code, and all else is text. */
function inMarkdown(lines: string[]): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  for (const line of lines) {
    line.split("`").forEach((part, index) => {
      if (index % 2 === 1) {
        text.appendMarkdown(`\`${part}\``);
      } else {
        text.appendText(part);
      }
    });
    text.appendMarkdown("\n\n");
  }
  return text;
}

/** Lines without the marks of code, where nothing renders them. */
function inText(lines: string[]): string[] {
  return lines.map((line) => line.replaceAll("`", ""));
}

/** A line as a sentence, for a screen reader. */
function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Requests a completion, or says why none is requested. */
async function requestCompletion(): Promise<void> {
  const reason = whyOff();
  if (reason !== undefined) {
    vscode.window.setStatusBarMessage(`Fillrate: ${reason}`, SAID_MS);
    return;
  }
  await vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
}

/** Shows the commands to choose from after a click on the status bar. */
async function menu(session: Session): Promise<void> {
  const item = statusItem(situation(session), edited(), isAutomatic());
  const { known } = session;
  const trial = known.kind === "running" && known.status.trial === true;
  const choices = [
    { label: isOn() && !isSnoozed() ? "Switch Off" : "Switch On", command: "toggle" },
    { label: "Switch This Language On or Off", command: "toggleLanguage" },
    {
      label: isAutomatic() ? "Switch Automatic Completions Off" : "Switch Automatic Completions On",
      command: "toggleAutomatic",
    },
    { label: "Request a Completion", command: "trigger" },
    { label: "Snooze for 5 Minutes", command: "snooze5" },
    { label: "Snooze for 30 Minutes", command: "snooze30" },
    { label: "Connect a Model", command: "connect" },
    { label: "Pick Model", command: "pickModel" },
    { label: "Choose the Number of Candidates", command: "candidates" },
    { label: "Enter a Key", command: "enterKey" },
    { label: "Open fillrate.toml", command: "openConfiguration" },
    { label: "Explain This Position", command: "explain" },
    { label: "Show Statistics", command: "statistics" },
    trial
      ? { label: "Stop the Trial", command: "stopTrial" }
      : { label: "Start a Trial", command: "startTrial" },
    { label: "Delete What Was Recorded", command: "purge" },
    { label: "Open Settings", command: "openSettings" },
    { label: "Show Log", command: "showLog" },
    { label: "Restart Server", command: "restart" },
  ];
  const picked = await vscode.window.showQuickPick(choices, {
    title: "Fillrate",
    placeHolder: inText(item.lines).join(" · "),
  });
  if (picked !== undefined) {
    await vscode.commands.executeCommand(`fillrate.${picked.command}`);
  }
}

/** Switches completions on or off, where the setting is set now. Ends a snooze. */
async function toggle(refresh: () => void): Promise<void> {
  const ends = isSnoozed();
  snoozedUntil = 0;
  if (isOn() && ends) {
    refresh();
  } else {
    await flip("enabled", isOn());
  }
}

/** Turns a setting from its value to the other one, where it is set now. */
async function flip(name: string, value: boolean): Promise<void> {
  await change(name, () => !value);
}

/** Opens how a completion at the cursor comes about. */
async function explain(session: Session, extension: vscode.Uri): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const client = session.need();
  if (client === undefined) {
    return;
  }
  if (editor === undefined) {
    void vscode.window.showInformationMessage("Fillrate: open a file to explain a position in it.");
    return;
  }
  const { document, selection } = editor;
  const explanation = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: "Fillrate: completing…" },
    () =>
      client
        .sendRequest<Explanation | null>(EXPLAIN, {
          textDocument: client.code2ProtocolConverter.asTextDocumentIdentifier(document),
          position: client.code2ProtocolConverter.asPosition(selection.active),
        })
        .catch((error: unknown) => {
          void vscode.window.showErrorMessage(`Fillrate: ${sentence(error)}`);
          return undefined;
        }),
  );
  if (explanation === undefined) {
    return;
  }
  if (explanation === null) {
    void vscode.window.showInformationMessage(
      "Fillrate: there is nothing to explain: the server does not know this document, or is not ready.",
    );
    return;
  }
  const place = {
    file: vscode.workspace.asRelativePath(document.uri),
    line: selection.active.line + 1,
    column: selection.active.character + 1,
  };
  const blind = (await models(session))?.trial?.blind ?? false;
  showExplanation(extension, place, explanation, { blind, off: whyOff(document) });
}

/** Deletes the local record, once the person has confirmed it. */
async function purge(session: Session): Promise<void> {
  const client = session.need();
  if (client === undefined) {
    return;
  }
  const yes = "Delete";
  const answer = await vscode.window.showWarningMessage(
    "Delete everything that Fillrate has recorded on this machine?",
    {
      modal: true,
      detail:
        "Which completions were offered, shown, accepted and dismissed, in every editor. It can't be undone.",
    },
    yes,
  );
  if (answer !== yes) {
    return;
  }
  try {
    const { removed } = await client.sendRequest<{ removed: number }>(PURGE, {});
    void vscode.window.showInformationMessage(`Fillrate: ${removed} records were deleted.`);
  } catch (error) {
    void vscode.window.showErrorMessage(`Fillrate: nothing was deleted: ${sentence(error)}`);
  }
}
