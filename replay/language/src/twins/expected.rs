//! Finds what a test's assertions compare with: through variables, constants, fixtures, tables and
//! functions of the tests, in its file and in those that it imports.

use std::collections::BTreeSet;
use std::ops::Range;

use tree_sitter::Node;

use super::alteration::{Candidate, Form, Site, ValueCopy};
use super::evaluation::{Evaluation, evaluated};
use super::{AssertionEdits, LiteralKinds, SourceEdit, has_word, named_children, unquoted};

/// The most steps from an assertion to where a value is written, and from a test to an assertion.
const DEPTH: usize = 6;
const CALLS: usize = 2;
/// The most values of one variable that are followed.
const VALUES: usize = 3;

/// The literals of a file of data, which is parsed as JavaScript.
const DATA: LiteralKinds = LiteralKinds {
    numbers: &["number"],
    strings: &["string_fragment"],
    booleans: ["true", "false"],
    boolean_kinds: &["true", "false"],
    nothing: ("null", "0"),
    untouched: &[],
};

/// Classes of exceptions from which others that are put in their place are derived.
const BASE_EXCEPTIONS: [&str; 7] = [
    "BaseException",
    "Exception",
    "LookupError",
    "Error",
    "Throwable.class",
    "Exception.class",
    "RuntimeException.class",
];

/// Tree-sitter's kinds of nodes of a language, and its assertions.
pub(crate) struct Grammar {
    pub(crate) literals: LiteralKinds,
    pub(crate) identifiers: &'static [&'static str],
    /// Calls.
    pub(crate) calls: &'static [&'static str],
    /// Members of values, with the fields of the value and of the key.
    pub(crate) members: &'static [(&'static str, &'static str, &'static str)],
    /// Nodes that set a variable, with the fields of the variable and of its value.
    pub(crate) assignments: &'static [(&'static str, &'static str, &'static str)],
    /// Definitions of functions and methods, and functions without a name.
    pub(crate) functions: &'static [&'static str],
    pub(crate) returns: &'static str,
    /// Lists whose elements have an order.
    pub(crate) lists: &'static [&'static str],
    /// Literals of empty values, with their kinds and with literals of other values.
    pub(crate) empty: &'static [(&'static str, &'static str, &'static str)],
    /// True for functions of the language or its libraries whose results depend only on their
    /// arguments.
    pub(crate) is_pure: fn(&str) -> bool,
    /// How values are evaluated that no assertion compares.
    pub(crate) evaluation: Evaluation,
    /// The assertion that a node is.
    pub(crate) assertion: for<'t> fn(Node<'t>, &str) -> Option<Assertion<'t>>,
    /// The cells that a variable takes its values from, if it is a parameter or a loop's.
    pub(crate) cells: for<'t> fn(Node<'t>, &CallFrame<'t, '_>) -> Option<Cells<'t>>,
}

/// Words of assertions that look for a part of a text.
const PARTIAL: [&str; 18] = [
    " in ",
    "assertIn",
    "assertNotIn",
    "contain",
    "Contain",
    "ends",
    "hasMessage",
    "include",
    "match",
    "Match",
    "Prefix",
    "raises",
    "Regex",
    "search",
    "starts",
    "Suffix",
    "throws",
    "toThrow",
];

/// True if the source of an assertion says that it looks for a part of a text. Messages are no part
/// of that, nor are words within others.
fn is_partial(source: &str) -> bool {
    PARTIAL.iter().any(|word| {
        let is_begun = word.starts_with(|first: char| first.is_lowercase());
        source.match_indices(word).any(|(at, _)| {
            let before = source[..at].chars().next_back();
            !(is_begun && before.is_some_and(char::is_lowercase))
        })
    })
}

/// True if a value is a list, a dictionary, an object or the like.
fn is_composite(value: Node<'_>) -> bool {
    match value.kind() {
        "literal_element"
        | "unary_expression"
        | "as_expression"
        | "satisfies_expression"
        | "parenthesized_expression" => value.named_child(0).is_some_and(is_composite),
        "array"
        | "call"
        | "composite_literal"
        | "dictionary"
        | "list"
        | "literal_value"
        | "new_expression"
        | "object"
        | "object_creation_expression"
        | "tuple" => true,
        _ => false,
    }
}

/// One assertion of a test.
pub(crate) struct Assertion<'t> {
    /// The values that are compared; those that are expectations more often come first.
    pub(crate) compared: Vec<Node<'t>>,
    /// Values that bound the code's value from one side.
    pub(crate) bounds: Vec<Node<'t>>,
    /// If [`Self::bounds`] are expected values, the distance from them at which values still pass.
    pub(crate) tolerance: Option<f64>,
    /// Values of which the code's value is one.
    pub(crate) choices: Vec<Node<'t>>,
    /// True if the expected value is in the snapshot file of the tests.
    pub(crate) is_stored: bool,
    /// Edits that each put another class of exceptions in the place of the expected one.
    pub(crate) other_exceptions: Vec<SourceEdit>,
    /// The edit that turns it into its complement.
    pub(crate) complement: Option<SourceEdit>,
    /// True if the value itself is what is asserted: the opposite is then another expected value.
    pub(crate) is_truth: bool,
}

/// Functions and methods of libraries that say what a value is like.
const PREDICATES: [&str; 15] = [
    "As",
    "DeepEqual",
    "HasPrefix",
    "HasSuffix",
    "Is",
    "allclose",
    "array_equal",
    "endsWith",
    "endswith",
    "hasattr",
    "isclose",
    "isinstance",
    "issubclass",
    "startsWith",
    "startswith",
];

impl<'t> Assertion<'t> {
    /// An assertion that compares these values.
    pub(crate) fn comparing(compared: Vec<Node<'t>>) -> Self {
        Self {
            compared,
            bounds: Vec::new(),
            tolerance: None,
            choices: Vec::new(),
            is_stored: false,
            other_exceptions: Vec::new(),
            complement: None,
            is_truth: false,
        }
    }

    /// An assertion that passes for values near this one. Without a known tolerance, the value is
    /// not altered.
    pub(crate) fn near(expected: Node<'t>, tolerance: Option<f64>) -> Self {
        Self {
            bounds: tolerance.map(|_| expected).into_iter().collect(),
            tolerance,
            ..Self::comparing(Vec::new())
        }
    }

    /// An assertion that expects this class of exceptions; `others` are other classes of the
    /// language. Of several classes, and of one that others may be derived from, none is altered:
    /// code may raise another of them.
    pub(crate) fn expecting(class: Node<'t>, text: &str, others: &[&str]) -> Self {
        let own = &text[class.byte_range()];
        let mut letters = own.bytes();
        let is_one = letters.all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
        let may_alter = is_one && !BASE_EXCEPTIONS.contains(&own);
        let others = others.iter().filter(|other| may_alter && **other != own);
        let edits = others.map(|other| SourceEdit::new(class.byte_range(), other));
        Self {
            other_exceptions: edits.collect(),
            ..Self::comparing(Vec::new())
        }
    }
}

/// The cells of a table that a variable takes its values from.
pub(crate) struct Cells<'t> {
    pub(crate) cells: Vec<Node<'t>>,
    /// True if each row is a test of its own.
    pub(crate) is_tests: bool,
    /// The column of each cell, for cells that are rows of text.
    pub(crate) column: Option<usize>,
}

