//! Gradle's builds, as far as their files can be read without running them: they are programs.

use std::collections::{BTreeMap, BTreeSet};

use super::super::environment::PackageManager;
use super::super::imports::joined_path;
use super::environment::Jars;
use super::modules::{SiblingModule, build_tops, closure};

/// Gradle's descriptions of a project, in Groovy and in Kotlin.
pub(super) const BUILDS: [&str; 2] = ["build.gradle", "build.gradle.kts"];

/// Gradle's lists of projects.
const SETTINGS: [&str; 2] = ["settings.gradle", "settings.gradle.kts"];

/// The files that show a folder of Gradle.
pub(super) const FILES: [&str; 4] = [BUILDS[0], BUILDS[1], SETTINGS[0], SETTINGS[1]];

/// Gradle's list of packages with names and versions.
const CATALOG: &str = "gradle/libs.versions.toml";

/// Configurations whose packages compile or run a project, and those that do so for its tests.
/// <https://docs.gradle.org/current/userguide/java_plugin.html>; `compile` and `testCompile` are
/// from before 7.
const MAIN_CONFIGURATIONS: [&str; 7] = [
    "api",
    "compile",
    "compileOnly",
    "compileOnlyApi",
    "implementation",
    "runtime",
    "runtimeOnly",
];
const TEST_CONFIGURATIONS: [&str; 5] = [
    "testCompile",
    "testCompileOnly",
    "testImplementation",
    "testRuntime",
    "testRuntimeOnly",
];

/// A dependency of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dependency {
    /// True if only tests need it.
    is_for_tests: bool,
    argument: String,
}

/// A build of one or several projects.
pub(super) struct GradleBuild {
    /// The dependencies of each project, by its folder; `""` is the top.
    modules: BTreeMap<String, Vec<Dependency>>,
    /// Values of variables.
    variables: BTreeMap<String, String>,
    /// The patterns of files that are not compiled, by the folder of the project.
    excluded: BTreeMap<String, Vec<String>>,
    /// Packages by the names that a catalog gives them, with `.` between words.
    catalog: BTreeMap<String, Vec<String>>,
}

impl GradleBuild {
    /// Reads the build that the project in a folder belongs to.
    pub(super) fn around(folder: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let folder = folder.trim_matches(['/', '.']);
        build_tops(folder)
            .filter_map(|top| Self::read(top, read))
            .find(|build| build.modules.contains_key(folder))
    }

    /// Reads the projects of a build; `None` if the folder has no file of Gradle's.
    pub(super) fn read(top: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let beside = |folder: &str, names: &[&str]| {
            let paths = names.iter().filter_map(|name| joined_path(folder, name));
            paths.filter_map(|path| read(&path)).next()
        };
        let settings = beside(top, &SETTINGS);
        let own = beside(top, &BUILDS);
        // A folder without either file is no top of a build.
        if settings.is_none() && own.is_none() {
            return None;
        }
        let own = own.unwrap_or_default();
        let mut build = Self {
            modules: BTreeMap::new(),
            variables: BTreeMap::new(),
            excluded: BTreeMap::new(),
            catalog: BTreeMap::new(),
        };
        if let Some(text) = beside(top, &["gradle.properties"]) {
            build.add_variables(&text);
        }
        // The build file overrides `gradle.properties`, as Gradle has it.
        build.add_variables(&own);
        if let Some(text) = beside(top, &[CATALOG]) {
            build.catalog = read_catalog(&text).unwrap_or_default();
        }
        // The top's file may list dependencies of all projects, in `allprojects` or `subprojects`.
        let shared = dependencies(&own);
        for project in included(&settings.unwrap_or_default()) {
            let path = project.trim_matches(':').replace(':', "/");
            let Some(folder) = joined_path(top, &path) else {
                continue;
            };
            // A project may have a file of its own name: `lib/lib.gradle`.
            let last = path.rsplit('/').next().unwrap_or_default().to_owned();
            let named = [format!("{last}.gradle"), format!("{last}.gradle.kts")];
            let names = [BUILDS[0], BUILDS[1], &named[0], &named[1]];
            let Some(text) = beside(&folder, &names) else {
                continue;
            };
            build.add_variables(&text);
            build.excluded.insert(folder.clone(), not_compiled(&text));
            let mut all = dependencies(&text);
            all.extend(shared.iter().cloned());
            build.modules.insert(folder, all);
        }
        build.excluded.insert(top.to_owned(), not_compiled(&own));
        build.modules.insert(top.to_owned(), shared);
        Some(build)
    }

