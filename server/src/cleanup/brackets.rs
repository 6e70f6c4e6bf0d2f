//! Brackets around a completion, by tree-sitter.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::Change;
use super::syntax_site::SyntaxSite;
use crate::syntax::{Bracket, brackets};

/// Ends a completion before a closing bracket that matches neither its own nor one that is open at
/// the cursor and not closed by the suffix.
pub(super) fn end_at_stray_closer(text: &str, site: &SyntaxSite<'_>) -> Change {
    around(text, site)
        .and_then(|around| around.first_stray_closer)
        .map_or(Change::None, Change::EndAt)
}

/// The balance of brackets around a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Around {
    /// Offset in the completion of the first closing bracket that it must not contain.
    first_stray_closer: Option<usize>,
    /// Number of brackets open at the cursor that the suffix closes.
    pub(super) closed_after: usize,
    /// True if the suffix lacks a closing bracket for one that the completion leaves open, or for
    /// one before the cursor whose closing bracket that takes.
    pub(super) lacks_closer: bool,
}

/// Matches brackets of the prefix, the completion and the suffix by kind. Tree-sitter distinguishes
/// brackets that are tokens from those in strings and comments.
pub(super) fn around(text: &str, site: &SyntaxSite<'_>) -> Option<Around> {
    balance(text, site, is_balanced_outside)
}

/// True if a node is before or after a completion and has no error: then its brackets are balanced,
/// and it need not be walked. This holds for most of a file.
pub(super) fn is_balanced_outside(node: Node<'_>, completion: &Range<usize>) -> bool {
    let outside = node.end_byte() <= completion.start || node.start_byte() >= completion.end;
    outside && node.child_count() > 0 && !node.has_error()
}

/// As [`around`], without the brackets of nodes that `leaves_out` selects.
fn balance(
    text: &str,
    site: &SyntaxSite<'_>,
    leaves_out: impl Fn(Node<'_>, &Range<usize>) -> bool,
) -> Option<Around> {
    let parsed = site.with(text)?;
    let completion = site.prefix.len()..site.prefix.len() + text.len();
    let in_file = |tree: &Tree, within: Range<usize>| {
        brackets(parsed.language, tree.root_node(), |node| {
            leaves_out(node, &within)
        })
    };
    let found = in_file(&parsed.tree, completion.clone());
    let (inside, mut outside): (Vec<Bracket>, Vec<Bracket>) =
        (found.into_iter()).partition(|bracket| completion.contains(&bracket.start));
    // After an error, the parser may take the end of a string of the suffix for the beginning of
    // one. A file that has no error without the completion tells its brackets for certain.
    if let Some(tree) = site.file().filter(|tree| !tree.root_node().has_error()) {
        outside = in_file(&tree, completion.start..completion.start);
    }
    let (mut before, mut own, mut after) = (Vec::new(), Vec::new(), Vec::new());
    let (mut strays, mut closed_after) = (Vec::new(), Vec::new());
    // The completion's brackets that close its own.
    let mut closing = Vec::new();
    for bracket in &inside {
        let token = (bracket.closer, bracket.start);
        if bracket.opens {
            own.push(bracket.closer);
        } else if own.pop().is_some() {
            closing.push(token);
        } else {
            strays.push(token);
        }
    }
    for bracket in &outside {
        let is_before = bracket.start < completion.start;
        let open = if is_before { &mut before } else { &mut after };
        if bracket.opens {
            open.push(bracket.closer);
        } else if open.pop().is_none() && !is_before {
            // One of the prefix without an opener is an error of the file, and is ignored.
            closed_after.push(bracket.closer);
        }
    }
    // Number of the suffix's closing brackets that still find their opener if the completion closes
    // the first `closed` of its strays and leaves `own` open.
    let matched = |closed: usize, own: &[char]| {
        let kept = before.len().saturating_sub(closed);
        let open = before[..kept].iter().chain(own).rev();
        open.zip(&closed_after)
            .take_while(|(open, closer)| open == closer)
            .count()
    };
    let closes_its_own = |closed: usize| {
        let open = before.iter().rev().zip(&strays);
        closed <= before.len() && open.take(closed).all(|(open, (closer, _))| open == closer)
    };
    let all = strays.len();
    // The completion may have to close a bracket first, such as the call's in a function's last
    // line.
    let counts = (0..=all).filter(|closed| closes_its_own(*closed));
    let needed = counts.map(|closed| matched(closed, &[])).max().unwrap_or(0);
    let allowed = if closes_its_own(all) && matched(all, &own) >= needed {
        all
    } else {
        // The fewest brackets are cut off: the longest beginning is tried first.
        (0..all)
            .rev()
            .find(|closed| closes_its_own(*closed) && matched(*closed, &[]) >= needed)
            .unwrap_or_default()
    };
    // A completion that has to close a bracket first, such as `} else { … }` before `}`, may end with
    // the brackets that the suffix has, too.
    let is_repeated = |from: &usize| {
        let (_, start) = closing[*from];
        let closed = strays.iter().filter(|(_, stray)| *stray < start).count();
        let repeated: Vec<char> = closing[*from..].iter().rev().map(|(it, _)| *it).collect();
        let rest = &text[start - completion.start..];
        closed > 0
            && !rest.contains(char::is_alphanumeric)
            && closes_its_own(closed)
            && matched(closed, &repeated) >= needed
    };
    let may_repeat = allowed == 0 && all > 0 && own.is_empty();
    let repeated = (0..closing.len())
        .rev()
        .find(|from| may_repeat && is_repeated(from));
    let excess = repeated.map_or_else(|| strays.get(allowed), |from| closing.get(from));
    Some(Around {
        first_stray_closer: excess.map(|(_, start)| start - completion.start),
        closed_after: needed,
        lacks_closer: matched(all, &own) < own.len() + matched(all, &[]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cleanup::{CompletionExtent, CursorSite};
    use crate::syntax::Language;

    #[test]
    fn skipped_nodes_do_not_change_the_balance() {
        let files = [
            (
                "python",
                "x = {'a': [1, (2)]}\ndef f(a, b=(1,)):\n    c = g(a[0]\n    return {**x, f\"{a}\": (b}\n\n\n\
                 def h():\n    return [1, 2)]\n",
            ),
            (
                "typescript",
                "const a = {b: [1, `x ${f(2)}`]};\nfunction f(c: Map<string, number[]>) {\n  if (c) {\n    \
                 return [c.get('x')!, (1];\n  }\n}\nclass K { m() { return /[)]/.test(\")\"); } }\n",
            ),
            (
                "javascript",
                "export default { a() { return <b c={[1]}>{d}</b>; } }\nlet e = (() => { f( })();\n",
            ),
        ];
        for (id, file) in files {
            let language = Language::by_id(id);
            assert!(language.is_some(), "{id}");
            for at in (0..=file.len()).filter(|at| file.is_char_boundary(*at)) {
                for text in [
                    "",
                    ")",
                    "x)]}",
                    "(a[0], {",
                    "}\n\ndef g():\n    return (1)\n",
                ] {
                    let site = SyntaxSite::new(CursorSite {
                        prefix: &file[..at],
                        suffix: &file[at..],
                        path: None,
                        language,
                        tree: None,
                        extent: CompletionExtent::Block,
                        chat: false,
                    });
                    assert_eq!(
                        around(text, &site),
                        balance(text, &site, |_, _| false),
                        "{id} at {at} with {text:?}"
                    );
                }
            }
        }
    }
}
