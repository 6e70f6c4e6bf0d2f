//! Location of a Python repository's packages.

use super::super::super::detection::{RepositoryFiles, escaped_glob};
use super::super::test_conventions::CONVENTIONS;
use super::imported::imported_modules;
use super::metadata::Metadata;

/// Location of the packages.
#[derive(Debug)]
pub(super) struct PythonLayout {
    /// The folder in which packages are looked for, `.` for the top.
    pub(super) folder: String,
    /// The packages and modules in it, as paths in the repository.
    pub(super) packages: Vec<String>,
}

/// Folders that hold no part of a library.
const OTHER_FOLDERS: [&str; 27] = [
    "test",
    "tests",
    "testing",
    "t",
    "doc",
    "docs",
    "example",
    "examples",
    "sample",
    "samples",
    "demo",
    "demos",
    "script",
    "scripts",
    "tool",
    "tools",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "build",
    "dist",
    "tasks",
    "ci",
    "bin",
    "integration",
    "typing_tests",
];
/// Modules at the top that are no part of a library.
const OTHER_MODULES: [&str; 10] = [
    "setup.py",
    "conftest.py",
    "noxfile.py",
    "tasks.py",
    "fabfile.py",
    "manage.py",
    "versioneer.py",
    "runtests.py",
    "dodo.py",
    "hatch_build.py",
];

