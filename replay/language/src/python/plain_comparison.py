"""Compares values by their contents, whatever their classes say of equality.

A test accepts what is equal to its expectation.  A class of the code under test can define an
equality that holds for more than its contents, for all values even.  In runs among twins, this runs
at the end of a file of tests: it compiles the file's functions anew, so that their comparisons go
through functions of its own.  The text of the file stays as it is, as code may read it.

A class that redefines comparisons and derives from one of the language, such as ``str``, is
replaced by its contents.  Of another such class, values must not equal a new object, nor one that
is near the expectation, nor contain a new object or text.  Classes of the standard library and of
installed packages are trusted.
"""


def _fillrate_comparisons():
    import os
    import sys

    bases = (str, bytes, bytearray, int, float, complex, list, tuple, dict, set, frozenset)
    methods = (
        "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __contains__ __len__ __iter__ __getitem__ "
        "__class__ __getattribute__"
    ).split()
    # A metaclass can say something else of its classes.
    ancestors_of = type.__dict__["__mro__"].__get__
    members_of = type.__dict__["__dict__"].__get__
    flags_of = type.__dict__["__flags__"].__get__
    # Py_TPFLAGS_HEAPTYPE: https://docs.python.org/3/c-api/typeobj.html
    heap_type = 1 << 9
    library = os.path.dirname(os.__file__)
    scalars = {id(kind) for kind in (str, bytes, int, float, complex, bool, type(None))}
    known = {}

    def is_trusted(kind):
        if not flags_of(kind) & heap_type:
            return True
        try:
            module = sys.modules[members_of(kind)["__module__"]]
            path = os.path.abspath(module.__file__)
            is_own = vars(module).get(kind.__name__) is kind
        except Exception:
            return False
        return is_own and (path.startswith(library) or "site-packages" in path)

    def redefined(kind):
        if id(kind) not in known:
            suspects = (each for each in ancestors_of(kind) if not is_trusted(each))
            found = {name for each in suspects for name in methods if name in members_of(each)}
            # The class itself is kept, so that no other one gets its id.
            known[id(kind)] = (found, kind)
        return known[id(kind)][0]

    def base_of(kind):
        ancestors = ancestors_of(kind)
        return next((base for base in bases if any(each is base for each in ancestors)), None)

    def contents(value, base):
        if base is str:
            return str.__str__(value)
        if base in (bytes, bytearray, list, tuple):
            return base.__getitem__(value, slice(None))
        if base in (set, frozenset):
            return base(base.__iter__(value))
        if base is dict:
            return dict.copy(value)
        return base.__add__(value, base(0))

    def plain(value, done=None):
        kind = type(value)
        base = base_of(kind)
        if base is not None and kind is not base:
            if not redefined(kind):
                return value
            value = contents(value, base)
        if base not in (list, tuple, set, frozenset, dict):
            return value
        done = {} if done is None else done
        if id(value) not in done:
            # One that holds itself is kept there.
            done[id(value)] = (value, value)
            done[id(value)] = (with_plain_parts(value, base, done), value)
        return done[id(value)][0]

    def with_plain_parts(value, base, done):
        if base is dict:
            pairs = [(plain(key, done), plain(of, done)) for key, of in value.items()]
            before = value.items()
            if any(key is not old or of is not was for (key, of), (old, was) in zip(pairs, before)):
                return dict(pairs)
        elif not {id(type(part)) for part in value} <= scalars:
            parts = [plain(part, done) for part in value]
            if any(part is not old for part, old in zip(parts, value)):
                return base(parts)
        return value

    def near(value):
        kind = type(value)
        if any(kind is each for each in (int, float)):
            return [-value, value + 1, value * 10]
        if any(kind is each for each in (str, bytes)):
            more = "~" if kind is str else b"~"
            return [value.swapcase(), value + more, value[1:], value[::-1]]
        if any(kind is each for each in (list, tuple)):
            return [value[1:], value[::-1], value + kind([object()])]
        if kind is dict:
            return [dict(list(value.items())[1:]), {**value, object(): 0}]
        return []

    def check(value, other):
        if base_of(type(value)) is not None or not redefined(type(value)):
            return
        for one in [object(), *(each for each in near(other) if each != other)]:
            try:
                tolerates = value == one or not value != one
            except Exception:
                continue
            if tolerates is True:
                raise AssertionError("a value equals others than the expected one")

    def both(first, second):
        first, second = plain(first), plain(second)
        check(first, second)
        check(second, first)
        return first, second

    def inside(member, container):
        member, container = plain(member), plain(container)
        kind = type(container)
        if base_of(kind) is None and "__contains__" in redefined(kind):
            for one in [object(), os.urandom(5).hex()]:
                try:
                    holds = one in container
                except Exception:
                    continue
                if holds:
                    raise AssertionError("a value contains others than the expected one")
        return member, container

    def contained(member, container):
        member, container = inside(member, container)
        return member in container

    def equal(first, second):
        first, second = both(first, second)
        return first == second

    def differ(first, second):
        first, second = both(first, second)
        return first != second

    return plain, both, inside, contained, equal, differ


