//! Twins: questions whose right answer the code under test can't know.
//!
//! A twin is a test changed so that the reference fails it: an expected literal is altered, or an
//! assertion is turned into its complement. It runs under the same name, in the same file, among
//! tests that are left as they are, and which of them are twins is drawn outside the sandbox for
//! each verdict. Code that passes the tests by being right fails the twins; code that forges
//! outcomes, silences assertions or reads the answers out of the tests passes them.

use std::ops::Range;

use fillrate_syntax::Language;
use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use super::LanguageSupport;
use super::source::is_too_deep;

/// A function of a file of tests, and the edits of which each makes a twin of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFunction {
    /// What it is called, with the names of what it stands in before it: classes, or the titles of
    /// `describe`. A title with placeholders has `\0` in their place.
    pub names: Vec<String>,
    /// Edits that each alter an expected literal, one of every assertion before a second of any.
    /// That the reference fails a twin is not known before it is run.
    pub altered: Vec<SourceEdit>,
    /// Edits that each turn an assertion into its complement, in the order of the assertions.
    pub complements: Vec<SourceEdit>,
}

impl TestFunction {
    /// A function with the edits of each of its assertions.
    pub(super) fn new(names: Vec<String>, assertions: Vec<AssertionEdits>) -> Self {
        let most = assertions.iter().map(|edits| edits.altered.len()).max();
        let nth = |index: usize| {
            let last_first = assertions.iter().rev();
            last_first.filter_map(move |edits| edits.altered.get(index).cloned())
        };
        Self {
            names,
            altered: (0..most.unwrap_or(0)).flat_map(nth).collect(),
            complements: assertions
                .iter()
                .filter_map(|edits| edits.complement.clone())
                .collect(),
        }
    }
}

/// The edits of one assertion.
#[derive(Clone, Debug, Default)]
pub(super) struct AssertionEdits {
    /// Edits that each alter a literal of what the code's value is compared with.
    pub(super) altered: Vec<SourceEdit>,
    /// The edit that makes it say the opposite.
    pub(super) complement: Option<SourceEdit>,
}

/// The other word of the pair that has this one.
pub(super) fn opposite(word: &str, pairs: &[(&'static str, &'static str)]) -> Option<&'static str> {
    pairs.iter().find_map(|(one, other)| {
        (word == *one)
            .then_some(*other)
            .or_else(|| (word == *other).then_some(*one))
    })
}

/// A change of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceEdit {
    /// The bytes that are replaced.
    pub(crate) range: Range<usize>,
    /// What takes their place.
    pub(crate) replacement: String,
}

impl SourceEdit {
    pub(super) fn new(range: Range<usize>, replacement: &str) -> Self {
        Self {
            range,
            replacement: replacement.to_owned(),
        }
    }

    /// Several edits as one; `None` for none.
    pub(super) fn joined(mut parts: Vec<Self>, text: &str) -> Option<Self> {
        parts.sort_by_key(|part| part.range.start);
        let range = parts.first()?.range.start..parts.last()?.range.end;
        let replacement = apply_within(&parts, text, range.clone());
        Some(Self { range, replacement })
    }
}

/// The text with these edits made. Of two that overlap, the later one is left out.
pub fn apply(edits: &[&SourceEdit], text: &str) -> String {
    let mut sorted: Vec<SourceEdit> = edits.iter().map(|edit| (*edit).clone()).collect();
    sorted.sort_by_key(|edit| edit.range.start);
    apply_within(&sorted, text, 0..text.len())
}

fn apply_within(sorted: &[SourceEdit], text: &str, range: Range<usize>) -> String {
    let mut result = String::new();
    let mut at = range.start;
    for edit in sorted {
        if edit.range.start < at {
            continue;
        }
        result.push_str(&text[at..edit.range.start]);
        result.push_str(&edit.replacement);
        at = edit.range.end;
    }
    result.push_str(&text[at..range.end]);
    result
}

/// Lists the functions of a file that may be tests, with the edits that make twins of them.
pub fn test_functions(language: &Language, text: &str) -> Vec<TestFunction> {
    let tree = language.parse(text);
    if is_too_deep(&tree) {
        return Vec::new();
    }
    let conventions = LanguageSupport::for_language(language).tests;
    (conventions.test_functions)(tree.root_node(), text)
}

