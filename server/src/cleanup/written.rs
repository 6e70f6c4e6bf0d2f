//! The extent of the unfinished code, by the syntax of the prefix and the completion, without the
//! suffix: the end of the definition or block in which a completion begins, the end of a bracket
//! open at the cursor, and the last whole statement.

use std::cmp::Ordering;

use tree_sitter::Node;

use super::brackets::{around, is_balanced_outside};
use super::extent::{fits, has_error_within, is_error};
use super::overlap::{all_brackets, counted_brackets, opens_types};
use super::syntax_site::SyntaxSite;
use super::{Change, CompletionExtent, first_line, indentation, last_line};
use crate::syntax::{Bracket, Language, OpenText, brackets};

/// Ends a completion with the innermost definition or block in which it begins. Outside of all
/// blocks, and among the members of a class, it ends with the definition in which it begins or that
/// begins there, or with the statement, or before the next empty line.
pub(super) fn end_at_block(text: &str, site: &SyntaxSite<'_>) -> Change {
    end_of_block(text, site).map_or(Change::None, Change::EndAt)
}

/// Returns the offset at which a completion has left the definition or block in which it begins;
/// `None` while it may continue.
pub(super) fn end_of_block(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let Some(language) = site.language else {
        return end_without_grammar(text, site);
    };
    if language.indented_blocks {
        end_by_indentation(text, site)
    } else if site.extent == CompletionExtent::Definition || opens_text(text, site) {
        None
    } else {
        end_by_brackets(text, site)
    }
}

/// Returns the end of a completion in a language without a grammar. Where nothing of the block
/// follows, it is before the first line that is indented less than the cursor's, or not at all, that
/// follows an empty line outside of the completion's own brackets. Where the next line is one of the
/// block, it is before the bracket that closes the block.
fn end_without_grammar(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let begun = last_line(site.prefix);
    let line = match begun.trim().is_empty() {
        true => indentation(&[begun, first_line(text)].concat()),
        false => indentation(begun),
    };
    if !site.suffix.trim().is_empty() {
        // What follows the cursor may also be the rest of several blocks.
        let is_inside = indentation_below(site).is_some_and(|below| below >= line)
            && !site.suffix.trim_start().starts_with([')', ']', '}']);
        let (strays, open) = counted_brackets(text, site);
        let needed = brackets_to_close(site);
        let (at, _) = *strays.get(needed).filter(|_| is_inside && open == 0)?;
        let begun = last_line(&text[..at]);
        return Some(if begun.trim().is_empty() {
            at - begun.len()
        } else {
            at
        });
    }
    let leaves = |start: &usize| {
        let (lines, next) = (&text[..*start], first_line(&text[*start..]));
        let is_apart = last_line(&text[..start - 1]).trim().is_empty();
        let has_code = !next.trim().is_empty() && !lines.trim().is_empty();
        // In Markdown, a block of code may have empty lines.
        let is_outside =
            || counted_brackets(lines, site).1 == 0 && lines.matches("```").count() % 2 == 0;
        is_apart && has_code && indentation(next) < line.max(1) && is_outside()
    };
    super::line_ends(text).find(leaves)
}

/// Counts the brackets that are open at the cursor and that the suffix does not close, in the lines
/// from the last before the cursor that is not indented to the first after it.
fn brackets_to_close(site: &SyntaxSite<'_>) -> usize {
    let begins = |line: &str| !line.starts_with([' ', '\t', '\r', '\n', ')', ']', '}']);
    let mut start = site.prefix.len();
    for line in site.prefix.split_inclusive('\n').rev() {
        start -= line.len();
        if begins(line) {
            break;
        }
    }
    let lines = super::line_ends(site.suffix);
    let mut next = lines.filter(|end| site.suffix.len() > *end && begins(&site.suffix[*end..]));
    let end = next.next().unwrap_or(site.suffix.len());
    let (_, open) = all_brackets(&site.prefix[start..], false);
    let (closed, _) = all_brackets(&site.suffix[..end], false);
    open.saturating_sub(closed.len())
}

/// True if a completion leaves open a string or comment that may span lines. Until it is closed, the
/// parser treats its lines as code.
fn opens_text(text: &str, site: &SyntaxSite<'_>) -> bool {
    site.open_text_after(text).is_some()
}

/// True if a completion may leave its block with its last line. Most lines in a block close
/// nothing, and need no parsing.
pub(super) fn may_leave_block(lines: &str, site: &SyntaxSite<'_>) -> bool {
    let closes_nothing = |text: &str| !text.contains('}');
    // A completion that begins with a closing bracket leaves its block at once.
    let begins_inside = !lines.trim_start().starts_with([')', ']', '}']);
    let is_in_block = site.beginning().is_some_and(|beginning| {
        let mut roles = beginning.roles.iter().rev().map(|(_, role)| *role);
        roles.find(|role| *role != BracketRole::Other) == Some(BracketRole::Block)
    });
    !(is_in_block && begins_inside && closes_nothing(last_line(lines.trim_end_matches('\n'))))
}

/// Syntactic role of a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BracketRole {
    /// A block of statements.
    Block,
    /// The members of a class, a namespace or similar.
    Members,
    /// A part of an expression or a header.
    Other,
}

/// Texts of which one completes a statement that lacks its end: an operand, alone or before a
/// semicolon, the rest of a `for`, the rest of a type and a name.
const OPERANDS: [&str; 5] = [" x()", " x();", " x;", " x(); x()", " x> x;"];

/// The syntax that is open at a cursor.
#[derive(Debug)]
pub(super) struct Beginning {
    /// The roles of the open brackets, by the brackets' offsets, outermost first.
    roles: Vec<(usize, BracketRole)>,
}

impl Beginning {
    /// Returns the syntax open at a cursor; `None` if the language is unknown.
    pub(super) fn at(site: &SyntaxSite<'_>) -> Option<Self> {
        let language = site.language?;
        if language.indented_blocks {
            return Some(Self { roles: Vec::new() });
        }
        // The parser sees an error instead of blocks where the text at the cursor lacks an operand,
        // the end of a string or closing brackets. So these are tried until the text is right; else
        // those that yield the most blocks count.
        let marks = language.quotes.iter().map(|quote| quote.mark);
        // Right behind the mark that begins a string of several lines, its end has to follow a line.
        let lines = marks.clone().filter(|mark| mark.len() > 1);
        let lines = lines.map(|mark| format!("\nx\n{mark}"));
        let ends = OPERANDS.into_iter().chain(marks).map(str::to_owned);
        let mut best: Option<Self> = None;
        for end in std::iter::once(String::new()).chain(ends).chain(lines) {
            let open = Course::of(&end, site)?.open;
            let closers = closers(&open, "", site);
            // The statement around brackets may lack its semicolon.
            let ended = closers.replace(")}", ");}").replace("}}", "};}");
            let has_operand = OPERANDS.contains(&end.as_str()) && ended != closers;
            for closers in std::iter::once(closers).chain(has_operand.then_some(ended)) {
                let (read, is_right) = Self::read(&format!("{end}\n{closers}"), &open, site)?;
                if best
                    .as_ref()
                    .is_none_or(|best| read.blocks() > best.blocks())
                {
                    best = Some(read);
                }
                if is_right {
                    return best;
                }
            }
        }
        best
    }

