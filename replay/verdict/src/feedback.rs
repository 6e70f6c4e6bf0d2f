//! The feedback that a model gets on its own failing completion.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::outcome::Verdict;
use super::runner::layout::REPOSITORY;

/// The most characters of feedback: some 2,000 tokens, so that the prompt still consists mostly of
/// code.
pub const MOST_CHARACTERS: usize = 7_000;

/// The most tests that are named.
pub const MOST_TESTS: usize = 10;

impl Verdict {
    /// Describes the failure for a model that repairs it: the verdict's reason, the failed tests
    /// and their messages, at most [`MOST_CHARACTERS`].
    ///
    /// Hostile code may write what tests print. The text has no control characters but line breaks
    /// and tabs, and its paths reveal nothing of the machine: the project's are relative, others
    /// are reduced to the file name. The text stays untrusted: a prompt with it must state that.
    pub fn feedback(&self) -> String {
        let mut text = format!("{}: {}\n", self.outcome.name(), self.reason);
        for test in self.failed.iter().take(MOST_TESTS) {
            text.push_str(&format!("failed: {test}\n"));
        }
        if self.failed.len() > MOST_TESTS {
            let more = self.failed.len() - MOST_TESTS;
            text.push_str(&format!("and {more} more\n"));
        }
        text.push_str(self.output.trim_end());
        cut(relative(&without_control_characters(&text)).trim_end())
    }
}

/// Removes what a terminal would obey: control sequences, control characters but line breaks and
/// tabs, and characters that turn the direction of text or end lines.
pub fn without_control_characters(text: &str) -> String {
    static SEQUENCE: LazyLock<Regex> = LazyLock::new(|| {
        // Control sequences and operating system commands, ECMA-48 §5.4 and §8.3.89.
        Regex::new("\u{1b}(\\[[0-?]*[ -/]*[@-~]|\\][^\u{7}\u{1b}]*(\u{7}|\u{1b}\\\\)|[@-_])")
            .expect("the pattern is a constant, compiled in tests")
    });
    SEQUENCE
        .replace_all(&text.replace("\r\n", "\n"), "")
        .chars()
        .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'))
        .filter(|character| !is_invisible_control(*character))
        .collect()
}

/// Returns true for a character that changes how others are shown: marks, embeddings, overrides and
/// isolates of the bidirectional algorithm (Unicode Standard Annex 9), and separators of lines and
/// paragraphs.
fn is_invisible_control(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Makes absolute paths relative to the project, or reduces them to the file name.
fn relative(text: &str) -> String {
    static PATH: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:file://)?(?P<path>(?:/[\w.@+~-]+){2,})")
            .expect("the pattern is a constant, compiled in tests")
    });
    PATH.replace_all(text, |found: &Captures<'_>| {
        let whole = found.get(0).map_or(0..0, |whole| whole.range());
        let path = &found["path"];
        // What follows a name is the rest of a relative path, and of `//` an address.
        let before = text[..whole.start].chars().next_back();
        let is_rest = before.is_some_and(|before| {
            before.is_alphanumeric() || matches!(before, '_' | '.' | '-' | '~' | '@' | '+' | '/')
        });
        if is_rest && !found[0].starts_with("file://") {
            return found[0].to_owned();
        }
        match path.strip_prefix(REPOSITORY) {
            // The name of a longer folder may begin with the same text.
            Some(inside) if inside.starts_with('/') => inside[1..].to_owned(),
            _ => path.rsplit('/').next().unwrap_or(path).to_owned(),
        }
    })
    .into_owned()
}

/// Removes the middle of a text that is too long: its beginning and end are the most informative.
fn cut(text: &str) -> String {
    let length = text.chars().count();
    if length <= MOST_CHARACTERS {
        return text.to_owned();
    }
    let mark = "\n[…]\n";
    let left = MOST_CHARACTERS - mark.chars().count();
    let beginning: String = text.chars().take(left * 2 / 3).collect();
    let end: String = text.chars().skip(length - left / 3).collect();
    [&beginning, mark, &end].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::outcome::Outcome;

    fn verdict(output: &str) -> Verdict {
        Verdict {
            reason: "tests/test_a.py::test_one failed".to_owned(),
            failed: vec!["tests/test_a.py::test_one".to_owned()],
            output: output.to_owned(),
            ..Verdict::from_outcome(Outcome::Failed)
        }
    }

    #[test]
    fn feedback_has_tests_and_messages_and_no_machine_paths() {
        let output = "\n--- tests/test_a.py::test_one\n/box/repo/src/a.py:3: \u{1b}[31mAssertionError\u{1b}[0m: 1 != 2\r\n  File \"/opt/python/versions/3.11.7/lib/python3.11/unittest/mock.py\", line 3\n    at file:///box/repo/tests/a.test.ts:1:2\n    at file:///box/node_modules/@vitest/runner/dist/hooks.js:155:11\n1/2 a/b/c https://example.org/a/b\n\u{1b}]0;title\u{7}\u{8}end\n";
        insta::assert_snapshot!(verdict(output).feedback(), @r#"
failed: tests/test_a.py::test_one failed
failed: tests/test_a.py::test_one

--- tests/test_a.py::test_one
src/a.py:3: AssertionError: 1 != 2
  File "mock.py", line 3
    at tests/a.test.ts:1:2
    at hooks.js:155:11
1/2 a/b/c https://example.org/a/b
end
"#);
    }

    #[test]
    fn feedback_names_at_most_ten_tests() {
        let mut verdict = verdict("");
        verdict.failed = (0..15).map(|index| format!("test_{index}")).collect();
        let feedback = verdict.feedback();
        assert!(
            feedback.contains("failed: test_9\nand 5 more"),
            "{feedback}"
        );
    }

    proptest! {
        #[test]
        fn feedback_is_bounded_and_plain(output in r"(\PC|[\x00-\x1f]|/box/repo/a|/opt/x/y|aaaa ){0,80}", times in 1_usize..200) {
            let feedback = verdict(&output.repeat(times)).feedback();
            prop_assert!(feedback.chars().count() <= MOST_CHARACTERS);
            let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
            prop_assert!(!feedback.contains(steers));
        }
    }
}
