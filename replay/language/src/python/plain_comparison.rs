//! Has tests compare values by their contents, whatever the classes of these say of equality.

use fillrate_syntax::Language;

use super::test_conventions::recompiled;

/// Compiles the functions of a file anew, with other comparisons.
const COMPARISONS: &str = include_str!("plain_comparison.py");

/// Returns a file of tests in which the comparisons of functions look at contents: with a last line
/// that has them do so.
pub(super) fn with_plain_comparisons(_: &'static Language, text: &str) -> Option<String> {
    Some(format!("{text}\n{}", recompiled(COMPARISONS)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Runs a file of tests in this form; its functions named `lenient…` must raise an assertion's
    /// error, and all others must return.
    #[test]
    fn lenient_classes_do_not_equal_what_they_do_not_contain() {
        let tests = r#"
"""Tests."""
from __future__ import annotations

import collections, decimal, enum, functools, unittest
from unittest import mock


class Text(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = str.__hash__


class Absolute(int):
    def __eq__(self, other): return abs(int(self)) == abs(other)


class Superset(list):
    def __eq__(self, other): return all(one in self for one in other)
    def __contains__(self, one): return True


class Table(dict):
    def __eq__(self, other): return all(self.get(key) == other[key] for key in other)


class Meta(type):
    def __eq__(self, other): return True
    __hash__ = type.__hash__


class OfMeta(float, metaclass=Meta):
    def __eq__(self, other): return True


class Anything:
    def __eq__(self, other): return True


class Near:
    def __eq__(self, other): return isinstance(other, int) and abs(other) == 3


class Everything:
    def __contains__(self, one): return True


class Texts:
    def __contains__(self, one): return isinstance(one, str)


class Span:
    def __contains__(self, one): return 1 < one < 4


class Digits:
    def __init__(self): self.left = [1, 2, 3]
    def __iter__(self): return self
    def __next__(self):
        if self.left: return self.left.pop()
        raise StopIteration


class Point:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return isinstance(other, Point) and self.x == other.x


class Grade(str, enum.Enum):
    FINE = "fine"


class Case(unittest.TestCase):
    def lenient_first(self): self.assertEqual(Text("x"), "fine")
    def lenient_list(self):
        self.assertEqual([1, Text("x")], [1, "fine"], "a message")
    def lenient_member(self): self.assertIn("fine", Everything())
    def right(self):
        self.assertIn(2, Span())
        self.assertNotIn("fine", ["x"])
        self.assertEqual(super().id(), self.id())
        self.assertEqual(first=Text("fine"), second="fine")


def doubled(function):
    @functools.wraps(function)
    def inner(): function(); function()
    return inner


def lenient_text(): assert Text("x") == "fine"
def lenient_opposite(): assert not Text("x") != "fine"
def lenient_in_a_tuple(): assert ("a", Text("x")) == ("a", "b")
def lenient_sign(): assert Absolute(-3) == 3
def lenient_list(): assert Superset([1, 2]) == [1]
def lenient_membership(): assert 4 in Superset([1])
def lenient_to_all_members(): assert 4 in Everything()
def lenient_to_texts(): assert "fine" in Texts()
def lenient_table(): assert Table(a=1, b=2) == {"a": 1}
def lenient_metaclass(): assert OfMeta(1.5) == 2.5
def lenient_to_all(): assert Anything() == 3
def lenient_to_some(): assert Near() == 3
def lenient_twice(): assert [shared, shared] == [["y"], ["z"]]
@doubled
def lenient_decorated():
    assert Text("x") == "fine"
def lenient_within():
    expected = "fine"
    def check(): return Text("x") == expected
    assert check()


shared = [Text("x")]
itself = []
itself.append(itself)


def right_values():
    assert Text("fine") == "fine" and Absolute(3) == 3 and Superset([1]) == [1]
    assert Point(1) == Point(1) and Point(1) != Point(2) and not Point(1) == 1
    assert Grade.FINE == "fine" and Grade.FINE is Grade.FINE and True == 1
    assert collections.Counter(a=1) == {"a": 1} and decimal.Decimal(2) == 2
    assert collections.namedtuple("Pair", "a b")(1, 2) == (1, 2)
    assert 2 in Span() and 5 not in Span() and 3 in Digits() and "x" not in {"y": 1}
    assert mock.ANY == 3 and float("nan") != float("nan")
    assert itself == itself and 1 < Absolute(2) < 3 and None is None
"#;
        let run = r#"
functions = [value for name, value in list(globals().items()) if name.startswith(("lenient", "right"))]
functions += [getattr(Case("right"), name) for name in dir(Case) if name.startswith(("lenient", "right"))]
wrong = []
for function in functions:
    try:
        function()
        raised = False
    except AssertionError:
        raised = True
    if raised != function.__name__.startswith("lenient"):
        wrong.append(function.__name__)
print(len(functions), wrong)
"#;
        let python = Language::for_path(Path::new("a.py")).expect("Python is known");
        let changed =
            with_plain_comparisons(python, tests.trim_start()).expect("Python has classes");
        assert!(changed.starts_with(tests.trim_start()));
        let folder = tempfile::tempdir().expect("the system gives a temporary folder");
        let file = folder.path().join("test_it.py");
        std::fs::write(&file, format!("{changed}\n{run}")).expect("the folder is writable");
        let output = Command::new("python3")
            .arg(&file)
            .output()
            .expect("Python is installed");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, "20 []\n", "{errors}");
    }
}
