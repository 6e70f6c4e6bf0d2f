//! Prompts for models that complete text: a table of model families, each one row.
//!
//! The beginning of a prompt stays the same while a person types, so that a server can reuse
//! what it has computed: windows come first, a long prefix loses whole lines in coarse steps, and
//! the bounds of windows and suffix don't depend on the prefix.
//!
//! What a person wrote can't forge a template's token: see [`escape_reserved`].

pub mod chat;
mod families;

use crate::context::{Window, WindowLayout};

pub use families::FAMILIES;

/// A family of models that share a template, to fill in the middle mostly.
///
/// The token that begins a text (`<s>` and its like) is in no template: servers add it.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// The name in the configuration.
    pub name: &'static str,
    /// What a model's name contains, in lower case with `-` for `_`, `:`, `/` and blanks.
    pub names: &'static [&'static str],
    /// What marks a member of the family that was not trained to fill in the middle.
    pub unless: &'static [&'static str],
    /// What stands before the text before the cursor, spaces included.
    pub prefix_token: &'static str,
    /// What stands before the text after the cursor.
    pub suffix_token: &'static str,
    /// What stands before the middle; empty where the family has no such token.
    pub middle_token: &'static str,
    /// Which side comes first.
    pub order: TemplateOrder,
    /// How windows from other files are written.
    pub repository: RepositoryTemplate,
    /// What ends a completion, the likeliest first: see [`Prompt::wire_stops`].
    pub stops: &'static [&'static str],
    /// Every token with a meaning of its own that a text could spell.
    pub reserved: &'static [&'static str],
}

/// The order of a template's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateOrder {
    /// Prefix, suffix, middle (PSM).
    PrefixFirst,
    /// Suffix, prefix, middle (SPM).
    SuffixFirst,
    /// The prefix alone: nothing tells the model what stands after the cursor.
    PrefixOnly,
}

/// How a family writes files beside the one to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryTemplate {
    /// Files apart by a token, before the prefix's token.
    Tokens {
        /// The token before the repository's name, where there is one.
        name: Option<&'static str>,
        /// The token before each file's path.
        file: &'static str,
        /// Whether `file` stands before the first file, not only between files.
        file_first: bool,
        /// What ends the repository's name and each file.
        end: &'static str,
        /// Whether the current file's path comes after the prefix's token, not before it.
        path_inside: bool,
    },
    /// Each file under a line of this mark and its path, at the beginning of the prefix.
    Headings(&'static str),
    /// A block of comments at the beginning of the prefix, for families without a form of their
    /// own. <https://arxiv.org/abs/2310.11248>, §2.3.
    Comments,
}

/// A family told from a model's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedFamily {
    /// The family.
    pub family: &'static Family,
    /// What in the name told it, for people.
    pub reason: String,
}

/// What a prompt is made of.
#[derive(Clone, Debug)]
pub struct PromptInput<'a> {
    /// The repository's name.
    pub repository: &'a str,
    /// Path of the file to complete, relative to the repository.
    pub path: &'a str,
    /// What starts a comment line in the file's language, e.g. `#`.
    pub line_comment: &'a str,
    /// The file's text before the cursor.
    pub prefix: &'a str,
    /// The file's text after the cursor.
    pub suffix: &'a str,
    /// Windows from other files, best first.
    pub windows: &'a [Window],
    /// How the windows are written.
    pub layout: WindowLayout,
}

/// A prompt and what ends its completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The prompt.
    pub text: String,
    /// What ends the completion, the likeliest first.
    pub stops: Vec<&'static str>,
}

/// The characters of a prompt that count as one token where no tokenizer is at hand. Code runs
/// from 3 to 4 characters a token with the tokenizers of the families here.
pub const CHARACTERS_PER_TOKEN: f64 = 3.5;

/// How many stops servers accept in one request.
/// <https://platform.openai.com/docs/api-reference/completions/create#completions-create-stop>
pub const STOPS_ON_THE_WIRE: usize = 4;

/// Length in bytes above which a prefix is longer than any budget, by far.
const LONG_PREFIX: usize = 1 << 16;

