//! Removes text that chat models put around the code: reasoning, fences, prose and repeated
//! context. Failures of chat models at filling in: RepoMasterEval,
//! <https://arxiv.org/abs/2408.03519>, tables 7 and 8.

use super::syntax_site::SyntaxSite;
use super::tokens::is_quoted;
use super::{Change, alphanumerics, last_line, line_ends};

/// Marks that models put around their reasoning: those of Kimi, Qwen, DeepSeek and GLM, of
/// Anthropic's prompts, of Magistral, of Seed-OSS and of Gemma.
const THINKING_MARKS: [(&str, &str); 9] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("\u{25c1}think\u{25b7}", "\u{25c1}/think\u{25b7}"),
    ("<|channel>", "<channel|>"),
];

/// Extent of the answer in a text that may contain reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThoughtExtent {
    /// The text has no reasoning.
    None,
    /// The whole text is reasoning that has not ended.
    Open,
    /// The answer is from the first offset to the second.
    Until(usize, usize),
}

/// Finds the reasoning in a text: between its marks; before an end mark alone, since templates
/// often put the begin mark into the prompt; and in channels other than the final one.
fn thinking(text: &str, site: &SyntaxSite<'_>) -> ThoughtExtent {
    // Most completions contain no beginning of a mark, so the file need not be searched.
    let may_have_mark = ["<", "[/", "[T", "[t", "\u{25c1}", "assistantfinal"]
        .iter()
        .any(|beginning| text.contains(beginning));
    if !may_have_mark {
        return ThoughtExtent::None;
    }
    if let extent @ (ThoughtExtent::Open | ThoughtExtent::Until(..)) = harmony(text, site) {
        return extent;
    }
    let begun = text.trim_start();
    for (begin, end) in THINKING_MARKS {
        let begins = starts_with_ignoring_case(begun, begin);
        let found = rfind_ignoring_case(text, end);
        // A file about such marks contains them itself.
        let own = found.is_some() && (site.prefix.contains(end) || site.suffix.contains(end));
        // In such a file, only the end of reasoning that begins the text is a mark.
        let found = match (begins, own) {
            (true, true) => find_ignoring_case(text, end),
            (_, false) => found,
            (false, true) => None,
        };
        // Code about such marks has them in quotes, or an element of that name within it.
        let is_code = |at: &usize| {
            let (before, after) = (&text[..*at], &text[*at + end.len()..]);
            let last = before.chars().next_back();
            let last = last.or_else(|| site.prefix.chars().next_back());
            // Words of reasoning have apostrophes, so single quotes count right around a mark.
            let is_next = last == Some('\'') && after.starts_with('\'');
            is_next
                || is_quoted(before, after, &['"', '`'], site)
                || find_ignoring_case(before, begin).is_some()
        };
        let found = found.filter(|at| begins || !is_code(at));
        if let Some(at) = found {
            let rest = &text[at + end.len()..];
            let answer = rest.trim_start_matches(['\n', '\r']);
            return ThoughtExtent::Until(text.len() - answer.len(), text.len());
        }
        if begins {
            return ThoughtExtent::Open;
        }
    }
    ThoughtExtent::None
}

