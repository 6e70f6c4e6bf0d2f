import { StorageError } from "../errors";

/** The little a repository needs from a file system; paths use forward slashes. */
export interface FileSystem {
  read(path: string): Promise<string>;
  write(path: string, content: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  remove(path: string): Promise<void>;
  /** Paths of all files below a folder, sorted. */
  list(folder: string): Promise<string[]>;
}

/** Brings a path into the one form used as key; `..` may not leave the root. */
export function normalisePath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") {
      if (parts.pop() === undefined) {
        throw new StorageError(path, "leaves the root");
      }
    } else if (part !== "" && part !== ".") {
      parts.push(part);
    }
  }
  return parts.join("/");
}

export function joinPath(...parts: string[]): string {
  return normalisePath(parts.join("/"));
}

/** Keeps files in memory, for tests and dry runs. */
export class MemoryFileSystem implements FileSystem {
  private readonly files = new Map<string, string>();

  constructor(files: Readonly<Record<string, string>> = {}) {
    for (const [path, content] of Object.entries(files)) {
      this.files.set(normalisePath(path), content);
    }
  }

  async read(path: string): Promise<string> {
    const content = this.files.get(normalisePath(path));
    if (content === undefined) {
      throw new StorageError(path, "no such file");
    }
    return content;
  }

  async write(path: string, content: string): Promise<void> {
    const key = normalisePath(path);
    if (key === "") {
      throw new StorageError(path, "is not a file name");
    }
    this.files.set(key, content);
  }

  async exists(path: string): Promise<boolean> {
    return this.files.has(normalisePath(path));
  }

  async remove(path: string): Promise<void> {
    if (!this.files.delete(normalisePath(path))) {
      throw new StorageError(path, "no such file");
    }
  }

  async list(folder: string): Promise<string[]> {
    const key = normalisePath(folder);
    const prefix = key === "" ? "" : `${key}/`;
    return [...this.files.keys()].filter((path) => path.startsWith(prefix)).sort();
  }
}
