/** Stable, machine-readable discriminator carried by every error of this library. */
export type ErrorCode =
  | "validation"
  | "parse"
  | "rating"
  | "transition"
  | "not-found"
  | "conflict"
  | "storage";

/** Root of the error hierarchy; catch this to catch everything the library throws on purpose. */
export abstract class WaybillError extends Error {
  abstract readonly code: ErrorCode;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** Extra facts for logs; subclasses add what they know. */
  details(): Record<string, string | number> {
    return {};
  }

  toJSON(): Record<string, unknown> {
    return { code: this.code, message: this.message, ...this.details() };
  }
}

/** A value was well-formed but not acceptable for the field it was meant for. */
export class ValidationError extends WaybillError {
  readonly code = "validation";

  constructor(
    readonly field: string,
    readonly reason: string,
  ) {
    super(`${field}: ${reason}`);
  }

  /** Returns the same complaint with `prefix` in front of the field path. */
  within(prefix: string): ValidationError {
    return new ValidationError(`${prefix}.${this.field}`, this.reason);
  }

  override details(): Record<string, string | number> {
    return { field: this.field };
  }
}

/** Text could not be read; positions are one-based. */
export class ParseError extends WaybillError {
  readonly code = "parse";

  constructor(
    readonly reason: string,
    readonly line: number = 1,
    readonly column: number = 1,
  ) {
    super(`${reason} at ${line}:${column}`);
  }

  /** Moves an error raised inside a single line to that line of a larger document. */
  atLine(line: number): ParseError {
    return new ParseError(this.reason, line, this.column);
  }

  override details(): Record<string, string | number> {
    return { line: this.line, column: this.column };
  }
}

/** No price exists for what was asked. */
export class RatingError extends WaybillError {
  readonly code = "rating";

  constructor(
    readonly service: string,
    reason: string,
  ) {
    super(`service ${service}: ${reason}`);
  }

  override details(): Record<string, string | number> {
    return { service: this.service };
  }
}

/** A tracking event does not follow from the current state. */
export class TransitionError extends WaybillError {
  readonly code = "transition";

  constructor(
    readonly from: string,
    readonly to: string,
  ) {
    super(`cannot go from ${from} to ${to}`);
  }

  override details(): Record<string, string | number> {
    return { from: this.from, to: this.to };
  }
}

/** Nothing is stored under the given key. */
export class NotFoundError extends WaybillError {
  readonly code = "not-found";

  constructor(
    readonly kind: string,
    readonly key: string,
  ) {
    super(`no ${kind} with key ${key}`);
  }

  override details(): Record<string, string | number> {
    return { kind: this.kind, key: this.key };
  }
}

/** Somebody else saved a newer version first. */
export class ConflictError extends WaybillError {
  readonly code = "conflict";

  constructor(
    readonly key: string,
    readonly expected: number,
    readonly actual: number,
  ) {
    super(`${key} is at version ${actual}, expected ${expected}`);
  }

  override details(): Record<string, string | number> {
    return { key: this.key, expected: this.expected, actual: this.actual };
  }
}

/** The storage behind a repository failed or held something unreadable. */
export class StorageError extends WaybillError {
  readonly code = "storage";

  constructor(
    readonly path: string,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`${path}: ${reason}`, options);
  }

  override details(): Record<string, string | number> {
    return { path: this.path };
  }
}

/** One line for humans, whatever was thrown. */
export function describeError(error: unknown): string {
  if (error instanceof WaybillError) {
    return `[${error.code}] ${error.message}`;
  }
  if (error instanceof Error) {
    return error.message;
  }
  return String(error);
}
