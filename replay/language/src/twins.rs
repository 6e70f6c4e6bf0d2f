//! Twins: altered tests whose expected outcome the code under test can't know.
//!
//! A twin is a test changed so that the reference fails it: an expected literal is altered, or an
//! assertion is turned into its complement. It runs under the same name, in the same file, among
//! tests that are unchanged, and which of them are twins is drawn outside the sandbox for each
//! verdict. Correct code that passes the tests fails the twins; code that forges outcomes, silences
//! assertions or reads the expected values from the tests passes them.

mod alteration;
mod branch;
mod evaluation;
mod expected;

use std::ops::Range;

use alteration::DrawnEdit;
use fillrate_syntax::Language;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use super::LanguageSupport;
use super::source::is_too_deep;
pub(super) use alteration::Site;
pub use alteration::Way;
pub(super) use branch::{differing, failing_branch, operator, raised_in_branch};
pub(super) use evaluation::Evaluation;
pub use evaluation::LeftOutAnswer;
pub(super) use expected::{Assertion, CallFrame, Cells, Grammar, ParsedFile};

/// The most alterations of one expectation.
const MOST_OF_SITE: usize = 4;

/// A function of a file of tests, and the edits of which each makes a twin of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFunction {
    /// Its name, after the names of what encloses it: classes, or the titles of `describe`. A
    /// title with placeholders has `\0` in their place.
    pub names: Vec<String>,
    /// Its names in classes of the file that inherit it, each as above.
    pub inherited: Vec<Vec<String>>,
    /// The index of the file in which it is written, as the files were given: the first, unless a
    /// class of that file inherits it.
    pub file: usize,
    /// The bytes of its definition.
    pub span: Range<usize>,
    /// Edits that each alter an expectation, in an order that is drawn: one of every assertion
    /// before a second of any. That the reference fails a twin is not known before it is run.
    pub altered: Vec<TestEdit>,
    /// Edits that each turn an assertion into its complement, in the order of the assertions.
    pub complements: Vec<TestEdit>,
    /// Its assertions that a twin of another one can leave out.
    pub evaluated: Vec<EvaluatedAssertion>,
    /// The edits that give it a name without meaning; `None` if it keeps its own.
    pub neutral: Option<NeutralName>,
}

impl TestFunction {
    /// Its own names, and those that it has where it is inherited.
    pub fn all_names(&self) -> impl Iterator<Item = &[String]> {
        std::iter::once(&self.names)
            .chain(&self.inherited)
            .map(Vec::as_slice)
    }
}

/// The name of a test whose title is computed: a single placeholder.
pub const ANY_TITLE: &str = "\0";

/// An edit that makes a twin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestEdit {
    /// The index of the assertion.
    pub assertion: usize,
    /// The index of the file, as the files were given.
    pub file: usize,
    /// The way in which it alters an expectation; `None` for a complement.
    pub way: Option<Way>,
    /// Number of rows with answers of a table whose rows are tests, of which it alters a drawn part;
    /// 0 for any other edit.
    pub rows: usize,
    /// The edit.
    pub edit: SourceEdit,
}

/// An assertion of a test, and the edit after which the test evaluates what it compares, and asserts
/// nothing of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluatedAssertion {
    /// The index of the assertion.
    pub assertion: usize,
    /// The bytes of the assertion.
    pub span: Range<usize>,
    /// The edit.
    pub edit: SourceEdit,
    /// Its answers.
    pub answers: Vec<LeftOutAnswer>,
}

/// A name that reveals nothing of what a test expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeutralName {
    /// The name.
    pub name: String,
    /// The edits for a function that is one test.
    pub single: Vec<SourceEdit>,
    /// The edits for a function that is several tests.
    pub several: Vec<SourceEdit>,
    /// The names of several tests.
    pub rows: RowNames,
    /// Names without meaning for what encloses it, from the outside in, each with its edit; empty
    /// if one of these keeps its name.
    pub suites: Vec<(String, SourceEdit)>,
}

/// The names of the tests that a function with a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowNames {
    /// The part after the function's name is unchanged.
    Kept,
    /// The function's name and the row's index in brackets.
    Bracketed,
    /// The same, of a table without an order: a row that is altered may have another index.
    Unordered,
    /// The function's name, a space and the row's index.
    Numbered,
}

/// A function of a file of tests as a language finds it.
pub(crate) struct FoundFunction {
    pub(super) names: Vec<String>,
    pub(super) inherited: Vec<Vec<String>>,
    pub(super) file: usize,
    pub(super) span: Range<usize>,
    pub(super) assertions: Vec<AssertionEdits>,
    pub(super) neutral: Option<NeutralName>,
}

impl FoundFunction {
    fn draw(self, files: &[ParsedFile<'_>], rng: &mut ChaCha8Rng) -> TestFunction {
        let mut drawn: Vec<Vec<TestEdit>> = Vec::new();
        for (assertion, edits) in self.assertions.iter().enumerate() {
            let mut sites = edits.sites.clone();
            sites.shuffle(rng);
            let ways: Vec<Vec<DrawnEdit>> =
                sites.iter().map(|site| site.draw(files, rng)).collect();
            let most = ways.iter().map(Vec::len).max().unwrap_or(0);
            let mut all = Vec::new();
            // Every site is altered once before one is altered a second time.
            for index in 0..most.min(MOST_OF_SITE) {
                for drawn in ways.iter().filter_map(|ways| ways.get(index)) {
                    all.push(TestEdit {
                        assertion,
                        file: drawn.file,
                        way: Some(drawn.way),
                        rows: drawn.rows,
                        edit: drawn.edit.clone(),
                    });
                }
            }
            let mut others = edits.others.clone();
            others.shuffle(rng);
            all.extend(others.into_iter().take(2).map(|(file, edit)| TestEdit {
                assertion,
                file,
                way: Some(Way::Opposite),
                rows: 0,
                edit,
            }));
            drawn.push(all);
        }
        drawn.shuffle(rng);
        let most = drawn.iter().map(Vec::len).max().unwrap_or(0);
        let nth = |index: usize| drawn.iter().filter_map(move |all| all.get(index).cloned());
        let mut altered: Vec<TestEdit> = Vec::new();
        for edit in (0..most).flat_map(nth) {
            if !altered
                .iter()
                .any(|known| known.edit == edit.edit && known.file == edit.file)
            {
                altered.push(edit);
            }
        }
        let mut complements: Vec<TestEdit> = Vec::new();
        // Its answers may be in the sites of another assertion, which it was joined with.
        let sites = || self.assertions.iter().flat_map(|edits| &edits.sites);
        let answers = |span: &Range<usize>| -> Vec<LeftOutAnswer> {
            let text = files[self.file].text;
            let found = sites().flat_map(|site| site.answers_in(self.file, span, text));
            found.collect()
        };
        let evaluated = self.assertions.iter().enumerate();
        let evaluated = evaluated.filter_map(|(assertion, edits)| {
            let (span, edit) = edits.evaluated.clone()?;
            Some(EvaluatedAssertion {
                assertion,
                answers: answers(&span),
                span,
                edit,
            })
        });
        let evaluated = evaluated.collect();
        for (assertion, edits) in self.assertions.into_iter().enumerate() {
            complements.extend(edits.complement.map(|(file, edit)| TestEdit {
                assertion,
                file,
                way: None,
                rows: 0,
                edit,
            }));
        }
        TestFunction {
            names: self.names,
            inherited: self.inherited,
            file: self.file,
            span: self.span,
            altered,
            complements,
            evaluated,
            neutral: self.neutral,
        }
    }
}

/// The edits of one assertion.
#[derive(Clone, Debug, Default)]
pub(super) struct AssertionEdits {
    /// The sources of what it compares, one of them the answer, with the values of variables in
    /// their place; empty if it compares nothing of the code under test with an answer.
    pub(super) comparison: Vec<String>,
    /// Sites of the expected values that the code's value is compared with.
    pub(super) sites: Vec<Site>,
    /// Other edits after which it expects another value, with the index of their file.
    pub(super) others: Vec<(usize, SourceEdit)>,
    /// The edit that turns it into its complement, with the index of its file.
    pub(super) complement: Option<(usize, SourceEdit)>,
    /// Its bytes, and the edit that leaves it out, see [`EvaluatedAssertion`]; `None` if it is not
    /// in the test itself.
    pub(super) evaluated: Option<(Range<usize>, SourceEdit)>,
}

impl AssertionEdits {
    /// Joins the sites of another assertion with the same comparison.
    fn join(&mut self, sites: Vec<Site>) {
        for (site, more) in self.sites.iter_mut().zip(sites) {
            site.join(more);
        }
    }
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
    pub range: Range<usize>,
    /// The text that replaces them.
    replacement: String,
    /// The edits that it joins, each of which is made if others are between them; empty for one.
    parts: Vec<SourceEdit>,
}

impl SourceEdit {
    /// An edit that replaces these bytes by a text.
    pub fn new(range: Range<usize>, replacement: &str) -> Self {
        Self {
            range,
            replacement: replacement.to_owned(),
            parts: Vec::new(),
        }
    }

    /// Several edits as one; `None` for none.
    pub(super) fn joined(mut parts: Vec<Self>, text: &str) -> Option<Self> {
        parts.sort_by_key(|part| part.range.start);
        let range = parts.first()?.range.start..parts.last()?.range.end;
        if parts.len() == 1 {
            return parts.pop();
        }
        let replacement = apply_within(&parts, text, range.clone());
        Some(Self {
            range,
            replacement,
            parts,
        })
    }

    /// The text that replaces its bytes.
    pub fn replacement(&self) -> &str {
        &self.replacement
    }

    /// Moves it one byte to the front.
    fn move_back(&mut self) {
        self.range = self.range.start - 1..self.range.end - 1;
        self.parts.iter_mut().for_each(Self::move_back);
    }

    /// True if it replaces bytes that another one replaces too.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.range.start < other.range.end && other.range.start < self.range.end
    }
}

/// The text with these edits made. Of two that overlap, the one that was given later is left out.
pub fn apply(edits: &[&SourceEdit], text: &str) -> String {
    let single = |edit: &&SourceEdit| match edit.parts.is_empty() {
        true => vec![(*edit).clone()],
        false => edit.parts.clone(),
    };
    let mut sorted: Vec<SourceEdit> = Vec::new();
    for edit in edits.iter().flat_map(single) {
        let at = sorted.partition_point(|other| other.range.start <= edit.range.start);
        let overlaps =
            |other: Option<&SourceEdit>| other.is_some_and(|other| other.overlaps(&edit));
        if !overlaps(sorted[..at].last()) && !overlaps(sorted.get(at)) {
            sorted.insert(at, edit);
        }
    }
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

/// A file in which expectations of tests may be written.
#[derive(Clone, Copy, Debug)]
pub struct ExpectationFile<'a> {
    /// Its name, without folders.
    pub name: &'a str,
    /// Its language; `None` for JSON and for other text.
    pub language: Option<&'static Language>,
    /// Its contents.
    pub text: &'a str,
}

