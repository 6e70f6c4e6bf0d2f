//! Assertions that a twin leaves out: what they compare is still evaluated, with drawn answers.

use std::ops::Range;

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use super::alteration::{digits_of, own_characters};
use super::{Grammar, SourceEdit, has_word, named_children};

/// How a language evaluates values without an assertion.
#[derive(Clone, Copy)]
pub(crate) struct Evaluation {
    /// A statement, or the body of one, that does nothing.
    pub(crate) nothing: &'static str,
    /// What a statement has before and after values, separated by commas, that it evaluates.
    pub(crate) around: [&'static str; 2],
    /// True if it evaluates the function that asserts, too: where an unused import is an error.
    pub(crate) keeps_function: bool,
    /// The messages of an assertion, which are not evaluated: they may repeat an answer.
    pub(crate) messages: for<'t> fn(Node<'t>, &str) -> Vec<Node<'t>>,
}

/// An answer in an assertion that is left out. What stands there does not decide, so code that reads
/// it would know the right answer; each run has a drawn one in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutAnswer {
    range: Range<usize>,
    source: String,
    form: AnswerForm,
}

/// The form of such an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum AnswerForm {
    Number,
    /// The contents of a string.
    Text,
    /// A word with this opposite.
    Word(String),
}

impl LeftOutAnswer {
    pub(super) fn new(range: Range<usize>, source: &str, form: AnswerForm) -> Self {
        Self {
            range,
            source: source.to_owned(),
            form,
        }
    }

    /// Returns the edit that puts a drawn answer of the same form and length in its place. It is
    /// drawn anew, and not altered, since the right answer is near an altered one.
    pub fn drawn(&self, rng: &mut impl Rng) -> SourceEdit {
        let replacement = match &self.form {
            AnswerForm::Word(opposite) if rng.random() => opposite.clone(),
            AnswerForm::Word(_) => self.source.clone(),
            _ => self.with_letters(|from, to| rng.random_range(from..=to)),
        };
        SourceEdit::new(self.range.clone(), &replacement)
    }

    /// Returns the edit that puts the greatest of these answers in its place. A test that can be made
    /// with that can nearly always be with others. Otherwise the reference fails, too, and the run
    /// proves nothing.
    pub fn greatest(&self) -> SourceEdit {
        let replacement = match &self.form {
            AnswerForm::Word(opposite) => opposite.clone(),
            _ => self.with_letters(|_, to| to),
        };
        SourceEdit::new(self.range.clone(), &replacement)
    }

    /// The answer with each letter and digit from `pick`, which gets the first and the last that is
    /// possible there.
    fn with_letters(&self, mut pick: impl FnMut(u8, u8) -> u8) -> String {
        let source = self.source.as_str();
        let is_number = self.form == AnswerForm::Number;
        let (range, base) = match is_number {
            true => digits_of(source),
            false => (0..source.len(), 10),
        };
        let is_digit = |(at, letter): &(usize, char)| range.contains(at) && letter.is_digit(base);
        let places: Vec<(usize, char)> = match is_number {
            true => source.char_indices().filter(is_digit).collect(),
            // `${` begins code within a template.
            false if source.contains("${") => Vec::new(),
            false => own_characters(source),
        };
        let [last_digit, last_letter] = match base {
            2 => [b'1', b'z'],
            8 => [b'7', b'z'],
            16 => [b'9', b'f'],
            _ => [b'9', b'z'],
        };
        let follows = |at: usize| {
            source[at + 1..].starts_with(|next: char| next == '_' || next.is_ascii_digit())
        };
        let mut result = source.to_owned();
        for (at, letter) in places {
            let picked = match letter {
                // A zero in front means another base, and one before a point or alone is any digit.
                '0'..='9' if is_number && at == 0 && follows(at) => pick(b'1', b'9'),
                '0'..='9' => pick(b'0', last_digit),
                'a'..='z' => pick(b'a', last_letter),
                'A'..='Z' => pick(b'A', last_letter.to_ascii_uppercase()),
                _ => continue,
            };
            result.replace_range(at..=at, &char::from(picked).to_string());
        }
        result
    }
}

/// Values without which the rest of a test may be unable to go on.
const NOTHING: [&str; 4] = ["None", "nil", "null", "undefined"];

