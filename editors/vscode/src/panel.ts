/** The pages in editor tabs: statistics, and explanations. */

import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { explanationPage, type Place } from "./explain";
import { models } from "./models";
import type { Explanation } from "./protocol";
import { type Session, sentence } from "./session";
import { figures, page, readStatistics } from "./statistics";

/** Timeout for computing the figures, in milliseconds. */
const TIMEOUT_MS = 60_000;

/** The most that the program may print, in bytes. */
const LARGEST = 64 * 1024 * 1024;

let open: vscode.WebviewPanel | undefined;

/** Shows the statistics of this machine's record. */
export async function showStatistics(session: Session, extension: vscode.Uri): Promise<void> {
  const known = await models(session);
  const program = session.path;
  if (known === undefined || program === undefined) {
    return;
  }
  const store = known.telemetry?.path;
  let first: string;
  try {
    first = await computed(program, store, 0);
  } catch (error) {
    void vscode.window.showErrorMessage(`Fillrate: there are no statistics: ${sentence(error)}`);
    return;
  }
  const panel =
    open ??
    vscode.window.createWebviewPanel(
      "fillrate.statistics",
      "Fillrate: Statistics",
      vscode.ViewColumn.Active,
      { enableScripts: true, localResourceRoots: [built(extension)], enableFindWidget: true },
    );
  if (open === undefined) {
    open = panel;
    panel.onDidDispose(() => {
      open = undefined;
    });
    panel.webview.onDidReceiveMessage(async ({ days }: { days?: unknown }) => {
      const message = await computed(program, store, typeof days === "number" ? days : 0).then(
        (html) => ({ figures: html }),
        (error: unknown) => ({ problem: sentence(error) }),
      );
      await panel.webview.postMessage(message);
    });
  }
  panel.webview.html = page({
    figures: first,
    script: address(panel, extension, "statistics.js"),
    style: address(panel, extension, "statistics.css"),
    source: panel.webview.cspSource,
  });
  panel.reveal();
}

let explained: vscode.WebviewPanel | undefined;

/** Shows how a completion came about, beside the code, in the place of the explanation before. */
export function showExplanation(
  extension: vscode.Uri,
  place: Place,
  explanation: Explanation,
  shown: { blind: boolean; off: string | undefined },
): void {
  const panel =
    explained ??
    vscode.window.createWebviewPanel("fillrate.explanation", "", vscode.ViewColumn.Beside, {
      localResourceRoots: [built(extension)],
      enableFindWidget: true,
    });
  if (explained === undefined) {
    explained = panel;
    panel.onDidDispose(() => {
      explained = undefined;
    });
  }
  const name = place.file.split(/[/\\]/).at(-1) ?? place.file;
  panel.title = `${name}:${place.line}:${place.column}`;
  panel.webview.html = explanationPage(place, explanation, shown, {
    style: address(panel, extension, "explain.css"),
    source: panel.webview.cspSource,
  });
  panel.reveal();
}

/** The folder of what the build made. */
function built(extension: vscode.Uri): vscode.Uri {
  return vscode.Uri.joinPath(extension, "dist");
}

/** Returns the address of a built file, for the page. */
function address(panel: vscode.WebviewPanel, extension: vscode.Uri, name: string): string {
  return panel.webview.asWebviewUri(vscode.Uri.joinPath(built(extension), name)).toString();
}

/** The page's changing part for the last days; 0 is all of it. */
async function computed(program: string, store: string | undefined, days: number): Promise<string> {
  const place = store === undefined ? [] : ["--store", store];
  const span = days > 0 ? ["--days", String(days)] : [];
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      program,
      ["telemetry", "stats", "--json", ...place, ...span],
      { timeout: TIMEOUT_MS, maxBuffer: LARGEST },
      (error, stdout, stderr) => {
        if (error === null) {
          resolve(stdout);
        } else {
          reject(new Error(stderr.trim() || error.message));
        }
      },
    );
  });
  return figures(readStatistics(output));
}
