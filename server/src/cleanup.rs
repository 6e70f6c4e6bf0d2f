//! Turns a raw completion into the text that a person sees. Each rule is one small function; a
//! [`Decision`] records what a rule removes or rewrites.
//!
//! Some rules recognise the end of a completion while the model still streams: [`EndDetector`]
//! stops the model there. These rules read whole lines only and nothing after them, and [`clean`]
//! applies them at the same line ends. So a completion that was stopped early gives the same result
//! as one streamed to its end.

mod brackets;
mod chat;
mod extent;
mod overlap;
mod repetition;
mod style;
mod syntax_site;
mod tokens;
mod written;

use serde::{Deserialize, Serialize};
use tree_sitter::Tree;

use self::syntax_site::SyntaxSite;
use crate::model::Finish;
use crate::syntax::Language;

pub use fillrate_syntax::CompletionExtent;

pub use self::tokens::{FOREIGN_TOKENS, ForeignToken};

/// Applies every rule in order. Returns the remaining text and the rules' decisions.
pub fn clean(raw: &str, site: &CursorSite<'_>) -> (String, Vec<Decision>) {
    Cleaner::new(*site).clean(raw, Finish::Stop)
}

/// Cleans raw completions for one cursor. The file is parsed once for all of them.
#[derive(Debug)]
pub struct Cleaner<'a> {
    site: SyntaxSite<'a>,
}

impl<'a> Cleaner<'a> {
    /// Creates a cleaner for this cursor.
    pub fn new(site: CursorSite<'a>) -> Self {
        Self {
            site: SyntaxSite::new(site),
        }
    }

    /// Creates a detector for one raw completion while it streams.
    pub fn end_detector(&self) -> EndDetector<'_> {
        EndDetector {
            cleaner: self,
            checked: 0,
            complete: false,
        }
    }

    /// Applies every rule in order. Returns the remaining text and the rules' decisions.
    pub fn clean(&self, raw: &str, finish: Finish) -> (String, Vec<Decision>) {
        let site = &self.site;
        if raw.is_empty() {
            return (String::new(), Vec::new());
        }
        let mut decisions: Vec<Decision> = Vec::new();
        let mut text = raw.to_owned();
        // A streamed completion is checked at each line end, so a whole one is too: both end alike.
        let end = line_ends(raw).find_map(|end| Some((end, self.completed_by(&raw[..end])?)));
        // A completion that a rule ended is finished, even if its model would have written more.
        let finish = end.map_or(finish, |_| Finish::Enough);
        if let Some((end, rule)) = end.filter(|(end, _)| *end < raw.len()) {
            decisions.push(Decision::cut(rule, text.split_off(end)));
        }
        let shaping: &[_] = match site.extent {
            CompletionExtent::Anything => &[],
            _ => SHAPING_RULES,
        };
        for (rule, apply) in FOREIGN_TEXT_RULES.iter().chain(shaping) {
            if *rule == UNFINISHED && !is_unfinished(raw, &text, &decisions, finish, site) {
                continue;
            }
            let change = match apply(&text, site) {
                // With extent `line`, part of a line is useful too, so whole tokens are kept.
                Change::EndAt(0)
                    if *rule == UNFINISHED
                        && finish == Finish::Length
                        && site.extent == CompletionExtent::Line =>
                {
                    Change::EndAt(written::last_whole_token(&text, site))
                }
                change => change,
            };
            match change {
                Change::None => {}
                Change::EndAt(end) if end >= text.len() => {}
                Change::EndAt(end) => {
                    let mut removed = text.split_off(end);
                    // The rule may have cut at an earlier line end; both parts are one decision.
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

    /// Returns the rule by which a text of whole lines is complete; `None` while it may continue.
    fn completed_by(&self, lines: &str) -> Option<&'static str> {
        let site = &self.site;
        if tokens::leaked(lines, site).is_some() {
            return Some("tokens");
        }
        let fenced = chat::begins_with_fence(lines, site);
        if site.chat || fenced || chat::starts_with_reasoning(lines) {
            // Lines of code are known only once the prose around them is removed.
            return chat::is_fence_closed(lines, site).then_some("fence");
        }
        if site.extent == CompletionExtent::Anything {
            return None;
        }
        let own = repetition::without_line_start(lines, site);
        let lines = own.as_deref().unwrap_or(lines);
        let is_complete_line = match site.extent {
            CompletionExtent::Line => true,
            _ => {
                extent::continues_line(lines, site)
                    && (overlap::closes_line(lines, site)
                        || overlap::ends_before_last_line(lines, site))
            }
        };
        if is_complete_line {
            return Some("line");
        }
        if repetition::loop_end(lines).is_some() {
            return Some("loop");
        }
        if overlap::repeats_suffix(lines, site) {
            return Some("suffix");
        }
        let may_leave = written::may_leave_block(lines, site);
        may_leave
            .then(|| written::end_of_block(lines, site))?
            .map(|_| "block")
    }
}

/// True if a text ends where its model was cut off, and not where a rule ended it.
fn is_unfinished(
    raw: &str,
    text: &str,
    decisions: &[Decision],
    finish: Finish,
    site: &SyntaxSite<'_>,
) -> bool {
    let last = |text: &str| last_line(text.trim_end()).trim().to_owned();
    // A removed text at the end of `raw` means that a rule, not the model, set the end.
    let is_ended = decisions
        .iter()
        .any(|decision| !decision.rewritten && raw.ends_with(&decision.removed));
    !is_ended
        && last(raw).ends_with(&last(text))
        && match finish {
            Finish::Length => true,
            Finish::Stop => written::stops_early(text, site),
            Finish::Enough => false,
        }
}

/// Detects during streaming that a raw completion is complete.
#[derive(Debug)]
pub struct EndDetector<'a> {
    cleaner: &'a Cleaner<'a>,
    /// Length of the text checked so far, up to a line end.
    checked: usize,
    complete: bool,
}

impl EndDetector<'_> {
    /// True if no text that may follow `so_far` can change what [`clean`] keeps of it. Each call's
    /// `so_far` extends that of the previous call.
    pub fn is_complete(&mut self, so_far: &str) -> bool {
        // A check reads only the text up to its line end, so earlier line ends need no second one.
        let checked = self.checked;
        for end in line_ends(&so_far[checked..]).map(|end| checked + end) {
            self.checked = end;
            self.complete |= self.cleaner.completed_by(&so_far[..end]).is_some();
        }
        self.complete
    }
}