    /// Reads the roles of `open` brackets with a text that closes them. Also returns true if the text
    /// is right from the first of them on.
    fn read(closed: &str, open: &[Bracket], site: &SyntaxSite<'_>) -> Option<(Self, bool)> {
        let parsed = site.written_with(closed)?;
        let root = parsed.tree.root_node();
        let role = |bracket: &Bracket| {
            let token = root.descendant_for_byte_range(bracket.start, bracket.start + 1);
            let role = token.and_then(|token| role(parsed.language, token));
            (bracket.start, role.unwrap_or(BracketRole::Other))
        };
        let roles = open.iter().map(role).collect();
        let cursor = site.prefix.len();
        let first = open.first().map_or(cursor, |bracket| bracket.start);
        let is_right = !has_error_within(root, &(first..cursor + closed.len()));
        Some((Self { roles }, is_right))
    }

    /// Returns the number of open brackets that hold statements or members.
    fn blocks(&self) -> usize {
        let roles = self.roles.iter();
        roles
            .filter(|(_, role)| *role != BracketRole::Other)
            .count()
    }

    fn role(&self, bracket: &Bracket) -> BracketRole {
        let found = self.roles.iter().find(|(at, _)| *at == bracket.start);
        found.map_or(BracketRole::Other, |(_, role)| *role)
    }
}

/// Returns the role of a bracket token.
fn role(language: &Language, token: Node<'_>) -> Option<BracketRole> {
    let block = token.parent()?;
    // On one line, the properties of a type are a part of what is around them.
    let row = token.start_position().row;
    let mut next = std::iter::successors(token.next_sibling(), |node| node.next_sibling());
    let next = next.find(|node| !language.is_comment(*node));
    let spans_lines = next.is_none_or(|next| next.start_position().row > row);
    if language.is_switch_body(block) && spans_lines {
        return Some(BracketRole::Block);
    }
    if !language.is_block(block) {
        return Some(BracketRole::Other);
    }
    let owner = block.parent()?;
    let has_members = owner.child_by_field_name("name").is_some() && !language.is_function(owner);
    Some(if has_members {
        BracketRole::Members
    } else {
        BracketRole::Block
    })
}

/// The brackets open at the cursor, and those of a completion.
struct Course {
    /// Brackets of the prefix that it leaves open, outermost first.
    open: Vec<Bracket>,
    /// Brackets of the completion, in order, at offsets in the file.
    own: Vec<Bracket>,
}

impl Course {
    fn of(text: &str, site: &SyntaxSite<'_>) -> Option<Self> {
        let parsed = site.written_with(text)?;
        let cursor = site.prefix.len();
        let completion = cursor..cursor + text.len();
        let (mut open, mut own) = (Vec::new(), Vec::new());
        for bracket in brackets(parsed.language, parsed.tree.root_node(), |node| {
            is_balanced_outside(node, &completion)
        }) {
            if bracket.start >= cursor {
                own.push(bracket);
            } else if bracket.opens {
                open.push(bracket);
            } else {
                open.pop();
            }
        }
        Some(Self { open, own })
    }

    /// Returns the brackets that are open at an offset of the completion, and how many of them are
    /// the completion's own.
    fn open_at(&self, end: usize) -> (Vec<Bracket>, usize) {
        let mut open = self.open.clone();
        let mut theirs = open.len();
        for bracket in self.own.iter().take_while(|bracket| bracket.start < end) {
            if bracket.opens {
                open.push(*bracket);
            } else {
                open.pop();
            }
            theirs = theirs.min(open.len());
        }
        let own = open.len() - theirs;
        (open, own)
    }
}

/// True if a completion leaves a bracket of its own open.
pub(super) fn opens_brackets(text: &str, site: &SyntaxSite<'_>) -> bool {
    Course::of(text, site).is_some_and(|course| course.open_at(usize::MAX).1 > 0)
}

/// True if a completion leaves a list of types of its own open, such as `List<`, before the `>` of
/// the one around the cursor.
fn leaves_types(text: &str, site: &SyntaxSite<'_>) -> bool {
    let line = text.trim_end();
    let is_last = first_line(site.suffix).trim_start().starts_with('>') && opens_types(site);
    is_last
        && !line.contains(['\n', '\r'])
        && end_of_type_arguments(&[line, ">"].concat()).is_none()
}

/// True if a completion leaves a bracket of its own open that the rest of the cursor's line does not
/// begin by closing, or closes in place of one before the cursor.
pub(super) fn leaves_brackets_open(text: &str, site: &SyntaxSite<'_>) -> bool {
    let Some(course) = Course::of(text, site) else {
        return false;
    };
    let (open, own) = course.open_at(usize::MAX);
    let mut own = open.iter().rev().take(own).map(|bracket| bracket.closer);
    let mut rest = first_line(site.suffix)
        .chars()
        .filter(|letter| !letter.is_whitespace());
    let has_own = own.len() > 0;
    own.any(|closer| rest.next() != Some(closer))
        || has_own && around(text, site).is_some_and(|around| around.lacks_closer)
}

/// True if a blank, but no line end, follows the innermost bracket that is open after a completion.
pub(super) fn begins_with_blank(text: &str, site: &SyntaxSite<'_>) -> bool {
    if site.language.is_none() {
        return site.prefix.ends_with(['(', '[', '{']) && text.starts_with(' ');
    }
    let open = Course::of(text, site).and_then(|course| course.open_at(usize::MAX).0.pop());
    open.is_some_and(|open| {
        let inner = match (open.start + 1).checked_sub(site.prefix.len()) {
            Some(own) => text[own..].to_owned(),
            None => [&site.prefix[open.start + 1..], text].concat(),
        };
        inner.starts_with(' ') && !first_line(&inner).trim().is_empty()
    })
}

/// Returns the brackets that close the given ones of the prefix and a completion, with a line end. A
/// statement that needs more than its block gets it, as the parser would see an error otherwise.
fn closers(open: &[Bracket], text: &str, site: &SyntaxSite<'_>) -> String {
    let closer = |bracket: &Bracket| {
        let own = bracket.start.checked_sub(site.prefix.len());
        let before = own.map_or(&site.prefix[..bracket.start.min(site.prefix.len())], |at| {
            &text[..at]
        });
        // A bracket at the completion's start belongs to the last word of the prefix.
        let before = match before.trim_end() {
            "" => site.prefix.trim_end(),
            ink => ink,
        };
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = before.trim_end_matches(is_word).len();
        match (bracket.closer, &before[word..]) {
            ('}', "try") => "} finally {}".to_owned(),
            ('}', "do") => "} while (x);".to_owned(),
            (closer, _) => closer.to_string(),
        }
    };
    let closers = open.iter().rev().map(closer);
    // In Go, a declaration ends with its line.
    closers.chain(["\n".to_owned()]).collect()
}

/// Returns the end of the block in a language with braces.
fn end_by_brackets(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let cursor = site.prefix.len();
    let beginning = site.beginning()?;
    let Course { mut open, own } = Course::of(text, site)?;
    // A completion that begins with closing brackets belongs to the code around them.
    let mut begun = 0;
    let mut own = own.into_iter().peekable();
    while let Some(closing) =
        own.next_if(|next| !next.opens && text[begun..next.start - cursor].trim().is_empty())
    {
        open.pop();
        begun = closing.start + 1 - cursor;
    }
    let base = open
        .iter()
        .rposition(|bracket| beginning.role(bracket) != BracketRole::Other);
    let block = base.map(|at| open[at]);
    let declares = block.is_none_or(|block| {
        // A class whose first member is missing is completed as a whole.
        let is_first = begun == 0 && site.prefix[block.start + 1..].trim().is_empty();
        beginning.role(&block) == BracketRole::Members && !is_first
    });
    if declares && let Some(end) = end_of_declaration(text, site, block) {
        return Some(end);
    }
    let base = base?;
    let mut in_handler = false;
    while let Some(bracket) = own.next() {
        if bracket.opens {
            open.push(bracket);
            continue;
        }
        open.pop();
        // A handler may have parentheses before its block.
        if open.len() == base && !(in_handler && bracket.closer == ')') {
            let end = bracket.start + 1 - cursor;
            if block.is_some_and(|block| needs_handler(block, &text[end..], site)) {
                in_handler = true;
                continue;
            }
            return Some(end_of_closing_line(text, end, &open, own, site, beginning));
        }
    }
    None
}

