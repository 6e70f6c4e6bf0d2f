/** The server's lifecycle: finding it, starting it, its settings and its status. */

import * as vscode from "vscode";
import {
  CloseAction,
  DidChangeConfigurationNotification,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  MessageType,
  type Middleware,
  ResponseError,
  RevealOutputChannelOn,
  ShowMessageNotification,
  State,
} from "vscode-languageclient/node";
import { find, INSTALL, refusal } from "./binary";
import { ACTIONS, type Action, type Fault, faultOf } from "./faults";
import type { Keys } from "./keys";
import { ACCEPT, CELL, CELL_LANGUAGE, STATUS, type Status } from "./protocol";
import { serverSettings } from "./settings";
import type { Situation } from "./status";
import { type Choices, type Severity, Toast } from "./toast";

/** Number of times that a server which ends by itself is started again. */
const RESTARTS = 3;

/** Prefix of the server's own messages of faults. */
const FAULT = "Fillrate: ";

/** One server and its client. */
export class Session implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private program: string | undefined;
  private situation: Situation = { kind: "starting" };
  /** Starting and stopping, one after the other. */
  private work: Promise<void> = Promise.resolve();
  private readonly output = vscode.window.createOutputChannel("Fillrate", { log: true });
  private readonly toast = new Toast();
  private readonly changes = new vscode.EventEmitter<Situation>();
  /** Reports every change of the state. */
  readonly onSituation = this.changes.event;

  /**
   * @param extension The extension's folder.
   * @param keys Keys that the server gets in its environment.
   */
  constructor(
    private readonly middleware: Middleware,
    private readonly extension: string,
    private readonly keys: Keys,
  ) {}

  /** The server's state, regardless of the person's switch. */
  get known(): Situation {
    return this.situation;
  }

  /** The program that was found. */
  get path(): string | undefined {
    return this.program;
  }

  /** The client, where the server runs. */
  get running(): LanguageClient | undefined {
    return this.client?.state === State.Running ? this.client : undefined;
  }

  /** The client; otherwise shows the person why there is none. */
  need(): LanguageClient | undefined {
    if (this.running === undefined) {
      const { situation } = this;
      const why =
        situation.kind === "broken" ? situation.problem : "The server is not running yet.";
      void vscode.window.showErrorMessage(`Fillrate: ${why}`);
    }
    return this.running;
  }

  /** Shows the answer to a command, in place of a fault's message. */
  tell(severity: Severity, text: string, actions: Action[]): void {
    void this.toast.answer(text, buttons(actions), severity);
  }

  /** Writes to the log. */
  log(text: string): void {
    this.output.info(text);
  }

  /** Shows the log. */
  showLog(): void {
    this.output.show();
  }

  /** Finds the program and starts it anew. */
  restart(): Promise<void> {
    this.work = this.work
      .then(async () => {
        await this.stop();
        await this.start();
      })
      // Else what fails once would keep all later starts from running.
      .catch((error: unknown) => {
        this.fail(`Fillrate can't be started: ${String(error)}`);
      });
    return this.work;
  }

  /** Sends the settings of this editor to the server. */
  async configure(): Promise<void> {
    await this.running?.sendNotification(DidChangeConfigurationNotification.type, {
      settings: { fillrate: settings() },
    });
  }

  async dispose(): Promise<void> {
    this.work = this.work.then(() => this.stop());
    await this.work;
    this.changes.dispose();
    this.output.dispose();
  }

  private async start(): Promise<void> {
    this.become({ kind: "starting" });
    void this.toast.clear();
    const configuration = vscode.workspace.getConfiguration("fillrate");
    const found = await find(configuration.get("path", ""), process.env, this.extension);
    if ("problem" in found) {
      this.fail(found.problem, found.missing);
      return;
    }
    this.program = found.path;
    this.output.info(`${found.path} is Fillrate ${found.version}`);
    const args = configuration.get<string[]>("arguments", []);
    const env = { ...process.env, ...(await this.keys.environment()) };
    // A client would only learn that the server ended, several times.
    const refused = await refusal(found.path, args, env);
    if (refused !== undefined) {
      this.refuse(refused);
      return;
    }
    const client = new LanguageClient(
      "fillrate",
      "Fillrate",
      {
        command: found.path,
        args: ["serve", ...args],
        options: { env },
      },
      this.options(),
    );
    client.onNotification(STATUS, (status: Status) => {
      if (this.client === client) {
        this.become({ kind: "running", status });
        this.announce(status);
      }
    });
    client.onNotification(ShowMessageNotification.type, ({ type, message }) => {
      if (type === MessageType.Error) {
        // The status says the same of a fault, and when it is over.
        if (!message.startsWith(FAULT)) {
          void vscode.window.showErrorMessage(message);
        }
      } else if (type === MessageType.Warning) {
        void vscode.window.showWarningMessage(message);
      } else {
        void vscode.window.showInformationMessage(message);
      }
    });
    client.onDidChangeState(({ newState }) => {
      if (this.client === client && newState === State.Running) {
        // After a restart of the client's own, too. Nothing is sent if nothing is set, because
        // the server would open its model a second time.
        if (Object.keys(settings()).length > 0) {
          void this.configure();
        }
      }
    });
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.client = undefined;
      if (error instanceof ResponseError) {
        this.refuse(error.message);
      } else {
        this.fail(`${found.path} did not start as a language server: ${sentence(error)}`);
      }
      return;
    }
    const commands = client.initializeResult?.capabilities.executeCommandProvider?.commands ?? [];
    if (client.initializeResult?.capabilities.inlineCompletionProvider === undefined) {
      await this.stop();
      this.fail(`${found.path} is too old: it gives no inline completions. Install a newer one.`);
    } else if (!commands.includes(ACCEPT)) {
      void vscode.window.showWarningMessage(
        `Fillrate: ${found.path} is too old to record what is accepted. Install a newer one.`,
      );
    }
  }

  private options(): LanguageClientOptions {
    let ends = 0;
    return {
      documentSelector: [
        { scheme: "file" },
        { scheme: "untitled" },
        // The server asks for their notebooks, too: the cells before count.
        { scheme: CELL, language: CELL_LANGUAGE },
      ],
      outputChannel: this.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      middleware: this.middleware,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          ends += 1;
          if (ends <= RESTARTS) {
            return { action: CloseAction.Restart, handled: true };
          }
          this.fail("The server ended several times; its last words are in the output “Fillrate”.");
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  /** Shows each fault once, until the model answers. */
  private announce(status: Status): void {
    if (status.state === "ready") {
      void this.toast.clear();
    } else if (status.state === "fault") {
      this.report(faultOf(status));
    }
  }

  /** The server does not start, as its settings can't be used. */
  private refuse(message: string): void {
    const fault = faultOf({ state: "fault", cause: "the settings can't be used", message });
    this.become({ kind: "broken", problem: fault.text });
    this.output.error(message);
    // Models can be picked from a server that runs.
    this.report({ ...fault, actions: fault.actions.filter((action) => action !== "pickModel") });
  }

  private report({ text, actions }: Fault): void {
    void this.toast.show(`Fillrate: ${text}`, buttons(actions));
  }

  private async stop(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      this.output.warn(`The server did not end as it should: ${sentence(error)}`);
    }
  }

  private fail(problem: string, missing = false): void {
    this.become({ kind: "broken", problem });
    this.output.error(problem);
    const settings = () => openSettings("fillrate.path");
    const choices: Choices = missing
      ? {
          "Copy Install Command": () => vscode.env.clipboard.writeText(INSTALL),
          Restart: () => this.restart(),
          "Open Settings": settings,
        }
      : { "Open Settings": settings, [ACTIONS.showLog]: () => this.showLog() };
    void this.toast.show(`Fillrate: ${problem}`, choices);
  }

  private become(situation: Situation): void {
    this.situation = situation;
    this.changes.fire(situation);
  }
}

/** The buttons of a message for these actions. */
function buttons(actions: Action[]): Choices {
  const all = actions.map((action): [string, () => unknown] => [
    ACTIONS[action],
    () => vscode.commands.executeCommand(`fillrate.${action}`),
  ]);
  return Object.fromEntries(all);
}

/** The settings of this editor that the server receives. */
function settings(): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration("fillrate");
  return serverSettings({
    model: configuration.get("model", ""),
    trial: configuration.get("trial", null),
    settings: configuration.get("settings", {}),
    languages: configuration.get("languages", {}),
  });
}

/**
 * Opens the settings that a search finds. In a remote window those of the machine that the program
 * runs on: the person's own page has none of them.
 */
export async function openSettings(query: string): Promise<void> {
  const page =
    vscode.env.remoteName === undefined
      ? "workbench.action.openSettings"
      : "workbench.action.openRemoteSettings";
  await vscode.commands.executeCommand(page, { query });
}

/** Returns the message of an error. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