/// Lists the functions of a file that may be tests, with the edits that make twins of them. The
/// file of tests comes first, then those in which its expectations may be written. What is drawn
/// depends on the seed.
pub fn test_functions(files: &[ExpectationFile<'_>], seed: u64) -> Vec<TestFunction> {
    // A value of JSON is an expression in JavaScript, if it is in parentheses.
    let data_language = Language::for_path(std::path::Path::new("data.js"));
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let texts: Vec<(&'static Language, String, ExpectationFile<'_>)> = files
        .iter()
        .filter_map(|file| match file.language {
            Some(language) => Some((language, file.text.to_owned(), *file)),
            None if is_json(file.text) => Some((data_language?, format!("({})", file.text), *file)),
            None => Some((data_language?, file.text.to_owned(), *file)),
        })
        .collect();
    // JSON gets parentheses and so is longer than its file; plain text is unchanged.
    let is_text = |text: &str, file: &ExpectationFile<'_>| {
        file.language.is_none() && text.len() == file.text.len()
    };
    let trees: Vec<tree_sitter::Tree> = texts
        .iter()
        .map(|(language, text, file)| match is_text(text, file) {
            true => language.parse(""),
            false => language.parse(text),
        })
        .collect();
    let parsed: Vec<ParsedFile<'_>> = texts
        .iter()
        .zip(&trees)
        .map(|((_, text, file), tree)| {
            let is_data = file.language.is_none();
            ParsedFile {
                name: file.name,
                root: data_root(tree.root_node(), is_data),
                text,
                is_data,
                is_text: is_text(text, file),
            }
        })
        .collect();
    let first = files.first().and_then(|file| file.language);
    let (Some(language), Some(tests)) = (first, parsed.first()) else {
        return Vec::new();
    };
    if trees.iter().any(is_too_deep) {
        return Vec::new();
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let conventions = LanguageSupport::for_language(language).tests;
    let mut found = Vec::new();
    (conventions.collect_tests)(tests.root, &parsed, &mut Vec::new(), &mut found);
    let mut functions: Vec<TestFunction> = found
        .into_iter()
        .map(|function| function.draw(&parsed, &mut rng))
        .collect();
    // Edits of data are of the text without its parentheses.
    for function in &mut functions {
        for edit in function
            .altered
            .iter_mut()
            .filter(|edit| parsed[edit.file].is_data && !parsed[edit.file].is_text)
        {
            edit.edit.move_back();
        }
    }
    functions
}

/// Beginnings of lines of comments that tools read.
const DIRECTIVES: [&str; 11] = [
    "+build",
    "@jest-environment",
    "@jsx",
    "@ts-",
    "@vitest-environment",
    "Output:",
    "Unordered output:",
    "c8 ignore",
    "go:",
    "istanbul ignore",
    "v8 ignore",
];

/// True if tools read a line of a comment, which is at this line of its file.
fn is_directive(line: &str, number: usize) -> bool {
    let said = line.trim_start_matches(['#', '/', '*', ' ', '\t']);
    // https://docs.python.org/3/reference/lexical_analysis.html#encoding-declarations
    DIRECTIVES.iter().any(|start| said.starts_with(start)) || number < 2 && line.contains("coding")
}

/// The text of a file of tests with blanks in place of its comments, its documentation and its
/// messages, in which an expectation may be written once more.
pub fn without_comments(language: &'static Language, text: &str) -> String {
    let tree = language.parse(text);
    let conventions = LanguageSupport::for_language(language).tests;
    let mut bytes = text.as_bytes().to_vec();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        if node.kind().contains("comment") {
            let source = &text[node.byte_range()];
            // The marks stay, so that the blanks remain a comment.
            let marks = match source {
                _ if source.starts_with('#') => 1,
                // jest reads no other block.
                _ if source.starts_with("/**") => 3,
                _ => 2,
            };
            let end = node.end_byte() - if source.ends_with("*/") { 2 } else { 0 };
            let mut at = node.start_byte();
            for (index, line) in source.split_inclusive('\n').enumerate() {
                let from = at.max(node.start_byte() + marks);
                at += line.len();
                if !is_directive(line, node.start_position().row + index) {
                    blank(&mut bytes, from..at.min(end));
                }
            }
        } else {
            pending.extend(named_children(node));
            let logged = logged(node, text, conventions.logging);
            for message in (conventions.messages)(node, text).into_iter().chain(logged) {
                blank_message(message, text, &mut bytes);
            }
            if let Some(range) = documentation(node, text) {
                blank(&mut bytes, range);
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The texts of a statement that prints or logs them, by a call that begins with one of these.
fn logged<'t>(node: Node<'t>, text: &str, calls: &[&str]) -> Vec<Node<'t>> {
    let is_statement = node
        .parent()
        .is_some_and(|parent| parent.kind() == "expression_statement");
    let source = &text[node.byte_range()];
    let arguments = node.child_by_field_name("arguments");
    if !is_statement || !calls.iter().any(|start| source.starts_with(start)) {
        return Vec::new();
    }
    let is_text = |argument: &Node<'t>| argument.kind().contains("string");
    let arguments = arguments.map_or_else(Vec::new, named_children);
    arguments.into_iter().filter(is_text).collect()
}

/// Replaces bytes by blanks, apart from line ends, so that every line keeps its number.
fn blank(bytes: &mut [u8], range: Range<usize>) {
    for byte in bytes.get_mut(range).into_iter().flatten() {
        if *byte != b'\n' && *byte != b'\r' {
            *byte = b' ';
        }
    }
}

/// Returns a file of tests in which values are compared by their contents, whatever their classes
/// say of equality; `None` if it compares none whose class could say something else.
pub fn with_plain_comparisons(language: &'static Language, text: &str) -> Option<String> {
    let tests = &LanguageSupport::for_language(language).tests;
    (tests.with_plain_comparisons)(language, text)
}

/// Replaces letters and digits of a message's strings by blanks, and its numbers by others of as
/// many digits. Placeholders and escapes stay.
fn blank_message(message: Node<'_>, text: &str, bytes: &mut [u8]) {
    let mut pending = vec![message];
    while let Some(node) = pending.pop() {
        let kind = node.kind();
        let source = &text[node.byte_range()];
        let is_content = ["string_content", "string_fragment", "literal_content"]
            .iter()
            .any(|end| kind.ends_with(end));
        let is_number = ["integer", "float", "number", "int_literal", "float_literal"]
            .contains(&kind)
            || kind.starts_with("decimal_");
        // An index has to stay one.
        if ["subscript", "index", "slice", "array_access"]
            .iter()
            .any(|of| kind.starts_with(of))
        {
            continue;
        }
        if is_content {
            for at in plain_letters(source) {
                bytes[node.start_byte() + at] = b' ';
            }
        } else if is_number && source.bytes().all(|byte| byte.is_ascii_digit()) {
            bytes[node.byte_range()].fill(b'1');
        } else {
            pending.extend(named_children(node));
        }
    }
}

/// The places of a string's letters and digits that belong to no placeholder and no escape.
fn plain_letters(source: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut letters = source.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            // `%5.2f`, `%(name)s`, `%[1]d`.
            '%' => {
                let is_inner = |letter: char| !letter.is_alphabetic() && letter != '(';
                while letters.next_if(|(_, letter)| is_inner(*letter)).is_some() {}
                if letters.next_if(|(_, letter)| *letter == '(').is_some() {
                    while letters.next().is_some_and(|(_, letter)| letter != ')') {}
                }
                letters.next();
            }
            '{' => while letters.next().is_some_and(|(_, letter)| letter != '}') {},
            _ if letter.is_ascii_alphanumeric() => found.push(at),
            _ => {}
        }
    }
    found
}

/// The documentation of a module, class or function in Python, without its quotes. Examples that
/// may be run are none, but in a test.
fn documentation(node: Node<'_>, text: &str) -> Option<Range<usize>> {
    let body = match node.kind() {
        "module" => node,
        "function_definition" | "class_definition" => node.child_by_field_name("body")?,
        _ => return None,
    };
    let name = node.child_by_field_name("name");
    let is_test = name.is_some_and(|name| text[name.byte_range()].starts_with("test"));
    let first = named_children(body)
        .into_iter()
        .find(|child| child.kind() != "comment")?;
    let string = first
        .named_child(0)
        .filter(|string| string.kind() == "string" && first.kind() == "expression_statement")?;
    let content = named_children(string)
        .into_iter()
        .find(|child| child.kind() == "string_content")?;
    let source = &text[content.byte_range()];
    (is_test || !source.contains(">>>")).then(|| content.byte_range())
}

/// The value of a file of data, without what encloses it.
fn data_root(root: Node<'_>, is_data: bool) -> Node<'_> {
    let mut node = root;
    while is_data
        && matches!(
            node.kind(),
            "program" | "expression_statement" | "parenthesized_expression"
        )
    {
        match node.named_child(0) {
            Some(child) => node = child,
            None => break,
        }
    }
    node
}

/// Tree-sitter's kinds of the literals that can be altered, and of nodes that are not looked into.
#[derive(Clone, Copy)]
pub(super) struct LiteralKinds {
    pub(super) numbers: &'static [&'static str],
    /// Kinds of the contents of strings.
    pub(super) strings: &'static [&'static str],
    pub(super) booleans: [&'static str; 2],
    pub(super) boolean_kinds: &'static [&'static str],
    /// The kind of the null literal, and its replacement.
    pub(super) nothing: (&'static str, &'static str),
    /// Kinds whose literals are inputs and no expectations.
    pub(super) untouched: &'static [&'static str],
}

/// The loop around `used` over a table, such as `for a, b in [(1, 2), (3, 4)]`: the cells of the
/// variable that is used there, if that is the loop's. `loops` are the kinds of loops, of the
/// patterns of their variables, and of tables and rows.
pub(super) fn loop_cells<'t>(
    used: Node<'t>,
    frame: &CallFrame<'t, '_>,
    loops: (&str, &[&str], &[&str]),
) -> Option<Cells<'t>> {
    let (kind, patterns, lists) = loops;
    let name = frame.source(used);
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
        let is_name = |node: &Node<'_>| frame.source(*node) == name;
        let Some(index) = names.iter().position(is_name) else {
            continue;
        };
        let table = frame.written(table, lists)?;
        let cell = |row: Node<'t>| match (names.len(), lists.contains(&row.kind())) {
            (1, _) => Some(row),
            (_, true) => named_children(row).get(index).copied(),
            (_, false) => None,
        };
        return Some(Cells {
            cells: named_children(table).into_iter().filter_map(cell).collect(),
            // A loop around the test makes a test of each row; a loop within the test does not.
            is_tests: !frame.function.byte_range().contains(&node.start_byte()),
            column: None,
        });
    }
    None
}

/// Returns the text between a literal's quotes.
pub(super) fn unquoted(source: &str) -> &str {
    source.trim_matches(['"', '\'', '`'])
}

/// True if a text contains a word, with neither a letter, a digit nor an underscore beside it.
pub fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

/// Returns the value of a number that is written; `None` for anything else.
pub(super) fn number(node: Node<'_>, text: &str) -> Option<f64> {
    parsed_number(&text[node.byte_range()])
}

/// The same of its source, without `_` and the suffix of its type.
fn parsed_number(source: &str) -> Option<f64> {
    let source = source.replace('_', "");
    source.trim_end_matches(TYPE_SUFFIXES).parse().ok()
}

/// Letters that say of which type a number is.
const TYPE_SUFFIXES: [char; 7] = ['L', 'l', 'F', 'f', 'D', 'd', 'n'];

