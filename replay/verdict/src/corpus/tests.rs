use std::cell::RefCell;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use fillrate_language::LanguageSupport;
use fillrate_language::environment::{EnvironmentError, EnvironmentKind, Packages};
use fillrate_language::programs;
use fillrate_language::runner::RunnerName;
use insta::assert_snapshot;
use sha2::Digest;
use tempfile::TempDir;

use super::environment::Environment;
use super::manifest::ManifestError;
use super::*;

/// A manifest of one project that is valid, for tests to change.
const VALID: &str = r#"schema = 1
[[project]]
name = "demo"
language = "python"
source = { path = "demo" }
holes = ["src/**/*.py"]
[project.environment]
packages = ["pytest==8.4.2"]
[project.test]
runner = "pytest"
"#;

fn parse(text: &str) -> Result<Manifest, ManifestError> {
    Manifest::parse(text, Path::new("corpora/some.toml"))
}

/// The error of [`VALID`] after a change.
fn error_after(from: &str, to: &str) -> String {
    assert_eq!(VALID.matches(from).count(), 1, "`{from}` must occur once");
    parse(&VALID.replace(from, to)).unwrap_err().to_string()
}

/// A project with the given `source`.
fn project(source: &str) -> Project {
    let text = VALID.replace("{ path = \"demo\" }", source);
    parse(&text).unwrap().projects.remove(0)
}

fn bring(cache: &Path, project: &Project) -> Result<source::CachedSource, CorpusError> {
    source::fetch(&Cache::at(cache), &Toolchain::default(), project, &|_| {})
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Everything in a tree, as `KIND PATH` lines.
fn listing(root: &Path) -> String {
    let lines: Vec<_> = tree::entries(root)
        .unwrap()
        .into_iter()
        .map(|entry| match entry.kind {
            tree::EntryKind::File { executable: false } => format!("f {}", entry.path),
            tree::EntryKind::File { executable: true } => format!("x {}", entry.path),
            tree::EntryKind::Link(target) => format!("l {} -> {target}", entry.path),
        })
        .collect();
    lines.join("\n")
}

#[test]
fn a_valid_manifest_is_read_whole() {
    let manifest = parse(
        r#"schema = 1
[[project]]
name = "one"
language = "python"
source = { git = "https://example.org/one.git", revision = "0123456789012345678901234567890123456789" }
holes = ["src/**/*.py", "!src/one/data.py"]
exclude = ["docs/"]
[project.environment]
packages = ["pytest==8.4.2", "coverage[toml]==7.10.7"]
requirements = "requirements.txt"
[project.test]
runner = "pytest"
args = ["tests", "-x"]
path = ["src", "."]
[[project]]
name = "two"
language = "typescript"
source = { path = "two" }
holes = ["**/*.ts"]
[project.environment]
lock = "web/package-lock.json"
packages = ["@scope/name@1.2.3-beta.1"]
[project.test]
runner = "vitest"
"#,
    )
    .unwrap();
    let one = manifest.project("one").unwrap();
    assert_eq!(one.holes.patterns(), ["src/**/*.py", "!src/one/data.py"]);
    assert_eq!(one.arguments(), ["tests", "-x"]);
    assert_eq!(one.test.as_ref().unwrap().path, ["src", "."]);
    assert_eq!(one.environment.packages.len(), 2);
    let two = manifest.project("two").unwrap();
    assert_eq!(two.test.as_ref().unwrap().runner, RunnerName::Vitest);
    assert_eq!(
        two.environment.file.as_deref(),
        Some("web/package-lock.json")
    );
    assert!(two.exclude.patterns().is_empty());
    let manifest::SourcePin::Path(path) = &two.source else {
        panic!("{:?}", two.source)
    };
    assert!(path.is_absolute() && path.ends_with("corpora/two"));
}

#[test]
fn the_manifests_of_the_repository_are_valid() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpora");
    for (name, projects) in [("demo", 2), ("real", 7), ("repomastereval", 6)] {
        let manifest = Manifest::read(&corpora.join(format!("{name}.toml"))).unwrap();
        assert_eq!(manifest.projects.len(), projects, "{name}");
    }
}

#[test]
fn a_project_needs_no_tests_and_then_no_environment() {
    let without = VALID.split_once("[project.environment]").unwrap().0;
    let project = parse(without).unwrap().projects.remove(0);
    assert_eq!(project.test, None);
    assert_eq!(project.environment, Packages::default());
    assert!(project.arguments().is_empty());
    assert_snapshot!(error_after("[project.environment]\npackages = [\"pytest==8.4.2\"]\n", ""), @"corpora/some.toml:2: `project.environment` is missing");
}

#[test]
fn the_time_that_tests_may_take_is_whole_seconds() {
    let timed = VALID.to_owned() + "timeout = 3\n";
    let project = parse(&timed).unwrap().projects.remove(0);
    assert_eq!(project.test.unwrap().timeout, Some(3));
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"pytest\"\ntimeout = 0"), @"corpora/some.toml:11: `project.test.timeout` must be seconds, from 1 to 65535");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"pytest\"\ntimeout = \"3 s\""), @"corpora/some.toml:11: `project.test.timeout` must be an integer, not a string");
}

