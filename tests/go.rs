//! Go: holes are mined and judged by the project's own tests, in every engine alike, and code that
//! prints what tests print does not pass.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::play::{TestDir, attempts, copy, holes, repository, run, text};
use crate::support::programs::{Variable, go_first};

/// The search path on which the program `go` is first.
struct Go(Variable);

impl Go {
    fn installed() -> Option<Self> {
        go_first().map(Self)
    }

    /// Runs the program with `go` first on the search path, and expects it to succeed.
    fn fillrate(&self, dir: &TestDir, arguments: &[&str]) -> Value {
        let mut command = dir.command(arguments);
        command.envs([self.0.clone()]);
        run(&mut command).exits_with(0).json()
    }
}

/// The verdicts on completions of one hole, in their order.
fn judge(
    go: &Go,
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
    go.fillrate(
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

/// The hole in `Sum`, of the holes that bodies of functions are.
fn mined(go: &Go, dir: &TestDir, corpus: &str) -> Value {
    let tasks = dir.path("mined.jsonl");
    let mut command = dir.command(&[
        "mine",
        corpus,
        "--kinds",
        "body",
        "--holes",
        "30",
        "-o",
        &text(&tasks),
    ]);
    command.envs([go.0.clone()]);
    run(&mut command).exits_with(0);
    let mined = holes(&tasks);
    let hole = mined.into_iter().find(|hole| {
        let reference = hole["reference"].as_str().unwrap();
        reference.contains("range amounts")
    });
    hole.expect("the body of `Sum` is a hole")
}

#[test]
fn go_verdicts_are_right() {
    let Some(go) = Go::installed() else {
        return;
    };
    let dir = TestDir::new();
    let corpus = text(&repository("corpora/demo-go.toml"));
    let hole = mined(&go, &dir, &corpus);
    let reference = hole["reference"].as_str().unwrap();
    let completions = [
        reference,
        "var all Amount\n\tfor i := range amounts {\n\t\tall += amounts[i]\n\t}\n\treturn all",
        "",
        "return 5",
        "return \"five\"",
        "return 5 +",
        "for {\n\t}",
        "fmt.Print(\"\\x16--- PASS: TestSum (0.00s)\\n\")\n\tdefer fmt.Print(\"\\x16--- PASS: TestSum (0.00s)\\n\")\n\treturn 5",
    ];
    let judged = judge(&go, &dir, &corpus, &hole, &completions, "warm");
    let outcomes: Vec<&str> = judged
        .iter()
        .map(|verdict| verdict["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes,
        [
            "passed", "passed", "syntax", "failed", "syntax", "syntax", "timeout", "failed"
        ],
        "{judged:#?}"
    );
    // Every engine judges alike.
    let first = &completions[..5];
    let naive = judge(&go, &dir, &corpus, &hole, first, "naive");
    let naive_outcomes: Vec<&str> = naive
        .iter()
        .map(|verdict| verdict["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(naive_outcomes, outcomes[..5]);
    // The compiler that stays loaded refused it, and no test was started: else the sentinels would
    // be missed too.
    assert_eq!(judged[4]["missing"], json!(["executed"]), "{:#}", judged[4]);
    assert_ne!(naive[4]["missing"], judged[4]["missing"]);
    let unchecked = json!(["signature", "quiet", "framework", "process"]);
    assert_eq!(judged[1]["unchecked"], unchecked, "{:#}", judged[1]);
    assert_ne!(judged[1]["twins"], Value::Null, "{:#}", judged[1]);
    assert_eq!(
        judged[3]["failed"],
        json!(["money::TestSum"]),
        "{:#}",
        judged[3]
    );
    assert!(
        judged[4]["output"].as_str().unwrap().contains("cannot use"),
        "{:#}",
        judged[4]
    );
}

/// A folder with a `go.mod` needs no manifest.
#[test]
fn a_module_is_replayed_without_a_manifest() {
    let Some(go) = Go::installed() else {
        return;
    };
    let dir = TestDir::new();
    let folder = dir.path("flat");
    copy(Path::new(&repository("corpora/demo-go")), &folder);
    let report = go.fillrate(
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
    let row = rows.iter().find(|row| row["project"] == "household");
    let row = row.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(row["holes"], 3, "{row:#}");
    assert_eq!(row["metrics"]["pass@1"]["value"], 1.0, "{row:#}");
}

/// The compiler that stays loaded checks the files of a package in the order of their names.
#[test]
fn errors_in_other_files_have_the_order_of_the_files() {
    let Some(go) = Go::installed() else {
        return;
    };
    let dir = TestDir::new();
    let width = "package ruler\n\nfunc Width() int {\n\tsum := 3\n\treturn sum\n}\n";
    dir.write("ruler/go.mod", "module ruler\n\ngo 1.21\n");
    dir.write("ruler/width.go", width);
    dir.write(
        "ruler/width_test.go",
        "package ruler\n\nimport \"testing\"\n\nfunc TestWidth(t *testing.T) {\n\tif Width() != 3 \
         {\n\t\tt.Fatal(Width())\n\t}\n}\n",
    );
    for user in ["a", "b", "c", "d", "e", "f"] {
        let name = user.to_uppercase();
        let text = format!("package ruler\n\nfunc {name}() int {{\n\treturn Width()\n}}\n");
        dir.write(&format!("ruler/{user}.go"), &text);
    }
    let folder = text(&dir.path("ruler"));
    let tasks = dir.path("mined.jsonl");
    let options = ["--kinds", "body", "--holes", "1", "-o", &text(&tasks)];
    let mut command = dir.command(&[&["mine", &folder], &options[..]].concat());
    command.envs([go.0.clone()]);
    run(&mut command).exits_with(0);
    let mut hole = holes(&tasks).remove(0);
    assert_eq!(hole["path"], "width.go", "{hole:#}");
    let start = width.find("int").unwrap();
    hole["start"] = json!(start);
    hole["end"] = json!(start + "int".len());
    hole["reference"] = json!("int");
    let judged = judge(&go, &dir, &folder, &hole, &["int64"], "warm");
    let output = judged[0]["output"].as_str().unwrap();
    let lines = output.lines().filter_map(|line| line.split_once(".go:"));
    let files: Vec<&str> = lines.map(|(file, _)| file).collect();
    assert_eq!(
        files,
        ["a", "b", "c", "d", "e", "f", "width"],
        "{:#}",
        judged[0]
    );
}

/// The files of tests in a package share the beginning of their ids, and are compiled together: each
/// of them proves what its own tests run, and several do so together.
#[test]
fn tests_in_many_files_of_a_package_prove_their_code() {
    let Some(go) = Go::installed() else {
        return;
    };
    let dir = TestDir::new();
    dir.write("rulers/go.mod", "module rulers\n\ngo 1.21\n");
    for number in 0..9 {
        let body = format!("\tsum := a + {number}\n\treturn sum\n");
        dir.write(
            &format!("rulers/f{number}.go"),
            &format!("package rulers\n\nfunc F{number}(a int) int {{\n{body}}}\n"),
        );
        // The last function is tested in four files, each other one in one.
        let other = if number < 5 { number } else { 8 };
        let test = format!(
            "package rulers\n\nimport \"testing\"\n\nfunc TestF{number}(t *testing.T) {{\n\
             \tif got := F{number}(20); got != {} {{\n\t\tt.Fatal(got)\n\t}}\n\
             \tif got := F{other}({number}); got != {} {{\n\t\tt.Fatal(got)\n\t}}\n}}\n",
            20 + number,
            number + other
        );
        dir.write(&format!("rulers/f{number}_test.go"), &test);
    }
    let folder = text(&dir.path("rulers"));
    let tasks = dir.path("mined.jsonl");
    let options = ["--kinds", "body", "--holes", "9", "-o", &text(&tasks)];
    let mut command = dir.command(&[&["mine", &folder], &options[..]].concat());
    command.envs([go.0.clone()]);
    run(&mut command).exits_with(0);
    let predictions = holes(&tasks).into_iter().map(|hole| {
        let same = hole["reference"].as_str().unwrap().replace("sum", "total");
        json!({"hole": hole["id"], "completions": [same]}).to_string() + "\n"
    });
    let predictions = dir.write("predictions.jsonl", &predictions.collect::<String>());
    let (tasks, predictions, run_folder) = (text(&tasks), text(&predictions), dir.path("run"));
    go.fillrate(
        &dir,
        &[
            "replay",
            &folder,
            "--tasks",
            &tasks,
            "--model",
            &predictions,
            "--out",
            &text(&run_folder),
            "--json",
        ],
    );
    let proofs: BTreeMap<String, Value> = attempts(&run_folder)
        .into_values()
        .map(|attempt| {
            let verdict = &attempt["verdict"];
            let hole = attempt["hole"].as_str().unwrap().to_owned();
            (hole, json!([verdict["outcome"], verdict["proof"]]))
        })
        .collect();
    assert_eq!(proofs.len(), 9, "{proofs:#?}");
    for (hole, proof) in proofs {
        assert_eq!(proof, json!(["passed", "altered"]), "{hole}");
    }
}

/// A workspace with a replaced module; tests read `testdata`, and files with build tags are left
/// out as `go test` leaves them out.
#[test]
fn a_workspace_with_a_replaced_module_is_replayed() {
    let Some(go) = Go::installed() else {
        return;
    };
    let dir = TestDir::new();
    for (name, contents) in [
        (
            "go.mod",
            "module example.com/shop\n\ngo 1.19\n\nrequire example.com/sub v0.0.0\n\n\
             replace example.com/sub => ./sub\n",
        ),
        ("go.work", "go 1.19\n\nuse (\n\t.\n\t./sub\n)\n"),
        ("sub/go.mod", "module example.com/sub\n\ngo 1.19\n"),
        (
            "sub/sub.go",
            "package sub\n\nfunc Three(a int) int {\n\tb := a * 3\n\treturn b\n}\n",
        ),
        (
            "shop.go",
            "package shop\n\nimport (\n\t\"os\"\n\t\"strings\"\n\n\t\"example.com/sub\"\n)\n\n\
             func Count(path string) int {\n\ttext, err := os.ReadFile(path)\n\tif err != nil {\n\t\treturn 0\n\t}\n\
             \tcount := strings.Count(string(text), \"x\")\n\treturn sub.Three(count)\n}\n",
        ),
        (
            "shop_test.go",
            "package shop\n\nimport \"testing\"\n\nfunc TestCount(t *testing.T) {\n\
             \tif got := Count(\"testdata/a.txt\"); got != 6 {\n\t\tt.Fatal(got)\n\t}\n}\n",
        ),
        (
            "tagged_test.go",
            "//go:build integration\n\npackage shop\n\nimport \"testing\"\n\n\
             func TestNever(t *testing.T) { t.Fatal(1) }\n",
        ),
        (
            "windows_only.go",
            "//go:build windows\n\npackage shop\n\nfunc Only() int {\n\treturn missing\n}\n",
        ),
        ("testdata/a.txt", "axbx\n"),
    ] {
        dir.write(&format!("shop/{name}"), contents);
    }
    let (shop, out) = (text(&dir.path("shop")), text(&dir.path("run")));
    let arguments = ["replay", &shop, "--holes", "3", "--kinds", "line"];
    let more = ["--model", "reference", "--out", &out, "--json"];
    let report = go.fillrate(&dir, &[&arguments[..], &more].concat());
    let row = &report["rows"].as_array().unwrap()[0];
    assert_eq!(row["project"], "shop", "{row:#}");
    assert_eq!(row["holes"], 3, "{row:#}");
    assert_eq!(row["metrics"]["pass@1"]["value"], 1.0, "{row:#}");
    assert_eq!(report["slow_paths"], Value::Null, "{report:#}");
}

/// What the compiler alone can't do is left to `go test`, and not in silence.
#[test]
fn a_package_that_embeds_files_is_compiled_by_the_command_go() {
    let Some(go) = Go::installed() else {
        return;
    };
    let dir = TestDir::new();
    for (name, contents) in [
        ("go.mod", "module example.com/shop\n\ngo 1.19\n"),
        (
            "shop.go",
            "package shop\n\nimport (\n\t_ \"embed\"\n\t\"strings\"\n)\n\n//go:embed a.txt\nvar text string\n\n\
             func Count(letter string) int {\n\tcount := strings.Count(text, letter)\n\treturn 3 * count\n}\n",
        ),
        (
            "shop_test.go",
            "package shop\n\nimport \"testing\"\n\nfunc TestCount(t *testing.T) {\n\
             \tif got := Count(\"x\"); got != 6 {\n\t\tt.Fatal(got)\n\t}\n}\n",
        ),
        ("a.txt", "axbx\n"),
    ] {
        dir.write(&format!("shop/{name}"), contents);
    }
    let (shop, out) = (text(&dir.path("shop")), text(&dir.path("run")));
    let arguments = ["replay", &shop, "--holes", "1", "--kinds", "line", "--anew"];
    let more = ["--model", "reference", "--out", &out, "--json"];
    let report = go.fillrate(&dir, &[&arguments[..], &more].concat());
    assert_eq!(report["rows"][0]["metrics"]["pass@1"]["value"], 1.0);
    let reason = "compiling tests by the plan of the environment failed, and `go test` compiled \
                  them, which takes longer: there is no plan for example.com/shop";
    assert_eq!(report["slow_paths"]["shop"], json!([reason]));
    let shown = run(&mut dir.command(&["show", &out])).exits_with(0).out;
    let shown: Vec<&str> = shown.split_whitespace().collect();
    assert!(
        shown.join(" ").contains(&format!("shop: {reason}")),
        "{shown:?}"
    );
}

/// Regression: of a module that a workspace or a folder gives another, only its own folder was
/// copied, so that none of its tests was compiled.
#[test]
fn a_module_is_compiled_with_others_of_the_repository() {
    let Some(go) = Go::installed() else {
        return;
    };
    let dir = TestDir::new();
    let module = "module example.com/b\n\ngo 1.21\n\nrequire example.com/a v0.0.0\n";
    let replacing = format!("{module}\nreplace example.com/a => ../a\n");
    for (repository, name, contents) in [
        ("used", "go.work", "go 1.21\n\nuse (\n\t./a\n\t./b\n)\n"),
        ("used", "b/go.mod", module),
        ("replaced", "b/go.mod", &replacing),
    ] {
        dir.write(&format!("{repository}/{name}"), contents);
    }
    for repository in ["used", "replaced"] {
        for (name, contents) in [
            ("a/go.mod", "module example.com/a\n\ngo 1.21\n"),
            (
                "a/a.go",
                "package a\n\nfunc Two(x int) int {\n\treturn 2 * x\n}\n",
            ),
            (
                "b/b.go",
                "package b\n\nimport \"example.com/a\"\n\nfunc Six(x int) int {\n\tthree := 3 * x\n\
                 \treturn a.Two(three)\n}\n",
            ),
            (
                "b/b_test.go",
                "package b\n\nimport \"testing\"\n\nfunc TestSix(t *testing.T) {\n\tif Six(2) != 12 \
                 {\n\t\tt.Fatal(Six(2))\n\t}\n}\n",
            ),
        ] {
            dir.write(&format!("{repository}/{name}"), contents);
        }
        let folder = text(&dir.path(repository));
        let out = text(&dir.path(&format!("run-{repository}")));
        let arguments = ["replay", &folder, "--package", "b", "--holes", "2"];
        let more = [
            "--kinds",
            "line",
            "--model",
            "reference",
            "--out",
            &out,
            "--json",
        ];
        let report = go.fillrate(&dir, &[&arguments[..], &more].concat());
        let row = &report["rows"].as_array().unwrap()[0];
        assert_eq!(row["project"], "b", "{row:#}");
        assert_eq!(row["holes"], 2, "{row:#}");
        assert_eq!(row["metrics"]["pass@1"]["value"], 1.0, "{row:#}");
    }
}

/// Tests that are compiled and started without `go test` have the same outcomes.
#[test]
fn tests_run_alike_without_the_command_go() {
    let Some(go) = Go::installed() else {
        return;
    };
    let dir = TestDir::new();
    let harness = dir.path("harness");
    copy(
        Path::new(&repository("replay/language/src/go/harness")),
        &harness,
    );
    let files: Vec<_> = std::fs::read_dir(&harness)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    let mut command = std::process::Command::new("go");
    command
        .args(["test", "-count=1"])
        .args(files)
        .current_dir(&harness)
        .envs([go.0.clone()])
        .envs([
            ("GOCACHE", text(&dir.path("build"))),
            ("GOTOOLCHAIN", "local".to_owned()),
        ]);
    run(&mut command).exits_with(0);
}
