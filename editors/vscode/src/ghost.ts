/** Ghost text: requests, keys, and what is reported of it. */

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { ACCEPT, type Acceptance, type Event, type Identity } from "./protocol";
import { type Candidate, characters, type Offer, Shown } from "./shown";

/** Timeout for the edit that a command makes, in milliseconds. */
const EDIT_MS = 250;

/** The middleware between editor and server for ghost text. */
export class Ghost implements vscode.Disposable {
  private readonly shown: Shown;
  private readonly disposables: vscode.Disposable[];
  /** The completion whose item's command ran last. */
  private lastAccepted: string | undefined;

  /**
   * @param isOn True if completions are requested in a document; `invoked` if by hand.
   * @param report Sends an event to the server.
   */
  constructor(
    private readonly isOn: (document: vscode.TextDocument, invoked: boolean) => boolean,
    report: (event: Event) => void,
  ) {
    this.shown = new Shown(report, {
      now: () => performance.now(),
      after: (ms, then) => {
        const timer = setTimeout(then, ms);
        return () => clearTimeout(timer);
      },
    });
    this.disposables = [
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        const edits = contentChanges.map(({ rangeOffset, rangeLength, text }) => ({
          offset: rangeOffset,
          removed: rangeLength,
          text,
        }));
        this.shown.edited(document.uri.toString(), edits);
      }),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, selections }) => {
        const [selection] = selections;
        const offset =
          selections.length === 1 && selection?.isEmpty === true
            ? textEditor.document.offsetAt(selection.active)
            : undefined;
        this.shown.moved(textEditor.document.uri.toString(), offset);
      }),
      vscode.window.onDidChangeActiveTextEditor(() => this.shown.end()),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (!focused) {
          this.shown.end();
        }
      }),
      vscode.workspace.onDidCloseTextDocument(() => this.leftEditor()),
      ...this.commands(),
    ];
  }

  /** The language client's hooks around a request. */
  readonly middleware: Middleware = {
    provideInlineCompletionItems: async (document, position, context, token, next) => {
      const invoked = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke;
      if (!this.isOn(document, invoked)) {
        return null;
      }
      const { version } = document;
      const answer = await next(document, position, context, token);
      // They may have been switched off meanwhile.
      if (!this.isOn(document, invoked)) {
        return null;
      }
      const items = Array.isArray(answer) ? answer : (answer?.items ?? []);
      if (!token.isCancellationRequested && document.version === version) {
        this.offered(document, position, context, items);
      }
      return answer;
    },
    executeCommand: (command, args, next) => {
      const identity = command === ACCEPT ? readIdentity(args[0]) : undefined;
      if (identity === undefined) {
        return next(command, args);
      }
      this.lastAccepted = identity.completion;
      const acceptance: Acceptance = this.shown.accepted(identity);
      return next(command, [acceptance, ...args.slice(1)]);
    },
  };

  /** Ghost text is hidden, since completions were switched off. */
  hide(): void {
    this.shown.end();
    void vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
  }

  dispose(): void {
    this.shown.end();
    vscode.Disposable.from(...this.disposables).dispose();
  }

  /** An answer goes to the editor: what of it will be displayed. */
  private offered(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    items: readonly vscode.InlineCompletionItem[],
  ): void {
    const editor = vscode.window.activeTextEditor;
    if (
      editor?.document !== document ||
      !vscode.window.state.focused ||
      editor.selections.length !== 1 ||
      !editor.selection.isEmpty ||
      !editor.selection.active.isEqual(position)
    ) {
      return;
    }
    const selected = context.selectedCompletionInfo;
    const [first, ...others] = items.flatMap((item): Candidate[] => {
      const identity = readIdentity(item.command?.arguments?.[0]);
      const text = typeof item.insertText === "string" ? item.insertText : item.insertText.value;
      if (identity === undefined) {
        return [];
      }
      if (selected === undefined) {
        return [{ ...identity, text }];
      }
      // Beside a suggestion, an item replaces what was typed of it.
      const before = document.getText(new vscode.Range(selected.range.start, position));
      if (!text.startsWith(selected.text) || !text.startsWith(before)) {
        return [];
      }
      return [{ ...identity, text: text.slice(before.length) }];
    });
    if (first === undefined) {
      this.shown.end();
      return;
    }
    const offer: Offer = {
      document: document.uri.toString(),
      offset: document.offsetAt(position),
      candidates: [first, ...others],
    };
    this.shown.offered(offer);
  }

  private leftEditor(): void {
    if (vscode.window.activeTextEditor === undefined) {
      this.shown.end();
    }
  }

  private commands(): vscode.Disposable[] {
    const command = (name: string, run: () => Promise<void>) =>
      vscode.commands.registerCommand(`fillrate.${name}`, run);
    const inEditor = async (name: string) => {
      await vscode.commands.executeCommand(`editor.action.inlineSuggest.${name}`);
    };
    return [
      command("dismiss", async () => {
        this.shown.dismissed();
        await inEditor("hide");
      }),
      command("next", async () => {
        // The editor asks for all candidates first; their answer comes before the turn.
        await inEditor("showNext");
        this.shown.turned(1);
      }),
      command("previous", async () => {
        await inEditor("showPrevious");
        this.shown.turned(-1);
      }),
      command("acceptWord", () => this.acceptPart("word", () => inEditor("acceptNextWord"))),
      command("acceptLine", () => this.acceptPart("line", () => inEditor("acceptNextLine"))),
    ];
  }

  /** Accepts a part by the editor's own command, and reports what it inserted. */
  private async acceptPart(unit: "word" | "line", accept: () => Promise<void>): Promise<void> {
    const before = this.shown.current;
    if (before === undefined) {
      // Another extension's ghost text.
      await accept();
      return;
    }
    this.lastAccepted = undefined;
    const inserted = firstInsertion(before.document);
    try {
      await accept();
      const text = await inserted.text;
      // The last part is accepted as a whole, with the item's command.
      if (this.lastAccepted === before.candidate.completion) {
        return;
      }
      if (text !== undefined && before.remaining.startsWith(text)) {
        this.shown.partlyAccepted(before.candidate, characters(text), unit);
      }
    } finally {
      inserted.dispose();
    }
  }
}

/** The text of the next insertion into a document, if one comes soon. */
function firstInsertion(uri: string): vscode.Disposable & { text: Promise<string | undefined> } {
  let listener: vscode.Disposable | undefined;
  let timer: NodeJS.Timeout | undefined;
  const text = new Promise<string | undefined>((resolve) => {
    listener = vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      const [change] = contentChanges;
      if (document.uri.toString() === uri && contentChanges.length === 1 && change !== undefined) {
        resolve(change.rangeLength === 0 ? change.text : undefined);
      }
    });
    timer = setTimeout(() => resolve(undefined), EDIT_MS);
  });
  return {
    text,
    dispose: () => {
      listener?.dispose();
      clearTimeout(timer);
    },
  };
}

/** The candidate that a command's argument names. */
function readIdentity(argument: unknown): Identity | undefined {
  if (typeof argument !== "object" || argument === null) {
    return undefined;
  }
  const { completion, candidate } = argument as Partial<Identity>;
  return typeof completion === "string" && typeof candidate === "number"
    ? { completion, candidate }
    : undefined;
}