/// Words that begin a handler of a `try`.
const HANDLERS: [&str; 3] = ["catch", "except", "finally"];

/// True if the code of a text begins with a handler of a `try`.
fn begins_with_handler(text: &str) -> bool {
    let code = text.trim_start_matches(|c: char| c.is_whitespace() || c == '}');
    let word = code.split(|c: char| !c.is_alphabetic()).next();
    word.is_some_and(|word| HANDLERS.contains(&word))
}

/// True if a block of the prefix is that of a `try`, and the text after the block begins, or may yet
/// begin, with its handler, which the suffix lacks.
fn needs_handler(block: Bracket, after: &str, site: &SyntaxSite<'_>) -> bool {
    let header = site.prefix[..block.start].trim_end();
    let word = header.rsplit(|c: char| !c.is_alphanumeric()).next();
    word == Some("try")
        && (after.trim().is_empty() || begins_with_handler(after))
        && !begins_with_handler(site.suffix)
}

/// True if a line that is indented less than the cursor's block begins a handler of that block's
/// `try`, which the suffix lacks.
fn handles_try(line: &str, site: &SyntaxSite<'_>) -> bool {
    let width = indentation(line);
    let is_header = |line: &&str| !line.trim().is_empty() && indentation(line) <= width;
    begins_with_handler(line) && !begins_with_handler(site.suffix) && {
        let header = site.prefix.lines().rev().find(is_header);
        header.is_some_and(|header| header.trim_start().starts_with("try:"))
    }
}

/// Returns the end of a block on its closing line: after the closing brackets and a semicolon, or
/// after the whole line if the statement around the block ends with it.
fn end_of_closing_line(
    text: &str,
    closed: usize,
    open: &[Bracket],
    rest: impl Iterator<Item = Bracket>,
    site: &SyntaxSite<'_>,
    beginning: &Beginning,
) -> usize {
    let cursor = site.prefix.len();
    let line_end = closed + first_line(&text[closed..]).len();
    let outer = open
        .iter()
        .rposition(|bracket| beginning.role(bracket) != BracketRole::Other)
        .map_or(0, |at| at + 1);
    let mut open = open.len();
    let mut own = 0;
    let mut end = closed;
    let is_end = |from: usize, to: usize| {
        let between = text[from..to].trim();
        between.is_empty() || between == ";" || between == ","
    };
    for bracket in rest.take_while(|bracket| bracket.start < cursor + line_end) {
        if bracket.opens {
            own += 1;
        } else if own > 0 {
            own -= 1;
        } else if open == outer {
            // This bracket closes the enclosing block.
            return end;
        } else {
            open -= 1;
            let at = bracket.start - cursor;
            if is_end(end, at) {
                end = at + 1;
            }
        }
    }
    let left = text[end..line_end].trim();
    if open == outer && own == 0 || left == ";" || left == "," {
        end + text[end..line_end].trim_end().len()
    } else {
        end
    }
}

/// Returns the end of the declaration in which a completion begins or that begins there, outside of
/// all blocks or among the members of a block. Statements that are not definitions continue up to
/// an empty line, unless one began before the cursor, spans lines or has braces.
fn end_of_declaration(text: &str, site: &SyntaxSite<'_>, block: Option<Bracket>) -> Option<usize> {
    let (open, _) = Course::of(text, site)?.open_at(usize::MAX);
    let closed = format!("{text}\n{}", closers(&open, text, site));
    let parsed = site.written_with(&closed)?;
    let root = parsed.tree.root_node();
    let container = match block {
        Some(block) => root
            .descendant_for_byte_range(block.start, block.start + 1)?
            .parent()?,
        None => root,
    };
    end_of_unit(text, site, container, 0)
}

/// Returns the end of the first declaration of a container that a completion writes. `block` is the
/// indentation of the declarations in a language with indented blocks.
fn end_of_unit(
    text: &str,
    site: &SyntaxSite<'_>,
    container: Node<'_>,
    block: usize,
) -> Option<usize> {
    let language = site.language?;
    let cursor = site.prefix.len();
    // Of what the parser can't read, no declaration is known to end.
    if container.is_error() {
        return None;
    }
    // After the completion follow only the closers that were added for the parser.
    let written = cursor + text.trim_end().len();
    let mut walk = container.walk();
    let mut children = container
        .named_children(&mut walk)
        .filter(|child| child.end_byte() > cursor && child.start_byte() < written)
        .peekable();
    let mut last = children.next()?;
    // A comment above a declaration belongs to it.
    while language.is_comment(last) {
        last = children.next()?;
    }
    let defines = |node: Node<'_>| {
        let mut walk = node.walk();
        language.is_definition(node)
            || node
                .named_children(&mut walk)
                .any(|child| language.is_definition(child))
    };
    let spans_lines = |node: Node<'_>| node.start_position().row < node.end_position().row;
    let has_braces = |node: Node<'_>| {
        let start = node.start_byte().saturating_sub(cursor);
        let end = node.end_byte().saturating_sub(cursor).min(text.len());
        text.get(start..end).is_some_and(|text| text.contains('{'))
    };
    let is_one = |node: Node<'_>| defines(node) || spans_lines(node) || has_braces(node);
    let mut ends = is_one(last) || last.start_byte() < cursor;
    while let Some(next) = children.peek().copied() {
        let same_line = next.start_position().row == last.end_position().row;
        // The parser puts a comment that follows a header outside of its block.
        let is_inside = language.indented_blocks
            && language.is_comment(next)
            && next.start_position().column > block;
        let apart = next.start_position().row > last.end_position().row + 1;
        if same_line {
            last = next;
        } else if is_inside {
            // The block goes on.
        } else if ends || apart || defines(next) {
            break;
        } else {
            last = next;
            ends = is_one(last);
        }
        children.next();
    }
    // If nothing follows, the declaration may go on, and there is nothing to cut off.
    children.peek()?;
    if last.is_error() {
        return None;
    }
    // Tokens between declarations, such as a field's semicolon, belong to the previous one.
    let end = last.end_byte() - cursor;
    let rest = first_line(&text[end..]);
    let token = rest.trim_start();
    Some(match token.starts_with([';', ',']) {
        true => end + rest.len() - token.len() + 1,
        false => end,
    })
}