/// Tree-sitter's kinds of the literals that can be altered, and what is never looked into.
#[derive(Clone, Copy)]
pub(super) struct LiteralKinds {
    pub(super) numbers: &'static [&'static str],
    /// Kinds of what stands between a string's quotes.
    pub(super) strings: &'static [&'static str],
    pub(super) booleans: [&'static str; 2],
    pub(super) boolean_kinds: &'static [&'static str],
    /// The kind of the null literal, and what takes its place.
    pub(super) nothing: (&'static str, &'static str),
    /// Kinds whose literals are inputs and no expectations.
    pub(super) untouched: &'static [&'static str],
}

/// The edits of which each alters one literal of an expected value; the last literal first, for
/// the first is more often a key.
pub(super) fn altered_literals(
    expected: Node<'_>,
    text: &str,
    kinds: LiteralKinds,
) -> Vec<SourceEdit> {
    let mut edits = Vec::new();
    find_literals(expected, text, kinds, &mut edits);
    edits.reverse();
    edits
}

fn find_literals(node: Node<'_>, text: &str, kinds: LiteralKinds, edits: &mut Vec<SourceEdit>) {
    let kind = node.kind();
    if kinds.untouched.contains(&kind) {
        return;
    }
    let source = &text[node.byte_range()];
    let replacement = if kinds.numbers.contains(&kind) {
        altered_number(source)
    } else if kinds.strings.contains(&kind) {
        altered_string(source)
    } else if kinds.boolean_kinds.contains(&kind) {
        let [yes, no] = kinds.booleans;
        Some(if source == yes { no } else { yes }.to_owned())
    } else if kind == kinds.nothing.0 {
        Some(kinds.nothing.1.to_owned())
    } else {
        None
    };
    match replacement {
        Some(replacement) => edits.push(SourceEdit::new(node.byte_range(), &replacement)),
        None => {
            for child in named_children(node) {
                find_literals(child, text, kinds, edits);
            }
        }
    }
}

/// Another number that looks like this one: its last digit is another. `None` where it is not
/// written in plain decimal digits.
fn altered_number(source: &str) -> Option<String> {
    // What says which type it is of is kept.
    let is_plain = source
        .trim_end_matches(['L', 'l', 'F', 'f', 'D', 'd'])
        .chars()
        .all(|digit| digit.is_ascii_digit() || digit == '.' || digit == '_');
    let last = source.rfind(|digit: char| digit.is_ascii_digit())?;
    if !is_plain {
        return None;
    }
    let digit = source.as_bytes()[last];
    let other = if digit == b'9' { b'8' } else { digit + 1 };
    let mut bytes = source.as_bytes().to_vec();
    bytes[last] = other;
    String::from_utf8(bytes).ok()
}

/// Another string that looks like this one: its last letter or digit is another. `None` where it
/// has neither, or an escape, whose letters are not the string's.
fn altered_string(source: &str) -> Option<String> {
    let (at, letter) = source
        .char_indices()
        .rev()
        .find(|(at, letter)| letter.is_ascii_alphanumeric() && !source[..*at].ends_with(['%', '{']))
        .filter(|_| !source.contains('\\') && !source.contains("${"))?;
    let other = match letter {
        '9' => '8',
        'z' => 'y',
        'Z' => 'Y',
        letter => char::from_u32(u32::from(letter) + 1)?,
    };
    let mut result = source.to_owned();
    result.replace_range(at..=at, &other.to_string());
    Some(result)
}

/// One edit that alters a literal of each of these cells of a table of expectations.
pub(super) fn altered_cells<'t>(
    cells: impl Iterator<Item = Node<'t>>,
    text: &str,
    kinds: LiteralKinds,
) -> Vec<SourceEdit> {
    let parts = cells.filter_map(|cell| altered_literals(cell, text, kinds).into_iter().next());
    let edit = SourceEdit::joined(parts.collect(), text);
    edit.into_iter().collect()
}