/// A parsed file.
#[derive(Clone, Copy)]
pub(crate) struct ParsedFile<'t> {
    /// Its name, without folders.
    pub(crate) name: &'t str,
    pub(crate) root: Node<'t>,
    pub(crate) text: &'t str,
    /// True for a file of data, whose root is its value.
    pub(crate) is_data: bool,
    /// True for a file of data that is plain text.
    pub(crate) is_text: bool,
}

/// A function within which names have values, and what it is called with.
pub(crate) struct CallFrame<'t, 'f> {
    pub(crate) grammar: &'f Grammar,
    pub(crate) files: &'f [ParsedFile<'t>],
    /// The index of the function's file.
    pub(crate) file: usize,
    pub(crate) function: Node<'t>,
    arguments: Vec<(String, Node<'t>)>,
    caller: Option<&'f CallFrame<'t, 'f>>,
}

/// Values that a name has outside of the function that uses it, with the index of their file, and
/// the function or the file within which names in them have values.
type OutsideValues<'t> = (usize, Node<'t>, Vec<Node<'t>>);

/// A call: the value whose method it is, the function's name, and the arguments.
struct Call<'t> {
    receiver: Option<Node<'t>>,
    name: &'t str,
    arguments: Vec<Node<'t>>,
}

impl<'t, 'f> CallFrame<'t, 'f> {
    /// A test, which nothing of its file calls.
    pub(crate) fn new(
        grammar: &'f Grammar,
        files: &'f [ParsedFile<'t>],
        function: Node<'t>,
    ) -> Self {
        Self::in_file(grammar, files, 0, function)
    }

    /// A test that is written in the file with this index.
    pub(crate) fn in_file(
        grammar: &'f Grammar,
        files: &'f [ParsedFile<'t>],
        file: usize,
        function: Node<'t>,
    ) -> Self {
        Self {
            grammar,
            files,
            file,
            function,
            arguments: Vec::new(),
            caller: None,
        }
    }

    /// The text of the function's file.
    pub(crate) fn text(&self) -> &'t str {
        self.files[self.file].text
    }

    /// The source of a node of the function's file.
    pub(crate) fn source(&self, node: Node<'_>) -> &'t str {
        &self.text()[node.byte_range()]
    }

    /// The whole file.
    pub(crate) fn root(&self) -> Node<'t> {
        self.files[self.file].root
    }

    /// The argument that a parameter has from a call in the same file, and the frame of the call.
    pub(crate) fn argument(&self, parameter: &str) -> Option<(Node<'t>, &'f CallFrame<'t, 'f>)> {
        let caller = self.caller.filter(|caller| caller.file == self.file)?;
        let mut arguments = self.arguments.iter();
        let (_, argument) = arguments.find(|(name, _)| name == parameter)?;
        Some((*argument, caller))
    }

    /// The edits that empty the texts of its own table that the function takes and nothing uses: they
    /// are names of its rows. `around` is the whole test, with its table.
    pub(crate) fn unused_names(&self, around: Node<'t>) -> Vec<SourceEdit> {
        let field = |name| self.function.child_by_field_name(name);
        let body = field("body").map_or("", |body| self.source(body));
        let mut pending: Vec<Node<'t>> = ["parameters", "parameter"]
            .into_iter()
            .filter_map(field)
            .collect();
        let mut edits = Vec::new();
        while let Some(node) = pending.pop() {
            pending.extend(named_children(node));
            let is_name = self.grammar.identifiers.contains(&node.kind())
                || node.kind() == "shorthand_property_identifier_pattern";
            let name = self.source(node);
            if is_name
                && !name.contains('$')
                && !has_word(body, name)
                && !self.is_taken_by_a_fixture(name)
                && let Some(found) = (self.grammar.cells)(node, self)
            {
                let is_here = |cell: &Node<'t>| self.file_of(*cell) == self.file;
                let cells = found
                    .cells
                    .first()
                    .is_some_and(is_here)
                    .then_some(found.cells);
                let cells = cells.into_iter().flatten();
                edits.extend(cells.filter_map(|cell| self.emptied(cell, around)));
            }
        }
        edits
    }

    /// True if a function of the tests that is none has a parameter of this name: a fixture gets the
    /// value of the test's.
    fn is_taken_by_a_fixture(&self, name: &str) -> bool {
        let code = self.files.iter().filter(|file| !file.is_data);
        code.into_iter().any(|file| {
            let mut pending = vec![file.root];
            while let Some(node) = pending.pop() {
                pending.extend(named_children(node));
                let own = node.child_by_field_name("name");
                let is_other = node.kind() == "function_definition"
                    && own.is_none_or(|own| !file.text[own.byte_range()].starts_with("test"));
                if is_other && parameters(node, file.text).iter().any(|own| own == name) {
                    return true;
                }
            }
            false
        })
    }

    /// The edit that empties a text that is written within a node of the function's file.
    pub(crate) fn emptied(&self, text: Node<'t>, around: Node<'t>) -> Option<SourceEdit> {
        if text.kind() == "literal_element" {
            return self.emptied(text.named_child(0)?, around);
        }
        let is_own = std::iter::successors(Some(text), Node::parent).any(|node| node == around);
        let parts = named_children(text);
        let is_escape = |part: &Node<'_>| part.kind() == "escape_sequence";
        let is_plain = |part: &Node<'_>| part.kind().contains("string") || is_escape(part);
        if !is_own || !parts.iter().all(is_plain) {
            return None;
        }
        let is_content = |part: &Node<'t>| self.form(*part) == Some(Form::Text) || is_escape(part);
        let contents: Vec<Node<'t>> = parts.into_iter().filter(is_content).collect();
        let range = contents.first()?.start_byte()..contents.last()?.end_byte();
        Some(SourceEdit::new(range, ""))
    }

    /// The edits of each assertion that the function makes, itself or by functions of the tests.
    pub(crate) fn assertions(&self) -> Vec<AssertionEdits> {
        let mut found = Vec::new();
        self.collect(self.function, 0, &mut found);
        // With one of two equal answers to one question altered, no code is right about both.
        for index in 1..found.len() {
            let (before, rest) = found.split_at_mut(index);
            let own = &mut rest[0];
            let is_same = |other: &&mut AssertionEdits| {
                !own.comparison.is_empty() && own.comparison == other.comparison
            };
            if let Some(first) = before.iter_mut().find(is_same) {
                first.join(std::mem::take(&mut own.sites));
            }
        }
        found
    }

    fn collect(&self, node: Node<'t>, calls: usize, found: &mut Vec<AssertionEdits>) {
        for child in named_children(node) {
            if self.is_optional(child) {
                continue;
            }
            if let Some(assertion) = (self.grammar.assertion)(child, self.text()) {
                let complement = assertion.complement.map(|edit| (self.file, edit));
                let others = assertion.other_exceptions.into_iter();
                let (comparison, mut sites) = self.expected(child, &assertion.compared);
                sites.extend(self.bounds(&assertion.bounds, assertion.tolerance));
                sites.extend(self.choices(&assertion.choices));
                if assertion.is_stored {
                    sites.extend(self.stored());
                }
                let condition = child.child_by_field_name("condition");
                let condition = condition.unwrap_or(child);
                if is_partial(self.source(condition)) {
                    sites.iter_mut().for_each(Site::find_a_part);
                }
                // Code that reads what a condition says passes its opposite, too.
                let is_truth = assertion.is_truth && !self.asks_about(condition);
                let is_answer = is_truth && sites.is_empty();
                let answer = complement.clone().filter(|_| is_answer);
                let own = self.caller.is_none().then_some(child);
                let edit = own.and_then(|own| evaluated(own, self.text(), self.grammar));
                found.push(AssertionEdits {
                    comparison,
                    sites,
                    others: others.map(|edit| (self.file, edit)).chain(answer).collect(),
                    complement: complement.filter(|_| !is_answer),
                    evaluated: edit.map(|edit| (child.byte_range(), edit)),
                });
            } else if calls < CALLS
                && self.grammar.calls.contains(&child.kind())
                && let Some((file, function)) = self.callee(child)
                && function.id() != self.function.id()
            {
                let frame = self.called(child, file, function);
                frame.collect(function, calls + 1, found);
            }
            self.collect(child, calls, found);
        }
    }

    /// True if a condition asks about a value of the code under test: its own value is no answer of
    /// that.
    fn asks_about(&self, condition: Node<'t>) -> bool {
        let is_call = self.grammar.calls.contains(&condition.kind());
        let call = self.call(condition).filter(|_| is_call);
        call.is_some_and(|call| PREDICATES.contains(&call.name))
            || named_children(condition)
                .into_iter()
                .any(|child| self.asks_about(child))
    }

    /// True if the literals of an operand are all that an assertion looks for, and not arguments or
    /// elements of that.
    fn is_sought(&self, operand: Node<'t>) -> bool {
        let is_whole = |value: Node<'t>| !is_composite(value) && !self.is_call(value);
        let values = self.values(operand, 0);
        let cells = (self.grammar.cells)(operand, self).map_or_else(Vec::new, |found| found.cells);
        let values = values.into_iter().map(|(value, _)| value);
        is_whole(operand) && values.chain(cells).all(is_whole)
    }

    fn is_call(&self, node: Node<'t>) -> bool {
        self.grammar.calls.contains(&node.kind())
    }

    /// True if right code need not reach the assertions in a node: the handler of an exception,
    /// unless the test fails without one, and a loop over what the code returns.
    fn is_optional(&self, node: Node<'t>) -> bool {
        match node.kind() {
            "catch_clause" | "except_clause" => {
                let around = node
                    .parent()
                    .map_or(node.byte_range(), |it| it.byte_range());
                let others = [around.start..node.start_byte(), node.end_byte()..around.end];
                let fails = ["fail(", "raise ", "throw ", "unreachable", "assert False"];
                let is_in = |word: &str| {
                    let mut others = others.iter();
                    others.any(|range| self.text()[range.clone()].contains(word))
                };
                let counts_assertions = self.source(self.function).contains("expect.");
                !fails.iter().any(|word| is_in(word)) && !counts_assertions
            }
            "for_statement" | "for_in_statement" | "enhanced_for_statement" => {
                let clause = named_children(node)
                    .into_iter()
                    .find(|child| child.kind() == "range_clause");
                let over = clause.unwrap_or(node);
                let list = over.child_by_field_name("right");
                let list = list.or_else(|| {
                    over.child_by_field_name("value")
                        .filter(|_| node.kind() == "enhanced_for_statement")
                });
                list.is_some_and(|list| self.is_returned_list(list, 0))
            }
            _ => false,
        }
    }

    /// True if a list is what a function returns that is neither of the tests nor of the language:
    /// members of modules are not followed.
    fn is_returned_list(&self, list: Node<'t>, depth: usize) -> bool {
        const ITERATORS: [&str; 10] = [
            "chain",
            "combinations",
            "enumerate",
            "filter",
            "glob",
            "iter",
            "listdir",
            "map",
            "permutations",
            "product",
        ];
        const VIEWS: [&str; 6] = ["entries", "entrySet", "items", "keySet", "keys", "values"];
        if depth > DEPTH {
            return false;
        }
        if self.grammar.identifiers.contains(&list.kind()) {
            let values = self.values(list, depth + 1);
            return values.iter().any(|(value, frame)| {
                value.id() != list.id() && frame.frame(self).is_returned_list(*value, depth + 1)
            });
        }
        let Some(call) = self
            .call(list)
            .filter(|_| self.grammar.calls.contains(&list.kind()))
        else {
            return false;
        };
        match call.receiver {
            Some(receiver) => {
                VIEWS.contains(&call.name) && self.is_returned_list(receiver, depth + 1)
            }
            None => {
                let is_known = (self.grammar.is_pure)(call.name) || ITERATORS.contains(&call.name);
                !is_known && self.callee(list).is_none()
            }
        }
    }

    /// Returns the sites of the values that an assertion compares with: those of the operands that
    /// call nothing foreign, or of the first operand if all do. Before them, what it compares, see
    /// [`AssertionEdits::comparison`].
    fn expected(&self, assertion: Node<'t>, compared: &[Node<'t>]) -> (Vec<String>, Vec<Site>) {
        let (mut own, mut foreign): (Vec<Node<'t>>, Vec<Node<'t>>) = compared
            .iter()
            .partition(|operand| !self.is_foreign(**operand, 0));
        let is_foreign = own.is_empty();
        if is_foreign && !foreign.is_empty() {
            own.push(foreign.remove(0));
        }
        // With one of two answers of a chain altered, no value is equal to both.
        let is_chain = |around: Node<'_>| {
            around.kind() == "comparison_operator" && around.named_child_count() > 2
        };
        let answers = own.clone();
        own.retain(|operand| {
            let chain = operand.parent().filter(|around| is_chain(*around));
            let others = answers.iter().filter(|other| other.parent() == chain);
            chain.is_none() || others.count() == 1
        });
        // Of some calls, only the argument that is the expectation is known.
        let mut pending = vec![assertion];
        while let Some(call) = pending.pop() {
            for part in self.parts_of_call(call) {
                let is_in_part = |operand: &Node<'t>| {
                    part.start_byte() <= operand.start_byte()
                        && operand.end_byte() <= part.end_byte()
                };
                if compared.iter().any(is_in_part) {
                    pending.extend((!compared.contains(&part)).then_some(part));
                } else if self.is_foreign(part, 0) {
                    foreign.push(part);
                }
            }
        }
        let mut comparison = Vec::new();
        if !foreign.is_empty() && !own.is_empty() {
            let operands = foreign.iter().chain(&own);
            comparison.extend(operands.map(|operand| self.source_of_value(*operand, 0)));
            comparison.sort_unstable();
        }
        // The code's value may be a variable that it fills.
        let are_all_own = foreign.is_empty() && own.len() > 1;
        if are_all_own {
            self.foreign_calls(self.function, &mut foreign);
        }
        let mut inputs = Vec::new();
        let mut seen = BTreeSet::new();
        for value in foreign {
            self.inputs(value, 0, &mut seen, &mut inputs);
        }
        let mut sites = Vec::new();
        for operand in own {
            let mut found = Vec::new();
            self.sites(operand, 0, &mut found);
            // What the code makes of something else is another value.
            if is_foreign && found.is_empty() {
                self.literals(operand, &mut found);
            }
            if self.is_sought(operand) {
                found.iter_mut().for_each(Site::be_sought);
            }
            let apart = found.into_iter().filter_map(|site| match site {
                site if !site.shares(&inputs) => Some(site),
                _ if are_all_own => None,
                // Other code than the reference may be right about another input.
                site => self.written_at_use(site, operand),
            });
            sites.extend(apart);
        }
        (comparison, sites)
    }

    /// The source of an operand with the value of each variable in its place, or with the place of
    /// the table that a variable takes its values from.
    fn source_of_value(&self, operand: Node<'t>, depth: usize) -> String {
        let own = self.source(operand);
        if depth > DEPTH {
            return own.to_owned();
        }
        if !self.grammar.identifiers.contains(&operand.kind()) {
            let mut source = String::new();
            let mut at = operand.start_byte();
            for child in named_children(operand) {
                source.push_str(&self.text()[at..child.start_byte()]);
                source.push_str(&self.source_of_value(child, depth));
                at = child.end_byte();
            }
            return source + &self.text()[at..operand.end_byte()];
        }
        let mut arguments = self.arguments.iter();
        let argument = arguments.find(|(parameter, _)| parameter == own);
        if let Some(((_, argument), caller)) = argument.zip(self.caller) {
            return caller.source_of_value(*argument, depth + 1);
        }
        let mut set = Vec::new();
        self.assigned(self.function, own, false, &mut set);
        set.retain(|value| value.end_byte() <= operand.start_byte());
        if let Some(last) = set.into_iter().max_by_key(Node::start_byte) {
            return self.source_of_value(last, depth + 1);
        }
        let cells = (self.grammar.cells)(operand, self).map_or_else(Vec::new, |found| found.cells);
        match cells.first() {
            Some(first) => format!("{own} of {}", first.start_byte()),
            None => own.to_owned(),
        }
    }

    /// The value whose method a node calls, and the arguments; empty if it is no call. A function
    /// that a row of a table has is no value of the row's.
    fn parts_of_call(&self, node: Node<'t>) -> Vec<Node<'t>> {
        let is_call = self.grammar.calls.contains(&node.kind());
        let Some(call) = self.call(node).filter(|_| is_call) else {
            return Vec::new();
        };
        let function = node.child_by_field_name("function");
        let is_of_row = function.is_some_and(|it| (self.grammar.cells)(it, self).is_some());
        let receiver = call.receiver.filter(|_| !is_of_row);
        receiver.into_iter().chain(call.arguments).collect()
    }

    /// Adds the calls of what may be under test, apart from those of assertions and of what reports.
    fn foreign_calls(&self, node: Node<'t>, found: &mut Vec<Node<'t>>) {
        const REPORTS: [&str; 12] = [
            "debug", "error", "info", "log", "Log", "Logf", "print", "Printf", "Println", "Run",
            "Sprintf", "subTest",
        ];
        for child in named_children(node) {
            if (self.grammar.assertion)(child, self.text()).is_some() {
                continue;
            }
            let call = self.call(child).filter(|_| self.is_call(child));
            let computes = call.is_some_and(|call| {
                let name = call.name.rsplit('.').next().unwrap_or(call.name);
                !REPORTS.contains(&name)
            });
            if computes && self.callee(child).is_none() && self.is_foreign(child, 0) {
                found.push(child);
            }
            self.foreign_calls(child, found);
        }
    }

    /// Adds where the values are written from which the code under test computes another. `seen` has
    /// the names that were followed, with their functions.
    fn inputs(
        &self,
        node: Node<'t>,
        depth: usize,
        seen: &mut BTreeSet<(usize, &'t str)>,
        found: &mut Vec<Site>,
    ) {
        let grammar = self.grammar;
        let is_name = grammar.identifiers.contains(&node.kind());
        let member = grammar.members.iter().find(|(of, ..)| *of == node.kind());
        if grammar.functions.contains(&node.kind()) {
            // What a function that the code calls asserts is no input.
        } else if self.form(node).is_some() || self.data(node).is_some() {
            self.sites(node, 0, found);
        } else if let Some(cells) =
            (grammar.cells)(node, self).filter(|_| is_name || member.is_some())
        {
            // The code is unlikely to look at all of a row that it gets.
            let is_row = cells.cells.iter().any(|cell| is_composite(*cell));
            if !is_row {
                self.cell_sites(&cells, 0, found);
            }
        } else if grammar.calls.contains(&node.kind()) {
            if let Some((file, function)) = self.callee(node).filter(|_| depth < DEPTH) {
                let frame = self.called(node, file, function);
                for value in frame.returned(function) {
                    frame.inputs(value, depth + 1, seen, found);
                }
            }
            for part in self.parts_of_call(node) {
                self.inputs(part, depth, seen, found);
            }
        } else if is_name {
            if depth < DEPTH && seen.insert((self.function.id(), self.source(node))) {
                for (value, frame) in self.values(node, 0) {
                    frame.frame(self).inputs(value, depth + 1, seen, found);
                }
            }
        } else if let Some((object, key)) = member.and_then(|(_, object, key)| {
            let field = |name| node.child_by_field_name(name);
            field(object).zip(field(key))
        }) {
            let members = self.members(object, key, 0);
            if members.is_empty() {
                self.inputs(object, depth, seen, found);
            }
            for (value, frame) in members.into_iter().filter(|_| depth < DEPTH) {
                frame.frame(self).inputs(value, depth + 1, seen, found);
            }
        } else {
            for child in named_children(node) {
                self.inputs(child, depth, seen, found);
            }
        }
    }

    /// Returns a site with the altered value of a variable written where an operand uses it, so that
    /// the variable stays as it is; `None` if the value can't be written there.
    fn written_at_use(&self, site: Site, operand: Node<'t>) -> Option<Site> {
        let mut pending = vec![operand];
        while let Some(node) = pending.pop() {
            // Quotes within a string may end it.
            if node.kind().contains("interpolation") || node.kind().contains("substitution") {
                continue;
            }
            if !self.grammar.identifiers.contains(&node.kind()) {
                pending.extend(named_children(node));
                continue;
            }
            let values = self.values(node, 0);
            let [(value, origin)] = values.as_slice() else {
                continue;
            };
            let is_here = match origin {
                Origin::Here => true,
                Origin::Frame(_) => false,
                Origin::Top(file, _) => *file == self.file,
            };
            // Java's lists in braces are no expressions.
            let is_expression = value.kind() != "array_initializer";
            let range = value.byte_range();
            if is_here && is_expression && !self.has_names(*value) && site.is_in(self.file, &range)
            {
                let around = match (node.kind(), value.kind()) {
                    ("shorthand_property_identifier", _) => {
                        [format!("{}: ", self.source(node)), String::new()]
                    }
                    // In Go's conditions, braces begin a block.
                    (_, "composite_literal") => ["(".to_owned(), ")".to_owned()],
                    _ => Default::default(),
                };
                return Some(site.copied(&ValueCopy {
                    value: range,
                    place: node.byte_range(),
                    around,
                }));
            }
        }
        None
    }

    /// True if an expression uses a variable, whose value may differ elsewhere.
    fn has_names(&self, node: Node<'t>) -> bool {
        let is_name = self.grammar.identifiers.contains(&node.kind());
        is_name && !self.values(node, 0).is_empty()
            || named_children(node)
                .into_iter()
                .any(|child| self.has_names(child))
    }

    /// Adds all literals of an expression.
    fn literals(&self, node: Node<'t>, found: &mut Vec<Site>) {
        if self.grammar.literals.untouched.contains(&node.kind()) {
            return;
        }
        if let Some(form) = self.form(node) {
            let candidate = Candidate::new(self.file, node.byte_range(), form);
            found.push(Site::single(candidate));
            return;
        }
        for child in named_children(node) {
            self.literals(child, found);
        }
    }

    /// The site of the numbers that bound a value, or the sites of values that others may be near.
    fn bounds(&self, bounds: &[Node<'t>], tolerance: Option<f64>) -> Vec<Site> {
        let mut sites = Vec::new();
        for bound in bounds {
            if !self.is_foreign(*bound, 0) {
                self.sites(*bound, 0, &mut sites);
            }
        }
        if let Some(tolerance) = tolerance {
            for site in &mut sites {
                site.accept_near(tolerance);
            }
            return sites;
        }
        let candidates = sites.into_iter().flat_map(Site::into_candidates);
        Site::bounds(candidates.collect()).into_iter().collect()
    }

    /// The site of values of which any is right: all are altered, so that none of them is.
    fn choices(&self, choices: &[Node<'t>]) -> Option<Site> {
        let mut rows = Vec::new();
        for choice in choices {
            let mut sites = Vec::new();
            self.sites(*choice, 0, &mut sites);
            let row: Vec<Candidate> = sites.into_iter().flat_map(Site::into_candidates).collect();
            if row.is_empty() {
                return None;
            }
            rows.push(row);
        }
        Site::rows(rows)
    }

    /// The site of the values of a snapshot file, all of which are altered together.
    fn stored(&self) -> Option<Site> {
        let is_stored = |file: &&ParsedFile<'_>| file.is_text && file.name.ends_with(".snap");
        let index = self.files.iter().position(|file| is_stored(&file))?;
        let text = self.files[index].text;
        // Each is `exports[`name`] = `value`;`.
        let mut rows = Vec::new();
        let mut at = 0;
        while let Some(start) = text[at..].find("] = `").map(|start| at + start + 5) {
            let end = text[start..]
                .find("`;")
                .map_or(text.len(), |end| start + end);
            rows.push(vec![Candidate::new(index, start..end, Form::Snapshot)]);
            at = end;
        }
        Site::rows(rows)
    }

    /// True if a value depends on a call of what may be under test.
    fn is_foreign(&self, node: Node<'t>, depth: usize) -> bool {
        if depth > DEPTH {
            // What can't be followed further may depend on the code under test.
            return true;
        }
        if self.data(node).is_some() {
            return false;
        }
        if self.grammar.calls.contains(&node.kind()) {
            let Some(call) = self.call(node) else {
                return true;
            };
            let arguments_foreign = call
                .arguments
                .iter()
                .any(|argument| self.is_foreign(*argument, depth + 1));
            if let Some((file, function)) = self.callee(node) {
                let frame = self.called(node, file, function);
                let returned = frame.returned(function);
                return returned.is_empty()
                    || returned
                        .iter()
                        .any(|value| frame.is_foreign(*value, depth + 1));
            }
            return arguments_foreign
                || match call.receiver {
                    Some(_) if (self.grammar.is_pure)(call.name) => false,
                    Some(receiver) => !self.has_value(receiver, depth + 1),
                    None => !(self.grammar.is_pure)(call.name),
                };
        }
        // The class of an instance may be under test.
        if node.kind().starts_with("new_") || node.kind().starts_with("object_creation") {
            return true;
        }
        if self.grammar.identifiers.contains(&node.kind()) {
            let values = self.values(node, depth + 1);
            return values.iter().any(|(value, frame)| {
                value.id() != node.id() && frame.frame(self).is_foreign(*value, depth + 1)
            });
        }
        named_children(node)
            .into_iter()
            .any(|child| self.is_foreign(child, depth))
    }

    /// True if a value is written in the tests.
    fn has_value(&self, node: Node<'t>, depth: usize) -> bool {
        if self.grammar.identifiers.contains(&node.kind()) {
            let values = self.values(node, depth);
            return !values.is_empty()
                && values
                    .iter()
                    .all(|(value, frame)| !frame.frame(self).is_foreign(*value, depth + 1));
        }
        !self.is_foreign(node, depth)
    }

    /// Adds where a value is written.
    fn sites(&self, node: Node<'t>, depth: usize, found: &mut Vec<Site>) {
        let grammar = self.grammar;
        let kind = node.kind();
        if depth > DEPTH || grammar.literals.untouched.contains(&kind) {
            return;
        }
        if self.files[self.file].is_text {
            let whole = 0..self.text().len();
            found.push(Site::single(Candidate::new(
                self.file,
                whole,
                Form::Snapshot,
            )));
            return;
        }
        if let Some(form) = self.form(node) {
            found.push(Site::single(Candidate::new(
                self.file,
                node.byte_range(),
                form,
            )));
            return;
        }
        if grammar.identifiers.contains(&kind) {
            if let Some(cells) = (grammar.cells)(node, self) {
                self.cell_sites(&cells, depth, found);
                return;
            }
            let values = self.values(node, depth);
            let is_capital = |letter: char| letter.is_uppercase() || letter == '_';
            if values.is_empty() && self.source(node).len() > 1 {
                let word = self.source(node);
                if word
                    .chars()
                    .all(|letter| is_capital(letter) || letter.is_ascii_digit())
                {
                    self.constant(node, found);
                }
            }
            for (value, frame) in values {
                frame.frame(self).sites(value, depth + 1, found);
            }
            return;
        }
        if let Some((_, object, key)) = grammar.members.iter().find(|(of, ..)| *of == kind) {
            let object = node.child_by_field_name(object);
            let key = node.child_by_field_name(key);
            if let (Some(object), Some(key)) = (object, key) {
                if grammar.identifiers.contains(&object.kind())
                    && let Some(cells) = (grammar.cells)(node, self)
                {
                    self.cell_sites(&cells, depth, found);
                    return;
                }
                if matches!(self.source(object), "self" | "this" | "cls") {
                    let own = self.attribute(node, key);
                    if !own.is_empty() {
                        for (frame, value) in own {
                            frame.sites(value, depth + 1, found);
                        }
                        return;
                    }
                }
                let members = self.members(object, key, depth);
                let is_name = grammar.identifiers.contains(&object.kind())
                    && !key.kind().contains("literal")
                    && self.source(key).starts_with(char::is_uppercase);
                if members.is_empty() && is_name {
                    self.constant(node, found);
                }
                for (value, frame) in members {
                    frame.frame(self).sites(value, depth + 1, found);
                }
            }
            return;
        }
        if let Some((file, data)) = self.data(node) {
            self.top(file, data).sites(data, depth + 1, found);
            return;
        }
        if grammar.calls.contains(&kind) {
            if let Some((file, function)) = self.callee(node) {
                let frame = self.called(node, file, function);
                for value in frame.returned(function) {
                    frame.sites(value, depth + 1, found);
                }
                return;
            }
            let Some(call) = self.call(node) else {
                return;
            };
            let is_class = call.name.starts_with(char::is_uppercase);
            let is_pure = !self.is_foreign(node, depth);
            if is_pure && let Some(list) = node.child_by_field_name("arguments") {
                self.elements(list, found);
            }
            if is_class || is_pure {
                for part in call.receiver.into_iter().chain(call.arguments) {
                    self.sites(part, depth + 1, found);
                }
            }
            return;
        }
        if grammar.lists.contains(&kind) || kind == "array" {
            self.elements(node, found);
        }
        for child in named_children(node) {
            // A key is more often an input.
            let is_key = node.child_by_field_name("key") == Some(child)
                || node.child_by_field_name("name") == Some(child);
            if !is_key || named_children(node).len() == 1 {
                self.sites(child, depth, found);
            }
        }
    }

    /// The values of an attribute of the tests' own object or class, with where names in them have
    /// theirs: what it is set to anywhere, what its class has, or what its property returns.
    fn attribute(&self, node: Node<'t>, key: Node<'t>) -> Vec<(CallFrame<'t, 'f>, Node<'t>)> {
        let root = self.files[self.file].root;
        let mut values = Vec::new();
        self.assigned(root, self.source(node), false, &mut values);
        if values.is_empty() {
            self.assigned(root, self.source(key), true, &mut values);
        }
        values.truncate(VALUES);
        let function = find_function(root, self.text(), self.source(key), self.grammar);
        match function.filter(|_| values.is_empty()) {
            Some(function) => {
                let returned = self.top(self.file, function).returned(function);
                returned
                    .into_iter()
                    .map(|value| (self.top(self.file, function), value))
                    .collect()
            }
            None => values
                .into_iter()
                .map(|value| (self.top(self.file, root), value))
                .collect(),
        }
    }

    /// Adds a constant whose value is not written in the tests.
    fn constant(&self, node: Node<'t>, found: &mut Vec<Site>) {
        let candidate = Candidate::new(self.file, node.byte_range(), Form::Constant);
        found.push(Site::single(candidate));
    }

    /// Adds a list whose elements are not all the same.
    fn elements(&self, list: Node<'t>, found: &mut Vec<Site>) {
        let elements: Vec<Range<usize>> = named_children(list)
            .into_iter()
            .map(|element| element.byte_range())
            .collect();
        let texts = || elements.iter().map(|range| &self.text()[range.clone()]);
        if texts().any(|text| Some(text) != texts().next()) {
            let form = Form::Elements(elements);
            found.push(Site::single(Candidate::new(
                self.file,
                list.byte_range(),
                form,
            )));
        }
    }

    fn cell_sites(&self, cells: &Cells<'t>, depth: usize, found: &mut Vec<Site>) {
        let Some(first) = cells.cells.first() else {
            return;
        };
        let other = self.file_of(*first);
        let other = (other != self.file).then(|| self.top(other, *first));
        let frame = other.as_ref().unwrap_or(self);
        let mut rows: Vec<Vec<Candidate>> = Vec::new();
        for cell in &cells.cells {
            let mut sites = Vec::new();
            match cells.column {
                Some(column) => sites.extend(self.column(*cell, column)),
                None => frame.sites(*cell, depth + 1, &mut sites),
            }
            rows.push(sites.into_iter().flat_map(Site::into_candidates).collect());
        }
        rows.retain(|row| !row.is_empty());
        if cells.is_tests {
            found.extend(Site::tests(rows));
        } else {
            found.extend(Site::alike(rows, self.files));
        }
    }

    /// A column of a row that is written as text, such as `"5, fine"`.
    fn column(&self, row: Node<'t>, column: usize) -> Option<Site> {
        let source = self.source(row);
        let inside = unquoted(source);
        // The quotes have the same length on both sides.
        let start = row.start_byte() + (source.len() - inside.len()) / 2;
        let mut at = start;
        for (index, cell) in inside.split(',').enumerate() {
            let trimmed = cell.trim();
            if index == column && !trimmed.is_empty() {
                let from = at + cell.len() - cell.trim_start().len();
                let trimmed = trimmed.trim_matches('\'');
                let is_number = trimmed.parse::<f64>().is_ok();
                let form = if is_number { Form::Number } else { Form::Text };
                let range = from..from + trimmed.len();
                return Some(Site::single(Candidate::new(self.file, range, form)));
            }
            at += cell.len() + 1;
        }
        None
    }

    /// The list that a value is, written there, in a variable of the file or in a file of data.
    pub(crate) fn written(&self, node: Node<'t>, lists: &[&str]) -> Option<Node<'t>> {
        if matches!(
            node.kind(),
            "as_expression" | "satisfies_expression" | "parenthesized_expression"
        ) {
            return self.written(node.named_child(0)?, lists);
        }
        let list = |value: Node<'t>| {
            let list = self.data(value).map_or(value, |(_, data)| data);
            lists.contains(&list.kind()).then_some(list)
        };
        if let Some(list) = list(node) {
            return Some(list);
        }
        let values = self.values(node, 0);
        let own = values.into_iter().filter(|(_, origin)| match origin {
            Origin::Here => true,
            Origin::Frame(_) => false,
            Origin::Top(file, _) => *file == self.file || self.files[*file].is_data,
        });
        own.map(|(value, _)| value).find_map(list)
    }

    /// The index of the file of a node, of which a table may be in another one than the test.
    fn file_of(&self, node: Node<'t>) -> usize {
        let around = || std::iter::successors(Some(node), Node::parent);
        let is_in = |file: &ParsedFile<'t>| around().any(|node| node.id() == file.root.id());
        let own = self.files.iter().position(is_in);
        own.unwrap_or(self.file)
    }

    /// The text of the file that a part of a table is in.
    pub(crate) fn text_of_table(&self, part: Node<'t>) -> &'t str {
        self.files[self.file_of(part)].text
    }

    /// The form of a literal.
    fn form(&self, node: Node<'t>) -> Option<Form> {
        let kinds = match self.files[self.file].is_data {
            true => &DATA,
            false => &self.grammar.literals,
        };
        let kind = node.kind();
        let source = self.source(node);
        if kinds.numbers.contains(&kind) {
            Some(Form::Number)
        } else if kinds.strings.contains(&kind) {
            let is_snapshot = source.contains('\n');
            Some(if is_snapshot {
                Form::Snapshot
            } else {
                Form::Text
            })
        } else if kinds.boolean_kinds.contains(&kind) {
            let [yes, no] = kinds.booleans;
            Some(Form::Word(if source == yes { no } else { yes }))
        } else if !kind.is_empty() && kind == kinds.nothing.0 {
            Some(Form::Word(kinds.nothing.1))
        } else {
            // Code that reads an empty value answers with any other.
            let is_empty = |(of, empty, _): &&(&str, &str, &str)| *of == kind && *empty == source;
            let (.., other) = self.grammar.empty.iter().find(is_empty)?;
            Some(Form::Word(other))
        }
    }

    /// The values that a name has, each with where names in it have theirs.
    fn values(&self, name: Node<'t>, depth: usize) -> Vec<(Node<'t>, Origin<'t, '_>)> {
        if depth > DEPTH {
            return Vec::new();
        }
        let word = self.source(name);
        if let Some((_, value)) = self.arguments.iter().find(|(argument, _)| argument == word)
            && let Some(caller) = self.caller
        {
            return vec![(*value, Origin::Frame(caller))];
        }
        let mut values = Vec::new();
        self.assigned(self.function, word, false, &mut values);
        if !values.is_empty() {
            values.truncate(VALUES);
            return values
                .into_iter()
                .map(|value| (value, Origin::Here))
                .collect();
        }
        let is_parameter = parameters(self.function, self.text())
            .iter()
            .any(|own| own == word);
        let outside = if is_parameter {
            self.fixture(word)
        } else {
            self.set_in_suite(word)
                .or_else(|| self.set_in_file(word))
                .or_else(|| self.set_by_set_up(word))
        };
        let outside = outside.or_else(|| {
            let (file, value) = self.imported_default(word)?;
            Some((file, self.files[file].root, vec![value]))
        });
        let Some((file, around, values)) = outside else {
            return Vec::new();
        };
        values
            .into_iter()
            .map(|value| (value, Origin::Top(file, around)))
            .collect()
    }

    /// What a fixture returns: a function whose name a test's parameter has.
    fn fixture(&self, word: &str) -> Option<OutsideValues<'t>> {
        self.files.iter().enumerate().find_map(|(index, file)| {
            let function = find_function(file.root, file.text, word, self.grammar)?;
            Some((
                index,
                function,
                self.top(index, function).returned(function),
            ))
        })
    }

    /// The values of a variable of the innermost suite that has one of this name: suites are
    /// functions around tests.
    fn set_in_suite(&self, word: &str) -> Option<OutsideValues<'t>> {
        let around = std::iter::successors(self.function.parent(), Node::parent);
        let mut suites = around.filter(|node| self.grammar.functions.contains(&node.kind()));
        suites.find_map(|suite| {
            let mut values = Vec::new();
            self.assigned(suite, word, true, &mut values);
            if values.is_empty() {
                return None;
            }
            // A set-up may give it another; a declaration within one is of another variable.
            let mut set = Vec::new();
            self.assigned(suite, word, false, &mut set);
            set.retain(|value| {
                let around = value.parent().map_or("", |around| around.kind());
                !values.contains(value) && !around.ends_with("declarator")
            });
            values.extend(set);
            values.truncate(VALUES);
            Some((self.file, suite, values))
        })
    }

    /// The values of a variable of the first file that has one of this name outside of functions.
    fn set_in_file(&self, word: &str) -> Option<OutsideValues<'t>> {
        let files = self.files.iter().enumerate();
        files
            .filter(|(_, file)| !file.is_data)
            .find_map(|(index, file)| {
                let mut values = Vec::new();
                self.top(index, file.root)
                    .assigned(file.root, word, true, &mut values);
                values.truncate(VALUES);
                (!values.is_empty()).then_some((index, file.root, values))
            })
    }

    /// The values that functions of the file, such as set-ups, give to a variable.
    fn set_by_set_up(&self, word: &str) -> Option<OutsideValues<'t>> {
        let root = self.files[self.file].root;
        let mut values = Vec::new();
        self.assigned(root, word, false, &mut values);
        values.truncate(VALUES);
        (!values.is_empty()).then_some((self.file, root, values))
    }

    /// The value that another file of the tests exports without a name, if this one imports it under
    /// this name.
    fn imported_default(&self, word: &str) -> Option<(usize, Node<'t>)> {
        let imports = named_children(self.files[self.file].root).into_iter();
        let source = imports
            .filter(|node| node.kind() == "import_statement")
            .find_map(|node| {
                let clause = node.named_child(0)?;
                let is_own = clause
                    .named_child(0)
                    .is_some_and(|name| self.source(name) == word);
                node.child_by_field_name("source").filter(|_| is_own)
            })?;
        let name = unquoted(self.source(source)).rsplit('/').next()?;
        self.files.iter().enumerate().find_map(|(index, file)| {
            if file.is_data {
                return (file.name == name).then_some((index, file.root));
            }
            let stem = file.name.split('.').next()?;
            if index == self.file || name.split('.').next()? != stem {
                return None;
            }
            let exports = named_children(file.root).into_iter();
            let value = exports
                .filter(|node| node.kind() == "export_statement")
                .find_map(|node| node.child_by_field_name("value"))?;
            Some((index, value))
        })
    }

    /// The values of a member of a value: those of its key if that is written, or all of it.
    fn members(
        &self,
        object: Node<'t>,
        key: Node<'t>,
        depth: usize,
    ) -> Vec<(Node<'t>, Origin<'t, '_>)> {
        let is_member = |kind: &str| self.grammar.members.iter().any(|(of, ..)| *of == kind);
        let values = if self.grammar.identifiers.contains(&object.kind()) {
            self.values(object, depth + 1)
        } else if is_member(object.kind()) && depth < DEPTH {
            let (_, inner, inner_key) = self.grammar.members[self
                .grammar
                .members
                .iter()
                .position(|(of, ..)| *of == object.kind())
                .unwrap_or_default()];
            match (
                object.child_by_field_name(inner),
                object.child_by_field_name(inner_key),
            ) {
                (Some(inner), Some(inner_key)) => self.members(inner, inner_key, depth + 1),
                _ => Vec::new(),
            }
        } else {
            vec![(object, Origin::Here)]
        };
        let key = unquoted(self.source(key));
        values
            .into_iter()
            .flat_map(|(value, origin)| {
                // A call that reads a file of data has the file's value.
                let read = origin.frame(self).data(value);
                let (value, origin) = match read {
                    Some((file, data)) => (data, Origin::Top(file, self.files[file].root)),
                    None => (value, origin),
                };
                let text = origin.frame(self).text();
                match member_of(value, key, text) {
                    Some(member) => vec![(member, origin)],
                    None => vec![(value, origin)],
                }
            })
            .collect()
    }

    /// The file of data whose name is in an expression, and its value.
    fn data(&self, node: Node<'t>) -> Option<(usize, Node<'t>)> {
        if !self.grammar.calls.contains(&node.kind()) {
            return None;
        }
        // A path may be a variable.
        let source = self.source(node);
        let mut sources = vec![source];
        for part in [
            node.child_by_field_name("arguments"),
            node.child_by_field_name("function"),
        ] {
            let Some(part) = part else { continue };
            for name in named_children(part) {
                if self.grammar.identifiers.contains(&name.kind()) {
                    // At this depth, names in the values are not followed any further.
                    let values = self.values(name, DEPTH);
                    sources.extend(
                        values
                            .into_iter()
                            .map(|(value, origin)| origin.frame(self).source(value)),
                    );
                }
            }
        }
        let data = || {
            self.files
                .iter()
                .enumerate()
                .filter(|(_, file)| file.is_data)
        };
        let (index, file) = data()
            .find(|(_, file)| sources.iter().any(|source| source.contains(file.name)))
            .or_else(|| data().find(|(_, file)| !file.is_text && source.contains(".json")))?;
        Some((index, file.root))
    }

    /// Adds the values that are given to a variable; of a file only those outside of functions.
    fn assigned(&self, node: Node<'t>, name: &str, is_file: bool, found: &mut Vec<Node<'t>>) {
        for child in named_children(node) {
            for (kind, target, value) in self.grammar.assignments {
                if child.kind() == *kind
                    && let (Some(target), Some(value)) = (
                        child.child_by_field_name(target),
                        child.child_by_field_name(value),
                    )
                    && let Some(index) = self.position(target, name)
                {
                    // Go lists values even if there is one. A pattern takes a list apart.
                    let is_pattern = matches!(target.kind(), "tuple_pattern" | "array_pattern");
                    let is_list = value.kind() == "expression_list"
                        || (is_pattern || target.kind() == "pattern_list")
                            && matches!(value.kind(), "tuple" | "list" | "array");
                    if target.kind() == "object_pattern" {
                        found.extend(member_of(value, name, self.text()));
                        continue;
                    }
                    let values = match is_list {
                        true => named_children(value),
                        false => vec![value],
                    };
                    // The first of several results of a call is its value.
                    let own = values.get(index).or(values.first().filter(|_| index == 0));
                    found.extend(own);
                }
            }
            if !is_file || !self.grammar.functions.contains(&child.kind()) {
                self.assigned(child, name, is_file, found);
            }
        }
    }

    /// The position of a name in the target of an assignment, which may be a list of names.
    fn position(&self, target: Node<'t>, name: &str) -> Option<usize> {
        if matches!(
            target.kind(),
            "expression_list"
                | "pattern_list"
                | "tuple_pattern"
                | "array_pattern"
                | "object_pattern"
        ) {
            let names = named_children(target);
            return names.iter().position(|node| self.source(*node) == name);
        }
        (self.source(target) == name).then_some(0)
    }

    /// Returns the values that a function returns.
    fn returned(&self, function: Node<'t>) -> Vec<Node<'t>> {
        let mut values = Vec::new();
        let mut left = vec![function];
        while let Some(node) = left.pop() {
            // A fixture yields its value.
            if node.kind() == self.grammar.returns || node.kind() == "yield" {
                values.extend(node.named_child(0).map(|value| match value.kind() {
                    "expression_list" => value.named_child(0).unwrap_or(value),
                    _ => value,
                }));
                continue;
            }
            left.extend(named_children(node));
        }
        // An arrow function without braces returns its body.
        if let (true, Some(body)) = (values.is_empty(), function.child_by_field_name("body"))
            && !body.kind().contains("block")
        {
            values.push(body);
        }
        values
    }

    fn call(&self, node: Node<'t>) -> Option<Call<'t>> {
        let arguments = node.child_by_field_name("arguments")?;
        let arguments: Vec<Node<'t>> = named_children(arguments)
            .into_iter()
            .filter(|argument| !argument.kind().contains("comment"))
            .collect();
        if let Some(name) = node.child_by_field_name("name") {
            return Some(Call {
                receiver: node.child_by_field_name("object"),
                name: self.source(name),
                arguments,
            });
        }
        let function = node.child_by_field_name("function")?;
        let member = self
            .grammar
            .members
            .iter()
            .find(|(kind, ..)| *kind == function.kind());
        match member {
            Some((_, object, key)) => Some(Call {
                receiver: function.child_by_field_name(object),
                name: self.source(function.child_by_field_name(key)?),
                arguments,
            }),
            None => Some(Call {
                receiver: None,
                name: self.source(function),
                arguments,
            }),
        }
    }

    /// The function of the tests that a call runs.
    fn callee(&self, node: Node<'t>) -> Option<(usize, Node<'t>)> {
        let call = self.call(node)?;
        let is_own = call
            .receiver
            .is_none_or(|receiver| matches!(self.source(receiver), "self" | "this" | "cls"));
        if !is_own {
            return None;
        }
        self.files.iter().enumerate().find_map(|(index, file)| {
            let function = find_function(file.root, file.text, call.name, self.grammar)?;
            Some((index, function))
        })
    }

    /// The frame of a function that a call of this one runs.
    fn called<'g>(&'g self, node: Node<'t>, file: usize, function: Node<'t>) -> CallFrame<'t, 'g> {
        let mut arguments = Vec::new();
        let names = parameters(function, self.files[file].text);
        // A call passes no argument for the receiver.
        let mut names = names
            .into_iter()
            .filter(|name| !matches!(name.as_str(), "self" | "cls"));
        for argument in self.call(node).map_or_else(Vec::new, |call| call.arguments) {
            let named = argument
                .child_by_field_name("name")
                .zip(argument.child_by_field_name("value"))
                .filter(|_| argument.kind() == "keyword_argument");
            match named {
                Some((name, value)) => arguments.push((self.source(name).to_owned(), value)),
                None => arguments.extend(names.next().map(|name| (name, argument))),
            }
        }
        CallFrame {
            grammar: self.grammar,
            files: self.files,
            file,
            function,
            arguments,
            caller: Some(self),
        }
    }

    fn top(&self, file: usize, function: Node<'t>) -> CallFrame<'t, 'f> {
        CallFrame {
            grammar: self.grammar,
            files: self.files,
            file,
            function,
            arguments: Vec::new(),
            caller: None,
        }
    }
}

/// The frame in which the names in a value have their values.
enum Origin<'t, 'f> {
    /// The current frame.
    Here,
    /// A frame that calls it.
    Frame(&'f CallFrame<'t, 'f>),
    /// A function or a file that nothing calls.
    Top(usize, Node<'t>),
}

impl<'t, 'f> Origin<'t, 'f> {
    fn frame<'g>(&self, here: &'g CallFrame<'t, 'g>) -> CallFrame<'t, 'g>
    where
        'f: 'g,
    {
        match self {
            Self::Here => here.copy(),
            Self::Frame(frame) => frame.copy(),
            Self::Top(file, function) => here.top(*file, *function),
        }
    }
}

impl<'t, 'f> CallFrame<'t, 'f> {
    fn copy<'g>(&self) -> CallFrame<'t, 'g>
    where
        'f: 'g,
    {
        CallFrame {
            grammar: self.grammar,
            files: self.files,
            file: self.file,
            function: self.function,
            arguments: self.arguments.clone(),
            caller: self.caller,
        }
    }
}

/// The value of a key of a written dictionary or object, or of an index of a list.
fn member_of<'t>(value: Node<'t>, key: &str, text: &str) -> Option<Node<'t>> {
    let elements = elements_of(value);
    let mut pairs = elements
        .iter()
        .filter_map(|element| Some((element.child_by_field_name("key")?, element)))
        .peekable();
    match key.parse::<usize>() {
        // A numeric key is an index only if no element has a key.
        Ok(index) if pairs.peek().is_none() => elements.get(index).copied(),
        _ => pairs
            .find(|(name, _)| unquoted(&text[name.byte_range()]) == key)
            .and_then(|(_, pair)| pair.child_by_field_name("value")),
    }
}

