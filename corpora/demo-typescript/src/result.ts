import { WaybillError } from "./errors";

/** A successful outcome. */
export interface Ok<T> {
  readonly ok: true;
  readonly value: T;
}

/** A failed outcome; the error is a value, not thrown. */
export interface Err<E> {
  readonly ok: false;
  readonly error: E;
}

export type Result<T, E = WaybillError> = Ok<T> | Err<E>;

export function ok<T>(value: T): Ok<T> {
  return { ok: true, value };
}

export function err<E>(error: E): Err<E> {
  return { ok: false, error };
}

/** Runs `action`, turning library errors into failures; anything else is a bug and propagates. */
export function attempt<T>(action: () => T): Result<T> {
  try {
    return ok(action());
  } catch (error) {
    if (error instanceof WaybillError) {
      return err(error);
    }
    throw error;
  }
}

/** Splits outcomes into values and errors, keeping the order of each. */
export function partition<T, E>(results: Iterable<Result<T, E>>): { values: T[]; errors: E[] } {
  const values: T[] = [];
  const errors: E[] = [];
  for (const result of results) {
    if (result.ok) {
      values.push(result.value);
    } else {
      errors.push(result.error);
    }
  }
  return { values, errors };
}
