//! Prompts for models that complete text: a table with one row per model family.
//!
//! The beginning of a prompt stays the same while a person types, so that a server can reuse its
//! computed state. For that, windows come first, a long prefix loses whole lines in coarse steps,
//! and the limits of windows and suffix don't depend on the prefix.
//!
//! Text from files can't forge a template's token: see [`escape_reserved`].

pub mod chat;
mod families;

use crate::context::{Window, WindowLayout};

pub use families::FAMILIES;

/// A family of models that share a template, usually for filling in the middle.
///
/// Templates omit the token that begins a text (`<s>` and similar): servers add it.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// The name in the configuration.
    pub name: &'static str,
    /// Substrings of a model's name, in lower case with `-` for `_`, `:`, `/` and blanks.
    pub names: &'static [&'static str],
    /// Substrings of the names of members that were not trained to fill in the middle.
    pub unless: &'static [&'static str],
    /// Token before the prefix, spaces included.
    pub prefix_token: &'static str,
    /// Token before the suffix.
    pub suffix_token: &'static str,
    /// Token before the middle; empty if the family has none.
    pub middle_token: &'static str,
    /// Order of prefix and suffix.
    pub order: TemplateOrder,
    /// Template for windows from other files.
    pub repository: RepositoryTemplate,
    /// Texts that end a completion, the likeliest first: see [`Prompt::wire_stops`].
    pub stops: &'static [&'static str],
    /// Every special token that a text could spell.
    pub reserved: &'static [&'static str],
}

/// The order of a template's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateOrder {
    /// Prefix, suffix, middle (PSM).
    PrefixFirst,
    /// Suffix, prefix, middle (SPM).
    SuffixFirst,
    /// The prefix alone: the model does not see the suffix.
    PrefixOnly,
}

/// Template of a family for files other than the one to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryTemplate {
    /// Files separated by a token, before the prefix's token.
    Tokens {
        /// Token before the repository's name, if any.
        name: Option<&'static str>,
        /// The token before each file's path.
        file: &'static str,
        /// True if `file` also precedes the first file, not only separates files.
        file_first: bool,
        /// Text after the repository's name and each file.
        end: &'static str,
        /// True if the current file's path follows the prefix's token rather than precedes it.
        path_inside: bool,
    },
    /// Each file under a line with this mark and its path, at the beginning of the prefix.
    Headings(&'static str),
    /// A block of comments at the beginning of the prefix, for families without a template for
    /// other files. <https://arxiv.org/abs/2310.11248>, §2.3.
    Comments,
}

/// A family detected from a model's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedFamily {
    /// The family.
    pub family: &'static Family,
    /// Part of the name that identified the family, for people.
    pub reason: String,
}

/// Input of a prompt.
#[derive(Clone, Debug)]
pub struct PromptInput<'a> {
    /// The repository's name.
    pub repository: &'a str,
    /// Path of the file to complete, relative to the repository.
    pub path: &'a str,
    /// Mark that starts a comment line in the file's language, e.g. `#`.
    pub line_comment: &'a str,
    /// The file's text before the cursor.
    pub prefix: &'a str,
    /// The file's text after the cursor.
    pub suffix: &'a str,
    /// Windows from other files, best first.
    pub windows: &'a [Window],
    /// Layout of the windows.
    pub layout: WindowLayout,
}

/// A prompt and the texts that end its completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The prompt.
    pub text: String,
    /// Texts that end the completion, the likeliest first.
    pub stops: Vec<&'static str>,
}

/// Number of characters that count as one token if no tokenizer is available. Code has 3 to 4
/// characters per token with the tokenizers of these families.
pub const CHARACTERS_PER_TOKEN: f64 = 3.5;

/// Maximum number of stops in one request that servers accept.
/// <https://platform.openai.com/docs/api-reference/completions/create#completions-create-stop>
pub const STOPS_ON_THE_WIRE: usize = 4;

/// The share of the budget that windows may take, and that the suffix may take.
const SHARE: f64 = 0.25;

/// Number of tokens of a prompt's budget for windows of other files, headers included. The share is
/// small, as the text around the cursor matters more.
pub fn windows_budget(budget_tokens: usize) -> usize {
    (budget_tokens as f64 * SHARE) as usize
}

/// Share of the prefix's budget by which a prefix that is too long is shortened at once.
const STEP: f64 = 0.25;

