//! Repositories without a manifest, tests that fail, and results that are empty.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::play::{
    self, TestDir, copy, files, has_tools, holes, kitchen, repository, text,
};

/// A Python repository with an own name, of the small project's sources and tests.
fn small_repository(dir: &TestDir) -> String {
    let root = dir.path("pantry");
    copy(&repository("tests/corpora/kitchen"), &root);
    let pyproject = "[project]\nname = \"pantry\"\nversion = \"1.0\"\n\
                     [build-system]\nrequires = [\"setuptools\"]\n\
                     build-backend = \"setuptools.build_meta\"\n\
                     [tool.pytest.ini_options]\n\
                     addopts = \"--cov=kitchen --cov-fail-under=99 -x -n 2 --strict-config\"\n";
    fs::write(root.join("pyproject.toml"), pyproject).unwrap();
    text(&root)
}

fn tree(root: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    crate::support::play::files(root)
        .into_iter()
        .map(|path| (path.clone(), fs::read(root.join(path)).unwrap()))
        .collect()
}

#[test]
fn a_package_that_tests_lack_is_installed_from_the_projects_own_lists() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    for (name, text) in [
        (
            "pyproject.toml",
            "[project]\nname = \"cellar\"\nversion = \"1\"\n\
             [project.optional-dependencies]\nold = [\"six\"]\n\
             [tool.setuptools]\npy-modules = [\"cellar\"]\n\
             [build-system]\nrequires = [\"setuptools\"]\n\
             build-backend = \"backend\"\nbackend-path = [\"build_tools\"]\n",
        ),
        // Builds that read the version from a history need it from elsewhere.
        (
            "build_tools/backend.py",
            "import os\nfrom setuptools.build_meta import *\n\n\
             os.environ[\"POETRY_DYNAMIC_VERSIONING_BYPASS\"]\n\
             os.environ[\"UV_DYNAMIC_VERSIONING_BYPASS\"]\n",
        ),
        (
            "cellar.py",
            "def kinds():\n    import six\n\n    names = [kind.__name__ for kind in \
             six.string_types]\n    return names\n",
        ),
        (
            "tests/test_cellar.py",
            "import cellar\n\n\ndef test_kinds():\n    assert cellar.kinds() == [\"str\"]\n",
        ),
    ] {
        dir.write(&format!("cellar/{name}"), text);
    }
    let cellar = text(&dir.path("cellar"));
    let checked = dir.fillrate(&["check", &cellar]).exits_with(0);
    let note = "packages: also six, whose modules its tests lack";
    assert!(checked.err.contains(note), "{checked:#?}");
    assert!(!checked.err.contains("set aside"), "{checked:#?}");
}