#[test]
fn a_key_that_is_wrong_is_named_with_its_line() {
    assert_snapshot!(error_after("holes", "hole"), @"corpora/some.toml:6: `project.hole` is not a known key; `holes` is the nearest that is");
    assert_snapshot!(error_after("[project.test]\nrunner", "[project.test]\nworkers = 4\nrunner"), @"corpora/some.toml:10: `project.test.workers` is not a known key; known are `runner`, `args`, `folder`, `path`, `config`, `command`, `report`, `timeout`, `min_share`");
    assert_snapshot!(error_after("schema = 1", "scheme = 1"), @"corpora/some.toml:1: `scheme` is not a known key; `schema` is the nearest that is");
    assert_snapshot!(error_after("schema = 1", "schema = 2"), @"corpora/some.toml:1: `schema` is 2, but this version of Fillrate reads 1");
    assert_snapshot!(error_after("schema = 1", "schema = \"1\""), @"corpora/some.toml:1: `schema` must be an integer, not a string");
    assert_snapshot!(error_after("name = \"demo\"\n", ""), @"corpora/some.toml:2: `project.name` is missing");
    assert_snapshot!(error_after("name = \"demo\"", "name = \"../demo\""), @"corpora/some.toml:3: `project.name` must start with a letter, a digit or `_` and hold only these, `.` and `-`");
    assert_snapshot!(error_after("holes = [\"src/**/*.py\"]", "holes = \"src/**/*.py\""), @"corpora/some.toml:6: `project.holes` must be an array of strings, not a string");
    assert_snapshot!(error_after("holes = [\"src/**/*.py\"]", "holes = [\n  \"src\",\n  3,\n]"), @"corpora/some.toml:8: `project.holes` must be an array of strings, but holds an integer");
    assert_snapshot!(error_after("holes = [\"src/**/*.py\"]", "holes = [\n  \"src\",\n  \"src/{a,b\",\n]"), @"corpora/some.toml:8: `project.holes` has the bad glob `src/{a,b`: error parsing glob 'src/{a,b': unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
    assert_snapshot!(error_after("holes = [\"src/**/*.py\"]\n", ""), @"corpora/some.toml:2: `project.holes` is missing");
    assert_snapshot!(error_after("language = \"python\"", "language = \"pyhton\""), @"corpora/some.toml:4: `project.language` does not know `pyhton`; `python` is the nearest that is");
    assert_snapshot!(error_after("language = \"python\"", "language = \"cobol\""), @"corpora/some.toml:4: `project.language` does not know `cobol`; known are `python`, `typescript`, `javascript`, `go`, `java`, `csharp`");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"tap\""), @"corpora/some.toml:10: `project.test.runner` does not know `tap`; known are `pytest`, `unittest`, `vitest`, `node`, `mocha`, `jest`, `go`, `jupiter`, `junit`");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"vitest\""), @"corpora/some.toml:10: `project.test.runner` is `vitest`, but python projects run under `pytest`, `unittest`, `junit`");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"pytest\"\npath = [\"../src\"]"), @"corpora/some.toml:11: `project.test.path` has `../src`, which must be a path inside the repository");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"junit\""), @"corpora/some.toml:9: `project.test.command` is missing");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"junit\"\ncommand = []"), @"corpora/some.toml:11: `project.test.command` must name a program");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"junit\"\ncommand = [\"true\"]\nreport = \"/r.xml\""), @"corpora/some.toml:12: `project.test.report` has `/r.xml`, which must be a path inside the repository");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"junit\"\nargs = [\"a\"]"), @"corpora/some.toml:11: `project.test.args` is not for junit; write the arguments into `command`");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"pytest\"\nreport = \"r.xml\""), @"corpora/some.toml:11: `project.test.report` is only for junit");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = \"pytest\"\nconfig = \"c.mjs\""), @"corpora/some.toml:11: `project.test.config` is only for vitest");
    assert_snapshot!(error_after("[project.environment]\n", "[project.environment]\nlock = \"package-lock.json\"\n"), @"corpora/some.toml:8: `project.environment.lock` is not for python projects; use `requirements` or `packages`");
    assert_snapshot!(error_after("packages = [\"pytest==8.4.2\"]\n", ""), @"corpora/some.toml:7: `project.environment` needs at least one of `packages`, `requires`, `install` and `requirements`");
    assert_snapshot!(error_after("pytest==8.4.2", "pytest>=8"), @"corpora/some.toml:8: `project.environment.packages` holds `pytest>=8`, which is no exact pin; write `NAME==VERSION`, or name it in `requires`");
    assert_snapshot!(error_after("pytest==8.4.2", "--index-url=http://a"), @"corpora/some.toml:8: `project.environment.packages` holds `--index-url=http://a`, which is no exact pin; write `NAME==VERSION`, or name it in `requires`");
    assert_snapshot!(error_after("packages = [\"pytest==8.4.2\"]\n", "packages = [\"pytest==8.4.2\"]\nextras = [\"a\"]\n"), @"corpora/some.toml:9: `project.environment.extras` are of the project itself, which is not installed; add `install`");
    assert_snapshot!(error_after("language = \"python\"", "language = \"csharp\""), @"corpora/some.toml:9: `project.test` is not for csharp projects, whose tests are not run; remove it");
    assert_snapshot!(error_after("[[project]]", "[project]"), @"corpora/some.toml:2: `project` must be an array of tables, so write `[[project]]`");
    assert_snapshot!(error_after("runner = \"pytest\"", "runner = "), @"corpora/some.toml:10: this is not TOML: string values must be quoted, expected literal string");
    assert_snapshot!(parse("schema = 1").unwrap_err().to_string(), @"corpora/some.toml:1: `project` is missing");
}

#[test]
fn a_source_that_is_wrong_is_named_with_its_line() {
    let source = |to: &str| error_after("{ path = \"demo\" }", to);
    assert_snapshot!(source("{ }"), @"corpora/some.toml:5: `project.source` names no source; give one of `path`, `pypi`, `npm`, `git` and `archive`");
    assert_snapshot!(source("{ path = \"a\", npm = \"a@1.2.3\" }"), @"corpora/some.toml:5: `project.source` names several sources (`path`, `npm`); keep one");
    assert_snapshot!(source("{ pypi = \"a==1\" }"), @"corpora/some.toml:5: `project.source.sha256` is missing; `pypi` needs it, as 64 lowercase hexadecimal digits");
    assert_snapshot!(source("{ pypi = \"a>=1\", sha256 = \"00\" }"), @"corpora/some.toml:5: `project.source.pypi` must be an exact pin, `NAME==VERSION`");
    assert_snapshot!(source("{ pypi = \"a==1\", sha256 = \"ABC\" }"), @"corpora/some.toml:5: `project.source.sha256` must be 64 lowercase hexadecimal digits");
    assert_snapshot!(source("{ npm = \"a@1.2.3\" }"), @"corpora/some.toml:5: `project.source.integrity` is missing; `npm` needs it, as `sha512-` and 88 digits of base64");
    assert_snapshot!(source("{ npm = \"a@^1.2.3\", integrity = \"sha512-AA==\" }"), @"corpora/some.toml:5: `project.source.npm` must be an exact pin, `NAME@VERSION`");
    assert_snapshot!(source("{ npm = \"a@1.2.3\", integrity = \"sha512-AA==\" }"), @"corpora/some.toml:5: `project.source.integrity` must be `sha512-` and 88 digits of base64");
    assert_snapshot!(source("{ archive = \"https://a/b.tar.gz\" }"), @"corpora/some.toml:5: `project.source.sha256` is missing; `archive` needs it, as 64 lowercase hexadecimal digits");
    assert_snapshot!(source("{ archive = \"ftp://a/b.tar.gz\", sha256 = \"00\" }"), @"corpora/some.toml:5: `project.source.archive` must be an address that starts with `https://` or `http://`");
    assert_snapshot!(source("{ git = \"https://a/b.git\", revision = \"main\" }"), @"corpora/some.toml:5: `project.source.revision` must be 40 lowercase hexadecimal digits, a whole commit");
    assert_snapshot!(source("{ git = \"ext::sh -c id\", revision = \"main\" }"), @"corpora/some.toml:5: `project.source.git` must be an address that starts with `https://`, `ssh://`, `git://` or `file://`");
    assert_snapshot!(source("{ git = \"https://a/b.git\", sha256 = \"00\" }"), @"corpora/some.toml:5: `project.source.sha256` does not go with `git`; remove it");
}

