//! Java: holes are mined and judged by the project's own tests, in every engine alike, and code
//! that writes what the tests' process writes does not pass.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fillrate_language::java::environment::{MAIN_CLASS, driver_archive, driver_commands};
use fillrate_language::task::{Hole, HoleKind};
use fillrate_sandbox::Replaced;
use serde_json::{Value, json};

use crate::support::play::{TestDir, attempts, cache, copy, holes, repository, run, text};
use crate::support::programs::install;

/// The demo with holes in one file, so that few are judged.
const MANIFEST: &str = r#"
schema = 1

[[project]]
name = "rental"
language = "java"
source = { path = "rental" }
holes = ["Bicycle.java"]

[project.environment]
packages = ["org.junit.platform:junit-platform-console-standalone:1.9.1"]

[project.test]
runner = "jupiter"
"#;

/// The path and the text of tests that don't compile.
const LACKS_A_PACKAGE: (&str, &str) = (
    "rental/src/test/java/SpeedTest.java",
    "import org.openjdk.jmh.annotations.Benchmark;\n\nclass SpeedTest {\n    @Benchmark void speed() {}\n}\n",
);

/// A local repository of Maven with JUnit 5, and the cache of the programs that use it.
struct Repository {
    folder: String,
    cache: PathBuf,
}

impl Repository {
    fn installed() -> Option<Self> {
        install("junit").map(|folder| Self {
            folder: text(&folder),
            cache: cache(),
        })
    }

    /// Runs the program with this repository, and expects it to succeed.
    fn fillrate(&self, dir: &TestDir, arguments: &[&str]) -> Value {
        run(&mut self.command(dir, arguments)).exits_with(0).json()
    }

    fn command(&self, dir: &TestDir, arguments: &[&str]) -> Command {
        let mut command = dir.command(arguments);
        command
            .env("MAVEN_OPTS", format!("-Dmaven.repo.local={}", self.folder))
            .env("FILLRATE_CACHE", &self.cache);
        command
    }
}

/// The verdicts on completions of one hole, in their order.
fn judge(
    junit: &Repository,
    dir: &TestDir,
    corpus: &str,
    hole: &Value,
    completions: &[&str],
    engine: &str,
) -> Vec<Value> {
    let tasks = dir.write("one.jsonl", &(hole.to_string() + "\n"));
    let prediction = json!({"hole": hole["id"], "completions": completions});
    let predictions = dir.write("predictions.jsonl", &prediction.to_string());
    let folder = dir.path(&format!("run-{engine}"));
    let samples = completions.len().to_string();
    junit.fillrate(
        dir,
        &[
            "replay",
            corpus,
            "--tasks",
            &text(&tasks),
            "--model",
            &text(&predictions),
            "--samples",
            &samples,
            "--engine",
            engine,
            "--anew",
            "--out",
            &text(&folder),
            "--json",
        ],
    );
    let by_sample: BTreeMap<u64, Value> = attempts(&folder)
        .into_values()
        .map(|attempt| {
            let sample = attempt["sample"].as_u64().unwrap();
            (sample, attempt["verdict"].clone())
        })
        .collect();
    by_sample.into_values().collect()
}

fn outcomes(verdicts: &[Value]) -> Vec<&str> {
    verdicts
        .iter()
        .map(|verdict| verdict["outcome"].as_str().unwrap())
        .collect()
}