/// A workspace of two packages. One needs the other, a file of its own folder, a package in the
/// version that the workspace's lock has, which is not the newest, and a place for a tool's files in
/// its own folder of packages.
const STALL: [(&str, &str); 8] = [
    (
        "package.json",
        r#"{"private": true, "workspaces": ["packages/*"]}"#,
    ),
    (
        "package-lock.json",
        r#"{"name": "stall", "lockfileVersion": 3, "requires": true, "packages": {
            "": {"name": "stall", "workspaces": ["packages/*"]},
            "node_modules/@stall/till": {"resolved": "packages/till", "link": true},
            "node_modules/@stall/units": {"resolved": "packages/units", "link": true},
            "packages/till/node_modules/ms": {"version": "2.1.2", "integrity": "sha512-sGkPx+VjMtmA6MX27oA4FBFELFCZZ4S4XqeGOXCv68tT+jb3vk/RyaKWP0PTKyWtmLSM0b+adUTEvbs1PEaH2w=="},
            "packages/till": {"name": "@stall/till", "version": "1.0.0", "dependencies": {"@stall/units": "1.0.0", "ms": "^2.0.0"}},
            "packages/units": {"name": "@stall/units", "version": "1.0.0"}}}"#,
    ),
    (
        "packages/till/package.json",
        r#"{"name": "@stall/till", "version": "1.0.0", "scripts": {"test": "node --test"},
            "dependencies": {"@stall/units": "1.0.0", "ms": "^2.0.0"}}"#,
    ),
    (
        "packages/till/index.js",
        "const { cents } = require(\"@stall/units\");\n\nexports.total = (prices) => {\n  let \
         sum = 0;\n  for (const price of prices) {\n    sum += cents(price);\n  }\n  return \
         sum;\n};\n",
    ),
    ("packages/till/prices.json", "[1, 2.5]\n"),
    (
        "packages/till/test/till.test.js",
        "const test = require(\"node:test\");\nconst assert = require(\"node:assert\");\nconst \
         fs = require(\"node:fs\");\nconst { total } = require(\"..\");\n\ntest(\"adds\", () \
         => {\n  assert.equal(require(\"ms/package.json\").version, \"2.1.2\");\n  \
         fs.mkdirSync(\"node_modules/.cache/till\", { recursive: true });\n  \
         assert.equal(total(JSON.parse(fs.readFileSync(\"prices.json\"))), 350);\n});\n",
    ),
    (
        "packages/units/package.json",
        r#"{"name": "@stall/units", "version": "1.0.0", "scripts": {"test": "ava"}}"#,
    ),
    (
        "packages/units/index.js",
        "exports.cents = (price) => Math.round(price * 100);\n",
    ),
];

#[test]
fn a_package_of_a_workspace_is_replayed_as_its_lock_installs_it() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    for (name, text) in STALL {
        dir.write(&format!("stall/{name}"), text);
    }
    let stall = text(&dir.path("stall"));
    let out = dir.path("run");
    let replayed = dir
        .fillrate(&[
            "replay",
            &stall,
            "--package",
            "@stall/till",
            "--model",
            "reference",
            "--holes",
            "4",
            "--out",
            &text(&out),
        ])
        .exits_with(0);
    assert!(
        replayed
            .err
            .contains("packages: as package-lock.json has them, by npm"),
        "{replayed:#?}"
    );
    let attempts = play::attempts(&out);
    assert!(!attempts.is_empty());
    for (id, attempt) in &attempts {
        assert_eq!(attempt["verdict"]["outcome"], "passed", "{id} {attempt}");
    }
    let mined = dir.path("mined.jsonl");
    dir.fillrate(&[
        "mine",
        &text(&dir.path("stall/packages/till")),
        "--holes",
        "4",
        "-o",
        &text(&mined),
    ])
    .exits_with(0);
    for hole in holes(&mined) {
        assert_eq!(hole["path"], "packages/till/index.js");
    }
}

#[test]
fn packages_for_development_that_the_registry_lacks_are_left_out() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let written = [
        (
            "package.json",
            r#"{"name": "larder", "scripts": {"test": "node --test"},
                "devDependencies": {"@fillrate-absent/nothing": "1.0.0"}}"#,
        ),
        (".npmrc", "fund=false\nlegacy-peer-deps=true\n"),
        (
            "index.js",
            "exports.add = (a, b) => {\n  const sum = a + b;\n  return sum;\n};\n",
        ),
        (
            "test/add.test.js",
            "const test = require(\"node:test\");\nconst assert = require(\"node:assert\");\n\
             test(\"adds\", () => assert.equal(require(\"..\").add(1, 2), 3));\n",
        ),
        (
            "test/absent.test.js",
            "require(\"@fillrate-absent/nothing\");\n",
        ),
    ];
    for (name, text) in written {
        dir.write(&format!("larder/{name}"), text);
    }
    // A cache of its own: what another one has installed is not installed again.
    let cache = dir.path("cache");
    let larder = text(&dir.path("larder"));
    let mut check = dir.command(&["check", &larder]);
    let checked = play::run(check.env("FILLRATE_CACHE", &cache)).exits_with(0);
    let left_out = "larder: the registry lacks these packages for development, which are left out: \
                @fillrate-absent/nothing";
    assert!(checked.err.contains(left_out), "{checked:#?}");
    assert!(checked.err.contains("test/absent.test.js"), "{checked:#?}");
    // What was installed is kept apart from the source.
    let mut kept = fs::read_dir(cache.join("sources")).unwrap();
    let tree = kept.next().unwrap().unwrap().path().join("tree");
    assert!(kept.next().is_none());
    assert_eq!(files(&tree).len(), written.len(), "{:?}", files(&tree));
    for (name, text) in written {
        assert_eq!(fs::read_to_string(tree.join(name)).unwrap(), text, "{name}");
    }
}

