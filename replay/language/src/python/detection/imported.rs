//! Requirements that a repository names for other purposes, and that its tests import.

use std::collections::BTreeSet;

use super::super::super::detection::RepositoryFiles;
use super::super::environment::groups::distribution;
use super::layout::PythonLayout;

/// Modules that are named unlike the distributions that have them, beyond a leading `py`.
const OTHER_NAMES: [(&str, &str); 11] = [
    ("attr", "attrs"),
    ("bs4", "beautifulsoup4"),
    ("crypto", "pycryptodome"),
    ("cv2", "opencv-python"),
    ("cv2", "opencv-python-headless"),
    ("git", "gitpython"),
    ("mysqldb", "mysqlclient"),
    ("pil", "pillow"),
    ("pkg-resources", "setuptools"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
];

/// Folders whose files belong to the tests.
const TEST_FOLDERS: [&str; 4] = ["test", "testing", "tests", "unittests"];

/// Call that skips tests if a module is missing. Plugins of pytest among such modules change every
/// run in an environment that has them.
const OPTIONAL_IMPORT: &str = "importorskip(";

/// The first of the `declared` requirements for each module that the tests import. One that allows
/// several versions is preferred to a pin: repositories pin what they test old versions with.
pub(super) fn imported_requirements(
    files: &RepositoryFiles,
    tests: &[String],
    layout: &PythonLayout,
    declared: &[String],
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut modules = imported_modules(files, tests);
    let folder = layout.folder.trim_matches('.');
    let is_own = |name: &str| {
        [folder, ""].iter().any(|folder| {
            let path = format!("{folder}/{name}");
            let path = path.trim_start_matches('/');
            files.has(&format!("{path}.py")) || files.has_folder(path)
        })
    };
    modules.retain(|name| !is_own(name));
    for module in modules {
        let of_module: Vec<&String> = declared
            .iter()
            .filter(|one| provides(one, &module))
            .collect();
        let open = of_module.iter().find(|one| !one.contains("=="));
        if let Some(one) = open.or(of_module.first()) {
            found.push((*one).clone());
        }
    }
    found.sort();
    found.dedup();
    found
}

/// True if a requirement's distribution has a module, by their names.
pub(super) fn provides(requirement: &str, module: &str) -> bool {
    let name = distribution(requirement);
    let bare = ["python-", "py"]
        .iter()
        .find_map(|it| name.strip_prefix(it));
    // `psycopg2-binary` has the module `psycopg2`.
    let bare = bare.unwrap_or(&name).trim_end_matches("-binary");
    let module = module.to_lowercase().replace('_', "-");
    let other = OTHER_NAMES.contains(&(&module, &name));
    name == module || bare == module || other
}

/// The outermost names of the modules that the tests, their conftest files and the other files
/// beside them import.
pub(super) fn imported_modules(files: &RepositoryFiles, tests: &[String]) -> BTreeSet<String> {
    // At the top of a repository, other files are its own.
    let folders: BTreeSet<&str> = tests
        .iter()
        .filter_map(|path| Some(path.rsplit_once('/')?.0))
        .collect();
    let is_helper = |path: &&str| match path.rsplit_once('/') {
        _ if path.rsplit('/').next() == Some("conftest.py") => true,
        Some((folder, name)) => {
            name.ends_with(".py")
                && folders.contains(folder)
                && folder.split('/').any(|part| TEST_FOLDERS.contains(&part))
        }
        None => false,
    };
    let helpers = files.paths().filter(is_helper);
    let read = helpers.chain(tests.iter().map(String::as_str));
    let texts = read.filter_map(|path| files.read(path));
    let mut modules: BTreeSet<String> = BTreeSet::new();
    for text in texts {
        let optional: BTreeSet<&str> = text
            .split(OPTIONAL_IMPORT)
            .skip(1)
            .filter_map(quoted)
            .collect();
        let imported = text.lines().filter_map(imported_module);
        let needed = imported.filter(|module| !optional.contains(module));
        modules.extend(needed.map(str::to_owned));
    }
    modules
}

/// Returns the outermost module that a line imports unconditionally: an indented import may be
/// guarded.
fn imported_module(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("import ")
        .or_else(|| line.strip_prefix("from "))?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// The outermost part of the module that a text names, which begins with a string.
fn quoted(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['"', '\''])?;
    rest.split(['"', '\'', '.']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_of_tests_get_what_they_import() {
        let (_folder, files) = RepositoryFiles::written(&[
            ("demo/a.py", "import redis\n"),
            ("tests/test_a.py", "from .helpers import x\n"),
            (
                "tests/helpers.py",
                "import cv2\nimport dotenv\nfrom sklearn import svm\n",
            ),
        ]);
        let layout = PythonLayout {
            folder: ".".to_owned(),
            packages: vec!["demo".to_owned()],
        };
        let declared = ["redis", "opencv-python>=4", "python-dotenv", "scikit-learn"];
        let declared = declared.map(str::to_owned);
        let tests = ["tests/test_a.py".to_owned()];
        assert_eq!(
            imported_requirements(&files, &tests, &layout, &declared),
            ["opencv-python>=4", "python-dotenv", "scikit-learn"]
        );
    }

    #[test]
    fn tests_get_what_they_import_and_other_groups_name() {
        let (_folder, files) = RepositoryFiles::written(&[
            ("conftest.py", "import trustme\nfrom demo import x\n"),
            ("demo.py", ""),
            (
                "test_a.py",
                "from OpenSSL.crypto import X509\nimport yaml\n",
            ),
            (
                "test_b.py",
                "try:\n    import sphinx\nexcept ImportError:\n    pass\n",
            ),
            (
                "test_c.py",
                "import pytest\npyodide = pytest.importorskip(\"pytest_pyodide\")\n\
                 from pytest_pyodide import run\n",
            ),
        ]);
        let layout = PythonLayout {
            folder: ".".to_owned(),
            packages: vec!["demo.py".to_owned()],
        };
        let tests = ["test_a.py", "test_b.py", "test_c.py"].map(str::to_owned);
        let declared = [
            "trustme==0.9.0",
            "trustme>=1.2",
            "demo[extra]",
            "PyYAML==6",
            "sphinx",
            "pyopenssl>=25",
            "pytest-pyodide",
        ];
        let declared = declared.map(str::to_owned);
        assert_eq!(
            imported_requirements(&files, &tests, &layout, &declared),
            ["PyYAML==6", "pyopenssl>=25", "trustme>=1.2"]
        );
    }
}
