//! What would be undefined in a file if what it imports were empty classes, and, of all names that
//! a file knows, every use.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::super::SourceFile;
use super::imports::is_import;

/// A place where something is used.
#[derive(Clone, Debug)]
pub(in crate::mine) struct Use<'t> {
    /// What is used, told apart from other things: names with dots between, and `()` behind one
    /// that was called or of which this is an instance.
    pub(in crate::mine) name: String,
    /// The last name's token.
    pub(in crate::mine) token: Node<'t>,
}

/// The uses in a file, in their order.
///
/// In Python these are the members of imported names, of what they return when they are called
/// (which is an instance, if they are classes), and of what holds such an instance: a variable, an
/// exception that is caught, an attribute of `self` or a field of a data class. In TypeScript
/// these are the imported names themselves, their members, and the members of what `new` makes of
/// them or of what is declared to be one: a variable, a parameter, a field of `this`. Members
/// that every class has are none.
pub(super) fn undefined<'t>(
    root: Node<'t>,
    file: &SourceFile,
    imports: &BTreeSet<String>,
) -> Vec<Use<'t>> {
    let mut finder = Finder {
        file,
        python: file.language.name == "python",
        all: false,
        names: imports,
        scopes: Vec::new(),
        classes: Vec::new(),
        paths: Vec::new(),
        uses: Vec::new(),
    };
    finder.scope(root);
    finder.sorted()
}

/// The uses in a file of what its outermost scope knows by these `names`, of members of that, and
/// of members of instances of that, in their order; whether a class has such a member is left
/// open. An instance is told as in [`undefined`], and by `self`, `cls`, `this` and the declared
/// types of parameters. What a function binds itself is left out. A member of the class that a
/// class is made from, as in `super().name`, is that of `Class().super()`.
pub(in crate::mine) fn all<'t>(
    root: Node<'t>,
    file: &SourceFile,
    names: &BTreeSet<String>,
) -> Vec<Use<'t>> {
    let mut finder = Finder {
        file,
        python: file.language.name == "python",
        all: true,
        names,
        scopes: Vec::new(),
        classes: Vec::new(),
        paths: Vec::new(),
        uses: Vec::new(),
    };
    finder.scope(root);
    finder.sorted()
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    /// What is imported by this name.
    Imported(String),
    /// An instance of what is imported by this name.
    Instance(String),
    /// Anything else.
    Other,
}

struct Finder<'t, 'a> {
    file: &'a SourceFile,
    python: bool,
    /// Whether every use is wanted, and not only that of what would be undefined.
    all: bool,
    /// The names of the outermost scope that are looked for.
    names: &'a BTreeSet<String>,
    /// What the functions around bind, the innermost last.
    scopes: Vec<BTreeMap<String, Meaning>>,
    /// What the attributes of the classes around hold, the innermost last.
    classes: Vec<BTreeMap<String, Meaning>>,
    /// By what path the outermost scope knows the classes around, the innermost last; nothing for
    /// a class within a function.
    paths: Vec<Option<String>>,
    uses: Vec<Use<'t>>,
}