/// Files that can have no hole are named, and the others are used.
#[test]
fn files_that_no_protocol_carries_are_left_out_and_named() {
    use std::os::unix::ffi::OsStrExt as _;

    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    dir.write(
        "odd/pytest.ini",
        "[pytest]\npython_files = check_*.py\npython_functions = check_*\npython_classes = Check*\n",
    );
    dir.write(
        "odd/plain.py",
        "def add(a, b):\n    total = a + b\n    return total\n",
    );
    dir.write(
        "odd/deep.py",
        &format!("def deep():\n    return 1{}\n", " + 1".repeat(16_000)),
    );
    dir.write(
        "odd/check_all.py",
        "import latin\nimport plain\n\n\nclass CheckAdd:\n    def check_add(self):\n        assert plain.add(1, 2) == 3\n\n\n\
         def check_coffee():\n    assert latin.drink() == \"caf\\xe9\"\n",
    );
    let latin =
        b"# -*- coding: latin-1 -*-\ndef drink():\n    name = \"caf\xe9\"\n    return name\n";
    fs::write(dir.path("odd/latin.py"), latin).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"th\xe9.py");
    fs::write(dir.path("odd").join(name), "x = 1\n").unwrap();
    let odd = text(&dir.path("odd"));
    let tasks = dir.path("tasks.jsonl");
    let mined = dir.fillrate(&["mine", &odd, "--holes", "4", "-o", &text(&tasks)]);
    for line in [
        "odd: 3 files can have no hole:",
        "deep.py: its code nests deeper than 500 levels",
        "latin.py: line 3 is not UTF-8",
        ".py: its name is not UTF-8",
    ] {
        assert!(mined.err.contains(line), "{mined:#?}");
    }
    let paths: Vec<_> = holes(&tasks)
        .iter()
        .map(|hole| hole["path"].clone())
        .collect();
    assert!(
        !paths.is_empty() && paths.iter().all(|path| path == "plain.py"),
        "{mined:#?}"
    );
}

