/** The extension: ghost text from Fillrate's server, and commands about it. */

import * as vscode from "vscode";
import { Ghost } from "./ghost";
import { models, pickModel, startTrial, stopTrial } from "./models";
import { showExplanation, showStatistics } from "./panel";
import { CELL, CELL_LANGUAGE, EVENT, EXPLAIN, type Explanation, PURGE } from "./protocol";
import { Session, sentence } from "./session";
import { type Edited, statusItem } from "./status";

/** Called by the editor once, when it has started. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const ghost = new Ghost(isOn, (event) => {
    void session.running?.sendNotification(EVENT, event);
  });
  const session = new Session(ghost.middleware, context.extensionPath);
  const bar = vscode.window.createStatusBarItem("fillrate.status", vscode.StatusBarAlignment.Right);
  bar.name = "Fillrate";
  bar.command = "fillrate.menu";
  const redraw = () => show(bar, session);
  const commands: Record<string, () => unknown> = {
    menu: () => menu(session),
    pickModel: () => pickModel(session),
    toggle: () => toggle(),
    explain: () => explain(session, context.extensionUri),
    statistics: () => showStatistics(session, context.extensionUri),
    startTrial: () => startTrial(session),
    stopTrial: () => stopTrial(session),
    purge: () => purge(session),
    restart: () => session.restart(),
  };
  context.subscriptions.push(
    ghost,
    session,
    bar,
    session.onSituation(redraw),
    vscode.window.onDidChangeActiveTextEditor(redraw),
    ...Object.entries(commands).map(([name, run]) =>
      vscode.commands.registerCommand(`fillrate.${name}`, run),
    ),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      const changed = (...names: string[]) =>
        names.some((name) => event.affectsConfiguration(`fillrate.${name}`));
      if (changed("enabled")) {
        if (!isOn()) {
          ghost.hide();
        }
        redraw();
      }
      if (changed("path", "arguments")) {
        await session.restart();
      } else if (changed("model", "trial", "settings")) {
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

function show(bar: vscode.StatusBarItem, session: Session): void {
  const item = statusItem(isOn() ? session.known : { kind: "off" }, edited());
  bar.text = item.text;
  bar.tooltip = item.lines.join("\n");
  bar.accessibilityInformation = {
    label: [item.text.replace(/^\$\([^)]*\) /, ""), ...item.lines].join(". "),
    role: "button",
  };
  bar.backgroundColor =
    item.severity === "none"
      ? undefined
      : new vscode.ThemeColor(`statusBarItem.${item.severity}Background`);
}

/** What can be done, for a click on the status bar. */
async function menu(session: Session): Promise<void> {
  const item = statusItem(isOn() ? session.known : { kind: "off" }, edited());
  const choices = [
    { label: isOn() ? "Switch Off" : "Switch On", command: "toggle" },
    { label: "Pick Model", command: "pickModel" },
    { label: "Explain This Position", command: "explain" },
    { label: "Show Statistics", command: "statistics" },
    { label: "Start a Trial", command: "startTrial" },
    { label: "Stop the Trial", command: "stopTrial" },
    { label: "Delete What Was Recorded", command: "purge" },
    { label: "Restart Server", command: "restart" },
  ];
  const picked = await vscode.window.showQuickPick(choices, {
    title: "Fillrate",
    placeHolder: item.lines.join(" · "),
  });
  if (picked !== undefined) {
    await vscode.commands.executeCommand(`fillrate.${picked.command}`);
  }
}

/** Switches completions on or off, where the setting is set now. */
async function toggle(): Promise<void> {
  const configuration = vscode.workspace.getConfiguration("fillrate");
  const inWorkspace = configuration.inspect("enabled")?.workspaceValue !== undefined;
  await configuration.update(
    "enabled",
    !isOn(),
    inWorkspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global,
  );
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
  showExplanation(extension, place, explanation, blind);
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