/// Finds the answer in the channels of gpt-oss:
/// <https://cookbook.openai.com/articles/openai-harmony>. It is the text of the final channel.
/// Servers that drop special tokens leave the channels' names.
fn harmony(text: &str, site: &SyntaxSite<'_>) -> ThoughtExtent {
    const CHANNEL: &str = "<|channel|>";
    const MESSAGE: &str = "<|message|>";
    if text.contains(CHANNEL) || text.trim_start().starts_with("<|start|>") {
        if site.prefix.contains(CHANNEL) || site.suffix.contains(CHANNEL) {
            return ThoughtExtent::None;
        }
        // Drafts may precede the answer in channels of the same name, so the last one is the
        // answer.
        let channels = text
            .rmatch_indices(CHANNEL)
            .map(|(at, _)| at + CHANNEL.len());
        let found = channels
            .filter(|at| text[*at..].trim_start().starts_with("final"))
            .find_map(|at| Some(at + text[at..].find(MESSAGE)? + MESSAGE.len()));
        let Some(start) = found else {
            return ThoughtExtent::Open;
        };
        let ends = ["<|return|>", "<|end|>", "<|call|>", "<|start|>", CHANNEL];
        let end = ends.iter().filter_map(|end| text[start..].find(end)).min();
        return ThoughtExtent::Until(start, end.map_or(text.len(), |end| start + end));
    }
    // The role `assistant` and the channel `final`, without the special tokens between them.
    const NAMES: &str = "assistantfinal";
    match text.rfind(NAMES) {
        Some(at) if site.chat && text.trim_start().starts_with("analysis") => {
            ThoughtExtent::Until(at + NAMES.len(), text.len())
        }
        _ => ThoughtExtent::None,
    }
}

fn starts_with_ignoring_case(text: &str, mark: &str) -> bool {
    let beginning = text.as_bytes().get(..mark.len());
    beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(mark.as_bytes()))
}

fn find_ignoring_case(text: &str, mark: &str) -> Option<usize> {
    // Searching byte windows is slow, and the mark usually has its usual case.
    if let Some(at) = text.find(mark) {
        return Some(at);
    }
    let mut windows = text.as_bytes().windows(mark.len());
    windows.position(|window| window.eq_ignore_ascii_case(mark.as_bytes()))
}

fn rfind_ignoring_case(text: &str, mark: &str) -> Option<usize> {
    let mut windows = text.as_bytes().windows(mark.len());
    windows.rposition(|window| window.eq_ignore_ascii_case(mark.as_bytes()))
}

/// Removes reasoning. If it has no end, nothing remains.
pub(super) fn remove_reasoning(text: &str, site: &SyntaxSite<'_>) -> Change {
    match thinking(text, site) {
        ThoughtExtent::None => Change::None,
        ThoughtExtent::Open => Change::EndAt(0),
        ThoughtExtent::Until(start, end) if end == text.len() => Change::BeginAt(start),
        ThoughtExtent::Until(start, end) => Change::Rewrite(text[start..end].to_owned()),
    }
}

/// Keeps only the code in a reply's first fence or other wrapping, if there is one.
pub(super) fn keep_fenced_code(text: &str, site: &SyntaxSite<'_>) -> Change {
    if !site.chat {
        return remove_leaked_fence(text, site);
    }
    if let Some(code) = fence(text).map(|(start, end)| &text[start..end]) {
        // The line end before the closing fence is not part of the code.
        let code = code.strip_suffix('\n').unwrap_or(code);
        return Change::Rewrite(code.strip_suffix('\r').unwrap_or(code).to_owned());
    }
    match unwrapped(text, site) {
        Some(code) => Change::Rewrite(code.to_owned()),
        None => Change::None,
    }
}

/// Elements that chat models put around code.
const WRAPPING_ELEMENTS: [&str; 8] = [
    "pre",
    "code",
    "answer",
    "completion",
    "response",
    "output",
    "insert",
    "result",
];

/// Returns the code in an element or in backquotes that enclose the whole reply.
fn unwrapped<'a>(text: &'a str, site: &SyntaxSite<'_>) -> Option<&'a str> {
    let reply = text.trim();
    // In a language that has such elements or quotes, and in text, they may be code. Of a language
    // without a grammar, that is not known.
    let id = site.language.map(|language| language.id);
    let is_text = site.open_text_after("").is_some();
    let has_elements = is_text || matches!(id, None | Some("typescriptreact" | "javascript"));
    let has_quotes = has_elements || matches!(id, Some("typescript" | "go"));
    let mut inner = reply;
    while let Some(content) = WRAPPING_ELEMENTS
        .iter()
        .find_map(|name| element_content(inner, name))
    {
        inner = content;
    }
    if inner.len() < reply.len() && !has_elements {
        let inner = inner
            .strip_prefix("\r\n")
            .or(inner.strip_prefix('\n'))
            .unwrap_or(inner);
        return Some(inner.trim_end_matches(['\n', '\r']));
    }
    let ticks = reply.len() - reply.trim_start_matches('`').len();
    let code = reply.get(ticks..reply.len().checked_sub(ticks)?)?;
    // Three or more would be a fence, which is tried before.
    let is_quoted = (1..=2).contains(&ticks)
        && !code.is_empty()
        && !code.contains(['`', '\n'])
        && reply.ends_with(&"`".repeat(ticks));
    (is_quoted && (ticks == 2 || !has_quotes)).then(|| code.trim())
}

