//! Uses of names in a file: those that would be undefined if the file's imports were empty classes,
//! and all uses of the names that the file knows.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_language::names::{BindingSite, BoundTo, ClassSite, INSTANCES, NameRules};
use fillrate_language::{LanguageSupport, SourceFile};
use tree_sitter::Node;

use super::imports::is_import;

/// A use of a name or of a member.
#[derive(Clone, Debug)]
pub(super) struct NameUse<'t> {
    /// Path of the used name: names with dots between, and `()` after one that is called or of
    /// which this is an instance.
    pub(super) name: String,
    /// The last name's token.
    pub(super) token: Node<'t>,
}

/// The uses in a file, in their order.
///
/// In Python these are the members of imported names, of what they return when they are called
/// (which is an instance, if they are classes), and of what holds such an instance: a variable, an
/// exception that is caught, an attribute of `self` or a field of a data class. In TypeScript
/// these are the imported names themselves, their members, and the members of what `new` makes of
/// them or of what is declared to be one: a variable, a parameter, a field of `this`. Members
/// that every class has are none.
pub(super) fn find_undefined<'t>(
    root: Node<'t>,
    file: &SourceFile,
    imports: &BTreeSet<String>,
) -> Vec<NameUse<'t>> {
    find(root, file, imports, false)
}

/// The uses in a file, in their order, of these `names` of its outermost scope, of their members,
/// and of members of their instances. It is not checked that a class has such a member. An instance
/// is found as in [`find_undefined`], and by `self`, `cls`, `this` and the declared types of
/// parameters. Names that a function binds itself are left out. A member of a base class, as in
/// `super().name`, is that of `Class().super()`.
pub(super) fn find_uses<'t>(
    root: Node<'t>,
    file: &SourceFile,
    names: &BTreeSet<String>,
) -> Vec<NameUse<'t>> {
    find(root, file, names, true)
}

fn find<'t>(
    root: Node<'t>,
    file: &SourceFile,
    names: &BTreeSet<String>,
    every_use: bool,
) -> Vec<NameUse<'t>> {
    let mut finder = UseFinder {
        file,
        rules: LanguageSupport::for_language(file.language).names,
        every_use,
        names,
        scopes: Vec::new(),
        classes: Vec::new(),
        paths: Vec::new(),
        uses: Vec::new(),
    };
    finder.scope(root);
    // A member is found before the names inside of it, which begin earlier.
    finder.uses.sort_by_key(|used| used.token.start_byte());
    finder.uses
}

/// Referent of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    /// The import of this name.
    Imported(String),
    /// An instance of the import of this name.
    Instance(String),
    /// Anything else.
    Other,
}

struct UseFinder<'t, 'a> {
    file: &'a SourceFile,
    rules: &'static NameRules,
    /// True to find every use; false to find only undefined ones.
    every_use: bool,
    /// The names of the outermost scope that are looked for.
    names: &'a BTreeSet<String>,
    /// Names that the functions around bind, the innermost function last.
    scopes: Vec<BTreeMap<String, Meaning>>,
    /// Attributes of the classes around, the innermost class last.
    classes: Vec<BTreeMap<String, Meaning>>,
    /// Paths by which the outermost scope knows the classes around, the innermost last; `None` for
    /// a class within a function.
    paths: Vec<Option<String>>,
    uses: Vec<NameUse<'t>>,
}

impl<'t, 'a> UseFinder<'t, 'a> {
    /// A function or the whole file.
    fn scope(&mut self, node: Node<'t>) {
        self.scopes.push(BTreeMap::new());
        // With `every_use`, the names of the outermost scope are those looked for and hide nothing.
        if !self.every_use || self.scopes.len() > 1 {
            self.bindings(node, node);
            self.leave_to_the_file(node);
        }
        self.visit_children(node);
        self.scopes.pop();
    }