/// Returns the end of the block in a language with indented blocks: before the first line with less
/// indentation.
fn end_by_indentation(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let block = block_of(text, site)?;
    // After an open bracket or string, the parser takes the following lines for separate
    // statements.
    let is_open = opens_text(text, site) || Course::of(text, site)?.open_at(usize::MAX).1 > 0;
    let declares = site.extent != CompletionExtent::Definition && !is_open;
    let declaration = declares.then(|| end_of_indented_declaration(text, site, block));
    if let Some(end) = declaration.flatten() {
        return Some(end);
    }
    let lines = LogicalLines::of(text, site)?;
    let leaves = |(start, line): &(usize, &str)| {
        !line.trim().is_empty()
            && indentation(line) < block
            && !handles_try(line, site)
            && !site.is_in_long_string_after(&text[..*start])
            && lines.begins_at(*start)
    };
    let mut leaving = lines.later().filter(leaves);
    let (first, line) = leaving.next()?;
    let Some(follows) = follows_in_function(&text[..first], site) else {
        return Some(first);
    };
    let stays = |line: &str| follows.is_continued_by(line, site);
    match stays(line) {
        true => leaving.find(|(_, line)| !stays(line)),
        false => Some((first, line)),
    }
    .map(|(start, _)| start)
}

/// Text after the cursor in its function.
struct FollowingLine {
    /// The indentation of the function's header.
    function: usize,
    /// The indentation of the line that follows the cursor.
    next: usize,
}

impl FollowingLine {
    /// True if a line after the cursor's block continues the function up to the line that follows:
    /// it is indented at least like that line, or is the header of that line's block.
    fn is_continued_by(&self, line: &str, site: &SyntaxSite<'_>) -> bool {
        let width = indentation(line);
        let word = line.trim_start().split(|c: char| !c.is_alphabetic()).next();
        let heads = || {
            let begins_clause = |language: &Language| language.begins_clause(word.unwrap_or(""));
            line.trim_end().ends_with(':') && site.language.is_some_and(begins_clause)
        };
        width > self.function && (self.next <= width || heads())
    }
}

/// Text after the cursor in the function that a completion of these lines begins in; `None` if
/// nothing of a function does.
fn follows_in_function(lines: &str, site: &SyntaxSite<'_>) -> Option<FollowingLine> {
    let begun = last_line(site.prefix);
    let rest = first_line(site.suffix);
    // The cursor may be in the indentation of a line, which then follows in the same function.
    let next = match begun.trim().is_empty() && !rest.trim().is_empty() {
        true => indentation(&[begun, rest].concat()),
        false => indentation_below(site)?,
    };
    let parsed = site.written_with(lines)?;
    let at = site.prefix.len() + (lines.len() - lines.trim_start().len());
    let root = parsed.tree.root_node();
    let mut node = root.descendant_for_byte_range(at.saturating_sub(1), at)?;
    while !parsed.language.is_function(node) {
        node = node.parent()?;
    }
    let start = node.start_byte().min(site.prefix.len());
    let header = first_line(&site.prefix[start - last_line(&site.prefix[..start]).len()..]);
    let function = indentation(header);
    (next > function).then_some(FollowingLine { function, next })
}

/// Returns the indentation of the block in which a completion begins. A completion that begins with
/// a line end begins in the block of its first line: after a header in a new one, after `return x`
/// in an outer one, unless that is outside of all blocks.
fn block_of(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let line = last_line(site.prefix);
    // The indentation may be partly before the cursor and partly in the completion.
    if line.trim().is_empty() && !first_line(text).trim().is_empty() {
        return Some(indentation(&[line, first_line(text)].concat()));
    }
    let here = indentation(logical_line(site)?);
    let is_in_brackets = !Course::of("", site)?.open.is_empty();
    if is_in_brackets || !first_line(text).trim().is_empty() {
        return Some(here);
    }
    let mut lines = text.split_inclusive('\n').skip(1);
    let first = lines.find(|line| !line.trim().is_empty()).map(indentation);
    Some(first.filter(|width| *width > 0).unwrap_or(here))
}

/// Returns the prefix from the start of its last logical line: the cursor's line, or the line on
/// which the bracket or string around the cursor begins.
fn logical_line<'a>(site: &SyntaxSite<'a>) -> Option<&'a str> {
    let cursor = site.prefix.len();
    let bracket = Course::of("", site)?.open.first().map(|open| open.start);
    let parsed = site.written_with("")?;
    let string = string_at(parsed.tree.root_node(), cursor, parsed.language);
    let begins = [bracket, string.map(|string| string.start_byte())];
    let at = begins.into_iter().flatten().min().unwrap_or(cursor);
    let start = at - last_line(&site.prefix[..at]).len();
    Some(&site.prefix[start..])
}

/// Returns the outermost string that begins before an offset and does not end before it.
fn string_at<'t>(root: Node<'t>, at: usize, language: &Language) -> Option<Node<'t>> {
    let mut node = root.descendant_for_byte_range(at.saturating_sub(1), at)?;
    let mut found = None;
    loop {
        if language.is_string(node) && node.start_byte() < at && at <= node.end_byte() {
            found = Some(node);
        }
        match node.parent() {
            Some(parent) => node = parent,
            None => return found,
        }
    }
}

/// The lines of a completion that begin outside of brackets and strings.
struct LogicalLines<'t> {
    text: &'t str,
    cursor: usize,
    course: Course,
    /// Strings that span lines.
    strings: Vec<std::ops::Range<usize>>,
}

impl<'t> LogicalLines<'t> {
    fn of(text: &'t str, site: &SyntaxSite<'_>) -> Option<Self> {
        let course = Course::of(text, site)?;
        let parsed = site.written_with(text)?;
        let cursor = site.prefix.len();
        let mut strings = Vec::new();
        let mut pending = vec![parsed.tree.root_node()];
        while let Some(node) = pending.pop() {
            // Such a node contains no string that spans lines of the completion.
            if node.end_byte() <= cursor || node.start_position().row == node.end_position().row {
                continue;
            }
            if parsed.language.is_string(node) {
                strings.push(node.byte_range());
                continue;
            }
            let mut walk = node.walk();
            pending.extend(node.children(&mut walk));
        }
        Some(Self {
            text,
            cursor,
            course,
            strings,
        })
    }

    /// Returns the lines after the first, with their offsets.
    fn later(&self) -> impl Iterator<Item = (usize, &'t str)> {
        let text = self.text;
        let starts = super::line_ends(text);
        starts.map(move |start| (start, first_line(&text[start..])))
    }

    /// True if a statement may begin with the line at an offset.
    fn begins_at(&self, start: usize) -> bool {
        let at = self.cursor + start;
        let inside = |string: &std::ops::Range<usize>| string.start < at && at < string.end;
        self.course.open_at(at).0.is_empty() && !self.strings.iter().any(inside)
    }
}

/// Returns the end of the declaration in which a completion begins, in a language with indented
/// blocks.
fn end_of_indented_declaration(text: &str, site: &SyntaxSite<'_>, block: usize) -> Option<usize> {
    let parsed = site.written_with(text)?;
    let language = parsed.language;
    let cursor = site.prefix.len();
    let root = parsed.tree.root_node();
    if block == 0 {
        return end_of_unit(text, site, root, block);
    }
    let at = cursor + (text.len() - text.trim_start().len());
    let mut node = root.descendant_for_byte_range(at.saturating_sub(1), at)?;
    loop {
        let owner = node.parent()?;
        if language.is_block(node) && node.start_position().column == block {
            let has_members = language.is_definition(owner) && !language.is_function(owner);
            // A class whose first member is missing is completed as a whole.
            return (has_members && node.start_byte() < cursor)
                .then(|| end_of_unit(text, site, node, block))?;
        }
        node = owner;
    }
}

