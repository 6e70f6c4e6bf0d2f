/** Keys of APIs, in the editor's secret storage. */

import type { SecretStorage } from "vscode";

/** Prefix of the names of our secrets. */
const PREFIX = "key:";

/** The keys by the environment variables that the server gets them in. */
export class Keys {
  constructor(private readonly secrets: SecretStorage) {}

  /** Stores a key; an empty one deletes what is stored. */
  async store(variable: string, key: string): Promise<void> {
    const name = PREFIX + variable;
    await (key === "" ? this.secrets.delete(name) : this.secrets.store(name, key));
  }

  /** Returns the variables that a key is stored for. */
  async variables(): Promise<string[]> {
    const names = await this.secrets.keys();
    return names.flatMap((name) => (name.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : []));
  }

  /** Returns the keys as the environment of a process. They win over the editor's own. */
  async environment(): Promise<Record<string, string>> {
    const entries = (await this.variables()).map(
      async (variable): Promise<[string, string]> => [
        variable,
        (await this.secrets.get(PREFIX + variable)) ?? "",
      ],
    );
    const known = await Promise.all(entries);
    return Object.fromEntries(known.filter(([, key]) => key !== ""));
  }
}