#[test]
fn a_folder_is_replayed_without_a_manifest_and_left_as_it_is() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let root = small_repository(&dir);
    dir.write(
        "pantry/tests/test_always.py",
        "def test_that_never_passes():\n    assert 1 == 2\n",
    );
    dir.write(
        "pantry/tests/test_broken.py",
        "import a_module_that_is_missing\n",
    );
    dir.write(
        "pantry/tests/test_endless.py",
        "import time\n\n\ndef test_that_waits():\n    while True:\n        time.sleep(1)\n",
    );
    // A proxy is not loaded, nor are its errors the harness's.
    dir.write(
        "pantry/tests/test_proxy.py",
        "class Proxy:\n    @property\n    def __class__(self):\n        raise RuntimeError(\"no key\")\n\n\n\
         client = Proxy()\n\n\ndef test_proxy():\n    assert client is not None\n",
    );
    // As after an editable installation, other processes find the project without PYTHONPATH.
    dir.write(
        "pantry/tests/test_process.py",
        "import subprocess\nimport sys\n\n\ndef test_process():\n\
         \x20   subprocess.run([sys.executable, \"-c\", \"import kitchen\"], env={}, cwd=\"/\", check=True)\n",
    );
    // Files that skip themselves once ended the whole run.
    dir.write(
        "pantry/tests/test_optional.py",
        "import pytest\npytest.importorskip(\"another_module_that_is_missing\")\n",
    );
    dir.write(
        "pantry/tests/test_elsewhere.py",
        "import unittest\nraise unittest.SkipTest(\"not on this machine\")\n",
    );
    let before = tree(Path::new(&root));
    let arguments = [
        "replay", &root, "--holes", "4", "--jobs", "1", "--out", "run",
    ];
    let finished = dir
        .fillrate(&[&arguments[..], &["--model", "reference"]].concat())
        .exits_with(0);
    assert!(
        finished.out.contains("outcomes: passed 4\n"),
        "{finished:#?}"
    );
    assert!(finished.out.contains("3 set aside"), "{finished:#?}");
    for said in [
        "detected pantry",
        "tests/test_always.py::test_that_never_passes: AssertionError",
        "tests/test_broken.py: ModuleNotFoundError",
        "tests/test_endless.py::test_that_waits: it does not end within 60 s",
        "these options have no effect here: --cov, --cov-fail-under, --maxfail, --strict-config, -n",
    ] {
        assert!(finished.err.contains(said), "{said}: {finished:#?}");
    }
    let empty = dir
        .fillrate(&[
            "replay", &root, "--holes", "4", "--out", "empty", "--model", "empty",
        ])
        .exits_with(0);
    assert!(!empty.out.contains("passed"), "{empty:#?}");
    let audit = dir
        .fillrate(&["audit", "run", "--sample", "1"])
        .exits_with(0);
    assert!(audit.out.contains(" 0 differ"), "{audit:#?}");
    assert_eq!(tree(Path::new(&root)), before);

    // The manifest that init writes means the same.
    dir.fillrate(&["init", &root, "-o", "pantry.toml"])
        .exits_with(0);
    let ids = |corpus: &str, tasks: &str| {
        let arguments = ["mine", corpus, "--holes", "4", "--jobs", "1", "-o", tasks];
        dir.fillrate(&arguments).exits_with(0);
        let holes = holes(&dir.path(tasks));
        holes
            .iter()
            .map(|hole| hole["id"].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&root, "a.jsonl"), ids("pantry.toml", "b.jsonl"));
}

/// Idle threads of a pool end after a while, so that the order of tests and their speed decide
/// whether a run leaves one. Here runs of the original leave none, but one of its tests does.
#[test]
fn a_thread_that_a_test_leaves_for_a_while_is_no_evidence_against_a_completion() {
    let dir = TestDir::new();
    let source = "import threading\nimport time\n\n\n\
                  def light(seconds):\n\
                  \x20   threading.Thread(target=time.sleep, args=(seconds,)).start()\n\
                  \x20   return seconds\n";
    let test_1 = "from lamp import light\n\n\ndef test_light():\n    assert light(0.3) == 0.3\n";
    let test_2 = "import time\n\n\ndef test_later():\n    time.sleep(1)\n";
    let settings = "[tool.pytest.ini_options]\npythonpath = [\".\"]\n";
    for (name, contents) in [
        ("lamp.py", source),
        ("tests/test_1.py", test_1),
        ("tests/test_2.py", test_2),
        ("pyproject.toml", settings),
    ] {
        dir.write(&format!("lamp/{name}"), contents);
    }
    let root = text(&dir.path("lamp"));
    dir.fillrate(&["mine", &root, "--kinds", "body", "-o", "tasks.jsonl"])
        .exits_with(0);
    let tasks = dir.path("tasks.jsonl");
    let hole = &holes(&tasks)[0];
    let reference = hole["reference"].as_str().unwrap();
    let longer = reference.replace("(seconds,)", "(seconds + 4,)");
    assert_ne!(reference, longer);
    let prediction = json!({"hole": hole["id"], "completions": [longer]}).to_string();
    let predictions = text(&dir.write("longer.jsonl", &prediction));
    let tasks = text(&tasks);
    let finished = dir
        .fillrate(&[
            "replay",
            &root,
            "--tasks",
            &tasks,
            "--model",
            &predictions,
            "--out",
            "run",
        ])
        .exits_with(0);
    assert!(
        finished.out.contains("outcomes: passed 1\n"),
        "{finished:#?}"
    );
}