/// Returns the offset at which a completion closes the bracket or string around the cursor, if the
/// rest of the cursor's line closes it too: editors insert the closing bracket or quote with the
/// opening one. A string or comment of several lines may be closed by a later line.
pub(super) fn closes_before_rest(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let rest = first_line(site.suffix).trim_start();
    let Some(closer) = rest.chars().next() else {
        let mark = site.open_text_after("")?.end_mark();
        if !site.suffix.trim_start().starts_with(mark) {
            return None;
        }
        let mut ends = unescaped(text, mark.chars().next()?);
        let end = ends.find(|at| text[*at..].starts_with(mark))?;
        return Some(text[..end].trim_end().len());
    };
    if "\"'`".contains(closer) {
        return end_of_string(text, rest, site);
    }
    if rest.starts_with("*/") {
        let is_comment = site.open_text_after("") == Some(OpenText::Comment);
        return is_comment.then(|| text.find("*/")).flatten();
    }
    if let Some(tag) = rest.strip_prefix("</") {
        return end_of_element(text, tag.split('>').next()?);
    }
    if closer == '>' {
        return end_of_type_arguments(first_line(text));
    }
    if !")]}".contains(closer) {
        return None;
    }
    if closer == '}' && is_in_interpolation(site) {
        return end_beyond_code(text, closer, "{");
    }
    let cursor = site.prefix.len();
    let course = Course::of(text, site)?;
    let innermost = course.open.last().filter(|open| open.closer == closer)?;
    let before = course.open.len() - 1;
    let mut open = course.open.len();
    let closing = course.own.iter().find(|bracket| {
        // Until the bracket around the cursor is closed, one is open, so this does not underflow.
        open = if bracket.opens { open + 1 } else { open - 1 };
        open == before
    })?;
    (closing.closer == innermost.closer).then_some(closing.start - cursor)
}

/// True if the rest of the cursor's line ends what may span lines around the cursor: a string, a
/// comment or an element of markup.
pub(super) fn rest_ends_lines(site: &SyntaxSite<'_>) -> bool {
    let rest = first_line(site.suffix).trim_start();
    let open = site.open_text_after("");
    rest.starts_with("</") || open.is_some_and(|open| rest.starts_with(open.end_mark()))
}

/// True if the cursor is in the code of a string, such as `${…}`.
pub(super) fn is_in_interpolation(site: &SyntaxSite<'_>) -> bool {
    // The code may be missing yet.
    let Some(parsed) = site.with("x") else {
        return false;
    };
    let cursor = site.prefix.len();
    let root = parsed.tree.root_node();
    let innermost = root.descendant_for_byte_range(cursor, cursor + 1);
    let mut around = std::iter::successors(innermost, Node::parent);
    around.any(|node| parsed.language.interpolations.contains(&node.kind()))
}

/// Returns the offset of the closing tag of the element around the cursor.
fn end_of_element(text: &str, name: &str) -> Option<usize> {
    // Elements of the same name may be nested.
    let mut depth = 0;
    for (at, _) in text.match_indices('<') {
        let (is_end, tag) = match text[at + 1..].strip_prefix('/') {
            Some(tag) => (true, tag),
            None => (false, &text[at + 1..]),
        };
        let Some(rest) = tag.strip_prefix(name) else {
            continue;
        };
        // The tag's name only begins with this name.
        if rest.starts_with(|c: char| c.is_alphanumeric() || "_.-".contains(c)) {
            continue;
        }
        match is_end {
            true if depth == 0 => return Some(at),
            true => depth -= 1,
            false => {
                // A tag that ends with `/>` has no end tag.
                let is_empty = rest.split('>').next().is_some_and(|it| it.ends_with('/'));
                depth += usize::from(!is_empty);
            }
        }
    }
    None
}

