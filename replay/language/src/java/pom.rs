//! Maven's builds of several modules: where they are, what each depends on, and a `pom.xml` of one
//! module's archives alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::super::imports::joined_path;
use super::modules::{SiblingModule, build_tops, closure};

/// Name of Maven's description of a project.
pub(super) const POM: &str = "pom.xml";

/// An element of a `pom.xml`, without attributes and comments.
#[derive(Clone, Debug, Default)]
struct Element {
    name: String,
    text: String,
    children: Vec<Element>,
}

impl Element {
    /// Parses a document; `None` if it is no XML.
    fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader::from_str(text);
        // An outermost element holds the root, so that every element on the stack has a parent.
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().ok()? {
                Event::Start(start) => open.push(Self::named(start.local_name().as_ref())),
                Event::Empty(empty) => {
                    let element = Self::named(empty.local_name().as_ref());
                    open.last_mut()?.children.push(element);
                }
                Event::End(_) => {
                    let element = open.pop()?;
                    open.last_mut()?.children.push(element);
                }
                Event::Text(part) => open.last_mut()?.text.push_str(part.as_ref()),
                // quick-xml reports an entity reference as an event of its own, not as text.
                Event::GeneralRef(name) => {
                    let letter = match name.as_ref() {
                        "amp" => "&",
                        "lt" => "<",
                        "gt" => ">",
                        "apos" => "'",
                        "quot" => "\"",
                        _ => "",
                    };
                    open.last_mut()?.text.push_str(letter);
                }
                Event::Eof => break,
                _ => {}
            }
        }
        let document = open.into_iter().next()?;
        document.children.into_iter().next()
    }

    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// The first element at a path of names below this one.
    fn at(&self, path: &[&str]) -> Option<&Self> {
        let Some((name, rest)) = path.split_first() else {
            return Some(self);
        };
        let found = self.children.iter().find(|child| child.name == *name)?;
        found.at(rest)
    }

    /// The text of a child; empty if it is absent.
    fn text_of(&self, name: &str) -> &str {
        self.at(&[name]).map_or("", |child| child.text.trim())
    }

    /// Writes it, with each text as `replaced` returns it.
    fn write(&self, out: &mut String, replaced: &dyn Fn(&str) -> String) {
        let _ = write!(out, "<{}>", self.name);
        // Text next to child elements is white space.
        if self.children.is_empty() {
            let text = replaced(self.text.trim());
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            out.push_str(&text);
        }
        for child in &self.children {
            child.write(out, replaced);
        }
        let _ = writeln!(out, "</{}>", self.name);
    }
}

/// The modules of a build by their folders; `""` is the top.
pub(super) struct MavenBuild {
    modules: BTreeMap<String, Element>,
}

/// A dependency of a module, and the module.
type Dependency<'a> = (&'a str, &'a Element);

impl MavenBuild {
    /// Reads the build that the module in a folder belongs to: of the outermost folder around it
    /// whose modules lead to it. `None` if it has no `pom.xml`.
    pub(super) fn around(folder: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let folder = folder.trim_matches(['/', '.']);
        build_tops(folder)
            .map(|top| Self::read(top, read))
            .find(|build| build.modules.contains_key(folder))
    }

    /// Reads the modules that a `pom.xml` lists, and those that they list.
    pub(super) fn read(top: &str, read: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut modules = BTreeMap::new();
        let mut left = vec![top.to_owned()];
        while let Some(folder) = left.pop() {
            if modules.contains_key(&folder) {
                continue;
            }
            let text = joined_path(&folder, POM).and_then(|path| read(&path));
            let Some(pom) = text.and_then(|text| Element::parse(&text)) else {
                continue;
            };
            let listed = pom.at(&["modules"]).into_iter();
            for module in listed.flat_map(|modules| &modules.children) {
                let name = module.text.trim();
                let name = name.strip_suffix("/pom.xml").unwrap_or(name);
                left.extend(joined_path(&folder, name));
            }
            modules.insert(folder, pom);
        }
        Self { modules }
    }