impl<'t, 'a> Finder<'t, 'a> {
    fn sorted(self) -> Vec<Use<'t>> {
        let mut uses = self.uses;
        uses.sort_by_key(|used| used.token.start_byte());
        uses
    }

    /// A function or the whole file.
    fn scope(&mut self, node: Node<'t>) {
        self.scopes.push(BTreeMap::new());
        if !self.all || self.scopes.len() > 1 {
            self.bindings(node, node);
            self.leave_to_the_file(node);
        }
        self.visit_children(node);
        self.scopes.pop();
    }

    fn visit(&mut self, node: Node<'t>) {
        if is_import(node) {
            return;
        }
        match node.kind() {
            "attribute" | "member_expression" => self.member(node),
            "nested_type_identifier" | "nested_identifier" if self.all => self.member(node),
            "identifier" | "type_identifier" | "shorthand_property_identifier" => {
                self.plain(node);
            }
            _ => {}
        }
        if self.is_scope(node) {
            self.scope(node);
        } else if is_class(node) {
            let attributes = self.attributes(node);
            self.classes.push(attributes);
            self.paths.push(self.path_of(node));
            self.visit_children(node);
            self.paths.pop();
            self.classes.pop();
        } else {
            self.visit_children(node);
        }
    }

    fn visit_children(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.visit(child);
        }
    }

    /// A member of something: `a.b`.
    fn member(&mut self, node: Node<'t>) {
        let object = node
            .child_by_field_name("object")
            .or_else(|| node.child_by_field_name("module"));
        let Some((object, member)) = object.zip(last_name(node)) else {
            return;
        };
        let name = self.text(member);
        if !self.all && self.is_universal(name) || self.is_assigned(node) {
            return;
        }
        let of = match self.meaning(object) {
            Meaning::Imported(import) => import,
            Meaning::Instance(import) => format!("{import}()"),
            Meaning::Other => return,
        };
        self.uses.push(Use {
            name: format!("{of}.{name}"),
            token: member,
        });
    }

    /// A name by itself, which is undefined in TypeScript as its import is gone.
    fn plain(&mut self, node: Node<'t>) {
        let defines = self.python && !self.all || binds(node);
        if defines || self.all && is_no_use(node) {
            return;
        }
        if let Meaning::Imported(import) = self.named(self.text(node)) {
            self.uses.push(Use {
                name: import,
                token: node,
            });
        }
    }

    /// What an expression stands for.
    fn meaning(&self, node: Node<'t>) -> Meaning {
        match node.kind() {
            "identifier" | "this" | "super" | "type_identifier" => self.named(self.text(node)),
            "attribute" | "member_expression" | "nested_identifier" | "nested_type_identifier" => {
                let object = node
                    .child_by_field_name("object")
                    .or_else(|| node.child_by_field_name("module"));
                let Some((object, name)) = object.zip(last_name(node)) else {
                    return Meaning::Other;
                };
                let name = self.text(name);
                let own = matches!(self.text(object), "self" | "this");
                let held = self
                    .classes
                    .last()
                    .filter(|_| own)
                    .and_then(|attributes| attributes.get(name))
                    .cloned()
                    .unwrap_or(Meaning::Other);
                if !self.all || held != Meaning::Other {
                    return held;
                }
                match self.meaning(object) {
                    Meaning::Imported(of) => Meaning::Imported(format!("{of}.{name}")),
                    Meaning::Instance(of) => Meaning::Imported(format!("{of}().{name}")),
                    Meaning::Other => Meaning::Other,
                }
            }
            "parenthesized_expression" | "non_null_expression" => node
                .named_child(0)
                .map_or(Meaning::Other, |inner| self.meaning(inner)),
            "call" | "new_expression" => {
                let made = node
                    .child_by_field_name("function")
                    .or_else(|| node.child_by_field_name("constructor"));
                match made.map(|made| self.meaning(made)) {
                    Some(Meaning::Imported(import)) => Meaning::Instance(import),
                    // `super()` stands for the instance already.
                    Some(Meaning::Instance(of)) if of.ends_with(".super") => Meaning::Instance(of),
                    _ => Meaning::Other,
                }
            }
            _ => Meaning::Other,
        }
    }

    fn named(&self, name: &str) -> Meaning {
        for scope in self.scopes.iter().rev() {
            // What `self` holds is known from the class.
            if let Some(meaning) = scope.get(name).filter(|_| !self.is_own(name)) {
                return meaning.clone();
            }
        }
        if self.is_own(name)
            && let Some(Some(class)) = self.paths.last()
        {
            return Meaning::Instance(match name {
                "super" => format!("{class}().super"),
                _ => class.clone(),
            });
        }
        if self.names.contains(name) {
            Meaning::Imported(name.to_owned())
        } else {
            Meaning::Other
        }
    }

    /// What a type stands for: an imported name, or one of it and nothing.
    fn declared(&self, node: Node<'t>) -> Meaning {
        match node.kind() {
            "type_annotation" | "type" => node
                .named_child(0)
                .map_or(Meaning::Other, |inner| self.declared(inner)),
            "type_identifier" | "identifier" => match self.named(self.text(node)) {
                Meaning::Imported(import) => Meaning::Instance(import),
                _ => Meaning::Other,
            },
            "attribute" | "nested_type_identifier" if self.all => match self.meaning(node) {
                Meaning::Imported(import) => Meaning::Instance(import),
                _ => Meaning::Other,
            },
            "union_type" => {
                let mut cursor = node.walk();
                let mut some = node
                    .named_children(&mut cursor)
                    .filter(|part| !matches!(self.text(*part), "null" | "undefined"));
                match (some.next(), some.next()) {
                    (Some(only), None) => self.declared(only),
                    _ => Meaning::Other,
                }
            }
            _ => Meaning::Other,
        }
    }

    /// What the attributes of a class hold.
    fn attributes(&self, class: Node<'t>) -> BTreeMap<String, Meaning> {
        let mut attributes = BTreeMap::new();
        let is_data = class.parent().is_some_and(|parent| {
            let mut cursor = parent.walk();
            parent.kind() == "decorated_definition"
                && parent
                    .children(&mut cursor)
                    .any(|child| self.text(child).starts_with("@dataclass"))
        });
        let mut pending = vec![class];
        while let Some(node) = pending.pop() {
            let field = |name: &str| node.child_by_field_name(name);
            let (name, meaning) = match node.kind() {
                "assignment" => {
                    let Some(left) = field("left") else { continue };
                    match (left.child_by_field_name("attribute"), field("right")) {
                        (Some(attribute), right) => {
                            let of = left.child_by_field_name("object");
                            let own = of.is_some_and(|of| self.text(of) == "self");
                            let meaning = right
                                .map_or(Meaning::Other, |right| instance_only(self.meaning(right)));
                            (own.then_some(attribute), meaning)
                        }
                        // A data class tells the types of its fields.
                        (None, _) => {
                            let in_body = node.parent().and_then(|node| node.parent());
                            let is_field = is_data
                                && in_body.and_then(|body| body.parent()).map(|node| node.id())
                                    == Some(class.id());
                            let meaning = field("type")
                                .map_or(Meaning::Other, |declared| self.declared(declared));
                            (is_field.then_some(left), meaning)
                        }
                    }
                }
                "public_field_definition" => {
                    let meaning = match (field("type"), field("value")) {
                        (Some(declared), _) => self.declared(declared),
                        (None, Some(value)) => instance_only(self.meaning(value)),
                        (None, None) => Meaning::Other,
                    };
                    (field("name"), meaning)
                }
                "required_parameter" | "optional_parameter" => {
                    let mut cursor = node.walk();
                    let is_field = node
                        .children(&mut cursor)
                        .any(|child| matches!(child.kind(), "accessibility_modifier" | "readonly"));
                    let meaning =
                        field("type").map_or(Meaning::Other, |declared| self.declared(declared));
                    (field("pattern").filter(|_| is_field), meaning)
                }
                _ => (None, Meaning::Other),
            };
            if let Some(name) = name {
                put(&mut attributes, self.text(name), &meaning);
            }
            let mut cursor = node.walk();
            pending.extend(
                node.named_children(&mut cursor)
                    .filter(|child| !is_class(*child)),
            );
        }
        attributes
    }

    /// Puts what a node binds into the innermost scope, and what stands below it short of inner
    /// scopes and classes.
    fn bindings(&mut self, node: Node<'t>, scope: Node<'t>) {
        if is_import(node) {
            return;
        }
        let field = |name: &str| node.child_by_field_name(name);
        match node.kind() {
            "assignment" => {
                if let Some(left) = field("left") {
                    let meaning = field("right")
                        .map_or(Meaning::Other, |right| instance_only(self.meaning(right)));
                    self.bind(left, &meaning);
                }
            }
            "variable_declarator" | "required_parameter" | "optional_parameter" => {
                if let Some(name) = field("name").or_else(|| field("pattern")) {
                    let meaning = match (field("type"), field("value")) {
                        (Some(declared), _) => self.declared(declared),
                        (None, Some(value)) => instance_only(self.meaning(value)),
                        (None, None) => Meaning::Other,
                    };
                    self.bind(name, &meaning);
                }
            }
            "augmented_assignment" | "for_statement" | "for_in_clause" | "for_in_statement" => {
                if let Some(left) = field("left") {
                    self.bind(left, &Meaning::Other);
                }
            }
            "named_expression"
            | "function_definition"
            | "class_definition"
            | "function_declaration"
            | "generator_function_declaration"
            | "class_declaration"
            | "abstract_class_declaration"
            | "enum_declaration"
            | "type_parameter" => {
                if let Some(name) = field("name")
                    && (node.id() != scope.id())
                {
                    self.bind(name, &Meaning::Other);
                }
            }
            "as_pattern_target" => {
                let pattern = node.parent();
                let is_caught = pattern
                    .and_then(|pattern| pattern.parent())
                    .is_some_and(|clause| clause.kind() == "except_clause");
                let class = pattern
                    .and_then(|pattern| pattern.named_child(0))
                    .map(|class| self.meaning(class));
                let meaning = match class {
                    Some(Meaning::Imported(import)) if is_caught => Meaning::Instance(import),
                    _ => Meaning::Other,
                };
                if let Some(name) = node.named_child(0) {
                    self.bind(name, &meaning);
                }
            }
            "parameters" | "lambda_parameters" => {
                let mut cursor = node.walk();
                for parameter in node.named_children(&mut cursor) {
                    let name = parameter.child_by_field_name("name").unwrap_or(parameter);
                    let declared = parameter
                        .child_by_field_name("type")
                        .filter(|_| self.all)
                        .map_or(Meaning::Other, |declared| self.declared(declared));
                    let plain = name.named_child(0).filter(|plain| {
                        name.kind() == "typed_parameter" && plain.kind() == "identifier"
                    });
                    self.bind(plain.unwrap_or(name), &declared);
                }
            }
            "arrow_function" | "catch_clause" => {
                if let Some(parameter) = field("parameter") {
                    self.bind(parameter, &Meaning::Other);
                }
            }
            _ => {}
        }
        let is_other = node.id() != scope.id();
        if is_other && (self.is_scope(node) || is_class(node)) {
            return;
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.bindings(child, scope);
        }
    }

    /// Takes out of the innermost scope what a function of Python says is the file's.
    fn leave_to_the_file(&mut self, function: Node<'t>) {
        let mut pending = vec![function];
        while let Some(node) = pending.pop() {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                if node.kind() == "global_statement" {
                    let name = self.text(child);
                    if let Some(scope) = self.scopes.last_mut() {
                        scope.remove(name);
                    }
                } else if !self.is_scope(child) && !is_class(child) {
                    pending.push(child);
                }
            }
        }
    }

    /// By what path the outermost scope knows a class.
    fn path_of(&self, class: Node<'t>) -> Option<String> {
        let name = class
            .child_by_field_name("name")
            .map(|name| self.text(name))?;
        match self.paths.last() {
            Some(outer) => outer.as_ref().map(|outer| format!("{outer}.{name}")),
            None if self.scopes.len() == 1 => Some(name.to_owned()),
            None => None,
        }
    }

    /// Whether a name stands for what a method is called on.
    fn is_own(&self, name: &str) -> bool {
        let names: &[&str] = match self.python {
            true => &["self", "cls", "super"],
            false => &["this", "super"],
        };
        self.all && !self.paths.is_empty() && names.contains(&name)
    }

    /// Binds the names of a pattern.
    fn bind(&mut self, pattern: Node<'t>, meaning: &Meaning) {
        let is_name = matches!(
            pattern.kind(),
            "identifier" | "shorthand_property_identifier_pattern" | "type_identifier"
        );
        if !is_name {
            // What is assigned to a member or an item binds no name.
            if matches!(
                pattern.kind(),
                "attribute" | "subscript" | "member_expression" | "subscript_expression" | "type"
            ) {
                return;
            }
            let mut cursor = pattern.walk();
            for child in pattern.named_children(&mut cursor) {
                self.bind(child, &Meaning::Other);
            }
            return;
        }
        let name = self.text(pattern);
        if let Some(scope) = self.scopes.last_mut() {
            put(scope, name, meaning);
        }
    }

    fn is_scope(&self, node: Node<'_>) -> bool {
        self.file.language.is_function(node)
            || matches!(
                node.kind(),
                "lambda"
                    | "list_comprehension"
                    | "set_comprehension"
                    | "dictionary_comprehension"
                    | "generator_expression"
            )
    }

    /// Whether every class has a member of this name, be it empty.
    fn is_universal(&self, member: &str) -> bool {
        if self.python {
            return member.starts_with("__") && member.ends_with("__");
        }
        matches!(
            member,
            "apply"
                | "arguments"
                | "bind"
                | "call"
                | "caller"
                | "constructor"
                | "hasOwnProperty"
                | "isPrototypeOf"
                | "length"
                | "name"
                | "propertyIsEnumerable"
                | "prototype"
                | "toLocaleString"
                | "toString"
                | "valueOf"
        )
    }

    /// Whether a member is made here: Pylint takes it as defined then.
    fn is_assigned(&self, node: Node<'_>) -> bool {
        self.python
            && node.parent().is_some_and(|parent| {
                parent.kind() == "assignment"
                    && parent
                        .child_by_field_name("left")
                        .is_some_and(|left| left.id() == node.id())
            })
    }

    fn text(&self, node: Node<'_>) -> &'a str {
        &self.file.contents[node.byte_range()]
    }
}