/// Returns the offset of the first `>` of a line that closes no `<` of the line, and is no part of
/// an arrow or another operator.
pub(super) fn end_of_type_arguments(line: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, letter) in line.char_indices() {
        match letter {
            '<' => open += 1,
            '>' if line[..at].ends_with(['=', '-']) || line[at + 1..].starts_with('=') => {}
            '>' if open == 0 => return Some(at),
            '>' => open -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the offset at which a completion ends the string around the cursor, which the rest of
/// the line ends too.
fn end_of_string(text: &str, rest: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let mut quotes = site.language?.quotes.iter();
    let open = site.open_text_after("");
    let quote = match open {
        Some(OpenText::String(open)) if rest.starts_with(open.mark) => open,
        _ => quotes.find(|it| it.start == it.mark && rest.starts_with(it.mark))?,
    };
    let character = quote.mark.chars().next()?;
    let line = last_line(site.prefix);
    let is_open = match quote.spans_lines {
        true => open.is_some_and(|open| open.end_mark() == quote.mark),
        // The lines before do not matter.
        false => {
            unescaped(line, character).count() % 2 == 1
                || site.language?.open_quote(line) == Some(quote)
        }
    };
    if !is_open {
        return None;
    }
    if quote.mark.len() > 1 {
        return text.find(quote.mark);
    }
    // Without a quote on the line, the string began above.
    let begin = unescaped(line, character).last();
    let letters = |c: char| c.is_alphabetic() || "$@".contains(c);
    let before = begin.map_or("", |begin| &line[..begin]);
    let prefix = &before[before.trim_end_matches(letters).len()..];
    let code = match character {
        '`' if !quote.is_raw => "${",
        _ if prefix.len() <= 3 && prefix.contains(['f', 'F', '$']) => "{",
        _ => return unescaped(text, character).next(),
    };
    let begun = begin.map_or(line, |begin| &line[begin + character.len_utf8()..]);
    end_beyond_code(&[begun, text].concat(), character, code)?.checked_sub(begun.len())
}

/// Returns the offset of the quote that ends a string, outside of the code in it, or of the `}` that
/// ends such code around the cursor. `code` is the text that begins code in the string.
fn end_beyond_code(text: &str, quote: char, code: &str) -> Option<usize> {
    // The strings and braces that are open, by the characters that end them.
    let mut open = vec![quote];
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        let end = *open.last()?;
        let is_code = end == '}';
        match letter {
            _ if letter == end && open.len() == 1 => return Some(at),
            _ if letter == end => drop(open.pop()),
            '\\' if !is_code => drop(letters.next()),
            '{' | '"' | '\'' | '`' if is_code => {
                open.push(if letter == '{' { '}' } else { letter });
            }
            _ if !is_code && (end == quote || end == '`') && text[at..].starts_with(code) => {
                // A brace that is doubled is text.
                let is_text = code == "{" && text[at + 1..].starts_with(code);
                if is_text || code.len() > 1 {
                    letters.next();
                }
                if !is_text {
                    open.push('}');
                }
            }
            _ => {}
        }
    }
    None
}

/// True if a completion leaves a string open at the end of its last line, unlike the line without
/// it. A parser may end that string at a quote of a later line, and report no error on this one.
pub(super) fn leaves_string(text: &str, site: &SyntaxSite<'_>) -> bool {
    let (before, rest) = (last_line(site.prefix), first_line(site.suffix));
    let with = [before, text, rest].concat();
    let ends_open = |line: &str| {
        let open = site.language.and_then(|it| it.open_quote(line));
        open.is_some_and(|quote| !quote.spans_lines)
    };
    // A quote in a string or comment of several lines says nothing.
    site.open_text_after("").is_none()
        && site.open_text_after(text).is_none()
        && ends_open(last_line(&with))
        && !ends_open(&[before, rest].concat())
}

/// Returns the offsets of a character without a backslash before it.
pub(super) fn unescaped(text: &str, character: char) -> impl Iterator<Item = usize> {
    let mut escaped = false;
    text.char_indices().filter_map(move |(at, each)| {
        let found = each == character && !escaped;
        escaped = each == '\\' && !escaped;
        found.then_some(at)
    })
}

/// True if a completion breaks off: its syntax is wrong both with and without the suffix.
pub(super) fn breaks_off(text: &str, site: &SyntaxSite<'_>) -> bool {
    if text.trim().is_empty() {
        return false;
    }
    let Some(course) = Course::of(text, site) else {
        return false;
    };
    let (open, _) = course.open_at(usize::MAX);
    let leaves_open = leaves_brackets_open(text, site);
    let is_wrong = |text: &str| {
        let parsed = site.with(text);
        parsed.is_some_and(|it| it.tree.root_node().has_error())
    };
    let closed_after = || around("", site).map_or(0, |around| around.closed_after);
    if leaves_open && is_wrong(text) && (!is_wrong("") || closed_after() == course.open.len()) {
        return true;
    }
    if leaves_string(text, site) && is_wrong(text) || leaves_types(text, site) {
        return true;
    }
    let ink = text.trim_end();
    // In an element, only the whole file shows what is wrong.
    let tag = last_line(ink).rsplit_once("</");
    let ends_in_tag = tag.is_some_and(|(_, tag)| !tag.contains('>'));
    if ends_in_tag && is_wrong(text) && !is_wrong(&[ink, ">"].concat()) {
        return true;
    }
    if lacks_opener(ink, site) && is_wrong(text) {
        let is_repaired = |opener: &&str| !is_wrong(&[ink, opener].concat());
        if OPENERS.iter().any(is_repaired) {
            return true;
        }
    }
    let is_outside = !site.language.is_some_and(|it| it.indented_blocks) || open.is_empty();
    if fits(text, site) && !(is_outside && ends_its_statement(text, site, is_wrong)) {
        return false;
    }
    if leaves_open {
        return true;
    }
    // Text of a string or comment may end anywhere.
    let around = site.open_text_after("");
    if around.is_some_and(|around| !ink.contains(around.end_mark())) {
        return false;
    }
    let in_string = stays_in_string(ink, site);
    // Before the end of a list of types, a type may end with such a list.
    let ends_type = ink.ends_with('>') && first_line(site.suffix).starts_with('>');
    // In Python, what is in brackets may end with a comma.
    let is_indented = site.language.is_some_and(|it| it.indented_blocks);
    let ends_element = ink.ends_with(',') && is_indented && !open.is_empty();
    let ends_open =
        ink.ends_with(|last| ".,=+-*/%&|^<>!?:".contains(last)) && !ends_type && !ends_element;
    let goes_on = text.trim().contains('\n') || ends_open && !in_string;
    let is_followed = !first_line(site.suffix).trim().is_empty();
    if !goes_on && (in_string || is_followed && !ends_with_keyword(ink, site)) {
        return false;
    }
    // What an annotation belongs to may be written later.
    let line = ending_line(ink, site);
    let line = line.trim_start();
    if line.starts_with('@') || line.starts_with('[') && line.ends_with(']') {
        return false;
    }
    let wrong = |separator: &str| is_wrong_alone(ink, separator, &open, site);
    // In a single line, a missing semicolon proves nothing, and a line that no text completes is
    // the model's error: it is not hidden.
    let is_unfinished = || {
        CONTINUATIONS
            .iter()
            .any(|continuation| !wrong(continuation))
    };
    wrong("") && (goes_on || wrong(";") && is_unfinished())
}

/// True if a completion ends with a keyword, such as an operator that lacks its operand.
fn ends_with_keyword(ink: &str, site: &SyntaxSite<'_>) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let before = ink.trim_end_matches(is_word);
    let word = &ink[before.len()..];
    // A keyword may also be a name, as in `a.in`.
    !before.ends_with('.') && site.language.is_some_and(|it| it.keywords.contains(&word))
}

/// True if a completion closes its own brackets, and ends a statement where nothing follows but what
/// closes those of the prefix.
pub(super) fn ends_alone(text: &str, site: &SyntaxSite<'_>) -> bool {
    Course::of(text, site).is_some_and(|course| {
        let (open, own) = course.open_at(usize::MAX);
        let is_right = |separator: &&str| !is_wrong_alone(text, separator, &open, site);
        own == 0 && ["", ";"].iter().any(is_right)
    })
}

/// True if a syntax error touches the last line of a completion where nothing follows but a
/// separator and what closes the `open` brackets.
fn is_wrong_alone(ink: &str, separator: &str, open: &[Bracket], site: &SyntaxSite<'_>) -> bool {
    let end = site.prefix.len() + ink.len();
    let line = end - last_line(ink).len();
    let is_wrong = |closers: &str| {
        let closed = format!("{ink}{separator}\n{closers}");
        let parsed = site.written_with(&closed);
        parsed.is_some_and(|it| has_error_within(it.tree.root_node(), &(line..end + 1)))
    };
    let closers = closers(open, ink, site);
    // The statement around brackets may lack its semicolon.
    let outer = closers.trim_start_matches([')', ']']);
    let inner = &closers[..closers.len() - outer.len()];
    is_wrong(&closers) && (inner.is_empty() || is_wrong(&format!("{inner};{outer}")))
}

/// True if the code around the cursor is wrong with any text there, such as in an element without its
/// end: then an error says nothing of a completion.
fn is_wrong_with_any_text(site: &SyntaxSite<'_>) -> bool {
    let Some(course) = Course::of("", site) else {
        return false;
    };
    let mut texts = STATEMENTS.iter().chain(&CONTINUATIONS);
    texts.all(|text| is_wrong_alone(text, "", &course.open, site))
}

/// True if a completion [breaks off](breaks_off), and it is not the code around several lines that
/// is wrong.
pub(super) fn stops_early(text: &str, site: &SyntaxSite<'_>) -> bool {
    let is_blameless =
        || text.contains('\n') && !leaves_brackets_open(text, site) && is_wrong_with_any_text(site);
    breaks_off(text, site) && !is_blameless()
}

/// Texts of which one is right where a statement, a member or a case may begin.
const STATEMENTS: [&str; 4] = ["x", "x;", "x x;", "case x:"];

/// Texts of which one lets the lines after the cursor continue a completion: the opening bracket
/// that they close, the end of a header, an operand.
const OPENERS: [&str; 8] = [" {", "(", "[", "({", "([", ":", " => {", " x"];

/// True if only a text of [`OPENERS`] may be missing at the end of a completion: the next line is
/// indented like the content of a bracket, a block or a longer expression.
fn lacks_opener(ink: &str, site: &SyntaxSite<'_>) -> bool {
    first_line(site.suffix).trim().is_empty()
        && !ink.ends_with([';', '}', ','])
        && indentation_below(site).is_some_and(|next| next > indentation(&ending_line(ink, site)))
}

/// Returns the indentation of the [line below](line_below).
fn indentation_below(site: &SyntaxSite<'_>) -> Option<usize> {
    line_below(site).map(indentation)
}

/// Returns the first line below the cursor's that is not blank.
pub(super) fn line_below<'a>(site: &SyntaxSite<'a>) -> Option<&'a str> {
    let below = &site.suffix[first_line(site.suffix).len()..];
    below.lines().find(|line| !line.trim().is_empty())
}

/// Returns the line on which a completion ends, up to its end.
fn ending_line(text: &str, site: &SyntaxSite<'_>) -> String {
    last_line(&[last_line(site.prefix), text].concat()).to_owned()
}

/// Texts of which one completes an unfinished line: an operand, a block, a quote.
const CONTINUATIONS: [&str; 7] = [" x", ": x", " x: x", " {}", "\"", "'", "`"];