#[test]
fn java_verdicts_are_right() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    copy(&repository("corpora/demo-java"), &dir.path("rental"));
    let corpus = text(&dir.write("corpus.toml", MANIFEST));
    let tasks = dir.path("mined.jsonl");
    let mut mine = junit.command(
        &dir,
        &[
            "mine",
            &corpus,
            "--kinds",
            "body",
            "--holes",
            "2",
            "-o",
            &text(&tasks),
        ],
    );
    run(&mut mine).exits_with(0);
    let hole = holes(&tasks).into_iter().find(|hole| {
        let reference = hole["reference"].as_str().unwrap();
        reference.contains("parseInt")
    });
    let hole = hole.expect("the body of `rank` is a hole");
    let reference = hole["reference"].as_str().unwrap();
    let completions = [
        reference,
        "return Integer.valueOf(number.substring(2));",
        "return 5;",
        "return \"five\";",
        "return 5 +",
        "",
        // It never ends, and leaves the processor to others.
        "while (true) {\n            java.util.concurrent.locks.LockSupport.park();\n        }",
        "System.exit(1);\n        return 5;",
        // The right answer, and a class of the tests is written over.
        "try {
            java.nio.file.Files.write(
                java.nio.file.Path.of(\"/box/transformed/classes/rental/TableTest.class\"),
                new byte[] {1});
        } catch (java.io.IOException error) {
            throw new IllegalStateException(error);
        }
        return Integer.parseInt(number.substring(2));",
        // The process has the file of loaded classes in memory, so Java took it for valid.
        "try {
            String maps = java.nio.file.Files.readString(java.nio.file.Path.of(\"/proc/self/maps\"));
            return maps.contains(\"loaded.jsa\") ? Integer.parseInt(number.substring(2)) : -1;
        } catch (java.io.IOException error) {
            throw new IllegalStateException(error);
        }",
    ];
    let judged = judge(&junit, &dir, &corpus, &hole, &completions, "warm");
    assert_eq!(
        outcomes(&judged),
        [
            "passed", "passed", "failed", "syntax", "syntax", "syntax", "timeout", "failed",
            "failed", "passed"
        ],
        "{judged:#?}"
    );
    assert_eq!(judged[8]["failed"], json!([]), "{:#}", judged[8]);
    let missing = judged[8]["missing"].as_array().unwrap();
    assert!(missing.contains(&json!("files")), "{:#}", judged[8]);
    // Every engine judges alike.
    let naive = judge(&junit, &dir, &corpus, &hole, &completions[..4], "naive");
    assert_eq!(outcomes(&naive), outcomes(&judged[..4]));
    // The compiler that stays loaded refused it, and no test was started: else the sentinels would
    // be missed too.
    assert_eq!(judged[3]["missing"], json!(["executed"]), "{:#}", judged[3]);
    assert_ne!(naive[3]["missing"], judged[3]["missing"]);
    let unchecked = json!(["signature", "quiet", "framework", "process"]);
    assert_eq!(judged[1]["unchecked"], unchecked, "{:#}", judged[1]);
    assert_ne!(judged[1]["twins"], Value::Null, "{:#}", judged[1]);
    assert!(
        judged[3]["output"]
            .as_str()
            .unwrap()
            .contains("incompatible types"),
        "{:#}",
        judged[3]
    );
}

/// Constants that other classes have compiled into them are compiled again with them. A constant
/// that is `[]` once looked like none to them, so that they kept it. The naive engine, which
/// audits, takes no class from an earlier compilation.
#[test]
fn a_changed_constant_reaches_the_classes_that_use_it() {
    let Some(mut junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    junit.cache = dir.path("cache");
    copy(&repository("corpora/demo-java"), &dir.path("rental"));
    let path = "src/main/java/rental/Bicycle.java";
    let file = dir.path("rental").join(path);
    let head = "public record Bicycle(String number, Category category) {\n";
    // The other keeps the class's own start from distinguishing the two.
    let constant = format!(
        "{head}    static final String NONE = \"[]\";\n    static final Object OTHER = new Object();\n"
    );
    let contents = fs::read_to_string(&file).unwrap();
    let contents = contents.replace(head, &constant);
    fs::write(&file, &contents).unwrap();
    dir.write(
        "rental/src/test/java/rental/NoneTest.java",
        "package rental;\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\n\n\
         import org.junit.jupiter.api.Test;\n\nclass NoneTest {\n    @Test\n    \
         void isWrittenSo() {\n        assertEquals(2, Bicycle.NONE.length());\n    }\n}\n",
    );
    let corpus = text(&dir.write("corpus.toml", MANIFEST));
    let reference = "\"[]\"";
    let start = contents.find(reference).unwrap();
    let range = start..start + reference.len();
    let hole = Hole::new("rental", "java", path, HoleKind::Span, range, &contents);
    let hole = serde_json::to_value(&hole).unwrap();
    let completions = ["String.valueOf(\"[]\")", "String.valueOf(\"none\")"];
    let judged = judge(&junit, &dir, &corpus, &hole, &completions, "warm");
    assert_eq!(outcomes(&judged), ["passed", "failed"], "{judged:#?}");

    let files = ignore::WalkBuilder::new(&junit.cache)
        .standard_filters(false)
        .build();
    let compiled: Vec<PathBuf> = files
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.ends_with("built/classes/rental/NoneTest.class"))
        .collect();
    assert_eq!(compiled.len(), 1, "{compiled:?}");
    fs::write(&compiled[0], "damaged").unwrap();
    let naive = judge(&junit, &dir, &corpus, &hole, &completions, "naive");
    assert_eq!(outcomes(&naive), ["passed", "failed"], "{naive:#?}");
}

/// A folder with tests of JUnit needs no manifest.
#[test]
fn a_folder_with_tests_is_replayed_without_a_manifest() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    let folder = dir.path("rental");
    copy(&repository("corpora/demo-java"), &folder);
    // All files are compiled together: one that lacks a package once kept back all tests.
    dir.write(LACKS_A_PACKAGE.0, LACKS_A_PACKAGE.1);
    let report = junit.fillrate(
        &dir,
        &[
            "replay",
            &text(&folder),
            "--holes",
            "3",
            "--model",
            "reference",
            "--engine",
            "cold",
            "--out",
            &text(&dir.path("run")),
            "--json",
        ],
    );
    let rows = report["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["project"] == "rental");
    let row = row.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(row["holes"], 3, "{row:#}");
    assert_eq!(row["metrics"]["pass@1"]["value"], 1.0, "{row:#}");
}

/// Tests of JUnit 4 need no manifest, either: JUnit 5 has an engine that runs them.
#[test]
fn tests_of_junit_4_are_replayed_without_a_manifest() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    dir.write(
        "old/src/main/java/a/Adder.java",
        "package a;\n\npublic class Adder {\n    public int add(int a, int b) {\n        int sum = a + b;\n        return sum;\n    }\n}\n",
    );
    dir.write(
        "old/src/test/java/a/AdderTest.java",
        "package a;\n\nimport static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\n\
         public class AdderTest {\n    @Test public void adds() { assertEquals(3, new Adder().add(1, 2)); }\n}\n",
    );
    let (old, out) = (text(&dir.path("old")), text(&dir.path("run")));
    let arguments = ["replay", &old, "--holes", "2", "--kinds", "line"];
    let more = ["--model", "reference", "--out", &out, "--json"];
    let report = junit.fillrate(&dir, &[&arguments[..], &more].concat());
    let row = &report["rows"].as_array().unwrap()[0];
    assert_eq!(row["holes"], 2, "{row:#}");
    assert_eq!(row["metrics"]["pass@1"]["value"], 1.0, "{row:#}");
}

