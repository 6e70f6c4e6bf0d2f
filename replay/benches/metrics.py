"""The text metrics' definitions in Python, to hold `fillrate score` against.

    python metrics.py [--lazy] EXAMPLES PREDICTIONS

reads what `fillrate score` reads and writes the values of each example as JSON lines. Edit
similarity is Python's own difflib, and RapidFuzz where the definition is a distance; errors are
those that tree-sitter finds. A Python prediction is truncated as the definition says: by parsing
after every character and walking the whole tree. With --lazy, only what can be cut is parsed,
and only subtrees with errors are walked: the same result, sooner. Identifiers are compared where
the file is Python's.
"""

import difflib
import json
import keyword
import re
import sys

import tree_sitter
import tree_sitter_python
from rapidfuzz.distance import Indel, Levenshtein

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
KEYWORDS = set(keyword.kwlist) - {"True", "False"}
STRING = re.compile(r'"(?:[^"\\]|\\.)*"|' r"'(?:[^'\\]|\\.)*'")
WORD = re.compile(r"\w+")
NAME = re.compile("[_a-zA-Z]")


def has_error(text, lazy):
    pending = [PARSER.parse(text.encode()).root_node]
    while pending:
        node = pending.pop()
        if node.type == "ERROR":
            return True
        if not lazy or node.has_error:
            pending.extend(reversed(node.children))
    return False


def truncated(prompt, completion, lazy):
    for end in range(1, len(completion)):
        ends_line = completion[end] == "\n"
        if (lazy and not ends_line) or has_error(prompt + completion[:end], lazy):
            continue
        if ends_line:
            return completion[:end].rstrip()
    return completion


def first_statement(completion):
    ends = [at for at in map(completion.find, ";}{") if at >= 0]
    return completion[: min(ends) + 1] if ends and min(ends) > 0 else completion


def uncommented(text):
    return re.sub("//.*", "", re.sub("#.*", "", text))


def lines(pieces):
    return [piece.strip() for piece in pieces if piece.strip()]


def identifiers(text):
    words = WORD.findall(STRING.sub("", text))
    return [word for word in words if NAME.match(word) and word not in KEYWORDS]


def percent(first, second, ratio):
    if first == second:
        return 100
    if not first or not second:
        return 0
    return round(100 * ratio(first, second))


def by_difflib(first, second):
    return difflib.SequenceMatcher(None, first, second).ratio()


def by_indel(first, second):
    both = len(first) + len(second)
    return (both - Indel.distance(first, second)) / both


def repocoder(prediction, reference):
    reference = lines(reference.splitlines())
    prediction = "\n".join(lines(prediction.splitlines())[: len(reference)])
    reference = "\n".join(reference)
    longer = max(len(prediction), len(reference))
    return 1 - Levenshtein.distance(prediction, reference) / longer if longer else 1


def share(part, whole):
    return part / whole if whole else 0


def scored(example, prediction, lazy):
    reference, file = example["groundtruth"], example["metadata"]["file"]
    python = file.endswith(".py")
    if python:
        cut = truncated(example["prompt"], prediction, lazy)
    else:
        cut = first_statement(prediction)
    ours, theirs = uncommented(cut), uncommented(reference)
    metrics = {
        "em/cceval": lines(ours.split("\n")) == lines(theirs.split("\n")),
        "em/tokens": prediction.split() == reference.split(),
        "es/cceval-difflib": percent(ours.strip(), theirs.strip(), by_difflib),
        "es/cceval-levenshtein": percent(ours.strip(), theirs.strip(), by_indel),
        "es/repocoder": repocoder(prediction, reference),
        "es/repobench-difflib": percent(reference, prediction, by_difflib),
        "es/repobench-levenshtein": percent(reference, prediction, by_indel),
    }
    if python:
        ours, theirs = identifiers(ours), identifiers(theirs)
        common = len(set(ours) & set(theirs))
        metrics["id_em/cceval"] = ours == theirs
        ours, theirs = len(set(ours)), len(set(theirs))
        metrics["id_precision/cceval"] = share(common, ours)
        metrics["id_recall/cceval"] = share(common, theirs)
        metrics["id_f1/cceval"] = share(2 * common, ours + theirs)
    values = {name: float(value) for name, value in metrics.items()}
    return {"task_id": example["metadata"]["task_id"], "truncated": uncommented(cut), "metrics": values}


def main():
    arguments = sys.argv[1:]
    lazy = "--lazy" in arguments
    examples, predictions = (path for path in arguments if path != "--lazy")
    with open(predictions, encoding="utf-8") as file:
        records = map(json.loads, file)
        predicted = {record["task_id"]: record["prediction"] for record in records}
    with open(examples, encoding="utf-8") as file:
        for example in map(json.loads, file):
            prediction = predicted[example["metadata"]["task_id"]]
            print(json.dumps(scored(example, prediction, lazy)))


main()
