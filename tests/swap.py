"""Holds what ``fillrate_swap`` says against what an import of the changed file would have made.

Give it the folder that holds ``fillrate_swap``.  For each case, a file is
imported and then changed in a fork.  If its functions can be put in place, the
fork must see what a new interpreter sees; and each case says whether they can.
"""

import importlib
import importlib.machinery
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import fillrate_swap  # noqa: E402

#: What is done with a file, and what it has once that is undone or done.
ONLY = "def f():\n    return 1\n\n\ndef observe():\n    return [f()]\n"
CASES = [
    ("the body of a function", True, ONLY, ("return 1", "return 2")),
    ("a function that gets longer", True, ONLY, ("return 1", "x = 1\n    return x + 4")),
    (
        "the lines of functions below one that gets longer",
        True,
        ONLY + "\n\ndef g():\n    raise ValueError\n"
        + "\n\ndef observe():\n    try:\n        g()\n    except ValueError as e:\n"
        + "        return e.__traceback__.tb_next.tb_lineno, f()\n",
        ("return 1", "x = 1\n    return x + 4"),
    ),
    (
        "a method, a property and their like",
        True,
        "class A:\n    @property\n    def a(self):\n        return 1\n    @staticmethod\n"
        "    def b():\n        return 1\n    @classmethod\n    def c(cls):\n        return 1\n"
        "def observe():\n    return A().a, A.b(), A.c()\n",
        ("return 1", "return 2"),
    ),
    (
        "a method that calls its parent's",
        True,
        "class A:\n    def a(self):\n        return 1\n"
        "class B(A):\n    def a(self):\n        return super().a() + 1\n"
        "def observe():\n    return B().a()\n",
        ("super().a() + 1", "super().a() + 2"),
    ),
    (
        "a function behind others",
        True,
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def g(*a):\n"
        "        return 2 * f(*a)\n    return g\n@twice\n@functools.lru_cache\ndef f():\n"
        "    return 1\ndef observe():\n    return f()\n",
        ("return 1", "return 5"),
    ),
    (
        "what a function that ran has made",
        True,
        "def make(n):\n    def g():\n        return n\n    return g\ng = make(3)\n"
        "def observe():\n    return g(), make(4)()\n",
        ("return n", "return n + 1"),
    ),
    ("a nameless function", True, "f = lambda: 1\ndef observe():\n    return f()\n", (": 1", ": 2")),
    (
        "a coroutine",
        True,
        "import asyncio\nasync def f():\n    return 1\ndef observe():\n    return asyncio.run(f())\n",
        ("return 1", "return 2"),
    ),
    (
        "a function that has two names",
        True,
        ONLY.replace("def observe", "import types\nh = types.FunctionType(f.__code__, {})\ndef observe")
        .replace("f()]", "f(), h()]"),
        ("return 1", "return 2"),
    ),
    ("a default value", False, ONLY.replace("f():", "f(x=1):", 1), ("x=1", "x=2")),
    ("an argument's name", False, ONLY.replace("def f():", "def f(x=1):"), ("f(x", "f(y")),
    ("a constant of the module", False, "X = 1\n" + ONLY, ("X = 1", "X = 2")),
    ("a constant of another kind", False, "X = 1\n" + ONLY, ("X = 1", "X = True")),
    ("a constant's sign", False, "X = 0.0\n" + ONLY, ("X = 0.0", "X = -0.0")),
    ("what a class holds", False, "class A:\n    x = 1\n" + ONLY, ("x = 1", "x = 2")),
    ("a function that ran", False, ONLY + "\nX = f()\n", ("return 1", "return 2")),
    ("a list that was made", False, "X = [n + 1 for n in range(3)]\n" + ONLY, ("n + 1", "n + 2")),
    ("documentation", False, 'def f():\n    "a"\ndef observe():\n    return f.__doc__\n', ('"a"', '"b"')),
    ("a function that becomes a generator", False, ONLY, ("return 1", "yield 1")),
    (
        "a variable of the function around",
        False,
        "def make(n, m):\n    def g():\n        return n\n    return g\ng = make(3, 4)\n"
        "def observe():\n    return g()\n",
        ("return n", "return n + m"),
    ),
    (
        "a generator that has begun",
        False,
        "def f():\n    yield 1\n    yield 2\ng = f()\nnext(g)\ndef observe():\n    return next(g)\n",
        ("yield 2", "yield 3"),
    ),
    (
        "a generator that has not",
        False,
        "def f():\n    yield 2\ng = f()\ndef observe():\n    return next(g)\n",
        ("yield 2", "yield 3"),
    ),
    (
        "code that was made from a function's",
        False,
        ONLY.replace(
            "def observe",
            "import types\nh = types.FunctionType(f.__code__.replace(co_name='h'), {})\ndef observe",
        ),
        ("return 1", "return 2"),
    ),
    ("a function more", False, ONLY, ("def observe", "def g():\n    pass\n\n\ndef observe")),
    ("what does not parse", False, ONLY, ("return 1", "return (")),
    ("what is warned of", False, ONLY, ("return 1", "return 1 is 1")),
]
#: What a file does with another when it is imported, and whether that is reading it.
READERS = [
    ("import m", False),
    ("import m\nimport importlib\nimportlib.import_module('m')", False),
    ("import m\nimport inspect\ninspect.getsource(m.f)", True),
    ("import m\nopen(m.__file__).read()", True),
    ("import pathlib\nexec(pathlib.Path(__file__).with_name('m.py').read_text())", True),
]