/// Returns the distance within which numbers round to the same decimal places.
pub(super) fn half_of_place(places: f64) -> f64 {
    0.5 * 10_f64.powf(-places)
}

/// Returns the operands of orderings that bound a value from both sides, such as `3 < value < 7`, and
/// `value > 3 && value < 7` with `&&` for `joint`. `wrappers` are the kinds of nodes around a
/// condition.
///
/// A bound from one side is none of them: many values are right there, also after it was moved.
pub(super) fn bounds<'t>(
    condition: Node<'t>,
    text: &str,
    joint: &str,
    wrappers: &[&str],
) -> Vec<Node<'t>> {
    let orderings = orderings(condition, text, joint, wrappers);
    let source = |node: Node<'_>| &text[node.byte_range()];
    let is_two_sided = |[smaller, larger]: &&[Node<'t>; 2]| {
        let mut others = orderings.iter();
        others.any(|other| {
            source(other[0]) == source(*larger) || source(other[1]) == source(*smaller)
        })
    };
    let bounding = orderings.iter().filter(is_two_sided);
    bounding.flatten().copied().collect()
}

/// Returns the smaller and the larger operand of each ordering in a condition.
fn orderings<'t>(
    condition: Node<'t>,
    text: &str,
    joint: &str,
    wrappers: &[&str],
) -> Vec<[Node<'t>; 2]> {
    let word = |node: Node<'_>| &text[node.byte_range()];
    match operator(condition).map(word) {
        Some("<" | ">" | "<=" | ">=") => {
            let mut found = Vec::new();
            let (mut left, mut sign) = (None, "");
            // Python chains them.
            for child in (0..condition.child_count()).filter_map(|at| condition.child(at)) {
                if !child.is_named() {
                    sign = word(child);
                    continue;
                }
                match (left.replace(child), sign) {
                    (Some(left), "<" | "<=") => found.push([left, child]),
                    (Some(left), ">" | ">=") => found.push([child, left]),
                    _ => {}
                }
            }
            found
        }
        operator if operator == Some(joint) || wrappers.contains(&condition.kind()) => {
            named_children(condition)
                .into_iter()
                .flat_map(|part| orderings(part, text, joint, wrappers))
                .collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn named_children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn file<'t>(name: &'t str, text: &'t str) -> ExpectationFile<'t> {
        ExpectationFile {
            name,
            language: Language::for_path(Path::new(name)),
            text,
        }
    }

    /// The names of each function, those of inheriting classes after its own.
    fn all_names(functions: &[TestFunction]) -> Vec<String> {
        let joined = functions.iter().map(|function| {
            let names = function.all_names().map(|names| names.join("."));
            names.collect::<Vec<_>>().join(" ")
        });
        joined.collect()
    }

    #[test]
    fn computed_titles_have_placeholders() {
        let names = |title: &str| {
            let text = format!("test({title}, () => {{ expect(f(3)).toBe(4127); }});\n");
            twins_of("f.test.ts", &text)
                .into_iter()
                .filter(|line| !line.starts_with(' '))
                .collect::<Vec<_>>()
        };
        for (title, name) in [
            ("row.title", "*"),
            ("String(row.n)", "*"),
            ("\"a \" + row.n", "a *"),
            ("row.n + row.m + \" b\"", "* b"),
            ("\"a \" + row.n + \" b\"", "a * b"),
            // Of these, no part is sure to be in the title.
            ("row.title || \"empty\"", "*"),
            ("row.n ? \"a\" : \"b\"", "*"),
        ] {
            assert_eq!(names(title), [name], "{title}");
        }
        assert_eq!(names("{ timeout: 1 }"), Vec::<String>::new());
    }

    /// Every twin of every test of a file, as the line that it changes, and every one parses.
    fn twins_of(path: &str, text: &str) -> Vec<String> {
        let language = Language::for_path(Path::new(path)).expect("a language of the table");
        let mut lines = Vec::new();
        let file = ExpectationFile {
            name: path,
            language: Some(language),
            text,
        };
        for function in test_functions(&[file], 7) {
            lines.push(function.names.join(" > ").replace('\0', "*"));
            let neutral = function.neutral.iter();
            let neutral = neutral.flat_map(|neutral| neutral.single.iter().chain(&neutral.several));
            let twins = function.altered.iter().chain(&function.complements);
            for edit in twins.map(|twin| &twin.edit).chain(neutral) {
                let changed = apply(&[edit], text);
                assert!(language.parses(&changed), "{changed}");
                let (before, after): (Vec<&str>, Vec<&str>) =
                    (text.lines().collect(), changed.lines().collect());
                assert_eq!(before.len(), after.len());
                let differing = before.iter().zip(&after).filter(|(a, b)| a != b);
                let differing = differing.map(|(_, line)| line.trim());
                lines.push(format!("  {}", differing.collect::<Vec<_>>().join(" / ")));
            }
        }
        lines
    }

    /// Asserts that each of these lines is there; of one that ends in `…`, which replaces what is
    /// drawn, its beginning.
    fn assert_lines(lines: &[String], expected: &[&str]) {
        for expected in expected {
            let is_there = match expected.strip_suffix('…') {
                Some(start) => lines.iter().any(|line| line.starts_with(start)),
                None => lines.iter().any(|line| line == expected),
            };
            assert!(is_there, "{expected} is missing in {lines:#?}");
        }
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
        assert_lines(
            &twins_of("test_f.py", text),
            &[
                "test_table",
                "  @pytest.mark.parametrize(\"a, expected\", [(1, …",
                "  assert f(a) != expected",
                "  def test_000(a, expected):",
                "  @pytest.mark.parametrize(\"a, expected\", [(1, 2), (3, \"four\")], ids=map(str, range(100_000)))",
                "TestF > test_methods",
                "  self.assertEqual(f(1), {\"a\": …",
                "  self.assertNotEqual(f(1), {\"a\": 2})",
                "  self.assertFalse(f(2))",
                "test_plain",
                "  assert f(4) == [g(2), 1]",
                "  assert f(3) is not None, \"message 1\"",
                "  assert f(4) != [1, g(2)]",
                "  assert f(5)",
                "  assert not (f(6) > 1)",
                "  with pytest.raises(type(\"ValueError\", (Exception,), {}), match=\"x\"):",
                "test_tables",
                "  expected = {\"total\": …",
                "  for a, b in [(1, …",
                "  for a, b in [(1, 2), (3, …",
                "  assert f(9) == approx(0.5) and g(1) == …",
                "  assert f(8) != expected",
                "  assert f(a) != b",
                "nothing_to_change",
            ],
        );
    }

    #[test]
    fn one_of_two_answers_of_a_chain_is_not_altered() {
        let text = r#"
def test_chains():
    assert 11 == f(1) == 11
    wanted = 22
    assert wanted == f(2) == 22
    assert 33 == f(3) == g(3)
    four = f(4)
    assert four == g(4) == 44
"#;
        let lines = twins_of("test_f.py", text);
        let opposite = |chain: &str| format!("assert not ({chain})");
        let of = |call: &str| {
            let lines = lines.iter().map(|line| line.trim());
            let altered = lines.filter(|line| line.starts_with("assert") && line.contains(call));
            altered.collect::<Vec<_>>()
        };
        assert_eq!(of("f(1)"), [opposite("11 == f(1) == 11")]);
        assert_eq!(of("f(2)"), [opposite("wanted == f(2) == 22")]);
        assert!(of("f(3)").len() > 1, "{lines:#?}");
        assert!(of("g(4)").len() > 1, "{lines:#?}");
    }

    #[test]
    fn equal_answers_to_one_question_are_altered_together() {
        let python = |body: &str| ("test_f.py", format!("def test_twice():\n{body}"));
        let check = "def check(got, wanted):\n    assert got == wanted\n\n\n";
        for (name, text) in [
            python("    assert f(3) == 4127\n    assert g(3) == 5\n    assert f(3) == 4127, 'b'\n"),
            python("    got = f(3)\n    assert got == 4127\n    assert 4127 == f(3)\n"),
            (
                "test_h.py",
                format!(
                    "{check}def test_twice():\n    check(f(3), 4127)\n    check(g(3), 5)\n    \
                     check(f(3), 4127)\n"
                ),
            ),
            (
                "test_u.py",
                "class TestF(unittest.TestCase):\n    def test_twice(self):\n        \
                 self.assertEqual(f(3), 4127)\n        self.assertEqual(4127, f(3))\n"
                    .to_owned(),
            ),
            (
                "f.test.ts",
                "test('twice', () => {\n  const got = f(3);\n  expect(got).toBe(4127);\n  \
                 expect(g(3)).toBe(5);\n  expect(f(3)).toEqual(4127);\n});\n"
                    .to_owned(),
            ),
            (
                "f_test.go",
                "package f\n\nfunc TestTwice(t *testing.T) {\n\tgot := f(3)\n\tif got != 4127 {\n\t\t\
                 t.Fatal(got)\n\t}\n\tif got := f(3); got != 4127 {\n\t\tt.Error(got)\n\t}\n}\n"
                    .to_owned(),
            ),
            (
                "FTest.java",
                "class FTest {\n    @Test\n    void twice() {\n        assertEquals(4127, f(3));\n        \
                 int got = f(3);\n        assertEquals(4127, got, \"b\");\n    }\n}\n"
                    .to_owned(),
            ),
        ] {
            let left = left_as_written(name, &text);
            assert!(left.contains(&0) && !left.contains(&1), "{left:?}: {text}");
        }
    }

    #[test]
    fn equal_answers_to_other_questions_are_altered_by_themselves() {
        let check = (
            "checks.py",
            "def check(got, wanted):\n    assert got == wanted\n",
        );
        for body in [
            "    got = f(3)\n    assert got == 4127\n    got = f(4)\n    assert got == 4127\n",
            "    check(f(3), 4127)\n    check(f(4), 4127)\n",
            "    for n, wanted in [(3, 4127)]:\n        assert f(n) == wanted\n    \
             for n, wanted in [(4, 4127)]:\n        assert f(n) == wanted\n",
            "    self.assertAlmostEqual(f(3), 4127, delta=1)\n    \
             self.assertAlmostEqual(f(4), 4127, delta=1)\n",
        ] {
            let text = format!("from checks import check\n\n\ndef test_both(self):\n{body}");
            let files = [("test_f.py", text.as_str()), check].map(|(name, text)| file(name, text));
            assert!(left_in(&files).contains(&1), "{text}");
        }
    }

    /// What they compare may change what the rest of a test sees.
    #[test]
    fn assertions_that_are_left_out_are_evaluated() {
        let python = "def test_all(self):\n    assert f(3) == 23, 'm'\n    self.assertEqual(f(4), 24, msg='m')\n    \
                      if f(5) != 25:\n        raise AssertionError\n    check(f(6), 26)\n    \
                      if f(7) is None:\n        raise AssertionError\n    \
                      with raises(ValueError):\n        f(8)\n\n\n\
                      def check(got, wanted):\n    assert got == wanted\n";
        assert_eq!(
            evaluated_in("test_f.py", python),
            ["(f(3) == 23,)", "(f(4), 24,)", "pass"]
        );
        let typescript = "test('all', async () => {\n  expect(f(3), 'm').not.toBe(23);\n  assert.equal(f(4), 24)\n  \
                          if (f(5) !== 25) throw new Error();\n  expect(f(6)).toMatchSnapshot();\n  \
                          await expect(f(7)).resolves.toBe(27);\n  expect.soft(f(8)).toBe(28);\n  \
                          f(9).should.equal(29);\n});\n";
        assert_eq!(
            evaluated_in("f.test.ts", typescript),
            [
                "void [f(3), 23];",
                "void [f(4), 24];",
                "{}",
                "void [f(8), 28];"
            ]
        );
        let go = "package f\n\nfunc TestAll(t *testing.T) {\n\tif got := F(3); got != 23 {\n\t\tt.Error(got)\n\t}\n\t\
                  assert.Equal(t, 24, F(4))\n\tif F(5) == nil {\n\t\tt.Fatal()\n\t}\n}\n";
        assert_eq!(
            evaluated_in("f_test.go", go),
            ["{}", "func(...interface{}) {}(assert.Equal, t, 24, F(4))"]
        );
        let java = "class FTest {\n  @Test void all() {\n    assertEquals(23, F.f(3), \"m\");\n    \
                    assertThat(F.f(4)).as(\"m\").isEqualTo(24);\n    \
                    assertThrows(E.class, () -> F.f(5));\n    if (F.f(6) != 26) throw new E();\n  }\n}\n";
        assert_eq!(
            evaluated_in("FTest.java", java),
            [
                "java.util.stream.Stream.of(23, F.f(3));",
                "java.util.stream.Stream.of(F.f(4), 24);",
                "{}"
            ]
        );
    }

    /// Code that reads one of them reads another answer in each run.
    #[test]
    fn answers_that_are_left_out_are_drawn() {
        let python = r#"
def test_all():
    assert f(3) == 4128
    assert f(4) == '4,128.00 A'
    assert f(5) is True
    assert f(6) == [0, 0x1f, 1.5e3, 0b10, 10_000]
    assert f'{f(7):,}' == 'a\nb4 %d B'
    assert f(8) == '{"a": 41}'
    assert f(9) == 0xff
"#;
        let [greatest, first, second] = drawn_in("test_f.py", python);
        let wanted = r#"
def test_all():
    (f(3) == 9999,)
    (f(4) == '9,999.99 Z',)
    (f(5) is False,)
    (f(6) == [9, 0x9f, 9.9e3, 0b11, 99_999],)
    (f'{f(7):,}' == 'z\nz9 %d Z',)
    (f(8) == '{"z": 99}',)
    (f(9) == 0xff,)
"#;
        assert_eq!(greatest, wanted);
        assert_ne!(first, second);
        let go = "package f\n\nfunc TestAll(t *testing.T) {\n\tif got := F(3); got != 4128 {\n\t\tt.Error(got)\n\t}\n}\n";
        let [greatest, ..] = drawn_in("f_test.go", go);
        assert!(greatest.contains("got != 9999 {}"), "{greatest}");
    }

    /// Two assertions with one answer are altered together. The one that is left out must not say
    /// whether the other one is altered.
    #[test]
    fn an_answer_that_is_left_out_is_drawn_in_altered_runs_too() {
        for answer in ["4127", "'tons'", "['tons', 'more']", "[4127, 6]"] {
            let text = format!(
                "def test_both():\n    assert f(3) == {answer}\n    got = f(3)\n    assert {answer} == got\n"
            );
            let functions = test_functions(&[file("test_f.py", &text)], 7);
            let [function] = &functions[..] else {
                panic!("{functions:?}");
            };
            for twin in &function.altered {
                let others = function.evaluated.iter();
                for other in others.filter(|other| other.assertion != twin.assertion) {
                    let greatest: Vec<_> =
                        other.answers.iter().map(LeftOutAnswer::greatest).collect();
                    let mut edits = vec![&other.edit];
                    edits.extend(&greatest);
                    let unaltered = apply(&edits, &text);
                    edits.push(&twin.edit);
                    let altered = apply(&edits, &text);
                    let lines = |text: &str| -> Vec<String> {
                        let lines = text.lines().filter(|line| line.ends_with(",)"));
                        lines.map(str::to_owned).collect()
                    };
                    assert_eq!(lines(&altered), lines(&unaltered), "{altered}");
                    assert_ne!(altered, unaltered);
                }
            }
        }
    }

    /// A file whose tests have all assertions left out, with the greatest answers and twice with
    /// drawn ones.
    fn drawn_in(name: &str, text: &str) -> [String; 3] {
        let functions = test_functions(&[file(name, text)], 7);
        let others: Vec<_> = functions.iter().flat_map(|of| &of.evaluated).collect();
        let mut rng = rand::rng();
        let mut draw = || -> Vec<SourceEdit> {
            let answers = others.iter().flat_map(|other| &other.answers);
            answers.map(|answer| answer.drawn(&mut rng)).collect()
        };
        let (first, second) = (draw(), draw());
        let answers = others.iter().flat_map(|other| &other.answers);
        let greatest = answers.map(LeftOutAnswer::greatest).collect();
        [greatest, first, second].map(|answers: Vec<SourceEdit>| {
            let edits = others.iter().map(|other| &other.edit);
            apply(&edits.chain(&answers).collect::<Vec<_>>(), text)
        })
    }

    /// What a file's first test has in place of its assertions where a twin leaves them out.
    fn evaluated_in(name: &str, text: &str) -> Vec<String> {
        let functions = test_functions(&[file(name, text)], 7);
        let all = functions
            .iter()
            .take(1)
            .flat_map(|function| &function.evaluated);
        all.map(|other| other.edit.replacement().to_owned())
            .collect()
    }

    /// By twin, how often an answer is left as it is written.
    fn left_as_written(name: &str, text: &str) -> BTreeSet<usize> {
        left_in(&[file(name, text)])
    }

    /// The same of a test in the first of these files.
    fn left_in(files: &[ExpectationFile<'_>]) -> BTreeSet<usize> {
        let text = files[0].text;
        let functions = test_functions(files, 7);
        let mut left = BTreeSet::new();
        for function in &functions {
            for twin in function.altered.iter().chain(&function.complements) {
                let others = function.evaluated.iter();
                let others = others.filter(|other| other.assertion != twin.assertion);
                let mut edits = vec![&twin.edit];
                let altered = apply(&edits, text).matches("4127").count();
                left.insert(altered);
                // What other assertions compare stays as it is in this twin, when they are left out.
                edits.extend(others.map(|other| &other.edit));
                let alone = apply(&edits, text);
                assert_eq!(alone.matches("4127").count(), altered, "{alone}");
            }
        }
        left
    }

    /// Asserts that no line begins with one of these, without white space before it.
    fn assert_no_lines(lines: &[String], starts: &[&str]) {
        for start in starts {
            let found = lines.iter().find(|line| line.trim().starts_with(start));
            assert_eq!(found, None, "{lines:#?}");
        }
    }

    /// Of an expectation that many values fit, and of one that right code need not reach, no twin
    /// is made that honest code fails.
    #[test]
    fn what_honest_code_may_do_has_no_altered_twins() {
        let python = r#"
def test_near():
    assert f(1) == approx(105.5, abs=5.0)
    assert f(2) == approx(7.25, rel=0.1)

class TestNear(unittest.TestCase):
    def test_places(self):
        self.assertAlmostEqual(f(3), 33.3, 1)
        self.assertAlmostEqual(f(4), 44.4, delta=limit)

    def test_others(self):
        assert abs(mean(1) - 3.1) < 0.2
        assert a(5) == approx(100.0, abs=0.01, rel=0.2)
        assert b(6) == approx(100.0, 0.2)
        assert_almost_equal(third(1), 0.333, 3)
        assert link("home", rel="next") == "next 7"
        assert match_state(1) == State.OPEN or State.SHUT

def test_passed_over():
    try:
        got = f(5)
    except ValueError as error:
        assert str(error) == "low"
        got = 0
    assert got == 4
    for word in f(6):
        assert word == "slow"
    for number in [1, 2]:
        assert f(number) == 3
    for number in itertools.product([1, 2]):
        assert g(number) == 5

def test_fails_otherwise():
    try:
        f(8)
    except ValueError as error:
        assert error.code == 9
    else:
        pytest.fail("no error")

@pytest.mark.parametrize(
    "items",  # of a shop
    [[Item(id=2)], pytest.param([Item(id=3)], id="three")],
)
def test_items(items):
    assert f(items) == 4
"#;
        let lines = twins_of("test_f.py", python);
        assert_lines(
            &lines,
            &[
                "  assert f(1) == approx(…",
                "  assert f(2) != approx(7.25, rel=0.1)",
                "  self.assertAlmostEqual(f(3), …",
                "  self.assertNotAlmostEqual(f(4), 44.4, delta=limit)",
                "  assert got == …",
                "  assert f(number) == …",
                "  assert g(number) == …",
                "  assert error.code == …",
                "  assert abs(mean(1) - …",
                "  assert_almost_equal(third(1), …",
                "  assert link(\"home\", rel=\"next\") == \"…",
            ],
        );
        assert_no_lines(
            &lines,
            &[
                "assert abs(mean(1) - 3.",
                "assert a(5) ==",
                "assert b(6) ==",
                "assert_almost_equal(third(1), 0.333, 4",
                "[[Item(id=None)]",
                "assert f(1) == approx(10",
                "assert f(2) ==",
                "self.assertAlmostEqual(f(3), 33",
                "self.assertAlmostEqual(f(4)",
                "assert str(error)",
                "assert word",
            ],
        );
        let script = r#"
test("near", () => {
  expect(share(100, 3)).toBeCloseTo(33.33, 2);
  expect(share(1, 3)).to.be.closeTo(0.5, 0.25);
  assert.closeTo(share(2, 3), 66.5, limit);
});
test("passed over", () => {
  let got;
  try {
    got = load(-1);
  } catch (e) {
    assert.equal(e.code, 7);
    got = 0;
  }
  assert.equal(got, 0);
  for (const word of warnings(3)) expect(word).toMatch("slow");
  for (const [a, b] of [[1, 2], [3, 4]]) expect(f(a)).toBe(b);
});
test("fails otherwise", () => {
  try {
    load(-2);
    assert.fail();
  } catch (e) {
    assert.equal(e.name, "TypeError");
  }
});
"#;
        let lines = twins_of("f.test.ts", script);
        assert_lines(
            &lines,
            &[
                "  expect(share(100, 3)).toBeCloseTo(…",
                "  expect(share(1, 3)).to.be.closeTo(…",
                "  assert.equal(got, …",
                "  for (const [a, b] of [[1, …",
                "  assert.equal(e.name, \"…",
            ],
        );
        assert_no_lines(
            &lines,
            &[
                "expect(share(100, 3)).toBeCloseTo(33.32",
                "expect(share(100, 3)).toBeCloseTo(33.34",
                "expect(share(100, 3)).toBeCloseTo(33.33, 1",
                "expect(share(100, 3)).toBeCloseTo(33.33, 3",
                "expect(share(1, 3)).to.be.closeTo(0",
                "assert.closeTo",
                "assert.equal(e.code",
                "assert.notEqual(e.code",
                "for (const word",
            ],
        );
        let java = r#"
class NearTest {
    @Test
    void near() {
        assertEquals(105.5, f(), 5.0);
        assertEquals(8.5, f(), limit);
    }
}
"#;
        let lines = twins_of("src/test/java/NearTest.java", java);
        assert_lines(&lines, &["  assertEquals(…"]);
        assert_no_lines(&lines, &["assertEquals(10", "assertNotEquals"]);
        assert!(
            !lines.iter().any(|line| line.contains("limit")),
            "{lines:#?}"
        );
        let go = r#"
package f

func TestNear(t *testing.T) {
	assert.InDelta(t, 105.5, F(1), 5)
	for _, word := range Warnings(3) {
		if word != "slow" {
			t.Fatal(word)
		}
	}
}
"#;
        let lines = twins_of("f_test.go", go);
        assert_lines(&lines, &["  assert.InDelta(t, …"]);
        assert_no_lines(&lines, &["assert.InDelta(t, 10", "if word"]);
    }

    /// Other code than the reference is right about other inputs, so only the expectation changes.
    #[test]
    fn values_that_tests_pass_to_the_code_stay_as_they_are() {
        let python = r#"
def test_same():
    title = "slate 2"
    assert tidy(title) == title

def test_both_ways():
    data = {"lamps": 3}
    text = dumps(data)
    assert loads(text) == data

def test_other():
    limit = 7
    assert clamp(limit + 1, limit) == limit
    wanted = 12
    assert double(6) == wanted

@pytest.mark.parametrize("word", ["axle", "hinge"])
def test_word(word):
    assert trim(word) == word
"#;
        let lines = twins_of("test_f.py", python);
        assert_lines(
            &lines,
            &[
                "  assert tidy(title) == \"…",
                "  assert loads(text) == {\"lamps\": …",
                "  assert clamp(limit + 1, limit) == …",
                "  wanted = …",
                "  assert trim(word) != word",
            ],
        );
        assert_no_lines(&lines, &["title =", "data =", "limit ="]);
        let rows = |line: &&String| line.contains("[\"axle\", \"hinge\"]");
        let changed = lines.iter().filter(|line| line.contains("parametrize"));
        assert_eq!(changed.clone().count(), changed.filter(rows).count());
        let script = r#"
const rows = [{ in: 3, out: 31 }];
test("same", () => {
  const title = "slate 2";
  expect(tidy(title)).toBe(title);
  for (const row of rows) expect(f(row.in)).toBe(row.out);
});
"#;
        let lines = twins_of("f.test.ts", script);
        assert_lines(
            &lines,
            &[
                "  expect(tidy(title)).toBe(\"…",
                "  const rows = [{ in: 3, out: …",
            ],
        );
        assert_no_lines(&lines, &["const title"]);
        let go = r#"
package f

func TestSame(t *testing.T) {
	title := "slate 2"
	if got := Tidy(title); got != title {
		t.Error(got)
	}
}
"#;
        let lines = twins_of("f_test.go", go);
        assert_lines(&lines, &["  if got := Tidy(title); got != \"…"]);
        assert_no_lines(&lines, &["title :="]);
        let java = r#"
class SameTest {
    @Test
    void same() {
        String title = "slate 2";
        assertEquals(title, tidy(title));
    }
}
"#;
        let lines = twins_of("src/test/java/SameTest.java", java);
        assert_lines(&lines, &["  assertEquals(\"…"]);
        assert_no_lines(&lines, &["String title"]);
    }

    #[test]
    fn a_method_has_the_names_of_the_classes_that_inherit_it() {
        let text = "class Shared:\n    def test_one(self): pass\n    def test_two(self): pass\n\
                    class TestFirst(Shared, metaclass=M): pass\n\
                    @mark\nclass TestSecond(TestFirst):\n    def test_two(self): pass\n\
                    class TestOther(other.Shared): pass\n";
        let file = file("test_shared.py", text);
        let functions = test_functions(&[file], 7);
        assert_eq!(
            all_names(&functions),
            [
                "Shared.test_one TestFirst.test_one TestSecond.test_one",
                "Shared.test_two TestFirst.test_two",
                "TestSecond.test_two",
            ]
        );
    }

    /// Such tests had no twins at all.
    #[test]
    fn methods_of_imported_classes_have_twins_in_the_importing_file() {
        let tests = "from base import TestBase, other\nfrom middle import Middle\n\
                     class TestOwn(Middle):\n    def test_two(self): pass\n";
        // `Middle` is not among what the tests import of the file with its base.
        let middle = "from base import TestBase\nclass Middle(TestBase): pass\n";
        let base = "class TestBase:\n    def helper(self): pass\n    \
                    def test_one(self):\n        assert f(1) == 14\n    \
                    def test_two(self): pass\n\
                    class TestUnknown:\n    def test_three(self): pass\n";
        let files = [
            file("test_own.py", tests),
            file("middle.py", middle),
            file("base.py", base),
        ];
        let functions = test_functions(&files, 7);
        assert_eq!(
            all_names(&functions),
            [
                "TestOwn.test_two",
                "TestBase.test_one Middle.test_one TestOwn.test_one",
                "TestBase.test_two Middle.test_two",
            ]
        );
        let inherited = &functions[1];
        assert_eq!((functions[0].file, inherited.file), (0, 2));
        assert!(inherited.neutral.is_none());
        assert!(!inherited.altered.is_empty() && inherited.complements.len() == 1);
        let edits = inherited.altered.iter().chain(&inherited.complements);
        for edit in edits {
            assert_eq!(edit.file, 2);
            assert!(apply(&[&edit.edit], base).contains("assert f(1) "));
        }
    }

    /// Tests whose rows a helper checks had no altered twins.
    #[test]
    fn rows_that_a_function_is_called_with_are_altered() {
        let text = "package f\n\ntype row struct {\n\tin   int\n\twant bool\n}\n\n\
                    func TestRows(t *testing.T) {\n\trows := []row{\n\t\t{in: 4, want: true},\n\t\t\
                    {in: 5, want: false},\n\t}\n\tfor _, each := range rows {\n\t\t\
                    check(t, each)\n\t}\n}\n\n\
                    func check(t *testing.T, given row) {\n\twant := given.want\n\t\
                    if ok := IsEven(given.in); ok != want {\n\t\tt.Errorf(\"wrong\")\n\t}\n}\n";
        let lines = twins_of("f_test.go", text);
        assert_lines(
            &lines,
            &["  {in: 4, want: false},", "  {in: 5, want: true},"],
        );
        assert_no_lines(&lines, &["{in: 3", "{in: 6"]);
    }

    /// The rows of a set have no order, so an index of an altered row may be another row's.
    #[test]
    fn tables_that_are_sets_are_altered_and_unordered() {
        let text = "ROWS = {(1, 2), (3, 4)}\n\
                    @pytest.mark.parametrize(\"a, wanted\", ROWS)\n\
                    def test_set(a, wanted):\n    assert f(a) == wanted\n\
                    @pytest.mark.parametrize(\"a, wanted\", [(1, 2)])\n\
                    def test_list(a, wanted):\n    assert f(a) == wanted\n";
        let file = file("test_set.py", text);
        let functions = test_functions(&[file], 7);
        let rows = |index: usize| {
            functions[index]
                .neutral
                .as_ref()
                .map(|neutral| neutral.rows)
        };
        assert_eq!(rows(0), Some(RowNames::Unordered));
        assert_eq!(rows(1), Some(RowNames::Bracketed));
        assert!(!functions[0].altered.is_empty());
    }

    /// Titles repeat answers, which code could read in place of the altered ones.
    #[test]
    fn names_around_and_within_tests_lose_their_answers() {
        let script = "describe(\"five is fine\", () => {\n  describe('grades', () => {\n    \
                      it(\"is\", () => { expect(f(5)).toBe(\"fine\"); });\n  });\n  \
                      describe(`of ${word}`, () => {\n    it(\"x\", () => { expect(g(5)).toBe(7); \
                      });\n  });\n});\n";
        let functions = test_functions(&[file("f.test.ts", script)], 7);
        let neutral = |index: usize| functions[index].neutral.clone().expect("a neutral name");
        let (names, edits): (Vec<_>, Vec<_>) = neutral(0).suites.into_iter().unzip();
        assert_eq!(names, ["s9", "s44"]);
        let renamed = apply(&edits.iter().collect::<Vec<_>>(), script);
        assert!(renamed.starts_with("describe(\"s9\", () => {\n  describe(\"s44\", () => {"));
        assert_eq!(neutral(1).suites, []);
        let go = "package f\n\nfunc TestGrade(t *testing.T) {\n\tt.Run(\"4 is low\", func(t \
                  *testing.T) {\n\t\tif Grade(4) != \"low\" {\n\t\t\tt.Fatal()\n\t\t}\n\t})\n\tfor _, \
                  row := range []struct {\n\t\tname string\n\t\tn    int\n\t\twant string\n\t}{{\"5 is \
                  fine\", 5, \"fine\"}} {\n\t\tt.Run(row.name, func(t *testing.T) {\n\t\t\tif \
                  Grade(row.n) != row.want {\n\t\t\t\tt.Fatal()\n\t\t\t}\n\t\t})\n\t}\n}\n";
        let functions = test_functions(&[file("f_test.go", go)], 7);
        let edits = &functions[0]
            .neutral
            .as_ref()
            .expect("a neutral name")
            .single;
        let renamed = apply(&edits.iter().collect::<Vec<_>>(), go);
        assert!(renamed.contains("t.Run(\"\", func"), "{renamed}");
        assert!(renamed.contains("{{\"\", 5, \"fine\"}}"), "{renamed}");
    }

    /// An alteration of several rows copies nothing that is between them.
    #[test]
    fn edits_between_joined_ones_are_made() {
        let text = "(1, one, id=a), (2, one, id=b)";
        let word = |at: usize, new: &str| SourceEdit::new(at..at + 3, new);
        let joined = SourceEdit::joined(vec![word(4, "two"), word(20, "six")], text);
        let joined = joined.expect("two edits");
        assert_eq!(apply(&[&joined], text), "(1, two, id=a), (2, six, id=b)");
        let renames = [
            SourceEdit::new(9..13, "id=x"),
            SourceEdit::new(25..29, "id=y"),
        ];
        let edits = [&renames[0], &joined, &renames[1]];
        assert_eq!(apply(&edits, text), "(1, two, id=x), (2, six, id=y)");
    }

    #[test]
    fn names_of_rows_lose_their_answers() {
        let renamed = |name, text: &str| {
            let file = ExpectationFile {
                name,
                language: Language::for_path(Path::new(name)),
                text,
            };
            let functions = test_functions(&[file], 7);
            let neutral = functions
                .last()
                .and_then(|test| test.neutral.clone())
                .expect("a neutral name");
            apply(&neutral.several.iter().collect::<Vec<_>>(), text)
        };
        let python = "@pytest.mark.parametrize(\n    \"name, carts, load\",\n    [(\"5 make 20\", 5, \
                      20), pytest.param(\"6 make 24\", 6, 24)],\n)\ndef test_load(name, carts, \
                      load):\n    assert haul(carts) == load\n";
        let changed = renamed("test_f.py", python);
        assert!(
            !changed.contains("make") && changed.contains("(\"\", 5, 20)"),
            "{changed}"
        );
        let script = "it.each([\n  { name: \"5 make 20\", carts: 5, load: \"20\" },\n])(\"$name\", ({ \
                      carts, load }) => { expect(haul(carts)).toBe(load); });\n";
        let changed = renamed("f.test.ts", script);
        assert!(
            changed.contains("{ name: \"\", carts: 5, load: \"20\" }"),
            "{changed}"
        );
        let script = "test.each([[\"5 make 20\", 5, \"20\"]])(\"%s\", (_name, carts, load) => { \
                      expect(haul(carts)).toBe(load); });\n";
        let changed = renamed("f.test.ts", script);
        assert!(changed.contains("[\"\", 5, \"20\"]"), "{changed}");
        // What a fixture uses stays.
        let fixture = "@pytest.fixture\ndef shout(text):\n    return text.upper()\n\n\
                       @pytest.mark.parametrize(\"text, size\", [(\"ab\", 2)])\ndef test_shout(shout, \
                       text, size):\n    assert f(shout) == size\n";
        let changed = renamed("test_f.py", fixture);
        assert!(changed.contains("(\"ab\", 2)"), "{changed}");
        let shared = "ROWS = [(\"ab\", 2)]\n\n@pytest.mark.parametrize(\"text, size\", ROWS)\ndef \
                      test_size(text, size):\n    assert f() == size\n";
        let changed = renamed("test_f.py", shared);
        assert!(changed.contains("[(\"ab\", 2)]"), "{changed}");
        // What the test uses stays.
        let script = "test.each([[\"five\", 20]])(\"%s\", (word, load) => { \
                      expect(haul(word)).toBe(load); });\n";
        assert!(renamed("f.test.ts", script).contains("[[\"five\", 20]]"));
    }

    #[test]
    fn inputs_are_found_through_calls_members_and_filled_values() {
        let script = r#"
const rows = [{ run: f, n: 3, want: 31 }];
test("load", async () => {
  const title = "axle 5";
  const got = await load(title);
  assert.equal(got.items[0].name, title);
});
test("make", () => {
  const word = "hinge";
  assert.deepEqual(make(word), { word });
});
test("rows", () => {
  for (const row of rows) assert.equal(row.run(row.n), row.want);
});
"#;
        let lines = twins_of("f.test.js", script);
        assert_lines(
            &lines,
            &[
                "  assert.equal(got.items[0].name, \"…",
                "  assert.deepEqual(make(word), { word: \"…",
                "  const rows = [{ run: f, n: 3, want: …",
            ],
        );
        assert_no_lines(&lines, &["const title", "const word"]);
        let python = "def test_fill():\n    result = []\n    collect(3, result)\n    assert result == [1, \
                      2, 3]\n";
        let lines = twins_of("test_f.py", python);
        assert_lines(&lines, &["  assert result == […"]);
        assert_no_lines(&lines, &["result ="]);
    }

    #[test]
    fn edits_of_data_with_several_parts_are_at_their_places() {
        let test = "LIMITS = json.load(open(\"limits.json\"))\n\ndef test_area():\n    assert \
                    LIMITS[\"low\"] < area(3) < LIMITS[\"high\"]\n";
        let data = "{\"low\": 14, \"high\": 18}";
        let functions = test_functions(&[file("test_f.py", test), file("limits.json", data)], 7);
        let moved = functions[0].altered.iter().filter(|edit| edit.file == 1);
        let moved: Vec<String> = moved.map(|edit| apply(&[&edit.edit], data)).collect();
        assert!(!moved.is_empty());
        for text in moved {
            let value: serde_json::Value = serde_json::from_str(&text).expect(&text);
            assert_ne!(value["low"], 14, "{text}");
        }
    }

    /// A function among arguments asserts, and what only reports a value does not compute with it.
    #[test]
    fn answers_in_callbacks_and_reports_are_altered() {
        let script = r#"
test("parse", () => {
  parse("axle", (err, got) => { assert.equal(got.name, "AXLE"); });
});
"#;
        assert_lines(
            &twins_of("f.test.js", script),
            &["  parse(\"axle\", (err, got) => { assert.equal(got.name, \"…"],
        );
        let python = "class TestFeed(TestCase):\n    def test_feed(self):\n        for raw, want in \
                      [(\"a\", 31)]:\n            with self.subTest(raw=raw, want=want):\n                \
                      self.counter.feed(raw)\n                self.assertEqual(self.counter.total, \
                      want)\n";
        assert_lines(
            &twins_of("test_f.py", python),
            &["  for raw, want in [(\"a\", …"],
        );
    }

    /// Of an argument, a longer number would be none that the function takes.
    #[test]
    fn arguments_of_parts_keep_their_length() {
        let python = "def test_day():\n    assert date(2024, 12, 25) in holidays(2024)\n";
        let lines = twins_of("test_f.py", python);
        let is_altered =
            |line: &String| line.contains("assert date(") && !line.contains("date(2024, 12, 25)");
        assert!(lines.iter().any(is_altered));
        for number in lines
            .iter()
            .flat_map(|line| line.split(|c: char| !c.is_ascii_digit()))
        {
            assert!(number.len() < 5, "{lines:#?}");
        }
    }

    /// A right message may hold another digit, too.
    #[test]
    fn short_parts_become_longer_ones() {
        let python = r#"
def test_part():
    with pytest.raises(ValueError, match="8"):
        f(8)

def test_member():
    assert 5 in g()
"#;
        let mut seen = 0;
        for line in twins_of("test_f.py", python) {
            let altered = line
                .trim()
                .strip_prefix("with pytest.raises(ValueError, match=\"")
                .or_else(|| line.trim().strip_prefix("assert ")?.strip_suffix(" in g()"))
                .filter(|altered| !altered.ends_with("not"));
            if let Some(altered) = altered {
                let digits = altered.chars().filter(char::is_ascii_digit).count();
                assert!(digits > 3, "{line}");
                seen += 1;
            }
        }
        assert!(seen > 1);
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
        assert_lines(
            &twins_of("f.test.ts", text),
            &[
                "f > adds",
                "  expect(f(3)).to.equal('…",
                "  expect(f(1)).toEqual({ a: …",
                "  expect(f(1)).not.toEqual({ a: 2 });",
                "  await expect(f(2)).resolves.toBe(3);",
                "  expect(f(3)).to.not.equal('four');",
                "  it(\"t0\", async () => {",
                "f > case * of",
                "  test.each([1, 2])('case %i of', (n) => expect(f(n)).not.toBeGreaterThan(0));",
                "  test.each([1, 2])(\"t1 %#\", (n) => expect(f(n)).toBeGreaterThan(0));",
                "asserts",
                "  assert.deepEqual(f(1), […",
                "  assert.notDeepEqual(f(1), [2]);",
                "  assert(!(f(2)));",
                "row *",
                "  test.each([[1, …",
                "  expect(f(a)).not.toBe(b);",
                "  for (const [a, b] of [[1, \"…",
                "  const expected = { c: …",
                "  expect(f(a) === …",
                "  expect(g(a)).not.toEqual(expected);",
                "  it(`t4 ${globalThis.t4 = (globalThis.t4 ?? -1) + 1}`, () => {",
            ],
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
        assert_lines(
            &twins_of("f_test.go", text),
            &[
                "TestPlain",
                "  if got := f(1); got != …",
                "  want := \"…",
                "  if got := f(1); !(got != 2) {",
                "  if got := f(2); !(!reflect.DeepEqual(got, want)) {",
                "  func TestNo0In66(t *testing.T) {",
                "TestTable",
                "  tests := []struct{ in, want int }{{1, …",
                "  tests := []struct{ in, want int }{{1, 2}, {in: 3, want: …",
                "  for in, want := range map[string]bool{\"a\": false} {",
                "  if got, err := f(tt.in); !(err != nil || got != tt.want) {",
                "  if !(f(in) != want) {",
                "  t.Run(\"\", func(t *testing.T) {",
                "TestTestify",
                "  assert.Equal(t, …",
                "  assert.NotEqual(t, 14, f(1))",
                "  require.Error(t, g())",
            ],
        );
    }

    #[test]
    fn answers_written_in_unusual_ways_are_altered() {
        let python = r#"
def test_bounds():
    assert 3 < f() < 7
def test_one_bound():
    assert f() > 3
def test_choices():
    assert f() in (3, 4)
def test_pattern():
    assert re.fullmatch(r"ab\d+", f())
def test_beginning():
    assert f().startswith("ab")
def test_beginnings():
    assert f().startswith(("ab", "cd"))
def test_member():
    assert f() is Season.SUMMER
    g(Season.WINTER)
def test_empty():
    assert f() == []
def test_truth():
    assert f() is True
def test_escape():
    assert f() == "ab\n"
def test_foreign():
    assert f(3) == Money.parse("3.50")
class Case:
    def test_greater(self):
        self.assertGreater(f(), 3)
    def test_one(self):
        self.assertIn(f(), [3, 4])
"#;
        let typescript = r#"
it("has one bound", () => { expect(f()).toBeGreaterThan(3); });
it("orders", () => { assert.ok(f() > 3 && f() < 7); });
it("has choices", () => { expect([3, 4]).toContain(f()); });
it("includes", () => { assert.ok([3, 4].includes(f())); });
it("matches", () => { expect(f()).toMatch(/ab\d+/); });
it("has a member", () => { expect(f()).toBe(Season.Summer); g(Season.Winter); });
it("is empty", () => { expect(f()).toEqual([]); });
it.each([[1, 2]] as const)("is %s", (n, wanted) => { expect(f(n)).toBe(wanted); });
it("is foreign", () => { expect(f(3)).toEqual(money("3.50")); });
"#;
        let go = r#"package f

func TestBounds(t *testing.T) {
	if got := f(); got < 3 || got > 7 {
		t.Error(got)
	}
}

func TestChoices(t *testing.T) {
	if got := f(); got != 3 && got != 4 {
		t.Error(got)
	}
}

func TestPattern(t *testing.T) {
	if !regexp.MustCompile("^ab3$").MatchString(f()) {
		t.Error()
	}
}

func TestRows(t *testing.T) {
	for _, row := range []struct {
		in  string
		err bool
	}{{"a", true}, {"b", false}} {
		if _, err := f(row.in); row.err && err == nil {
			t.Error()
		}
	}
}
"#;
        let java = r#"class FTest {
    @Test
    void bounds() {
        assertTrue(f() > 3 && f() < 7);
    }

    @Test
    void choices() {
        assertTrue(List.of(3, 4).contains(f()));
    }

    @Test
    void pattern() {
        assertTrue(f().matches("ab3"));
    }

    @Test
    void member() {
        assertEquals(Season.SUMMER, f(Season.WINTER));
    }

    @Test
    void empty() {
        assertEquals(List.of(), f());
    }

    @Test
    void foreign() {
        assertEquals(List.of(new Amount(3)), f());
    }
}
"#;
        for (path, text, count) in [
            ("t.py", python, 13),
            ("t.ts", typescript, 9),
            ("f_test.go", go, 4),
            ("FTest.java", java, 6),
        ] {
            // Every edit parses.
            twins_of(path, text);
            let file = ExpectationFile {
                name: path,
                language: Language::for_path(Path::new(path)),
                text,
            };
            let functions = test_functions(&[file], 3);
            assert_eq!(functions.len(), count, "{path}");
            for function in functions {
                // Within a bound from one side, many values are right.
                let unaltered = ["test_one_bound", "test_greater", "has one bound"];
                let name = function.names.last().map_or("", String::as_str);
                let is_unaltered = unaltered.contains(&name);
                assert_eq!(function.altered.is_empty(), is_unaltered, "{path}: {name}");
            }
        }
    }

    #[test]
    fn files_of_text_and_snapshots_are_altered() {
        let python = "def test_a():\n    assert f() == (HERE / \"wanted.txt\").read_text()\n";
        let typescript = "it(\"a\", () => { expect(f()).toMatchSnapshot(); });\n";
        let snapshot = "exports[`a 1`] = `\"ab\"`;\n\nexports[`b 1`] = `\"cd\"`;\n";
        for (path, text, name, data) in [
            ("t.py", python, "wanted.txt", "4127\n"),
            ("a.test.ts", typescript, "a.test.ts.snap", snapshot),
        ] {
            let tests = ExpectationFile {
                name: path,
                language: Language::for_path(Path::new(path)),
                text,
            };
            let other = ExpectationFile {
                name,
                language: None,
                text: data,
            };
            let functions = test_functions(&[tests, other], 5);
            assert!(!functions[0].altered.is_empty(), "{path}");
            for altered in &functions[0].altered {
                assert_eq!(altered.file, 1);
                let changed = apply(&[&altered.edit], data);
                assert_eq!(changed.lines().count(), data.lines().count());
                let differ = changed.lines().zip(data.lines()).filter(|(a, b)| a != b);
                assert_eq!(
                    differ.count(),
                    data.lines().filter(|line| !line.is_empty()).count()
                );
            }
        }
    }

    #[test]
    fn answers_in_tables_of_data_are_altered() {
        let records = r#"[{"n": 3, "wanted": 4127}, {"n": 5, "wanted": 98}]"#;
        let rows = "[[3, 4127], [5, 98]]";
        let object = r#"{"3": 4127, "5": 98}"#;
        for (path, text, data) in [
            (
                "t.py",
                "def test_a():\n    for row in json.load(open(\"rows.json\")):\n        assert f(row[\"n\"]) == row[\"wanted\"]\n",
                records,
            ),
            (
                "t.py",
                "ROWS = json.loads((HERE / \"rows.json\").read_text())\n\n@pytest.mark.parametrize(\"row\", ROWS)\ndef test_a(row):\n    assert f(row[\"n\"]) == row[\"wanted\"]\n",
                records,
            ),
            (
                "t.py",
                "ROWS = json.loads((HERE / \"rows.json\").read_text())\n\n@pytest.mark.parametrize(\"n, wanted\", ROWS)\ndef test_a(n, wanted):\n    assert f(n) == wanted\n",
                rows,
            ),
            (
                "t.py",
                "def test_a():\n    for n, wanted in json.load(open(\"rows.json\")).items():\n        assert f(int(n)) == wanted\n",
                object,
            ),
            (
                "a.test.ts",
                "import rows from \"./rows.json\";\nit.each(rows)(\"a\", ({ n, wanted }) => { expect(f(n)).toBe(wanted); });\n",
                records,
            ),
            (
                "a.test.js",
                "const rows = JSON.parse(readFileSync(\"rows.json\", \"utf8\"));\nfor (const row of rows) test(`a ${row.n}`, () => { assert.equal(f(row.n), row.wanted); });\n",
                records,
            ),
            (
                "a.test.js",
                "test(\"a\", () => { for (const [n, wanted] of JSON.parse(readFileSync(\"rows.json\"))) { assert.equal(f(n), wanted); } });\n",
                rows,
            ),
        ] {
            let functions = test_functions(&[file(path, text), file("rows.json", data)], 5);
            let altered = &functions[0].altered;
            let changed = altered.iter().filter(|edit| edit.file == 1);
            let changed: Vec<String> = changed.map(|edit| apply(&[&edit.edit], data)).collect();
            for answer in ["4127", "98"] {
                let is_altered = |text: &String| !text.contains(answer) && text.contains('3');
                assert!(
                    changed.iter().any(is_altered),
                    "{answer} of {text}: {changed:?}"
                );
            }
            for text in changed {
                serde_json::from_str::<serde_json::Value>(&text).expect(&text);
            }
        }
    }

    /// Code that reads the class from the test passes it, and fails the opposite.
    #[test]
    fn answers_about_values_are_no_answers_of_the_code() {
        let alters = |path: &str, text: &str| {
            let functions = test_functions(&[file(path, text)], 5);
            assert!(!functions[0].complements.is_empty() || !functions[0].altered.is_empty());
            !functions[0].altered.is_empty()
        };
        for (condition, expected) in [
            ("is_even(4)", true),
            ("not is_even(3)", true),
            ("isinstance(f(3), Point)", false),
            ("f(3).startswith(kinds.fallback)", false),
        ] {
            let text = format!("def test_a():\n    assert {condition}\n");
            assert_eq!(alters("t.py", &text), expected, "{condition}");
        }
        for (condition, expected) in [("!Even(4)", true), ("!errors.Is(F(3), ErrLow)", false)] {
            let text = format!(
                "package f\n\nfunc TestA(t *testing.T) {{\n\tif {condition} {{\n\t\tt.Fatal()\n\t}}\n}}\n"
            );
            assert_eq!(alters("f_test.go", &text), expected, "{condition}");
        }
    }

    #[test]
    fn answers_of_other_assertions_are_altered() {
        let python = [
            "def test_a():\n    got = f(3)\n    if got != 4127:\n        raise AssertionError(got)\n",
            "def test_a():\n    if f(3) != 4127:\n        pytest.fail()\n",
            "def test_a():\n    assert all(a == b for a, b in zip(f(3), [4127, 3]))\n",
            "def test_a():\n    assert not f(3) != 4127\n",
            "def test_a():\n    assert f(3) == 1 or f(3) == 4127\n",
            "def test_a():\n    assert abs(f(3) - 4127) < 0.5\n",
            "def test_a():\n    m.assert_called_once_with(4127)\n",
            "def test_a():\n    np.testing.assert_allclose(f(3), 4127)\n",
            "def test_a():\n    assert_that(f(3), equal_to(4127))\n",
            "def test_a():\n    assert_that(f(3)).is_equal_to(4127)\n",
            "def test_a():\n    assert {4127}.issubset(f(3))\n",
            "def test_a():\n    assert (f(3) == np.array([4127])).all()\n",
            "def test_a():\n    match f(3):\n        case 4127:\n            pass\n        case _:\n            raise KeyError\n",
            "def test_a():\n    for n, wanted in {3: 4127}.items():\n        assert f(n) == wanted\n",
            "def test_a():\n    for n, wanted in zip([3], [4127]):\n        assert f(n) == wanted\n",
            "def test_a():\n    for n, wanted in enumerate([4127]):\n        assert f(n) == wanted\n",
            "def test_a():\n    for row in [{\"n\": 3, \"wanted\": 4127}]:\n        assert f(row[\"n\"]) == row[\"wanted\"]\n",
            "def test_a():\n    (n, wanted) = (3, 4127)\n    assert f(n) == wanted\n",
            "class Row(NamedTuple):\n    n: int\n    wanted: int = 0\n\n@pytest.mark.parametrize(\"row\", [Row(3, 4127)])\ndef test_a(row):\n    assert f(row.n) == row.wanted\n",
            "@dataclass\nclass Row:\n    n: int\n    wanted: int\n\ndef test_a():\n    for row in [Row(3, 4127)]:\n        assert f(row.n) == row.wanted\n",
            "def test_a():\n    wanted = 4127\n    assert f(3) == f\"stone {wanted}\"\n",
            "def test_a():\n    with pytest.warns(UserWarning, match=\"4127\"):\n        f(3)\n",
            "@pytest.mark.parametrize(\"n, wanted\", [(3, 4127)])\nclass TestA:\n    def test_a(self, n, wanted):\n        assert f(n) == wanted\n",
            "class TestA:\n    WANTED = 4127\n    def test_a(self):\n        assert f(3) == self.WANTED\n",
            "class TestA(TestCase):\n    def setUp(self):\n        self.wanted = 4127\n    def test_a(self):\n        self.assertEqual(f(3), self.wanted)\n",
            "class TestA(TestCase):\n    def test_a(self):\n        self.assertFalse(f(3) != 4127)\n",
            "class TestA(TestCase):\n    def test_a(self):\n        with self.assertRaisesRegex(KeyError, \"4127\"):\n            f(3)\n",
        ];
        let typescript = [
            "test(\"a\", () => { equal(f(3), 4127); });\n",
            "test(\"a\", () => { a.strictEqual(f(3), 4127); });\n",
            "test(\"a\", (t) => { t.assert.equal(f(3), 4127); });\n",
            "test(\"a\", () => { f(3).should.equal(4127); });\n",
            "test(\"a\", () => { ok(f(3) === 4127); });\n",
            "test(\"a\", () => { if (f(3) !== 4127) throw new Error(); });\n",
            "test(\"a\", () => { if (f(3) !== 4127) { assert.fail(); } });\n",
            "test(\"a\", () => { switch (f(3)) { case 4127: break; default: throw new Error(); } });\n",
            "test(\"a\", () => { assert.throws(() => f(3), /4127/); });\n",
            "test(\"a\", () => { assert.throws(() => f(3), { message: \"4127\" }); });\n",
            "test(\"a\", () => { assert.throws(() => f(3), (error) => error.message === \"4127\"); });\n",
            "test(\"a\", () => { assert.ok(f(3).includes(\"4127\")); });\n",
            "test(\"a\", () => { const wanted = 4127; assert.equal(f(3), `stone ${wanted}`); });\n",
            "test(\"a\", () => { expect(m).toHaveBeenCalledWith(4127); });\n",
            "test(\"a\", () => { expect(f(3)).toSatisfy((n) => n === 4127); });\n",
            "test(\"a\", () => { const { n, wanted } = { n: 3, wanted: 4127 }; expect(f(n)).toBe(wanted); });\n",
            "test(\"a\", () => { [[3, 4127]].forEach(([n, wanted]) => { expect(f(n)).toBe(wanted); }); });\n",
            "test(\"a\", () => { assert.ok([[3, 4127]].every(([n, wanted]) => f(n) === wanted)); });\n",
            "[{ n: 3, wanted: 4127 }].forEach(({ n, wanted }) => { test(`a ${n}`, () => { expect(f(n)).toBe(wanted); }); });\n",
            "for (const { n, wanted } of [{ n: 3, wanted: 4127 }]) test(`a ${n}`, () => { expect(f(n)).toBe(wanted); });\n",
            "const rows = [{ n: 3, wanted: 4127 }];\nfor (const row of rows) test(`a ${row.n}`, () => { expect(f(row.n)).toBe(row.wanted); });\n",
            "for (const [n, wanted] of Object.entries({ 3: 4127 })) test(`a ${n}`, () => { expect(f(n)).toBe(wanted); });\n",
            "const rows = { 3: 4127 };\nfor (const n in rows) test(`a ${n}`, () => { expect(f(n)).toBe(rows[n]); });\n",
            "for (const row of [{ n: 3, wanted: 4127 }]) test(row.n.toString() + \" a\", () => { expect(f(row.n)).toBe(row.wanted); });\n",
            "for (const row of [{ n: 3, wanted: 4127 }]) test(row.n, () => { expect(() => f(row.n)).toThrowError(row.wanted || \"\"); });\n",
            "for (const row of [{ n: 3, wanted: \"4127\" }]) test(row.n, () => { expect(() => f(row.n)).toThrowError(row.wanted); });\n",
            "describe(\"s\", () => { const rows = [[1, 2]]; test(\"b\", () => { expect(rows).toBe(rows); }); });\n\
             describe(\"t\", () => { const rows = [{ n: 3, wanted: 4127 }]; for (const row of rows) test(row.n, () => { expect(f(row.n)).toBe(row.wanted); }); });\n",
            "describe(\"s\", () => { let wanted = 0; beforeEach(() => { wanted = 4127; }); test(\"a\", () => { expect(f(3)).toBe(wanted); }); });\n",
            "for (const [n, wanted] of new Map([[3, 4127]])) test(`a ${n}`, () => { expect(f(n)).toBe(wanted); });\n",
            "describe.each([[3, 4127]])(\"a %i\", (n, wanted) => { it(\"b\", () => { expect(f(n)).toBe(wanted); }); });\n",
            "it.for([[3, 4127]])(\"a %i\", ([n, wanted]) => { expect(f(n)).toBe(wanted); });\n",
            "it.each`\n  n | wanted\n  ${3} | ${4127}\n`(\"a $n\", ({ n, wanted }) => { expect(f(n)).toBe(wanted); });\n",
            "let wanted;\nbefore(() => { wanted = 4127; });\ntest(\"a\", () => { expect(f(3)).toBe(wanted); });\n",
        ];
        let go = [
            "{ switch { case F(3) != 4127: t.Error() } }",
            "{ switch F(3) { case 4127: default: t.Error() } }",
            "{ if F(3) == 4127 { return }; t.Error() }",
            "{ if F(3) == 4127 { t.Log() } else { t.Error() } }",
            "{ if F(3) != 4127 { panic(1) } }",
            "{ if d := diff(4127, F(3)); d != \"\" { t.Error(d) } }\nfunc diff(a, b int) string {\n\tif a == b {\n\t\treturn \"\"\n\t}\n\treturn \"x\"\n}",
            "{ if err := check(F(3), 4127); err != nil { t.Error(err) } }\nfunc check(a, b int) error {\n\tif a != b {\n\t\treturn errOther\n\t}\n\treturn nil\n}",
        ]
        .map(|body| format!("package f\n\nfunc TestA(t *testing.T) {body}\n"));
        let java = [
            "@Test void a() { if (f(3) != 4127) fail(); }",
            "@Test void a() { if (f(3) != 4127) { throw new AssertionError(); } }",
            "@Test void a() { assert f(3) == 4127; }",
            "@Test void a() { assertFalse(f(3) != 4127); }",
            "@Test void a() { assertTrue(\"4127\".equals(f(3))); }",
            "@Test void a() { assertTrue(f(3).contains(\"4127\")); }",
            "@Test void a() { assertThat(f(3), is(4127)); }",
            "@Test void a() { org.junit.Assert.assertEquals(\"sum\", 4127, f(3)); }",
            "@Test void a() { assertTrue(Stream.of(3).allMatch(n -> f(n) == 4127)); }",
            "@Test void a() { switch (f(3)) { case 4127: break; default: fail(); } }",
            "int wanted;\n@BeforeEach void set() { wanted = 4127; }\n@Test void a() { assertEquals(wanted, f(3)); }",
            "static Stream<Arguments> rows() { return Stream.of(Arguments.of(3, 4127)); }\n@ParameterizedTest @MethodSource(\"rows\") void a(int n, int wanted) { assertEquals(wanted, f(n)); }",
            "static Stream<Arguments> a() { return Stream.of(arguments(3, 4127)); }\n@ParameterizedTest @MethodSource void a(int n, int wanted) { assertEquals(wanted, f(n)); }",
            "static Object[][] rows() { return new Object[][] {{3, 4127}}; }\n@ParameterizedTest @MethodSource(\"rows\") void a(int n, int wanted) { assertEquals(wanted, f(n)); }",
        ]
        .map(|body| format!("class FTest {{\n{body}\n}}\n"));
        let texts = python.iter().map(|text| ("test_f.py", (*text).to_owned()));
        let texts = texts
            .chain(
                typescript
                    .iter()
                    .map(|text| ("f.test.ts", (*text).to_owned())),
            )
            .chain(go.into_iter().map(|text| ("f_test.go", text)))
            .chain(java.into_iter().map(|text| ("FTest.java", text)));
        let mut unaltered = Vec::new();
        for (path, text) in texts {
            // Every edit parses.
            twins_of(path, &text);
            let file = ExpectationFile {
                name: path,
                language: Language::for_path(Path::new(path)),
                text: &text,
            };
            let answer = text.find("4127").expect("an answer");
            let functions = test_functions(&[file], 1);
            let is_altered = functions.iter().flat_map(|function| &function.altered);
            let is_altered = is_altered
                .map(|altered| &altered.edit.range)
                .any(|range| range.contains(&answer));
            if !is_altered {
                unaltered.push(text);
            }
        }
        assert_eq!(unaltered, Vec::<String>::new());
    }

    #[test]
    fn messages_repeat_no_answer() {
        let blank = |path: &str, text: &str| {
            let language = Language::for_path(Path::new(path)).expect("a language of the table");
            without_comments(language, text)
        };
        for (path, text) in [
            (
                "t.py",
                "\"\"\"It is 4127.\"\"\"\nclass TestA:\n    \"\"\"4127 stones.\"\"\"\n    def test_a(self):\n        \
                 assert f(3) == 98, f\"4127, not {got}\"\n        self.assertEqual(f(3), 98, \"is 4127\")\n        \
                 self.assertTrue(f(3), msg=\"is 4127\")\n        self.fail(\"4127\")\n        print(\"is 4127\", f(98))\n        logging.info(\"4127 %d\", n)\n        with self.subTest(\"is 4127\", stones=4127):\n            pass\n        if f(3) != 98:\n            raise KeyError(\"4127\", 4127)\n",
            ),
            (
                "f_test.go",
                "package f\n\nfunc TestA(t *testing.T) {\n\tif got := F(3); got != 98 {\n\t\t\
                 t.Errorf(\"F(3) = %5d, want 4127 or %d\", got, 4127)\n\t}\n\tfmt.Println(\"4127\")\n\tlog.Printf(\"4127 %d\", n)\n}\n",
            ),
            (
                "f.test.ts",
                "it(\"a\", () => {\n  assert.equal(f(3), 98, \"is 4127\");\n  expect(f(3), `is 4127`).toBe(98);\n  \
                 if (f(3) !== 98) throw new Error(\"4127\" + f(3));\n  console.log(`is 4127`);\n});\n",
            ),
            (
                "FTest.java",
                "class FTest {\n    @Test @DisplayName(\"gives 4127\") void a() {\n        \
                 assertEquals(98, f(3), \"is 4127\");\n        assertEquals(98, f(3), () -> \"is 4127\");\n        \
                 fail(\"4127\");\n        System.out.println(\"4127\");\n    }\n    @ParameterizedTest(name = \"{0} gives 4127\") void b() {\n    }\n}\n",
            ),
        ] {
            let blanked = blank(path, text);
            assert!(!blanked.contains("4127"), "{blanked}");
            assert_eq!(blanked.matches("98").count(), text.matches("98").count());
            assert_eq!(blanked.matches('%').count(), text.matches('%').count());
            let language = Language::for_path(Path::new(path)).expect("a language of the table");
            assert!(language.parses(&blanked), "{blanked}");
        }
        // Arguments are no messages.
        let text = "class A(TestCase):\n    def test_a(self):\n        self.assertRaises(KeyError, f, \"4127\")\n        \
            m.assert_called_with(\"a\", \"b\", \"4127\")\n";
        assert_eq!(blank("t.py", text), text);
    }

    #[test]
    fn comments_are_blank_but_for_those_that_tools_read() {
        let blank = |path: &str, text: &str| {
            let language = Language::for_path(Path::new(path)).expect("a language of the table");
            without_comments(language, text)
        };
        assert_eq!(
            blank(
                "t.py",
                "def test_a():\n    \"\"\"Is 14.\"\"\"\n    assert f() == 14  # It is 14: ö\n"
            ),
            format!(
                "def test_a():\n    \"\"\"{}\"\"\"\n    assert f() == 14  #{}\n",
                " ".repeat(6),
                " ".repeat(13)
            )
        );
        assert_eq!(
            blank(
                "t.ts",
                "// @vitest-environment jsdom\nexpect(f()).toBe(\"// 1\"); // is 1\n/* is 1 */\n"
            ),
            "// @vitest-environment jsdom\nexpect(f()).toBe(\"// 1\"); //     \n/*      */\n"
        );
        assert_eq!(
            blank("t_test.go", "//go:build linux\n\npackage t // is 1\n"),
            "//go:build linux\n\npackage t //     \n"
        );
        assert_eq!(
            blank(
                "t.js",
                "/**\n * Is 3.\n * @jest-environment jsdom\n */\n// @kim: 3\n"
            ),
            "/**\n        \n * @jest-environment jsdom\n */\n//        \n"
        );
        assert_eq!(
            blank("t.py", "# -*- coding: utf-8 -*-\n\n# The coding is 3.\n"),
            "# -*- coding: utf-8 -*-\n\n#                 \n"
        );
    }

    #[test]
    fn indexed_lists_have_the_indexed_element_altered() {
        let go = "package f\n\nvar listed = []int{4127, 6}\nvar named = map[int]int{1: 31, 0: 52}\n\n\
            func TestListed(t *testing.T) {\n\tassert.Equal(t, listed[0], f(1))\n}\n\n\
            func TestNamed(t *testing.T) {\n\tassert.Equal(t, named[1], f(1))\n}\n";
        let java = "class FTest {\n    static final int[] LISTED = {4127, 6};\n\n    @Test\n    void listed() {\n        \
            assertEquals(LISTED[0], f(1));\n    }\n}\n";
        for (path, text, values) in [
            ("f_test.go", go, &["4127", "31"][..]),
            ("FTest.java", java, &["4127"]),
        ] {
            let file = ExpectationFile {
                name: path,
                language: Language::for_path(std::path::Path::new(path)),
                text,
            };
            let functions = test_functions(&[file], 1);
            assert_eq!(functions.len(), values.len());
            for (function, value) in functions.iter().zip(values) {
                assert!(!function.altered.is_empty(), "{path} {value}");
                for altered in &function.altered {
                    assert_eq!(&text[altered.edit.range.clone()], *value, "{path}");
                }
            }
        }
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
        assert_lines(
            &twins_of("FTest.java", text),
            &[
                "FTest > plain",
                "  assertThat(f(6)).as(\"six\").isEqualTo(List.of(8L, 7L));",
                "  String want = \"…",
                "  assertEquals(…",
                "  assertArrayEquals(new int[] {2, 1}, f(7));",
                "  assertNotEquals(2, f(1));",
                "  assertNotEquals(want, f(2), \"message 1\");",
                "  assertFalse(f(4).ok());",
                "  assertThat(f(6)).as(\"six\").isNotEqualTo(List.of(7L, 8L));",
                "  void t0() {",
                "FTest > Inner > small",
                "  Assertions.assertTrue(f(n));",
                "  void t1(int n) {",
            ],
        );
    }
}