    fn visit(&mut self, node: Node<'t>) {
        if is_import(self.file.language, node) {
            return;
        }
        let kind = node.kind();
        if self.is_member(kind) {
            self.member(node);
        } else if self.rules.names.contains(&kind) {
            self.plain(node);
        }
        if self.is_scope(node) {
            self.scope(node);
        } else if self.rules.is_class(node) {
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

    /// True if nodes of a kind are members whose uses are wanted.
    fn is_member(&self, kind: &str) -> bool {
        self.rules.members.contains(&kind)
            || self.every_use && self.rules.type_members.contains(&kind)
    }

    /// A member of something: `a.b`.
    fn member(&mut self, node: Node<'t>) {
        let Some((object, member)) = (self.rules.member)(node) else {
            return;
        };
        let name = self.file.text(member);
        // A member that every object has, or that is assigned, calls nothing of another file.
        if !self.every_use && (self.rules.is_universal)(name) || (self.rules.is_assigned)(node) {
            return;
        }
        let owner = match self.meaning(object) {
            Meaning::Imported(import) => import,
            Meaning::Instance(import) => format!("{import}()"),
            Meaning::Other => return,
        };
        self.uses.push(NameUse {
            name: format!("{owner}.{name}"),
            token: member,
        });
    }

    /// A name by itself, which in some languages is undefined without its import.
    fn plain(&mut self, node: Node<'t>) {
        let is_wanted = self.every_use || self.rules.is_undefined_alone;
        let is_other = self.every_use && (self.rules.is_other_name)(node);
        if !is_wanted || is_other || (self.rules.is_binding)(node) {
            return;
        }
        let name = self.file.text(node);
        let used = self.implicit_member(name).or(match self.named(name) {
            Meaning::Imported(import) => Some(import),
            _ => None,
        });
        self.uses
            .extend(used.map(|name| NameUse { name, token: node }));
    }

    /// The path of a member of the class around that is used by its name alone: a field, or a name
    /// that the file does not know otherwise.
    fn implicit_member(&self, name: &str) -> Option<String> {
        if !self.every_use || !self.rules.implicit_members || self.is_own(name) {
            return None;
        }
        let is_local = self.scopes.iter().any(|scope| scope.contains_key(name));
        let is_field = self.classes.iter().any(|fields| fields.contains_key(name));
        let class = self.paths.last()?.as_ref()?;
        // A field hides an import of the same name; a local variable hides both.
        let is_member = !is_local && (is_field || !self.names.contains(name));
        is_member.then(|| format!("{class}().{name}"))
    }

    /// Returns the referent of an expression.
    fn meaning(&self, node: Node<'t>) -> Meaning {
        let kind = node.kind();
        if self.rules.expressions.contains(&kind) {
            return self.named(self.file.text(node));
        }
        if self.rules.members.contains(&kind) || self.rules.type_members.contains(&kind) {
            return self.meaning_of_member(node);
        }
        if self.rules.transparent.contains(&kind) {
            return node
                .named_child(0)
                .map_or(Meaning::Other, |inner| self.meaning(inner));
        }
        match self
            .rules
            .instantiated(node)
            .map(|class| self.meaning(class))
        {
            Some(Meaning::Imported(import)) => Meaning::Instance(import),
            // `super()` is the instance already.
            Some(Meaning::Instance(path)) if path.ends_with(".super") => Meaning::Instance(path),
            _ => Meaning::Other,
        }
    }

    fn meaning_of_member(&self, node: Node<'t>) -> Meaning {
        let Some((object, member)) = (self.rules.member)(node) else {
            return Meaning::Other;
        };
        let name = self.file.text(member);
        let is_own = INSTANCES.contains(&self.file.text(object));
        let held = self
            .classes
            .last()
            .filter(|_| is_own)
            .and_then(|attributes| attributes.get(name))
            .cloned()
            .unwrap_or(Meaning::Other);
        if !self.every_use || held != Meaning::Other {
            return held;
        }
        match self.meaning(object) {
            Meaning::Imported(owner) => Meaning::Imported(format!("{owner}.{name}")),
            Meaning::Instance(owner) => Meaning::Imported(format!("{owner}().{name}")),
            Meaning::Other => Meaning::Other,
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
        if self.rules.implicit_members
            && let Some(held) = self.classes.iter().rev().find_map(|held| held.get(name))
        {
            return held.clone();
        }
        if self.names.contains(name) {
            Meaning::Imported(name.to_owned())
        } else {
            Meaning::Other
        }
    }

    /// Returns the referent of a declared type: an instance of an imported name.
    fn declared(&self, node: Node<'t>) -> Meaning {
        let Some(name) = (self.rules.type_name)(node, self.file) else {
            return Meaning::Other;
        };
        let meaning = if self.rules.names.contains(&name.kind()) {
            self.named(self.file.text(name))
        } else if self.every_use {
            self.meaning(name)
        } else {
            Meaning::Other
        };
        match meaning {
            Meaning::Imported(import) => Meaning::Instance(import),
            _ => Meaning::Other,
        }
    }

    fn bound(&self, bound: BoundTo<'t>) -> Meaning {
        match bound {
            BoundTo::Unknown => Meaning::Other,
            BoundTo::Type(declared) => self.declared(declared),
            // Another name for an import is not followed.
            BoundTo::Value(value) => match self.meaning(value) {
                Meaning::Instance(import) => Meaning::Instance(import),
                _ => Meaning::Other,
            },
            BoundTo::InstanceOf(class) => match self.meaning(class) {
                Meaning::Imported(import) => Meaning::Instance(import),
                _ => Meaning::Other,
            },
        }
    }

    /// Returns the referents of a class's attributes, by name.
    fn attributes(&self, class: Node<'t>) -> BTreeMap<String, Meaning> {
        let mut attributes = BTreeMap::new();
        let file = self.file;
        let mut pending = vec![class];
        while let Some(node) = pending.pop() {
            if let Some((name, bound)) = (self.rules.attribute)(ClassSite { class, file }, node) {
                put(&mut attributes, self.file.text(name), &self.bound(bound));
            }
            let mut cursor = node.walk();
            pending.extend(
                node.named_children(&mut cursor)
                    .filter(|child| !self.rules.is_class(*child)),
            );
        }
        attributes
    }

    /// Adds the names that a node and the nodes below it bind to the innermost scope, except those
    /// of inner scopes and classes.
    fn bindings(&mut self, node: Node<'t>, scope: Node<'t>) {
        if is_import(self.file.language, node) {
            return;
        }
        let is_scope = node.id() == scope.id();
        let site = BindingSite {
            is_scope,
            every_use: self.every_use,
        };
        for (pattern, bound) in (self.rules.bindings)(node, site) {
            let meaning = self.bound(bound);
            self.bind(pattern, &meaning);
        }
        // The name of an inner function or class is bound in this scope, its contents are not.
        if !is_scope && (self.is_scope(node) || self.rules.is_class(node)) {
            return;
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.bindings(child, scope);
        }
    }

    /// Removes the names that a function declares as the file's from the innermost scope.
    fn leave_to_the_file(&mut self, function: Node<'t>) {
        let mut pending = vec![function];
        while let Some(node) = pending.pop() {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                // `global x` makes `x` the name of the file again.
                if self.rules.global_statements.contains(&node.kind()) {
                    let name = self.file.text(child);
                    if let Some(scope) = self.scopes.last_mut() {
                        scope.remove(name);
                    }
                } else if !self.is_scope(child) && !self.rules.is_class(child) {
                    pending.push(child);
                }
            }
        }
    }

    /// Returns the path by which the outermost scope knows a class.
    fn path_of(&self, class: Node<'t>) -> Option<String> {
        let name = class
            .child_by_field_name("name")
            .map(|name| self.file.text(name))?;
        match self.paths.last() {
            Some(outer) => outer.as_ref().map(|outer| format!("{outer}.{name}")),
            // The outermost scope does not know a class within a function.
            None if self.scopes.len() == 1 => Some(name.to_owned()),
            None => None,
        }
    }

    /// True if a name is a method's name for its object or class.
    fn is_own(&self, name: &str) -> bool {
        self.every_use && !self.paths.is_empty() && self.rules.own_names.contains(&name)
    }

    /// Binds the names of a pattern.
    fn bind(&mut self, pattern: Node<'t>, meaning: &Meaning) {
        let kind = pattern.kind();
        if !self.rules.pattern_names.contains(&kind) {
            if self.rules.unbound_patterns.contains(&kind) {
                return;
            }
            let mut cursor = pattern.walk();
            for child in pattern.named_children(&mut cursor) {
                // Nothing is known of the parts of a value.
                self.bind(child, &Meaning::Other);
            }
            return;
        }
        let name = self.file.text(pattern);
        if let Some(scope) = self.scopes.last_mut() {
            put(scope, name, meaning);
        }
    }

    fn is_scope(&self, node: Node<'_>) -> bool {
        self.file.language.is_function(node) || self.rules.scopes.contains(&node.kind())
    }
}

/// Adds a name; one with two different referents becomes [`Meaning::Other`].
fn put(names: &mut BTreeMap<String, Meaning>, name: &str, meaning: &Meaning) {
    names
        .entry(name.to_owned())
        .and_modify(|known| {
            // A name that is bound to two things is followed to neither.
            if known != meaning {
                *known = Meaning::Other;
            }
        })
        .or_insert_with(|| meaning.clone());
}