def forked(act):
    """Give what a function gives in a fork."""
    ours, theirs = os.pipe()
    if os.fork() == 0:
        try:
            os.write(theirs, json.dumps(act()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        said = answer.read()
    os.wait()
    return json.loads(said) if said else "it died"


def changed_in_a_fork(folder, original, changed):
    """Import a file, change it, put its functions in place; give whether that went, and what is seen."""
    path = os.path.join(folder, "m.py")
    write(path, original)
    imports = fillrate_swap.Imports(folder, [])
    loader = importlib.machinery.SourceFileLoader
    to_code = loader.source_to_code

    def source_to_code(self, data, path, *, _optimize=-1):
        code = to_code(self, data, path, _optimize=_optimize)
        imports.record_code(path, code)
        return code

    loader.source_to_code = source_to_code
    sys.path.insert(0, folder)
    imports.begin()
    module = importlib.import_module("m")
    alone = imports.end()
    write(path, changed)
    fits = imports.swap(path)
    return alone, fits, module.observe() if fits else None


def read_at_import(folder, reader):
    """Import a file that may read another; give which are read."""
    write(os.path.join(folder, "m.py"), ONLY)
    write(os.path.join(folder, "reader.py"), reader)
    sys.path.insert(0, folder)
    readings = fillrate_swap.Readings(folder)
    importlib.import_module("reader")
    return readings.end()


def write(path, text):
    """Write a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def imported(folder):
    """Give what a new interpreter sees of the file."""
    script = "import json, m; print(json.dumps(m.observe()))"
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    return json.loads(ended.stdout)


def main():
    """Go through the cases; say each that is not as it should be."""
    faults = 0

    def hold(what, good, found):
        nonlocal faults
        print(f"{'ok' if good else 'FAULT'}: {what}: {found}")
        faults += not good

    for what, expected, original, (old, new) in CASES:
        changed = original.replace(old, new)
        assert changed != original, what
        with tempfile.TemporaryDirectory() as folder:
            found = forked(lambda: changed_in_a_fork(folder, original, changed))
            good = found[:2] == [True, expected]
            if good and expected:
                fresh = imported(folder)
                found.append(fresh)
                good = found[2] == fresh
            hold(what, good, found)
    for reader, reads in READERS:
        with tempfile.TemporaryDirectory() as folder:
            read = forked(lambda: read_at_import(folder, reader))
            hold(reader, ("m.py" in read) == reads, read)
    sys.exit(faults != 0)


main()
