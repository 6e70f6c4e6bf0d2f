//! How a language names and uses things: the tables by which uses of imported and defined names
//! are found.

use tree_sitter::Node;

use super::source::SourceFile;

/// What methods call the object or class that they are called on. Any of these, in any language:
/// `const self = this` is common.
pub const RECEIVERS: [&str; 3] = ["self", "cls", "this"];

/// What fields of an object are reached through within its methods.
pub const INSTANCES: [&str; 2] = ["self", "this"];

/// A language's kinds of names, members and bindings, as tree-sitter names them.
pub struct NameRules {
    /// Kinds of plain names.
    pub names: &'static [&'static str],
    /// Kinds of expressions that stand for themselves by a name.
    pub expressions: &'static [&'static str],
    /// Kinds of `a.b`.
    pub members: &'static [&'static str],
    /// Kinds of `a.b` where a type or a tag is due.
    pub type_members: &'static [&'static str],
    /// The object and the member's name of a node of `members` or `type_members`.
    pub member: for<'t> fn(Node<'t>) -> Option<(Node<'t>, Node<'t>)>,
    /// Kinds of calls, and the field that is called.
    pub(crate) calls: &'static [(&'static str, &'static str)],
    /// Kinds that make an instance of a class, and the field with the class.
    pub(crate) instantiations: &'static [(&'static str, &'static str)],
    /// Kinds that stand for their first child.
    pub transparent: &'static [&'static str],
    /// What a value stands for beyond that, such as what is awaited.
    pub(crate) unwrap: for<'t> fn(Node<'t>) -> Option<Node<'t>>,
    /// Names that a method has of the object or class it is called on, `super` among them.
    pub own_names: &'static [&'static str],
    /// Kinds beside functions that have names of their own.
    pub scopes: &'static [&'static str],
    /// Kinds of classes.
    pub(crate) classes: &'static [&'static str],
    /// Kinds of statements that take names from the outermost scope.
    pub global_statements: &'static [&'static str],
    /// Whether members of the class around are used without an object before them.
    pub implicit_members: bool,
    /// Whether a name by itself is undefined once its import is gone, not only its members.
    pub is_undefined_alone: bool,
    /// Whether every class has a member of this name, be it empty.
    pub is_universal: fn(&str) -> bool,
    /// Whether a member is made by this very node.
    pub is_assigned: fn(Node<'_>) -> bool,
    /// Whether a name is made here and not used, such as a parameter.
    pub is_binding: fn(Node<'_>) -> bool,
    /// Whether a name is that of something else than what the scope knows by it: of a member, of
    /// an argument, or of what is defined here.
    pub is_other_name: fn(Node<'_>) -> bool,
    /// What a node binds in its scope.
    pub bindings: for<'t> fn(Node<'t>, BindingSite) -> Vec<Binding<'t>>,
    /// Kinds of patterns that are a name.
    pub pattern_names: &'static [&'static str],
    /// Kinds of patterns that bind no name, as what is assigned to a member or an item.
    pub unbound_patterns: &'static [&'static str],
    /// What a node says of an attribute of the class that it stands in.
    pub attribute: for<'t> fn(ClassSite<'t, '_>, Node<'t>) -> Option<Binding<'t>>,
    /// The name in a type, if it is nothing but that or that and nothing.
    pub type_name: for<'t> fn(Node<'t>, &SourceFile) -> Option<Node<'t>>,
}

/// A name or a pattern of names, and what is known of what it stands for.
pub(crate) type Binding<'t> = (Node<'t>, BoundTo<'t>);

/// What a binding says of what a name stands for.
#[derive(Clone, Copy)]
pub enum BoundTo<'t> {
    /// Nothing.
    Unknown,
    /// The value of an expression.
    Value(Node<'t>),
    /// An instance of a declared type.
    Type(Node<'t>),
    /// An instance of a class, given as an expression.
    InstanceOf(Node<'t>),
}

/// Where a node that may bind stands.
#[derive(Clone, Copy)]
pub struct BindingSite {
    /// Whether the node is the scope itself.
    pub is_scope: bool,
    /// Whether every use is looked for, and declared types of parameters count.
    pub every_use: bool,
}

/// A class whose attributes are looked for.
#[derive(Clone, Copy)]
pub struct ClassSite<'t, 'a> {
    /// The class.
    pub class: Node<'t>,
    /// Its file.
    pub file: &'a SourceFile,
}

impl NameRules {
    /// Whether a node is a class with a body.
    pub fn is_class(&self, node: Node<'_>) -> bool {
        self.classes.contains(&node.kind()) && node.child_by_field_name("body").is_some()
    }

    /// What a call calls, constructors aside where they are called otherwise.
    pub fn callee<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        field_of(self.calls, node)
    }

    /// The class that an expression makes an instance of.
    pub fn instantiated<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        field_of(self.instantiations, node)
    }

    /// An expression of nothing but names, members and calls as a path of names: `a.b().c`.
    pub(crate) fn path(&self, node: Node<'_>, file: &SourceFile) -> Option<String> {
        let kind = node.kind();
        if self.names.contains(&kind) && self.expressions.contains(&kind) {
            return Some(file.text(node).to_owned());
        }
        if self.members.contains(&kind) {
            let (object, member) = (self.member)(node)?;
            return Some(format!(
                "{}.{}",
                self.path(object, file)?,
                file.text(member)
            ));
        }
        if let Some(class) = self.instantiated(node) {
            return Some(format!("{}()", self.path(class, file)?));
        }
        self.path((self.unwrap)(node)?, file)
    }

    /// An instance of the type that a node declares in its field `type`, as a path of names.
    pub(crate) fn declared_instance(&self, node: Node<'_>, file: &SourceFile) -> Option<String> {
        let declared = node.child_by_field_name("type")?;
        Some(format!("{}()", self.path(declared, file)?))
    }
}

/// The named field of a node whose kind is in a table.
fn field_of<'t>(table: &[(&str, &str)], node: Node<'t>) -> Option<Node<'t>> {
    table
        .iter()
        .find(|(kind, _)| *kind == node.kind())
        .and_then(|(_, field)| node.child_by_field_name(field))
}