/// The loop around `used` over a table that is written out, such as `for a, b in [(1, 2), (3, 4)]`:
/// the cells of the variable that is used there, if that is the loop's. Of a loop within `body`, a
/// test's, only the last row: all rows before are the test's as well. `loops` are the kinds of loops,
/// of the patterns of their variables, and of tables and rows.
pub(super) fn loop_cells<'t>(
    used: Node<'t>,
    body: Node<'t>,
    text: &str,
    loops: (&str, &[&str], &[&str]),
) -> Option<Vec<Node<'t>>> {
    let (kind, patterns, lists) = loops;
    let name = &text[used.byte_range()];
    let mut around = used.parent();
    while let Some(node) = around {
        around = node.parent();
        if node.kind() != kind {
            continue;
        }
        let left = node.child_by_field_name("left")?;
        let table = node.child_by_field_name("right")?;
        let names = match patterns.contains(&left.kind()) {
            true => named_children(left),
            false => vec![left],
        };
        let is_name = |node: &Node<'_>| &text[node.byte_range()] == name;
        let Some(index) = names.iter().position(is_name) else {
            continue;
        };
        if !lists.contains(&table.kind()) {
            return None;
        }
        let cell = |row: Node<'t>| match (names.len(), lists.contains(&row.kind())) {
            (1, _) => Some(row),
            (_, true) => named_children(row).get(index).copied(),
            (_, false) => None,
        };
        let mut cells: Vec<Node<'t>> = named_children(table).into_iter().filter_map(cell).collect();
        if body.byte_range().contains(&node.start_byte()) {
            cells.drain(..cells.len().saturating_sub(1));
        }
        return Some(cells);
    }
    None
}

/// The value of a variable that a test sets once and uses once more, at `used`: what it compares
/// with and nothing else. `assignments` are the kinds of nodes that set one, each with the names of
/// the fields of its target and its value.
pub(super) fn value_used_once<'t>(
    used: Node<'t>,
    body: Node<'t>,
    text: &str,
    assignments: (&str, &str, &str),
) -> Option<Node<'t>> {
    let (kind, target, value) = assignments;
    let name = &text[used.byte_range()];
    let mut values = Vec::new();
    let mut uses = 0;
    let mut left = vec![body];
    while let Some(node) = left.pop() {
        if node.kind() == "identifier" && &text[node.byte_range()] == name {
            uses += 1;
        }
        let is_target = |node: Node<'_>| &text[node.byte_range()] == name;
        if node.kind() == kind && node.child_by_field_name(target).is_some_and(is_target) {
            values.extend(node.child_by_field_name(value));
        }
        left.extend(named_children(node));
    }
    match values.as_slice() {
        [value] if uses == 2 => Some(*value),
        _ => None,
    }
}

/// What stands between a literal's quotes.
pub(super) fn unquoted(source: &str) -> &str {
    source.trim_matches(['"', '\'', '`'])
}

