/**
 * The statistics page: what `fillrate telemetry stats --json` says, as tables and charts. Every
 * figure has its interval and its n, and every chart's figures are in a table too.
 */

/** A figure with its 95 % interval. */
export interface Estimate {
  value: number | null;
  low: number | null;
  high: number | null;
  /** Number of observations. */
  n: number;
}

/** Figures of one group. */
export interface Row {
  by: { model?: string; language?: string; day?: string; [more: string]: string | undefined };
  /** Number of offered completions; repeats at the same position count once. */
  offered?: number;
  /** Number of shown completions, by certainty. */
  shown?: Record<string, number>;
  /** Number of completions that were accepted whole. */
  accepted?: number;
  figures: Record<string, Estimate | null>;
}

/** One model in a trial. */
export interface Arm {
  model: string;
  shown: number;
  accepted: number;
  [figure: string]: unknown;
}

/** The difference of two models in a trial: the first's figure less the second's. */
export interface Difference {
  first: string;
  second: string;
  /** Name of the compared figure; `acceptance/shown` if absent. */
  variant?: string;
  difference: Estimate;
  /** True if the interval excludes 0. */
  clear?: boolean;
  /** Estimated number of further shown completions for a clear result; `null` if not estimated. */
  shown_needed?: number | null;
}

/** Output of `fillrate telemetry stats --json`. */
export interface Statistics {
  schema: number;
  rows: Row[];
  trial?: null | {
    /** True if the models are not named, since the trial is blind and still running. */
    hidden?: boolean;
    arms: Arm[];
    differences: Difference[];
    strengths?: Record<string, Estimate> | null;
  };
}

/** The version of the format that this page reads. */
export const SCHEMA = 2;

/** Data of a chart: the figure of each model on each day. */
export interface Chart {
  title: string;
  /** Days in seconds since 1970, ascending. */
  days: number[];
  series: {
    model: string;
    values: (number | null)[];
    low: (number | null)[];
    high: (number | null)[];
  }[];
}

/** The spans of time that can be chosen, in days; 0 is all of it. */
export const SPANS = [0, 7, 30, 90] as const;

/**
 * Reads what the program printed.
 *
 * @throws {Error} With a sentence for the person, where it is not what this page reads.
 */
export function readStatistics(output: string): Statistics {
  let read: unknown;
  try {
    read = JSON.parse(output);
  } catch {
    throw new Error("fillrate telemetry stats printed something that is not JSON.");
  }
  const statistics = read as Partial<Statistics> | null;
  if (statistics?.schema !== SCHEMA || !Array.isArray(statistics.rows)) {
    throw new Error(
      `fillrate telemetry stats printed statistics of schema ${String(statistics?.schema)}, ` +
        `and this extension reads schema ${SCHEMA}. Install the versions that belong together.`,
    );
  }
  return statistics as Statistics;
}

/** The page's changing part, as HTML. */
export function figures(statistics: Statistics): string {
  const { rows } = statistics;
  const byModel = rows.filter((row) => isBy(row, ["model"]));
  const byLanguage = rows.filter((row) => isBy(row, ["model", "language"]));
  const byDay = rows.filter((row) => isBy(row, ["model", "day"]));
  if (byModel.length === 0 && !statistics.trial) {
    return (
      "<p>Nothing is recorded yet for this span of time. Completions are recorded as they are " +
      "shown, accepted or dismissed.</p>"
    );
  }
  const sections = [
    section("By model", [modelTable("Figures by model", byModel)]),
    section("Over time", [
      ...charts(byDay).map(chartFigure),
      byDay.length === 0
        ? "<p>There are no figures by day.</p>"
        : table("Figures by model and day", ["day", "model"], byDay),
    ]),
  ];
  if (byLanguage.length > 0) {
    sections.push(
      section("By language", [
        table("Figures by language and model", ["language", "model"], byLanguage),
      ]),
    );
  }
  if (statistics.trial) {
    sections.push(section("Trial", trial(statistics.trial)));
  }
  return sections.join("\n");
}

/** The charts that there are figures for: acceptance, and retention at the shortest horizon. */
export function charts(byDay: Row[]): Chart[] {
  const retained = [...new Set(byDay.flatMap((row) => Object.keys(row.figures)))]
    .filter((name) => name.startsWith("retained@"))
    .sort((a, b) => Number(a.slice(9)) - Number(b.slice(9)));
  const days = [...new Set(byDay.map((row) => row.by.day ?? ""))].sort();
  const models = [...new Set(byDay.map((row) => row.by.model ?? ""))].sort();
  return ["acceptance/shown", ...retained.slice(0, 1)].flatMap((figure) => {
    const series = models.map((model) => {
      const estimates = days.map(
        (day) =>
          byDay.find((row) => row.by.model === model && row.by.day === day)?.figures[figure] ??
          undefined,
      );
      return {
        model,
        values: estimates.map((estimate) => estimate?.value ?? null),
        low: estimates.map((estimate) => estimate?.low ?? null),
        high: estimates.map((estimate) => estimate?.high ?? null),
      };
    });
    const seconds = days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1000);
    const drawn = series.some(({ values }) => values.some((value) => value !== null));
    return drawn && seconds.every(Number.isFinite)
      ? [{ title: `${named(figure)}, by day`, days: seconds, series }]
      : [];
  });
}

