//! The sixteen operators: each a function from a place in the syntax tree to edits.

use std::ops::Range;

use fillrate_syntax::Language;
use tree_sitter::Node;

use super::{MutantEdit, MutationOperator, lead, number};
use crate::mutation::{MutationRules, Swaps, named};

/// A node, with all that an operator may look at.
pub(super) struct MutationSite<'a, 't> {
    pub(super) language: &'static Language,
    pub(super) rules: &'static MutationRules,
    pub(super) contents: &'a str,
    /// Range that edits may be in. Operators look at it only to choose between equal edits.
    pub(super) range: &'a Range<usize>,
    pub(super) node: Node<'t>,
}

impl<'a, 't> MutationSite<'a, 't> {
    /// Returns the edits of an operator at this node.
    pub(super) fn edits(&self, operator: MutationOperator) -> Vec<MutantEdit> {
        match operator {
            MutationOperator::Aor => self.arithmetic_operator_replacement(),
            MutationOperator::Asr => self.assignment_operator_replacement(),
            MutationOperator::Bcr => self.break_continue_replacement().into_iter().collect(),
            MutationOperator::Bod => self.binary_operator_deletion(),
            MutationOperator::Cod => self.conditional_operator_deletion(),
            MutationOperator::Coi => self.conditional_operator_insertion(),
            MutationOperator::Crp => self.constant_replacement(),
            MutationOperator::Ddl => self.decorator_deletion(),
            MutationOperator::Ehd => self.exception_handler_deletion().into_iter().collect(),
            MutationOperator::Ide => self.increment_decrement_exchange(),
            MutationOperator::Lcr => self.logical_connector_replacement(),
            MutationOperator::Lor => self.logical_operator_replacement(),
            MutationOperator::Lsr => self.logical_assignment_replacement(),
            MutationOperator::Oil => self.one_iteration_loop().into_iter().collect(),
            MutationOperator::Ror => self.relational_operator_replacement(),
            MutationOperator::Sdl => self.statement_deletion().into_iter().collect(),
        }
    }

    /// True if nothing may be changed in the node: a type, an import, documentation.
    pub(super) fn is_untouched(&self) -> bool {
        self.rules.untouched.contains(&self.node.kind())
            || self.is_documentation()
            || (self.rules.is_untouched)(self.node, self.contents)
    }

    fn arithmetic_operator_replacement(&self) -> Vec<MutantEdit> {
        const UNARY: Swaps = &[("+", &["-"]), ("-", &["+"])];
        if self.node.kind() == self.rules.unary {
            self.swap(UNARY)
        } else {
            self.swap_rebound(self.rules.operators.arithmetic)
        }
    }

    fn assignment_operator_replacement(&self) -> Vec<MutantEdit> {
        self.swap_assignment(&[self.rules.operators.arithmetic])
    }

    /// Exchanges `break` and `continue`, only where the language allows the other: `break` also
    /// ends a `switch` and a labelled block, but `continue` needs a loop.
    fn break_continue_replacement(&self) -> Option<MutantEdit> {
        let other = match self.node.kind() {
            "break_statement" => "continue",
            "continue_statement" => "break",
            _ => return None,
        };
        let label = self.node.child_by_field_name("label");
        let target = self.ancestors().find(|ancestor| match label {
            Some(label) => ancestor
                .child_by_field_name("label")
                .is_some_and(|other| self.text(other) == self.text(label)),
            None => self.is_loop(*ancestor),
        })?;
        let continues = match label {
            Some(_) => self.is_loop(target.child_by_field_name("body")?),
            None => true,
        };
        if other == "continue" && !continues {
            return None;
        }
        Some(self.replace(self.node.child(0)?.byte_range(), other))
    }

