//! Dependencies of code: the names it uses that its repository defines, in its file or imported,
//! with their definitions, to any depth.
//!
//! A dependency is a function, class, type or variable of a file's outermost scope, or a member of
//! such a class. It is found through imports as the language resolves them: aliases, relative
//! paths, packages and files that re-export their imports, also by `*`. A member is found if the
//! syntax shows its owner: an imported file, a class, the referent of `self`, `cls`, `this` or
//! `super`, an instance that is made in the function or at the file's outermost scope, or a
//! parameter with a declared type. It is also found in base classes. Not found are names looked up
//! at run time, members of what a function returns, attributes that only a constructor makes,
//! `require(…)` and the path aliases of `tsconfig.json`.
//!
//! The definitions around the code are not among its dependencies, nor is a file as a whole.

mod documented;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;

pub use documented::DocumentedFunction;

use fillrate_language::definitions::{Definition, DefinitionKind, Definitions, NameTarget, whole};
use fillrate_language::imports::ImportTarget;
use fillrate_language::names::NameRules;
use fillrate_language::outline::{Detail, outline};
use fillrate_language::scoring::syntax_identifiers;
use fillrate_language::{LANGUAGES, LanguageSupport, SourceFile};
use fillrate_syntax::text::LineIndex;
use tree_sitter::{Node, Tree};

use super::imports::{find_imports, is_import};
use super::uses::find_uses;

/// The files of a repository in the supported languages, each parsed on first use.
pub struct DependencyIndex<'a> {
    paths: BTreeSet<&'a str>,
    files: BTreeMap<&'a str, IndexedFile<'a>>,
}

/// Something that code uses and its repository defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Its name in the code, without its owner's.
    pub name: String,
    /// The file that defines it, relative to the repository's root.
    pub path: String,
    /// Range of the definition in the file, with its decorators and the documentation before it.
    pub range: Range<usize>,
    /// Kind of the definition.
    pub kind: DefinitionKind,
    /// The class it is a member of.
    pub owner: Option<String>,
    /// 1 if the code itself uses it, else one more than the depth of the dependency that uses it.
    pub depth: usize,
    /// True if it is called or instantiated.
    pub called: bool,
    /// Its number among the definitions of its file.
    index: usize,
}

/// A file with its index.
struct IndexedFile<'a> {
    file: &'a SourceFile,
    parsed: OnceLock<ParsedFile>,
    mentions: OnceLock<Vec<Mention>>,
}

struct ParsedFile {
    tree: Tree,
    definitions: Definitions,
}

/// A name in a file, and its possible referent.
struct Mention {
    at: Range<usize>,
    /// As [`find_uses`] returns it.
    path: String,
    called: bool,
}

/// A definition, by its file and its number among the file's.
type Id<'a> = (&'a str, usize);

