import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { Event } from "../src/protocol";
import { ACCEPT_MS, type Candidate, type Clock, characters, SETTLE_MS, Shown } from "../src/shown";

/** A clock that a test moves on. */
class Played implements Clock {
  private time = 0;
  private timers: { at: number; then: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, then: () => void): () => void {
    const timer = { at: this.time + ms, then };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((one) => one !== timer);
    };
  }

  pass(ms: number): void {
    this.time += ms;
    const due = this.timers.filter((timer) => timer.at <= this.time);
    this.timers = this.timers.filter((timer) => timer.at > this.time);
    for (const timer of due) {
      timer.then();
    }
  }
}

let clock: Played;
let events: Event[];
let shown: Shown;

beforeEach(() => {
  clock = new Played();
  events = [];
  shown = new Shown((event) => events.push(event), clock);
});

/** The place of the mark `$0` in a text. */
function cursor(text: string): number {
  const offset = text.indexOf("$0");
  assert.notEqual(offset, -1, "the fixture has a cursor");
  return offset;
}

/** Offers candidates at the cursor; gives its offset. */
function offer(text: string, ...texts: [string, ...string[]]): number {
  const offset = cursor(text);
  const candidates = texts.map(
    (text, candidate): Candidate => ({ completion: "c", candidate, text }),
  );
  const [first, ...others] = candidates;
  assert.ok(first);
  shown.offered({ document: "d", offset, candidates: [first, ...others] });
  return offset;
}

/** Types a text at an offset; the cursor follows. */
function type(offset: number, text: string): number {
  shown.edited("d", [{ offset, removed: 0, text }]);
  shown.moved("d", offset + text.length);
  return offset + text.length;
}

const estimated = { completion: "c", candidate: 0, certainty: "estimated" } as const;

test("a completion that is there long enough to be seen is shown, and its end says for how long", () => {
  const at = offer("total = $0", "sum(values)");
  clock.pass(SETTLE_MS);
  assert.deepEqual(events, [{ ...estimated, event: "shown" }]);
  clock.pass(700);
  type(at, "x");
  assert.deepEqual(events[1], { ...estimated, event: "shown", shownMs: SETTLE_MS + 700 });
  assert.equal(shown.current, undefined);
});

test("what is gone at once was not shown", () => {
  const at = offer("total = $0", "sum(values)");
  clock.pass(SETTLE_MS - 1);
  type(at, "x");
  clock.pass(1000);
  assert.deepEqual(events, []);
});

test("it stays while its beginning is typed", () => {
  let at = offer("total = $0", "sum(values)");
  clock.pass(100);
  for (const key of "sum") {
    at = type(at, key);
    clock.pass(100);
  }
  assert.equal(shown.current?.remaining, "(values)");
  shown.dismissed();
  assert.deepEqual(events.at(-1), { ...estimated, event: "dismissed", shownMs: 400 });
});

test("the same completion, answered again while it is typed, is shown once", () => {
  const at = offer("total = $0", "sum(values)");
  clock.pass(100);
  type(at, "s");
  offer("total = s$0", "um(values)");
  clock.pass(100);
  assert.equal(events.filter(({ event }) => event === "shown").length, 1);
});

test("another answer ends it", () => {
  offer("total = $0", "sum(values)");
  clock.pass(100);
  shown.offered({
    document: "d",
    offset: 8,
    candidates: [{ completion: "new", candidate: 0, text: "len(values)" }],
  });
  clock.pass(100);
  assert.deepEqual(events, [
    { ...estimated, event: "shown" },
    { ...estimated, event: "shown", shownMs: 100 },
    { ...estimated, completion: "new", event: "shown" },
  ]);
});

test("moving the cursor away ends it, and edits of other documents don't", () => {
  offer("total = $0", "sum(values)");
  clock.pass(100);
  shown.edited("other", [{ offset: 0, removed: 0, text: "x" }]);
  shown.moved("other", 1);
  assert.ok(shown.current);
  shown.moved("d", undefined);
  assert.equal(shown.current, undefined);
  assert.equal(events.at(-1)?.shownMs, 100);
});

test("an accept carries how long it was shown, and nothing else is sent", () => {
  const at = offer("total = $0", "sum(values)");
  clock.pass(900);
  // The editor inserts the text, then runs the command.
  type(at, "sum(values)");
  clock.pass(5);
  assert.deepEqual(shown.accepted({ completion: "c", candidate: 0 }), {
    completion: "c",
    candidate: 0,
    certainty: "estimated",
    shownMs: 905,
  });
  clock.pass(2 * ACCEPT_MS);
  assert.deepEqual(events, [{ ...estimated, event: "shown" }]);
});

test("what was typed to its end was shown as long as something of it was left", () => {
  let at = offer("total = $0", "ab");
  clock.pass(100);
  for (const key of "ab") {
    at = type(at, key);
  }
  clock.pass(ACCEPT_MS);
  assert.deepEqual(events.at(-1), { ...estimated, event: "shown", shownMs: 100 });
});

test("a part that is accepted leaves the rest shown", () => {
  const at = offer("total = $0", "sum(größe)");
  clock.pass(100);
  const before = shown.current;
  assert.ok(before);
  type(at, "sum");
  shown.partlyAccepted(before.candidate, characters("sum"), "word");
  assert.deepEqual(events.at(-1), {
    completion: "c",
    candidate: 0,
    event: "partlyAccepted",
    certainty: "estimated",
    characters: 3,
    unit: "word",
    shownMs: 100,
  });
  assert.equal(shown.current?.remaining, "(größe)");
});

test("candidates take turns, both ways around", () => {
  offer("total = $0", "sum(values)", "len(values)", "0");
  clock.pass(100);
  shown.turned(-1);
  clock.pass(100);
  shown.turned(1);
  clock.pass(100);
  assert.deepEqual(
    events.map(({ candidate, shownMs }) => [candidate, shownMs]),
    [
      [0, undefined],
      [0, 100],
      [2, undefined],
      [2, 100],
      [0, undefined],
    ],
  );
});

test("candidates that don't begin with what was typed take no turn", () => {
  const at = offer("total = $0", "sum(values)", "len(values)", "set()");
  clock.pass(100);
  type(at, "s");
  shown.turned(1);
  assert.equal(shown.current?.candidate.candidate, 2);
  assert.equal(shown.current?.remaining, "et()");
});

test("asking for all candidates goes on with the one that is shown", () => {
  offer("total = $0", "len(values)");
  clock.pass(100);
  shown.offered({
    document: "d",
    offset: 8,
    candidates: [
      { completion: "all", candidate: 0, text: "sum(values)" },
      { completion: "all", candidate: 1, text: "len(values)" },
    ],
  });
  assert.equal(shown.current?.candidate.candidate, 1);
});

test("Escape is no dismissal where nothing of ours is shown", () => {
  assert.equal(shown.dismissed(), false);
  assert.deepEqual(events, []);
});

test("characters are counted as a person counts letters, not as UTF-16 does", () => {
  assert.equal(characters("a😀é"), 3);
});
