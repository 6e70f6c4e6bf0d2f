"""Holds mutants of Python files against those of pynguin's operators that do the same.

Reads {"files": [{"path", "text", "mutants": [{"operator", "start", "end", "replacement"}]}]} on
standard input, places in bytes, and writes {"equal", "spelling", "ours", "theirs", "differences":
[{"path", "line", "whose", "class", "change"}]}. Two mutants are the same if their whole syntax
trees are; where the trees differ, but one mutant of each compiles to the same bytecode, they differ
in spelling. A difference that no rule explains is of the class "unknown".
"""

import ast
import functools
import json
import sys
import types

from pynguin.assertion.mutation_analysis import operators, transformer

SHARED = [
    operators.ArithmeticOperatorReplacement,
    operators.AssignmentOperatorReplacement,
    operators.BooleanLiteralReplacement,
    operators.BreakContinueReplacement,
    operators.ConditionalOperatorDeletion,
    operators.ConditionalOperatorInsertion,
    operators.ConstantReplacement,
    operators.DecoratorDeletion,
    operators.ExceptionHandlerDeletion,
    operators.FStringReplacement,
    operators.LogicalConnectorReplacement,
    operators.LogicalOperatorReplacement,
    operators.OneIterationLoop,
    operators.RelationalOperatorReplacement,
]

# Which words replace others is no difference of operators.
operators.ConstantReplacement.FIRST_CONST_STRING = "mutant"
operators.ConstantReplacement.SECOND_CONST_STRING = "another"
operators.FStringReplacement.REPLACEMENT_STRING = "mutant"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NUMBERS = (int, float, complex)


def fields(node):
    """Returns the names and values of a node's fields, without its position."""
    return [(name, getattr(node, name, None)) for name in node._fields]


def same(a, b):
    if isinstance(a, ast.AST) and isinstance(b, ast.AST):
        return type(a) is type(b) and all(
            same(x, y) for (_, x), (_, y) in zip(fields(a), fields(b))
        )
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and repr(a) == repr(b)


def change(before, after, chain=()):
    """The smallest part in which two trees differ, with what is around it, outermost first."""
    if not (isinstance(before, ast.AST) and type(before) is type(after)):
        return chain, before, after
    differing = [
        (name, x, y)
        for (name, x), (_, y) in zip(fields(before), fields(after))
        if not same(x, y)
    ]
    chain = (*chain, before)
    if len(differing) != 1:
        return chain[:-1], before, after
    name, x, y = differing[0]
    if isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
        items = [(p, q) for p, q in zip(x, y) if not same(p, q)]
        if len(items) == 1:
            return change(*items[0], chain)
    elif isinstance(x, ast.AST) and isinstance(y, ast.AST):
        return change(x, y, chain)
    return chain[:-1], before, after


def bytecode(tree):
    """Returns the compiled code of a tree without line numbers; `None` if it doesn't compile."""

    def stripped(code):
        constants = tuple(
            stripped(each) if isinstance(each, types.CodeType) else (type(each), repr(each))
            for each in code.co_consts
        )
        return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars)

    text = ast.unparse(ast.fix_missing_locations(tree))
    try:
        return stripped(compile(text, "module", "exec"))
    except SyntaxError:
        return None


class Mutant:
    def __init__(self, original, tree, operator):
        self.operator = operator
        self.tree = ast.dump(tree)
        self.original = original
        self.module = tree

    @functools.cached_property
    def change(self):
        return change(self.original, self.module)

    @property
    def line(self):
        around, before, _ = self.change
        places = [place.lineno for place in [*around, before] if hasattr(place, "lineno")]
        return places[-1] if places else 0

    @functools.cached_property
    def bytecode(self):
        return bytecode(self.module)

    def described(self):
        def shown(part):
            if not isinstance(part, ast.AST):
                return repr(part)
            if isinstance(part, (ast.operator, ast.cmpop, ast.boolop, ast.unaryop)):
                return type(part).__name__
            return ast.unparse(ast.fix_missing_locations(part)).replace("\n", "; ")[:80]

        _, before, after = self.change
        return f"{self.operator}: {shown(before)} -> {shown(after)}"


def in_annotation(around, before):
    """Returns true if the changed node is part of a type annotation."""
    chain = [*around, before]
    for outer, inner in zip(chain, chain[1:]):
        if isinstance(outer, (ast.arg, ast.AnnAssign)) and outer.annotation is inner:
            return True
        if isinstance(outer, FUNCTIONS) and outer.returns is inner:
            return True
    return False


