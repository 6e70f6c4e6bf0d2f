"""Replaces the functions of a changed file in a process that has imported it.

A warm worker that has imported a project and collected its tests is forked for
each change.  The fork need not import the project again if importing the changed
file would have made no difference but the code of functions that have not run
yet: then it replaces that code, and the result is the same.  If the code objects
and the recorded imports don't prove this, the fork reports a miss and the tests
run another way.
"""

import gc
import linecache
import os
import random
import sys
import threading
import types
import warnings

#: Attributes of a code object that are compared if it has run already; the others
#: are positions in the file.
BODY = (
    "co_code",
    "co_names",
    "co_varnames",
    "co_cellvars",
    "co_exceptiontable",
)
#: Attributes of a code object that its function, callers and inspection of its
#: signature depend on.
INTERFACE = (
    "co_name",
    "co_qualname",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_freevars",
    "co_flags",
)
#: Objects that hold a code object which has started to run.
RUNNING = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


class Imports:
    """Records what a process does while it imports a project."""

    def __init__(self, root, read):
        """Record files below ``root``; those in ``read`` are not only imported."""
        self.root = os.path.join(root, "")
        #: By file, the code that its import got.
        self.given = {}
        #: The code that has run by its id; the reference keeps the id valid.
        self.run = {}
        self.seeded = False
        #: The functions by file and code; set once all is imported.
        self.functions = {}
        #: Files whose effects are not tracked.
        self.untracked = {self.root + name for name in read}

    def begin(self):
        """Record every call."""
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)

    def profile(self, frame, event, argument):
        """Record which code runs, and whether it seeds random numbers."""
        if event == "call":
            code = frame.f_code
            self.run[id(code)] = code
            if code is random.Random.seed.__code__:
                given = frame.f_locals
                self.seeded |= given["self"] is random._inst and given["a"] is not None
        elif event == "c_call":
            self.seeded |= getattr(argument, "__name__", None) == "seed"

    def record_code(self, path, code):
        """Record the code that an import gets."""
        self.given[path] = code

    def end(self):
        """Stop recording; return whether no other profile function replaced this one."""
        alone = sys.getprofile() == self.profile
        sys.setprofile(None)
        threading.setprofile(None)
        known = {path: set(within(code)) for path, code in self.given.items()}
        for thing in gc.get_objects():
            # `isinstance` would also ask a proxy, which loads what it stands for.
            kind = type(thing)
            if kind is types.FunctionType:
                code = thing.__code__
                path = code.co_filename
                if not path.startswith(self.root):
                    continue
                if id(code) in known.get(path, ()):
                    by_code = self.functions.setdefault(path, {})
                    by_code.setdefault(id(code), []).append(thing)
                else:
                    self.untracked.add(path)
            elif kind in RUNNING:
                self.untracked.add(code_of(thing).co_filename)
        for code in self.run.values():
            if id(code) not in known.get(code.co_filename, ()):
                self.untracked.add(code.co_filename)
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if path not in self.given:
                self.untracked.add(path)
        return alone

    def swap(self, path):
        """Replace a changed file's functions; return whether that suffices."""
        if path in self.untracked:
            return False
        if path not in self.given:
            # It is imported later, with its changed contents.
            return True
        try:
            with open(path, "rb") as file:
                text = file.read()
            with warnings.catch_warnings():
                # The project's settings decide what a warning does.
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

    def forget(self):
        """Drop the original code, which would show what was in a hole."""
        for held in (self.given, self.run, self.functions):
            held.clear()

    def match(self, code, other, pairs):
        """Pair code with its replacement, if it can be replaced."""
        if not alike(code, other, INTERFACE) or documentation(code) != documentation(other):
            return False
        arguments = code.co_argcount + code.co_kwonlyargcount
        arguments += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
        if code.co_varnames[:arguments] != other.co_varnames[:arguments]:
            return False
        pairs.append((code, other))
        if id(code) not in self.run:
            # It has created nothing yet that would need a replacement too.
            return True
        if not alike(code, other, BODY) or not same(constants(code), constants(other)):
            return False
        inner, others = list(directly_within(code)), list(directly_within(other))
        return len(inner) == len(others) and all(
            self.match(*pair, pairs) for pair in zip(inner, others)
        )


class Readings:
    """Records which files of a project are read, and not only imported, by imports.

    Code that reads a file may compute anything from it.  An audit hook can't be
    removed and slows down access to a function's code, so that this takes a run of
    its own.
    """

    def __init__(self, root):
        """Start recording files below ``root``."""
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
        """Stop recording; return the files that were opened otherwise than once, by an import."""
        self.watching = False
        imported = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        return sorted(
            path[len(self.root) :]
            for path, times in self.opened.items()
            if path.endswith(".py") and (times > 1 or path not in imported)
        )


def code_of(running):
    """Return the code of a generator or the like."""
    for name in ("gi_code", "cr_code", "ag_code"):
        code = getattr(running, name, None)
        if code is not None:
            return code
    raise TypeError(running)


def directly_within(code):
    """Yield the code objects that are constants of one."""
    return (part for part in code.co_consts if isinstance(part, types.CodeType))


def within(code):
    """Yield the ids of a code object and of all within it."""
    yield id(code)
    for part in directly_within(code):
        yield from within(part)


def constants(code):
    """Return the constants that are no code, with None for those that are."""
    return tuple(
        None if isinstance(part, types.CodeType) else (part,) for part in code.co_consts
    )


def documentation(code):
    """Return what is or may be the docstring of a function with this code."""
    first = code.co_consts[0] if code.co_consts else None
    return first if isinstance(first, str) else None


def alike(code, other, names):
    """Return whether two code objects agree in these attributes."""
    return all(getattr(code, name, None) == getattr(other, name, None) for name in names)


def same(one, other):
    """Return whether two constants are the same, which ``1`` and ``True`` are not."""
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, frozenset):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    if isinstance(one, (float, complex)):
        return repr(one) == repr(other)
    return one == other