    /// The folders of its modules without the top, sorted.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        let folders = self.modules.keys().map(String::as_str);
        folders.filter(|folder| !folder.is_empty())
    }

    /// The name of a module.
    pub(super) fn name(&self, folder: &str) -> Option<&str> {
        let name = self.modules.get(folder)?.text_of("artifactId");
        (!name.is_empty()).then_some(name)
    }

    /// A module's folder and those of its ancestors in the build, its own first.
    fn chain(&self, folder: &str) -> Vec<&str> {
        let mut chain: Vec<&str> = Vec::new();
        let mut next = self.modules.get_key_value(folder);
        while let Some((folder, pom)) = next {
            // A cycle of parents would never end.
            if chain.contains(&folder.as_str()) {
                break;
            }
            chain.push(folder);
            let parent = pom.at(&["parent"]);
            next = parent.and_then(|parent| {
                let id = (parent.text_of("groupId"), parent.text_of("artifactId"));
                let mut all = self.modules.iter();
                all.find(|(folder, _)| self.id(folder) == (id.0.to_owned(), id.1.to_owned()))
            });
        }
        chain
    }

    /// A value of a module or, without it, of its parent.
    fn own_or_parents(&self, folder: &str, name: &str) -> String {
        let pom = &self.modules[folder];
        let own = pom.text_of(name);
        let parents = pom
            .at(&["parent"])
            .map_or("", |parent| parent.text_of(name));
        match own {
            "" => parents.to_owned(),
            own => own.to_owned(),
        }
    }

    /// The group and the name of a module.
    fn id(&self, folder: &str) -> (String, String) {
        let name = self.modules[folder].text_of("artifactId").to_owned();
        (self.own_or_parents(folder, "groupId"), name)
    }

    /// A text of a module with the values that depend on the module, and `root` as its base folder.
    fn with_own_values(&self, folder: &str, text: &str, root: &str) -> String {
        let mut text = text.to_owned();
        if !text.contains("${") {
            return text;
        }
        for name in ["groupId", "version", "artifactId"] {
            let own = self.own_or_parents(folder, name);
            let parent = self.modules[folder].at(&["parent"]);
            let parents = parent.map_or("", |parent| parent.text_of(name));
            for mark in ["project.", "pom.", ""] {
                text = text.replace(&format!("${{{mark}{name}}}"), &own);
            }
            text = text.replace(&format!("${{project.parent.{name}}}"), parents);
        }
        for mark in ["project.basedir", "basedir", "project.baseUri"] {
            text = text.replace(&format!("${{{mark}}}"), &format!("{root}/{folder}"));
        }
        text
    }

    /// The elements of a list of a module: the project's own, and of profiles that are active by
    /// default; then its ancestors'.
    fn inherited(&self, folder: &str, path: &[&str]) -> Vec<Dependency<'_>> {
        let mut found = Vec::new();
        for folder in self.chain(folder) {
            let pom = &self.modules[folder];
            let profiles = pom.at(&["profiles"]).into_iter();
            let active = profiles.flat_map(|all| &all.children).filter(|profile| {
                let activation = profile.at(&["activation", "activeByDefault"]);
                activation.is_some_and(|active| active.text.trim() == "true")
            });
            for owner in std::iter::once(pom).chain(active) {
                let listed = owner.at(path).into_iter();
                found.extend(
                    listed
                        .flat_map(|list| &list.children)
                        .map(|one| (folder, one)),
                );
            }
        }
        found
    }

    /// The module that a dependency is, if it is one of the build.
    fn module_of(&self, (folder, dependency): Dependency<'_>) -> Option<&str> {
        let value = |name: &str| self.with_own_values(folder, dependency.text_of(name), "");
        let id = (value("groupId"), value("artifactId"));
        let mut all = self.modules.keys().map(String::as_str);
        all.find(|folder| self.id(folder) == id)
    }

    /// The dependencies that compile and run a module and its tests, and the modules among them
    /// with what those depend on.
    fn closure(&self, folder: &str) -> (Vec<Dependency<'_>>, Vec<SiblingModule>) {
        let mut archives = Vec::new();
        let siblings = closure(folder, |module, is_own| {
            let mut needed = Vec::new();
            for one in self.inherited(module, &["dependencies"]) {
                let (_, dependency) = one;
                if !is_own && dependency.text_of("scope") == "test" {
                    continue;
                }
                match self.module_of(one) {
                    Some(sibling) => needed.push(SiblingModule {
                        folder: sibling.to_owned(),
                        has_tests: dependency.text_of("type") == "test-jar"
                            || dependency.text_of("classifier") == "tests",
                    }),
                    None => archives.push(one),
                }
            }
            needed
        });
        (archives, siblings)
    }

    /// The modules of the build that a module depends on, directly or not.
    pub(super) fn siblings(&self, folder: &str) -> Vec<SiblingModule> {
        self.closure(folder).1
    }

    /// A `pom.xml` that depends on the archives of a module and of those that it depends on, and
    /// builds nothing: neither modules nor plugins, which Maven would fetch. `root` is the
    /// repository's folder.
    pub(super) fn archives_pom(&self, folder: &str, root: &str) -> Option<String> {
        self.modules.get(folder)?;
        let mut out = String::from("<project><modelVersion>4.0.0</modelVersion>\n");
        let top = self.chain(folder).last().copied().unwrap_or(folder);
        if let Some(parent) = self.modules[top].at(&["parent"]) {
            let mut outer = parent.clone();
            // With an empty `relativePath`, Maven fetches the parent and does not look in the
            // folder above.
            outer.children.retain(|child| child.name != "relativePath");
            outer.children.push(Element::named("relativePath"));
            outer.write(&mut out, &str::to_owned);
        }
        let version = self.own_or_parents(folder, "version");
        let _ = writeln!(
            out,
            "<groupId>fillrate</groupId><artifactId>archives</artifactId><version>{}</version>",
            match version.contains("${") || version.is_empty() {
                true => "1",
                false => &version,
            }
        );
        let (archives, siblings) = self.closure(folder);
        let siblings = siblings.iter().map(|sibling| sibling.folder.as_str());
        let involved: Vec<&str> = std::iter::once(folder).chain(siblings).collect();
        for name in ["properties", "repositories"] {
            let _ = writeln!(out, "<{name}>");
            let mut known = BTreeSet::new();
            for module in &involved {
                for (folder, element) in self.inherited(module, &[name]) {
                    let key = match name {
                        "properties" => element.name.as_str(),
                        _ => element.text_of("id"),
                    };
                    // A module's own elements come before its ancestors', so the first of a key is
                    // in force.
                    if known.insert(key) {
                        let own = |text: &str| self.with_own_values(folder, text, root);
                        element.write(&mut out, &own);
                    }
                }
            }
            let _ = writeln!(out, "</{name}>");
        }
        let mut managed = Vec::new();
        let mut seen = BTreeSet::new();
        for module in &involved {
            self.add_managed(module, &mut managed, &mut seen);
        }
        out.push_str("<dependencyManagement><dependencies>\n");
        self.write_dependencies(&mut out, managed, root);
        out.push_str("</dependencies></dependencyManagement>\n<dependencies>\n");
        self.write_dependencies(&mut out, archives, root);
        out.push_str("</dependencies></project>\n");
        Some(out)
    }

    /// Adds the dependencies that a module manages; those of an imported module are its own.
    fn add_managed<'a>(
        &'a self,
        folder: &str,
        managed: &mut Vec<Dependency<'a>>,
        seen: &mut BTreeSet<String>,
    ) {
        if !seen.insert(folder.to_owned()) {
            return;
        }
        for one in self.inherited(folder, &["dependencyManagement", "dependencies"]) {
            match self.module_of(one) {
                Some(module) if one.1.text_of("scope") == "import" => {
                    self.add_managed(module, managed, seen);
                }
                // Modules of the build are compiled from their sources and never fetched.
                Some(_) => {}
                None => managed.push(one),
            }
        }
    }

    /// Writes each dependency once, as its first place has it.
    fn write_dependencies(&self, out: &mut String, all: Vec<Dependency<'_>>, root: &str) {
        let mut known = BTreeSet::new();
        for (folder, dependency) in all {
            let own = |text: &str| self.with_own_values(folder, text, root);
            let key = ["groupId", "artifactId", "type", "classifier"]
                .map(|name| own(dependency.text_of(name)));
            if known.insert(key) {
                dependency.write(out, &own);
            }
        }
    }
}