    /// Takes the variables that a file sets to plain texts.
    fn add_variables(&mut self, text: &str) {
        for line in text.lines() {
            let Some((name, value)) = line.split_once('=') else {
                continue;
            };
            // `def name`, `val name` and `ext.name` all set the variable `name`.
            let name = name.trim().rsplit([' ', '.']).next().unwrap_or_default();
            let value = value.trim();
            let quoted = value.strip_prefix(['\'', '"']);
            let plain = quoted.map_or(value, |rest| rest.split(['\'', '"']).next().unwrap_or(rest));
            let is_plain = |text: &str| {
                !text.is_empty()
                    && text
                        .chars()
                        .all(|letter| letter.is_ascii_alphanumeric() || ".-_".contains(letter))
            };
            if is_plain(name) && is_plain(plain) {
                self.variables.insert(name.to_owned(), plain.to_owned());
            }
        }
    }

    /// The folders of its projects without the top, sorted.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        let folders = self.modules.keys().map(String::as_str);
        folders.filter(|folder| !folder.is_empty())
    }

    /// The patterns of a project's files that are not compiled.
    pub(super) fn excluded(&self, folder: &str) -> &[String] {
        self.excluded.get(folder).map_or(&[], Vec::as_slice)
    }

    /// The project that a dependency is, if it is one of the build.
    fn module_of(&self, argument: &str) -> Option<&str> {
        let mut all = self.modules.keys().map(String::as_str);
        if let Some((_, rest)) = argument.split_once("project(") {
            let quoted = rest.split(['\'', '"']).nth(1)?;
            let path = quoted.trim_matches(':').replace(':', "/");
            // A project path begins at the build's top, which may be below that of the repository.
            return all.find(|folder| {
                *folder == path || (!path.is_empty() && folder.ends_with(&format!("/{path}")))
            });
        }
        // `projects.myUtil` is the project `my-util`.
        let named = argument.trim_start_matches('(').strip_prefix("projects.")?;
        let named = named.trim_end_matches(')').to_lowercase();
        // Accessors have neither dashes nor the case of the folder's name.
        let is_named = |folder: &&str| {
            let plain: String = folder.chars().filter(|letter| *letter != '-').collect();
            !folder.is_empty() && plain.replace('/', ".").to_lowercase() == named
        };
        all.find(is_named)
    }

    /// The dependencies of a project; of another than the own one, without those of its tests.
    fn dependencies(&self, folder: &str, is_own: bool) -> impl Iterator<Item = &Dependency> {
        let listed = self.modules.get(folder).into_iter().flatten();
        listed.filter(move |one| is_own || !one.is_for_tests)
    }

    /// The projects of the build that one depends on, directly or not.
    pub(super) fn siblings(&self, folder: &str) -> Vec<SiblingModule> {
        closure(folder, |module, is_own| {
            let needed = self.dependencies(module, is_own).filter_map(|dependency| {
                let argument = &dependency.argument;
                Some(SiblingModule {
                    folder: self.module_of(argument)?.to_owned(),
                    // `project(path: …, configuration: "tests")` is a usual way to share test
                    // classes.
                    has_tests: argument.contains("sourceSets.test") || argument.contains("tests"),
                })
            });
            needed.collect()
        })
    }

    /// The packages that a project and those it depends on name, or the first without a plain
    /// version: without it, sources may not compile. JUnit's own packages are left out.
    pub(super) fn packages(&self, folder: &str) -> Result<Vec<String>, String> {
        let mut packages = Vec::new();
        let mut known = BTreeSet::new();
        let siblings = self.siblings(folder);
        let modules = std::iter::once((folder, true)).chain(
            siblings
                .iter()
                .map(|sibling| (sibling.folder.as_str(), false)),
        );
        for (module, is_own) in modules {
            for dependency in self.dependencies(module, is_own) {
                for package in self.named(&dependency.argument)? {
                    // Two versions of one package would both be on the class path.
                    let name = package.rsplit_once(':').map_or("", |(name, _)| name);
                    if known.insert(name.to_owned()) {
                        packages.push(package);
                    }
                }
            }
        }
        Ok(packages)
    }

    /// The packages that an argument of a configuration names.
    fn named(&self, argument: &str) -> Result<Vec<String>, String> {
        let is_other = [
            "project(",
            "projects.",
            "platform(",
            "enforcedPlatform(",
            "gradleApi(",
        ];
        if is_other.iter().any(|mark| argument.contains(mark)) {
            return Ok(Vec::new());
        }
        let argument = argument.trim_start_matches([' ', '(']);
        let accessor = argument.strip_prefix("libs.").map(|rest| {
            let end = |letter: char| !letter.is_ascii_alphanumeric() && letter != '.';
            rest.split(end).next().unwrap_or_default()
        });
        let named = match accessor {
            Some(name) => match self.catalog.get(name) {
                Some(packages) => packages.clone(),
                None => vec![format!("libs.{name}")],
            },
            None => {
                let quoted = argument.strip_prefix(['\'', '"']);
                let text = quoted.and_then(|rest| rest.split(['\'', '"']).next());
                vec![self.substituted(text.unwrap_or_else(|| argument.trim_end_matches(')')))]
            }
        };
        // JUnit comes from the harness, in the version that it supports.
        let others = named.into_iter().filter(|name| !is_junit(name));
        let pinned = others.map(|name| match Jars.parse_pin(&name) {
            Some(_) => Ok(name),
            None => Err(format!(
                "Gradle names `{name}` without a plain version; a manifest may name it"
            )),
        });
        pinned.collect()
    }

    /// A text with the values of its variables.
    fn substituted(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.variables {
            for mark in ["", "project.", "rootProject.", "rootProject.ext.", "ext."] {
                text = text.replace(&format!("${{{mark}{name}}}"), value);
            }
            text = with_variable(&text, name, value);
        }
        text
    }
}