impl PythonLayout {
    /// Looks for packages in the folders that the metadata names, then in `src`, at the top, in
    /// other usual folders, and in any folder at the top. The first that has the distribution's own
    /// package is taken, else the first of those that have most of what the tests import.
    pub(super) fn find(
        files: &RepositoryFiles,
        metadata: &Metadata,
        tests: &[String],
    ) -> Option<Self> {
        let named: Vec<String> = metadata
            .packages
            .iter()
            .map(|path| path.trim_matches('/').trim_start_matches("./").to_owned())
            .filter(|path| files.has_folder(path) || files.has(path))
            .collect();
        if let Some(first) = named.first() {
            let folder = first.rsplit_once('/').map_or(".", |(folder, _)| folder);
            return Some(Self {
                folder: folder.to_owned(),
                packages: named,
            });
        }
        let usual = ["src", ".", "lib", "python", "Lib"].map(str::to_owned);
        // A folder with an `__init__.py` is itself a package, not a folder of packages.
        let others = files.folders_in(".").into_iter().filter(|name| {
            !OTHER_FOLDERS.contains(name) && !files.has(&format!("{name}/__init__.py"))
        });
        let mut folders: Vec<&str> = Vec::new();
        let named = metadata.package_folders.iter().chain(&usual);
        for folder in named.map(String::as_str).chain(others) {
            let folder = match folder.trim_matches('/').trim_start_matches("./") {
                "" => ".",
                folder => folder,
            };
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        let name = metadata.name.as_deref().map(import_name);
        let mut found: Vec<Self> = folders
            .into_iter()
            .filter_map(|folder| Self::in_folder(files, folder, name.as_deref()))
            .collect();
        // A folder with the distribution's own package is preferred to one with any other.
        let is_own = |layout: &Self| {
            let mut packages = layout.packages.iter();
            packages
                .any(|package| name.as_deref() == Some(import_name(last_name(package)).as_str()))
        };
        let imported = imported_modules(files, tests);
        let imports = |layout: &Self| {
            let packages = layout.packages.iter();
            let names = packages.map(|path| last_name(path).trim_end_matches(".py"));
            names.filter(|name| imported.contains(*name)).count()
        };
        let most = found.iter().map(imports).max()?;
        let index = found
            .iter()
            .position(is_own)
            .or_else(|| found.iter().position(|layout| imports(layout) == most))?;
        let mut layout = found.swap_remove(index);
        if is_own(&layout) && layout.folder == "." {
            let own = |package: &String| {
                name.as_deref() == Some(import_name(last_name(package)).as_str())
            };
            // Beside a package of the distribution's name, modules at the top are scripts.
            layout
                .packages
                .retain(|package| own(package) || !package.ends_with(".py"));
        }
        Some(layout)
    }

    /// The packages and modules in a folder, of a distribution of this name.
    fn in_folder(files: &RepositoryFiles, folder: &str, own: Option<&str>) -> Option<Self> {
        let inside = |name: &str| match folder {
            "." => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        let is_library = |name: &&str| {
            folder != "."
                || own == Some(import_name(name).as_str())
                || !(OTHER_FOLDERS.contains(name) || name.starts_with(['.', '_']))
        };
        let folders: Vec<&str> = files
            .folders_in(folder)
            .into_iter()
            .filter(is_library)
            .collect();
        let mut packages: Vec<String> = folders
            .iter()
            .map(|name| inside(name))
            .filter(|path| files.has(&format!("{path}/__init__.py")))
            .collect();
        let modules = files.names_in(folder).filter(|name| {
            name.ends_with(".py")
                && !OTHER_MODULES.contains(name)
                && !CONVENTIONS.files.is_name(name)
        });
        if packages.is_empty() {
            // A namespace package has no `__init__.py` of its own.
            let namespaces = folders.iter().map(|name| inside(name));
            packages.extend(namespaces.filter(|path| files.below(path).any(is_source)));
        }
        packages.extend(modules.map(inside));
        (!packages.is_empty()).then(|| Self {
            folder: folder.to_owned(),
            packages,
        })
    }

    /// `holes`: the packages without the tests, which `patterns` match, and generated files.
    pub(super) fn holes(&self, patterns: &[String]) -> Vec<String> {
        let sources = self.packages.iter().map(|path| {
            let package = escaped_glob(path);
            if package.ends_with(".py") {
                format!("/{package}")
            } else {
                format!("/{package}/**/*.py")
            }
        });
        let tests = &CONVENTIONS.files;
        let folders = tests.folders.iter().map(|folder| format!("!{folder}/"));
        let names = tests.names.iter().map(|name| format!("!{name}"));
        let without = [
            "!conftest.py",
            "!_vendor/",
            "!vendor/",
            "!_version.py",
            "!*_pb2.py",
        ];
        let mut globs: Vec<String> = sources.chain(folders).chain(names).collect();
        globs.extend(without.map(str::to_owned));
        for pattern in patterns {
            let pattern = format!("!{pattern}");
            // As a pattern of tests, `*.py` would exclude every source.
            if pattern != "!*.py" && !globs.contains(&pattern) {
                globs.push(pattern);
            }
        }
        globs
    }

    /// `exclude`: build output, which would reveal the references of holes.
    pub(super) fn exclude(&self, files: &RepositoryFiles) -> Vec<String> {
        let mut exclude: Vec<String> = ["build", "dist"]
            .into_iter()
            .filter(|folder| {
                files.has_folder(folder) && !self.packages.iter().any(|it| it == folder)
            })
            .map(|folder| format!("/{folder}/"))
            .collect();
        if files.paths().any(|path| path.contains(".egg-info/")) {
            exclude.push("*.egg-info/".to_owned());
        }
        exclude
    }

    /// Describes the packages for the user.
    pub(super) fn describe(&self) -> String {
        let names: Vec<&str> = self.packages.iter().take(4).map(String::as_str).collect();
        let more = match self.packages.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("sources: {}{more}", names.join(", "))
    }
}

/// A distribution's name as its package is usually named.
fn import_name(name: &str) -> String {
    let name = name.trim_end_matches(".py");
    name.to_lowercase().replace(['-', '.'], "_")
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// True if a path may be that of a library's module.
fn is_source(path: &str) -> bool {
    let name = last_name(path);
    name.ends_with(".py") && name != "conftest.py" && !CONVENTIONS.files.is_name(name)
}