    /// `a + b` → `a`, → `b`. Of chained comparisons the first or the last operand is deleted; of
    /// one that must be a boolean, none.
    fn binary_operator_deletion(&self) -> Vec<MutantEdit> {
        let is_comparison = |token: &Node<'_>| {
            !replacements(self.rules.operators.relational, token.kind()).is_empty()
        };
        let keeps_its_type =
            !self.rules.conditions_are_boolean || !self.tokens(self.node).iter().any(is_comparison);
        if !self.is_binary(self.node) || !keeps_its_type {
            return Vec::new();
        }
        let operands = named(self.node);
        let [first, second, ..] = operands[..] else {
            return Vec::new();
        };
        let [.., before, last] = operands[..] else {
            return Vec::new();
        };
        // Where the hole begins with the operator, the blank before it stays.
        let operator = self
            .tokens(self.node)
            .last()
            .map_or(before.end_byte(), |token| token.start_byte());
        let gap = before.end_byte().max(operator.min(self.range.start));
        let kept = &self.contents[second.start_byte()..self.node.end_byte()];
        // An object or function at the start of a statement would be a block or a declaration.
        let without_first = if (self.rules.begins_statement)(kept) {
            self.replace(self.node.byte_range(), &format!("({kept})"))
        } else {
            self.replace(first.start_byte()..second.start_byte(), "")
        };
        vec![self.replace(gap..last.end_byte(), ""), without_first]
    }

    /// True if the edit makes one statement of two, as `(b) && c()` after a line `a` without a
    /// semicolon: its mutant would change the statement before, too.
    pub(super) fn joins_statement_before(&self, edit: &MutantEdit) -> bool {
        let rest = [&edit.replacement, &self.contents[edit.range.end..]].concat();
        if !(self.rules.continues_line)(rest.trim_start()) {
            return false;
        }
        let first = std::iter::successors(Some(self.node), Node::parent)
            .filter(|node| node.start_byte() == edit.range.start)
            .find(|node| self.language.is_statement(*node));
        let before = first.and_then(|statement| {
            std::iter::successors(statement.prev_named_sibling(), Node::prev_named_sibling)
                .find(|node| !self.language.is_comment(*node))
        });
        before.is_some_and(|before| {
            let is_open = !self.text(before).ends_with(';');
            is_open && self.rules.ended_by_semicolons.contains(&before.kind())
        })
    }

    /// Drops `not`, `!`, and the `not` of `not in`.
    fn conditional_operator_deletion(&self) -> Vec<MutantEdit> {
        if let Some(operand) = self.negated(self.node) {
            let kept = self.text(operand);
            return vec![if (self.rules.begins_statement)(kept) {
                self.replace(self.node.byte_range(), &format!("({kept})"))
            } else {
                self.replace(self.node.start_byte()..operand.start_byte(), "")
            }];
        }
        match self.rules.operators.not_in {
            Some(not_in) => self.swap_token(not_in, "in"),
            None => Vec::new(),
        }
    }

    /// Negates a condition, unless another mutant is the same: it is a negation, which COD deletes,
    /// `true` or `false`, which CRP exchanges, or nothing but a comparison with an exact opposite,
    /// which ROR has, or COI itself for `in`.
    fn conditional_operator_insertion(&self) -> Vec<MutantEdit> {
        let mut found = match self.rules.operators.not_in {
            Some(not_in) => self.swap_token("in", not_in),
            None if self.only_operator(self.node) == Some("in") => vec![self.negate(self.node)],
            None => Vec::new(),
        };
        if let Some(condition) = (self.rules.condition)(self.node) {
            let inner = self.unparenthesized(condition);
            let has_opposite = self
                .only_operator(inner)
                .is_some_and(|operator| self.rules.operators.opposites.contains(&operator));
            let is_boolean = matches!(inner.kind(), "true" | "false");
            if self.negated(inner).is_none() && !has_opposite && !is_boolean {
                found.push(self.negate(condition));
            }
        }
        found
    }

    /// Increments a number by one; replaces a string by another and by the empty one, with its
    /// prefix and quotes; exchanges `true` and `false`. A string with expressions in it, and
    /// adjacent strings, are one literal.
    fn constant_replacement(&self) -> Vec<MutantEdit> {
        const STRING: &str = "mutant";
        const OTHER_STRING: &str = "another";
        let range = self.node.byte_range();
        let kind = self.node.kind();
        if self.rules.boolean_kinds.contains(&kind) {
            let [yes, no] = self.rules.booleans;
            let other = if self.text(self.node) == yes { no } else { yes };
            return vec![self.replace(range, other)];
        }
        if self.rules.numbers.contains(&kind) {
            return number::incremented(self.text(self.node))
                .map(|next| self.replace(range, &next))
                .into_iter()
                .collect();
        }
        let part_of_another = self
            .node
            .parent()
            .is_some_and(|parent| parent.kind() == "concatenated_string");
        if !self.rules.strings.contains(&kind) || part_of_another {
            return Vec::new();
        }
        let parts = match kind {
            "concatenated_string" => named(self.node),
            _ => vec![self.node],
        };
        let contents: Option<Vec<[&str; 3]>> =
            parts.into_iter().map(|part| self.quoted(part)).collect();
        let Some(contents) = contents else {
            return Vec::new();
        };
        // Prefix and quotes of the first part serve for the whole literal.
        let [open, first, close] = contents[0];
        let other = match (contents.len(), first) {
            (1, STRING) => OTHER_STRING,
            _ => STRING,
        };
        let mut found = vec![self.replace(range.clone(), &[open, other, close].concat())];
        if contents.iter().any(|[_, content, _]| !content.is_empty()) {
            found.push(self.replace(range, &[open, close].concat()));
        }
        found
    }

    /// Deletes all decorators of a definition at once; those of a parameter are not deleted.
    fn decorator_deletion(&self) -> Vec<MutantEdit> {
        if matches!(
            self.node.kind(),
            "required_parameter" | "optional_parameter"
        ) {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut start = None;
        let mut cursor = self.node.walk();
        for child in self.node.children(&mut cursor) {
            if child.kind() == "decorator" {
                start.get_or_insert(child.start_byte());
            } else if !child.is_extra()
                && let Some(start) = start.take()
            {
                found.push(self.replace(start..child.start_byte(), ""));
            }
        }
        found
    }

    /// A handler raises again what it caught.
    fn exception_handler_deletion(&self) -> Option<MutantEdit> {
        let (range, text) = (self.rules.raise_again)(self.node, self.contents)?;
        Some(self.replace(range, &text))
    }

    fn increment_decrement_exchange(&self) -> Vec<MutantEdit> {
        if !self.rules.updates.contains(&self.node.kind()) {
            return Vec::new();
        }
        self.swap(self.rules.operators.update)
    }

    fn logical_connector_replacement(&self) -> Vec<MutantEdit> {
        self.swap_rebound(self.rules.operators.logical)
    }

    fn logical_operator_replacement(&self) -> Vec<MutantEdit> {
        self.swap_rebound(self.rules.operators.bitwise)
    }

    fn logical_assignment_replacement(&self) -> Vec<MutantEdit> {
        self.swap_assignment(&[self.rules.operators.bitwise, self.rules.operators.logical])
    }

    /// A `break` at the end of a loop's body, unless the body never gets there.
    fn one_iteration_loop(&self) -> Option<MutantEdit> {
        if !self.is_loop(self.node) {
            return None;
        }
        let leave = self.rules.break_statement;
        let body = self.node.child_by_field_name("body")?;
        let inside = |node: Node<'_>| {
            self.range.start <= node.start_byte() && node.end_byte() <= self.range.end
        };
        // A body without braces gets them.
        if !self.language.is_block(body) {
            let ends = self.rules.terminal.contains(&body.kind());
            let text = match body.kind() {
                "empty_statement" => format!("{{ {leave} }}"),
                _ => format!("{{ {}\n{leave} }}", self.text(body)),
            };
            return (!ends && inside(body)).then(|| self.replace(body.byte_range(), &text));
        }
        let statements = named(body);
        let (Some(first), Some(last)) = (statements.first(), statements.last()) else {
            return Some(self.replace(body.byte_range(), &format!("{{ {leave} }}")));
        };
        if self.rules.terminal.contains(&last.kind()) || !inside(*first) || !inside(*last) {
            return None;
        }
        let before = lead(self.contents, first.start_byte());
        let text = if before.trim().is_empty() || !self.language.indented_blocks {
            let indentation: String = before.chars().take_while(|c| c.is_whitespace()).collect();
            format!("\n{indentation}{leave}")
        // A body on its header's line goes on there.
        } else {
            format!("{}{leave}", self.rules.statement_separator)
        };
        Some(self.replace(last.end_byte()..last.end_byte(), &text))
    }

    fn relational_operator_replacement(&self) -> Vec<MutantEdit> {
        if !self.is_binary(self.node) {
            return Vec::new();
        }
        self.swap(self.rules.operators.relational)
    }

    /// Replaces a statement by the one that does nothing, so that no block is empty. Definitions
    /// and mere declarations of a type are not deleted.
    fn statement_deletion(&self) -> Option<MutantEdit> {
        if !self.rules.deletable.contains(&self.node.kind()) {
            return None;
        }
        let parent = self.node.parent()?;
        // In these fields, a statement is part of a header, which must not be empty braces.
        let part_of_another = ["initializer", "update", "communication", "declaration"]
            .iter()
            .any(|field| parent.child_by_field_name(field) == Some(self.node));
        let declares = named(self.node).iter().any(|child| {
            child.kind() == "assignment" && child.child_by_field_name("right").is_none()
        });
        (!part_of_another && !declares)
            .then(|| self.replace(self.node.byte_range(), self.rules.empty_statement))
    }

    /// A node's text.
    fn text(&self, node: Node<'_>) -> &'a str {
        &self.contents[node.byte_range()]
    }

    /// An edit that runs together with neither neighbour: blanks go in between two words and
    /// between two operators.
    fn replace(&self, range: Range<usize>, replacement: &str) -> MutantEdit {
        let before = self.contents[..range.start].chars().next_back();
        let after = self.contents[range.end..].chars().next();
        let mut text = String::new();
        // A deletion makes the two neighbours adjacent.
        if run_together(before, replacement.chars().next().or(after)) {
            text.push(' ');
        }
        text.push_str(replacement);
        if run_together(replacement.chars().next_back(), after) {
            text.push(' ');
        }
        MutantEdit {
            range,
            replacement: text,
        }
    }

    /// Replaces each operator of the node that has a row.
    fn swap(&self, swaps: Swaps) -> Vec<MutantEdit> {
        let mut found = Vec::new();
        for token in self.tokens(self.node) {
            for replacement in replacements(swaps, token.kind()) {
                found.push(self.replace(token.byte_range(), replacement));
            }
        }
        found
    }

    /// Replaces the operator before the `=` of an augmented assignment.
    fn swap_assignment(&self, swaps: &[Swaps]) -> Vec<MutantEdit> {
        if self.node.kind() != self.rules.augmented_assignment {
            return Vec::new();
        }
        let mut found = Vec::new();
        for token in self.tokens(self.node) {
            let Some(operator) = token.kind().strip_suffix('=') else {
                continue;
            };
            for replacement in swaps.iter().flat_map(|swaps| replacements(swaps, operator)) {
                found.push(self.replace(token.byte_range(), &format!("{replacement}=")));
            }
        }
        found
    }

    /// Replaces one operator of a binary expression by another.
    fn swap_token(&self, old: &str, new: &str) -> Vec<MutantEdit> {
        if !self.is_binary(self.node) {
            return Vec::new();
        }
        self.tokens(self.node)
            .into_iter()
            .filter(|token| token.kind() == old)
            .map(|token| self.replace(token.byte_range(), new))
            .collect()
    }

    /// Replaces the operator of a binary expression. If the new one binds differently, parentheses
    /// keep the operands unchanged.
    fn swap_rebound(&self, swaps: Swaps) -> Vec<MutantEdit> {
        if !self.is_binary(self.node) {
            return Vec::new();
        }
        let (operands, tokens) = (named(self.node), self.tokens(self.node));
        let ([left, right], [token]) = (&operands[..], &tokens[..]) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for new in replacements(swaps, token.kind()) {
            let operand = |node: Node<'_>| self.parenthesized_under(node, new);
            let around = self.binds_its_operand_tighter(self.node, new);
            if !around && [left, right].iter().all(|node| !operand(**node)) {
                found.push(self.replace(token.byte_range(), new));
                continue;
            }
            let bracket = |text: &str, needed: bool| match needed {
                true => format!("({text})"),
                false => text.to_owned(),
            };
            let text = [
                &bracket(self.text(*left), operand(*left)),
                &self.contents[left.end_byte()..token.start_byte()],
                new,
                &self.contents[token.end_byte()..right.start_byte()],
                &bracket(self.text(*right), operand(*right)),
            ]
            .concat();
            found.push(self.replace(self.node.byte_range(), &bracket(&text, around)));
        }
        found
    }

    /// True if a node needs parentheses as an operand of the operator `new`, to which it did not
    /// belong before.
    fn parenthesized_under(&self, operand: Node<'_>, new: &str) -> bool {
        if self.rules.primary.contains(&operand.kind()) {
            return false;
        }
        let Some(operator) = self.operator(operand) else {
            return true;
        };
        // An operand on the same level was there before, so it is on the side it associates to.
        let same = self
            .operator(self.node)
            .and_then(|own| self.rules.operators.level(own))
            == self.rules.operators.level(new);
        !same && self.rules.operators.level(operator) <= self.rules.operators.level(new)
            || self.rules.operators.mixes_badly(operator, new)
    }

    /// True if the expression around a node would take an operand from it if it had the operator
    /// `new`.
    fn binds_its_operand_tighter(&self, node: Node<'_>, new: &str) -> bool {
        let Some(parent) = node.parent() else {
            return false;
        };
        if self.rules.prefixes.contains(&parent.kind()) {
            return true;
        }
        let Some(operator) = self.operator(parent) else {
            return false;
        };
        let same = self
            .operator(node)
            .and_then(|own| self.rules.operators.level(own))
            == self.rules.operators.level(new);
        !same && self.rules.operators.level(operator) >= self.rules.operators.level(new)
            || self.rules.operators.mixes_badly(operator, new)
    }

    /// The operator of an expression, as the table of precedence names it.
    fn operator(&self, node: Node<'t>) -> Option<&'t str> {
        if self.is_binary(node) {
            self.tokens(node).first().map(|token| token.kind())
        } else if node.kind() == self.rules.unary {
            Some("unary")
        } else if node.kind() == self.rules.negation {
            Some("not")
        } else {
            None
        }
    }

    /// The operator tokens of an expression; a chained comparison has several.
    fn tokens(&self, node: Node<'t>) -> Vec<Node<'t>> {
        let mut found = Vec::new();
        for field in ["operator", "operators"] {
            let mut cursor = node.walk();
            found.extend(node.children_by_field_name(field, &mut cursor));
        }
        // The grammars give an update no field for its operator, its only unnamed child.
        if found.is_empty() && self.rules.updates.contains(&node.kind()) {
            let mut cursor = node.walk();
            found.extend(node.children(&mut cursor).filter(|child| !child.is_named()));
        }
        found
    }

    fn is_binary(&self, node: Node<'_>) -> bool {
        self.rules.binary.contains(&node.kind())
    }

    fn is_loop(&self, node: Node<'_>) -> bool {
        self.rules.loops.contains(&node.kind())
    }

    /// The operator of a binary expression that is not chained.
    fn only_operator(&self, node: Node<'t>) -> Option<&'t str> {
        match self.tokens(node)[..] {
            [token] if self.is_binary(node) => Some(token.kind()),
            _ => None,
        }
    }

    /// Returns the operand of a negation.
    fn negated(&self, node: Node<'t>) -> Option<Node<'t>> {
        let negates = node.kind() == self.rules.negation
            && node
                .child(0)
                .is_some_and(|token| token.kind() == self.rules.operators.not.trim_end());
        if negates {
            named(node).first().copied()
        } else {
            None
        }
    }

    fn negate(&self, condition: Node<'_>) -> MutantEdit {
        let text = self.text(condition);
        let not = self.rules.operators.not;
        let negated = match condition.kind() {
            "parenthesized_expression" => format!("{not}{text}"),
            _ => format!("{not}({text})"),
        };
        self.replace(condition.byte_range(), &negated)
    }

    fn unparenthesized(&self, node: Node<'t>) -> Node<'t> {
        let mut inner = node;
        while inner.kind() == "parenthesized_expression"
            && let Some(child) = named(inner).first()
        {
            inner = *child;
        }
        inner
    }

    /// The opening, the content and the closing of a string.
    fn quoted(&self, string: Node<'_>) -> Option<[&'a str; 3]> {
        let last = string.child_count().checked_sub(1)?;
        let (open, close) = (string.child(0)?, string.child(last)?);
        let content = self.contents.get(open.end_byte()..close.start_byte())?;
        Some([self.text(open), content, self.text(close)])
    }

    /// True if the node is a statement of only a string: documentation, or a directive.
    fn is_documentation(&self) -> bool {
        self.node.kind() == "expression_statement"
            && matches!(&named(self.node)[..], [only] if self.rules.strings.contains(&only.kind()))
    }

    /// Iterates over the nodes around the node, up to the function it is in.
    fn ancestors(&self) -> impl Iterator<Item = Node<'t>> {
        let language = self.language;
        std::iter::successors(self.node.parent(), |node| node.parent())
            .take_while(move |node| !language.is_function(*node))
    }
}

fn replacements(swaps: Swaps, operator: &str) -> &'static [&'static str] {
    swaps
        .iter()
        .find(|(old, _)| *old == operator)
        .map_or(&[], |(_, new)| new)
}

/// True if two adjacent characters would be read as one token.
fn run_together(left: Option<char>, right: Option<char>) -> bool {
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let operator = |c: char| "+-*/%&|^<>=!?~".contains(c);
    match (left, right) {
        (Some(left), Some(right)) => word(left) && word(right) || operator(left) && operator(right),
        _ => false,
    }
}