#[test]
fn two_projects_with_one_name_are_refused() {
    let second = VALID.split_once('\n').unwrap().1;
    assert_snapshot!(parse(&format!("{VALID}{second}")).unwrap_err().to_string(), @"corpora/some.toml:12: `project.name` is `demo`, as is the name of the project on line 3; give each its own");
}

#[test]
fn a_manifest_that_is_not_there_is_named() {
    assert_snapshot!(Manifest::read(Path::new("no/such.toml")).unwrap_err().to_string(), @"no/such.toml:1: the manifest cannot be read: No such file or directory (os error 2)");
}

#[test]
fn a_configuration_must_stand_beside_the_manifest() {
    let folder = TempDir::new().unwrap();
    let text = VALID
        .replace("python", "typescript")
        .replace("pytest==", "vitest@")
        .replace("\"pytest\"", "\"vitest\"\nconfig = \"v.mjs\"");
    let path = folder.path().join("m.toml");
    let error = Manifest::parse(&text, &path).unwrap_err();
    assert_snapshot!(error.message, @"`project.test.config` names `v.mjs`, but no such file is next to the manifest");
    write(folder.path(), "v.mjs", "export default {};");
    let manifest = Manifest::parse(&text, &path).unwrap();
    assert_eq!(
        manifest.projects[0].test.as_ref().unwrap().config,
        Some(folder.path().join("v.mjs"))
    );
}

fn globs(patterns: &[&str]) -> manifest::Globs {
    manifest::Globs::new(patterns.iter().map(|&pattern| pattern.to_owned()).collect()).unwrap()
}

#[test]
fn globs_follow_the_last_pattern_that_matches() {
    let cases: &[(&[&str], &str, bool)] = &[
        (&["src/**/*.py"], "src/a.py", true),
        (&["src/**/*.py"], "src/a/b/c.py", true),
        (&["src/**/*.py"], "other/src/a.py", false),
        (&["src/*.py"], "src/a/b.py", false),
        (&["*.py"], "a/b.py", true),
        (&["docs/"], "docs/a/b.md", true),
        (&["docs/"], "a/docs/b.md", true),
        (&["/docs/"], "a/docs/b.md", false),
        (
            &["src/**/*.ts", "!src/**/tests/"],
            "src/a/tests/b.ts",
            false,
        ),
        (&["src/**/*.ts", "!src/**/tests/"], "src/a/b.ts", true),
        (&["/*", "!/src/"], "src/deep/a.ts", false),
        (&["/*", "!/src/"], "v3/index.js", true),
        (&["/*", "!/src/"], "index.js", true),
        (&["!a.py", "*.py"], "a.py", true),
        (&[], "a.py", false),
    ];
    for (patterns, path, expected) in cases {
        assert_eq!(
            globs(patterns).matches(path),
            *expected,
            "{patterns:?} {path}"
        );
    }
}

/// A user's working folder, with ignored files and files that tools made.
fn working_folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    write(root, "src/a.py", "a = 1\n");
    write(root, "src/sub/b.py", "b = 2\n");
    write(root, "tests/test_a.py", "def test_a(): pass\n");
    write(root, "docs/a.md", "# A\n");
    write(root, ".hidden", "kept\n");
    write(root, ".gitignore", "*.log\n/build/\n");
    write(root, "noise.log", "ignored\n");
    write(root, "build/out.py", "ignored\n");
    write(root, "node_modules/a/index.js", "made by a tool\n");
    write(root, "src/__pycache__/a.pyc", "made by a tool\n");
    write(root, ".git/config", "made by a tool\n");
    folder
}

#[test]
fn repository_has_files_that_are_not_ignored() {
    let folder = working_folder();
    let repository = |path: &str| tree::repository_with(&folder.path().join(path));
    assert_eq!(
        repository("docs/a.md"),
        Some(folder.path().canonicalize().unwrap())
    );
    assert_eq!(repository("noise.log"), None);
    assert_eq!(repository("build/out.py"), None);
}