/// Returns the content of an element that is the whole text.
fn element_content<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let text = text.trim_end();
    let rest = text.trim_start().strip_prefix('<')?;
    if !starts_with_ignoring_case(rest, name) {
        return None;
    }
    let attributes = &rest[name.len()..];
    let (attributes, content) = attributes.split_once('>')?;
    if !attributes.is_empty() && !attributes.starts_with(' ') || attributes.contains(['<', '\n']) {
        return None;
    }
    // A reply that was cut off has no end tag.
    let end = format!("</{name}>");
    match rfind_ignoring_case(content, &end) {
        Some(at) if at + end.len() == content.len() => Some(&content[..at]),
        Some(_) => None,
        None => Some(content),
    }
}

/// Removes the cursor mark of the question, which chat models repeat, and the repeated part of the
/// file before it.
pub(super) fn remove_own_mark(text: &str, site: &SyntaxSite<'_>) -> Change {
    if !site.chat || site.prefix.contains(MARK) || site.suffix.contains(MARK) {
        return Change::None;
    }
    let mut marks = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(MARK).map(|at| from + at) {
        let rest = &text[at + MARK.len()..];
        let digits = rest
            .trim_start_matches(|character: char| character == '-' || character.is_ascii_digit());
        from = if let Some(rest) = digits.strip_prefix(">>") {
            let end = text.len() - rest.len();
            marks.push((at, end));
            end
        } else if digits.trim_end_matches('>').is_empty() {
            // The text was cut off within the mark.
            marks.push((at, text.len()));
            text.len()
        } else {
            at + MARK.len()
        };
    }
    let Some(&(first, _)) = marks.first() else {
        // The beginning of the mark at the text's end, if it is too long to be a shift operator.
        let broken = (5..MARK.len())
            .rev()
            .find(|length| text.ends_with(&MARK[..*length]));
        return broken.map_or(Change::None, |length| Change::EndAt(text.len() - length));
    };
    let before = &text[..first];
    let after = without_marks(&text[first..]);
    let partial = last_line(site.prefix).trim();
    // Text that ends like the prefix repeats the file; other text is the completion itself.
    let repeats = before.trim().is_empty()
        || (!partial.is_empty() && last_line(before).trim() == partial)
        || (partial.is_empty() && site.prefix.trim_end().ends_with(before.trim()));
    let kept = if repeats && !after.trim().is_empty() {
        after
    } else {
        before.to_owned()
    };
    Change::Rewrite(kept)
}

/// Removes the complete marks from a text.
fn without_marks(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK) {
        clean.push_str(before);
        let digits = after
            .trim_start_matches(|character: char| character == '-' || character.is_ascii_digit());
        rest = digits.strip_prefix(">>").unwrap_or("");
    }
    clean.push_str(rest);
    clean
}

/// Beginning of the mark in a chat's question: see [`crate::prompt::chat`].
const MARK: &str = "<<CURSOR";