/** A cell of a table. */
export interface Cell {
  text: string;
  /** The smaller line below it: an interval and an n. */
  more?: string;
}

/** A figure with its interval and n, as a person reads it. */
export function written(figure: string, estimate: Estimate | null | undefined): Cell {
  return isTime(figure)
    ? cell(estimate, (value) => `${value.toFixed(0)} ms`)
    : cell(estimate, (value) => `${(100 * value).toFixed(1)} %`);
}

function cell(estimate: Estimate | null | undefined, show: (value: number) => string): Cell {
  if (!estimate) {
    return { text: "–" };
  }
  const { value, low, high, n } = estimate;
  if (value === null) {
    return { text: "–", more: `n ${n}` };
  }
  const interval = low === null || high === null ? "" : `${show(low)} to ${show(high)}, `;
  return { text: show(value), more: `${interval}n ${n}` };
}

/** The whole page. */
export function page(parts: {
  /** The page's changing part, as HTML. */
  figures: string;
  /** Addresses of the page's script and style sheet, and the source allowed for them. */
  script: string;
  style: string;
  source: string;
}): string {
  const options = SPANS.map(
    (days) => `<option value="${days}">${days === 0 ? "All of it" : `Last ${days} days`}</option>`,
  ).join("");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${escaped(parts.source)}; script-src ${escaped(parts.source)};">
<link rel="stylesheet" href="${escaped(parts.style)}">
<title>Fillrate: statistics</title>
</head>
<body>
<main>
<h1>What you accept</h1>
<p>From the record on this machine, which holds no code unless you said so. Each figure has
its 95 % interval and the number of observations, n. In VS Code, what was shown is
estimated.</p>
<p><label for="span">Span of time</label> <select id="span">${options}</select></p>
<p id="said" role="status"></p>
<div id="figures">${parts.figures}</div>
</main>
<script src="${escaped(parts.script)}"></script>
</body>
</html>
`;
}

/** Text that is safe in HTML, in attributes too. */
export function escaped(text: string): string {
  return text.replace(
    /[&<>"']/g,
    (letter) =>
      ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[letter] ?? letter,
  );
}

/** Names of figures, in the order of the page. */
const NAMES: Record<string, string> = {
  "acceptance/shown": "Accepted of shown",
  "acceptance/pairs": "Accepted of pairs shown",
  "acceptance/read": "Accepted of read (shown for 750 ms)",
  "acceptance/chars": "Accepted of read, by characters",
  retained: "Retained",
  "still-in-code": "Still in code",
  "completed-code": "Completed code",
  "latency_ms/median": "Latency, median",
  "latency_ms/p90": "Latency, 90th percentile",
};

/** A figure's name as a person reads it. */
function named(figure: string): string {
  const [kind = figure, seconds] = figure.split("@");
  const name = NAMES[kind] ?? kind;
  return seconds === undefined ? name : `${name} after ${seconds} s`;
}

function isTime(figure: string): boolean {
  return figure.startsWith("latency_ms");
}

function isBy(row: Row, keys: string[]): boolean {
  const has = Object.keys(row.by).filter((key) => row.by[key] !== undefined);
  return has.length === keys.length && keys.every((key) => has.includes(key));
}

function section(title: string, parts: string[]): string {
  return `<section><h2>${escaped(title)}</h2>\n${parts.join("\n")}\n</section>`;
}

/** A table of models, with a row for each figure, since there are more figures than models. */
function modelTable(caption: string, rows: Row[]): string {
  const sorted = [...rows].sort((a, b) => (a.by.model ?? "").localeCompare(b.by.model ?? ""));
  return htmlTable(
    caption,
    ["Figure", ...sorted.map((row) => row.by.model ?? "")],
    [
      ...counts(sorted),
      ...figureNames(rows).map((name) => [
        { text: named(name) },
        ...sorted.map((row) => written(name, row.figures[name])),
      ]),
    ],
    1,
  );
}

/** The number of completions behind the figures, in rows; none if it is unknown. */
function counts(rows: Row[]): Cell[][] {
  if (rows.some((row) => row.offered === undefined)) {
    return [];
  }
  const shown = ({ shown = {} }: Row) =>
    Object.entries(shown)
      .map(([certainty, count]) => `${count} ${certainty}`)
      .join(", ") || "0";
  return [
    [{ text: "Offered" }, ...rows.map((row) => ({ text: String(row.offered ?? 0) }))],
    [{ text: "Shown" }, ...rows.map((row) => ({ text: shown(row) }))],
    [{ text: "Accepted" }, ...rows.map((row) => ({ text: String(row.accepted ?? 0) }))],
  ];
}

/** A table of rows, with a column for each key and each figure that any of them has. */
function table(caption: string, keys: ("model" | "language" | "day")[], rows: Row[]): string {
  const columns = figureNames(rows);
  const titles = { model: "Model", language: "Language", day: "Day" };
  const place = (row: Row) => keys.map((key) => row.by[key] ?? "").join("\0");
  const sorted = [...rows].sort((a, b) => place(a).localeCompare(place(b)));
  return htmlTable(
    caption,
    [...keys.map((key) => titles[key]), ...columns.map(named)],
    sorted.map((row) => [
      ...keys.map((key) => ({ text: row.by[key] ?? "" })),
      ...columns.map((column) => written(column, row.figures[column])),
    ]),
    keys.length,
  );
}

/** The figures that any of the rows has, in the order of {@link NAMES}. */
function figureNames(rows: Row[]): string[] {
  return ordered(rows.flatMap((row) => Object.keys(row.figures)));
}

/** Names of figures, each once: known ones first, horizons ascending, then the others. */
function ordered(names: string[]): string[] {
  const known = Object.keys(NAMES);
  const place = (name: string): [number, number] => {
    const [kind = name, seconds = "0"] = name.split("@");
    const at = known.indexOf(kind);
    return [at === -1 ? known.length : at, Number(seconds)];
  };
  return [...new Set(names)].sort((a, b) => {
    const [first, second] = [place(a), place(b)];
    return first[0] - second[0] || first[1] - second[1] || a.localeCompare(b);
  });
}

/** A table whose first cells in each row are headings. Wide tables scroll, by keyboard too. */
function htmlTable(caption: string, head: string[], rows: Cell[][], headings: number): string {
  const titles = head.map((title) => `<th scope="col">${escaped(title)}</th>`).join("");
  const body = rows.map((row) => {
    const cells = row.map(({ text, more }, place) => {
      const small = more === undefined ? "" : ` <small>${escaped(more)}</small>`;
      return place < headings
        ? `<th scope="row">${escaped(text)}</th>`
        : `<td>${escaped(text)}${small}</td>`;
    });
    return `<tr>${cells.join("")}</tr>`;
  });
  const name = escaped(caption);
  return `<div class="scroll" role="region" aria-label="${name}" tabindex="0">
<table><caption>${name}</caption>
<thead><tr>${titles}</tr></thead>
<tbody>
${body.join("\n")}
</tbody></table></div>`;
}

function chartFigure(chart: Chart): string {
  const models = chart.series.map(({ model }) => model).join(", ");
  const label = `Chart: ${chart.title}, for ${models}. Its figures are in the table that follows.`;
  return `<figure role="img" aria-label="${escaped(label)}">
<figcaption aria-hidden="true">${escaped(chart.title)}</figcaption>
<div class="chart" aria-hidden="true" data-chart="${escaped(JSON.stringify(chart))}"></div>
</figure>`;
}

function trial(of: NonNullable<Statistics["trial"]>): string[] {
  const names = ordered(
    of.arms.flatMap((arm) => Object.keys(arm).filter((key) => isEstimate(arm[key]))),
  );
  const parts = [
    ...(of.hidden === true
      ? ["<p>The trial is blind and goes on: its models are not named before it ends.</p>"]
      : []),
    htmlTable(
      "Models in the trial",
      ["Model", "Shown", "Accepted", ...names.map(named)],
      of.arms.map((arm) => [
        { text: arm.model },
        { text: String(arm.shown) },
        { text: String(arm.accepted) },
        ...names.map((name) => {
          const figure = arm[name];
          return written(name, isEstimate(figure) ? figure : null);
        }),
      ]),
      1,
    ),
  ];
  if (of.differences.length > 0) {
    parts.push(
      htmlTable(
        "Differences between the models, in percentage points",
        ["First", "Second", "Figure", "First less second", "More to be shown for a clear answer"],
        of.differences.map((row) => [
          { text: row.first },
          { text: row.second },
          { text: named(row.variant ?? "acceptance/shown") },
          cell(row.difference, points),
          { text: needed(row) },
        ]),
        2,
      ),
    );
  }
  const strengths = Object.entries(of.strengths ?? {});
  if (strengths.length > 0) {
    parts.push(
      htmlTable(
        "Strengths from your choices between pairs (Bradley–Terry)",
        ["Model", "Strength"],
        strengths.map(([model, estimate]) => [
          { text: model },
          cell(estimate, (value) => value.toFixed(2)),
        ]),
        1,
      ),
    );
  }
  return parts;
}

function isEstimate(value: unknown): value is Estimate {
  return typeof value === "object" && value !== null && "value" in value && "n" in value;
}

function needed(row: Difference): string {
  if (typeof row.shown_needed === "number") {
    return String(row.shown_needed);
  }
  if (row.clear === true) {
    return "none: it is clear";
  }
  return row.difference.value ? "none, but more clusters" : "no difference to be found";
}

/** A difference of shares in percentage points. */
function points(share: number): string {
  return `${share < 0 ? "−" : "+"}${Math.abs(100 * share).toFixed(1)}`;
}
