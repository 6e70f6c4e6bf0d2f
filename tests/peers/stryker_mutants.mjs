// Holds mutants of TypeScript files against those of Stryker's mutators that do the same.
//
// Reads {"files": [{"path", "text", "mutants": [{"operator", "start", "end", "replacement"}]}]} on
// standard input, places in bytes, and writes {"equal", "spelling", "ours", "theirs", "differences":
// [{"path", "line", "whose", "class", "change"}]}. Two mutants are the same if their whole syntax
// trees are; parentheses, quotes and the grouping of connectors that are the same are no part of
// these. A difference that no rule explains is of the class "unknown". The argument is the folder in
// which Stryker is installed.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const modules = join(process.argv[2], "node_modules");
const instrumenter = join(modules, "@stryker-mutator/instrumenter/package.json");
const require = createRequire(instrumenter);
const { Instrumenter } = await import(
  pathToFileURL(join(modules, "@stryker-mutator/instrumenter/dist/src/index.js"))
);
const { parse } = require("@babel/parser");

const SHARED = [
  "ArithmeticOperator",
  "AssignmentOperator",
  "BooleanLiteral",
  "EqualityOperator",
  "LogicalOperator",
  "StringLiteral",
  "UnaryOperator",
  "UpdateOperator",
];

// Which words stand in place of others is no difference of operators.
const FILLER = "Stryker was here!";
const OURS = "mutant";

// It logs nothing, whatever it is asked to log.
const silent = new Proxy({}, { get: (_, name) => (name.startsWith("is") ? () => false : () => {}) });

function tree(text, path) {
  const plugins = ["typescript", "decorators", ...(path.endsWith("x") ? ["jsx"] : [])];
  return parse(text, { sourceType: "module", plugins }).program;
}

const PLACES = new Set(["start", "end", "loc", "extra", "leadingComments", "trailingComments", "innerComments"]);

/** The operands of connectors that are the same, however grouped. */
function operands(node, operator) {
  return node.type === "LogicalExpression" && node.operator === operator
    ? [...operands(node.left, operator), ...operands(node.right, operator)]
    : [node];
}

/** A tree as text, without places, parentheses and comments. */
function shape(node) {
  return JSON.stringify(node, (key, value) => {
    if (PLACES.has(key)) return undefined;
    if (value?.type !== "LogicalExpression") return value;
    const { type, operator } = value;
    return { type: `${type}s`, operator, operands: operands(value, operator) };
  });
}

/** The smallest part in which two trees differ, with what is around it, outermost first. */
function change(before, after, around = []) {
  const isNode = (value) => value !== null && typeof value === "object";
  if (!isNode(before) || !isNode(after) || before.type !== after.type) {
    return { around, before, after };
  }
  const keys = Object.keys(before).filter(
    (key) => !PLACES.has(key) && shape(before[key]) !== shape(after[key]),
  );
  const [key] = keys;
  if (keys.length !== 1 || !isNode(before[key]) || !isNode(after[key])) {
    return { around, before, after };
  }
  const list = Array.isArray(before[key]);
  if (list && before[key].length !== after[key].length) {
    return { around, before, after };
  }
  return change(before[key], after[key], list ? around : [...around, before]);
}

/** Stryker's mutants of a file: as texts, in which parentheses keep what replaces an expression whole. */
async function theirs(path, text) {
  const options = { plugins: null, mutator: { excludedMutations: [] }, excludedMutations: [], ignorers: [] };
  const { mutants } = await new Instrumenter(silent).instrument(
    [{ name: path, content: text, mutate: true }],
    options,
  );
  const lines = text.split("\n");
  const starts = [0];
  for (const line of lines) starts.push(starts.at(-1) + line.length + 1);
  const offset = ({ line, column }) => starts[line] + column;
  return mutants
    .filter((mutant) => SHARED.includes(mutant.mutatorName))
    .map(({ mutatorName, location, replacement }) => {
      const [start, end] = [offset(location.start), offset(location.end)];
      const named = replacement.replace(FILLER, OURS);
      return { operator: mutatorName, text: `${text.slice(0, start)}(${named})${text.slice(end)}` };
    });
}

function explained({ around, before, after }, whose, operator) {
  const parent = around.at(-1);
  const ours = whose === "ours";
  if (ours && around.some((node) => node.type === "TSAsExpression")) return "the operand of `as`";
  const swap = `${before?.operator}→${after?.operator}`;
  if (before?.type === "BinaryExpression" && after?.type === "BinaryExpression") {
    if (/^[<>]=?→[<>]=?$/.test(swap)) return "relations to other relations";
    if (ours && operator === "AOR") {
      if (/\*\*/.test(swap)) return "powers";
      if (/^[+-]/.test(swap)) return "sums beside a string literal";
    }
    if (ours && operator === "LOR") return "bitwise operators";
  }
  if (ours) {
    if (operator === "CRP") {
      if (before?.type === "NumericLiteral" || before?.type === "BigIntLiteral") return "numbers";
      const string = ["StringLiteral", "TemplateLiteral", "TemplateElement"].includes(before?.type);
      if (string && JSON.stringify(after).includes(OURS)) return "strings to another";
      if (around.some((node) => node.type === "JSXAttribute")) return "strings in JSX attributes";
    }
    if (operator === "COI") return "negated conditions";
    if (operator === "BCR" || operator === "OIL" || operator === "EHD" || operator === "DDL") {
      return "operators that Stryker has not";
    }
    if (operator === "LCR" && swap === "??→||") return "nullish to or";
  } else {
    if (operator === "UnaryOperator" && before?.operator === "~") return "complements deleted";
  }
  return "unknown";
}

function described({ before, after }, text, mutated, operator) {
  const shown = (node, from) =>
    node?.start === undefined ? JSON.stringify(node) : from.slice(node.start, node.end).replace(/\s+/g, " ").slice(0, 80);
  return `${operator}: ${shown(before, text)} -> ${shown(after, mutated)}`;
}

const counts = { equal: 0, spelling: 0, ours: 0, theirs: 0 };
const differences = [];
for (const { path, text, mutants } of JSON.parse(readFileSync(0, "utf8")).files) {
  const bytes = Buffer.from(text);
  const original = tree(text, path);
  const shapes = (all) => {
    const found = new Map();
    for (const { operator, text } of all) {
      const mutated = tree(text, path);
      found.set(shape(mutated), { operator, text, tree: mutated });
    }
    return found;
  };
  const own = mutants.map(({ operator, start, end, replacement }) => ({
    operator,
    text: Buffer.concat([bytes.subarray(0, start), Buffer.from(replacement), bytes.subarray(end)]).toString(),
  }));
  const sides = { ours: shapes(own), theirs: shapes(await theirs(path, text)) };
  for (const [whose, other] of [["ours", "theirs"], ["theirs", "ours"]]) {
    counts[whose] += sides[whose].size;
    for (const [key, mutant] of sides[whose]) {
      if (sides[other].has(key)) {
        counts.equal += whose === "ours" ? 1 : 0;
        continue;
      }
      const found = change(original, mutant.tree);
      const place = [found.before, ...found.around.toReversed()].find((node) => node?.loc);
      differences.push({
        path,
        line: place?.loc.start.line ?? 0,
        whose,
        class: explained(found, whose, mutant.operator),
        change: described(found, text, mutant.text, mutant.operator),
      });
    }
  }
}
process.stdout.write(JSON.stringify({ ...counts, differences }));