/// zod's package ignores every `package.json` below it, and its own is tracked.
#[test]
fn a_path_source_has_what_git_tracks_although_it_is_ignored() {
    let folder = working_folder();
    let root = folder.path();
    fs::remove_dir_all(root.join(".git")).unwrap();
    git(root, &["init", "--quiet"]);
    let tracked = ["noise.log", "build/out.py", "node_modules/a/index.js"];
    git(root, &[&["add", "--force"], &tracked[..]].concat());
    write(root, "more.log", "ignored\n");
    let cache = TempDir::new().unwrap();
    let copied = bring(cache.path(), &project(&format!("{{ path = {root:?} }}"))).unwrap();
    assert_snapshot!(listing(&copied.root), @r#"
f .gitignore
f .hidden
f build/out.py
f docs/a.md
f noise.log
f src/a.py
f src/sub/b.py
f tests/test_a.py
"#);
}

/// Code under test could read the answers of the original from what is compiled from it.
#[test]
fn a_path_source_is_copied_without_what_build_tools_compiled() {
    let folder = TempDir::new().unwrap();
    for path in [
        "app/pom.xml",
        "app/target/classes/A.class",
        "app/src/target/A.java",
        "lib/build.gradle.kts",
        "lib/build/classes/B.class",
        "lib/.gradle/cache.bin",
        "docs/build/c.md",
    ] {
        write(folder.path(), path, path);
    }
    let cache = TempDir::new().unwrap();
    let project = project(&format!("{{ path = {:?} }}", folder.path()));
    let copied = bring(cache.path(), &project).unwrap();
    assert_snapshot!(listing(&copied.root), @r#"
f app/pom.xml
f app/src/target/A.java
f docs/build/c.md
f lib/build.gradle.kts
"#);
}

#[test]
fn a_path_source_is_copied_without_what_ignore_files_and_tools_leave_out() {
    let folder = working_folder();
    let cache = TempDir::new().unwrap();
    std::os::unix::fs::symlink("src/a.py", folder.path().join("link.py")).unwrap();
    std::os::unix::fs::symlink("gone.py", folder.path().join("dangling.py")).unwrap();
    let project = project(&format!("{{ path = {:?} }}", folder.path()));
    let first = bring(cache.path(), &project).unwrap();
    assert_snapshot!(listing(&first.root), @r#"
f .gitignore
f .hidden
f docs/a.md
l link.py -> src/a.py
f src/a.py
f src/sub/b.py
f tests/test_a.py
"#);
    assert_eq!(first.digest, tree::digest(&first.root).unwrap());

    // What is left out does not count; what is kept does.
    write(folder.path(), "noise.log", "more\n");
    assert_eq!(bring(cache.path(), &project).unwrap(), first);
    write(folder.path(), "src/a.py", "a = 2\n");
    let second = bring(cache.path(), &project).unwrap();
    assert_ne!(second.root, first.root);
    assert_ne!(second.digest, first.digest);
    assert_eq!(
        fs::read_to_string(first.root.join("src/a.py")).unwrap(),
        "a = 1\n"
    );
}

#[test]
fn a_path_that_is_no_folder_is_named() {
    let cache = TempDir::new().unwrap();
    let error = bring(cache.path(), &project("{ path = \"/no/such\" }")).unwrap_err();
    assert_snapshot!(error.to_string(), @"`demo` cannot be prepared: its source `/no/such` is not a folder; correct `path`");
}

#[test]
fn a_link_out_of_a_path_source_is_refused() {
    let folder = working_folder();
    let cache = TempDir::new().unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("src/link")).unwrap();
    let project = project(&format!("{{ path = {:?} }}", folder.path()));
    let error = bring(cache.path(), &project).unwrap_err();
    assert_snapshot!(error.to_string(), @"the source of `demo` was refused: `src/link` is a link to `/etc/passwd`, which is outside of the source");
}

#[test]
fn a_link_that_leaves_by_way_of_another_is_refused() {
    let folder = TempDir::new().unwrap();
    write(folder.path(), "outside", "secret");
    let root = folder.path().join("tree");
    write(&root, "x/y/z/file", "");
    let link = |target: &str, at: &str| std::os::unix::fs::symlink(target, root.join(at)).unwrap();
    // Taken by its words, the second stays at `x/outside`; through the first, it leaves.
    link("../../..", "x/y/z/up");
    link("x/y/z/up/../outside", "leaves");
    let error = tree::check_links("demo", &root).unwrap_err();
    assert_snapshot!(error.to_string(), @"the source of `demo` was refused: `leaves` is a link to `x/y/z/up/../outside`, which is outside of the source");
}

#[test]
fn the_digest_follows_paths_contents_and_modes_only() {
    let folder = TempDir::new().unwrap();
    let digest_of = |name: &str, files: &[(&str, &str)]| {
        let root = folder.path().join(name);
        for (path, text) in files {
            write(&root, path, text);
        }
        tree::digest(&root).unwrap()
    };
    let base = digest_of("base", &[("a", "1"), ("b/c", "2")]);
    assert_eq!(base, digest_of("same", &[("b/c", "2"), ("a", "1")]));
    assert_ne!(base, digest_of("content", &[("a", "1"), ("b/c", "3")]));
    assert_ne!(base, digest_of("path", &[("a", "1"), ("b/d", "2")]));
    // Without lengths, these two would be one string of bytes.
    assert_ne!(
        digest_of("left", &[("a", "bf"), ("c", "")]),
        digest_of("right", &[("a", "b"), ("fc", "")])
    );
    use std::os::unix::fs::PermissionsExt;
    let script = folder.path().join("same/a");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_ne!(base, tree::digest(&folder.path().join("same")).unwrap());
    fs::set_permissions(&script, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(folder.path().join("same/empty")).unwrap();
    assert_eq!(base, tree::digest(&folder.path().join("same")).unwrap());
}

fn tar_gz(entries: &[ArchiveEntry]) -> Vec<u8> {
    let fast = flate2::Compression::fast();
    let encoder = tar(entries, flate2::write::GzEncoder::new(Vec::new(), fast));
    encoder.finish().unwrap()
}

/// Kind, path, contents or target.
type ArchiveEntry<'a> = (tar::EntryType, &'a str, &'a str);

fn tar<W: Write>(entries: &[ArchiveEntry], into: W) -> W {
    let mut builder = tar::Builder::new(into);
    for (kind, path, text) in entries {
        let mut header = tar::Header::new_old();
        header.set_entry_type(*kind);
        header.set_mode(if path.ends_with(".sh") { 0o4777 } else { 0o600 });
        let is_link = matches!(kind, tar::EntryType::Symlink | tar::EntryType::Link);
        // The safe setters refuse what these tests are about.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        if is_link {
            header.as_mut_bytes()[157..157 + text.len()].copy_from_slice(text.as_bytes());
        }
        let data = if is_link { "" } else { text };
        header.set_size(data.len() as u64);
        header.set_cksum();
        builder.append(&header, data.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn unpack(entries: &[ArchiveEntry]) -> Result<String, String> {
    unpack_bytes(&tar_gz(entries))
}

fn unpack_bytes(bytes: &[u8]) -> Result<String, String> {
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("a.tar.gz");
    fs::write(&archive, bytes).unwrap();
    let into = folder.path().join("into");
    fs::create_dir(&into).unwrap();
    let result = archive::unpack("demo", &archive, &into);
    let mut beside: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    beside.sort();
    assert_eq!(
        beside,
        ["a.tar.gz", "into"],
        "something was written outside"
    );
    result
        .map(|()| listing(&into))
        .map_err(|error| error.to_string())
}

#[test]
fn an_archive_is_unpacked_without_its_top_folder() {
    use tar::EntryType as Kind;
    let listed = unpack(&[
        (Kind::XGlobalHeader, "pax_global_header", ""),
        (Kind::Directory, "top/", ""),
        (Kind::Regular, "top/a", "1"),
        (Kind::Regular, "./top/sub/run.sh", "2"),
        (Kind::Symlink, "top/sub/link", "../a"),
        (Kind::Symlink, "top/dangling", "nowhere"),
        (Kind::Link, "top/hard", "top/a"),
        (Kind::Link, "top/hard.sh", "top/sub/run.sh"),
    ]);
    assert_snapshot!(listed.unwrap(), @r#"
f a
f hard
x hard.sh
l sub/link -> ../a
x sub/run.sh
"#);
}

#[test]
fn an_archive_may_be_compressed_by_xz() {
    use lzma_rust2::{XzOptions, XzWriter};
    let entry = (tar::EntryType::Regular, "top/a", "1");
    let xz = tar(
        &[entry],
        XzWriter::new(Vec::new(), XzOptions::default()).unwrap(),
    );
    let mut xz = xz.finish().unwrap();
    assert_snapshot!(unpack_bytes(&xz).unwrap(), @"f a");
    let middle = xz.len() / 2;
    xz[middle] ^= 1;
    let damaged = unpack_bytes(&xz).unwrap_err();
    assert!(damaged.starts_with("unpacking "), "{damaged}");
}

#[test]
fn an_archive_that_would_escape_is_refused() {
    use tar::EntryType as Kind;
    let refused = |entries: &[_]| unpack(entries).unwrap_err();
    assert_snapshot!(refused(&[(Kind::Regular, "top/../../escaped", "")]), @"the source of `demo` was refused: `top/../../escaped` leads out of the archive");
    assert_snapshot!(refused(&[(Kind::Regular, "/escaped", "")]), @"the source of `demo` was refused: `/escaped` leads out of the archive");
    assert_snapshot!(refused(&[(Kind::Regular, "top/a", ""), (Kind::Regular, "other/b", "")]), @"the source of `demo` was refused: `other/b` is not in the one folder at the archive's top");
    assert_snapshot!(refused(&[(Kind::Regular, "lonely", "")]), @"the source of `demo` was refused: `lonely` is next to the folder that an archive has at its top");
    assert_snapshot!(refused(&[(Kind::Symlink, "top/link", "/etc")]), @"the source of `demo` was refused: `link` is a link to `/etc`, which is outside of the source");
    assert_snapshot!(refused(&[(Kind::Symlink, "top/link", "../../escaped")]), @"the source of `demo` was refused: `link` is a link to `../../escaped`, which is outside of the source");
    assert_snapshot!(refused(&[(Kind::Link, "top/link", "../a.tar.gz")]), @"the source of `demo` was refused: `top/link` is a hard link out of the archive");
    assert_snapshot!(refused(&[(Kind::Link, "top/link", "/etc/passwd")]), @"the source of `demo` was refused: `top/link` is a hard link out of the archive");
    assert_snapshot!(refused(&[(Kind::Char, "top/device", "")]), @"the source of `demo` was refused: `top/device` is neither a file, a folder nor a link");
    // A file that is written through a link which precedes it.
    assert_snapshot!(
        refused(&[(Kind::Symlink, "top/out", ".."), (Kind::Regular, "top/out/escaped", "")]),
        @"the source of `demo` was refused: `top/out` is a link in the place of another entry"
    );
}

/// Serves one response per connection for as long as the test runs; gives back its address.
fn serve(status: &'static str, body: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&body);
        }
    });
    format!("http://{address}/a.tar.gz")
}

fn sha256(bytes: &[u8]) -> String {
    cache::hex(&sha2::Sha256::digest(bytes))
}

#[test]
fn an_archive_is_fetched_once_and_verified() {
    let cache = TempDir::new().unwrap();
    let body = tar_gz(&[(tar::EntryType::Regular, "top/src/a.py", "a = 1\n")]);
    let pin = sha256(&body);
    let url = serve("200 OK", body);
    let archive =
        |url: &str, pin: &str| project(&format!("{{ archive = \"{url}\", sha256 = \"{pin}\" }}"));
    let brought = bring(cache.path(), &archive(&url, &pin)).unwrap();
    assert_snapshot!(listing(&brought.root), @"f src/a.py");

    // What the cache has is not fetched again, so an address without a server does no harm.
    let offline = archive("http://127.0.0.1:9/a.tar.gz", &pin);
    assert_eq!(bring(cache.path(), &offline).unwrap(), brought);

    // A cached tree that somebody changed is.
    write(&brought.root, "src/a.py", "a = 2\n");
    assert!(bring(cache.path(), &offline).is_err());
    assert_eq!(bring(cache.path(), &archive(&url, &pin)).unwrap(), brought);
    assert_eq!(
        fs::read_to_string(brought.root.join("src/a.py")).unwrap(),
        "a = 1\n"
    );

    let wrong = "0".repeat(64);
    let error = bring(cache.path(), &archive(&url, &wrong)).unwrap_err();
    let CorpusError::HashMismatch {
        expected, actual, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!((expected, actual), (&wrong, &pin));
    assert!(error.to_string().contains("`demo`"));

    let gone = serve("404 Not Found", Vec::new());
    let error = bring(
        cache.path(),
        &archive(&gone, &pin.replace(&pin[..4], "0000")),
    )
    .unwrap_err();
    assert!(matches!(&error, CorpusError::Download { message, .. } if message.contains("404")));
    // Nothing is left of what failed.
    assert_eq!(
        fs::read_dir(cache.path().join("sources")).unwrap().count(),
        1
    );
}

/// Runs git in a folder, apart from the settings of whoever runs the tests.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_git_revision_is_checked_out_without_its_repository() {
    let repository = TempDir::new().unwrap();
    let cache = TempDir::new().unwrap();
    let root = repository.path();
    git(root, &["init", "--quiet"]);
    write(root, "src/a.py", "a = 1\n");
    write(
        root,
        ".gitmodules",
        "[submodule \"s\"]\n\tpath = s\n\turl = /no/such\n",
    );
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "First"]);
    let first = git(root, &["rev-parse", "HEAD"]);
    write(root, "src/a.py", "a = 2\n");
    git(root, &["commit", "--quiet", "-am", "Second"]);

    let at = |revision: &str| {
        let url = format!("file://{}", root.display());
        project(&format!("{{ git = \"{url}\", revision = \"{revision}\" }}"))
    };
    let brought = bring(cache.path(), &at(&first)).unwrap();
    assert_snapshot!(listing(&brought.root), @r#"
f .gitmodules
f src/a.py
"#);
    assert_eq!(
        fs::read_to_string(brought.root.join("src/a.py")).unwrap(),
        "a = 1\n"
    );

    let url = format!("file://{}", root.display());
    let inside = |folder: &str| {
        let source =
            format!("{{ git = \"{url}\", revision = \"{first}\", folder = \"{folder}\" }}");
        bring(cache.path(), &project(&source))
    };
    assert_eq!(listing(&inside("src").unwrap().root), "f a.py");
    let error = inside("lib").unwrap_err().to_string();
    assert!(error.contains("has no folder `lib`"), "{error}");

    let error = bring(cache.path(), &at(&"0".repeat(40))).unwrap_err();
    let CorpusError::Environment(EnvironmentError::Command {
        project,
        command,
        message,
        ..
    }) = error
    else {
        panic!("{error}")
    };
    assert_eq!(project, "demo");
    assert!(command.contains("fetch"), "{command}");
    assert!(message.starts_with("fatal:"), "{message}");
}

#[test]
fn an_entry_that_was_never_finished_is_made_anew() {
    let folder = working_folder();
    let cache = TempDir::new().unwrap();
    let project = project(&format!("{{ path = {:?} }}", folder.path()));
    let brought = bring(cache.path(), &project).unwrap();
    let entry = brought.root.parent().unwrap();
    // The state after a process was killed while it copied: no record, half a tree, a scratch
    // folder.
    fs::remove_file(entry.join("record.json")).unwrap();
    fs::remove_file(brought.root.join("src/a.py")).unwrap();
    write(entry, "scratch/left", "");
    write(&brought.root, "left.py", "");
    assert_eq!(bring(cache.path(), &project).unwrap(), brought);
    assert!(!entry.join("scratch").exists());
    assert_eq!(tree::digest(&brought.root).unwrap(), brought.digest);

    // A record that was cut short is as good as none.
    fs::write(entry.join("record.json"), "{\"schema\"").unwrap();
    assert_eq!(bring(cache.path(), &project).unwrap(), brought);
}

#[test]
fn one_thread_makes_an_entry_and_the_others_wait_for_it() {
    let root = TempDir::new().unwrap();
    let made = std::sync::atomic::AtomicUsize::new(0);
    let waited = std::sync::atomic::AtomicUsize::new(0);
    let count = std::sync::atomic::Ordering::SeqCst;
    let start = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let cache = Cache::at(root.path());
                start.wait();
                let (folder, record) = cache
                    .entry(
                        "kind",
                        "name",
                        &|step| {
                            assert_eq!(step, CorpusStep::Waiting);
                            waited.fetch_add(1, count);
                        },
                        |_, _: &u32| true,
                        |folder| {
                            made.fetch_add(1, count);
                            // Held until another has met the lock, so that waiting is tested.
                            while waited.load(count) == 0 {
                                std::thread::yield_now();
                            }
                            fs::write(folder.join("file"), "whole").unwrap();
                            Ok(7)
                        },
                    )
                    .unwrap();
                assert_eq!(record, 7);
                assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "whole");
            });
        }
    });
    assert_eq!(made.load(count), 1);
}