/// The share of the budget that windows may take, and that the suffix may take.
const SHARE: f64 = 0.25;

/// How many tokens of a prompt's budget are for windows of other files, their headers included:
/// the cursor's own surroundings tell more.
pub fn windows_budget(budget_tokens: usize) -> usize {
    (budget_tokens as f64 * SHARE) as usize
}

/// The part of the prefix's budget by which a prefix that is too long gets shorter at once.
const STEP: f64 = 0.25;

/// The budget with which a prompt holds at least so many lines before and after a cursor, whatever
/// its other parts, in tokens.
pub fn tokens_for_lines(prefix: &str, suffix: &str, (before, after): (usize, usize)) -> f64 {
    let before: Vec<&str> = prefix.split_inclusive('\n').rev().take(before).collect();
    let after: Vec<&str> = suffix.split_inclusive('\n').take(after).collect();
    // A prefix that is too long loses up to a step more than it has to.
    let before = approximate_cost(&before.concat()) / (1.0 - STEP) / (1.0 - SHARE);
    before.max(approximate_cost(&after.concat()) / SHARE)
}

/// How many tokens a text has, approximately: its characters divided by
/// [`CHARACTERS_PER_TOKEN`], rounded up.
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

/// Writes a family's prompt with a counter of one's own. `cost` gives a text's tokens; it is
/// asked line by line, and the sum stands for the whole.
///
/// Windows and suffix get a quarter of the budget each at most, the prefix gets the rest.
/// A window that does not fit is left out, and the next is tried. Windows of [`WindowLayout::Whole`] and
/// [`WindowLayout::Comments`] are all written; should they leave less than a quarter, the prefix still
/// gets that, and the prompt is larger than the budget.
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

/// A prompt's parts, bounded and neutralised, for servers that write the template themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptParts {
    /// The text before the cursor, under the windows where their form is [`WindowLayout::Comments`].
    pub prefix: String,
    /// The text after the cursor.
    pub suffix: String,
    /// Path and text of each window that fits, best first; none where they are in the prefix.
    pub windows: Vec<(String, String)>,
}

/// The parts of a prompt of at most about `budget_tokens` tokens, under the rules of [`render`].
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

/// The two sides of a cursor, bounded and neutralised, for servers that take nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSides {
    /// The text before the cursor, under a block of comments that holds the windows.
    pub prefix: String,
    /// The text after the cursor.
    pub suffix: String,
}

/// The sides of a cursor, of at most about `budget_tokens` tokens, under the rules of [`render`].
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
    /// The windows that fit, each as `write` gives it, best first.
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

    /// How much of a budget the windows may take.
    fn windows_share(&self, budget: f64) -> f64 {
        match self.layout {
            WindowLayout::Family => budget * SHARE,
            WindowLayout::Whole | WindowLayout::Comments => f64::INFINITY,
        }
    }

    /// How much is left for the prefix when all else has been written.
    fn prefix_budget(&self, budget: f64, spent: f64) -> f64 {
        match self.layout {
            WindowLayout::Family => budget - spent,
            WindowLayout::Whole | WindowLayout::Comments => (budget - spent).max(budget * SHARE),
        }
    }
}

/// Windows as a prompt has them in the form [`WindowLayout::Comments`], tokens of templates left as they
/// are; nothing where there are none.
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

/// One window as comment lines. <https://arxiv.org/abs/2310.11248>, §2.3.
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

/// Windows as comment lines, under a line that says what they are.
fn comments(windows: &[String], line_comment: &str) -> String {
    format!(
        "{line_comment} Here are some relevant code fragments from other files of the repo:\n\n{}",
        windows.concat()
    )
}

/// A text that spells no reserved token: every occurrence gets a space after its first character.
/// No token has a blank in it, so the spaces can't make a new one; nothing is dropped, so the
/// pieces around an occurrence can't join into one either.
pub fn escape_reserved(text: &str, reserved: &[&str]) -> String {
    let mut clean = String::with_capacity(text.len());
    for (index, character) in text.char_indices() {
        clean.push(character);
        let rest = &text[index..];
        if reserved.iter().any(|token| rest.starts_with(token)) {
            clean.push(' ');
        }
    }
    clean
}

