//! What turns model text into what a person would accept. Each rule is one small function; what
//! a rule removes or rewrites is told in a [`Decision`].
//!
//! Some rules see an end while the model still writes: [`Watch`] stops it there. They look at
//! whole lines only and at nothing after them, and [`clean`] asks them at the same line ends, so
//! that a text ended early and the same text written to its end come to the same.

mod brackets;
mod chat;
mod extent;
mod overlap;
mod repetition;
mod scan;
mod site;
mod style;
mod tokens;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tree_sitter::Tree;

use self::scan::Opening;
use self::site::Site;
use crate::syntax::Language;

/// Applies every rule in order and tells what each removed.
pub fn clean(raw: &str, place: &Place<'_>) -> (String, Vec<Decision>) {
    Cleaner::new(*place).clean(raw)
}

/// Cleans texts for one place. The file is parsed once for all of them.
#[derive(Debug)]
pub struct Cleaner<'a> {
    site: Site<'a>,
    /// What is open at the cursor.
    opening: OnceLock<Opening>,
}

impl<'a> Cleaner<'a> {
    /// Texts for this place.
    pub fn new(place: Place<'a>) -> Self {
        Self {
            site: Site::new(place),
            opening: OnceLock::new(),
        }
    }

    /// A watch over one text while it is written.
    pub fn watch(&self) -> Watch<'_> {
        Watch {
            cleaner: self,
            seen: 0,
            enough: false,
        }
    }

    /// Applies every rule in order and tells what each removed.
    pub fn clean(&self, raw: &str) -> (String, Vec<Decision>) {
        let place = &self.site;
        let mut decisions = Vec::new();
        let mut text = raw.to_owned();
        let end = line_ends(raw).find_map(|end| Some((end, self.rule_at(&raw[..end])?)));
        if let Some((end, rule)) = end.filter(|(end, _)| *end < raw.len()) {
            decisions.push(Decision::cut(rule, text.split_off(end)));
        }
        for (rule, apply) in RULES {
            match apply(&text, place) {
                Change::None => {}
                Change::EndAt(end) if end >= text.len() => {}
                Change::EndAt(end) => {
                    let mut removed = text.split_off(end);
                    // The rule may have seen the end of the last line only, and now the very end.
                    if decisions.last().is_some_and(|last| last.rule == *rule)
                        && let Some(last) = decisions.pop()
                    {
                        removed.push_str(&last.removed);
                    }
                    decisions.push(Decision::cut(rule, removed));
                }
                Change::BeginAt(0) => {}
                Change::BeginAt(begin) => {
                    let rest = text.split_off(begin.min(text.len()));
                    decisions.push(Decision::cut(rule, std::mem::replace(&mut text, rest)));
                }
                Change::Rewrite(new) if new == text => {}
                Change::Rewrite(new) => decisions.push(Decision {
                    rule: (*rule).to_owned(),
                    removed: std::mem::replace(&mut text, new),
                    rewritten: true,
                }),
            }
        }
        (text, decisions)
    }

    /// The rule by which a text that ends with a line needs no more, where there is one.
    fn rule_at(&self, lines: &str) -> Option<&'static str> {
        let place = &self.site;
        if tokens::leaked(lines, place).is_some() {
            return Some("tokens");
        }
        if place.chat || chat::thinks(lines) {
            // What is a line of code is known only once the prose around it is gone.
            return chat::is_over(lines).then_some("fence");
        }
        if extent::keeps_to_its_line(place) {
            return Some("line");
        }
        if repetition::loop_end(lines).is_some() {
            return Some("loop");
        }
        if overlap::runs_into_what_follows(lines, place) {
            return Some("suffix");
        }
        let opening = self.opening.get_or_init(|| Opening::at(place));
        opening.left_by(lines, place)
    }
}

/// Tells when a model has written enough.
#[derive(Debug)]
pub struct Watch<'a> {
    cleaner: &'a Cleaner<'a>,
    /// How much of the text has been looked at, up to a line end.
    seen: usize,
    enough: bool,
}

