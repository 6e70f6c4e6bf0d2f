//! Syntax of a language for text metrics.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use fillrate_metrics::ScoringSyntax;
use fillrate_syntax::Language;
use tree_sitter::{Node, Parser};

use super::support::{LanguageSupport, ScorerKeywords};
use super::unread::{UNREAD_LANGUAGES, UnreadLanguage};

/// A language as CrossCodeEval's scorer sees it: where a statement ends, and which words are no
/// identifiers. That is less than a grammar, so C++ can be scored too.
#[derive(Debug, Clone, Copy)]
pub struct ScoringLanguage {
    /// The language's name, e.g. `typescript` for both of its grammars.
    pub name: &'static str,
    /// The grammar that finds a statement's end, if indentation delimits the language's blocks.
    grammar: Option<&'static Language>,
    /// The language's own keywords.
    keywords: &'static [&'static str],
    scorer_keywords: ScorerKeywords,
}

impl ScoringSyntax for ScoringLanguage {
    /// The scorer's lists are shorter than the languages' own.
    fn is_keyword(&self, word: &str) -> bool {
        match self.scorer_keywords {
            ScorerKeywords::Except(others) => {
                self.keywords.contains(&word) && !others.contains(&word)
            }
            ScorerKeywords::Only(all) => all.contains(&word),
        }
    }

    fn indented_blocks(&self) -> bool {
        self.grammar.is_some()
    }

    /// Parses each prefix from scratch: an incremental parse may recover from an error in another
    /// way and so return a different result. The reference gives up a parse after five seconds and
    /// a tree deeper than Python's recursion limit; this does not.
    fn first_parsing_end(&self, text: &str, ends: &[usize]) -> Option<usize> {
        let mut parser = self.grammar?.parser();
        let mut ends = ends.iter().copied();
        ends.find(|&end| parses_without_error_node(&mut parser, &text[..end]))
    }
}

impl ScoringLanguage {
    /// The names of all languages, in the order of tables: those with a grammar, then the others.
    pub fn names() -> Vec<&'static str> {
        let read = fillrate_syntax::LANGUAGES.iter().map(|it| it.name);
        let mut names: Vec<_> = read
            .chain(UNREAD_LANGUAGES.iter().map(|it| it.name))
            .collect();
        // The grammars of a name are adjacent.
        names.dedup();
        names
    }

    /// Returns the language of this name; one of [`ScoringLanguage::names`].
    pub fn named(name: &str) -> Option<Self> {
        fillrate_syntax::LANGUAGES
            .into_iter()
            .find(|language| language.name == name)
            .map(Self::from)
            .or_else(|| Self::unread(|language| language.name == name))
    }

    /// The language of a file, by its ending.
    pub fn for_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Language::for_path(path)
            .map(Self::from)
            .or_else(|| Self::unread(|language| language.extensions.contains(&extension)))
    }

    fn unread(is_wanted: impl Fn(&UnreadLanguage) -> bool) -> Option<Self> {
        UNREAD_LANGUAGES
            .iter()
            .find(|language| is_wanted(language))
            .map(|language| Self {
                name: language.name,
                grammar: None,
                keywords: &[],
                scorer_keywords: ScorerKeywords::Only(language.scorer_keywords),
            })
    }
}

impl From<&'static Language> for ScoringLanguage {
    fn from(language: &'static Language) -> Self {
        Self {
            name: language.name,
            grammar: language.indented_blocks.then_some(language),
            keywords: language.keywords,
            scorer_keywords: LanguageSupport::for_language(language).scorer_keywords,
        }
    }
}

fn parses_without_error_node(parser: &mut Parser, text: &str) -> bool {
    let tree = parser
        .parse(text, None)
        .expect("parsing ends early only on a time-out or a cancel, and neither is set");
    !has_error_node(tree.root_node())
}

