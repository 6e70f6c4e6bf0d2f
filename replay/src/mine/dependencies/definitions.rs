//! What a file defines in its outermost scope, and what it gives to others.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tree_sitter::Node;

use super::super::SourceFile;
use super::super::api::imports::{self, Imported};
use super::{python, typescript};

/// What a definition is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// A function or method, be it a variable that holds one.
    Function,
    /// A class.
    Class,
    /// A variable of a file, or a field of a class.
    Variable,
    /// What is only a type: an interface, an alias, an enumeration.
    Type,
}

/// The definitions of a file.
#[derive(Default)]
pub(super) struct Definitions {
    pub(super) all: Vec<Definition>,
    /// What the names of the outermost scope stand for.
    pub(super) scope: BTreeMap<String, Bound>,
    /// What the file gives away by name; where this is nothing, it is the scope.
    pub(super) exports: Option<BTreeMap<String, Bound>>,
    /// Where it takes, and gives on, all names from.
    pub(super) everything: Vec<String>,
    /// Where it imports from, and where the statements stand.
    pub(super) imported: Vec<(String, usize)>,
}

/// One definition.
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) sort: Sort,
    /// With decorators and the documentation before it.
    pub(super) range: Range<usize>,
    /// Where its statement begins, without the documentation before it.
    pub(super) statement: usize,
    /// The function's, class's or statement's own.
    pub(super) core: Range<usize>,
    /// The class it is a member of.
    pub(super) owner: Option<usize>,
    /// A class's members.
    pub(super) members: BTreeMap<String, usize>,
    /// The classes a class is made from, as paths of names.
    pub(super) bases: Vec<String>,
    /// What a variable holds, as a path of names.
    pub(super) value: Option<String>,
}

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Bound {
    /// A definition of the file.
    Here(usize),
    /// What is imported.
    Imported { from: String, what: Imported },
}

impl Definitions {
    pub(super) fn of(root: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Self {
        let mut found = Self::default();
        for import in imports::all(root, file, files) {
            found.imported.push((import.from.clone(), import.at));
            match import.name {
                Some(name) => {
                    let bound = Bound::Imported {
                        from: import.from,
                        what: import.what,
                    };
                    found.scope.entry(name).or_insert(bound);
                }
                None => found.everything.push(import.from),
            }
        }
        match file.language.name {
            "python" => python::define(root, file, &mut found),
            _ => typescript::define(root, file, files, &mut found),
        }
        found
    }

    /// Adds a definition, and gives its index.
    pub(super) fn add(&mut self, definition: Definition) -> usize {
        self.all.push(definition);
        self.all.len() - 1
    }

    /// Binds a name of the outermost scope, unless it stands for something already.
    pub(super) fn bind(&mut self, name: &str, index: usize) {
        self.scope
            .entry(name.to_owned())
            .or_insert(Bound::Here(index));
    }
}

impl Definition {
    /// A definition of nothing more than a name.
    pub(super) fn new(
        name: &str,
        sort: Sort,
        statement: Node<'_>,
        core: Node<'_>,
        file: &SourceFile,
    ) -> Self {
        Self {
            name: name.to_owned(),
            sort,
            range: whole(statement, file),
            statement: statement.start_byte(),
            core: core.byte_range(),
            owner: None,
            members: BTreeMap::new(),
            bases: Vec::new(),
            value: None,
        }
    }
}

/// The range of a definition with the documentation right above it, where that stands outside of
/// it.
pub(super) fn whole(node: Node<'_>, file: &SourceFile) -> Range<usize> {
    let mut start = node.start_byte();
    let mut row = node.start_position().row;
    let mut above = node.prev_sibling();
    while let Some(comment) = above.filter(|above| {
        !file.language.indented_blocks
            && file.language.is_comment(*above)
            && above.end_position().row + 1 == row
    }) {
        // A comment behind code on its line is that code's.
        let line = file.contents[..comment.start_byte()]
            .rfind('\n')
            .map_or(0, |end| end + 1);
        if !file.contents[line..comment.start_byte()].trim().is_empty() {
            break;
        }
        start = comment.start_byte();
        row = comment.start_position().row;
        above = comment.prev_sibling();
    }
    start..node.end_byte()
}

/// An expression of nothing but names, members and calls as a path of names, as
/// [`uses::all`](super::uses::all) tells them.
pub(super) fn names_of(node: Node<'_>, file: &SourceFile) -> Option<String> {
    let field = |name: &str| node.child_by_field_name(name);
    match node.kind() {
        "identifier" | "type_identifier" => Some(text(node, file).to_owned()),
        "attribute" | "member_expression" => {
            let member = field("attribute").or_else(|| field("property"))?;
            let object = names_of(field("object")?, file)?;
            Some(format!("{object}.{}", text(member, file)))
        }
        "call" | "new_expression" => {
            let made = field("function").or_else(|| field("constructor"))?;
            Some(format!("{}()", names_of(made, file)?))
        }
        "parenthesized_expression" | "non_null_expression" | "await" | "as_expression" => {
            names_of(node.named_child(0)?, file)
        }
        // `Base[T]` is made from `Base`.
        "subscript" => names_of(field("value")?, file),
        _ => None,
    }
}

pub(super) fn text<'a>(node: Node<'_>, file: &'a SourceFile) -> &'a str {
    &file.contents[node.byte_range()]
}
