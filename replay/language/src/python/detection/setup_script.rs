//! What a setup.py passes to setuptools, as far as it is written out. The script is never run.

use std::path::Path;

use fillrate_syntax::Language;
use tree_sitter::{Node, Tree};

use super::super::super::twins::named_children;

/// A setup.py.
pub(super) struct SetupScript<'t> {
    text: &'t str,
    tree: Option<Tree>,
}

impl<'t> SetupScript<'t> {
    pub(super) fn parse(text: &'t str) -> Self {
        let language = Language::for_path(Path::new("setup.py"));
        let tree = language.map(|language| language.parse(text));
        Self { text, tree }
    }

    /// The first text that an argument or a variable of this name has.
    pub(super) fn string(&self, name: &str) -> Option<String> {
        let values = self.values(name).into_iter();
        let mut texts = values.filter_map(|value| string(value, self.text));
        texts.find(|text| !text.is_empty())
    }

    /// The texts in the list of this name.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let value = self.value(name, &["list", "tuple", "set", "binary_operator"]);
        value.map_or_else(Vec::new, |value| strings(value, self.text))
    }

    /// The keys of the dictionary of this name, each with the texts in its value.
    pub(super) fn dictionary(&self, name: &str) -> Vec<(String, Vec<String>)> {
        let pairs = self.value(name, &["dictionary"]).map(named_children);
        let pairs = pairs.unwrap_or_default().into_iter();
        let entry = |pair: Node<'_>| {
            let key = string(pair.child_by_field_name("key")?, self.text)?;
            let value = pair.child_by_field_name("value")?;
            Some((key, strings(value, self.text)))
        };
        pairs.filter_map(entry).collect()
    }

    /// The first value of one of some kinds that an argument or a variable of this name has, or
    /// the variable that it names.
    fn value(&self, name: &str, kinds: &[&str]) -> Option<Node<'_>> {
        let of_kind = |name: &str| {
            let mut values = self.values(name).into_iter();
            values.find(|value| kinds.contains(&value.kind()))
        };
        of_kind(name).or_else(|| {
            let values = self.values(name).into_iter();
            let mut variables = values.filter(|value| value.kind() == "identifier");
            variables.find_map(|variable| of_kind(&self.text[variable.byte_range()]))
        })
    }

    /// The values of arguments and variables of this name, in order.
    fn values(&self, name: &str) -> Vec<Node<'_>> {
        let mut found = Vec::new();
        let mut pending: Vec<Node<'_>> = self.tree.iter().map(Tree::root_node).collect();
        // Not recursive, as code may be nested arbitrarily deeply.
        while let Some(node) = pending.pop() {
            let (named, value) = match node.kind() {
                "keyword_argument" => ("name", "value"),
                "assignment" => ("left", "right"),
                _ => ("", ""),
            };
            let is_named = node
                .child_by_field_name(named)
                .is_some_and(|it| &self.text[it.byte_range()] == name);
            found.extend(node.child_by_field_name(value).filter(|_| is_named));
            pending.extend(named_children(node).into_iter().rev());
        }
        found
    }
}

/// The contents of a string without interpolation.
fn string(node: Node<'_>, text: &str) -> Option<String> {
    let parts = named_children(node);
    let is_plain = parts.iter().all(|part| part.kind() != "interpolation");
    let contents = parts.iter().filter(|part| part.kind() == "string_content");
    (node.kind() == "string" && is_plain)
        .then(|| contents.map(|part| &text[part.byte_range()]).collect())
}

/// The strings that a value is or contains, without those that a call or an index has.
fn strings(value: Node<'_>, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![value];
    while let Some(node) = pending.pop() {
        match node.kind() {
            "string" => found.extend(string(node, text)),
            "list" | "tuple" | "set" | "binary_operator" | "parenthesized_expression" => {
                pending.extend(named_children(node).into_iter().rev());
            }
            _ => {}
        }
    }
    found.retain(|text| !text.trim().is_empty());
    found
}