impl Watch<'_> {
    /// Whether nothing that may follow `so_far` can change what [`clean`] keeps of it. `so_far`
    /// only ever grows.
    pub fn enough(&mut self, so_far: &str) -> bool {
        let seen = self.seen;
        for end in line_ends(&so_far[seen..]).map(|end| seen + end) {
            self.seen = end;
            self.enough |= self.cleaner.rule_at(&so_far[..end]).is_some();
        }
        self.enough
    }
}

/// Where a completion goes.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The file's text before the cursor.
    pub prefix: &'a str,
    /// The file's text after the cursor.
    pub suffix: &'a str,
    /// The file's language, where the server knows it.
    pub language: Option<&'static Language>,
    /// The file's syntax tree with nothing at the cursor, where it is at hand; else the file is
    /// parsed.
    pub tree: Option<&'a Tree>,
    /// How far a completion may go.
    pub extent: Extent,
    /// Whether a chat model writes, which may put prose around the code.
    pub chat: bool,
}

/// How far a completion may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// To the end of the cursor's line.
    Line,
    /// To the end of the statement that the cursor is in, or that begins at it.
    Statement,
    /// To the end of the block that the cursor is in.
    #[default]
    Block,
    /// To the end of the function, method or class that the cursor is in, or else of the first
    /// one that begins in the completion.
    Definition,
    /// As far as the model goes.
    Anything,
}

/// What one rule removed from a completion, or rewrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The rule's name.
    pub rule: String,
    /// What it cut off, or the text before it rewrote it.
    pub removed: String,
    /// Whether the text was rewritten, not cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewritten: bool,
}

impl Decision {
    fn cut(rule: &str, removed: String) -> Self {
        Self {
            rule: rule.to_owned(),
            removed,
            rewritten: false,
        }
    }
}

/// The names of the rules, in the order in which they apply.
pub fn rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name)
}

/// What a rule makes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    None,
    /// Only so many bytes are kept.
    EndAt(usize),
    /// So many bytes are dropped at the beginning.
    BeginAt(usize),
    Rewrite(String),
}

type Rule = fn(&str, &Site<'_>) -> Change;

/// The rules in the order in which they apply: first what chat models put around the code, then
/// what ends it, then what repeats.
const RULES: &[(&str, Rule)] = &[
    ("think", chat::no_thoughts),
    ("fence", chat::only_the_code),
    ("preamble", chat::no_preamble),
    ("prefix", chat::do_not_repeat_what_precedes),
    ("tokens", tokens::no_template),
    ("line-ends", style::line_ends_of_the_file),
    ("indentation", style::indentation_of_the_file),
    ("line", extent::stay_on_the_line),
    ("rest-of-line", overlap::do_not_repeat_the_rest_of_the_line),
    ("statement", extent::end_with_the_statement),
    ("block", extent::stay_in_the_block),
    ("definition", extent::end_with_the_definition),
    ("brackets", brackets::close_only_what_is_open),
    ("suffix", overlap::do_not_repeat_what_follows),
    ("line-above", repetition::do_not_repeat_the_line_above),
    ("loop", repetition::do_not_repeat_lines),
    ("stutter", repetition::do_not_stutter),
    ("blank-end", style::end_with_ink),
];

/// The offsets just past each line end of a text.
fn line_ends(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices('\n').map(|(at, _)| at + 1)
}

/// The width of a line's leading white space, a tab counting as going on to the next multiple of
/// eight, as Python has it.
/// <https://docs.python.org/3/reference/lexical_analysis.html#indentation>
fn indentation(line: &str) -> usize {
    let mut width = 0;
    for character in line.chars() {
        match character {
            ' ' => width += 1,
            '\t' => width = (width / 8 + 1) * 8,
            _ => break,
        }
    }
    width
}

/// The text up to its first line end.
fn first_line(text: &str) -> &str {
    text.split(['\n', '\r']).next().unwrap_or_default()
}

/// The text after its last line end.
fn last_line(text: &str) -> &str {
    text.rsplit(['\n', '\r']).next().unwrap_or_default()
}

/// How many letters and digits a line has: repeating a line with few tells nothing.
fn ink(line: &str) -> usize {
    line.chars().filter(|c| c.is_alphanumeric()).count()
}

#[cfg(test)]
mod tests;