/// A text with a value in place of `$name`, unless the name goes on there: `$junitVersion` is not
/// `$junit` and more.
fn with_variable(text: &str, name: &str, value: &str) -> String {
    let mark = format!("${name}");
    let mut parts = text.split(&mark);
    let mut found = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = part.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        found.push_str(if goes_on { &mark } else { value });
        found.push_str(part);
    }
    found
}

/// True for JUnit's own packages from version 5 on.
fn is_junit(package: &str) -> bool {
    package.starts_with("org.junit.") || package.starts_with("org.junit:")
}

/// The texts between quotes.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(['\'', '"']);
    parts.skip(1).step_by(2).map(str::to_owned)
}

/// The projects that settings include, in Gradle's words: `:lib:core`.
fn included(settings: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut continues = false;
    for line in settings.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let rest = match line.strip_prefix("include") {
            Some(rest) if rest.starts_with([' ', '(', '\'', '"']) => rest,
            None if continues => line,
            _ => {
                continues = false;
                continue;
            }
        };
        found.extend(quoted(rest));
        // After a comma or an opening bracket, the list continues on the next line.
        continues = rest.ends_with([',', '(']) || (continues && line.is_empty());
    }
    found
}

/// The patterns of files that a folder of sources excludes.
fn not_compiled(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_sources = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("srcDir") {
            is_sources = true;
        } else if line.starts_with('}') {
            is_sources = false;
        } else if let Some(rest) = line.strip_prefix("exclude").filter(|_| is_sources) {
            found.extend(quoted(rest));
        }
    }
    found
}

/// The dependencies that a file lists.
fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let Some((configuration, argument)) = line.split_once([' ', '(']) else {
            continue;
        };
        let is_for_tests = TEST_CONFIGURATIONS.contains(&configuration);
        if is_for_tests || MAIN_CONFIGURATIONS.contains(&configuration) {
            // `compile = …` and `api {` are no dependencies.
            let argument = argument.trim();
            if !argument.is_empty() && !argument.starts_with(['=', '{']) {
                found.push(Dependency {
                    is_for_tests,
                    argument: argument.to_owned(),
                });
            }
        }
    }
    found
}