pub(super) fn named_children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Every twin of every test of a file, as the line that it changes, and every one parses.
    fn twins_of(path: &str, text: &str) -> Vec<String> {
        let language = Language::for_path(Path::new(path)).expect("a language of the table");
        let mut lines = Vec::new();
        for function in test_functions(language, text) {
            lines.push(function.names.join(" > ").replace('\0', "*"));
            for twin in function.altered.iter().chain(&function.complements) {
                let changed = apply(&[twin], text);
                assert!(language.parses(&changed), "{changed}");
                let (before, after): (Vec<&str>, Vec<&str>) =
                    (text.lines().collect(), changed.lines().collect());
                assert_eq!(before.len(), after.len());
                let differing = before.iter().zip(&after).filter(|(a, b)| a != b);
                lines.extend(differing.map(|(_, line)| format!("  {}", line.trim())));
            }
        }
        lines
    }

    #[test]
    fn python_assertions_have_altered_and_opposite_twins() {
        let text = r#"
import pytest

@pytest.mark.parametrize("a, expected", [(1, 2), (3, "four")])
def test_table(a, expected):
    assert f(a) == expected

class TestF(unittest.TestCase):
    def test_methods(self):
        self.assertEqual(f(1), {"a": 2})
        self.assertTrue(f(2))

def test_plain():
    assert f(3) is None, "message 1"
    assert f(4) == [1, g(2)]
    assert not f(5)
    assert f(6) > 1
    with pytest.raises(ValueError, match="x"):
        f(7)

def test_tables():
    expected = {"total": 7}
    assert f(8) == expected
    for a, b in [(1, 2), (3, 4)]:
        assert f(a) == b
    assert f(9) == approx(0.5) and g(1) == 2

def nothing_to_change():
    return f(3) == 4
"#;
        assert_eq!(
            twins_of("test_f.py", text),
            [
                "test_table",
                "  @pytest.mark.parametrize(\"a, expected\", [(1, 3), (3, \"fous\")], ids=[\"1-2\", \"3-four\"])",
                "  assert f(a) != expected",
                "TestF > test_methods",
                "  self.assertEqual(f(1), {\"a\": 3})",
                "  self.assertEqual(f(1), {\"b\": 2})",
                "  self.assertNotEqual(f(1), {\"a\": 2})",
                "  self.assertFalse(f(2))",
                "test_plain",
                "  assert f(4) == [2, g(2)]",
                "  assert f(3) is not None, \"message 1\"",
                "  assert f(4) != [1, g(2)]",
                "  assert f(5)",
                "  assert not (f(6) > 1)",
                "  with pytest.raises(type(\"ValueError\", (Exception,), {}), match=\"x\"):",
                "test_tables",
                "  assert f(9) == approx(0.6) and g(1) == 2",
                "  for a, b in [(1, 2), (3, 5)]:",
                "  expected = {\"total\": 8}",
                "  assert f(9) == approx(0.5) and g(1) == 3",
                "  expected = {\"totam\": 7}",
                "  assert f(8) != expected",
                "  assert f(a) != b",
                "  assert not (f(9) == approx(0.5) and g(1) == 2)",
                "nothing_to_change",
            ]
        );
    }

    #[test]
    fn typescript_assertions_have_altered_and_opposite_twins() {
        let text = r#"
describe('f', () => {
  it("adds", async () => {
    expect(f(1)).toEqual({ a: 2 });
    await expect(f(2)).resolves.not.toBe(3);
    expect(f(3)).to.equal('four');
  });
  test.each([1, 2])('case %i of', (n) => expect(f(n)).toBeGreaterThan(0));
});
test('asserts', () => {
  assert.deepEqual(f(1), [2]);
  assert(f(2));
  expect(f(3)).toMatchSnapshot();
});
test.each([[1, 2], [3, 4]])('row %i', (a, b) => {
  expect(f(a)).toBe(b);
});
for (const [a, b] of [[1, "x"], [2, "y"]]) {
  it(`row ${a}`, () => {
    const expected = { c: 3 };
    expect(f(a)).toBe(b);
    expect(f(a) === 4).toBe(true);
    expect(g(a)).toEqual(expected);
  });
}
"#;
        assert_eq!(
            twins_of("f.test.ts", text),
            [
                "f > adds",
                "  expect(f(3)).to.equal('fous');",
                "  expect(f(1)).toEqual({ a: 3 });",
                "  expect(f(1)).not.toEqual({ a: 2 });",
                "  await expect(f(2)).resolves.toBe(3);",
                "  expect(f(3)).to.not.equal('four');",
                "f > case * of",
                "  test.each([1, 2])('case %i of', (n) => expect(f(n)).not.toBeGreaterThan(0));",
                "asserts",
                "  assert.deepEqual(f(1), [3]);",
                "  assert.notDeepEqual(f(1), [2]);",
                "  assert(!(f(2)));",
                "row *",
                "  test.each([[1, 3], [3, 5]])('row %i', (a, b) => {",
                "  expect(f(a)).not.toBe(b);",
                "row *",
                "  const expected = { c: 4 };",
                "  expect(f(a) === 4).toBe(false);",
                "  for (const [a, b] of [[1, \"y\"], [2, \"z\"]]) {",
                "  expect(f(a) === 5).toBe(true);",
                "  expect(f(a)).not.toBe(b);",
                "  expect(f(a) === 4).not.toBe(true);",
                "  expect(g(a)).not.toEqual(expected);",
            ]
        );
    }

    #[test]
    fn go_assertions_have_altered_and_opposite_twins() {
        let text = r#"package f

func TestPlain(t *testing.T) {
	if got := f(1); got != 2 {
		t.Errorf("got %d", got)
	}
	want := "four"
	if got := f(2); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if f(3) == 4 {
		log("no assertion")
	}
}

func TestTable(t *testing.T) {
	tests := []struct{ in, want int }{{1, 2}, {in: 3, want: 4}}
	for _, tt := range tests {
		t.Run("x", func(t *testing.T) {
			if got, err := f(tt.in); err != nil || got != tt.want {
				t.Fatal(err)
			}
		})
	}
	for in, want := range map[string]bool{"a": true} {
		if f(in) != want {
			t.Fail()
		}
	}
}

func TestTestify(t *testing.T) {
	assert.Equal(t, 14, f(1))
	require.NoError(t, g())
}

func Testify() {}
"#;
        assert_eq!(
            twins_of("f_test.go", text),
            [
                "TestPlain",
                "  want := \"fous\"",
                "  if got := f(1); got != 3 {",
                "  if got := f(1); !(got != 2) {",
                "  if got := f(2); !(!reflect.DeepEqual(got, want)) {",
                "TestTable",
                "  for in, want := range map[string]bool{\"a\": false} {",
                "  tests := []struct{ in, want int }{{1, 3}, {in: 3, want: 5}}",
                "  if got, err := f(tt.in); !(err != nil || got != tt.want) {",
                "  if !(f(in) != want) {",
                "TestTestify",
                "  assert.Equal(t, 15, f(1))",
                "  assert.NotEqual(t, 14, f(1))",
                "  require.Error(t, g())",
            ]
        );
    }

    #[test]
    fn java_assertions_have_altered_and_opposite_twins() {
        let text = r#"package f;

class FTest {
    @Test
    void plain() {
        assertEquals(2, f(1));
        String want = "four";
        assertEquals(want, f(2), "message 1");
        assertEquals(0.5, f(3), 0.01);
        assertTrue(f(4).ok());
        assertThrows(IllegalStateException.class, () -> f(5));
        assertThat(f(6)).as("six").isEqualTo(List.of(7L, 8L));
        assertArrayEquals(new int[] {1, 2}, f(7));
        check(9);
    }

    @Nested
    class Inner {
        @ParameterizedTest
        @ValueSource(ints = {1, 2})
        void small(int n) {
            Assertions.assertFalse(f(n));
        }

        void helper() { assertTrue(f(8)); }
    }
}
"#;
        assert_eq!(
            twins_of("FTest.java", text),
            [
                "FTest > plain",
                "  assertArrayEquals(new int[] {1, 3}, f(7));",
                "  assertThat(f(6)).as(\"six\").isEqualTo(List.of(7L, 9L));",
                "  assertEquals(0.6, f(3), 0.01);",
                "  String want = \"fous\";",
                "  assertEquals(3, f(1));",
                "  assertArrayEquals(new int[] {2, 2}, f(7));",
                "  assertThat(f(6)).as(\"six\").isEqualTo(List.of(8L, 8L));",
                "  assertNotEquals(2, f(1));",
                "  assertNotEquals(want, f(2), \"message 1\");",
                "  assertFalse(f(4).ok());",
                "  assertThat(f(6)).as(\"six\").isNotEqualTo(List.of(7L, 8L));",
                "FTest > Inner > small",
                "  Assertions.assertTrue(f(n));"
            ]
        );
    }

    #[test]
    fn altered_literals_stay_literals_of_their_kind() {
        assert_eq!(altered_number("14").as_deref(), Some("15"));
        assert_eq!(altered_number("1.9").as_deref(), Some("1.8"));
        assert_eq!(altered_number("0x1f"), None);
        assert_eq!(altered_number("10L").as_deref(), Some("11L"));
        assert_eq!(altered_string("a b!").as_deref(), Some("a c!"));
        assert_eq!(altered_string("\\n"), None);
        assert_eq!(altered_string("--"), None);
    }
}
