/** Choosing a model, and trials of several, by the editor's settings. */

import * as vscode from "vscode";
import { MODELS, type Models, UNITS, type Unit } from "./protocol";
import { type Session, sentence } from "./session";
import { type Trial, withCandidates } from "./settings";

/** Requests the server's models; shows the person why that fails. */
export async function models(session: Session): Promise<Models | undefined> {
  const client = session.need();
  if (client === undefined) {
    return undefined;
  }
  try {
    return await client.sendRequest<Models>(MODELS, {});
  } catch (error) {
    void vscode.window.showErrorMessage(
      `Fillrate: the server did not list its models: ${sentence(error)}`,
    );
    return undefined;
  }
}

/** Returns the names of the server's models; none if it does not run. */
export async function names(session: Session): Promise<string[]> {
  try {
    const known = await session.running?.sendRequest<Models>(MODELS, {});
    return known?.models.map(({ name }) => name) ?? [];
  } catch {
    return [];
  }
}

/** Lets a model answer from now on, which ends a trial. */
export function use(name: string): Promise<void> {
  return set({ trial: undefined, model: name });
}

/** Lets the person pick a model. */
export async function pickModel(session: Session): Promise<void> {
  const known = await models(session);
  if (known === undefined) {
    return;
  }
  const items = known.models.map(({ name, about, active }) => ({
    label: name,
    description: active ? "selected" : "",
    detail: about,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: "Fillrate: pick a model",
    placeHolder: known.trial
      ? "A trial is under way; picking a model ends it"
      : "The model that answers from now on",
    matchOnDetail: true,
  });
  if (picked !== undefined) {
    await use(picked.label);
  }
}

/** Lets the person choose how many candidates the model in use is asked for. */
export async function chooseCandidates(session: Session): Promise<void> {
  const known = await models(session);
  if (known === undefined) {
    return;
  }
  const active = known.models.find((model) => model.active);
  if (known.trial !== null || active === undefined) {
    void vscode.window.showInformationMessage(
      "Fillrate: a trial is under way, which has its own settings; stop it first.",
    );
    return;
  }
  const picked = await vscode.window.showQuickPick(
    [1, 2, 3, 5].map((number) => ({
      label: String(number),
      detail: number === 1 ? "The model writes one" : "Alt+] shows the next, Alt+[ the previous",
      number,
    })),
    {
      title: "Fillrate: choose the number of candidates",
      placeHolder: `Candidates that ${active.name} writes for each request`,
    },
  );
  if (picked === undefined) {
    return;
  }
  await change("settings", (own) => withCandidates(own, active.name, picked.number));
}

/** Lets the person start a trial of several models. */
export async function startTrial(session: Session): Promise<void> {
  const known = await models(session);
  if (known === undefined) {
    return;
  }
  if (known.models.length < 2) {
    void vscode.window.showInformationMessage(
      "Fillrate: a trial needs two models or more, each under [models] in your fillrate.toml.",
    );
    return;
  }
  const picked = await vscode.window.showQuickPick(
    known.models.map(({ name, about }) => ({ label: name, detail: about })),
    {
      title: "Fillrate: start a trial (1 of 3)",
      placeHolder: "The models that take turns: two or more",
      canPickMany: true,
    },
  );
  if (picked === undefined) {
    return;
  }
  if (picked.length < 2) {
    void vscode.window.showInformationMessage("Fillrate: a trial needs two models or more.");
    return;
  }
  const abouts: Record<Unit, string> = {
    request: "Each request goes to a model at random",
    session: "Each session of the editor",
    day: "Each day",
    pairs: "Two models answer each request, and you choose one of two candidates",
  };
  const unit = await vscode.window.showQuickPick(
    UNITS.map((label) => ({ label, detail: abouts[label] })),
    { title: "Fillrate: start a trial (2 of 3)", placeHolder: "What a model is drawn for" },
  );
  if (unit === undefined) {
    return;
  }
  const blind = await vscode.window.showQuickPick(
    [
      { label: "Blind", detail: "Which model answered is hidden", value: true },
      { label: "Open", detail: "The status bar names the model", value: false },
    ],
    {
      title: "Fillrate: start a trial (3 of 3)",
      placeHolder: "Whether you see which model answers",
    },
  );
  if (blind === undefined) {
    return;
  }
  const trial: Trial = {
    models: picked.map(({ label }) => label),
    unit: unit.label,
    blind: blind.value,
  };
  await set({ trial });
}

/** Ends the trial that is under way, whoever started it. */
export async function stopTrial(session: Session): Promise<void> {
  const known = await models(session);
  if (known === undefined) {
    return;
  }
  if (known.trial === null) {
    void vscode.window.showInformationMessage("Fillrate: no trial is under way.");
    return;
  }
  // There may be one in a file, too, which needs an explicit setting against it.
  await set({ trial: false });
}

/** Writes settings of the person; `undefined` takes one back. */
async function set(settings: { model?: string; trial?: unknown }): Promise<void> {
  const configuration = vscode.workspace.getConfiguration("fillrate");
  for (const [name, value] of Object.entries(settings)) {
    await configuration.update(name, value, vscode.ConfigurationTarget.Global);
  }
}

/** Changes a setting where it is set now, from its value there. */
export async function change<T>(name: string, to: (own: T | undefined) => T): Promise<void> {
  const configuration = vscode.workspace.getConfiguration("fillrate");
  const { workspaceValue, globalValue } = configuration.inspect<T>(name) ?? {};
  await configuration.update(
    name,
    to(workspaceValue ?? globalValue),
    workspaceValue === undefined
      ? vscode.ConfigurationTarget.Global
      : vscode.ConfigurationTarget.Workspace,
  );
}