#[test]
fn a_repository_without_tests_gives_holes_by_syntax() {
    let dir = TestDir::new();
    let root = small_repository(&dir);
    fs::remove_dir_all(dir.path("pantry/tests")).unwrap();
    let arguments = [
        "replay", &root, "--holes", "6", "--jobs", "1", "--out", "run",
    ];
    let finished = dir
        .fillrate(&[&arguments[..], &["--model", "reference"]].concat())
        .exits_with(0);
    assert!(
        finished.out.contains("outcomes: unjudged 6\n"),
        "{finished:#?}"
    );
    assert!(
        finished.out.contains("so nothing was executed"),
        "{finished:#?}"
    );
}

#[test]
fn nothing_to_do_is_an_error_with_a_reason() {
    let dir = TestDir::new();
    let tasks = text(&dir.write("none.jsonl", ""));
    let finished = dir
        .fillrate(&["replay", &kitchen(), "--tasks", &tasks])
        .exits_with(3);
    let message = finished.error_message();
    assert!(message.contains("none.jsonl has no holes"), "{message}");
    if !has_tools(&["python3"]) {
        return;
    }
    let root = small_repository(&dir);
    dir.write(
        "pantry/src/kitchen/unused.py",
        "def f(a):\n    return a + 1\n",
    );
    dir.fillrate(&["init", &root, "-o", "pantry.toml"])
        .exits_with(0);
    let manifest = fs::read_to_string(dir.path("pantry.toml")).unwrap();
    let unused = manifest.replace("/src/kitchen/**/*.py", "/src/kitchen/unused.py");
    assert_ne!(unused, manifest);
    dir.write("pantry.toml", &unused);
    let finished = dir
        .fillrate(&["mine", "pantry.toml", "-o", "tasks.jsonl"])
        .exits_with(3);
    let message = finished.error_message();
    assert!(message.contains("no passing test runs a line"), "{message}");
    assert!(!dir.path("tasks.jsonl").exists());
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let dir = TestDir::new();
    let tasks = text(&dir.write("none.jsonl", ""));
    for option in [
        &["--holes", "4"],
        &["--seed", "1"],
        &["--kinds", "line"],
        &["--min-mutation-score", "0.5"],
    ] {
        let arguments = ["replay", &kitchen(), "--tasks", &tasks];
        let finished = dir
            .fillrate(&[&arguments[..], option].concat())
            .exits_with(2);
        assert!(
            finished.err.contains("cannot be used with"),
            "{finished:#?}"
        );
    }
    let finished = dir
        .fillrate(&["export", "run", "-o", "table.xlsx"])
        .exits_with(1);
    let message = finished.error_message();
    assert!(message.contains("no format `xlsx`"), "{message}");
    let finished = dir
        .fillrate(&["mine", &kitchen(), "-o", "nowhere/tasks.jsonl"])
        .exits_with(1);
    let message = finished.error_message();
    assert!(
        message.contains("a folder that does not exist"),
        "{message}"
    );
}

/// Regression: a warm worker loaded the project with a package that imports it, so that its forks
/// ran the original, not the text in the hole.
#[test]
fn a_package_that_imports_the_project_does_not_load_the_original() {
    let dir = TestDir::new();
    dir.write(
        "sieve/soupsieve.py",
        "def sifted(numbers, least):\n    return [n for n in numbers if n >= least]\n",
    );
    dir.write(
        "sieve/tests/test_sieve.py",
        "import bs4\nfrom soupsieve import sifted\n\n\n\
         def test_sifted():\n    assert bs4.__name__ and sifted([1, 2, 3], 2) == [2, 3]\n",
    );
    let corpus = dir.write(
        "sieve.toml",
        "schema = 1\n[[project]]\nname = \"sieve\"\nlanguage = \"python\"\n\
         source = { path = \"sieve\" }\nholes = [\"soupsieve.py\"]\n\
         [project.environment]\n\
         packages = [\"pytest==8.4.2\", \"coverage==7.10.7\", \"beautifulsoup4==4.13.5\"]\n\
         [project.test]\nrunner = \"pytest\"\nargs = [\"tests\"]\npath = [\".\"]\n",
    );
    let corpus = text(&corpus);
    let finished = dir
        .fillrate(&["replay", &corpus, "--model", "empty", "--out", "run"])
        .exits_with(0);
    assert!(finished.out.contains("outcomes: "), "{finished:#?}");
    assert!(!finished.out.contains("passed"), "{finished:#?}");
    assert!(
        !finished.err.contains("starts from scratch"),
        "{finished:#?}"
    );
}