/// If no tests are left, the reason names those that were left out.
#[test]
fn tests_that_do_not_compile_are_the_reason_if_there_are_no_others() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    copy(
        &repository("corpora/demo-java/src/main"),
        &dir.path("rental/src/main"),
    );
    dir.write(LACKS_A_PACKAGE.0, LACKS_A_PACKAGE.1);
    let corpus = text(&dir.write("rental.toml", MANIFEST));
    let refused = run(&mut junit.command(&dir, &["check", &corpus])).exits_with(3);
    let reason = "SpeedTest.java:1: package org.openjdk.jmh.annotations does not exist";
    assert!(refused.err.contains(reason), "{refused:#?}");
}

/// Programs of DevBench have a main method each, in classes of one name, and their assertions in
/// it.
#[test]
fn devbench_programs_are_compiled_and_run_by_themselves() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    let record = |id: &str, expected: u32| {
        json!({
            "id": id, "testsource": "devbench-low-context", "language": "java",
            "prefix": "public class Test {\n    static int apply(int n) {",
            "golden_completion": format!("        return {expected} * n;"),
            "suffix": format!("    }}\n\n    public static void main(String[] arguments) {{\n        \
                 assert apply(2) == 2 * {expected};\n    }}\n}}"),
            "assertions": "",
        })
    };
    let lines =
        |values: &[Value]| -> String { values.iter().map(|value| format!("{value}\n")).collect() };
    dir.write("records.jsonl", &lines(&[record("1", 2), record("2", 3)]));
    let completions = ["return n + n;", "return n;", "return none;"];
    let predictions = completions.map(
        |text| json!({"task_id": "java/low-context/1", "completion": format!("        {text}")}),
    );
    dir.write("predictions.jsonl", &lines(&predictions));
    let import = [
        "import",
        "devbench",
        "records.jsonl",
        "--limit",
        "2",
        "-o",
        "tasks.jsonl",
    ];
    run(&mut junit.command(&dir, &import)).exits_with(0);
    let replay = [
        "replay",
        "tasks.corpus/corpus.toml",
        "--tasks",
        "tasks.jsonl",
        "--model",
        "reference",
        "--out",
        "reference",
        "--json",
    ];
    junit.fillrate(&dir, &replay);
    let judged = attempts(&dir.path("reference"));
    let outcomes: Vec<&Value> = judged
        .values()
        .map(|one| &one["verdict"]["outcome"])
        .collect();
    assert_eq!(outcomes, ["passed", "passed"], "{judged:#?}");

    let tasks = fs::read_to_string(dir.path("tasks.jsonl")).unwrap();
    dir.write("one.jsonl", tasks.split_inclusive('\n').next().unwrap());
    let replay = [
        "replay",
        "tasks.corpus/corpus.toml",
        "--tasks",
        "one.jsonl",
        "--model",
        "predictions",
        "--predictions",
        "predictions.jsonl",
        "--out",
        "given",
        "--json",
    ];
    junit.fillrate(&dir, &replay);
    let by_sample: BTreeMap<u64, Value> = attempts(&dir.path("given"))
        .into_values()
        .map(|one| {
            (
                one["sample"].as_u64().unwrap(),
                one["verdict"]["outcome"].clone(),
            )
        })
        .collect();
    let outcomes: Vec<Value> = by_sample.into_values().collect();
    assert_eq!(outcomes, ["passed", "failed", "failed"]);
}