/// Budget in tokens with which a prompt holds at least the given numbers of lines before and after
/// a cursor, independent of its other parts.
pub fn tokens_for_lines(prefix: &str, suffix: &str, (before, after): (usize, usize)) -> f64 {
    let before: Vec<&str> = prefix.split_inclusive('\n').rev().take(before).collect();
    let after: Vec<&str> = suffix.split_inclusive('\n').take(after).collect();
    // A prefix that is too long may be shortened by up to a step more than necessary.
    let before = approximate_cost(&before.concat()) / (1.0 - STEP) / (1.0 - SHARE);
    before.max(approximate_cost(&after.concat()) / SHARE)
}

/// Approximate number of tokens of a text: its characters divided by [`CHARACTERS_PER_TOKEN`],
/// rounded up.
pub fn approximate_tokens(text: &str) -> usize {
    approximate_cost(text).ceil() as usize
}

fn approximate_cost(text: &str) -> f64 {
    text.chars().count() as f64 / CHARACTERS_PER_TOKEN
}

/// Writes a family's prompt of at most about `budget_tokens` tokens, counted by
/// [`approximate_tokens`].
pub fn render(family: &Family, input: &PromptInput<'_>, budget_tokens: usize) -> Prompt {
    render_counted(family, input, budget_tokens, &approximate_cost)
}

/// Writes a family's prompt with a custom counter. `cost` returns the tokens of a text. It is
/// called line by line and the results are added up.
///
/// Windows and suffix get at most a quarter of the budget each, the prefix gets the rest. A window
/// that does not fit is omitted, and the next one is tried. Windows of [`WindowLayout::Whole`] and
/// [`WindowLayout::Comments`] are all written. If they leave less than a quarter, the prefix still
/// gets a quarter, and the prompt exceeds the budget.
pub fn render_counted(
    family: &Family,
    input: &PromptInput<'_>,
    budget_tokens: usize,
    cost: &dyn Fn(&str) -> f64,
) -> Prompt {
    let clean = |text: &str| escape_reserved(text, family.reserved);
    let budget = budget_tokens as f64;
    let comments_only = input.layout == WindowLayout::Comments;
    let windows = input.written(budget, cost, |window| {
        let path = clean(&one_line(&window.path));
        let text = clean(&window.text);
        if comments_only {
            commented(&path, &text, input.line_comment)
        } else {
            family.window(&path, &text, input.line_comment)
        }
    });
    let head = if windows.is_empty() {
        Head::default()
    } else if comments_only {
        Head {
            outside: String::new(),
            inside: comments(&windows, input.line_comment),
        }
    } else {
        family.head(
            &clean(&one_line(input.repository)),
            &clean(&one_line(input.path)),
            input.line_comment,
            &windows,
        )
    };
    let suffix = match family.order {
        TemplateOrder::PrefixOnly => "",
        _ => &input.suffix[..suffix_end(input.suffix, budget * SHARE, cost)],
    };
    let suffix = clean(suffix);
    let template = [
        family.prefix_token,
        family.suffix_token,
        family.middle_token,
    ];
    let spent = cost(&head.outside) + cost(&head.inside) + cost(&suffix) + cost(&template.concat());
    let rest = input.prefix_budget(budget, spent);
    let prefix = clean(&input.prefix[prefix_start(input.prefix, rest, cost)..]);

    let Head { outside, inside } = head;
    let (before, after, middle) = (
        family.prefix_token,
        family.suffix_token,
        family.middle_token,
    );
    let text = match family.order {
        TemplateOrder::PrefixFirst => {
            format!("{outside}{before}{inside}{prefix}{after}{suffix}{middle}")
        }
        TemplateOrder::SuffixFirst => {
            format!("{outside}{after}{suffix}{before}{inside}{prefix}{middle}")
        }
        TemplateOrder::PrefixOnly => format!("{outside}{before}{inside}{prefix}{middle}"),
    };
    Prompt {
        text,
        stops: family.stops.to_vec(),
    }
}

/// Parts of a prompt, limited and escaped, for servers that apply the template themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptParts {
    /// The text before the cursor, after the windows if their layout is [`WindowLayout::Comments`].
    pub prefix: String,
    /// The text after the cursor.
    pub suffix: String,
    /// Path and text of each window that fits, best first; empty if they are in the prefix.
    pub windows: Vec<(String, String)>,
}