#[test]
fn programs_that_are_missing_or_too_old_are_typed_errors() {
    let folder = TempDir::new().unwrap();
    let toolchain = Toolchain {
        python: folder.path().join("python"),
        node: folder.path().join("node"),
        npm: folder.path().join("npm"),
        go: folder.path().join("go"),
        java: folder.path().join("java"),
        mvn: folder.path().join("mvn"),
        git: folder.path().join("git"),
        uv: folder.path().join("uv"),
    };
    for probe in environment::probe(&toolchain) {
        let error = probe.version.unwrap_err();
        assert!(
            matches!(error, EnvironmentError::MissingProgram { .. }),
            "{error}"
        );
    }
    let old = |name: &str, answer: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\nprintf '{answer}'\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    old("python", "/usr/bin/python3\\n3.8.18\\ncpython-38\\n/usr\\n");
    old("node", "/usr/bin/node\\n18.20.1\\nlinux x64 108\\n");
    old("npm", "10.0.0\\n");
    let error = |language| {
        let error = LanguageSupport::by_name(language)
            .unwrap()
            .packages
            .interpreter(&toolchain, None)
            .unwrap_err();
        assert!(matches!(error, EnvironmentError::MissingProgram { .. }));
        error.to_string()
    };
    assert_snapshot!(error("python"), @"python3 ≥ 3.9 is needed for Python projects; the one found is 3.8.18, so install a newer one");
    assert_snapshot!(error("typescript"), @"node ≥ 20 is needed for TypeScript and JavaScript projects; the one found is 18.20.1, so install a newer one");
}