/// True if a tree has an ERROR node. Only subtrees that hold an ERROR or MISSING node are walked,
/// on a stack of their own: a tree may be deeper than the thread's.
fn has_error_node(root: Node<'_>) -> bool {
    let mut cursor = root.walk();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        if node.is_error() {
            return true;
        }
        if node.has_error() {
            pending.extend(node.children(&mut cursor));
        }
    }
    false
}

/// Returns the identifiers of a completion's own syntax tree; names in strings and comments are
/// none.
pub fn syntax_identifiers<'a>(text: &'a str, language: &Language) -> BTreeSet<&'a str> {
    let tree = language.parse(text);
    let mut found = BTreeSet::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        // Every grammar has several kinds: of types, of members, of what a pattern binds.
        if node.child_count() == 0 && node.kind().contains("identifier") {
            found.insert(&text[node.byte_range()]);
        }
        let mut cursor = node.walk();
        pending.extend(node.children(&mut cursor));
    }
    found
}

/// Returns the signature and the documentation of a function; `None` if the text is anything but
/// one function.
pub fn function_head<'a>(text: &'a str, language: &Language) -> Option<&'a str> {
    let tree = language.parse(text);
    let root = tree.root_node();
    let mut function = root
        .named_child(0)
        .filter(|_| root.named_child_count() == 1)?;
    if let Some(definition) = function.child_by_field_name("definition") {
        function = definition;
    }
    let head = head_of(function, language).filter(|_| language.is_function(function))?;
    let end = head.documentation.map_or(head.signature_end, |it| it.end);
    Some(&text[..end])
}

/// Position of a function's head.
pub struct FunctionHead {
    /// The end of its signature.
    pub signature_end: usize,
    /// The first statement of its body, if that is documentation.
    pub documentation: Option<Range<usize>>,
}

/// Returns the position of a function's head; `None` if it has no body.
pub fn head_of(function: Node<'_>, language: &Language) -> Option<FunctionHead> {
    let body = function.child_by_field_name("body")?;
    let mut cursor = body.walk();
    let first = body
        .named_children(&mut cursor)
        .find(|child| !language.is_comment(*child));
    let documentation = first.filter(|statement| {
        let only = statement.named_child(0);
        LanguageSupport::for_language(language).has_docstrings
            && statement.kind() == "expression_statement"
            && statement.named_child_count() == 1
            && only.is_some_and(|child| child.kind() == "string")
    });
    let mut cursor = function.walk();
    let signature = function
        .children(&mut cursor)
        .filter(|child| child.end_byte() <= body.start_byte() && !language.is_comment(*child))
        .last()?;
    Some(FunctionHead {
        signature_end: signature.end_byte(),
        documentation: documentation.map(|statement| statement.byte_range()),
    })
}

/// Removes a function's head from a text, as RepoExec's script does: if the head does not occur in
/// the text, removes the first lines, one for each line of the head.
pub fn without_head(text: &str, head: &str) -> String {
    let head = head.trim_matches(is_python_space);
    let strip = |text: &str| text.trim_matches(is_python_space).to_owned();
    if text.contains(head) {
        return strip(&text.replace(head, ""));
    }
    let text = strip(text);
    let rest = python_lines(&text).skip(python_lines(head).count());
    rest.collect::<Vec<_>>().join("\n")
}

/// Python's `str.isspace`, for one character.
fn is_python_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// Python's `str.splitlines`.
fn python_lines(text: &str) -> impl Iterator<Item = &str> {
    const ENDS: [char; 10] = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}',
        '\u{2029}',
    ];
    let mut rest = text;
    std::iter::from_fn(move || {
        let line = rest.split(ENDS).next().filter(|_| !rest.is_empty())?;
        let after = &rest[line.len()..];
        let mut characters = after.chars();
        characters.next();
        // A CRLF is one line end.
        rest = after.strip_prefix("\r\n").unwrap_or(characters.as_str());
        Some(line)
    })
}

#[cfg(test)]
mod tests;