/// A build of Gradle with two modules, of which one needs the other, a resource of the other's and
/// a file of its own folder.
const SHOP: [(&str, &str); 7] = [
    ("settings.gradle", "include 'core', ':shop'\n"),
    ("core/build.gradle", "plugins { id 'java-library' }\n"),
    (
        "core/src/main/java/core/Prices.java",
        "package core;\n\npublic final class Prices {\n    public static String unit() throws \
         Exception {\n        try (var in = Prices.class.getResourceAsStream(\"/unit.txt\")) {\n            \
         return new String(in.readAllBytes()).trim();\n        }\n    }\n}\n",
    ),
    ("core/src/main/resources/unit.txt", "EUR\n"),
    (
        "shop/build.gradle",
        "dependencies {\n    implementation project(':core')\n    testImplementation \
         'org.junit.jupiter:junit-jupiter:5.9.1'\n}\n",
    ),
    (
        "shop/src/main/java/shop/Cart.java",
        "package shop;\n\nimport core.Prices;\n\npublic final class Cart {\n    private int \
         cents;\n\n    public void add(int price, int count) {\n        cents += price * \
         count;\n    }\n\n    public String total() throws Exception {\n        int whole = cents \
         / 100;\n        return whole + \" \" + Prices.unit();\n    }\n}\n",
    ),
    (
        "shop/src/test/java/shop/CartTest.java",
        "package shop;\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\nimport \
         static org.junit.jupiter.api.Assertions.assertTrue;\n\nimport \
         java.nio.file.Files;\nimport java.nio.file.Path;\nimport \
         org.junit.jupiter.api.Test;\n\nclass CartTest {\n    @Test\n    void adds() throws \
         Exception {\n        assertTrue(Files.exists(Path.of(\"build.gradle\")));\n        Cart \
         cart = new Cart();\n        cart.add(150, 4);\n        assertEquals(\"6 EUR\", \
         cart.total());\n    }\n}\n",
    ),
];

#[test]
fn a_module_is_compiled_with_those_that_it_depends_on() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    for (name, text) in SHOP {
        dir.write(&format!("mall/{name}"), text);
    }
    let mall = text(&dir.path("mall"));
    let out = dir.path("run");
    let mut replay = junit.command(
        &dir,
        &[
            "replay",
            &mall,
            "--package",
            "shop",
            "--model",
            "reference",
            "--holes",
            "3",
            "--out",
            &text(&out),
        ],
    );
    run(&mut replay).exits_with(0);
    let attempts = attempts(&out);
    assert!(!attempts.is_empty());
    for attempt in attempts.values() {
        assert_eq!(attempt["verdict"]["outcome"], "passed", "{attempt}");
    }
    // Without a name, it is the module that has tests.
    let mut init = junit.command(&dir, &["init", &mall, "-o", &text(&dir.path("a.toml"))]);
    let found = run(&mut init).exits_with(0);
    assert!(
        found.out.contains("1 file in Java, in the module shop"),
        "{found:#?}"
    );
}

