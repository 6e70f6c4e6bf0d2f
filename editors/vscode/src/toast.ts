/** The one message about what keeps completions away. */

import * as vscode from "vscode";

/** A message's severity. */
export type Severity = "info" | "warning" | "error";

const SHOW: Record<Severity, (text: string, ...choices: string[]) => Thenable<string | undefined>> =
  {
    info: (text, ...choices) => vscode.window.showInformationMessage(text, ...choices),
    warning: (text, ...choices) => vscode.window.showWarningMessage(text, ...choices),
    error: (text, ...choices) => vscode.window.showErrorMessage(text, ...choices),
  };

/** Buttons by their titles, with what each runs. */
export type Choices = Record<string, () => unknown>;

/** Shows one message at a time: another takes its place. */
export class Toast {
  /** The message that was shown last, until it is over. */
  private last: { text: string; isOpen: boolean; isFault: boolean } | undefined;

  /** Shows a fault once, until it is over. */
  async show(text: string, choices: Choices): Promise<void> {
    if (this.last?.text !== text) {
      await this.replace(text, choices, "error", true);
    }
  }

  /** Shows the answer to a command, which stays until a fault takes its place. */
  async answer(text: string, choices: Choices, severity: Severity): Promise<void> {
    await this.replace(text, choices, severity, false);
  }

  /** Hides a fault, which is over. */
  async clear(): Promise<void> {
    if (this.last?.isFault === true) {
      await this.hide();
    }
  }

  private async replace(
    text: string,
    choices: Choices,
    severity: Severity,
    isFault: boolean,
  ): Promise<void> {
    const hidden = this.hide();
    const shown = { text, isOpen: true, isFault };
    this.last = shown;
    await hidden;
    // A message is not Markdown.
    const plain = text.replaceAll("`", "");
    const choice = await SHOW[severity](plain, ...Object.keys(choices));
    shown.isOpen = false;
    if (choice !== undefined) {
      await choices[choice]?.();
    }
  }

  /**
   * Hides the message. The editor lets no extension close one, so the toasts on the screen go to its
   * list of notifications, where those of others can still be read.
   */
  private async hide(): Promise<void> {
    const { last } = this;
    this.last = undefined;
    if (last?.isOpen === true) {
      await vscode.commands.executeCommand("notifications.hideToasts");
    }
  }
}