/// True if the suffix can't continue a completion's last line, although the parser reads on there.
/// `is_wrong` returns true if the file with a completion has a syntax error.
fn ends_its_statement(text: &str, site: &SyntaxSite<'_>, is_wrong: impl Fn(&str) -> bool) -> bool {
    let Some(language) = site.language else {
        return false;
    };
    if !first_line(site.suffix).trim().is_empty() {
        return false;
    }
    // A tag ends with less indentation than its attributes and its content.
    let below = site.suffix.trim_start();
    if ["</", "/>", ">"].iter().any(|it| below.starts_with(it)) && !is_wrong(text) {
        return false;
    }
    let ink = text.trim();
    let is_single = !ink.contains('\n');
    let line = ending_line(text.trim_end(), site);
    let is_step = ink.ends_with("++") || ink.ends_with("--");
    let lacks_operand = !is_step && ink.ends_with(|last| "=+-*/%&|^<".contains(last));
    if language.indented_blocks {
        // A header is continued by its block, a decorator by its function.
        let is_begun = ink.ends_with([':', '\\']) || line.trim_start().starts_with('@');
        return lacks_operand || is_single && !is_begun;
    }
    let deeper = indentation_below(site).map(|next| next.cmp(&indentation(&line)));
    is_single
        && match deeper {
            None | Some(Ordering::Less) => true,
            // Lines that continue a statement are indented more than its first line.
            Some(Ordering::Equal) if lacks_operand => begins_statement(text, site),
            Some(_) => is_wrong(text) && !is_wrong(""),
        }
}

/// True if the statement in which a single line ends begins on the cursor's line.
fn begins_statement(text: &str, site: &SyntaxSite<'_>) -> bool {
    let Some(parsed) = site.with(text) else {
        return false;
    };
    let begun = last_line(site.prefix);
    let line = site.prefix.len() - begun.trim_start().len();
    let end = site.prefix.len() + text.trim_end().len();
    let root = parsed.tree.root_node();
    let innermost = root.descendant_for_byte_range(end.saturating_sub(1), end);
    let mut around = std::iter::successors(innermost, Node::parent);
    let statement = around.find(|node| parsed.language.is_statement(*node));
    statement.is_none_or(|statement| statement.start_byte() >= line)
}

/// True if the string around the cursor, if any, goes on after a completion of its line.
fn stays_in_string(text: &str, site: &SyntaxSite<'_>) -> bool {
    if site.is_in_long_string() {
        return site.is_in_long_string_after(text);
    }
    let before = last_line(site.prefix);
    let after = [before, text].concat();
    let open_quote = |line: &str| site.language?.open_quote(line);
    let open = open_quote(before);
    open.is_some() && open_quote(last_line(&after)) == open
}

/// Ends a completion that its model did not finish after its last whole statement. That statement
/// must close all brackets that the completion opens, unless the suffix closes none: then it may be
/// inside of them. A single unfinished line is removed.
pub(super) fn end_at_whole_statement(text: &str, site: &SyntaxSite<'_>) -> Change {
    if site.language.is_none() {
        return Change::EndAt(match text.contains('\n') {
            true => last_whole_line(text, site),
            // Before further lines, a part of one is not wanted.
            false if site.suffix.trim().is_empty() => last_whole_token(text, site),
            false => 0,
        });
    }
    let Some(course) = Course::of(text, site) else {
        return Change::None;
    };
    let cursor = site.prefix.len();
    let is_cut = |end: usize| !text[end..].contains('\n');
    let mut ends: Vec<usize> = super::line_ends(text)
        .map(|end| end - 1)
        .chain([text.len()])
        .map(|end| text[..end].trim_end().len())
        .filter(|end| *end > 0 && (!is_cut(*end) || text[..*end].ends_with([';', '}'])))
        .collect();
    ends.dedup();
    let closed_after = around("", site).is_none_or(|around| around.closed_after > 0);
    let is_followed = !site.suffix.trim().is_empty();
    let mut nested = None;
    for end in ends.into_iter().rev() {
        let (open, own) = course.open_at(cursor + end);
        let allowed = own == 0 || (nested.is_none() && !closed_after);
        let written = &text[..end];
        if stays_in_text(written, site) {
            nested = Some(end);
            break;
        }
        if !allowed
            || opens_text(written, site)
            || !is_whole(text, end, &open, site)
            || (is_followed && leaves_try_open(written, site))
        {
            continue;
        }
        nested = Some(end);
        if own == 0 {
            break;
        }
    }
    // Lines inserted between the brackets of one line end with a line end.
    let is_between = first_line(text).trim().is_empty()
        && !first_line(site.suffix).is_empty()
        && site.open_text_after("").is_none();
    let end = nested.unwrap_or(0);
    let line = first_line(&text[end..]).len();
    let follows = text[end + line..].starts_with('\n');
    Change::EndAt(match end > 0 && is_between && follows {
        true => end + line + 1,
        false => end,
    })
}

/// Returns the end of the last whole line of a completion in a language without a grammar. The line
/// opens no bracket. If text follows the cursor, the lines up to it leave none open.
fn last_whole_line(text: &str, site: &SyntaxSite<'_>) -> usize {
    let is_followed = !site.suffix.trim().is_empty();
    let open = |text: &str| counted_brackets(text, site).1;
    let is_whole = |end: &usize| {
        let lines = &text[..*end];
        let line = last_line(lines);
        let before = match is_followed {
            true => 0,
            false => open(&lines[..end - line.len()]),
        };
        // A line may close one bracket and open another.
        let opens = open(lines) > before || line.trim_end().ends_with(['(', '[', '{']);
        !line.trim().is_empty() && !opens
    };
    let ends = text.match_indices('\n').map(|(end, _)| end);
    ends.rev().find(is_whole).unwrap_or(0)
}

/// True if the string or comment around the cursor that may span lines is open after whole lines, of
/// which none has code that is open.
fn stays_in_text(lines: &str, site: &SyntaxSite<'_>) -> bool {
    let Some(open) = site.open_text_after("") else {
        return false;
    };
    let is_wrong = |text: &str| {
        let parsed = site.with(text);
        parsed.is_some_and(|it| it.tree.root_node().has_error())
    };
    !lines.contains(open.end_mark()) && (!is_wrong(lines) || is_wrong(""))
}

/// True if a `try` of a completion has no handler, neither in the completion nor in the suffix.
fn leaves_try_open(text: &str, site: &SyntaxSite<'_>) -> bool {
    let Some(parsed) = site.with(text) else {
        return false;
    };
    let cursor = site.prefix.len();
    let completion = cursor..cursor + text.len();
    let mut pending = vec![parsed.tree.root_node()];
    while let Some(node) = pending.pop() {
        if node.end_byte() <= completion.start || node.start_byte() >= completion.end {
            continue;
        }
        let mut walk = node.walk();
        let children: Vec<_> = node.children(&mut walk).collect();
        let begins = |child: &&Node<'_>| child.kind() == "try" && child.start_byte() >= cursor;
        // A `try` with resources needs no handler.
        let is_handled = node.child_by_field_name("resources").is_some()
            || children
                .iter()
                .any(|child| parsed.language.is_clause(*child));
        if !is_handled && children.iter().any(|child| begins(&child)) {
            return true;
        }
        pending.extend(children);
    }
    false
}