/// A build writes what it lacks, and only Maven or Gradle run that.
#[test]
fn a_source_that_does_not_compile_is_left_out_with_what_needs_it() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    for (path, text) in [
        (
            "src/main/java/a/Sum.java",
            "package a;\n\npublic class Sum {\n    public static int of(int a, int b) {\n        int \
             sum = a + b;\n        return sum;\n    }\n}\n",
        ),
        (
            "src/main/java/a/Difference.java",
            "package a;\n\npublic class Difference {\n    public static int of(int a, int b) {\n        \
             int left = a - b;\n        return left;\n    }\n}\n",
        ),
        (
            "src/main/java/a/About.java",
            "package a;\n\npublic class About {\n    public String text = Generated.VERSION;\n}\n",
        ),
        (
            "src/test/java/a/SumTest.java",
            "package a;\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\n\nimport \
             org.junit.jupiter.api.Test;\n\nclass SumTest {\n    @Test void starts() {\n        assertEquals(0, \
             Sum.of(0, 0));\n    }\n    @Test void ends() {\n        assertEquals(0, Difference.of(1, \
             1));\n    }\n    @Test void sums() {\n        \
             assertEquals(5, Sum.of(2, 3));\n        assertEquals(1, Difference.of(3, 2));\n    }\n}\n",
        ),
        (
            "src/test/java/a/AboutTest.java",
            "package a;\n\nimport org.junit.jupiter.api.Test;\n\nclass AboutTest {\n    @Test void \
             about() { new About(); }\n}\n",
        ),
    ] {
        dir.write(&format!("abacus/{path}"), text);
    }
    let abacus = text(&dir.path("abacus"));
    for engine in ["cold", "naive"] {
        let arguments = [
            "replay",
            &abacus,
            "--model",
            "reference",
            "--engine",
            engine,
        ];
        let mut replay = junit.command(&dir, &[&arguments[..], &["--out", engine]].concat());
        let replayed = run(&mut replay).exits_with(0);
        assert!(replayed.out.contains("outcomes: passed "), "{replayed:#?}");
        for path in [
            "src/main/java/a/About.java: ",
            "src/test/java/a/AboutTest.java: ",
        ] {
            assert!(replayed.err.contains(path), "{replayed:#?}");
        }
    }
}

/// Regression: benchmarks next to the sources and the tests need packages that these do not.
#[test]
fn sources_of_other_purposes_are_not_compiled() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    for (path, text) in [
        ("build.gradle", "plugins { id 'java' }\n"),
        (
            "src/main/java/a/Sum.java",
            "package a;\n\npublic class Sum {\n    public static int of(int a, int b) {\n        int \
             sum = a + b;\n        return sum;\n    }\n}\n",
        ),
        (
            "src/test/java/a/SumTest.java",
            "package a;\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\n\nimport \
             org.junit.jupiter.api.Test;\n\nclass SumTest {\n    @Test void sums() {\n        \
             assertEquals(5, Sum.of(2, 3));\n    }\n}\n",
        ),
        (
            "src/jmh/java/a/SumBench.java",
            "package a;\n\nimport org.openjdk.jmh.annotations.Benchmark;\n\nclass SumBench {\n    \
             @Benchmark void sums() {}\n}\n",
        ),
    ] {
        dir.write(&format!("abacus/{path}"), text);
    }
    let abacus = text(&dir.path("abacus"));
    let arguments = ["replay", &abacus, "--model", "reference", "--out", "run"];
    let replayed = run(&mut junit.command(&dir, &arguments)).exits_with(0);
    assert!(replayed.out.contains("outcomes: passed "), "{replayed:#?}");
    assert!(!replayed.err.contains("set aside"), "{replayed:#?}");
}

