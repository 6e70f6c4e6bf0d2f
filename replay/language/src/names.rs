//! A language's rules for names: the tables by which uses of imported and defined names are found.

use tree_sitter::Node;

use super::source::SourceFile;

/// Names that methods have for the object or class that they are called on. All of them apply to
/// every language: `const self = this` is common.
pub const RECEIVERS: [&str; 3] = ["self", "cls", "this"];

/// Names through which an object's methods reach its fields.
pub const INSTANCES: [&str; 2] = ["self", "this"];

/// A language's kinds of names, members and bindings, as tree-sitter names them.
pub struct NameRules {
    /// Kinds of plain names.
    pub names: &'static [&'static str],
    /// Kinds of expressions that are a single name.
    pub expressions: &'static [&'static str],
    /// Kinds of `a.b`.
    pub members: &'static [&'static str],
    /// Kinds of `a.b` in a type or a tag.
    pub type_members: &'static [&'static str],
    /// The object and the member's name of a node of `members` or `type_members`.
    pub member: for<'t> fn(Node<'t>) -> Option<(Node<'t>, Node<'t>)>,
    /// Kinds of calls, and the field that is called.
    pub(crate) calls: &'static [(&'static str, &'static str)],
    /// Kinds that make an instance of a class, and the field with the class.
    pub(crate) instantiations: &'static [(&'static str, &'static str)],
    /// Kinds that are equivalent to their first child.
    pub transparent: &'static [&'static str],
    /// Returns the node that a value of another kind is equivalent to, such as the awaited one.
    pub(crate) unwrap: for<'t> fn(Node<'t>) -> Option<Node<'t>>,
    /// Names that a method has for the object or class it is called on, including `super`.
    pub own_names: &'static [&'static str],
    /// Kinds other than functions that have names of their own.
    pub scopes: &'static [&'static str],
    /// Kinds of classes.
    pub(crate) classes: &'static [&'static str],
    /// Kinds of statements that take names from the outermost scope.
    pub global_statements: &'static [&'static str],
    /// True if members of the enclosing class are used without an object before them.
    pub implicit_members: bool,
    /// True if a name by itself is undefined without its import, not only its members.
    pub is_undefined_alone: bool,
    /// True if every class, even an empty one, has a member of this name.
    pub is_universal: fn(&str) -> bool,
    /// True if this node itself makes the member.
    pub is_assigned: fn(Node<'_>) -> bool,
    /// True if a name is declared here and not used, such as a parameter.
    pub is_binding: fn(Node<'_>) -> bool,
    /// True if a name does not refer to what the scope knows by it, but to a member, to an
    /// argument, or to what is defined here.
    pub is_other_name: fn(Node<'_>) -> bool,
    /// Returns the bindings of a node in its scope.
    pub bindings: for<'t> fn(Node<'t>, BindingSite) -> Vec<Binding<'t>>,
    /// Kinds of patterns that are a name.
    pub pattern_names: &'static [&'static str],
    /// Kinds of patterns that bind no name, such as an assigned member or item.
    pub unbound_patterns: &'static [&'static str],
    /// Returns the binding of an attribute by a node in its class.
    pub attribute: for<'t> fn(ClassSite<'t, '_>, Node<'t>) -> Option<Binding<'t>>,
    /// Returns the name in a type that is only a name, or a name or null.
    pub type_name: for<'t> fn(Node<'t>, &SourceFile) -> Option<Node<'t>>,
}

/// A name or a pattern of names, and what is known of its value.
pub(crate) type Binding<'t> = (Node<'t>, BoundTo<'t>);

/// Value of a name, as its binding shows it.
#[derive(Clone, Copy)]
pub enum BoundTo<'t> {
    /// The value is unknown.
    Unknown,
    /// The value of an expression.
    Value(Node<'t>),
    /// An instance of a declared type.
    Type(Node<'t>),
    /// An instance of a class, given as an expression.
    InstanceOf(Node<'t>),
}

/// Position of a node that may bind names.
#[derive(Clone, Copy)]
pub struct BindingSite {
    /// True if the node is the scope itself.
    pub is_scope: bool,
    /// True if every use is looked for, and declared types of parameters count.
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
    /// True if a node is a class with a body.
    pub fn is_class(&self, node: Node<'_>) -> bool {
        self.classes.contains(&node.kind()) && node.child_by_field_name("body").is_some()
    }

    /// Returns the callee of a call; calls of constructors with a syntax of their own have none.
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
