//! Prompts that ask a model for tests that notice surviving mutants or run more lines, and how the
//! tests are read from what it answers. Whether they are any good is the judge's to say.

use std::ops::Range;

use fillrate_language::mutate::neutral_mutant;
use fillrate_language::task::sha256_hex;
use fillrate_language::test_conventions::FoundTest;
use fillrate_language::{LANGUAGES, LanguageSupport};
use fillrate_server::model::ChatQuestion;
use fillrate_syntax::Language;
use fillrate_syntax::text::line_start;

/// Code whose tests miss faults or lines.
#[derive(Clone, Debug)]
pub(super) struct TestRequest<'a> {
    /// Its language.
    pub language: &'static Language,
    /// Its file's path in the project.
    pub path: &'a str,
    /// The file.
    pub contents: &'a str,
    /// The bytes of the file that the tests are for.
    pub range: Range<usize>,
    /// One of the project's files of tests, by its path in the project, to take after.
    pub example: (&'a str, &'a str),
    /// Faults or lines that no test notices or runs.
    pub missing: RequestedTests<'a>,
}

/// Goal of the requested tests.
#[derive(Clone, Debug)]
pub(super) enum RequestedTests<'a> {
    /// Faults that no test notices.
    Faults(Vec<SurvivingFault<'a>>),
    /// One-based lines of the file that no test runs.
    Lines(Vec<usize>),
}

/// A fault that no test notices.
#[derive(Clone, Copy, Debug)]
pub(super) struct SurvivingFault<'a> {
    /// Description in a line.
    pub description: &'a str,
    /// Change of the file, as a unified diff.
    pub diff: &'a str,
}

/// A file with one test, as a model proposes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestProposal {
    /// The test function's name.
    pub test: String,
    /// The file: the code around the model's tests, and this one of them.
    pub contents: String,
}

/// The longest stretch of the code under test that is shown, in bytes, where a single definition
/// is not longer.
const FOCUS_BYTES: usize = 6000;
/// The longest beginning of the example that is shown, in bytes.
const EXAMPLE_BYTES: usize = 4000;
/// The most faults that are shown in one request.
const FAULTS: usize = 20;

/// Returns the prompt for tests that notice faults: the same for the same focus.
pub(super) fn ask_for_tests(focus: &TestRequest<'_>) -> ChatQuestion {
    let conventions = LanguageSupport::for_language(focus.language).tests;
    let (framework, form) = (conventions.framework, conventions.form);
    let (given, aim) = match &focus.missing {
        RequestedTests::Faults(_) => (
            "faults: changes of the code that the project's tests do not notice",
            "pass with the code as it is and fail with at least one of the faults",
        ),
        RequestedTests::Lines(_) => (
            "lines of the code that the project's tests do not run",
            "pass with the code as it is and run at least one of the lines, edge and corner cases \
             among them",
        ),
    };
    let instructions = format!(
        "You write tests in {framework}. You get code of a project, one of the project's files of \
         tests, and {given}. Write tests that {aim}. Each \
         test is {form}. Each calls the code through the project's own modules, imported as the \
         file of tests does it, and asserts what the code does. No test reads source files, \
         replaces anything that others use, or hangs on time, chance or the network. Answer with \
         one code block that holds the imports and the tests, and with nothing else."
    );
    let fence = conventions.fence;
    let mut text = format!("The code, from {}:\n", focus.path);
    text.push_str(&block(fence, code_under_test(focus)));
    let (path, example) = focus.example;
    text.push_str(&format!("\nThe project's tests, from {path}:\n"));
    text.push_str(&block(fence, beginning(example, EXAMPLE_BYTES)));
    match &focus.missing {
        RequestedTests::Faults(faults) => {
            text.push_str("\nFaults that no test notices:\n");
            for (index, fault) in faults.iter().take(FAULTS).enumerate() {
                text.push_str(&format!("\n{}. {}\n", index + 1, fault.description));
                text.push_str(&block("diff", fault.diff));
            }
        }
        RequestedTests::Lines(lines) => {
            let wanted = focus.contents.lines().enumerate();
            let wanted: String = wanted
                .filter(|(index, _)| lines.contains(&(index + 1)))
                .map(|(_, line)| format!("{line}\n"))
                .collect();
            text.push_str("\nLines that no test runs:\n");
            text.push_str(&block(fence, &wanted));
        }
    }
    ChatQuestion { instructions, text }
}

/// The tests in an answer, each in a file of its own, so that a bad one takes no other with it.
/// Code outside tests, such as imports and fixtures, is in every file.
///
/// The first block of code that parses and has tests counts; an answer without any block counts as
/// one block. Tests that expand to several, by `parametrize`, `each` or `describe`, are left out.
pub(super) fn parse_tests(language: &'static Language, answer: &str) -> Vec<TestProposal> {
    let mut blocks = blocks(answer);
    if blocks.is_empty() {
        blocks.push(answer.to_owned());
    }
    blocks
        .iter()
        .map(|block| split_tests(language, block))
        .find(|proposals| !proposals.is_empty())
        .unwrap_or_default()
}