/// A project with an empty environment, for tests that only read files.
fn prepared(project: Project, source: source::CachedSource) -> Prepared {
    Prepared {
        project,
        source: source.root,
        digest: source.digest,
        environment: Environment {
            generated: None,
            kind: EnvironmentKind::Python,
            root: PathBuf::new(),
            interpreter: PathBuf::new(),
            interpreter_roots: Vec::new(),
            version: String::new(),
            key: String::new(),
            installed: Vec::new(),
            left_out: Vec::new(),
        },
        added: Vec::new(),
        unnamed: source.unnamed,
        failed_before: Vec::new(),
    }
}

#[test]
fn added_tests_are_part_of_the_source_and_no_language_server_sees_them() {
    let folder = working_folder();
    let cache = TempDir::new().unwrap();
    let project = project(&format!("{{ path = {:?} }}", folder.path()));
    let source = bring(cache.path(), &project).unwrap();
    let plain = prepared(project, source);
    let corpus = Corpus {
        cache: Cache::at(cache.path()),
        toolchain: Toolchain::default(),
    };
    let tests = TempDir::new().unwrap();
    let lay = || corpus.with_tests(plain.clone(), tests.path(), &|_| ());
    assert_eq!(lay().unwrap().source, plain.source);

    let own = tests.path().join(&plain.project.name);
    fs::create_dir_all(own.join("tests")).unwrap();
    fs::write(own.join("tests/test_more.py"), "def test(): pass\n").unwrap();
    let with = lay().unwrap();
    assert_eq!(with.added, ["tests/test_more.py"]);
    assert_ne!(with.digest, plain.digest);
    assert_eq!(with.digest, tree::digest(&with.source).unwrap());
    assert!(with.source.join("tests/test_more.py").is_file());
    assert!(with.source.join("src/a.py").is_file());
    assert!(!plain.source.join("tests/test_more.py").exists());
    assert_eq!(
        with.visible_files().unwrap(),
        plain.visible_files().unwrap()
    );
    assert_eq!(lay().unwrap().source, with.source);

    fs::create_dir_all(own.join("src")).unwrap();
    for (path, complaint) in [
        ("tests/test_a.py", "is in the project already"),
        ("src/new.py", "matches the project's `holes`"),
    ] {
        fs::write(own.join(path), "").unwrap();
        let error = lay().unwrap_err().to_string();
        assert!(error.contains(complaint) && error.contains(path), "{error}");
        fs::remove_file(own.join(path)).unwrap();
    }
}

#[test]
fn the_visible_tree_has_no_excluded_file_and_holes_only_where_they_may_be() {
    let folder = working_folder();
    let cache = TempDir::new().unwrap();
    let mut project = project(&format!("{{ path = {:?} }}", folder.path()));
    project.exclude = globs(&["docs/", ".hidden", "src/sub/b.py"]);
    let source = bring(cache.path(), &project).unwrap();
    let prepared = prepared(project, source);
    assert_eq!(
        prepared.visible_files().unwrap(),
        [".gitignore", "src/a.py", "tests/test_a.py"]
    );
    // `src/sub/b.py` matches `holes`, but it is excluded.
    assert_eq!(prepared.hole_files().unwrap(), ["src/a.py"]);

    let into = folder.path().join("shown");
    prepared.materialise(&into).unwrap();
    assert_snapshot!(listing(&into), @r#"
f .gitignore
f src/a.py
f tests/test_a.py
"#);
    let again = folder.path().join("again");
    prepared.materialise(&again).unwrap();
    let modified = |root: &Path| {
        fs::metadata(root.join("src/a.py"))
            .unwrap()
            .modified()
            .unwrap()
    };
    assert_eq!(modified(&into), modified(&again));
    // A folder with something in it is not overwritten.
    assert!(prepared.materialise(&into).is_err());
}

#[test]
fn what_is_hidden_is_there_for_tests_and_holes_and_shown_to_nobody() {
    let folder = working_folder();
    let cache = TempDir::new().unwrap();
    let mut project = project(&format!("{{ path = {:?} }}", folder.path()));
    project.hidden = globs(&["tests/", "src/a.py"]);
    let source = bring(cache.path(), &project).unwrap();
    let prepared = prepared(project, source);
    let visible = prepared.visible_files().unwrap();
    assert!(
        !visible
            .iter()
            .any(|path| path == "src/a.py" || path.starts_with("tests/"))
    );
    let holes = prepared.hole_files().unwrap();
    assert!(holes.iter().any(|path| path == "src/a.py"));
    let copy = folder.path().join("copy");
    prepared.copy_source(&copy).unwrap();
    assert!(copy.join("src/a.py").exists() && copy.join("tests/test_a.py").exists());
}

/// Returns true if the package registries are reachable through the user's clients. If they are
/// not, a test that needs them is skipped with a message, but fails in continuous integration.
fn registries_are_reachable() -> bool {
    let answers = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let reachable = answers("npm", &["view", "zod@4.6.7", "version"])
        && answers(
            "python3",
            &[
                "-m",
                "pip",
                "index",
                "versions",
                "hl7",
                "--timeout",
                "10",
                "--retries",
                "0",
            ],
        );
    if !reachable {
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci.is_empty()),
            "the package registries cannot be reached, and CI is set"
        );
        eprintln!("skipped: the package registries cannot be reached");
    }
    reachable
}

