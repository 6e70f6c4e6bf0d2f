//! What turns model text into what a person would accept. Each rule is one small function; what
//! a rule removes is told in a [`Decision`].

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::syntax::Language;

/// Applies every rule in order and tells what each removed.
pub fn clean(raw: &str, place: &Place<'_>) -> (String, Vec<Decision>) {
    let mut text = raw.to_owned();
    let mut decisions = Vec::new();
    for (rule, apply) in RULES {
        let kept = apply(&text, place).min(text.len());
        if kept < text.len() {
            let removed = text.split_off(kept);
            decisions.push(Decision {
                rule: (*rule).to_owned(),
                removed,
            });
        }
    }
    (text, decisions)
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
}

/// What one rule removed from the end of a completion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The rule's name.
    pub rule: String,
    /// What it cut off.
    pub removed: String,
}

/// The names of the rules, in the order in which they apply.
pub fn rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name)
}

/// A rule gives the length of what it keeps.
type Rule = fn(&str, &Place<'_>) -> usize;

/// The rules in the order in which they apply.
const RULES: &[(&str, Rule)] = &[
    ("line", stay_on_the_line),
    ("block", stay_in_the_block),
    ("brackets", close_only_what_is_open),
    ("suffix", do_not_repeat_what_follows),
    ("blank-end", end_with_ink),
];

/// With text after the cursor on its line, a completion stays on that line: anything else would
/// tear the line in two.
fn stay_on_the_line(text: &str, place: &Place<'_>) -> usize {
    let rest = first_line(place.suffix);
    if rest.trim().is_empty() {
        return text.len();
    }
    text.find(['\n', '\r']).unwrap_or(text.len())
}

/// Where indentation delimits blocks, a completion ends before the first line that is indented
/// less than the cursor's.
fn stay_in_the_block(text: &str, place: &Place<'_>) -> usize {
    if !place
        .language
        .is_some_and(|language| language.indented_blocks)
    {
        return text.len();
    }
    let cursor_line = place.prefix.rsplit(['\n', '\r']).next().unwrap_or_default();
    let block = indentation(cursor_line);
    // Inside brackets or a string that began earlier, indentation means nothing.
    let inside = tokens_around(text, place).is_some_and(|around| around.open_at_cursor > 0);
    if inside {
        return text.len();
    }
    let continuations = continuation_lines(text, place);
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let leaves = index > 0
            && !line.trim().is_empty()
            && indentation(line) < block
            && !continuations.iter().any(|lines| lines.contains(&start));
        if leaves {
            return start;
        }
        start += line.len();
    }
    text.len()
}

/// A completion may close the brackets that stand open before the cursor and that nothing after
/// it closes, and no more.
fn close_only_what_is_open(text: &str, place: &Place<'_>) -> usize {
    tokens_around(text, place)
        .and_then(|around| around.first_stray_closer)
        .unwrap_or(text.len())
}

/// Models like to go on into what already stands after the cursor. Whole lines at the end that
/// repeat the lines that follow are cut: two or more, or one that is no mere bracket.
fn do_not_repeat_what_follows(text: &str, place: &Place<'_>) -> usize {
    let mut following = place.suffix.lines();
    // What follows the cursor on its own line is no line of its own.
    if !first_line(place.suffix).trim().is_empty() {
        return text.len();
    }
    following.next();
    let following: Vec<&str> = following
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let mut starts = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            starts.push((offset, line.trim_end()));
        }
        offset += line.len();
    }
    // The first line continues the cursor's line, so it repeats nothing.
    for (count, first) in (1..starts.len()).map(|index| (starts.len() - index, index)) {
        let repeated = following.len() >= count
            && starts[first..]
                .iter()
                .zip(&following)
                .all(|((_, line), next)| line == next);
        let letters = |line: &str| line.chars().filter(|c| c.is_alphanumeric()).count();
        let telling = count > 1 || letters(starts[first].1) >= 3;
        if repeated && telling {
            return starts[first].0;
        }
    }
    text.len()
}

/// White space at the end is invisible, and an accept would leave it behind.
fn end_with_ink(text: &str, _place: &Place<'_>) -> usize {
    text.trim_end().len()
}

/// What the brackets around a completion say.
struct Around {
    /// How many brackets of the prefix are open at the cursor.
    open_at_cursor: usize,
    /// Where in the completion a bracket closes that is not the completion's to close.
    first_stray_closer: Option<usize>,
}

/// Counts brackets before, in and after a completion. Tree-sitter tells which brackets are
/// tokens and which are part of a string or a comment.
fn tokens_around(text: &str, place: &Place<'_>) -> Option<Around> {
    let language = place.language?;
    let whole = [place.prefix, text, place.suffix].concat();
    let tree = language.parse(&whole);
    let completion = place.prefix.len()..place.prefix.len() + text.len();
    let (mut open, mut depth_in_completion, mut strays) = (0usize, 0usize, Vec::new());
    let (mut open_after, mut closed_after) = (0usize, 0usize);
    for (kind, start) in brackets(tree.root_node()) {
        let opens = matches!(kind, "(" | "[" | "{" | "${");
        if start < completion.start {
            open = if opens {
                open + 1
            } else {
                open.saturating_sub(1)
            };
        } else if start < completion.end {
            if opens {
                depth_in_completion += 1;
            } else if depth_in_completion > 0 {
                depth_in_completion -= 1;
            } else {
                strays.push(start - completion.start);
            }
        } else if opens {
            open_after += 1;
        } else if open_after > 0 {
            open_after -= 1;
        } else {
            closed_after += 1;
        }
    }
    let allowed = open.saturating_sub(closed_after.saturating_sub(depth_in_completion));
    Some(Around {
        open_at_cursor: open,
        first_stray_closer: strays.get(allowed).copied(),
    })
}