/// A manifest of one project, whose holes are in one file.
fn lamp(dir: &TestDir, hole: &str, test: &str) -> String {
    let manifest = format!(
        "schema = 1\n[[project]]\nname = \"lamp\"\nlanguage = \"python\"\n\
         source = {{ path = \"lamp\" }}\nholes = [\"{hole}\"]\n\
         [project.environment]\npackages = [\"pytest==9.2.0\", \"coverage==7.10.7\"]\n\
         [project.test]\n{test}\npath = [\".\"]\n"
    );
    text(&dir.write("lamp.toml", &manifest))
}

/// pytest 9 imports the project for that, before it loads any plugin.
#[test]
fn settings_that_name_a_warning_of_the_project_load_it_after_the_harness() {
    let dir = TestDir::new();
    // The harness's instructions come through standard input, and no other code may read them.
    dir.write(
        "lamp/lamp.py",
        "import os\nimport stat\n\nREADABLE = stat.S_ISSOCK(os.fstat(0).st_mode)\n\n\n\
         class LampWarning(UserWarning):\n    pass\n\n\n\
         def brightness(lumens, lamps):\n    return lumens * lamps\n",
    );
    dir.write(
        "lamp/test_lamp.py",
        "import lamp\n\n\ndef test_brightness():\n    assert lamp.brightness(800, 3) == 2400\n\n\n\
         def test_instructions():\n    assert not lamp.READABLE\n",
    );
    dir.write(
        "lamp/pytest.ini",
        "[pytest]\nfilterwarnings =\n    error\n    ignore::lamp.LampWarning\n",
    );
    let corpus = lamp(&dir, "lamp.py", "runner = \"pytest\"");
    for engine in ["warm", "cold", "naive"] {
        let arguments = ["replay", &corpus, "--kinds", "body", "--engine", engine];
        let more = ["--model", "reference", "--out", engine];
        let finished = dir
            .fillrate(&[&arguments[..], &more].concat())
            .exits_with(0);
        assert!(
            finished.out.contains("outcomes: passed 1\n"),
            "{engine}: {finished:#?}"
        );
        assert!(
            !finished.out.contains("set aside"),
            "{engine}: {finished:#?}"
        );
    }
}

#[test]
fn what_is_loaded_before_anything_is_watched_is_refused() {
    for test in ["runner = \"pytest\"", "runner = \"unittest\""] {
        let dir = TestDir::new();
        dir.write(
            "lamp/sitecustomize.py",
            "def brightness(lumens, lamps):\n    return lumens * lamps\n",
        );
        dir.write(
            "lamp/test_lamp.py",
            "import unittest\n\nfrom sitecustomize import brightness\n\n\n\
             class LampTest(unittest.TestCase):\n    def test_brightness(self):\n\
             \x20       self.assertEqual(brightness(800, 3), 2400)\n",
        );
        let corpus = lamp(&dir, "sitecustomize.py", test);
        let refused = dir
            .fillrate(&["replay", &corpus, "--model", "reference", "--out", "run"])
            .exits_with(3);
        let message = refused.error_message();
        let said = "loads sitecustomize.py itself, before anything is watched; replay another \
                    project, or leave this file out of `holes`";
        assert!(message.contains(said), "{message}");
    }
}

/// Writes files into a folder.
fn write_all(dir: &TestDir, folder: &str, files: &[(&str, &str)]) -> String {
    for (name, text) in files {
        dir.write(&format!("{folder}/{name}"), text);
    }
    text(&dir.path(folder))
}