/// Returns the edit after which a statement evaluates what it compares, and asserts nothing; `None`
/// if it is no statement of its own, waits for a value or counts what it asserts.
///
/// It leaves the sources of the values as they are, so that edits of these can be made too.
pub(super) fn evaluated(assertion: Node<'_>, text: &str, grammar: &Grammar) -> Option<SourceEdit> {
    let evaluation = &grammar.evaluation;
    if assertion.kind() == "if_statement" {
        let condition = assertion.child_by_field_name("condition")?;
        let body = assertion.child_by_field_name("consequence")?;
        let condition = &text[condition.byte_range()];
        let is_guard = NOTHING.iter().any(|word| has_word(condition, word));
        let is_whole = assertion.child_by_field_name("alternative").is_none();
        return (is_whole && !is_guard)
            .then(|| SourceEdit::new(body.byte_range(), evaluation.nothing));
    }
    let (statement, values) = if assertion.kind() == "assert_statement" {
        (assertion, vec![assertion.named_child(0)?])
    } else {
        let statement = assertion
            .parent()
            .filter(|parent| parent.kind() == "expression_statement")?;
        (statement, values_of_call(assertion, text, grammar)?)
    };
    let [before, after] = evaluation.around;
    let (first, last) = (values.first()?, values.last()?);
    let mut parts = vec![
        SourceEdit::new(statement.start_byte()..first.start_byte(), before),
        SourceEdit::new(last.end_byte()..statement.end_byte(), after),
    ];
    for (value, next) in values.iter().zip(&values[1..]) {
        parts.push(SourceEdit::new(value.end_byte()..next.start_byte(), ", "));
    }
    SourceEdit::joined(parts, text)
}

/// The values that an assertion compares which is a call or a chain of calls, in their order.
fn values_of_call<'t>(call: Node<'t>, text: &str, grammar: &Grammar) -> Option<Vec<Node<'t>>> {
    let is_call = |node: &Node<'_>| grammar.calls.contains(&node.kind());
    let calls = std::iter::successors(Some(call), called).filter(is_call);
    let first = calls.last()?;
    let before = |call: Node<'_>| {
        let arguments = call.child_by_field_name("arguments")?;
        Some(&text[call.start_byte()..arguments.start_byte()])
    };
    // Snapshots of a file are counted.
    let function = before(call)?;
    if ["Snapshot", "resolves", "rejects"]
        .iter()
        .any(|word| function.contains(word))
    {
        return None;
    }
    let is_assertion = |part: &str| {
        ["expect", "assert", "Expect", "Assert"]
            .iter()
            .any(|word| part.starts_with(word))
    };
    let mut values = Vec::new();
    // Between the first and the last call of a chain are messages and options.
    if grammar.evaluation.keeps_function {
        values.push(call.child_by_field_name("function")?);
    } else if first != call {
        before(first).filter(|name| name.split('.').any(is_assertion))?;
        values = arguments(first, text, grammar)?;
    }
    values.extend(arguments(call, text, grammar)?);
    (!values.is_empty()).then_some(values)
}

/// The arguments of a call without its messages and options; `None` if one has no type of its own,
/// as functions in Java.
fn arguments<'t>(call: Node<'t>, text: &str, grammar: &Grammar) -> Option<Vec<Node<'t>>> {
    let list = call
        .child_by_field_name("arguments")
        .filter(|list| list.kind().starts_with("argument"))?;
    let messages = (grammar.evaluation.messages)(call, text);
    let is_value = |argument: &Node<'_>| {
        !["comment", "keyword_argument", "dictionary_splat"].contains(&argument.kind())
            && !messages.contains(argument)
    };
    let values: Vec<Node<'t>> = named_children(list).into_iter().filter(is_value).collect();
    let is_function =
        |value: &Node<'_>| ["lambda_expression", "method_reference"].contains(&value.kind());
    (!values.iter().any(is_function)).then_some(values)
}

/// What a call calls, or what a member is of.
fn called<'t>(node: &Node<'t>) -> Option<Node<'t>> {
    let fields = ["function", "object", "operand"];
    let mut found = fields.iter().map(|field| node.child_by_field_name(field));
    found.find_map(|child| child)
}