/// Reads a catalog: its packages and its bundles, by the words after `libs.`.
fn read_catalog(text: &str) -> Option<BTreeMap<String, Vec<String>>> {
    let table: toml::Table = text.parse().ok()?;
    // In accessors, Gradle replaces `-` and `_` by `.`.
    let accessor = |name: &str| name.replace(['-', '_'], ".");
    let version_of = |value: &toml::Value| -> Option<String> {
        if let Some(version) = value.as_str() {
            return Some(version.to_owned());
        }
        let keys = ["require", "strictly", "prefer"];
        let mut found = keys.iter().filter_map(|key| value.get(key)?.as_str());
        found.next().map(str::to_owned)
    };
    let mut packages = BTreeMap::new();
    for (name, library) in table.get("libraries")?.as_table()? {
        let text = |key: &str| library.get(key).and_then(toml::Value::as_str);
        let module = match (library.as_str(), text("module")) {
            (Some(whole), _) => {
                packages.insert(accessor(name), vec![whole.to_owned()]);
                continue;
            }
            (None, Some(module)) => module.to_owned(),
            (None, None) => format!("{}:{}", text("group")?, text("name")?),
        };
        let referred = library
            .get("version")
            .and_then(|version| version.get("ref"));
        let version = match referred.and_then(toml::Value::as_str) {
            Some(name) => table
                .get("versions")
                .and_then(|all| version_of(all.get(name)?)),
            None => library.get("version").and_then(version_of),
        };
        let package = match version {
            Some(version) => format!("{module}:{version}"),
            None => module,
        };
        packages.insert(accessor(name), vec![package]);
    }
    let bundles = table.get("bundles").and_then(toml::Value::as_table);
    for (name, listed) in bundles.into_iter().flatten() {
        let names = listed.as_array().into_iter().flatten();
        let all = names.filter_map(|name| packages.get(&accessor(name.as_str()?)));
        let all: Vec<String> = all.flatten().cloned().collect();
        packages.insert(format!("bundles.{}", accessor(name)), all);
    }
    Some(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Option<String> {
        let text = match path {
            "settings.gradle" => {
                "rootProject.name = 'a'\nincludeBuild 'logic'\ninclude 'core', // first\n  ':ext:tables'\ninclude(\"my-util\")\n"
            }
            "build.gradle" => {
                "subprojects {\n  dependencies {\n    testImplementation libs.assertj\n  }\n}\next.guavaVersion = '31.1-jre'\n"
            }
            "gradle.properties" => "org.gradle.jvmargs=-Xmx2g\nguava=30\n",
            "gradle/libs.versions.toml" => {
                "[versions]\nassertj = '3.14.0'\n[libraries]\nassertj = { module = 'org.assertj:assertj-core', version.ref = 'assertj' }\nmy-lang = 'org.lang:lang:1'\n[bundles]\nall = ['assertj', 'my-lang']\n"
            }
            "core/build.gradle" => {
                "dependencies {\n  api \"com.google.guava:guava:$guavaVersion\"\n  implementation projects.myUtil\n  testImplementation 'org.junit.jupiter:junit-jupiter'\n}\n"
            }
            "ext/tables/build.gradle.kts" => {
                "dependencies {\n  api(project(\":core\"))\n  testImplementation(libs.bundles.all)\n}\n"
            }
            "my-util/my-util.gradle" => {
                "dependencies {\n  testImplementation 'only.for:tests:1'\n}\n"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn projects_of_a_build_are_those_that_its_settings_include() {
        let build = GradleBuild::around("ext/tables", &read).expect("it is included");
        assert_eq!(
            build.folders().collect::<Vec<_>>(),
            ["core", "ext/tables", "my-util"]
        );
        assert!(GradleBuild::around("logic", &read).is_none());
    }

    #[test]
    fn projects_have_the_packages_of_those_that_they_depend_on() {
        let build = GradleBuild::read("", &read).expect("it is there");
        let siblings = build.siblings("ext/tables").into_iter();
        assert_eq!(
            siblings.map(|one| one.folder).collect::<Vec<_>>(),
            ["core", "my-util"]
        );
        assert_eq!(
            build.packages("ext/tables").expect("all have versions"),
            [
                "org.assertj:assertj-core:3.14.0",
                "org.lang:lang:1",
                "com.google.guava:guava:31.1-jre"
            ]
        );
    }

    #[test]
    fn files_that_a_folder_of_sources_excludes_are_not_compiled() {
        let text = "sourceSets {\n  main {\n    java {\n      srcDir 'java'\n      exclude \
                    'a/super/**', \"b/**\"\n    }\n  }\n}\njavadoc {\n  exclude 'c/**'\n}\n";
        assert_eq!(not_compiled(text), ["a/super/**", "b/**"]);
    }

    #[test]
    fn variables_have_whole_names() {
        let text = "a:$junit, a:$junitVersion, a:$junit";
        assert_eq!(
            with_variable(text, "junit", "5"),
            "a:5, a:$junitVersion, a:5"
        );
    }

    #[test]
    fn packages_without_a_version_are_named() {
        let only = |text: &'static str| {
            let read = move |path: &str| (path == "build.gradle").then(|| text.to_owned());
            GradleBuild::read("", &read)
                .expect("it is there")
                .packages("")
        };
        for (text, named) in [
            ("implementation \"a:b:$version\"", "`a:b:$version`"),
            ("implementation(libs.guava)", "`libs.guava`"),
            ("implementation files('a.jar')", "`files('a.jar'`"),
        ] {
            let error = only(text).expect_err("it has no version");
            assert!(
                error.starts_with(&format!("Gradle names {named}")),
                "{error}"
            );
        }
        assert_eq!(only("implementation platform('a:b:1')"), Ok(Vec::new()));
    }
}