impl Family {
    /// The family with this name in the configuration.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }

    /// The family of a model, told from the model's name. Never a guess: a name that holds no
    /// family's, or belongs to a member that can't fill in the middle, gives none.
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

    /// What to tell people whose model's name tells no family.
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
            "the name \"{model_name}\" does not tell how the model is asked to fill in the \
             middle: set `family` to one of {}; `left-to-right` is for models that can't.",
            names.join(", ")
        )
    }

    /// One window in the family's form. The path is one line.
    fn window(&self, path: &str, text: &str, line_comment: &str) -> String {
        match self.repository {
            RepositoryTemplate::Tokens { end, .. } => format!("{path}\n{text}{end}"),
            RepositoryTemplate::Headings(mark) => format!("{mark}{path}\n{text}\n\n"),
            RepositoryTemplate::Comments => commented(path, text, line_comment),
        }
    }

    /// What stands before the current file's text.
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
    /// The stops to send: at most [`STOPS_ON_THE_WIRE`], as servers reject more. The others are
    /// for the receiving side.
    pub fn wire_stops(&self) -> &[&'static str] {
        &self.stops[..self.stops.len().min(STOPS_ON_THE_WIRE)]
    }
}

/// What stands before the current file's text, before and after the prefix's token.
#[derive(Default)]
struct Head {
    outside: String,
    inside: String,
}

/// Whether a name has a part at a word's beginning.
fn has_word(name: &str, part: &str) -> bool {
    name.match_indices(part).any(|(index, _)| {
        !name[..index]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric)
    })
}

/// Models that people try and that have no published prompt for filling in the middle: parts of their
/// names, and why, with what to try.
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

/// A name without line breaks, which would end its line in the template.
fn one_line(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}

/// Where a suffix of at most `budget` ends: after a whole line, or within the first.
fn suffix_end(suffix: &str, budget: f64, cost: &dyn Fn(&str) -> f64) -> usize {
    let (mut end, mut sum) = (0, 0.0);
    for line in suffix.split_inclusive('\n') {
        let needs = cost(line);
        if sum + needs > budget {
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

/// Where a prefix of at most `budget` begins: at a line's beginning, or within the last line if
/// that alone is too long. What is cut grows in steps of [`STEP`] of the budget, so that the
/// beginning mostly stays where it was while a person types.
///
/// Of a very long prefix, the whole's cost stands for the sum of its lines', so that only the kept
/// lines are counted one by one.
fn prefix_start(prefix: &str, budget: f64, cost: &dyn Fn(&str) -> f64) -> usize {
    if prefix.len() > LONG_PREFIX {
        return long_prefix_start(prefix, budget, cost);
    }
    let lines: Vec<_> = prefix.split_inclusive('\n').collect();
    let costs: Vec<_> = lines.iter().map(|line| cost(line)).collect();
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

/// [`prefix_start`] from the cost of the whole, back from the cursor.
fn long_prefix_start(prefix: &str, budget: f64, cost: &dyn Fn(&str) -> f64) -> usize {
    let budget = budget.max(1.0);
    let over = cost(prefix) - budget;
    if over <= 0.0 {
        return 0;
    }
    let step = budget * STEP;
    let kept = over + budget - (over / step).ceil() * step;
    let (mut start, mut sum) = (prefix.len(), 0.0);
    for line in prefix.split_inclusive('\n').rev() {
        let needs = cost(line);
        if sum + needs > kept {
            let is_last = start == prefix.len();
            return match is_last && needs > budget {
                true => {
                    let part = 1.0 - kept / needs;
                    let cut = (line.len() as f64 * part).ceil() as usize;
                    start - line.len() + char_boundary(line, cut)
                }
                // The last line is kept, whatever it costs.
                false if is_last => start - line.len(),
                false => start,
            };
        }
        sum += needs;
        start -= line.len();
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
