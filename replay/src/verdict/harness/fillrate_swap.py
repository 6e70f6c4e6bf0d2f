"""Puts a changed file's functions in place of those that a process has loaded.

A process that has imported a project and collected its tests is forked for
each change.  Importing the project again is saved where the changed file, had
it been imported in place of the original, would have left everything the same
but the code of functions that have not run yet: then that code is put in place
in the fork, and nothing tells the two apart.  Where that can't be shown from
the code objects and from what was seen of the imports, the fork says so and
somebody else runs the tests.
"""

import gc
import linecache
import os
import random
import sys
import threading
import types
import warnings

#: What of a code object is compared where it has run already; the rest says
#: where in the file it stands.
SUBSTANCE = (
    "co_code",
    "co_names",
    "co_varnames",
    "co_cellvars",
    "co_exceptiontable",
)
#: What of a code object the function made of it, its callers and those who
#: look at its signature depend on.
OUTSIDE = (
    "co_name",
    "co_qualname",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_freevars",
    "co_flags",
)
#: Objects that hold a code object which has begun to run.
RUNNING = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


class Imports:
    """What is seen of a process while it imports a project."""

    def __init__(self, root, read):
        """Watch for the files below ``root``; those ``read`` are not only imported."""
        self.root = os.path.join(root, "")
        #: By file, the code that imports were given.
        self.given = {}
        #: The code that has run, by its identity, which it must keep.
        self.run = {}
        self.seeded = False
        #: By file and by code, the functions; set once all is imported.
        self.functions = {}
        #: Files of which more was made than can be followed.
        self.strange = {self.root + name for name in read}

    def begin(self):
        """Look at every call."""
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)

    def profile(self, frame, event, argument):
        """Note which code runs, and whether random numbers are made to be the same."""
        if event == "call":
            code = frame.f_code
            self.run[id(code)] = code
            if code is random.Random.seed.__code__:
                given = frame.f_locals
                self.seeded |= given["self"] is random._inst and given["a"] is not None
        elif event == "c_call":
            self.seeded |= getattr(argument, "__name__", None) == "seed"

    def give(self, path, code):
        """Note that an import was given this code."""
        self.given[path] = code

    def end(self):
        """Look no more; say whether nobody else did in the meantime."""
        alone = sys.getprofile() == self.profile
        sys.setprofile(None)
        threading.setprofile(None)
        known = {path: set(within(code)) for path, code in self.given.items()}
        for thing in gc.get_objects():
            if isinstance(thing, types.FunctionType):
                code = thing.__code__
                path = code.co_filename
                if not path.startswith(self.root):
                    continue
                if id(code) in known.get(path, ()):
                    by_code = self.functions.setdefault(path, {})
                    by_code.setdefault(id(code), []).append(thing)
                else:
                    self.strange.add(path)
            elif isinstance(thing, RUNNING):
                self.strange.add(code_of(thing).co_filename)
        for code in self.run.values():
            if id(code) not in known.get(code.co_filename, ()):
                self.strange.add(code.co_filename)
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if path not in self.given:
                self.strange.add(path)
        return alone

    def swap(self, path):
        """Put a changed file's functions in place; say whether that was all it takes."""
        if path in self.strange:
            return False
        if path not in self.given:
            # Whoever imports it will find it changed.
            return True
        try:
            with open(path, "rb") as file:
                text = file.read()
            with warnings.catch_warnings():
                # What becomes of a warning is for the project's settings to say.
                warnings.simplefilter("error")
                changed = compile(text, path, "exec", dont_inherit=True)
        except Exception:
            return False
        pairs = []
        if not self.match(self.given[path], changed, pairs):
            return False
        functions = self.functions.get(path, {})
        for code, other in pairs:
            for function in functions.get(id(code), ()):
                function.__code__ = other
        linecache.cache.pop(path, None)
        return True

    def match(self, code, other, pairs):
        """Pair code with what is to stand for it, if it can."""
        if not alike(code, other, OUTSIDE) or documentation(code) != documentation(other):
            return False
        arguments = code.co_argcount + code.co_kwonlyargcount
        arguments += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
        if code.co_varnames[:arguments] != other.co_varnames[:arguments]:
            return False
        pairs.append((code, other))
        if id(code) not in self.run:
            # It has made nothing yet that would have to be replaced, too.
            return True
        if not alike(code, other, SUBSTANCE) or not same(constants(code), constants(other)):
            return False
        inner, others = list(directly_within(code)), list(directly_within(other))
        return len(inner) == len(others) and all(
            self.match(*pair, pairs) for pair in zip(inner, others)
        )


class Readings:
    """Which files of a project are read, and not only imported, until all is imported.

    Whoever reads a file may make anything of what it says.  The hook that
    watches stays for ever and makes reading a function's code slow, so that
    this is done in a run of its own.
    """

    def __init__(self, root):
        """Begin to watch for the files below ``root``."""
        self.root = os.path.join(root, "")
        self.opened = {}
        self.watching = True
        sys.addaudithook(self.audit)

    def audit(self, event, arguments):
        """Count how often a file is opened, see ``sys.addaudithook``."""
        if event == "open" and self.watching and isinstance(arguments[0], (str, bytes)):
            path = os.path.abspath(os.fsdecode(arguments[0]))
            if path.startswith(self.root):
                self.opened[path] = self.opened.get(path, 0) + 1

    def end(self):
        """Watch no more; give the files that were not opened just once, for an import."""
        self.watching = False
        imported = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        return sorted(
            path[len(self.root) :]
            for path, times in self.opened.items()
            if path.endswith(".py") and (times > 1 or path not in imported)
        )


def code_of(running):
    """Give the code of a generator or the like."""
    for name in ("gi_code", "cr_code", "ag_code"):
        code = getattr(running, name, None)
        if code is not None:
            return code
    raise TypeError(running)


def directly_within(code):
    """Yield the code objects that are constants of one."""
    return (part for part in code.co_consts if isinstance(part, types.CodeType))


def within(code):
    """Yield the identities of a code object and of all that it holds."""
    yield id(code)
    for part in directly_within(code):
        yield from within(part)


def constants(code):
    """Give the constants that are no code, each with its place."""
    return tuple(
        None if isinstance(part, types.CodeType) else (part,) for part in code.co_consts
    )


def documentation(code):
    """Give what a function made of this has as its documentation, or might have."""
    first = code.co_consts[0] if code.co_consts else None
    return first if isinstance(first, str) else None


def alike(code, other, names):
    """Say whether two code objects have all these attributes, or lack them, in common."""
    return all(getattr(code, name, None) == getattr(other, name, None) for name in names)


def same(one, other):
    """Say whether two constants are the same, which ``1`` and ``True`` are not."""
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, frozenset):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    if isinstance(one, (float, complex)):
        return repr(one) == repr(other)
    return one == other
