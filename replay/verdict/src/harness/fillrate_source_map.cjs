// Source maps: which line of a source a position of the text that runs came from.
//
// A compiler or a framework's transformer leaves the map at the end of the text that it makes, as
// a comment, or in a file beside it.  node:module's SourceMap maps one position at a time, while
// line coverage needs all of them.

"use strict";

const fs = require("fs");
const path = require("path");
const { fileURLToPath } = require("url");

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const COMMENT = /^[ \t]*\/[/*][#@]\s*sourceMappingURL=(\S+)/gm;
const INLINE = /^data:application\/json[^,]*?(;base64)?,(.*)$/;

const { parse } = JSON;
const bytesOf = Buffer.from;
const { readFileSync } = fs;

/** Decode one group of a map's mappings, like "AACA", into numbers. */
function decodeSegment(text) {
  const values = [];
  let value = 0;
  let shift = 0;
  for (const character of text) {
    const digit = BASE64.indexOf(character);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit < 32) {
      values.push(value & 1 ? -(value >> 1) : value >> 1);
      value = shift = 0;
    }
  }
  return values;
}

/**
 * Decode a map's mappings: for each line of the generated text its segments, each the column, the
 * source's index, and the 0-based line and column in the source.  Segments without a source are
 * left out.
 */
function decodeMappings({ mappings }) {
  let [source, line, column] = [0, 0, 0];
  return mappings.split(";").map((group) => {
    let generated = 0;
    const segments = [];
    for (const text of group ? group.split(",") : []) {
      const [step, sourceStep, lineStep, columnStep] = decodeSegment(text);
      generated += step;
      if (sourceStep === undefined) continue;
      source += sourceStep;
      line += lineStep;
      column += columnStep;
      segments.push([generated, source, line, column]);
    }
    return segments.sort((a, b) => a[0] - b[0]);
  });
}

/** Return the last segment of a line at or before a column. */
function segmentIn(decoded, line, column) {
  return (decoded[line] ?? []).findLast(([start]) => start <= column);
}

/**
 * Return which 0-based lines of the source a part of the generated text came from, as the first
 * and the last, or undefined.  Positions have a 1-based line and a column.
 */
function sourceLines(decoded, { start, end }) {
  let from = segmentIn(decoded, start.line - 1, start.column) ?? decoded[start.line - 1]?.[0];
  for (let line = start.line; !from && line < end.line; line += 1) from = decoded[line]?.[0];
  // A closing bracket on a line of its own has no segment.
  let to = segmentIn(decoded, end.line - 1, end.column);
  for (let line = end.line - 2; !to && line >= start.line - 1; line -= 1) to = decoded[line]?.at(-1);
  return from && [from[2], Math.max(from[2], to?.[2] ?? from[2])];
}

/** Return the map that a text names in its last comment of that kind, or undefined. */
function mapOf(text, file) {
  const url = [...text.matchAll(COMMENT)].at(-1)?.[1];
  if (!url) return undefined;
  try {
    const inline = INLINE.exec(url);
    if (inline) return parse(inline[1] ? bytesOf(inline[2], "base64").toString("utf8") : decodeURIComponent(inline[2]));
    return parse(readFileSync(path.resolve(path.dirname(file), decodeURIComponent(url)), "utf8"));
  } catch {
    // A package that was published without its maps.
    return undefined;
  }
}

/** List a map's sources as absolute paths; `file` is the file that it maps. */
function sourcesOf({ sources, sourceRoot }, file) {
  return sources.map((source) => {
    const name = `${sourceRoot ? `${sourceRoot.replace(/\/$/, "")}/` : ""}${source ?? ""}`;
    if (name.startsWith("file:")) return fileURLToPath(name);
    return path.resolve(path.dirname(file), name);
  });
}

/** List where a text's lines begin. */
function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** List where a text that is its own source has code: pairs of offset and 1-based line. */
function plainOffsets(text, start = 0) {
  const starts = lineStarts(text);
  return starts.flatMap((begin, index) => {
    const end = starts[index + 1] ?? text.length;
    const blank = /^\s*/.exec(text.slice(begin, end))[0].length;
    return begin + blank < end ? [[Math.max(begin + blank, start), index + 1]] : [];
  });
}

/**
 * List where in a generated text each line of a source has code: pairs of offset and 1-based line,
 * in ascending order of offset.  `start` is the offset on the first line at which its columns
 * begin.
 */
function mappedOffsets(text, map, source = 0, start = 0) {
  const starts = lineStarts(text);
  const offsets = [];
  decodeMappings(map).forEach((segments, generated) => {
    const begin = starts[generated] + (generated === 0 ? start : 0);
    for (const [column, index, line] of segments) {
      if (index === source) offsets.push([begin + column, line + 1]);
    }
  });
  offsets.sort((a, b) => a[0] - b[0]);
  // A piece of white space is mapped to the line before it, yet it may be behind the end of that
  // line's block: it would count as run when it isn't.
  return offsets.filter(([offset], index) => text.slice(offset, offsets[index + 1]?.[0]).trim());
}

module.exports = { decodeMappings, mapOf, mappedOffsets, plainOffsets, sourceLines, sourcesOf };