/// Returns the parts of a prompt of at most about `budget_tokens` tokens, under the rules of
/// [`render`].
pub fn parts(input: &PromptInput<'_>, reserved: &[&str], budget_tokens: usize) -> PromptParts {
    if input.layout == WindowLayout::Comments {
        let PromptSides { prefix, suffix } = sides(input, reserved, budget_tokens);
        return PromptParts {
            prefix,
            suffix,
            windows: Vec::new(),
        };
    }
    let cost = &approximate_cost;
    let clean = |text: &str| escape_reserved(text, reserved);
    let budget = budget_tokens as f64;
    let mut left = input.windows_share(budget);
    let mut spent = 0.0;
    let mut kept = Vec::new();
    for window in input.windows {
        let needs = cost(&window.path) + cost(&window.text);
        if needs <= left {
            left -= needs;
            spent += needs;
            kept.push((clean(&one_line(&window.path)), clean(&window.text)));
        }
    }
    let suffix = &input.suffix[..suffix_end(input.suffix, budget * SHARE, cost)];
    let rest = input.prefix_budget(budget, spent + cost(suffix));
    let prefix = &input.prefix[prefix_start(input.prefix, rest, cost)..];
    PromptParts {
        prefix: clean(prefix),
        suffix: clean(suffix),
        windows: kept,
    }
}

/// The two sides of a cursor, limited and escaped, for servers that accept only these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSides {
    /// The text before the cursor, after a block of comments with the windows.
    pub prefix: String,
    /// The text after the cursor.
    pub suffix: String,
}

/// Returns the sides of a cursor, of at most about `budget_tokens` tokens, under the rules of
/// [`render`].
pub fn sides(input: &PromptInput<'_>, reserved: &[&str], budget_tokens: usize) -> PromptSides {
    let cost = &approximate_cost;
    let clean = |text: &str| escape_reserved(text, reserved);
    let budget = budget_tokens as f64;
    let windows = input.written(budget, cost, |window| {
        let path = clean(&one_line(&window.path));
        commented(&path, &clean(&window.text), input.line_comment)
    });
    let head = if windows.is_empty() {
        String::new()
    } else {
        comments(&windows, input.line_comment)
    };
    let suffix = &input.suffix[..suffix_end(input.suffix, budget * SHARE, cost)];
    let rest = input.prefix_budget(budget, cost(&head) + cost(suffix));
    let prefix = &input.prefix[prefix_start(input.prefix, rest, cost)..];
    PromptSides {
        prefix: head + &clean(prefix),
        suffix: clean(suffix),
    }
}

impl PromptInput<'_> {
    /// Returns the windows that fit, formatted by `write`, best first.
    fn written(
        &self,
        budget: f64,
        cost: &dyn Fn(&str) -> f64,
        write: impl Fn(&Window) -> String,
    ) -> Vec<String> {
        let mut left = self.windows_share(budget);
        let mut windows = Vec::new();
        for window in self.windows {
            let text = write(window);
            let needs = cost(&text);
            if needs <= left {
                left -= needs;
                windows.push(text);
            }
        }
        windows
    }

    /// Share of a budget for windows.
    fn windows_share(&self, budget: f64) -> f64 {
        match self.layout {
            WindowLayout::Family => budget * SHARE,
            WindowLayout::Whole | WindowLayout::Comments => f64::INFINITY,
        }
    }

    /// Remaining budget for the prefix after all else is written.
    fn prefix_budget(&self, budget: f64, spent: f64) -> f64 {
        match self.layout {
            WindowLayout::Family => budget - spent,
            WindowLayout::Whole | WindowLayout::Comments => (budget - spent).max(budget * SHARE),
        }
    }
}

/// Writes windows in the layout [`WindowLayout::Comments`], without escaping template tokens; empty
/// if there are no windows.
pub fn render_comments(windows: &[Window], line_comment: &str) -> String {
    if windows.is_empty() {
        return String::new();
    }
    let written: Vec<String> = windows
        .iter()
        .map(|window| commented(&one_line(&window.path), &window.text, line_comment))
        .collect();
    comments(&written, line_comment)
}

/// Writes one window as comment lines. <https://arxiv.org/abs/2310.11248>, §2.3.
fn commented(path: &str, text: &str, line_comment: &str) -> String {
    let mut block =
        format!("{line_comment} the below code fragment can be found in:\n{line_comment} {path}\n");
    for line in text.lines() {
        block.push_str(line_comment);
        block.push(' ');
        block.push_str(line);
        block.push('\n');
    }
    block.push('\n');
    block
}