/// Keeps the code in the fence at a completion's start, or ends the completion before a later
/// fence. Models trained for chat write fences under every protocol. Fences in a string, a comment
/// or a file with fences are kept.
fn remove_leaked_fence(text: &str, site: &SyntaxSite<'_>) -> Change {
    // Most completions have no fence, so the file need not be searched.
    if !FENCES.iter().any(|fence| text.contains(fence)) {
        return Change::None;
    }
    if may_write_fences(site) && !ends_unopened_fence(text) {
        return Change::None;
    }
    if begins_with_fence(text, site) {
        return match fence(text) {
            Some((start, end)) => Change::Rewrite(text[start..end].trim_end().to_owned()),
            None => Change::EndAt(0),
        };
    }
    if !may_leak_fences(site) {
        return Change::None;
    }
    std::iter::once(0)
        .chain(line_ends(text))
        .find(|start| begins_fence(&text[*start..]) && !in_literal(text, *start, site))
        .map_or(Change::None, Change::EndAt)
}

/// True if a completion of a model that is not a chat model begins with a fence.
pub(super) fn begins_with_fence(text: &str, site: &SyntaxSite<'_>) -> bool {
    !may_write_fences(site)
        && begins_fence(text.trim_start())
        && may_leak_fences(site)
        && !in_literal("", 0, site)
}

/// True if a fence in a completion can't be part of the file's code.
fn may_leak_fences(site: &SyntaxSite<'_>) -> bool {
    !site.chat
        && !FENCES
            .iter()
            .any(|fence| site.prefix.contains(fence) || site.suffix.contains(fence))
}

/// True if the first fence of a text ends one that begins nowhere, as no text with fences does.
fn ends_unopened_fence(text: &str) -> bool {
    let lines = || {
        text.lines()
            .map(str::trim)
            .filter(|line| begins_fence(line))
    };
    let is_end = |line: &str| line.trim_start_matches(['`', '~']).is_empty();
    lines().next().is_some_and(is_end) && lines().count() % 2 == 1
}

/// True if fences may be text of the file: Markdown and what is unknown.
fn may_write_fences(site: &SyntaxSite<'_>) -> bool {
    let is_prose = |path: &str| match path.rsplit_once('.') {
        Some((_, ending)) => PROSE.contains(&ending),
        None => true,
    };
    site.language.is_none() && site.path.is_none_or(is_prose)
}

/// Endings of files that may have fences.
const PROSE: [&str; 5] = ["adoc", "markdown", "md", "mdx", "txt"];

/// Characters of fences: <https://spec.commonmark.org/0.31.2/#fenced-code-blocks>.
const FENCES: [&str; 2] = ["```", "~~~"];

fn begins_fence(text: &str) -> bool {
    FENCES.iter().any(|fence| text.starts_with(fence))
}

/// True if an offset of a completion is in a string or a comment that begins before it.
fn in_literal(text: &str, at: usize, site: &SyntaxSite<'_>) -> bool {
    let Some(parsed) = site.with(text) else {
        return false;
    };
    let at = site.prefix.len() + at;
    let root = parsed.tree.root_node();
    let mut node = root.descendant_for_byte_range(at.saturating_sub(1), at);
    while let Some(inner) = node {
        let literal = parsed.language.is_string(inner) || parsed.language.is_comment(inner);
        if literal && inner.start_byte() < at && inner.end_byte() > at {
            return true;
        }
        node = inner.parent();
    }
    false
}

/// Returns the range of the code in the first fence, from the line after its beginning to the line
/// of its end, or to the text's end. A fence may also be on one line, or end in the code's last
/// line.
fn fence(text: &str) -> Option<(usize, usize)> {
    // Start of the code, and the mark of the fence.
    let mut open: Option<(usize, &str)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let begun = line.trim_start();
        let start = offset + line.len() - begun.len();
        match open {
            None if begins_fence(begun) => {
                let mark = fence_mark(begun);
                let rest = &begun[mark.len()..];
                // The fence is closed on its own line, where code may follow the name of a
                // language.
                if let Some(end) = rest.rfind(&mark[..3]).filter(|end| *end > 0) {
                    let code = start + mark.len();
                    let language = language_name(&rest[..end]);
                    return Some((code + language, code + end));
                }
                // The reply was cut off in the line of the opening fence, before any code.
                if !line.ends_with('\n') {
                    return None;
                }
                open = Some((offset + line.len(), mark));
            }
            Some((code, mark)) if begun.starts_with(mark) => return Some((code, offset)),
            _ => {}
        }
        offset += line.len();
    }
    let (code, mark) = open?;
    // The model wrote the closing fence at the end of the last line.
    let end = text
        .trim_end()
        .strip_suffix(mark)
        .map_or(text.len(), str::len);
    Some((code, end.max(code)))
}