/// Returns the end of the last whole token of a single line that its model did not finish; the very
/// last token may be cut. 0 if the tokens before it leave a bracket or a string open, or if the
/// cursor's line has text after the cursor.
pub(super) fn last_whole_token(text: &str, site: &SyntaxSite<'_>) -> usize {
    let line = text.trim_end();
    if line.trim_start().contains('\n') || !first_line(site.suffix).trim().is_empty() {
        return 0;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let cut = match line.chars().next_back() {
        Some(last) if !is_word(last) => line.len() - last.len_utf8(),
        _ => line.trim_end_matches(is_word).len(),
    };
    let is_end = |c: char| is_word(c) || ")]}\"'`".contains(c);
    let end = line[..cut].trim_end_matches(|c| !is_end(c)).len();
    let quotes = |quote: char| line[..end].matches(quote).count();
    let open = match Course::of(text, site) {
        Some(course) => course.open_at(site.prefix.len() + end).1,
        None => counted_brackets(&line[..end], site).1,
    };
    let is_closed = open == 0;
    match is_closed
        && ['"', '\'', '`']
            .into_iter()
            .all(|quote| quotes(quote) % 2 == 0)
    {
        true => end,
        false => 0,
    }
}

/// Members whose ends need no mark: those of structs, interfaces and groups of declarations in Go,
/// and of interfaces in TypeScript.
const MEMBERS: [&str; 12] = [
    "call_signature",
    "const_spec",
    "construct_signature",
    "field_declaration",
    "import_spec",
    "index_signature",
    "method_elem",
    "method_signature",
    "property_signature",
    "type_elem",
    "type_spec",
    "var_spec",
];

/// True if a line begins with an operator, and so continues the previous one.
pub(super) fn begins_with_operator(line: &str, site: &SyntaxSite<'_>) -> bool {
    let is_comment = || {
        let mark = site.language.map(|language| language.line_comment);
        line.starts_with("/*") || mark.is_some_and(|mark| line.starts_with(mark))
    };
    let is_step = || line.starts_with("++") || line.starts_with("--");
    line.starts_with([
        '.', '?', ':', '&', '|', '+', '-', '*', '/', '=', '<', '>', '%', '^', ',',
    ]) && !is_step()
        && !is_comment()
}

/// Returns the offset of the innermost bracket that is open at the cursor.
pub(super) fn innermost_bracket(site: &SyntaxSite<'_>) -> Option<usize> {
    Course::of("", site)?.open.last().map(|open| open.start)
}

/// True if a bracket is open after a completion.
pub(super) fn is_in_brackets(text: &str, site: &SyntaxSite<'_>) -> bool {
    Course::of(text, site).is_some_and(|course| !course.open_at(usize::MAX).0.is_empty())
}

/// Returns the nodes that begin at an offset of a file, from the inside out.
fn nodes_beginning_at(root: Node<'_>, at: usize) -> impl Iterator<Item = Node<'_>> {
    let first = root.descendant_for_byte_range(at, at + 1);
    std::iter::successors(first, Node::parent).take_while(move |node| node.start_byte() == at)
}

/// The end of the outermost node, apart from blocks, that begins with the cursor's line, as an offset
/// of a completion; `None` if it ends before the cursor.
pub(super) fn end_of_line_node(text: &str, site: &SyntaxSite<'_>) -> Option<usize> {
    let parsed = site.with(text)?;
    let line = last_line(site.prefix);
    let ink = site.prefix.len() - line.trim_start().len();
    let is_part = |node: &Node<'_>| node.parent().is_some() && !parsed.language.is_block(*node);
    let outermost = nodes_beginning_at(parsed.tree.root_node(), ink)
        .filter(is_part)
        .last()?;
    outermost
        .end_byte()
        .checked_sub(site.prefix.len())
        .filter(|end| *end > 0)
}

/// True if a statement begins at an offset of a completion.
pub(super) fn begins_statement_at(at: usize, text: &str, site: &SyntaxSite<'_>) -> bool {
    let Some(parsed) = site.with(text) else {
        return false;
    };
    nodes_beginning_at(parsed.tree.root_node(), site.prefix.len() + at)
        .any(|node| parsed.language.is_statement(node))
}

/// True if a statement, or an element of a list in brackets, ends at an offset of a completion.
fn is_whole(text: &str, end: usize, open: &[Bracket], site: &SyntaxSite<'_>) -> bool {
    let written = &text[..end];
    let Some(language) = site.language else {
        return false;
    };
    if begins_with_operator(text[end..].trim_start(), site) {
        return false;
    }
    let closed = format!("{written}\n{}", closers(open, text, site));
    let Some(parsed) = site.written_with(&closed) else {
        return false;
    };
    let at = site.prefix.len() + end;
    let root = parsed.tree.root_node();
    let Some(token) = root.descendant_for_byte_range(at - 1, at) else {
        return false;
    };
    let in_own_literal = |node: Node<'_>| {
        let literal = language.is_string(node) || language.is_comment(node);
        literal && node.start_byte() >= site.prefix.len() && node.end_byte() > at
    };
    if follows_header(written, root, site) || has_error_from(root, &(site.prefix.len()..at)) {
        return false;
    }
    let mut node = token;
    let mut ends_statement = matches!(token.kind(), ";" | ",");
    loop {
        if in_own_literal(node) {
            return false;
        }
        let literal = language.is_string(node) || language.is_comment(node);
        ends_statement |= (language.is_statement(node)
            || language.is_definition(node)
            || language.is_comment(node)
            || MEMBERS.contains(&node.kind()))
            && node.end_byte() <= at + 1
            // The parser adds the body that a header lacks, or its semicolon.
            && !has_error_from(node, &(site.prefix.len()..at + 1))
            || literal && node.start_byte() < site.prefix.len();
        match node.parent() {
            Some(parent) => node = parent,
            None => break,
        }
    }
    ends_statement
}

/// True if a completion ends its line with a header whose block neither follows nor begins on the
/// line: the parser accepts an empty block. `root` is that of the file with the completion.
pub(super) fn leaves_header(text: &str, root: Node<'_>, site: &SyntaxSite<'_>) -> bool {
    let ink = text.trim_end();
    let Some(language) = site.language.filter(|it| it.indented_blocks) else {
        return false;
    };
    let rest = first_line(site.suffix).trim();
    // Few texts end like this, so that most need no look at the syntax. A comment after the cursor
    // is no block.
    ink.ends_with(':')
        && (rest.is_empty() || rest.starts_with(language.line_comment))
        && follows_header(ink, root, site)
        && indentation_below(site).is_none_or(|below| below <= indentation(&ending_line(ink, site)))
}

/// True if a completion ends with a header without its block; a comment is no block.
fn follows_header(text: &str, root: Node<'_>, site: &SyntaxSite<'_>) -> bool {
    let cursor = site.prefix.len();
    let mut end = text.trim_end().len();
    while end > 0 {
        let at = cursor + end;
        let Some(token) = root.descendant_for_byte_range(at - 1, at) else {
            return false;
        };
        if !site.language.is_some_and(|it| it.is_comment(token)) {
            return token.kind() == ":";
        }
        let before = token.start_byte().saturating_sub(cursor);
        end = text[..before].trim_end().len();
    }
    false
}

/// True if a syntax error begins in a range of bytes.
fn has_error_from(node: Node<'_>, range: &std::ops::Range<usize>) -> bool {
    if !node.has_error() || node.start_byte() >= range.end || node.end_byte() < range.start {
        return false;
    }
    let mut walk = node.walk();
    is_error(node) && node.start_byte() >= range.start
        || node
            .children(&mut walk)
            .any(|child| has_error_from(child, range))
}

#[cfg(test)]
mod tests;
