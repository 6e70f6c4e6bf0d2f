import { describe, expect, it } from "vitest";
import {
  ConflictError,
  describeError,
  NotFoundError,
  ParseError,
  RatingError,
  StorageError,
  TransitionError,
  ValidationError,
  WaybillError,
} from "../src/errors";

describe("error hierarchy", () => {
  it.each([
    [new ValidationError("city", "bad"), { code: "validation", message: "city: bad", field: "city" }],
    [new ParseError("bad", 3, 7), { code: "parse", message: "bad at 3:7", line: 3, column: 7 }],
    [new RatingError("x", "no"), { code: "rating", message: "service x: no", service: "x" }],
    [
      new TransitionError("a", "b"),
      { code: "transition", message: "cannot go from a to b", from: "a", to: "b" },
    ],
    [
      new NotFoundError("box", "7"),
      { code: "not-found", message: "no box with key 7", kind: "box", key: "7" },
    ],
    [
      new ConflictError("k", 1, 2),
      { code: "conflict", message: "k is at version 2, expected 1", key: "k", expected: 1, actual: 2 },
    ],
    [new StorageError("a/b", "gone"), { code: "storage", message: "a/b: gone", path: "a/b" }],
  ])("%s serialises its facts", (error, json) => {
    expect(error).toBeInstanceOf(WaybillError);
    expect(error.toJSON()).toEqual(json);
  });

  it("names errors after their class", () => {
    expect(new RatingError("x", "no").name).toBe("RatingError");
    expect(new ParseError("bad").name).toBe("ParseError");
  });

  it("has no details by default", () => {
    class PlainError extends WaybillError {
      readonly code = "rating";
    }
    expect(new PlainError("plain").details()).toEqual({});
    expect(new PlainError("plain").toJSON()).toEqual({ code: "rating", message: "plain" });
  });

  it("keeps the cause of storage errors", () => {
    const cause = new Error("disk");
    expect(new StorageError("a", "b", { cause }).cause).toBe(cause);
  });

  it("prefixes field paths", () => {
    const error = new ValidationError("city", "bad").within("address");
    expect(error.field).toBe("address.city");
    expect(error.reason).toBe("bad");
  });

  it("moves parse errors to another line and keeps the column", () => {
    expect(new ParseError("bad", 1, 4).atLine(9).message).toBe("bad at 9:4");
    expect(new ParseError("bad").message).toBe("bad at 1:1");
  });

  it("describes whatever was thrown", () => {
    expect(describeError(new ParseError("bad"))).toBe("[parse] bad at 1:1");
    expect(describeError(new Error("plain"))).toBe("plain");
    expect(describeError(42)).toBe("42");
  });
});