/// Returns the characters of a fence at a line's beginning.
fn fence_mark(line: &str) -> &str {
    let rest = line.trim_start_matches(&line[..1]);
    &line[..line.len() - rest.len()]
}

/// Returns the length of a language's name before the code of a fence on one line, with the blank
/// after it.
fn language_name(text: &str) -> usize {
    const NAMES: [&str; 14] = [
        "python",
        "py",
        "javascript",
        "js",
        "jsx",
        "typescript",
        "ts",
        "tsx",
        "go",
        "golang",
        "java",
        "csharp",
        "cs",
        "code",
    ];
    let Some((name, rest)) = text.split_once(' ') else {
        return 0;
    };
    if NAMES.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        text.len() - rest.len()
    } else {
        0
    }
}

/// True if a reply's code is complete: its fence, outside of reasoning, is closed. Prose before a
/// fence, other than a preamble, may be reasoning without an end yet.
pub(super) fn is_fence_closed(text: &str, site: &SyntaxSite<'_>) -> bool {
    let reply = match thinking(text, site) {
        ThoughtExtent::None => text,
        ThoughtExtent::Open => return false,
        ThoughtExtent::Until(start, end) => &text[start..end],
    };
    let mut is_code = true;
    let mut open = None;
    for line in reply.split_inclusive('\n') {
        let begun = line.trim_start();
        match open {
            None if begins_fence(begun) => open = Some(fence_mark(begun)),
            None => is_code &= begun.is_empty() || is_preamble(begun),
            Some(mark) if begun.starts_with(mark) => return is_code,
            Some(_) => {}
        }
    }
    false
}

/// True if a text begins with reasoning.
pub(super) fn starts_with_reasoning(text: &str) -> bool {
    let begun = text.trim_start();
    let channel = ["<|channel|>", "<|start|>"];
    let marks = THINKING_MARKS
        .iter()
        .map(|(begin, _)| *begin)
        .chain(channel);
    marks
        .into_iter()
        .any(|mark| starts_with_ignoring_case(begun, mark))
}

/// Beginnings of sentences that say that there is nothing to fill in.
const NOTHING: [&str; 14] = [
    "nothing is missing",
    "nothing missing",
    "nothing to add",
    "nothing to complete",
    "nothing to insert",
    "nothing needs to be",
    "nothing is needed",
    "there is nothing",
    "no code is missing",
    "no code is needed",
    "no completion is needed",
    "no completion needed",
    "the code is complete",
    "the code is already complete",
];

/// Single words with the same meaning, in brackets or alone.
const NOTHING_WORDS: [&str; 4] = ["nothing", "empty", "no output", "no completion"];

/// True if a reply says in words that nothing is missing.
fn says_nothing(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    let line = line.trim().to_lowercase();
    let words = line.trim_matches(|character: char| !character.is_alphanumeric());
    let brackets = line.starts_with(['(', '[', '<', '*', '_']);
    NOTHING.iter().any(|phrase| words.starts_with(phrase))
        || (NOTHING_WORDS.contains(&words) && (brackets || line == "nothing" || line == "nothing."))
}

/// Beginnings of preambles.
const PREAMBLES: [&str; 12] = [
    "here is",
    "here's",
    "here are",
    "sure",
    "certainly",
    "of course",
    "okay",
    "ok,",
    "the code",
    "the missing",
    "the completed",
    "to complete",
];

/// Headings that chat models put above the code.
const LABELS: [&str; 6] = [
    "answer",
    "code",
    "completion",
    "output",
    "result",
    "solution",
];