/// Referent of a path of names.
#[derive(Clone, Debug)]
enum NameMeaning<'a> {
    /// A file, or in Python and Go a folder, named as imports name it.
    Module(String),
    Definition(Id<'a>),
    /// An instance of a class.
    Instance(Id<'a>),
}

/// The modules in which a name was looked up, each with the name.
type Seen = BTreeSet<(String, String)>;

/// Most steps by which a name is followed through aliases and base classes: more than real code
/// takes; it ends cycles.
const STEPS: usize = 32;

impl<'a> DependencyIndex<'a> {
    /// A repository of these files.
    pub fn new(files: &'a [SourceFile]) -> Self {
        let known = |file: &'a SourceFile| IndexedFile {
            file,
            parsed: OnceLock::new(),
            mentions: OnceLock::new(),
        };
        Self {
            paths: files.iter().map(|file| file.path.as_str()).collect(),
            files: files
                .iter()
                .map(|file| (file.path.as_str(), known(file)))
                .collect(),
        }
    }

    /// Returns the dependencies of the code in a range of a file, and theirs, to a depth of at
    /// least 1; each once, by depth, then in the order of first use. Definitions that `around`
    /// touches are left out: it is the range around the code, such as its function.
    pub fn dependencies(
        &self,
        path: &str,
        range: &Range<usize>,
        around: &Range<usize>,
        depth: usize,
    ) -> Vec<Dependency> {
        let Some((path, _)) = self.files.get_key_value(path) else {
            return Vec::new();
        };
        let own = |id: Id<'a>| {
            let there = &self.definition(id).range;
            id.0 == *path && there.start < around.end && around.start < there.end
        };
        let mut found: Vec<Dependency> = Vec::new();
        let mut places: BTreeMap<Id<'a>, usize> = BTreeMap::new();
        let mut pending = vec![(*path, range.clone())];
        for depth in 1..=depth {
            let mut next = Vec::new();
            for (path, range) in pending {
                let contents = &self.files[path].file.contents;
                for mention in self.mentions(path) {
                    if mention.at.start < range.start || mention.at.end > range.end {
                        continue;
                    }
                    let Some(NameMeaning::Definition(id)) =
                        self.resolve(path, &mention.path, STEPS)
                    else {
                        continue;
                    };
                    // A definition that mentions itself, as by recursion, does not depend on
                    // itself.
                    let inside = id.0 == path && self.definition(id).range == range;
                    if own(id) || inside {
                        continue;
                    }
                    if let Some(place) = places.get(&id) {
                        // Uses by deeper code do not change how the code itself uses it.
                        let known = &mut found[*place];
                        known.called |= mention.called && known.depth == depth;
                        continue;
                    }
                    places.insert(id, found.len());
                    let definition = self.definition(id);
                    next.push((id.0, definition.range.clone()));
                    found.push(Dependency {
                        name: contents[mention.at.clone()].to_owned(),
                        path: id.0.to_owned(),
                        range: definition.range.clone(),
                        kind: definition.kind,
                        owner: self.owner(id),
                        depth,
                        called: mention.called,
                        index: id.1,
                    });
                }
            }
            pending = next;
        }
        found
    }

    /// The names that the code in a range of a file uses and the repository defines, as the code
    /// calls them, each once. A member of a class that is used by name itself is left to that.
    pub fn names_used(&self, path: &str, range: &Range<usize>) -> Vec<String> {
        let around = self.function_around(path, range);
        let around = around.unwrap_or_else(|| range.clone());
        let found = self.dependencies(path, range, &around, 1);
        let mut seen = BTreeSet::new();
        outermost(&found)
            .into_iter()
            .map(|dependency| dependency.name.clone())
            .filter(|name| seen.insert(name.clone()))
            .collect()
    }

    /// Returns the dependencies of the code in a range of a file as RepoExec's script finds them:
    /// the [names used](Self::names_used) and the names that the code shares with the file's
    /// imports, from anywhere.
    pub fn names_used_or_imported(&self, path: &str, range: &Range<usize>) -> Vec<String> {
        let mut names: BTreeSet<String> = self.names_used(path, range).into_iter().collect();
        if let Some(known) = self.files.get(path) {
            let SourceFile {
                contents, language, ..
            } = known.file;
            let used = syntax_identifiers(&contents[range.clone()], language);
            for import in self.imports(path) {
                let imported = syntax_identifiers(&contents[import], language);
                names.extend(imported.intersection(&used).map(|name| (*name).to_owned()));
            }
        }
        names.into_iter().collect()
    }

    /// Returns the range, with decorators, of the function around a range of a file: the outermost
    /// one, or the one that is a method.
    pub fn function_around(&self, path: &str, range: &Range<usize>) -> Option<Range<usize>> {
        let known = self.files.get(path)?;
        let language = known.file.language;
        let mut node = self
            .parsed(path)?
            .tree
            .root_node()
            .descendant_for_byte_range(range.start, range.end)?;
        let mut function = None;
        loop {
            if language.is_function(node) {
                function = Some(node);
            }
            let is_class = language.is_definition(node) && !language.is_function(node);
            if is_class && function.is_some() {
                break;
            }
            match node.parent() {
                Some(parent) => node = parent,
                None => break,
            }
        }
        let mut node = function?;
        let wrappers = LanguageSupport::for_language(language)
            .dependencies
            .definition_wrappers;
        // Decorators and `export` are parts of a node around the definition.
        while let Some(parent) = node
            .parent()
            .filter(|parent| wrappers.contains(&parent.kind()))
        {
            node = parent;
        }
        Some(whole(node, known.file))
    }

    /// A function's range without its decorators, if they are not part of the function itself.
    pub fn without_decorators(&self, path: &str, function: &Range<usize>) -> Range<usize> {
        let start = self
            .parsed(path)
            .and_then(|parsed| {
                let root = parsed.tree.root_node();
                root.descendant_for_byte_range(function.start, function.end)
            })
            // A `decorated_definition` of Python has the function itself in this field.
            .and_then(|node| node.child_by_field_name("definition"))
            .map_or(function.start, |definition| definition.start_byte());
        start..function.end
    }

    /// Returns the ranges of the statements that import something into a file, from anywhere.
    pub fn imports(&self, path: &str) -> Vec<Range<usize>> {
        let Some((known, parsed)) = self.files.get(path).zip(self.parsed(path)) else {
            return Vec::new();
        };
        let language = known.file.language;
        let root = parsed.tree.root_node();
        let mut cursor = root.walk();
        root.children(&mut cursor)
            .filter(|node| is_import(language, *node))
            .map(|node| node.byte_range())
            .collect()
    }

    /// Returns the heads of the classes around a range of a file, the outermost first, each from
    /// the beginning of its line to the beginning of its members.
    pub fn heads_around(&self, path: &str, range: &Range<usize>) -> Vec<String> {
        let mut heads = Vec::new();
        let Some((known, parsed)) = self.files.get(path).zip(self.parsed(path)) else {
            return heads;
        };
        let contents = &known.file.contents;
        let rules = LanguageSupport::for_language(known.file.language).names;
        let mut node = parsed
            .tree
            .root_node()
            .descendant_for_byte_range(range.start, range.start);
        while let Some(current) = node {
            let body = current.child_by_field_name("body").filter(|body| {
                rules.is_class(current)
                    && body.start_byte() <= range.start
                    && range.end <= body.end_byte()
            });
            if let Some(body) = body {
                let line = known.file.line_start(current.start_byte());
                // With its brace, the head is a text to which members can be added.
                let brace = usize::from(!known.file.language.indented_blocks);
                heads.push(contents[line..body.start_byte() + brace].to_owned());
            }
            node = current.parent();
        }
        heads.reverse();
        heads
    }

    /// True if a dependency is a member of a class around a range of a file.
    pub fn shares_class(&self, dependency: &Dependency, path: &str, range: &Range<usize>) -> bool {
        let Some(parsed) = self
            .parsed(&dependency.path)
            .filter(|_| dependency.path == path)
        else {
            return false;
        };
        let all = &parsed.definitions.all;
        all[dependency.index].owner.is_some_and(|owner| {
            let class = &all[owner].range;
            class.start <= range.start && range.end <= class.end
        })
    }

    /// Returns the offset of the first statement of a file that imports from the module that a
    /// dependency's name comes from, or from the dependency's file.
    pub fn import_of(&self, path: &str, dependency: &Dependency) -> Option<usize> {
        let definitions = &self.parsed(path)?.definitions;
        let module = match definitions.scope.get(&dependency.name) {
            Some(NameTarget::Imported { from, .. }) => Some(from),
            _ => None,
        };
        let is_source = |from: &String| match module {
            Some(module) => from == module,
            None => self.file_of(from) == Some(&*dependency.path),
        };
        let mut imported = definitions.imported.iter();
        imported
            .find(|(from, _)| is_source(from))
            .map(|(_, at)| *at)
    }

    /// The files, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = &'a SourceFile> {
        self.files.values().map(|known| known.file)
    }

    /// The zero-based line in which a dependency's definition begins.
    pub fn line_of(&self, dependency: &Dependency) -> usize {
        self.files.get(dependency.path.as_str()).map_or(0, |known| {
            LineIndex::new(&known.file.contents).line(dependency.range.start)
        })
    }

    /// A dependency's definition in some detail.
    pub fn text(&self, dependency: &Dependency, detail: Detail) -> String {
        let Some((known, parsed)) = self
            .files
            .get(dependency.path.as_str())
            .zip(self.parsed(&dependency.path))
        else {
            return String::new();
        };
        let definition = &parsed.definitions.all[dependency.index];
        let rules = LanguageSupport::for_language(known.file.language).dependencies;
        outline(
            rules.outline,
            definition,
            parsed.tree.root_node(),
            known.file,
            detail,
        )
    }

    /// Returns the function that a call of this runs: itself, or the constructor of a class that
    /// has one.
    pub fn callee(&self, dependency: &Dependency) -> Option<Dependency> {
        match dependency.kind {
            DefinitionKind::Function => Some(dependency.clone()),
            DefinitionKind::Class => {
                let (path, _) = self.files.get_key_value(dependency.path.as_str())?;
                let class = (*path, dependency.index);
                let constructor = LANGUAGES.iter().find_map(|language| {
                    let name = language.dependencies.constructor;
                    self.member_of_class(class, name, STEPS, &mut BTreeSet::new())
                })?;
                let definition = self.definition(constructor);
                Some(Dependency {
                    path: constructor.0.to_owned(),
                    range: definition.range.clone(),
                    kind: definition.kind,
                    owner: self.owner(constructor),
                    index: constructor.1,
                    ..dependency.clone()
                })
            }
            DefinitionKind::Variable | DefinitionKind::Type => None,
        }
    }

    fn parsed(&self, path: &str) -> Option<&ParsedFile> {
        let known = self.files.get(path)?;
        Some(known.parsed.get_or_init(|| {
            let tree = known.file.language.parse(&known.file.contents);
            let definitions = find_definitions(tree.root_node(), known.file, &self.paths);
            ParsedFile { tree, definitions }
        }))
    }

    fn definition(&self, id: Id<'a>) -> &Definition {
        let parsed = self
            .parsed(id.0)
            .expect("a definition's file is one of the repository's");
        &parsed.definitions.all[id.1]
    }

    fn owner(&self, id: Id<'a>) -> Option<String> {
        let owner = self.definition(id).owner?;
        Some(self.definition((id.0, owner)).name.clone())
    }

    fn mentions(&self, path: &'a str) -> &[Mention] {
        let known = &self.files[path];
        known.mentions.get_or_init(|| {
            let Some(parsed) = self.parsed(path) else {
                return Vec::new();
            };
            let names = self.names(path, &mut BTreeSet::new());
            let rules = LanguageSupport::for_language(known.file.language).names;
            find_uses(parsed.tree.root_node(), known.file, &names)
                .into_iter()
                .map(|used| Mention {
                    at: used.token.byte_range(),
                    path: used.name,
                    called: is_called(used.token, rules),
                })
                .collect()
        })
    }

    /// The names of a file's outermost scope.
    fn names(&self, path: &'a str, seen: &mut BTreeSet<&'a str>) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let Some(parsed) = self.parsed(path) else {
            return names;
        };
        if !seen.insert(path) {
            return names;
        }
        names.extend(parsed.definitions.scope.keys().cloned());
        for from in &parsed.definitions.re_exported {
            if let Some(file) = self.file_of(from) {
                // `import *` in Python leaves out names that begin with `_`.
                let theirs = self.names(file, seen);
                names.extend(theirs.into_iter().filter(|name| !name.starts_with('_')));
            }
        }
        names
    }

    /// Returns the file that an import refers to, if it refers to one.
    fn file_of(&self, from: &str) -> Option<&'a str> {
        let file = |path: &str| self.files.get_key_value(path).map(|(path, _)| *path);
        file(from).or_else(|| {
            LANGUAGES
                .iter()
                .flat_map(|language| (language.dependencies.module_files)(from, &self.paths))
                .find_map(|path| file(&path))
        })
    }

    /// Returns the referent in a file of a path of names, as [`find_uses`] returns it.
    fn resolve(&self, path: &'a str, names: &str, steps: usize) -> Option<NameMeaning<'a>> {
        // In these paths, `f()` stands for the value of a call of `f`.
        let mut parts = names.split('.');
        let first = parts.next()?;
        let mut entity = self.in_scope(path, first.trim_end_matches("()"), &mut Seen::new())?;
        entity = self.called(entity, first, steps)?;
        for part in parts {
            let name = part.trim_end_matches("()");
            entity = self.member(&entity, name, steps)?;
            entity = self.called(entity, part, steps)?;
        }
        Some(entity)
    }

    /// Returns the result of a call if the name is called, else the referent itself.
    fn called(&self, entity: NameMeaning<'a>, part: &str, steps: usize) -> Option<NameMeaning<'a>> {
        if !part.ends_with("()") {
            return Some(entity);
        }
        match entity {
            NameMeaning::Definition(id) => match self.definition(id).kind {
                DefinitionKind::Class | DefinitionKind::Type => Some(NameMeaning::Instance(id)),
                DefinitionKind::Variable => match self.value(id, steps)? {
                    // `value` returned something, so at least one step is left, and this does not
                    // underflow.
                    NameMeaning::Definition(of) => {
                        self.called(NameMeaning::Definition(of), part, steps - 1)
                    }
                    _ => None,
                },
                // What a function returns is not known.
                DefinitionKind::Function => None,
            },
            // `Class().super` is an instance already, so its `()` is no call of one.
            instance @ NameMeaning::Instance(_) => Some(instance),
            NameMeaning::Module(_) => None,
        }
    }

    /// Returns the referent of a variable's value, if its definition shows it.
    fn value(&self, id: Id<'a>, steps: usize) -> Option<NameMeaning<'a>> {
        let value = self.definition(id).value.as_ref()?;
        self.resolve(id.0, value, steps.checked_sub(1)?)
    }

    /// Returns the referent of a name in the outermost scope of a file. `seen` holds the modules
    /// searched so far, so that files that re-export each other's names do not cause an endless
    /// loop.
    fn in_scope(&self, path: &'a str, name: &str, seen: &mut Seen) -> Option<NameMeaning<'a>> {
        let definitions = &self.parsed(path)?.definitions;
        match definitions.scope.get(name) {
            Some(bound) => self.bound(path, bound, seen),
            None => self.through(&definitions.re_exported, name, seen),
        }
    }

    fn bound(&self, path: &'a str, bound: &NameTarget, seen: &mut Seen) -> Option<NameMeaning<'a>> {
        match bound {
            NameTarget::Here(index) => Some(NameMeaning::Definition((path, *index))),
            NameTarget::Imported { from, target } => match target {
                ImportTarget::Module | ImportTarget::Everything => {
                    Some(NameMeaning::Module(from.clone()))
                }
                ImportTarget::Member(name) => self.member_of_module(from, name, seen),
            },
        }
    }

    /// Returns the referent of a name in the first of these modules that has it.
    fn through(&self, modules: &[String], name: &str, seen: &mut Seen) -> Option<NameMeaning<'a>> {
        modules
            .iter()
            .find_map(|from| self.member_of_module(from, name, seen))
    }

    fn member_of_module(&self, from: &str, name: &str, seen: &mut Seen) -> Option<NameMeaning<'a>> {
        if !seen.insert((from.to_owned(), name.to_owned())) {
            return None;
        }
        if let Some(path) = self.file_of(from) {
            let definitions = &self.parsed(path)?.definitions;
            let found = match &definitions.exports {
                Some(exports) => match exports.get(name) {
                    Some(bound) => self.bound(path, bound, seen),
                    None => self.through(&definitions.re_exported, name, seen),
                },
                None => self.in_scope(path, name, seen),
            };
            // Only a list of exports is complete: a package may have a module of this name instead.
            if found.is_some() || definitions.exports.is_some() {
                return found;
            }
        }
        let below = match from {
            "" => name.to_owned(),
            _ => format!("{from}/{name}"),
        };
        let is_there = self.file_of(&below).is_some()
            || LANGUAGES
                .iter()
                .any(|language| (language.dependencies.is_package)(&self.paths, &below));
        is_there.then_some(NameMeaning::Module(below))
    }

    fn member(&self, of: &NameMeaning<'a>, name: &str, steps: usize) -> Option<NameMeaning<'a>> {
        let steps = steps.checked_sub(1)?;
        match of {
            NameMeaning::Module(from) => self.member_of_module(from, name, &mut Seen::new()),
            NameMeaning::Definition(id) | NameMeaning::Instance(id) => {
                if self.definition(*id).kind == DefinitionKind::Variable {
                    let value = self.value(*id, steps)?;
                    return self.member(&value, name, steps);
                }
                if name == "super" {
                    let base = self.bases(*id, steps).into_iter().next()?;
                    return Some(NameMeaning::Instance(base));
                }
                self.member_of_class(*id, name, steps, &mut BTreeSet::new())
                    .map(NameMeaning::Definition)
            }
        }
    }

    /// Returns a member of a class or of its base classes; `seen` holds the classes searched so
    /// far.
    fn member_of_class(
        &self,
        class: Id<'a>,
        name: &str,
        steps: usize,
        seen: &mut BTreeSet<Id<'a>>,
    ) -> Option<Id<'a>> {
        let steps = steps.checked_sub(1)?;
        if !seen.insert(class) {
            return None;
        }
        if let Some(index) = self.definition(class).members.get(name) {
            return Some((class.0, *index));
        }
        self.bases(class, steps)
            .into_iter()
            .find_map(|base| self.member_of_class(base, name, steps, seen))
    }

    fn bases(&self, class: Id<'a>, steps: usize) -> Vec<Id<'a>> {
        let Some(steps) = steps.checked_sub(1) else {
            return Vec::new();
        };
        self.definition(class)
            .bases
            .iter()
            .filter_map(|base| match self.resolve(class.0, base, steps)? {
                NameMeaning::Definition(id) => Some(id),
                _ => None,
            })
            .collect()
    }
}

/// Those whose definition is not a part of another's.
pub fn outermost(dependencies: &[Dependency]) -> Vec<&Dependency> {
    let within = |one: &Dependency, other: &Dependency| {
        one.path == other.path
            && one.range != other.range
            && other.range.start <= one.range.start
            && one.range.end <= other.range.end
    };
    dependencies
        .iter()
        .filter(|one| !dependencies.iter().any(|other| within(one, other)))
        .collect()
}

/// Returns the definitions and exports of a file.
fn find_definitions(root: Node<'_>, file: &SourceFile, files: &BTreeSet<&str>) -> Definitions {
    let mut found = Definitions::default();
    for import in find_imports(root, file, files) {
        found.imported.push((import.from.clone(), import.at));
        match import.name {
            Some(name) => {
                let target = NameTarget::Imported {
                    from: import.from,
                    target: import.target,
                };
                found.scope.entry(name).or_insert(target);
            }
            None => found.re_exported.push(import.from),
        }
    }
    let rules = LanguageSupport::for_language(file.language).dependencies;
    (rules.define)(root, file, files, &mut found);
    found
}

/// True if a name, with its owner, is called.
fn is_called(token: Node<'_>, rules: &NameRules) -> bool {
    let mut node = token;
    while let Some(parent) = node.parent() {
        let is = |other: Node<'_>| other.id() == node.id();
        let called = rules.callee(parent).or_else(|| rules.instantiated(parent));
        if called.is_some_and(is) {
            return true;
        }
        if rules.members.contains(&parent.kind())
            && (rules.member)(parent).is_some_and(|(_, member)| is(member))
        {
            node = parent;
            continue;
        }
        return false;
    }
    false
}

#[cfg(test)]
mod tests;