/// Adds packages with their dependencies to a `pom.xml` of archives, or to an empty one; `None` if
/// there is nothing to fetch. Each package is GROUP:ARTIFACT:VERSION.
pub(super) fn with_requirements(pom: Option<&str>, requires: &[String]) -> Option<String> {
    let mut listed = String::new();
    for package in requires {
        listed.push_str("<dependency>");
        let names = ["groupId", "artifactId", "version"];
        for (name, part) in names.iter().zip(package.split(':')) {
            let _ = write!(listed, "<{name}>{part}</{name}>");
        }
        listed.push_str("</dependency>\n");
    }
    match (pom, listed.is_empty()) {
        (None, true) => None,
        (Some(pom), true) => Some(pom.to_owned()),
        (Some(pom), false) => {
            // The last list is the project's own; the one before is that of `dependencyManagement`.
            let (start, end) = pom.rsplit_once("</dependencies>")?;
            Some(format!("{start}{listed}</dependencies>{end}"))
        }
        (None, false) => Some(format!(
            "<project><modelVersion>4.0.0</modelVersion><groupId>fillrate</groupId>\
             <artifactId>archives</artifactId><version>1</version>\n<dependencies>\n\
             {listed}</dependencies></project>\n"
        )),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    const TOP: &str = "<?xml version='1.0'?>
<project xmlns='http://maven.apache.org/POM/4.0.0'>
  <groupId>org.demo</groupId><artifactId>demo-parent</artifactId><version>2</version>
  <packaging>pom</packaging>
  <modules><module>core</module><module>ext/tables</module><module>util</module></modules>
  <properties><junit>5.9.2</junit><v>${project.version}</v></properties>
  <build><plugins><plugin><extensions>true</extensions></plugin></plugins></build>
  <dependencyManagement><dependencies>
    <dependency><groupId>org.demo</groupId><artifactId>demo-core</artifactId><version>${v}</version></dependency>
    <dependency><groupId>org.junit</groupId><artifactId>junit</artifactId><version>${junit}</version></dependency>
  </dependencies></dependencyManagement>
</project>";

    fn module(name: &str, dependencies: &str) -> String {
        format!(
            "<project><parent><groupId>org.demo</groupId><artifactId>demo-parent</artifactId>\
             <version>2</version></parent><artifactId>demo-{name}</artifactId>\
             <dependencies>{dependencies}</dependencies></project>"
        )
    }

    fn read(path: &str) -> Option<String> {
        let of = |name: &str, scope: &str| {
            format!(
                "<dependency><groupId>${{project.groupId}}</groupId><artifactId>{name}</artifactId>\
                 <scope>{scope}</scope></dependency>"
            )
        };
        let outer = |name: &str| {
            format!(
                "<dependency><groupId>org.{name}</groupId><artifactId>{name}</artifactId></dependency>"
            )
        };
        Some(match path {
            "pom.xml" => TOP.to_owned(),
            "core/pom.xml" => module("core", &(outer("lang") + &of("demo-util", "test"))),
            "ext/tables/pom.xml" => module(
                "tables",
                &(of("demo-core", "compile") + &of("demo-util", "test")),
            ),
            "util/pom.xml" => module("util", &outer("junit")),
            "examples/pom.xml" => module("examples", ""),
            _ => return None,
        })
    }

    #[test]
    fn modules_are_those_that_the_build_lists() {
        let build = MavenBuild::around("ext/tables", &read).expect("it is listed");
        assert_eq!(
            build.folders().collect::<Vec<_>>(),
            ["core", "ext/tables", "util"]
        );
        assert_eq!(build.name("ext/tables"), Some("demo-tables"));
        let alone = MavenBuild::around("examples", &read).expect("it has a pom.xml");
        assert_eq!(alone.folders().collect::<Vec<_>>(), ["examples"]);
        assert!(MavenBuild::around("nothing", &read).is_none());
    }

    #[test]
    fn siblings_are_what_a_module_depends_on_without_their_tests() {
        let build = MavenBuild::around("core", &read).expect("it is listed");
        let names = |folder: &str| {
            let siblings = build.siblings(folder).into_iter();
            siblings.map(|one| one.folder).collect::<Vec<_>>()
        };
        assert_eq!(names("ext/tables"), ["core", "util"]);
        assert_eq!(names("core"), ["util"]);
        assert_eq!(names("util"), [""; 0]);
    }

    #[test]
    fn the_pom_of_archives_has_no_module_and_no_plugin() {
        let build = MavenBuild::around("ext/tables", &read).expect("it is listed");
        let pom = build.archives_pom("ext/tables", "/repo").expect("it is");
        assert_snapshot!(pom.replace('\n', ""), @"<project><modelVersion>4.0.0</modelVersion><groupId>fillrate</groupId><artifactId>archives</artifactId><version>2</version><properties><junit>5.9.2</junit><v>2</v></properties><repositories></repositories><dependencyManagement><dependencies><dependency><groupId>org.junit</groupId><artifactId>junit</artifactId><version>${junit}</version></dependency></dependencies></dependencyManagement><dependencies><dependency><groupId>org.junit</groupId><artifactId>junit</artifactId></dependency><dependency><groupId>org.lang</groupId><artifactId>lang</artifactId></dependency></dependencies></project>");
        assert!(Element::parse(&pom).is_some());
    }

    #[test]
    fn a_parent_from_elsewhere_stays_the_parent() {
        let text = "<project><parent><groupId>org.boot</groupId><artifactId>boot</artifactId>\
                    <version>3</version><relativePath>../x</relativePath></parent>\
                    <artifactId>a</artifactId><dependencies><dependency><groupId>g</groupId>\
                    <artifactId>b</artifactId><systemPath>${basedir}/b&amp;.jar</systemPath>\
                    </dependency></dependencies></project>";
        let read = |path: &str| (path == "x/pom.xml").then(|| text.to_owned());
        let build = MavenBuild::around("x", &read).expect("it has a pom.xml");
        let pom = build.archives_pom("x", "/repo").expect("it is");
        assert!(pom.contains("<artifactId>boot</artifactId>"), "{pom}");
        assert!(
            pom.contains("<relativePath></relativePath>") && !pom.contains("../x"),
            "{pom}"
        );
        assert!(
            pom.contains("<systemPath>/repo/x/b&amp;.jar</systemPath>"),
            "{pom}"
        );
    }
}