/// Writes windows as comment lines, under a heading.
fn comments(windows: &[String], line_comment: &str) -> String {
    format!(
        "{line_comment} Here are some relevant code fragments from other files of the repo:\n\n{}",
        windows.concat()
    )
}

/// Escapes reserved tokens: every occurrence gets a space after its first character. No token
/// contains a blank, so the spaces can't create a new one. Nothing is dropped, so the text around
/// an occurrence can't join into one either.
pub fn escape_reserved(text: &str, reserved: &[&str]) -> String {
    let mut begins = [false; 256];
    for first in reserved.iter().filter_map(|token| token.bytes().next()) {
        begins[usize::from(first)] = true;
    }
    let mut clean = String::with_capacity(text.len());
    let mut copied = 0;
    for (index, byte) in text.bytes().enumerate() {
        // A prompt has few bytes with which a token begins.
        if begins[usize::from(byte)]
            && let rest = &text.as_bytes()[index..]
            && reserved
                .iter()
                .any(|token| rest.starts_with(token.as_bytes()))
        {
            let end = text.ceil_char_boundary(index + 1);
            clean.push_str(&text[copied..end]);
            clean.push(' ');
            copied = end;
        }
    }
    clean.push_str(&text[copied..]);
    clean
}

impl Family {
    /// Returns the family with this name in the configuration.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }

    /// Detects the family of a model from the model's name. Never guesses: returns `None` if the
    /// name contains no family's name, or is that of a member that can't fill in the middle.
    pub fn detect(model_name: &str) -> Option<DetectedFamily> {
        let name: String = model_name
            .chars()
            .map(|character| match character {
                '_' | ':' | '/' | ' ' => '-',
                other => other.to_ascii_lowercase(),
            })
            .collect();
        FAMILIES.iter().find_map(|family| {
            let part = family.names.iter().find(|part| has_word(&name, part))?;
            if family.unless.iter().any(|part| has_word(&name, part)) {
                return None;
            }
            Some(DetectedFamily {
                family,
                reason: format!("the model's name \"{model_name}\" contains \"{part}\""),
            })
        })
    }

    /// Returns a message for a model whose name identifies no family.
    pub fn explain_unknown(model_name: &str) -> String {
        let name = model_name.to_ascii_lowercase();
        let known = UNSUPPORTED
            .iter()
            .find(|(parts, _)| parts.iter().any(|part| has_word(&name, part)));
        if let Some((_, why)) = known {
            return format!("the model \"{model_name}\" {why}.");
        }
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        format!(
            "the name \"{model_name}\" identifies no model family: set `family` to one of {}; \
             `left-to-right` is for models that can't fill in the middle.",
            names.join(", ")
        )
    }

    /// Formats one window in the family's template. The path is one line.
    fn window(&self, path: &str, text: &str, line_comment: &str) -> String {
        match self.repository {
            RepositoryTemplate::Tokens { end, .. } => format!("{path}\n{text}{end}"),
            RepositoryTemplate::Headings(mark) => format!("{mark}{path}\n{text}\n\n"),
            RepositoryTemplate::Comments => commented(path, text, line_comment),
        }
    }

    /// Returns the text before the current file's text.
    fn head(&self, repository: &str, path: &str, line_comment: &str, windows: &[String]) -> Head {
        match self.repository {
            RepositoryTemplate::Tokens {
                name,
                file,
                file_first,
                end,
                path_inside,
            } => {
                let mut outside = String::new();
                if let Some(name) = name {
                    outside.push_str(&format!("{name}{repository}{end}"));
                }
                if file_first {
                    outside.push_str(file);
                }
                for window in windows {
                    outside.push_str(window);
                    // After the last window, the token precedes the file to complete.
                    outside.push_str(file);
                }
                let mut inside = String::new();
                let side = if path_inside {
                    &mut inside
                } else {
                    &mut outside
                };
                side.push_str(&format!("{path}\n"));
                Head { outside, inside }
            }
            RepositoryTemplate::Headings(mark) => Head {
                outside: String::new(),
                inside: format!("{}{mark}{path}\n", windows.concat()),
            },
            RepositoryTemplate::Comments => Head {
                outside: String::new(),
                inside: comments(windows, line_comment),
            },
        }
    }
}

impl Prompt {
    /// Returns the stops to send: at most [`STOPS_ON_THE_WIRE`], as servers reject more. The client
    /// applies the others.
    pub fn wire_stops(&self) -> &[&'static str] {
        &self.stops[..self.stops.len().min(STOPS_ON_THE_WIRE)]
    }
}