/// Every bracket token of the languages in the table.
const BRACKETS: [&str; 7] = ["(", ")", "[", "]", "{", "}", "${"];

/// The bracket tokens of a tree in order, each with its byte offset.
fn brackets(root: Node<'_>) -> Vec<(&'static str, usize)> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let is_token = node.child_count() == 0 && !node.is_missing();
        let bracket = BRACKETS.into_iter().find(|bracket| *bracket == node.kind());
        if let Some(bracket) = bracket.filter(|_| is_token) {
            found.push((bracket, node.start_byte()));
        }
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return found;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

/// The stretches of a completion that continue a bracket or a string of the completion's own
/// over line ends, where indentation means nothing.
fn continuation_lines(text: &str, place: &Place<'_>) -> Vec<Range<usize>> {
    let Some(language) = place.language else {
        return Vec::new();
    };
    let whole = [place.prefix, text, place.suffix].concat();
    let tree = language.parse(&whole);
    let offset = place.prefix.len();
    let mut found = Vec::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        let kind = node.kind();
        let bracketed = node
            .child(0)
            .is_some_and(|first| matches!(first.kind(), "(" | "[" | "{"));
        if node.start_byte() >= offset
            && (bracketed || language.strings.contains(&kind))
            && node.start_position().row < node.end_position().row
        {
            found.push(node.start_byte() - offset..node.end_byte() - offset);
        }
        let mut cursor = node.walk();
        pending.extend(node.children(&mut cursor));
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Cleans `completion` at the `$0` of a fixture and gives what is left and the rules that cut.
    fn check(id: &str, fixture: &str, completion: &str) -> (String, Vec<String>) {
        let (prefix, suffix) = fixture
            .split_once("$0")
            .expect("a fixture marks its cursor");
        let place = Place {
            prefix,
            suffix,
            language: Language::by_id(id),
        };
        let (text, decisions) = clean(completion, &place);
        let rules = decisions
            .into_iter()
            .map(|decision| decision.rule)
            .collect();
        (text, rules)
    }

    fn kept(id: &str, fixture: &str, completion: &str) {
        assert_eq!(
            check(id, fixture, completion),
            (completion.to_owned(), Vec::new())
        );
    }

    #[test]
    fn text_after_the_cursor_keeps_a_completion_on_its_line() {
        assert_eq!(
            check("python", "x = f($0)\n", "a, b\ny = 2"),
            ("a, b".into(), vec!["line".into()])
        );
        kept("python", "x = $0\n", "f(a)\ny = 2");
    }

    #[test]
    fn a_completion_stays_in_its_block() {
        let fixture = "def f(a):\n    b = a\n    $0\n\ndef g():\n    pass\n";
        assert_eq!(
            check("python", fixture, "return b\n\ndef h():\n    pass"),
            ("return b".into(), vec!["block".into(), "blank-end".into()])
        );
        kept("python", fixture, "if b:\n        return b\n    return a");
        kept("python", fixture, "b = (a,\n  b)\n    return b");
        kept("python", fixture, "b = \"\"\"\nleft\n\"\"\"\n    return b");
    }

    #[test]
    fn only_open_brackets_are_closed() {
        let fixture = "function f(a: number) {\n  $0\n}\n";
        assert_eq!(
            check("typescript", fixture, "return a;\n}\nfunction g() {}"),
            (
                "return a;".into(),
                vec!["brackets".into(), "blank-end".into()]
            )
        );
        kept("typescript", fixture, "if (a) {\n    return a;\n  }");
        kept("typescript", "f(a$0\n", ", b);");
        assert_eq!(
            check("typescript", "f(g(a$0));\n", "))"),
            (String::new(), vec!["brackets".into()])
        );
        kept("typescript", "const s = $0;\n", "\")}\"");
        kept("typescript", "const s = $0;\n", "`a ${b} c`");
    }

    #[test]
    fn what_follows_is_not_repeated() {
        let fixture = "def f(a):\n    $0\n    c = g(a)\n    return c\n";
        assert_eq!(
            check("python", fixture, "b = a\n    c = g(a)\n    return c"),
            ("b = a".into(), vec!["suffix".into(), "blank-end".into()])
        );
        assert_eq!(
            check("python", fixture, "b = a\n    c = g(a)"),
            ("b = a".into(), vec!["suffix".into(), "blank-end".into()])
        );
        kept("python", fixture, "b = a\n    c = h(a)");
    }

    #[test]
    fn a_completion_ends_with_ink() {
        assert_eq!(
            check("python", "x = $0\n", "1  \n\n"),
            ("1".into(), vec!["blank-end".into()])
        );
    }

    #[test]
    fn an_unknown_language_is_left_alone() {
        let place = Place {
            prefix: "a ",
            suffix: "\n",
            language: None,
        };
        assert_eq!(clean("}\nb", &place).0, "}\nb");
    }
}