/// Regression: a package named as what a build writes was not compiled, and with it no test was.
#[test]
fn packages_named_as_what_a_build_writes_are_compiled() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    for (path, text) in [
        ("build.gradle", "plugins { id 'java' }\n"),
        (
            "src/main/java/a/build/Sum.java",
            "package a.build;\n\npublic class Sum {\n    public static int of(int a, int b) {\n        \
             int sum = a + b;\n        return sum;\n    }\n}\n",
        ),
        (
            "src/test/java/a/SumTest.java",
            "package a;\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\n\nimport \
             a.build.Sum;\nimport org.junit.jupiter.api.Test;\n\nclass SumTest {\n    @Test void \
             sums() {\n        assertEquals(5, Sum.of(2, 3));\n    }\n}\n",
        ),
        // A second class of the same name would not compile.
        (
            "build/generated/a/build/Sum.java",
            "package a.build;\n\npublic class Sum {}\n",
        ),
    ] {
        dir.write(&format!("abacus/{path}"), text);
    }
    let abacus = text(&dir.path("abacus"));
    let arguments = ["replay", &abacus, "--model", "reference", "--out", "run"];
    let replayed = run(&mut junit.command(&dir, &arguments)).exits_with(0);
    assert!(replayed.out.contains("outcomes: passed "), "{replayed:#?}");
    assert!(!replayed.err.contains("set aside"), "{replayed:#?}");
}

/// The program that compiles and runs tests, which reads and writes lines on its standard input.
struct Driver {
    process: Child,
    lines: BufReader<UnixStream>,
}

/// Sources by their paths.
type Texts<'a> = &'a [(&'a str, &'a str)];

/// Makes the environment of a project that needs JUnit alone.
fn environment_of(junit: &Repository, dir: &TestDir, project: &Path) -> PathBuf {
    let root = dir.path("environment");
    fs::create_dir_all(root.join("jars")).unwrap();
    let name = "junit-platform-console-standalone";
    let jar = format!("{name}-1.9.1.jar");
    let path = Path::new(&junit.folder).join(format!("org/junit/platform/{name}/1.9.1/{jar}"));
    fs::copy(path, root.join("jars").join(&jar)).unwrap();
    for mut command in driver_commands(Path::new("java"), &root).unwrap() {
        assert!(command.status().unwrap().success());
    }
    prepare(&root, project);
    root
}

/// Compiles an unchanged project into an environment.
fn prepare(environment: &Path, project: &Path) {
    let mut prepare = driver(environment);
    prepare.arg("--prepare").arg(project);
    assert!(prepare.status().unwrap().success());
}

