import assert from "node:assert/strict";
import { test } from "node:test";
import {
  charts,
  escaped,
  figures,
  page,
  readStatistics,
  type Statistics,
  written,
} from "../src/statistics";

const estimate = (value: number | null, n = 10) => ({
  value,
  low: value === null ? null : value - 0.1,
  high: value === null ? null : value + 0.1,
  n,
});

const statistics: Statistics = {
  schema: 2,
  rows: [
    {
      by: { model: "b" },
      figures: { "acceptance/shown": estimate(0.25), "latency_ms/median": estimate(120) },
    },
    { by: { model: "a<script>" }, figures: { "acceptance/shown": estimate(0.5) } },
    { by: { model: "b", language: "python" }, figures: { "acceptance/shown": estimate(0.25) } },
    {
      by: { model: "b", day: "2026-11-21" },
      figures: {
        "acceptance/shown": estimate(0.25),
        "retained@300": estimate(0.7),
        "retained@30": estimate(0.8),
      },
    },
    { by: { model: "b", day: "2026-11-20" }, figures: { "acceptance/shown": estimate(null, 0) } },
    {
      by: { model: "a<script>", day: "2026-11-20" },
      figures: { "acceptance/shown": estimate(0.5) },
    },
  ],
  trial: {
    arms: [{ model: "b", shown: 20, accepted: 5, "acceptance/shown": estimate(0.25) }],
    differences: [{ first: "b", second: "a", difference: estimate(-0.05, 40), shown_needed: 321 }],
    strengths: { b: estimate(0.5) },
  },
};

test("a figure has its interval and its n", () => {
  assert.deepEqual(written("acceptance/shown", estimate(0.25)), {
    text: "25.0 %",
    more: "15.0 % to 35.0 %, n 10",
  });
  assert.deepEqual(written("latency_ms/median", { value: 120, low: null, high: null, n: 3 }), {
    text: "120 ms",
    more: "n 3",
  });
  assert.deepEqual(written("acceptance/shown", estimate(null, 0)), { text: "–", more: "n 0" });
  assert.deepEqual(written("acceptance/shown", undefined), { text: "–" });
});

test("figures are in tables with captions and headings, and names are no markup", () => {
  const html = figures(statistics);
  assert.ok(html.includes("<caption>Figures by model</caption>"));
  assert.ok(html.includes('<th scope="col">a&lt;script&gt;</th>'));
  assert.ok(!html.includes("<script"));
  assert.ok(html.includes("Retained after 30 s"));
  assert.ok(html.indexOf("Retained after 30 s") < html.indexOf("Retained after 300 s"));
  assert.ok(html.includes("321"));
  assert.ok(html.includes("−5.0 <small>−15.0 to +5.0, n 40</small>"));
});

test("charts draw acceptance and the shortest retention, day by day", () => {
  const drawn = charts(statistics.rows.filter((row) => row.by.day !== undefined));
  assert.deepEqual(
    drawn.map(({ title }) => title),
    ["Accepted of shown, by day", "Retained after 30 s, by day"],
  );
  assert.deepEqual(drawn[0]?.days, [1_795_132_800, 1_795_219_200]);
  assert.deepEqual(
    drawn[0]?.series.map(({ model, values }) => [model, values]),
    [
      ["a<script>", [0.5, null]],
      ["b", [null, 0.25]],
    ],
  );
});

test("an empty record says so", () => {
  assert.match(figures({ schema: 2, rows: [] }), /Nothing is recorded yet/);
});

test("what is not this page's format is refused with a sentence", () => {
  assert.throws(() => readStatistics("oops"), /not JSON/);
  assert.throws(
    () => readStatistics('{"schema": 1, "rows": []}'),
    /schema 1, and this extension reads schema 2/,
  );
  assert.throws(() => readStatistics("null"), /schema undefined/);
});

test("the page runs no script but its own", () => {
  const html = page({ figures: "", script: "s.js", style: "s.css", source: "https://here" });
  assert.ok(html.includes("default-src 'none'"));
  assert.ok(!html.includes("unsafe-inline"));
  assert.equal(html.match(/<script/g)?.length, 1);
});

test("escaping leaves nothing that HTML reads", () => {
  assert.equal(escaped(`<a href="'&`), "&lt;a href=&quot;&#39;&amp;");
});

test("how many completions the figures rest on, and how surely they were shown", () => {
  const html = figures({
    schema: 2,
    rows: [
      {
        by: { model: "a" },
        offered: 9,
        shown: { confirmed: 1, estimated: 6 },
        accepted: 2,
        figures: {},
      },
    ],
  });
  assert.ok(html.includes('<th scope="row">Offered</th><td>9</td>'), html);
  assert.ok(html.includes('<th scope="row">Shown</th><td>1 confirmed, 6 estimated</td>'), html);
});

test("a trial says when it is clear, and when its models are not named", () => {
  const difference = {
    first: "A",
    second: "B",
    difference: estimate(0.2),
    clear: true,
    shown_needed: null,
  };
  const html = figures({
    schema: 2,
    rows: [],
    trial: { hidden: true, arms: [], differences: [difference] },
  });
  assert.match(html, /none: it is clear/);
  assert.match(html, /not named before it ends/);
  const open = (value: number) =>
    figures({
      schema: 2,
      rows: [],
      trial: {
        arms: [],
        differences: [{ ...difference, difference: estimate(value), clear: false }],
      },
    });
  assert.match(open(0), /no difference to be found/);
  assert.match(open(0.2), /none, but more clusters/);
});