/// A package of npm whose tests are Node's: a function, and what `package.json` has.
fn node_package(dir: &TestDir, folder: &str, package: &str) -> String {
    let files = [
        ("package.json", package),
        (
            "index.js",
            "exports.add = (a, b) => {\n  const sum = a + b;\n  return sum;\n};\n",
        ),
        (
            "test/add.test.js",
            "const test = require(\"node:test\");\nconst assert = require(\"node:assert\");\n\
             test(\"adds\", () => assert.equal(require(\"..\").add(1, 2), 3));\n",
        ),
    ];
    write_all(dir, folder, &files)
}

#[test]
fn a_plugin_that_pytest_can_not_load_is_left_out_and_named() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let files = [
        (
            "pyproject.toml",
            "[project]\nname = \"attic\"\nversion = \"1\"\n\
             [project.entry-points.pytest11]\nold = \"attic.old\"\ngone = \"attic.gone\"\n\
             [build-system]\nrequires = [\"setuptools\"]\n\
             build-backend = \"setuptools.build_meta\"\n",
        ),
        (
            "attic/__init__.py",
            "def area(width, length):\n    size = width * length\n    return size\n",
        ),
        // A hook with an argument that pytest no longer has, and a name that it never had.
        (
            "attic/old.py",
            "def pytest_collect_file(file_path, path, parent):\n    return None\n",
        ),
        ("attic/gone.py", "from pytest import nothing_of_this_name\n"),
        (
            "tests/test_attic.py",
            "import pytest\nfrom attic import area\n\n\n@pytest.mark.parametrize(\"width\", [1, 2, \
             3])\ndef test_area(width):\n    assert area(width, 3) == width * 3\n",
        ),
    ];
    let attic = write_all(&dir, "attic", &files);
    let arguments = ["replay", &attic, "--model", "reference", "--out", "run"];
    let replayed = dir.fillrate(&arguments).exits_with(0);
    assert!(replayed.out.contains("outcomes: passed "), "{replayed:#?}");
    for named in ["plugin://old: ", "plugin://gone: ImportError: "] {
        assert!(replayed.err.contains(named), "{named}: {replayed:#?}");
    }
}

#[test]
fn distributions_that_poetry_names_by_folders_are_installed_from_them() {
    if !has_tools(&["python3"]) {
        return;
    }
    let dir = TestDir::new();
    let poetry = |name: &str, more: &str| {
        format!(
            "[tool.poetry]\nname = \"{name}\"\nversion = \"1\"\ndescription = \"\"\n\
             authors = []\n[tool.poetry.dependencies]\npython = \">=3.9\"\n{more}\n\
             [build-system]\nrequires = [\"poetry-core\"]\n\
             build-backend = \"poetry.core.masonry.api\"\n"
        )
    };
    let kit = "fillrate-scale = { path = \"../scale\", develop = true }\n\
               [tool.poetry.group.dev.dependencies]\n\
               fillrate-kit = { path = \"../kit\", develop = true }\n";
    let files = [
        ("shop/pyproject.toml", &*poetry("fillrate-shop", kit)),
        (
            "shop/fillrate_shop/__init__.py",
            "from fillrate_scale import pounds\n\n\ndef price(grams):\n    weight = \
             pounds(grams)\n    return weight * 3\n",
        ),
        (
            "shop/tests/test_shop.py",
            "from fillrate_kit import near\nfrom fillrate_shop import price\n\n\n\
             def test_price():\n    assert near(price(1000), 6)\n",
        ),
        ("scale/pyproject.toml", &*poetry("fillrate-scale", "")),
        (
            "scale/fillrate_scale/__init__.py",
            "def pounds(grams):\n    return grams / 500\n",
        ),
        ("kit/pyproject.toml", &*poetry("fillrate-kit", "")),
        (
            "kit/fillrate_kit/__init__.py",
            "def near(a, b):\n    return abs(a - b) < 0.1\n",
        ),
    ];
    // The top has no tests that can run: the package with the most is taken.
    let market = write_all(&dir, "market", &files);
    let arguments = ["replay", &market, "--model", "reference", "--out", "run"];
    let replayed = dir.fillrate(&arguments).exits_with(0);
    assert!(replayed.out.contains("outcomes: passed "), "{replayed:#?}");
    for said in [
        "  package: shop, since the top has no tests that can run: of those whose tests can, it has \
         the most\n",
        "--package scale`",
    ] {
        assert!(replayed.err.contains(said), "{said}: {replayed:#?}");
    }
    // The environment holds the code of the others, so it is made anew for other code.
    dir.write(
        "market/kit/fillrate_kit/__init__.py",
        "def near(a, b):\n    return False\n",
    );
    let arguments = ["replay", &market, "--model", "reference", "--out", "again"];
    let replayed = dir.fillrate(&arguments);
    let failed = "passes 0 of its own 1 tests";
    assert!(replayed.err.contains(failed), "{replayed:#?}");
}

