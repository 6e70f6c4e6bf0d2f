import { describe, expect, it } from "vitest";
import { ValidationError } from "../src/errors";
import { requireObject, requireText } from "../src/guards";
import { joinPath, MemoryFileSystem, normalisePath } from "../src/storage/files";
import { FileRepository, MemoryRepository, type Repository } from "../src/storage/repository";
import { failure } from "./support";

interface Box {
  readonly id: string;
  readonly colour: string;
}

function decodeBox(value: unknown): Box {
  const json = requireObject(value, "box");
  return { id: requireText(json.id, "id"), colour: requireText(json.colour, "colour") };
}

describe("paths", () => {
  it("normalises", () => {
    expect(normalisePath("/a//b/./c/../d")).toBe("a/b/d");
    expect(joinPath("a/", "b", "../c.json")).toBe("a/c.json");
    expect(failure(() => normalisePath("a/../../b"))).toBe("StorageError: a/../../b: leaves the root");
  });
});

describe("MemoryFileSystem", () => {
  it("reads, writes and removes", async () => {
    const files = new MemoryFileSystem({ "/a.txt": "one" });
    expect(await files.read("a.txt")).toBe("one");
    await files.write("b/c.txt", "two");
    expect(await files.exists("./b/c.txt")).toBe(true);
    await files.remove("b/c.txt");
    expect(await files.exists("b/c.txt")).toBe(false);
  });

  it("lists a folder in order", async () => {
    const files = new MemoryFileSystem({ "b/2": "", "b/1": "", "bc/3": "", a: "" });
    expect(await files.list("b")).toEqual(["b/1", "b/2"]);
    expect(await files.list("")).toEqual(["a", "b/1", "b/2", "bc/3"]);
  });

  it("complains about missing files and names", async () => {
    const files = new MemoryFileSystem();
    await expect(files.read("x")).rejects.toThrow("x: no such file");
    await expect(files.remove("x")).rejects.toThrow("x: no such file");
    await expect(files.write("/", "y")).rejects.toThrow("/: is not a file name");
  });
});

describe.each<[string, () => Repository<Box>]>([
  ["MemoryRepository", () => new MemoryRepository<Box>("box")],
  ["FileRepository", () => new FileRepository<Box>("box", new MemoryFileSystem(), "boxes", decodeBox)],
])("%s", (_, create) => {
  const red: Box = { id: "b/1", colour: "red" };
  const blue: Box = { id: "a", colour: "blue" };

  it("saves and finds", async () => {
    const boxes = create();
    expect(await boxes.find("b/1")).toBeUndefined();
    expect(await boxes.save(red, 0)).toBe(1);
    expect(await boxes.find("b/1")).toEqual({ entity: red, version: 1 });
    expect(await boxes.get("b/1")).toEqual({ entity: red, version: 1 });
  });

  it("counts versions", async () => {
    const boxes = create();
    await boxes.save(red, 0);
    expect(await boxes.save({ ...red, colour: "pink" }, 1)).toBe(2);
    expect((await boxes.get("b/1")).entity.colour).toBe("pink");
  });

  it("refuses stale saves", async () => {
    const boxes = create();
    await expect(boxes.save(red, 1)).rejects.toThrow("b/1 is at version 0, expected 1");
    await boxes.save(red, 0);
    await expect(boxes.save(red, 0)).rejects.toThrow("b/1 is at version 1, expected 0");
  });

  it("removes", async () => {
    const boxes = create();
    await boxes.save(red, 0);
    await boxes.remove("b/1");
    expect(await boxes.find("b/1")).toBeUndefined();
    await expect(boxes.remove("b/1")).rejects.toThrow("no box with key b/1");
    await expect(boxes.get("b/1")).rejects.toThrow("no box with key b/1");
  });

  it("lists by id and filters", async () => {
    const boxes = create();
    await boxes.save(red, 0);
    await boxes.save(blue, 0);
    expect(await boxes.list()).toEqual([blue, red]);
    expect(await boxes.list((box) => box.colour === "red")).toEqual([red]);
  });
});

describe("FileRepository files", () => {
  it("writes one readable file per entity", async () => {
    const files = new MemoryFileSystem();
    await new FileRepository<Box>("box", files, "boxes", decodeBox).save({ id: "b/1", colour: "red" }, 0);
    expect(await files.list("boxes")).toEqual(["boxes/b%2F1.json"]);
    expect(await files.read("boxes/b%2F1.json")).toBe(
      '{\n  "entity": {\n    "id": "b/1",\n    "colour": "red"\n  },\n  "version": 1\n}\n',
    );
  });

  it("orders by id, not by file name, and skips other files", async () => {
    const files = new MemoryFileSystem({ "boxes/README": "?" });
    const boxes = new FileRepository<Box>("box", files, "boxes", decodeBox);
    await boxes.save({ id: "a é", colour: "x" }, 0);
    await boxes.save({ id: "a-", colour: "y" }, 0);
    await boxes.save({ id: "a!", colour: "z" }, 0);
    expect((await boxes.list()).map((box) => box.id)).toEqual(["a é", "a!", "a-"]);
  });

  it.each(["{", "[]", '{"entity":{"id":"a"},"version":1}', '{"entity":{"id":"a","colour":"b"}}'])(
    "reports the unreadable file %s",
    async (content) => {
      const files = new MemoryFileSystem({ "boxes/a.json": content });
      const boxes = new FileRepository<Box>("box", files, "boxes", decodeBox);
      await expect(boxes.find("a")).rejects.toThrow("boxes/a.json: is not a valid box");
    },
  );

  it("keeps the cause", async () => {
    const files = new MemoryFileSystem({ "boxes/a.json": "[]" });
    const boxes = new FileRepository<Box>("box", files, "boxes", decodeBox);
    const error = await boxes.get("a").catch((reason: unknown) => reason);
    expect(error).toHaveProperty("cause", expect.any(ValidationError));
  });
});