/// Text before the current file's text: before (`outside`) and after (`inside`) the prefix's token.
#[derive(Default)]
struct Head {
    outside: String,
    inside: String,
}

/// True if a name contains a part that begins at a word's beginning.
fn has_word(name: &str, part: &str) -> bool {
    name.match_indices(part).any(|(index, _)| {
        !name[..index]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric)
    })
}

/// Models that have no published prompt for filling in the middle but that people try: parts of
/// their names, and an explanation with an alternative.
const UNSUPPORTED: &[(&[&str], &str)] = &[
    // <https://github.com/ggml-org/llama.vscode/issues/230>, <https://github.com/QwenLM/Qwen3-Coder>
    (
        &[
            "qwen3.5", "qwen3.6", "qwen3.7", "qwen3.8", "qwen-3.5", "qwen-3.6",
        ],
        "has the tokens for filling in the middle in its vocabulary, but its vendor says neither \
         that it was trained to use them nor how: use it with `protocol = \"openai-chat\"`, or a \
         Qwen3-Coder model; `family = \"qwen3-coder\"` sends that family's prompt all the same",
    ),
    (
        &["qwen3"],
        "was not trained to fill in the middle: use a Qwen3-Coder model, or this one with \
         `protocol = \"openai-chat\"`",
    ),
    // <https://api-docs.deepseek.com/guides/fim_completion>
    (
        &[
            "deepseek-v4",
            "deepseek-v3",
            "deepseek-chat",
            "deepseek-flash",
        ],
        "has no published prompt for filling in the middle: DeepSeek's own server fills in with \
         `protocol = \"deepseek-fim\"`; elsewhere use `protocol = \"openai-chat\"`",
    ),
    // <https://docs.inceptionlabs.ai/capabilities/fim>
    (
        &["mercury"],
        "is asked at its vendor's own address: set `protocol = \"inception-fim\"`",
    ),
    (
        &["granite-4"],
        "is tuned for chat: use its base member, whose name ends in `-base`, or this one with \
         `protocol = \"openai-chat\"`",
    ),
    (
        &["gpt-", "claude", "gemini", "o3", "o4-mini"],
        "is a chat model: set `protocol = \"openai-chat\"`, or `anthropic-messages` at Anthropic's \
         own address",
    ),
];

/// Replaces line breaks in a name, as one would end its line in the template.
fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}

/// Returns the end of a suffix of at most `budget`: after a whole line, or within the first.
fn suffix_end(suffix: &str, budget: f64, cost: &dyn Fn(&str) -> f64) -> usize {
    let (mut end, mut sum) = (0, 0.0);
    for line in suffix.split_inclusive('\n') {
        let needs = cost(line);
        if sum + needs > budget {
            // The first line alone is too long: keep its beginning, cut in proportion to its cost.
            if end == 0 {
                return char_boundary(line, (line.len() as f64 * budget / needs) as usize);
            }
            return end;
        }
        sum += needs;
        end += line.len();
    }
    end
}

/// Start of a prefix of at most `budget`: at a line's beginning, or within the last line if
/// that alone is too long. What is cut grows in steps of [`STEP`] of the budget, so that the
/// beginning mostly stays where it was while a person types.
fn prefix_start(prefix: &str, budget: f64, cost: &dyn Fn(&str) -> f64) -> usize {
    let lines: Vec<_> = prefix.split_inclusive('\n').collect();
    let costs: Vec<_> = lines.iter().map(|line| cost(line)).collect();
    // Without a budget, the steps below would have no length.
    let budget = budget.max(1.0);
    let over = costs.iter().sum::<f64>() - budget;
    if over <= 0.0 {
        return 0;
    }
    let step = budget * STEP;
    let cut = (over / step).ceil() * step;
    let (mut start, mut sum) = (0, 0.0);
    for (index, (line, needs)) in lines.iter().zip(&costs).enumerate() {
        if sum >= cut {
            return start;
        }
        let is_last = index + 1 == lines.len();
        if is_last && *needs > budget {
            // The last line is cut in proportion to its cost, as the first one of a suffix is.
            let part = (cut - sum) / needs;
            return start + char_boundary(line, (line.len() as f64 * part).ceil() as usize);
        }
        if is_last {
            return start;
        }
        sum += needs;
        start += line.len();
    }
    start
}

/// The last character boundary at or before an index.
fn char_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

#[cfg(test)]
mod tests;