/// The command of the driver of an environment.
fn driver(environment: &Path) -> Command {
    let root = environment.display();
    let mut driver = Command::new("java");
    driver.args(["-cp", &format!("{root}/{}:{root}/jars/*", driver_archive())]);
    driver.arg(MAIN_CLASS).arg(environment);
    driver
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Driver {
    /// Starts the compiler that stays loaded.
    fn checker(environment: &Path, project: &Path) -> Self {
        let mut checker = Self::start(
            environment,
            project,
            &format!("--check={}", project.display()),
        );
        checker.write(&json!({}));
        assert_eq!(checker.read(), "ready\n");
        checker
    }

    fn start(environment: &Path, project: &Path, option: &str) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let process = driver(environment)
            .args([option, "-C=."])
            .current_dir(project)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(ours);
        Self { process, lines }
    }

    fn write(&mut self, line: &Value) {
        self.lines
            .get_mut()
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }

    fn read(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    /// The compiled files of a change, by their paths; none if all has to be compiled.
    fn compiled(&mut self, path: &str, contents: &str) -> BTreeMap<String, Vec<u8>> {
        self.write(&json!({"files": {path: contents}}));
        let answer: Value = serde_json::from_str(&self.read()).unwrap();
        assert_eq!(answer["refused"], json!([]), "{answer:#}");
        let compiled = answer["compiled"].clone();
        let files: Vec<Replaced> = serde_json::from_value(compiled).unwrap();
        let files = files
            .into_iter()
            .map(|file| (file.path.display().to_string(), file.content));
        files.collect()
    }
}

/// Regression: tests with other names were compiled with the whole project, by a compiler that was
/// started for it, in every run among twins.
#[test]
fn classes_that_no_other_source_names_are_compiled_alone_and_replace_what_is_gone() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let dir = TestDir::new();
    let project = dir.path("rental");
    copy(&repository("corpora/demo-java"), &project);
    let environment = environment_of(&junit, &dir, &project);
    let mut checker = Driver::checker(&environment, &project);
    let tests = "src/test/java/rental/AmountTest.java";
    let own = fs::read_to_string(project.join(tests)).unwrap();
    let renamed = own
        .replace("addsAndSubtracts", "t0")
        .replace("class Text", "class S1");
    let compiled = checker.compiled(tests, &renamed);
    let paths: Vec<&str> = compiled.keys().map(String::as_str).collect();
    let classes = ["AmountTest$S1", "AmountTest$Splitting", "AmountTest"];
    let classes = classes.map(|class| format!("classes/rental/{class}.class"));
    assert_eq!(
        paths,
        [&classes[0], &classes[1], &classes[2], "gone", "index"]
    );
    let gone = "rental/AmountTest$Text.class";
    assert_eq!(compiled["gone"], format!("{gone}\n").as_bytes());

    // What is compiled of the tests as they were is removed before any runs.
    let built = dir.path("built");
    copy(&environment.join("built"), &built);
    for (path, content) in &compiled {
        fs::write(built.join(path), content).unwrap();
    }
    fs::write(project.join(tests), &renamed).unwrap();
    let mut driver = Driver::start(
        &environment,
        &project,
        &format!("--built={}", built.display()),
    );
    let id = "rental.AmountTest::t0";
    driver.write(&json!({"nonce": "n", "token": "t", "select": [id]}));
    let mut said: Vec<Value> = Vec::new();
    while said.last().is_none_or(|line| line["event"] != "end") {
        said.push(serde_json::from_str(&driver.read()).unwrap());
    }
    driver.process.wait().unwrap();
    // Nor is the digest of any source left.
    let files = [&format!("classes/{gone}"), "index", "faces", "gone"];
    let removed = json!({"event": "removed", "files": files, "nonce": "n"});
    assert_eq!(said[0], removed);
    let test = said.iter().find(|line| line["id"] == id).unwrap();
    assert_eq!(test["outcome"], "passed", "{said:#?}");
    assert!(!built.join("classes").join(gone).exists());
    assert!(!built.join("index").exists());
    fs::write(project.join(tests), &own).unwrap();

    // Other classes may be compiled otherwise against these.
    let amount = "src/main/java/rental/Amount.java";
    let code = fs::read_to_string(project.join(amount)).unwrap();
    let end = code.rfind('}').unwrap();
    let more = format!("{}    public void more() {{}}\n}}\n", &code[..end]);
    assert!(checker.compiled(amount, &more).is_empty());
    let other = project.join("src/test/java/rental/TableTest.java");
    let table = fs::read_to_string(&other).unwrap();
    for said in ["// See AmountTest.\n", "// See \\u0041mountTest.\n"] {
        fs::write(&other, format!("{said}{table}")).unwrap();
        assert!(checker.compiled(tests, &renamed).is_empty(), "{said}");
    }
}