/// The name of a member where it is used.
fn last_name(node: Node<'_>) -> Option<Node<'_>> {
    ["attribute", "property", "name"]
        .iter()
        .find_map(|field| node.child_by_field_name(field))
}

/// Whether a name is that of something else than what the scope knows by it: of a member, of an
/// argument, or of what is defined here.
fn is_no_use(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else {
        return false;
    };
    let is = |field: &str| {
        parent
            .child_by_field_name(field)
            .is_some_and(|child| child.id() == node.id())
    };
    match parent.kind() {
        "attribute" => is("attribute"),
        "assignment" => is("left"),
        "keyword_argument" | "nested_type_identifier" => is("name"),
        kind => is("name") && (kind.ends_with("_definition") || kind.ends_with("_declaration")),
    }
}

/// A name that stands for two things may be anything.
fn put(names: &mut BTreeMap<String, Meaning>, name: &str, meaning: &Meaning) {
    names
        .entry(name.to_owned())
        .and_modify(|known| {
            if known != meaning {
                *known = Meaning::Other;
            }
        })
        .or_insert_with(|| meaning.clone());
}

/// Whether a node is a class with a body.
pub(in crate::mine) fn is_class(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "class_definition" | "class_declaration" | "abstract_class_declaration" | "class"
    ) && node.child_by_field_name("body").is_some()
}

/// Another name for an import is not followed.
fn instance_only(meaning: Meaning) -> Meaning {
    match meaning {
        Meaning::Instance(import) => Meaning::Instance(import),
        _ => Meaning::Other,
    }
}

/// Whether a name is made here and not used: a parameter of a type of function, among others.
fn binds(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| {
        ["name", "pattern", "parameter"].iter().any(|field| {
            matches!(
                parent.kind(),
                "required_parameter"
                    | "optional_parameter"
                    | "variable_declarator"
                    | "type_parameter"
                    | "arrow_function"
            ) && parent
                .child_by_field_name(field)
                .is_some_and(|bound| bound.id() == node.id())
        })
    })
}