/// Removes a reply that says that nothing is missing, or a first line of prose: one that begins
/// like a preamble and ends with a colon, full stop or exclamation mark, or is followed by a blank
/// line.
pub(super) fn remove_preamble(text: &str, site: &SyntaxSite<'_>) -> Change {
    if !site.chat {
        return Change::None;
    }
    if says_nothing(text) {
        return Change::EndAt(0);
    }
    let Some((first, rest)) = text.split_once('\n') else {
        return Change::None;
    };
    let is_prose = is_preamble(first) || begins_as_preamble(first) && first_is_blank(rest);
    if !is_prose {
        return Change::None;
    }
    let code = rest.trim_start_matches(['\n', '\r']);
    Change::BeginAt(text.len() - code.len())
}

/// True if a line is prose above the code: it begins like a preamble and ends with a colon, full
/// stop or exclamation mark, or it is a label.
fn is_preamble(line: &str) -> bool {
    let line = line.trim();
    let label = line.trim_matches(['*', '#', ' ', ':']).to_lowercase();
    // A key or a label of code has no capital and no marks.
    let is_heading = line.starts_with(|first: char| first.is_uppercase() || "*#".contains(first));
    let is_label = line.ends_with([':', '*']) && line.contains(':') && LABELS.contains(&&*label);
    is_label && is_heading || begins_as_preamble(line) && line.ends_with([':', '.', '!'])
}

/// True if a line begins with the words of a preamble, and not with a name such as `okay()` or
/// `sure = 1`.
fn begins_as_preamble(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    let mut rests = PREAMBLES
        .iter()
        .filter_map(|words| line.strip_prefix(words));
    rests.any(|rest| {
        let next = rest.trim_start().chars().next();
        let is_word =
            next.is_none_or(|next| next.is_alphanumeric() || ",.!:`'\u{2019}".contains(next));
        is_word && !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
    })
}

fn first_is_blank(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| line.trim().is_empty())
}

/// Removes whole lines at a reply's start that repeat the prefix up to the cursor or up to the
/// cursor's line, and the indentation of its first line if the cursor's line is already indented.
pub(super) fn remove_repeated_prefix(text: &str, site: &SyntaxSite<'_>) -> Change {
    if !site.chat {
        return Change::None;
    }
    let partial = last_line(site.prefix);
    let begun = partial.trim();
    let mut prefix_lines: Vec<&str> = site
        .prefix
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if begun.is_empty() {
        // Stands for the cursor's blank line, which every line begins with.
        prefix_lines.push("");
    }
    let mut own = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            own.push((offset, line));
        }
        offset += line.len();
    }
    // The longest repetition counts, as a part of it would leave the other part in place.
    for count in (1..=prefix_lines.len().min(own.len())).rev() {
        let tail = &prefix_lines[prefix_lines.len() - count..];
        let whole_lines = tail[..count - 1]
            .iter()
            .zip(&own)
            .all(|(line, (_, own))| *line == own.trim());
        let (start, last) = own[count - 1];
        let goes_on = last.trim_start().starts_with(tail[count - 1]);
        let letters: usize = tail.iter().map(|line| alphanumerics(line)).sum();
        // A few brackets or a short word are repeated by chance.
        let distinctive = letters >= 3 || (begun.len() >= 3 && letters >= 1);
        if whole_lines && goes_on && distinctive {
            let indent = last.len() - last.trim_start().len();
            let mut begin = start + indent + tail[count - 1].len();
            // The blanks before the cursor are in the file already.
            if partial.ends_with([' ', '\t']) {
                let rest = &text[begin..];
                begin += rest.len() - rest.trim_start_matches([' ', '\t']).len();
            }
            return Change::BeginAt(begin);
        }
    }
    if begun.is_empty() && !partial.is_empty() {
        let indent = text.len() - text.trim_start_matches([' ', '\t']).len();
        return Change::BeginAt(indent);
    }
    Change::None
}