#[test]
fn published_packages_are_fetched_verified_and_installed_without_their_code() {
    if !registries_are_reachable() {
        return;
    }
    let cache = TempDir::new().unwrap();
    let corpus = Corpus {
        cache: Cache::at(cache.path()),
        toolchain: Toolchain::default(),
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpora/real.toml");
    let manifest = Manifest::read(&path).unwrap();
    let steps = RefCell::new(Vec::new());
    let progress = |name: &str, step| steps.borrow_mut().push((name.to_owned(), step));

    let hl7 = manifest.project("hl7").unwrap();
    let prepared = corpus.prepare_project(hl7, &progress).unwrap();
    assert!(prepared.source.join("hl7/parser.py").is_file());
    assert!(
        prepared
            .hole_files()
            .unwrap()
            .contains(&"hl7/parser.py".to_owned())
    );
    // The digest that this very release has, whoever unpacks it.
    assert_snapshot!(prepared.digest, @"8594876a7f996e2a1b35839d9db58cf77b979ad39b5a305121db7f16102ef813");
    let run = Command::new(prepared.environment.program())
        .args([
            "-I",
            "-c",
            "import pytest, sys; print(pytest.__version__, sys.prefix)",
        ])
        .output()
        .unwrap();
    let expected = format!("8.4.2 {}\n", prepared.environment.root.display());
    assert_eq!(String::from_utf8(run.stdout).unwrap(), expected);
    assert_eq!(
        steps
            .take()
            .into_iter()
            .map(|(_, step)| step)
            .collect::<Vec<_>>(),
        [
            CorpusStep::Source,
            CorpusStep::Environment,
            CorpusStep::Ready
        ]
    );
    let again = corpus.prepare_project(hl7, &progress).unwrap();
    assert_eq!(again.environment, prepared.environment);

    let mut wrong = hl7.clone();
    if let manifest::SourcePin::Pypi { sha256, .. } = &mut wrong.source {
        *sha256 = "0".repeat(64);
    }
    let error = corpus.prepare_project(&wrong, &progress).unwrap_err();
    assert!(matches!(error, CorpusError::HashMismatch { .. }), "{error}");
    let mut unpublished = hl7.clone();
    if let manifest::SourcePin::Pypi {
        version, sha256, ..
    } = &mut unpublished.source
    {
        *version = "0.0.0".to_owned();
        *sha256 = "1".repeat(64);
    }
    let error = corpus.prepare_project(&unpublished, &progress).unwrap_err();
    assert!(
        matches!(
            error,
            CorpusError::Environment(EnvironmentError::Command { .. })
        ),
        "{error}"
    );

    let zod = manifest.project("zod").unwrap();
    let prepared = corpus.prepare_project(zod, &progress).unwrap();
    let visible = prepared.visible_files().unwrap();
    assert!(visible.contains(&"src/v4/core/schemas.ts".to_owned()));
    // What the package has compiled would give every hole away.
    let compiled = [".js", ".cjs", ".mjs", ".d.ts", ".d.cts"];
    assert!(
        !visible
            .iter()
            .any(|path| compiled.iter().any(|end| path.ends_with(end)))
    );
    assert!(
        !prepared
            .hole_files()
            .unwrap()
            .iter()
            .any(|path| path.contains("/tests/") || path.starts_with("src/v4/locales/"))
    );
    let vitest = prepared
        .environment
        .root
        .join("node_modules/vitest/package.json");
    assert!(fs::read_to_string(vitest).unwrap().contains("\"3.2.7\""));
    assert!(!prepared.environment.root.join("package.json").exists());

    let mut wrong = zod.clone();
    if let manifest::SourcePin::Npm { integrity, .. } = &mut wrong.source {
        *integrity = format!("sha512-{}==", "A".repeat(86));
    }
    let error = corpus.prepare_project(&wrong, &progress).unwrap_err();
    assert!(matches!(error, CorpusError::HashMismatch { .. }), "{error}");
}

#[test]
fn a_client_that_fails_is_quoted_with_its_reason() {
    use std::os::unix::process::ExitStatusExt;
    let quoted_of = |stdout: &str, stderr: &str| {
        programs::last_line(&std::process::Output {
            status: std::process::ExitStatus::from_raw(256),
            stdout: stdout.as_bytes().to_vec(),
            stderr: stderr.as_bytes().to_vec(),
        })
    };
    let quoted = |stderr: &str| quoted_of("", stderr);
    assert_snapshot!(
        quoted(
            "npm warn Unknown user config\nnpm error code ENOTFOUND\nnpm error errno ENOTFOUND\n\
             npm error network request failed, reason: getaddrinfo ENOTFOUND\n\
             npm error network This is a problem related to network connectivity.\n\
             npm error A complete log of this run can be found in: /x\n"
        ),
        @"network request failed, reason: getaddrinfo ENOTFOUND"
    );
    assert_snapshot!(
        quoted("WARNING: Retrying\nERROR: No matching distribution found for a==1\n\nhint: See above.\n"),
        @"No matching distribution found for a==1"
    );
    assert_snapshot!(quoted(""), @"it wrote nothing and ended with exit status: 1");
    assert_snapshot!(
        quoted_of(
            "\u{1b}[1;31m[ERROR] Could not transfer artifact a:b:1\u{1b}[m -> [Help 1]\n[ERROR] \n\
             [ERROR] To see the full stack trace, re-run Maven with the -e switch.\n",
            "\u{1b}[0m\u{1b}[0m"
        ),
        @"Could not transfer artifact a:b:1 -> [Help 1]"
    );
}

#[test]
fn requirements_are_read_with_what_they_include_and_never_install_the_repository() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    write(root, "requirements.txt", "-r more/base.txt\na==1\n");
    write(root, "more/base.txt", "-c pins.txt\nb==1\n");
    write(root, "more/pins.txt", "c==1\n");
    let mut project = project("{ path = \"demo\" }");
    project.environment.file = Some("requirements.txt".to_owned());
    let names = |project: &Project| {
        environment::requested_files(project, root)
            .map(|files| files.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        names(&project).unwrap(),
        ["requirements.txt", "more/base.txt", "more/pins.txt"]
    );
    write(root, "more/pins.txt", "-e .\n");
    assert_snapshot!(names(&project).unwrap_err(), @"`demo` cannot be prepared: `more/pins.txt` installs the repository itself (`-e .`); list `packages` instead and put the repository on `path`");
    write(root, "more/pins.txt", "-r ../../outside.txt\n");
    assert_snapshot!(names(&project).unwrap_err(), @"`demo` cannot be prepared: `more/pins.txt` includes `../../outside.txt`, which is outside of the source");
}

#[test]
fn a_written_manifest_parses_back_to_the_same_projects() {
    let text = r#"schema = 1
[[project]]
name = "one"
language = "python"
source = { pypi = "one==1.0", sha256 = "SHA" }
holes = ["src/**/*.py", "!src/one/data.py"]
exclude = ["docs/"]
[project.environment]
install = "."
python = ">=3.8"
extras = ["test"]
groups = ["dev", "more"]
requirements = "requirements.txt"
packages = ["pytest==8.4.2"]
requires = ["coverage>=7", "a \"quoted\" one"]
before = ["make all"]
before_may_fail = true
env = { HOME = "/tmp", LANG = "C" }
[project.test]
runner = "pytest"
args = ["-o", "python_files=*.py"]
path = ["src", "."]
timeout = 3
min_share = 0.25
[[project]]
name = "two"
language = "javascript"
source = { path = "two" }
holes = ["lib/"]
[[project]]
name = "three"
language = "javascript"
source = { git = "https://a.b/c", revision = "REVISION", folder = "packages/three" }
holes = ["lib/"]
"#
    .replace("REVISION", &"1".repeat(40))
    .replace("SHA", &"0".repeat(64));
    let folder = std::path::absolute("corpora").unwrap();
    let path = folder.join("some.toml");
    let manifest = Manifest::parse(&text, &path).unwrap();
    let written = manifest::manifest_text(&manifest, &folder);
    assert!(written.contains("source = { path = \"two\" }"), "{written}");
    let again = Manifest::parse(&written, &path).unwrap();
    assert_eq!(
        format!("{:?}", manifest.projects),
        format!("{:?}", again.projects)
    );
}

#[test]
fn a_python_repository_is_detected_without_a_manifest() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("some repository");
    let pyproject = "[project]\nname = \"some-lib\"\nversion = \"1\"\n\
                     requires-python = \">=3.9\"\n[dependency-groups]\ntest = [\"pytest\"]\n\
                     [tool.pytest.ini_options]\naddopts = \"--cov\"\n";
    write(&root, "pyproject.toml", pyproject);
    write(&root, "src/some_lib/__init__.py", "");
    write(&root, "src/some_lib/tests/test_in.py", "");
    write(&root, "tests/test_a.py", "");
    write(&root, "docs/conf.py", "");
    write(&root, ".gitignore", "ignored/\n");
    write(&root, "ignored/tests/test_b.py", "");
    let corpus = Corpus {
        cache: Cache::at(folder.path()),
        toolchain: Toolchain::default(),
    };
    let manifest = corpus.load_manifest(&root).unwrap();
    let text = manifest::manifest_text(&manifest, &root);
    for line in [
        "name = \"some-lib\"",
        "source = { path = \".\" }",
        "  \"/src/some_lib/**/*.py\",",
        "  \"!tests/\",",
        "install = \".\"",
        "python = \">=3.9\"",
        "groups = [\"test\"]",
        "args = [\"src/some_lib\", \"tests\"]",
        "path = [\"src\", \".\"]",
        "# sources: src/some_lib",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
    let again = Manifest::parse(&text, &root.join("corpus.toml")).unwrap();
    assert_eq!(
        format!("{:?}", manifest.projects),
        format!("{:?}", again.projects)
    );
}

#[test]
fn a_package_is_detected_with_its_workspace_below_the_top() {
    let repository = TempDir::new().unwrap();
    let cache = TempDir::new().unwrap();
    let root = repository.path();
    git(root, &["init", "--quiet"]);
    let package = |name: &str| {
        format!("{{\"name\": \"{name}\", \"scripts\": {{\"test\": \"node --test\"}}}}")
    };
    let workspace = "{\"name\": \"all\", \"workspaces\": [\"packages/*\"]}";
    write(root, "web/package.json", workspace);
    write(root, "web/packages/a/package.json", &package("a"));
    write(root, "web/packages/a/lib/a.js", "");
    write(root, "web/packages/a/test/a.test.js", "");
    write(root, "web/packages/b/package.json", &package("b"));
    write(
        root,
        "tools/setup.py",
        "from setuptools import setup\nsetup(name='tools')\n",
    );
    write(root, "tools/tools/__init__.py", "");
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "First"]);
    let corpus = Corpus {
        cache: Cache::at(cache.path()),
        toolchain: Toolchain::default(),
    };
    let url = format!("file://{}", root.display());
    for location in [root, Path::new(&url)] {
        let package = corpus.locate_package(location, "a").unwrap();
        let manifest = corpus.load_manifest(&package).unwrap();
        let text = manifest::manifest_text(&manifest, root);
        let source = match location == root {
            true => "source = { path = \"web\" }".to_owned(),
            false => format!(
                "source = {{ git = \"{url}\", revision = \"{}\", folder = \"web\" }}",
                git(root, &["rev-parse", "HEAD"])
            ),
        };
        assert!(text.contains(&source), "{text}");
        let tools = corpus.locate_package(location, "tools").unwrap();
        assert!(tools.to_string_lossy().ends_with("tools"), "{tools:?}");
    }
    // Without tests, the language with the most sources is taken.
    let folder = TempDir::new().unwrap();
    write(folder.path(), "deploy.py", "");
    write(folder.path(), "src/A.java", "class A {}\n");
    write(folder.path(), "src/B.java", "class B {}\n");
    let manifest = corpus.load_manifest(folder.path()).unwrap();
    assert_eq!(manifest.projects[0].language.name, "java");
}

#[test]
fn a_folder_without_sources_is_refused() {
    let folder = TempDir::new().unwrap();
    write(folder.path(), "README", "nothing");
    let corpus = Corpus {
        cache: Cache::at(folder.path()),
        toolchain: Toolchain::default(),
    };
    let error = corpus.load_manifest(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("no sources in any of Python, TypeScript, JavaScript"),
        "{error}"
    );
    let nowhere = folder.path().join("nowhere");
    let error = corpus.load_manifest(&nowhere).unwrap_err().to_string();
    assert!(
        error.contains("/nowhere does not exist; name a manifest (FILE.toml)"),
        "{error}"
    );
    write(folder.path(), "demo.toml", "");
    let missing = folder.path().join("dmo.toml");
    let error = corpus.load_manifest(&missing).unwrap_err().to_string();
    let nearest = folder.path().join("demo.toml");
    let message = format!(
        "does not exist; the nearest name there is {}",
        nearest.display()
    );
    assert!(error.contains(&message), "{error}");
}