def explained(mutant, whose, compiled):
    """The class of a mutant that only one side has; `compiled` is what the other side's mutants
    and the original compile to."""
    around, before, after = mutant.change
    parent = around[-1] if around else None
    theirs = whose == "theirs"
    connects = isinstance(parent, ast.BoolOp) and isinstance(before, ast.boolop)
    if isinstance(before, ast.BoolOp) and len(before.values) > 2:
        return "connectors of three or more"
    if connects and len(parent.values) > 2:
        return "connectors of three or more"
    if theirs:
        if in_annotation(around, before):
            return "type annotations"
        # A negative base is written without the parentheses that it needs.
        base = isinstance(before, ast.BinOp) and isinstance(before.op, ast.Pow)
        number = before.left if base else before
        if isinstance(number, ast.Constant) and isinstance(number.value, (int, float)):
            if mutant.operator == "ConstantReplacement" and not same(
                after, ast.Constant(number.value + 1)
            ):
                return "numbers otherwise than by one more"
        if isinstance(before, ast.Break) and isinstance(after, ast.Return):
            return "return for break"
        if isinstance(before, ast.BitXor) and isinstance(after, ast.BitOr):
            return "exclusive or to or"
        if mutant.operator == "ConstantReplacement" and any(
            isinstance(outer, ast.JoinedStr) for outer in [*around, before]
        ):
            return "constant parts of f-strings"
        if mutant.operator == "ConditionalOperatorInsertion" and mutant.bytecode in compiled:
            return "conditions that compile to what another mutant does"
        if mutant.bytecode is None:
            return "does not compile"
    else:
        if mutant.operator == "COI" and isinstance(
            parent, (ast.IfExp, ast.comprehension, ast.match_case)
        ):
            return "conditions of expressions"
        if mutant.operator == "CRP":
            value = getattr(before, "value", None)
            if isinstance(before, ast.Constant) and isinstance(value, bytes):
                return "byte strings"
            if isinstance(before, ast.JoinedStr) and not after.values:
                return "f-strings to empty"
            if any(is_report(outer) for outer in around):
                return "strings in raise, print and logging calls"
        if mutant.operator == "DDL" and isinstance(before, (ast.ClassDef, ast.AsyncFunctionDef)):
            return "decorators of classes and async functions"
        if mutant.operator == "OIL" and isinstance(before, ast.AsyncFor):
            return "async for"
    return "unknown"


def is_report(node):
    """Return whether its text is for a person to read."""
    if isinstance(node, ast.Raise):
        return True
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func).split(".")
    return called[-1] in {
        "print", "debug", "info", "warning", "warn", "error", "critical", "exception", "log"
    }


def compare(file):
    text = file["text"].encode()
    original = ast.parse(text)
    ours = []
    for each in file["mutants"]:
        replacement = each["replacement"].encode()
        mutated = text[: each["start"]] + replacement + text[each["end"] :]
        ours.append(Mutant(original, ast.parse(mutated), each["operator"]))
    theirs = []
    for operator in SHARED:
        tree = transformer.ParentNodeTransformer.create_ast(text)
        for _, mutated in operator.mutate(tree, None):
            # The tree is changed in place, and has links upwards that no copy needs.
            copy = ast.parse(ast.unparse(mutated))
            theirs.append(Mutant(original, copy, operator.__name__))
    return original, ours, theirs


def main():
    counts = dict.fromkeys(["equal", "spelling", "ours", "theirs"], 0)
    differences = []
    for file in json.load(sys.stdin)["files"]:
        original, *sides = compare(file)
        # A tree may come of two operators.
        ours, theirs = ({mutant.tree: mutant for mutant in side} for side in sides)
        counts["ours"] += len(ours)
        counts["theirs"] += len(theirs)
        counts["equal"] += len(ours.keys() & theirs.keys())
        unpaired = {
            "ours": [mutant for tree, mutant in ours.items() if tree not in theirs],
            "theirs": [mutant for tree, mutant in theirs.items() if tree not in ours],
        }
        twins = {mutant.bytecode: mutant for mutant in unpaired["ours"]}
        for mutant in list(unpaired["theirs"]):
            twin = mutant.bytecode and twins.pop(mutant.bytecode, None)
            if twin:
                counts["spelling"] += 1
                unpaired["theirs"].remove(mutant)
                unpaired["ours"].remove(twin)
        compiled = {mutant.bytecode for mutant in [*ours.values(), Mutant(original, original, "")]}
        for whose, mutants in unpaired.items():
            for mutant in mutants:
                differences.append(
                    {
                        "path": file["path"],
                        "line": mutant.line,
                        "whose": whose,
                        "class": explained(mutant, whose, compiled),
                        "change": mutant.described(),
                    }
                )
    json.dump({**counts, "differences": differences}, sys.stdout)


if __name__ == "__main__":
    main()
