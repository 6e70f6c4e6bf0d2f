import { describe, expect, it } from "vitest";
import { ParseError, ValidationError } from "../src/errors";
import {
  isObject,
  nested,
  optional,
  requireArray,
  requireInteger,
  requireObject,
  requireOneOf,
  requireRange,
  requireString,
  requireText,
} from "../src/guards";
import { attempt, err, ok, partition } from "../src/result";
import { failure } from "./support";

describe("guards", () => {
  it("tells objects from arrays, null and scalars", () => {
    expect(isObject({})).toBe(true);
    expect(isObject([])).toBe(false);
    expect(isObject(null)).toBe(false);
    expect(isObject("x")).toBe(false);
  });

  it("requires objects", () => {
    expect(requireObject({ a: 1 }, "f")).toEqual({ a: 1 });
    expect(failure(() => requireObject([], "f"))).toBe("ValidationError: f: must be an object");
  });

  it("requires strings", () => {
    expect(requireString(" a ", "f")).toBe(" a ");
    expect(failure(() => requireString(1, "f"))).toBe("ValidationError: f: must be a string");
  });

  it("trims text and refuses blanks", () => {
    expect(requireText(" a ", "f")).toBe("a");
    expect(failure(() => requireText("  ", "f"))).toBe("ValidationError: f: must not be empty");
  });

  it.each([1.5, "1", Number.NaN, 2 ** 53])("refuses %s as an integer", (value) => {
    expect(failure(() => requireInteger(value, "f"))).toBe("ValidationError: f: must be an integer");
  });

  it("checks ranges including both ends", () => {
    expect(requireRange(1, "f", 1, 3)).toBe(1);
    expect(requireRange(3, "f", 1, 3)).toBe(3);
    const message = "ValidationError: f: must be between 1 and 3";
    expect(failure(() => requireRange(0, "f", 1, 3))).toBe(message);
    expect(failure(() => requireRange(4, "f", 1, 3))).toBe(message);
  });

  it("checks enumerations", () => {
    expect(requireOneOf("b", "f", ["a", "b"])).toBe("b");
    expect(failure(() => requireOneOf("c", "f", ["a", "b"]))).toBe(
      "ValidationError: f: must be one of a, b",
    );
  });

  it("decodes arrays and names the bad element", () => {
    expect(requireArray(["a", "b"], "f", requireText)).toEqual(["a", "b"]);
    expect(failure(() => requireArray(["a", 2], "f", requireText))).toContain("f[1]");
    expect(failure(() => requireArray({}, "f", requireText))).toBe(
      "ValidationError: f: must be an array",
    );
  });

  it("prefixes validation errors only", () => {
    expect(nested("outer", () => 5)).toBe(5);
    expect(failure(() => nested("outer", () => requireText("", "inner")))).toBe(
      "ValidationError: outer.inner: must not be empty",
    );
    const parse = (): never => {
      throw new ParseError("bad");
    };
    expect(failure(() => nested("outer", parse))).toBe("ParseError: bad at 1:1");
  });

  it("skips missing members", () => {
    expect(optional(undefined, String)).toBeUndefined();
    expect(optional(null, String)).toBeUndefined();
    expect(optional(0, String)).toBe("0");
  });
});

describe("results", () => {
  it("captures library errors", () => {
    expect(attempt(() => 3)).toEqual({ ok: true, value: 3 });
    const error = new ValidationError("a", "b");
    const outcome = attempt(() => {
      throw error;
    });
    expect(outcome).toEqual({ ok: false, error });
  });

  it("lets bugs through", () => {
    const bug = (): never => {
      throw new TypeError("bug");
    };
    expect(() => attempt(bug)).toThrow(TypeError);
  });

  it("partitions in order", () => {
    const { values, errors } = partition([ok(1), err("a"), ok(2), err("b")]);
    expect(values).toEqual([1, 2]);
    expect(errors).toEqual(["a", "b"]);
  });
});