#[test]
fn tests_run_without_a_build_that_fails() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let package = r#"{"name": "barn", "scripts": {"pretest": "npm run build", "build": "tsc -b",
                      "test": "node --test"}}"#;
    let barn = node_package(&dir, "barn", package);
    // The second start finds in the cache what the first one has built.
    for run in ["first", "second"] {
        let arguments = ["replay", &barn, "--model", "reference", "--out", run];
        let replayed = dir.fillrate(&arguments).exits_with(0);
        assert!(replayed.out.contains("outcomes: passed "), "{replayed:#?}");
        let said = "before the tests: `npm run build` exited with status 127: ";
        assert!(replayed.err.contains(said), "{replayed:#?}");
    }
}

#[test]
fn a_node_that_is_too_old_is_named_with_the_wanted_one() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let package =
        r#"{"name": "mill", "engines": {"node": ">=97.1"}, "scripts": {"test": "node --test"}}"#;
    let mill = node_package(&dir, "mill", package);
    let refused = dir.fillrate(&["check", &mill]).exits_with(3);
    let message = refused.error_message();
    for said in [
        "node >=97.1 is needed for a project of the corpus; the one found is ",
        "so install one, e.g. by `nvm install 97`",
    ] {
        assert!(message.contains(said), "{message}");
    }
}

/// Regression: mocha waited for a server that a failed test left open until the time limit.
#[test]
fn a_failed_test_that_leaves_something_open_ends_the_run_of_mocha() {
    if !has_tools(&["node", "npm"]) {
        return;
    }
    let dir = TestDir::new();
    let files = [
        (
            "greet.js",
            "exports.greet = (name) => {\n  const greeting = `hello ${name}`;\n  return \
             greeting;\n};\n",
        ),
        (
            "test/greet.js",
            "const assert = require(\"assert\");\nconst http = require(\"http\");\nconst { greet } \
             = require(\"../greet.js\");\n\nit(\"greets\", (done) => {\n  const server = \
             http.createServer();\n  server.listen(0, () => {\n    \
             assert.strictEqual(greet(\"a\"), \"hello a\");\n    server.close(done);\n  });\n});\n",
        ),
    ];
    write_all(&dir, "inn", &files);
    let manifest = "schema = 1\n[[project]]\nname = \"inn\"\nlanguage = \"javascript\"\n\
                    source = { path = \"inn\" }\nholes = [\"greet.js\"]\n\
                    [project.environment]\npackages = [\"mocha@11.8.0\"]\n\
                    [project.test]\nrunner = \"mocha\"\n";
    let corpus = text(&dir.write("inn.toml", manifest));
    let arguments = ["replay", &corpus, "--model", "empty", "--kinds", "body"];
    let more = ["--engine", "cold", "--out", "run"];
    let replayed = dir
        .fillrate(&[&arguments[..], &more].concat())
        .exits_with(0);
    assert!(
        replayed.out.contains("outcomes: failed 3\n"),
        "{replayed:#?}"
    );
}
