/** The statistics page in an editor tab. */

import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { models } from "./models";
import { type Session, sentence } from "./session";
import { figures, page, readStatistics } from "./statistics";

/** How long the figures may take, in milliseconds. */
const PATIENCE_MS = 60_000;

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
  const dist = vscode.Uri.joinPath(extension, "dist");
  const panel =
    open ??
    vscode.window.createWebviewPanel(
      "fillrate.statistics",
      "Fillrate: Statistics",
      vscode.ViewColumn.Active,
      { enableScripts: true, localResourceRoots: [dist], enableFindWidget: true },
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
  const address = (name: string) =>
    panel.webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
  panel.webview.html = page({
    figures: first,
    script: address("statistics.js"),
    style: address("statistics.css"),
    source: panel.webview.cspSource,
  });
  panel.reveal();
}

/** The page's changing part for the last so many days; 0 is all of it. */
async function computed(program: string, store: string | undefined, days: number): Promise<string> {
  const place = store === undefined ? [] : ["--store", store];
  const span = days > 0 ? ["--days", String(days)] : [];
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      program,
      ["telemetry", "stats", "--json", ...place, ...span],
      { timeout: PATIENCE_MS, maxBuffer: LARGEST },
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