/// Regression: each of these changes was judged by classes of which one was not what a compilation
/// of the whole project gives, so that wrong code passed, or right code failed.
#[test]
fn java_changes_that_another_class_may_see_are_compiled_with_the_whole_project() {
    let Some(junit) = Repository::installed() else {
        return;
    };
    let unchanged: Texts<'_> = &[
        (
            "Checks.java",
            "class Checks { static void check(int wanted, int found) {} }",
        ),
        (
            "Amount.java",
            "class Amount { int f() { return 1; } } class Low { int g() { return 1; } }",
        ),
        (
            "Uses.java",
            "class Uses { int h() { return new Amount().f() + new Low().g(); } }",
        ),
        (
            "Maker.java",
            "class Maker { static Made make() { return new Made(); } } class Made { long f(long a) { return a; } }",
        ),
        (
            "Gets.java",
            "class Gets { long h() { return Maker.make().f(1); } }",
        ),
        ("Base.java", "class Base { static final int K = 4; }"),
        (
            "Middle.java",
            "class Middle extends Base { int f() { return 1; } }",
        ),
        (
            "Sub.java",
            "class Sub extends Middle { int h() { return K; } }",
        ),
        (
            "Marks.java",
            "class Marks { int f() { return 1; } @interface Mark {} }",
        ),
        ("Marked.java", "class Marked { @Marks.Mark int f; }"),
        ("Bill$.java", "class Bill$ { int f() { return 1; } }"),
        ("Bill.java", "class Bill { int f() { return 1; } }"),
        (
            "Pay$.java",
            "class Pay$ { static class In { long f(long a) { return a; } } }",
        ),
        (
            "Pays.java",
            "class Pays { long h() { return new Pay$.In().f(1); } }",
        ),
        (
            "Texts.java",
            "class Texts { static final String A = \"1\"; static final String B = \"2\"; }",
        ),
        (
            "Prints.java",
            "class Prints { String h() { return Texts.A + Texts.B; } }",
        ),
        ("Hides.java", "class Hides { long f(long a) { return a; } }"),
        ("Alone.java", "class Alone { int f() { return 1; } }"),
    ];
    let dir = TestDir::new();
    for (name, text) in unchanged {
        dir.write(&format!("project/{name}"), text);
    }
    let project = dir.path("project");
    let environment = environment_of(&junit, &dir, &project);
    let mut checker = Driver::checker(&environment, &project);
    let all: Texts<'_> = &[
        // A class that another source has.
        (
            "Amount.java",
            "class Amount { int f() { return 2; } } class Low { int g() { return 1; } } class Checks { static void check(int wanted, int found) {} }",
        ),
        // A class is gone, and the change itself may use it as it was.
        (
            "Amount.java",
            "class Amount { int f() { return new Low().g(); } }",
        ),
        // A class that others get from one beside it.
        (
            "Maker.java",
            "class Maker { static Made make() { return new Made(); } } class Made { long f(long a) { return a; } long f(int a) { return 2; } }",
        ),
        // A private field hides an inherited one.
        (
            "Middle.java",
            "class Middle extends Base { private static final int K = 5; int f() { return 1; } }",
        ),
        (
            "Marks.java",
            "class Marks { int f() { return 1; } @java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE) @interface Mark {} }",
        ),
        (
            "Pay$.java",
            "class Pay$ { static class In { long f(long a) { return a; } long f(int a) { return 2; } } }",
        ),
        (
            "Texts.java",
            "class Texts { static final String A = \"1, 0 24 B Ljava/lang/String;\\nConstantValue 2\"; }",
        ),
    ];
    let seen = all
        .iter()
        .filter(|(name, text)| !checker.compiled(name, text).is_empty());
    let seen: Vec<&str> = seen.map(|(_, text)| *text).collect();
    assert!(seen.is_empty(), "compiled alone: {seen:#?}");
    let alone: Texts<'_> = &[
        (
            "Alone.java",
            "class Alone { int f() { return 1; } private int g() { return 2; } int h() { return 3; } }",
        ),
        ("Bill$.java", "class Bill$ { int f() { return 2; } }"),
    ];
    for (name, text) in alone {
        let class = format!("classes/{}.class", name.strip_suffix(".java").unwrap());
        let compiled = checker.compiled(name, text);
        assert_eq!(
            compiled.keys().collect::<Vec<_>>(),
            [&class, "index"],
            "{text}"
        );
    }
    // The compiler ignores the soft hyphen in a name.
    let other = dir.path("project/Uses.java");
    fs::write(
        &other,
        "class Uses { long h() { return new Hi\u{ad}des().f(1); } }",
    )
    .unwrap();
    let hides = "class Hides { long f(long a) { return a; } long f(int a) { return 2; } }";
    assert!(checker.compiled("Hides.java", hides).is_empty());
    // What a processor of annotations writes depends on all that it reads.
    let mut jar = Command::new("jar");
    let service = "META-INF/services/javax.annotation.processing.Processor";
    dir.write(&format!("services/{service}"), "");
    jar.arg("-cf").arg(environment.join("jars/processor.jar"));
    jar.arg("-C").arg(dir.path("services")).arg(service);
    assert!(jar.status().unwrap().success());
    fs::remove_dir_all(environment.join("built")).unwrap();
    prepare(&environment, &project);
    let mut checker = Driver::checker(&environment, &project);
    assert!(checker.compiled(alone[1].0, alone[1].1).is_empty());
}
