/** The one message about what keeps completions away. */

import * as vscode from "vscode";

/** Shows one message at a time: another takes its place. */
export class Toast {
  /** The message that was shown last, until it is over. */
  private last: { text: string; isOpen: boolean } | undefined;

  /**
   * Shows an error once, with buttons, and runs what is chosen.
   *
   * @param choices Buttons by their titles.
   */
  async show(text: string, choices: Record<string, () => unknown>): Promise<void> {
    if (this.last?.text === text) {
      return;
    }
    const cleared = this.clear();
    const shown = { text, isOpen: true };
    this.last = shown;
    await cleared;
    // A message is not Markdown.
    const plain = text.replaceAll("`", "");
    const choice = await vscode.window.showErrorMessage(plain, ...Object.keys(choices));
    shown.isOpen = false;
    if (choice !== undefined) {
      await choices[choice]?.();
    }
  }

  /**
   * Hides the message, since what it said is over. The editor lets no extension close one, so the
   * toasts on the screen go to its list of notifications, where those of others can still be read.
   */
  async clear(): Promise<void> {
    const { last } = this;
    this.last = undefined;
    if (last?.isOpen === true) {
      await vscode.commands.executeCommand("notifications.hideToasts");
    }
  }
}
