import { ConflictError, NotFoundError, StorageError } from "../errors";
import { requireInteger, requireObject } from "../guards";
import { joinPath, type FileSystem } from "./files";

export type Predicate<T> = (item: T) => boolean;

export interface Entity {
  readonly id: string;
}

/** An entity with the number of times it was saved. */
export interface Versioned<T> {
  readonly entity: T;
  readonly version: number;
}

/** Stores entities by id, with optimistic locking: a save names the version it is based on. */
export interface Repository<T extends Entity> {
  find(id: string): Promise<Versioned<T> | undefined>;
  /** Like {@link find}, but a missing entity is an error. */
  get(id: string): Promise<Versioned<T>>;
  /** Returns the new version; a new entity is based on version 0. */
  save(entity: T, basedOn: number): Promise<number>;
  remove(id: string): Promise<void>;
  /** All matching entities ordered by id. */
  list(predicate?: Predicate<T>): Promise<T[]>;
}

/** What all implementations share; subclasses only move records. */
abstract class BaseRepository<T extends Entity> implements Repository<T> {
  constructor(protected readonly kind: string) {}

  abstract find(id: string): Promise<Versioned<T> | undefined>;
  protected abstract put(record: Versioned<T>): Promise<void>;
  protected abstract drop(id: string): Promise<void>;
  protected abstract all(): Promise<T[]>;

  async get(id: string): Promise<Versioned<T>> {
    const record = await this.find(id);
    if (record === undefined) {
      throw new NotFoundError(this.kind, id);
    }
    return record;
  }

  async save(entity: T, basedOn: number): Promise<number> {
    const current = (await this.find(entity.id))?.version ?? 0;
    if (current !== basedOn) {
      throw new ConflictError(entity.id, basedOn, current);
    }
    const version = current + 1;
    await this.put({ entity, version });
    return version;
  }

  async remove(id: string): Promise<void> {
    await this.get(id);
    await this.drop(id);
  }

  async list(predicate: Predicate<T> = () => true): Promise<T[]> {
    const matching = (await this.all()).filter(predicate);
    return matching.sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}

export class MemoryRepository<T extends Entity> extends BaseRepository<T> {
  private readonly records = new Map<string, Versioned<T>>();

  async find(id: string): Promise<Versioned<T> | undefined> {
    return this.records.get(id);
  }

  protected async put(record: Versioned<T>): Promise<void> {
    this.records.set(record.entity.id, record);
  }

  protected async drop(id: string): Promise<void> {
    this.records.delete(id);
  }

  protected async all(): Promise<T[]> {
    return [...this.records.values()].map((record) => record.entity);
  }
}

/** Keeps one JSON file per entity in a folder. */
export class FileRepository<T extends Entity> extends BaseRepository<T> {
  constructor(
    kind: string,
    private readonly files: FileSystem,
    private readonly folder: string,
    private readonly decode: (value: unknown) => T,
  ) {
    super(kind);
  }

  async find(id: string): Promise<Versioned<T> | undefined> {
    const path = this.pathOf(id);
    return (await this.files.exists(path)) ? this.load(path) : undefined;
  }

  protected async put(record: Versioned<T>): Promise<void> {
    const path = this.pathOf(record.entity.id);
    await this.files.write(path, `${JSON.stringify(record, null, 2)}\n`);
  }

  protected async drop(id: string): Promise<void> {
    await this.files.remove(this.pathOf(id));
  }

  protected async all(): Promise<T[]> {
    const entities: T[] = [];
    for (const path of await this.files.list(this.folder)) {
      if (path.endsWith(".json")) {
        entities.push((await this.load(path)).entity);
      }
    }
    return entities;
  }

  private pathOf(id: string): string {
    return joinPath(this.folder, `${encodeURIComponent(id)}.json`);
  }

  private async load(path: string): Promise<Versioned<T>> {
    const content = await this.files.read(path);
    try {
      const json = requireObject(JSON.parse(content), "record");
      return { entity: this.decode(json.entity), version: requireInteger(json.version, "version") };
    } catch (error) {
      throw new StorageError(path, `is not a valid ${this.kind}`, { cause: error });
    }
  }
}
