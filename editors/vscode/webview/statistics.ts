// The script of the statistics page: draws its charts and changes its span of time.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Chart } from "../src/statistics";
import "./statistics.css";

declare function acquireVsCodeApi(): { postMessage(message: unknown): void };

const editor = acquireVsCodeApi();

/** Height of a chart, in pixels. */
const HEIGHT = 240;

/**
 * The theme's colours for charts, and line patterns, so that no information is in colour alone. Orange and
 * yellow are too faint on white.
 */
const LINES = [
  { colour: "--vscode-charts-blue", dash: [] },
  { colour: "--vscode-charts-red", dash: [8, 4] },
  { colour: "--vscode-charts-green", dash: [2, 3] },
  { colour: "--vscode-charts-purple", dash: [10, 3, 2, 3] },
  { colour: "--vscode-charts-foreground", dash: [4, 4] },
];

let drawn: uPlot[] = [];

/** Draws every chart of the page anew, in the colours of the theme that is on. */
function draw(): void {
  for (const chart of drawn) {
    chart.destroy();
  }
  drawn = [...document.querySelectorAll<HTMLElement>("[data-chart]")].map((place) =>
    plot(place, JSON.parse(place.dataset.chart ?? "{}") as Chart),
  );
}

function plot(place: HTMLElement, chart: Chart): uPlot {
  const theme = getComputedStyle(document.body);
  const colour = (name: string) => theme.getPropertyValue(name).trim() || theme.color;
  const axis = {
    stroke: colour("--vscode-foreground"),
    grid: { stroke: colour("--vscode-charts-lines"), width: 0.5 },
    ticks: { stroke: colour("--vscode-charts-lines"), width: 0.5 },
  };
  const series: uPlot.Series[] = [{ value: "{YYYY}-{MM}-{DD}" }];
  const bands: uPlot.Band[] = [];
  const data: (number | null)[][] = [chart.days];
  chart.series.forEach(({ model, values, low, high }, index) => {
    const line = LINES[index % LINES.length] ?? { colour: "--vscode-foreground", dash: [] };
    const stroke = colour(line.colour);
    const first = series.length;
    const edge = { show: true, stroke: "transparent", points: { show: false } };
    series.push(
      {
        label: model,
        stroke,
        width: 2,
        dash: line.dash,
        points: { show: true, size: 7, stroke, fill: stroke },
        value: (_, value) => (value === null ? "–" : percent(value)),
      },
      { ...edge, label: `${model}, low`, class: "edge" },
      { ...edge, label: `${model}, high`, class: "edge" },
    );
    data.push(values, low, high);
    bands.push({ series: [first + 2, first + 1], fill: translucent(stroke) });
  });
  const day = 86_400;
  const [start = 0, end = 0] = [chart.days[0], chart.days.at(-1)];
  return new uPlot(
    {
      width: Math.max(320, place.clientWidth),
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      legend: { live: false },
      cursor: { drag: { x: false, y: false } },
      scales: {
        // A single day has a width too.
        x: { time: true, range: () => [start - day / 2, end + day / 2] },
        y: { range: [0, 1] },
      },
      axes: [
        {
          ...axis,
          space: 70,
          incrs: [1, 2, 7, 14, 30, 90].map((days) => days * day),
          values: "{YYYY}-{MM}-{DD}",
        },
        { ...axis, size: 60, values: (_, ticks) => ticks.map(percent) },
      ],
      series,
      bands,
    },
    data as uPlot.AlignedData,
    place,
  );
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** A colour of the theme (six hex digits, or the form that the browser computes) made faint. */
function translucent(colour: string): string {
  return `color-mix(in srgb, ${colour} 12%, transparent)`;
}

const span = document.querySelector<HTMLSelectElement>("#span");
const said = document.querySelector<HTMLElement>("#said");
const figures = document.querySelector<HTMLElement>("#figures");

span?.addEventListener("change", () => {
  if (said !== null) {
    said.textContent = "Computing…";
  }
  editor.postMessage({ days: Number(span.value) });
});

window.addEventListener(
  "message",
  (event: MessageEvent<{ figures?: string; problem?: string }>) => {
    if (figures === null || said === null) {
      return;
    }
    const { figures: html, problem } = event.data;
    if (html !== undefined) {
      // Written and escaped by the extension; the page runs no script from it.
      figures.innerHTML = html;
      draw();
    }
    said.textContent = problem ?? `Now shown: ${span?.selectedOptions[0]?.text ?? "all of it"}`;
  },
);

window.addEventListener("resize", draw);
// The editor changes the body's classes and the root's colours when another theme is chosen.
new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["style"] });
new MutationObserver(draw).observe(document.body, { attributeFilter: ["class"] });
draw();
