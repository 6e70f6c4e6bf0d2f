import { ValidationError } from "./errors";

/** A decoded JSON object whose members have not been looked at yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function requireObject(value: unknown, field: string): JsonObject {
  if (!isObject(value)) {
    throw new ValidationError(field, "must be an object");
  }
  return value;
}

export function requireString(value: unknown, field: string): string {
  if (typeof value !== "string") {
    throw new ValidationError(field, "must be a string");
  }
  return value;
}

/** A string with something other than white space in it; the result is trimmed. */
export function requireText(value: unknown, field: string): string {
  const text = requireString(value, field).trim();
  if (text === "") {
    throw new ValidationError(field, "must not be empty");
  }
  return text;
}

export function requireInteger(value: unknown, field: string): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) {
    throw new ValidationError(field, "must be an integer");
  }
  return value;
}

/** An integer between `min` and `max`, both included. */
export function requireRange(value: unknown, field: string, min: number, max: number): number {
  const number = requireInteger(value, field);
  if (number < min || number > max) {
    throw new ValidationError(field, `must be between ${min} and ${max}`);
  }
  return number;
}

export function requireOneOf<T extends string>(
  value: unknown,
  field: string,
  allowed: readonly T[],
): T {
  const match = allowed.find((candidate) => candidate === value);
  if (match === undefined) {
    throw new ValidationError(field, `must be one of ${allowed.join(", ")}`);
  }
  return match;
}

/** Decodes every element, naming its position in the errors. */
export function requireArray<T>(
  value: unknown,
  field: string,
  decode: (element: unknown, field: string) => T,
): T[] {
  if (!Array.isArray(value)) {
    throw new ValidationError(field, "must be an array");
  }
  return value.map((element: unknown, index) => decode(element, `${field}[${index}]`));
}

/** Runs `decode` for a nested member and prefixes the field path of its complaints. */
export function nested<T>(field: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof ValidationError) {
      throw error.within(field);
    }
    throw error;
  }
}

/** Applies `decode` unless the member is missing or null. */
export function optional<T>(value: unknown, decode: (value: unknown) => T): T | undefined {
  return value === undefined || value === null ? undefined : decode(value);
}