/// Surroundings of the cursor of a completion.
#[derive(Clone, Copy, Debug)]
pub struct CursorSite<'a> {
    /// The file's text up to the cursor.
    pub prefix: &'a str,
    /// The file's text from the cursor on.
    pub suffix: &'a str,
    /// The file's path in its repository, if the prompt may contain it.
    pub path: Option<&'a str>,
    /// The file's language, if known.
    pub language: Option<&'static Language>,
    /// The file's syntax tree without the completion; if `None`, the file is parsed.
    pub tree: Option<&'a Tree>,
    /// Limit on the length of a completion.
    pub extent: CompletionExtent,
    /// True for a chat model, which may put prose around the code.
    pub chat: bool,
}

/// Text that one rule removed from a raw completion, or rewrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The rule's name.
    pub rule: String,
    /// The text it cut off, or the text before the rewrite.
    pub removed: String,
    /// True if the text was rewritten, not cut.
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

/// Returns the names of the rules, in the order in which they apply.
pub fn rules() -> impl Iterator<Item = &'static str> {
    let rules = FOREIGN_TEXT_RULES.iter().chain(SHAPING_RULES);
    rules.map(|(name, _)| *name)
}

/// The effect of a rule on a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    None,
    /// Keeps this number of bytes.
    EndAt(usize),
    /// Drops this number of bytes at the beginning.
    BeginAt(usize),
    Rewrite(String),
}

type Rule = fn(&str, &SyntaxSite<'_>) -> Change;

/// The rules that apply first, with every extent: they remove text that is not code, and convert
/// line ends.
const FOREIGN_TEXT_RULES: &[(&str, Rule)] = &[
    ("think", chat::remove_reasoning),
    ("fence", chat::keep_fenced_code),
    ("mark", chat::remove_own_mark),
    ("preamble", chat::remove_preamble),
    ("prefix", chat::remove_repeated_prefix),
    ("tokens", tokens::remove_foreign_tokens),
    ("path", tokens::remove_path_header),
    ("line-ends", style::match_line_ends),
];

/// Name of the rule for completions that their models did not finish.
const UNFINISHED: &str = "unfinished";

/// The rules that end a completion and remove repetition, in the order in which they apply. They do
/// not apply to the extent [`CompletionExtent::Anything`].
const SHAPING_RULES: &[(&str, Rule)] = &[
    ("line-start", repetition::remove_repeated_line_start),
    ("indentation", style::match_indentation),
    ("line", extent::end_at_line),
    ("rest-of-line", overlap::remove_repeated_line_rest),
    ("statement", extent::end_at_statement),
    ("block", written::end_at_block),
    ("definition", extent::end_at_definition),
    (UNFINISHED, written::end_at_whole_statement),
    ("brackets", brackets::end_at_stray_closer),
    ("suffix", overlap::remove_repeated_suffix),
    ("line-above", repetition::remove_repeated_line_above),
    ("loop", repetition::remove_repeated_lines),
    ("stutter", repetition::remove_stutter),
    ("blank-end", style::remove_trailing_blanks),
];

/// Returns the offsets just past each line end of a text.
fn line_ends(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices('\n').map(|(at, _)| at + 1)
}

/// Returns the width of a line's leading white space. A tab advances to the next multiple of eight,
/// as in Python.
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

/// Returns the text up to its first line end.
fn first_line(text: &str) -> &str {
    text.split(['\n', '\r']).next().unwrap_or_default()
}

/// Returns the text after its last line end.
fn last_line(text: &str) -> &str {
    text.rsplit(['\n', '\r']).next().unwrap_or_default()
}

/// Number of letters and digits of a line. Lines with few of them repeat by chance.
fn alphanumerics(line: &str) -> usize {
    line.chars().filter(|c| c.is_alphanumeric()).count()
}

#[cfg(test)]
mod idioms;
#[cfg(test)]
mod tests;
