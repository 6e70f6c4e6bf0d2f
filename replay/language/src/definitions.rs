//! Definitions in a file's outermost scope, and its exports.

use std::collections::BTreeMap;
use std::ops::Range;

use tree_sitter::Node;

use super::imports::ImportTarget;
use super::source::SourceFile;

/// Kind of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DefinitionKind {
    /// A function or method, or a variable that holds one.
    Function,
    /// A class.
    Class,
    /// A variable of a file, or a field of a class.
    Variable,
    /// A type and nothing else: an interface, an alias, an enumeration.
    Type,
}

/// The definitions of a file.
#[derive(Default)]
pub struct Definitions {
    /// Every definition, in the order of the file.
    pub all: Vec<Definition>,
    /// Targets of the names in the outermost scope.
    pub scope: BTreeMap<String, NameTarget>,
    /// Targets of the names that the file exports; `None` if it exports its scope.
    pub exports: Option<BTreeMap<String, NameTarget>>,
    /// Modules from which it imports and exports all names.
    pub re_exported: Vec<String>,
    /// The modules it imports from, and the byte at which each statement begins.
    pub imported: Vec<(String, usize)>,
}

/// One definition.
pub struct Definition {
    /// The name it binds.
    pub name: String,
    /// Its kind.
    pub kind: DefinitionKind,
    /// Range with decorators and the documentation before it.
    pub range: Range<usize>,
    /// Byte at which its statement begins, without the documentation before it.
    pub statement: usize,
    /// Range of the function, class or statement itself.
    pub core: Range<usize>,
    /// The class it is a member of.
    pub owner: Option<usize>,
    /// A class's members.
    pub members: BTreeMap<String, usize>,
    /// The base classes of a class, as paths of names.
    pub bases: Vec<String>,
    /// A variable's value, as a path of names.
    pub value: Option<String>,
}

/// Target of a name.
#[derive(Clone)]
pub enum NameTarget {
    /// A definition of the file.
    Here(usize),
    /// An import.
    Imported {
        /// The module as the import names it.
        from: String,
        /// The imported name in that module.
        target: ImportTarget,
    },
}

impl Definitions {
    /// Adds what a node defines, documentation above it included: as a member of its owner, or else
    /// by its name in the outermost scope. Returns its index.
    pub(crate) fn define(
        &mut self,
        name: &str,
        kind: DefinitionKind,
        node: Node<'_>,
        owner: Option<usize>,
        file: &SourceFile,
    ) -> usize {
        let mut definition = Definition::new(name, kind, node, node, file);
        definition.owner = owner;
        self.declare(definition)
    }

    /// Adds a definition, as a member of its owner if it has one; returns its index.
    pub(crate) fn add(&mut self, definition: Definition) -> usize {
        let index = self.all.len();
        if let Some(owner) = definition.owner {
            let members = &mut self.all[owner].members;
            // Of several members of one name, such as overloads, the first counts.
            members.entry(definition.name.clone()).or_insert(index);
        }
        self.all.push(definition);
        index
    }

    /// Adds a definition and, unless it is a member, binds its name in the outermost scope; returns
    /// its index.
    pub(crate) fn declare(&mut self, definition: Definition) -> usize {
        let name = definition.owner.is_none().then(|| definition.name.clone());
        let index = self.add(definition);
        if let Some(name) = name {
            self.bind(&name, index);
        }
        index
    }

    /// Binds a name of the outermost scope, unless it is bound already.
    pub(crate) fn bind(&mut self, name: &str, index: usize) {
        self.scope
            .entry(name.to_owned())
            .or_insert(NameTarget::Here(index));
    }
}

impl Definition {
    /// A definition with a name and nothing else yet.
    pub(crate) fn new(
        name: &str,
        kind: DefinitionKind,
        statement: Node<'_>,
        core: Node<'_>,
        file: &SourceFile,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind,
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

/// Returns the range of a definition with the documentation right above it, if that is outside of
/// the definition.
pub fn whole(node: Node<'_>, file: &SourceFile) -> Range<usize> {
    let mut start = node.start_byte();
    let mut row = node.start_position().row;
    let mut above = node.prev_sibling();
    while let Some(comment) = above.filter(|above| {
        !file.language.indented_blocks
            && file.language.is_comment(*above)
            && above.end_position().row + 1 == row
    }) {
        // A comment behind code on its line is that code's.
        let line = file.line_start(comment.start_byte());
        if !file.contents[line..comment.start_byte()].trim().is_empty() {
            break;
        }
        start = comment.start_byte();
        row = comment.start_position().row;
        above = comment.prev_sibling();
    }
    start..node.end_byte()
}