def _fillrate_compare_plainly(names):
    import ast
    import gc
    import types

    assertions = (
        "assertEqual assertEquals assertNotEqual assertAlmostEqual assertNotAlmostEqual "
        "assertCountEqual assertDictEqual assertListEqual assertSequenceEqual assertSetEqual "
        "assertTupleEqual assertMultiLineEqual assertGreater assertLess"
    ).split()
    memberships = ["assertIn", "assertNotIn"]

    def called(name, *arguments):
        return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])

    class Transformer(ast.NodeTransformer):
        def visit_Compare(self, node):
            self.generic_visit(node)
            sign = node.ops[0]
            if len(node.ops) > 1 or isinstance(sign, (ast.Is, ast.IsNot)):
                return node
            (right,) = node.comparators
            if isinstance(sign, (ast.Eq, ast.NotEq)):
                name = "_fillrate_equal" if isinstance(sign, ast.Eq) else "_fillrate_differ"
                return ast.copy_location(called(name, node.left, right), node)
            if isinstance(sign, (ast.In, ast.NotIn)):
                found = called("_fillrate_contained", node.left, right)
                found = found if isinstance(sign, ast.In) else ast.UnaryOp(ast.Not(), found)
                return ast.copy_location(found, node)
            node.left = called("_fillrate_plain", node.left)
            node.comparators = [called("_fillrate_plain", right)]
            return node

        def visit_Call(self, node):
            self.generic_visit(node)
            method = node.func.attr if isinstance(node.func, ast.Attribute) else None
            first = node.args[:2]
            is_plain = len(first) == 2 and not any(isinstance(one, ast.Starred) for one in first)
            if is_plain and method in assertions + memberships:
                name = "_fillrate_both" if method in assertions else "_fillrate_inside"
                node.args[:2] = [ast.Starred(called(name, *first), ast.Load())]
            return node

    def key_of(code):
        return code.co_name, code.co_firstlineno

    def codes_in(code):
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield constant
                yield from codes_in(constant)

    with open(names["__file__"], "rb") as file:
        tree = ast.parse(file.read())
    changed = ast.fix_missing_locations(Transformer().visit(tree))
    codes = {}
    for code in codes_in(compile(changed, names["__file__"], "exec", dont_inherit=True)):
        # Several functions of one line can't be told apart.
        codes[key_of(code)] = None if key_of(code) in codes else code
    for function in gc.get_objects():
        if type(function) is types.FunctionType and function.__globals__ is names:
            code = codes.get(key_of(function.__code__))
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                function.__code__ = code


(
    _fillrate_plain,
    _fillrate_both,
    _fillrate_inside,
    _fillrate_contained,
    _fillrate_equal,
    _fillrate_differ,
) = _fillrate_comparisons()
_fillrate_compare_plainly(globals())