/// Path of a new file of tests: in the example's folder, with a name that the framework finds like
/// the example's. Equal code, contents and folder give an equal name.
pub(super) fn test_path(focus: &TestRequest<'_>, proposal: &TestProposal) -> String {
    let (example, _) = focus.example;
    let (folder, example) = match example.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), example),
    };
    let file = focus.path.rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    let word = format!("{}\0{}", focus.path, proposal.contents);
    let digest = &sha256_hex(word.as_bytes())[..12];
    let conventions = LanguageSupport::for_language(focus.language).tests;
    folder + &(conventions.file_name)(example, stem, digest)
}

/// The file with other text and other compiled code that does the same: with [`neutral_mutant`] in
/// the range, and in Python as one statement that runs the text from its bytes in hexadecimal
/// digits. A test that fails with it looks at how the code is written. Constants stay constants, so
/// that one that looks for them in compiled code is found by [`names_code_objects`].
pub(super) fn disguise(language: &'static Language, contents: &str, range: Range<usize>) -> String {
    let text = neutral_mutant(language, contents, range)
        .map_or_else(|| contents.to_owned(), |edit| edit.apply(contents));
    (LanguageSupport::for_language(language).tests.recompiled)(&text)
}

/// True if a test spells the name under which a language keeps a function's compiled code. What it
/// finds there says how a function is written, not what it does.
pub(super) fn names_code_objects(contents: &str) -> bool {
    LANGUAGES
        .iter()
        .filter_map(|language| language.tests.code_object)
        .any(|name| contents.contains(name))
}

/// The largest definition around the faults that is not too long, or the whole file; at least the
/// innermost definition.
fn code_under_test<'a>(focus: &TestRequest<'a>) -> &'a str {
    let tree = focus.language.parse(focus.contents);
    let Range { start, end } = focus.range;
    let mut node = tree.root_node().descendant_for_byte_range(start, end);
    let mut best: Option<Range<usize>> = None;
    while let Some(current) = node {
        let whole = current.parent().is_none();
        if whole || focus.language.is_definition(current) {
            let range = if whole {
                0..focus.contents.len()
            } else {
                current.byte_range()
            };
            // The innermost definition is shown whole, however long it is.
            if best.is_some() && range.len() > FOCUS_BYTES {
                break;
            }
            best = Some(range);
        }
        node = current.parent();
    }
    let range = best.unwrap_or(0..focus.contents.len());
    // The indentation of the first line belongs to the code.
    let line = line_start(focus.contents, range.start);
    &focus.contents[line..range.end]
}

/// The beginning of a text, in whole lines.
fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = text
        .char_indices()
        .filter(|(at, c)| *c == '\n' && *at < most)
        .map(|(at, _)| at + 1)
        .next_back();
    &text[..end.unwrap_or_default()]
}

/// A text in a fence that is longer than any in it.
fn block(name: &str, text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    // A text with a fence in it would end a shorter one.
    let fence = "`".repeat(3.max(longest + 1));
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{name}\n{text}{end}{fence}\n")
}