/// The elements of a written list, dictionary or object, without the type before them.
fn elements_of(value: Node<'_>) -> Vec<Node<'_>> {
    let inner = match value.kind() {
        "composite_literal" => value.child_by_field_name("body"),
        "array_creation_expression" => value.child_by_field_name("value"),
        "unary_expression" => value.child_by_field_name("operand"),
        "parenthesized_expression" | "as_expression" | "satisfies_expression" => {
            value.named_child(0)
        }
        _ => None,
    };
    inner.map_or_else(|| named_children(value), elements_of)
}

/// The names of a function's parameters.
fn parameters(function: Node<'_>, text: &str) -> Vec<String> {
    let single = function.child_by_field_name("parameter");
    let list = function.child_by_field_name("parameters");
    let mut names = Vec::new();
    for parameter in list
        .map_or_else(Vec::new, named_children)
        .into_iter()
        .chain(single)
    {
        let mut cursor = parameter.walk();
        let own: Vec<Node<'_>> = parameter
            .children_by_field_name("name", &mut cursor)
            .filter(Node::is_named)
            .collect();
        if own.is_empty() {
            // A default, a type or a pattern may enclose the name.
            let mut node = parameter;
            for field in ["pattern", "left"] {
                node = node.child_by_field_name(field).unwrap_or(node);
            }
            while node.kind() != "identifier" && node.named_child(0).is_some() {
                node = node.named_child(0).unwrap_or(node);
            }
            names.push(text[node.byte_range()].to_owned());
        }
        names.extend(own.iter().map(|name| text[name.byte_range()].to_owned()));
    }
    names
}

/// The function with this name: a definition, or a variable that is set to a function.
fn find_function<'t>(
    node: Node<'t>,
    text: &str,
    name: &str,
    grammar: &Grammar,
) -> Option<Node<'t>> {
    for child in named_children(node) {
        let is_named =
            |node: Option<Node<'_>>| node.is_some_and(|node| &text[node.byte_range()] == name);
        if grammar.functions.contains(&child.kind()) && is_named(child.child_by_field_name("name"))
        {
            return Some(child);
        }
        for (kind, target, value) in grammar.assignments {
            if child.kind() == *kind
                && is_named(child.child_by_field_name(target))
                && let Some(value) = child.child_by_field_name(value)
            {
                let value = match value.kind() {
                    "expression_list" => value.named_child(0)?,
                    _ => value,
                };
                if grammar.functions.contains(&value.kind()) {
                    return Some(value);
                }
            }
        }
        if let Some(found) = find_function(child, text, name, grammar) {
            return Some(found);
        }
    }
    None
}