/// The fenced blocks of an answer. One that was cut off goes to the end.
fn blocks(answer: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for line in answer.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match &mut open {
            None if ticks >= 3 => open = Some((ticks, String::new())),
            None => {}
            Some((fence, text)) if ticks >= *fence && line.trim().len() == ticks => {
                blocks.push(std::mem::take(text));
                open = None;
            }
            Some((_, text)) => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    blocks.extend(open.map(|(_, text)| text));
    blocks
}

/// A file of several tests as several files of one.
fn split_tests(language: &'static Language, text: &str) -> Vec<TestProposal> {
    let tree = language.parse(text);
    // A block that was cut off by the token limit does not parse.
    if tree.root_node().has_error() {
        return Vec::new();
    }
    let mut cursor = tree.root_node().walk();
    let conventions = LanguageSupport::for_language(language).tests;
    let tests: Vec<FoundTest> = tree
        .root_node()
        .named_children(&mut cursor)
        .filter_map(|node| (conventions.test_in)(node, text))
        .collect();
    let single = tests
        .iter()
        .enumerate()
        // A test without a name of its own expands to several ids, so no single id can be judged.
        .filter_map(|(index, test)| Some((index, test.name.as_ref()?)));
    single
        .map(|(kept, name)| {
            let mut contents = String::new();
            let mut at = 0;
            for (index, FoundTest { range, .. }) in tests.iter().enumerate() {
                if index != kept {
                    contents.push_str(&text[at..range.start]);
                    let rest = &text[range.end..];
                    // Blank lines after a removed test go with it.
                    at = range.end + (rest.len() - rest.trim_start_matches('\n').len());
                }
            }
            contents.push_str(&text[at..]);
            TestProposal {
                test: name.clone(),
                contents: contents.trim_end().to_owned() + "\n",
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python() -> &'static Language {
        Language::by_id("python").expect("it is in the table")
    }

    fn focus(contents: &str) -> TestRequest<'_> {
        let start = contents.find("a + 1").expect("it is there");
        TestRequest {
            language: python(),
            path: "src/m.py",
            contents,
            range: start..start + 5,
            example: ("tests/test_m.py", "from m import f\n"),
            missing: RequestedTests::Faults(vec![SurvivingFault {
                description: "line 2: AOR: \"+\" → \"-\"",
                diff: "-    return a + 1\n+    return a - 1\n",
            }]),
        }
    }

    #[test]
    fn a_model_is_asked_with_code_tests_and_faults() {
        let asked = ask_for_tests(&focus("def f(a):\n    return a + 1\n"));
        insta::assert_snapshot!(asked.text, @r#"
        The code, from src/m.py:
        ```python
        def f(a):
            return a + 1
        ```

        The project's tests, from tests/test_m.py:
        ```python
        from m import f
        ```

        Faults that no test notices:

        1. line 2: AOR: "+" → "-"
        ```diff
        -    return a + 1
        +    return a - 1
        ```
        "#);
    }

    #[test]
    fn of_a_long_file_the_definition_is_shown() {
        let code = "class A:\n    def f(a):\n        return a + 1\n";
        let long = format!("{}{code}", "x = 1\n".repeat(2000));
        assert_eq!(code_under_test(&focus(&long)), code.trim_end());
        let fenced = block("python", "a = '````'\n");
        assert!(fenced.starts_with("`````python\n") && fenced.ends_with("\n`````\n"));
    }

    #[test]
    fn every_test_of_an_answer_becomes_a_file() {
        let answer = "Here:\n```python\nimport pytest\n\nfrom m import f\n\n\ndef one():\n    \
            return 1\n\n\ndef test_a():\n    assert f(1) == 2\n\n\n\
            @pytest.mark.parametrize('a', [1])\ndef test_b(a):\n    assert f(a)\n\n\n\
            @pytest.mark.skipif(False, reason='')\ndef test_c():\n    assert f(0) == one()\n```\nBye.\n";
        let found = parse_tests(python(), answer);
        let names: Vec<&str> = found.iter().map(|found| found.test.as_str()).collect();
        assert_eq!(names, ["test_a", "test_c"]);
        insta::assert_snapshot!(found[1].contents, @r"
        import pytest

        from m import f


        def one():
            return 1


        @pytest.mark.skipif(False, reason='')
        def test_c():
            assert f(0) == one()
        ");
        assert!(!found[0].contents.contains("test_b"));
        assert_eq!(parse_tests(python(), "I can't."), []);
        assert_eq!(parse_tests(python(), "```python\ndef test_a(:\n```\n"), []);
        let bare = parse_tests(python(), "def test_a():\n    assert True\n");
        assert_eq!(bare.len(), 1);
        let cut = parse_tests(python(), "```\ndef test_a():\n    assert True\n");
        assert_eq!(cut, bare);
    }

    #[test]
    fn every_typescript_test_becomes_a_file() {
        let typescript = Language::by_id("typescript").expect("it is in the table");
        let answer = "```typescript\nimport { expect, it, test } from 'vitest';\nimport { f } from \
            '../src/m';\n\nconst one = () => 1;\n\ntest('adds', () => {\n  expect(f(1)).toBe(2);\n\
            });\n\ntest.each([1])('is %i', (a) => {\n  expect(f(a)).toBe(a);\n});\n\n\
            it(\"counts\", () => {\n  expect(f(0)).toBe(one());\n});\n\ndescribe('f', () => {\n  \
            it('is', () => {});\n});\n\ntest('it\\'s', () => {});\n```\n";
        let found = parse_tests(typescript, answer);
        let names: Vec<&str> = found.iter().map(|found| found.test.as_str()).collect();
        assert_eq!(names, ["adds", "counts"]);
        insta::assert_snapshot!(found[1].contents, @r#"
        import { expect, it, test } from 'vitest';
        import { f } from '../src/m';

        const one = () => 1;

        it("counts", () => {
          expect(f(0)).toBe(one());
        });
        "#);
        let code = "export const f = (a: number) => a + 1;\n";
        let mut focus = focus(code);
        (focus.language, focus.path) = (typescript, "src/m.ts");
        focus.example = ("tests/m.test.ts", "");
        let name = test_path(&focus, &found[0]);
        assert!(name.starts_with("tests/added_m_") && name.ends_with(".test.ts"));
        let asked = ask_for_tests(&focus);
        assert!(asked.instructions.contains("vitest") && asked.text.contains("```typescript\n"));
    }

    #[test]
    fn a_file_of_tests_is_named_after_code_and_contents() {
        let code = "def f(a):\n    return a + 1\n";
        let mut focus = focus(code);
        let proposal = |contents: &str| TestProposal {
            test: "test_a".to_owned(),
            contents: contents.to_owned(),
        };
        let name = test_path(&focus, &proposal("1"));
        insta::assert_snapshot!(name, @"tests/test_added_m_d12d00692904.py");
        assert_eq!(name, test_path(&focus, &proposal("1")));
        assert_ne!(name, test_path(&focus, &proposal("2")));
        focus.example.0 = "m_test.py";
        let name = test_path(&focus, &proposal("1"));
        assert!(name.starts_with("added_m_") && name.ends_with("_test.py"));
    }
}
