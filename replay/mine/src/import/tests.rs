use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use super::*;
use crate::invocation::InvocationRates;

/// A folder with files of records, repositories, and what imports leave.
struct ImportFolder {
    folder: tempfile::TempDir,
}

impl ImportFolder {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("the system gives a temporary folder"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        let parent = path.parent().expect("it is in the folder");
        fs::create_dir_all(parent).expect("the folder is writable");
        fs::write(&path, text).expect("the folder is writable");
        path
    }

    fn import(
        &self,
        format: &str,
        records: &[Value],
        options: &ImportOptions,
    ) -> Result<ImportSummary, ImportError> {
        let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
        let file = self.write("records.jsonl", &lines);
        let format = format_by_name(format).expect("the format is known");
        let to = self.path("tasks.jsonl");
        import(format, &[file], options, &to, &|_, _| {})
    }

    /// Each hole as its id without the hash, the text before it on its line, and its reference.
    fn holes(&self) -> String {
        let holes =
            fillrate_language::task::read(&self.path("tasks.jsonl")).expect("tasks were written");
        let shown = holes.iter().map(|hole| {
            let place = hole.id.rsplit_once(':').map_or("", |(place, _)| place);
            let task = hole.task_id.as_deref().unwrap_or_default();
            format!("{place} [{task}] {:?} {:?}\n", hole.reference, hole.tests)
        });
        shown.collect()
    }

    /// The manifest, which must be a valid one, without the machine's own paths.
    fn manifest(&self) -> String {
        let path = self.path("tasks.corpus/corpus.toml");
        fillrate_verdict::corpus::manifest::Manifest::read(&path).expect("the manifest is valid");
        let text = fs::read_to_string(path).expect("a manifest was written");
        text.replace(&self.folder.path().display().to_string(), "FOLDER")
    }

    /// Returns the import's error message, without the machine's own paths.
    fn complaint(&self, format: &str, record: Value, options: &ImportOptions) -> String {
        let error = self
            .import(format, &[record], options)
            .expect_err("the record is at fault");
        assert!(!self.path("tasks.jsonl").exists() && !self.path("tasks.corpus").exists());
        let left = fs::read_dir(self.folder.path())
            .expect("the folder is readable")
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(".import"));
        assert_eq!(left.count(), 0, "something was left behind");
        let text = error.to_string();
        text.replace(&self.folder.path().display().to_string(), "FOLDER")
    }
}

/// A record with another value in a field, or without it.
fn with(record: &Value, field: &str, value: Option<Value>) -> Value {
    let mut record = record.clone();
    let pointer = format!("/{}", field.replace('.', "/"));
    let (parent, name) = pointer.rsplit_once('/').expect("it begins with a slash");
    let parent = record
        .pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .expect("the record has it");
    match value {
        Some(value) => parent.insert(name.to_owned(), value),
        None => parent.remove(name),
    };
    record
}

const BOATS: &str = "import sea\n\n\ndef moor(boat):\n    \"\"\"Tie it up.\"\"\"\n    rope = sea.rope(boat)\n    return rope.tie()\n";

fn crosscodeeval(file: &str) -> Value {
    json!({
        "prompt": "def moor(boat):\n    \"\"\"Tie it up.\"\"\"\n    rope = sea.",
        "groundtruth": "rope(boat)",
        "right_context": "\n    return rope.tie()\n",
        "metadata": {
            "task_id": "project_cc_python/7",
            "repository": "harbour-boats-0a1b2c3",
            "file": file,
            "context_start_lineno": 3,
            "groundtruth_start_lineno": 5,
            "right_context_start_lineno": 6,
        },
    })
}

#[test]
fn crosscodeeval_without_its_repositories_is_made_of_its_text() {
    let folder = ImportFolder::new();
    let mut java = with(
        &crosscodeeval("src/Boats.java"),
        "metadata.task_id",
        Some(json!("project_cc_java/8")),
    );
    java = with(&java, "metadata.repository", Some(json!("harbour-ships-9")));
    let mut csharp = with(
        &crosscodeeval("src/Boats.cs"),
        "metadata.task_id",
        Some(json!("project_cc_csharp/9")),
    );
    csharp = with(
        &csharp,
        "metadata.repository",
        Some(json!("harbour-rafts-2")),
    );
    let records = [crosscodeeval("src/boats.py"), java, csharp];
    let summary = folder
        .import("crosscodeeval", &records, &ImportOptions::default())
        .expect("the records are sound");
    assert_eq!((summary.holes, summary.judged, summary.projects), (3, 0, 3));
    assert_eq!(summary.unplayable, BTreeMap::new());
    insta::assert_snapshot!(folder.holes(), @r#"
    harbour-boats-0a1b2c3/project_cc_python_7/src/boats.py:3:api [project_cc_python/7] "rope(boat)" []
    harbour-ships-9/project_cc_java_8/src/Boats.java:3:api [project_cc_java/8] "rope(boat)" []
    harbour-rafts-2/project_cc_csharp_9/src/Boats.cs:3:api [project_cc_csharp/9] "rope(boat)" []
    "#);
    insta::assert_snapshot!(folder.manifest(), @r#"
    # Written by `fillrate import crosscodeeval`; the next import to here replaces it.
    schema = 1

    [[project]]
    name = "harbour-boats-0a1b2c3"
    language = "python"
    source = { path = "harbour-boats-0a1b2c3" }
    holes = ["*"]
    hidden = ["*"]

    [[project]]
    name = "harbour-rafts-2"
    language = "csharp"
    source = { path = "harbour-rafts-2" }
    holes = ["*"]
    hidden = ["*"]

    [[project]]
    name = "harbour-ships-9"
    language = "java"
    source = { path = "harbour-ships-9" }
    holes = ["*"]
    hidden = ["*"]
    "#);
}

#[test]
fn crosscodeeval_with_its_repositories_is_cut_into_them() {
    let folder = ImportFolder::new();
    folder.write("repos/harbour-boats-0a1b2c3/src/boats.py", BOATS);
    let options = ImportOptions {
        repositories: Some(folder.path("repos")),
        ..ImportOptions::default()
    };
    let record = crosscodeeval("src/boats.py");
    folder
        .import("crosscodeeval", std::slice::from_ref(&record), &options)
        .expect("the record's text is in the repository");
    insta::assert_snapshot!(folder.holes(), @r#"harbour-boats-0a1b2c3/src/boats.py:6:api [project_cc_python/7] "rope(boat)" []"#);
    insta::assert_snapshot!(folder.manifest(), @r#"
    # Written by `fillrate import crosscodeeval`; the next import to here replaces it.
    schema = 1

    [[project]]
    name = "harbour-boats-0a1b2c3"
    language = "python"
    source = { path = "FOLDER/repos/harbour-boats-0a1b2c3" }
    holes = ["/src/boats.py"]
    "#);

    // A wrong line number alone does no harm: the text occurs only once.
    let moved = with(&record, "metadata.context_start_lineno", Some(json!(1)));
    folder
        .import("crosscodeeval", &[moved], &options)
        .expect("the text is in one place");

    let folder = ImportFolder::new();
    folder.write("repos/harbour-boats-0a1b2c3/src/boats.py", BOATS);
    let options = ImportOptions {
        repositories: Some(folder.path("repos")),
        ..ImportOptions::default()
    };
    let complaint = |field, value| {
        folder.complaint("crosscodeeval", with(&record, field, Some(value)), &options)
    };
    insta::assert_snapshot!(complaint("groundtruth", json!("rope(ship)")), @"FOLDER/records.jsonl, line 1: `prompt` and `groundtruth` are not in the repository's file: it is another version of it");
    insta::assert_snapshot!(complaint("metadata.repository", json!("elsewhere")), @"FOLDER/records.jsonl, line 1: `metadata.repository` names `elsewhere`, and FOLDER/repos has no such folder");
    insta::assert_snapshot!(complaint("metadata.repository", json!("../secret")), @"FOLDER/records.jsonl, line 1: `metadata.repository` has `../secret`, which must be a path inside the repository");
    insta::assert_snapshot!(complaint("metadata.file", json!("../boats.py")), @"FOLDER/records.jsonl, line 1: `metadata.file` has `../boats.py`, which must be a path inside the repository");
}

#[test]
fn what_is_wrong_with_a_record_is_told_by_line_and_field() {
    let folder = ImportFolder::new();
    let none = ImportOptions::default();
    let record = crosscodeeval("src/boats.py");
    let complaint =
        |field, value| folder.complaint("crosscodeeval", with(&record, field, value), &none);
    insta::assert_snapshot!(complaint("prompt", None), @"FOLDER/records.jsonl, line 1: `prompt` is missing");
    insta::assert_snapshot!(complaint("prompt", Some(json!(3))), @"FOLDER/records.jsonl, line 1: `prompt` must be a text, not a number");
    insta::assert_snapshot!(complaint("metadata.file", Some(json!("a.rb"))), @"FOLDER/records.jsonl, line 1: `metadata.file` is `a.rb`, which is no Python, Java, TypeScript or C#");
    insta::assert_snapshot!(folder.complaint("repoeval", record.clone(), &none), @"FOLDER/records.jsonl, line 1: `metadata.ground_truth` is missing; the record has the fields of `crosscodeeval`, and all files of an import are of one format");
    insta::assert_snapshot!(folder.complaint("safim", json!([1]), &none), @"FOLDER/records.jsonl, line 1: this is not a JSON object");
    let import_text = |text: &[u8]| {
        let path = folder.path("records.jsonl");
        fs::write(&path, text).expect("the folder is writable");
        let to = folder.path("tasks.jsonl");
        let format = format_by_name("crosscodeeval").expect("it is known");
        let strict = ImportOptions {
            strict: true,
            ..ImportOptions::default()
        };
        let error = import(format, &[path], &strict, &to, &|_, _| {}).expect_err("it is refused");
        let folder = folder.folder.path().display().to_string();
        error.to_string().replace(&folder, "FOLDER")
    };
    insta::assert_snapshot!(import_text(format!("{record}\n\n{{\"prompt\": \n").as_bytes()), @"FOLDER/records.jsonl, line 3: this is not a JSON object: EOF while parsing a value at line 2 column 0");
    insta::assert_snapshot!(import_text(format!("{record}\n{record}\n").as_bytes()), @"FOLDER/records.jsonl, line 2: the task project_cc_python/7 is in line 1 of FOLDER/records.jsonl already");
    insta::assert_snapshot!(import_text(b"\n \n"), @"there are no records to import");
    insta::assert_snapshot!(import_text(b"\x28\xb5\x2f\xfdabc"), @"FOLDER/records.jsonl is packed by zstd; unpack it first");
    insta::assert_snapshot!(import_text(b"PAR1abc"), @r#"FOLDER/records.jsonl is Parquet; write its rows as JSON lines first, as pandas' `to_json("F.jsonl", orient="records", lines=True)` does"#);
    insta::assert_snapshot!(import_text(b"\x1f\x8b\x08not really"), @"FOLDER/records.jsonl, line 1: it can't be read: invalid gzip header");
}

#[test]
fn unusable_records_are_reported_and_duplicates_renamed() {
    let folder = ImportFolder::new();
    let none = ImportOptions::default();
    let record = crosscodeeval("src/boats.py");
    let of_task = |id: &str| with(&record, "metadata.task_id", Some(json!(id)));
    let records = [
        of_task("p/A"),
        with(&record, "prompt", None),
        json!(3),
        of_task("p/a"),
        of_task("p/A"),
        of_task("p/A"),
    ];
    let summary = folder
        .import("crosscodeeval", &records, &none)
        .expect("some records are sound");
    assert_eq!((summary.holes, summary.projects), (4, 1));
    let shown = |errors: &[ImportError]| {
        let folder = folder.folder.path().display().to_string();
        let lines = errors
            .iter()
            .map(|error| error.to_string().replace(&folder, "FOLDER") + "\n");
        lines.collect::<String>()
    };
    insta::assert_snapshot!(shown(&summary.unusable), @r"
    FOLDER/records.jsonl, line 2: `prompt` is missing
    FOLDER/records.jsonl, line 3: this is not a JSON object
    ");
    insta::assert_snapshot!(shown(&summary.renamed), @r"
    FOLDER/records.jsonl, line 5: the task p/A is in line 1 of FOLDER/records.jsonl already; this one is called p/A#2
    FOLDER/records.jsonl, line 6: the task p/A is in line 1 of FOLDER/records.jsonl already; this one is called p/A#3
    ");
    // Ids that differ only in case lead to files of their own.
    insta::assert_snapshot!(folder.holes(), @r#"
    harbour-boats-0a1b2c3/p_a/src/boats.py:3:api [p/A] "rope(boat)" []
    harbour-boats-0a1b2c3/p_a_2/src/boats.py:3:api [p/a] "rope(boat)" []
    harbour-boats-0a1b2c3/p_a_3/src/boats.py:3:api [p/A#2] "rope(boat)" []
    harbour-boats-0a1b2c3/p_a_4/src/boats.py:3:api [p/A#3] "rope(boat)" []
    "#);
    let refused = ImportFolder::new();
    let error = refused
        .import("crosscodeeval", &records[1..3], &none)
        .expect_err("no record is sound");
    let path = refused.folder.path().display().to_string();
    insta::assert_snapshot!(error.to_string().replace(&path, "FOLDER"), @"none of the 2 records can be used; FOLDER/records.jsonl, line 1: `prompt` is missing");
}

/// The expected figures are those of the benchmark's own script on the same generations.
#[test]
fn invocation_rates_equal_those_of_repoexec_script() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracles/repoexec/tasks.jsonl");
    let Ok(tasks) = fs::read_to_string(&path) else {
        assert!(
            std::env::var_os("CI").is_none(),
            "{} is missing",
            path.display()
        );
        return;
    };
    let python = fillrate_syntax::Language::by_id("python").expect("it is in the table");
    let mut rates = Vec::new();
    for line in tasks.lines() {
        let task: Value = serde_json::from_str(line).expect("a task");
        let text = |name: &str| task["record"][name].as_str().expect("a text");
        let function = text("focal_function");
        let kind = fillrate_language::task::HoleKind::Body;
        let range = 0..function.len();
        let mut hole =
            fillrate_language::task::Hole::new("p", "python", "a.py", kind, range, function);
        let names =
            repoexec::script_dependencies(python, text("code"), text("entry_point"), function);
        hole.repoexec_dependencies = Some(names);
        for generation in task["generations"].as_array().expect("a list") {
            let generation = generation["generation"].as_str().expect("a text");
            rates.extend(InvocationRates::score(&hole, generation).repoexec);
        }
    }
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert_eq!(rates.len(), 410);
    assert!((mean - 0.410_650_406_504_064_5).abs() < 1e-12, "{mean}");
}

#[test]
fn devbench_programs_are_judged_by_their_assertions() {
    let folder = ImportFolder::new();
    let record = json!({
        "id": "1", "testsource": "devbench-low-context", "language": "python",
        "prefix": "def double(n):", "golden_completion": "    return 2 * n",
        "suffix": "print(double(2))", "assertions": "assert double(3) == 6, \"six\"",
    });
    let [script, java, csharp] = ["typescript", "java", "c_sharp"].map(|language| {
        let other = with(&record, "language", Some(json!(language)));
        with(&other, "prefix", Some(json!("const two = ")))
    });
    let options = ImportOptions {
        packages: vec!["numpy==2.2.6".to_owned(), "d3@7.9.0".to_owned()],
        ..ImportOptions::default()
    };
    let records = [record.clone(), script, java, csharp];
    let summary = folder
        .import("devbench", &records, &options)
        .expect("the records are sound");
    assert_eq!((summary.holes, summary.judged, summary.projects), (4, 3, 4));
    insta::assert_snapshot!(folder.holes(), @r#"
    devbench-python-low-context/programs/python_low_context_1.py:2:block [python/low-context/1] "    return 2 * n" ["tests/test_python_low_context_1.py"]
    devbench-typescript-low-context/programs/typescript_low_context_1.ts:2:block [typescript/low-context/1] "    return 2 * n" ["tests/typescript_low_context_1.test.mjs"]
    devbench-java-low-context/build/java_low_context_1.java:2:block [java/low-context/1] "    return 2 * n" ["java_low_context_1"]
    devbench-csharp-low-context/programs/csharp_low_context_1.cs:2:block [csharp/low-context/1] "    return 2 * n" []
    "#);
    let read = |path: &str| {
        let text = fs::read_to_string(folder.path("tasks.corpus").join(path));
        text.expect("the import wrote it")
    };
    // What decides is not shown.
    assert_eq!(
        read("devbench-python-low-context/programs/python_low_context_1.py"),
        "def double(n):\n    return 2 * n\nprint(double(2))\n"
    );
    let asserted = "ASSERTIONS = \"assert double(3) == 6, \\\"six\\\"\"";
    for test in [
        "devbench-python-low-context/tests/test_python_low_context_1.py",
        "devbench-typescript-low-context/tests/typescript_low_context_1.test.mjs",
    ] {
        assert!(read(test).contains(asserted), "{test}");
    }
    // A language's projects get its own packages.
    let manifest = folder.manifest();
    assert!(manifest.contains(r#""Pygments==2.19.2", "numpy==2.2.6"]"#));
    assert!(manifest.contains(r#""@types/node@22.10.0", "d3@7.9.0"]"#));
    // Tasks with a reference that fails here leave the others as they are.
    assert_eq!(manifest.matches("min_share = 0.0").count(), 3);
    let unused = folder.import("devbench", &records[..1], &options);
    let error = unused.expect_err("nothing is in TypeScript");
    insta::assert_snapshot!(error, @"no project that this import makes installs the package `d3@7.9.0`");
}

#[test]
fn byte_order_mark_belongs_to_no_record() {
    let record = |number: u8| {
        json!({
            "task_id": format!("SingleLineInfilling/HumanEval/{number}/L0"),
            "entry_point": "twice",
            "prompt": "def twice(n):\n",
            "canonical_solution": "    return n * 2\n",
            "suffix": format!("    # {number}\n"),
            "test": "def check(f):\n    assert f(2) == 4\n",
        })
        .to_string()
    };
    let text = format!("\u{feff}{}\n{}\n", record(1), record(2));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).expect("it is written to memory");
    for bytes in [text.as_bytes().to_vec(), packed.finish().expect("as above")] {
        let folder = ImportFolder::new();
        let path = folder.path("records.jsonl");
        fs::write(&path, bytes).expect("a file");
        let to = folder.path("tasks.jsonl");
        let format = format_by_name("humaneval-infilling").expect("it is a format");
        let options = ImportOptions::default();
        let summary = import(format, &[path], &options, &to, &|_, _| {}).expect("two records");
        assert!(summary.unusable.is_empty(), "{:?}", summary.unusable);
        let read = fillrate_language::task::read(&to).expect("they are holes");
        assert_eq!(read.len(), 2);
        let marked = ["\u{feff}", &fs::read_to_string(&to).expect("a file")].concat();
        fs::write(&to, marked).expect("a file");
        assert_eq!(
            fillrate_language::task::read(&to).expect("they are holes"),
            read
        );
    }
}

#[test]
fn an_import_replaces_an_earlier_one_and_nothing_else() {
    let folder = ImportFolder::new();
    let none = ImportOptions::default();
    let first = crosscodeeval("src/boats.py");
    let second = with(
        &first,
        "metadata.task_id",
        Some(json!("project_cc_python/8")),
    );
    folder
        .import("crosscodeeval", &[first.clone(), second.clone()], &none)
        .expect("the records are sound");
    let once = (folder.holes(), folder.manifest());
    folder
        .import("crosscodeeval", &[first.clone(), second], &none)
        .expect("the records are sound");
    assert_eq!((folder.holes(), folder.manifest()), once);

    let limited = ImportOptions {
        limit: Some(1),
        ..ImportOptions::default()
    };
    let both = [first.clone(), crosscodeeval("never/read.py")];
    folder
        .import("crosscodeeval", &both, &limited)
        .expect("the second is not looked at");
    assert_eq!(folder.holes().lines().count(), 1);
    assert!(
        !folder
            .path("tasks.corpus/harbour-boats-0a1b2c3/project_cc_python_8")
            .exists()
    );

    folder.write("other.corpus/corpus.toml", "schema = 1\n");
    let path = folder.write("records.jsonl", &format!("{first}\n"));
    let format = format_by_name("crosscodeeval").expect("it is known");
    let to = folder.path("other.jsonl");
    let error = import(format, &[path], &none, &to, &|_, _| {}).expect_err("it is a person's");
    assert!(error.to_string().contains("no import wrote it"), "{error}");
}

#[test]
fn packed_records_are_read_as_they_are() {
    let folder = ImportFolder::new();
    let path = folder.path("records.jsonl.gz");
    let file = fs::File::create(&path).expect("the folder is writable");
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    writeln!(packed, "{}", crosscodeeval("src/boats.py")).expect("the folder is writable");
    packed.finish().expect("the folder is writable");
    let format = format_by_name("crosscodeeval").expect("it is known");
    let to = folder.path("tasks.jsonl");
    let summary = import(
        format,
        &[path],
        &ImportOptions::default(),
        &to,
        &|read, all| {
            assert!(0 < read && read <= all);
        },
    );
    assert_eq!(summary.expect("the record is sound").holes, 1);
}

#[test]
fn programs_of_humaneval_are_shared_by_their_tasks() {
    let folder = ImportFolder::new();
    let task = |id: &str, prompt: &str, reference: &str, suffix: &str| {
        json!({
            "task_id": id, "entry_point": "knots", "prompt": prompt, "suffix": suffix,
            "canonical_solution": reference,
            "test": "def check(candidate):\n    assert candidate(1) == 2\n",
        })
    };
    let records = [
        task(
            "SingleLineInfilling/HumanEval/5/L0",
            "def knots(n):\n",
            "    m = n\n",
            "    return m + 1\n",
        ),
        task(
            "SingleLineInfilling/HumanEval/5/L1",
            "def knots(n):\n    m = n\n",
            "    return m + 1\n",
            "",
        ),
        task(
            "RandomSpanInfilling/HumanEval/5/1",
            "def knots(n):\n    m ",
            "= n",
            "\n    return m + 1\n",
        ),
    ];
    let none = ImportOptions::default();
    let summary = folder
        .import("humaneval-infilling", &records, &none)
        .expect("the records are sound");
    assert_eq!((summary.holes, summary.judged, summary.projects), (3, 3, 1));
    insta::assert_snapshot!(folder.holes(), @r#"
    humaneval-infilling/programs/humaneval_5_7c2bcbc4.py:2:line [SingleLineInfilling/HumanEval/5/L0] "    m = n\n" ["tests/test_humaneval_5_7c2bcbc4.py"]
    humaneval-infilling/programs/humaneval_5_7c2bcbc4.py:3:line [SingleLineInfilling/HumanEval/5/L1] "    return m + 1\n" ["tests/test_humaneval_5_7c2bcbc4.py"]
    humaneval-infilling/programs/humaneval_5_7c2bcbc4.py:2:span [RandomSpanInfilling/HumanEval/5/1] "= n" ["tests/test_humaneval_5_7c2bcbc4.py"]
    "#);
    let bad = with(&records[0], "entry_point", Some(json!("a\"b")));
    let folder = ImportFolder::new();
    insta::assert_snapshot!(folder.complaint("humaneval-infilling", bad, &none), @"FOLDER/records.jsonl, line 1: `entry_point` must be a function's name");
}

#[test]
fn repoexec_lays_its_tests_into_the_repository() {
    let folder = ImportFolder::new();
    folder.write("repos/test-apps/boats/harbour/boats.py", BOATS);
    folder.write("repos/test-apps/boats/harbour/__init__.py", "");
    folder.write("outputs/test-apps+boats/test_output/moor/test_1", "pickled");
    let record = json!({
        "problem_ids": 12,
        "project": "test-apps/boats",
        "module": "harbour.boats",
        "entry_point": "moor",
        "focal_function": &BOATS[BOATS.find("def").expect("it has one")..BOATS.len() - 1],
        "test": "from . import sea\nfrom .ropes import *\nimport sys\n\
                 sys.path.insert(1, \"/input/test-apps/boats\")\n\ndef test_1():\n    \
                 with open(\"/output/test-apps+boats/test_output/moor/test_1\", \"rb\") as f:\n        \
                 assert f.read() != \"s3://bucket/output/1\"\n",
    });
    let options = ImportOptions {
        repositories: Some(folder.path("repos")),
        outputs: Some(folder.path("outputs")),
        packages: vec!["ropes==1.0".to_owned()],
        ..ImportOptions::default()
    };
    folder
        .import("repoexec", std::slice::from_ref(&record), &options)
        .expect("the record is sound");
    insta::assert_snapshot!(folder.holes(), @r#"boats/harbour/boats.py:6:body [12] "rope = sea.rope(boat)\n    return rope.tie()" ["fillrate_tests/test_12.py"]"#);
    insta::assert_snapshot!(folder.manifest(), @r#"
    # Written by `fillrate import repoexec`; the next import to here replaces it.
    schema = 1

    [[project]]
    name = "boats"
    language = "python"
    source = { path = "boats" }
    holes = ["/harbour/boats.py"]
    hidden = ["/fillrate_tests/", "/output/"]

    [project.environment]
    packages = ["pytest==8.4.2", "coverage==7.10.7", "iniconfig==2.1.0", "packaging==25.0", "pluggy==1.6.0", "Pygments==2.19.2", "numpy==2.2.6", "timeout-decorator==0.5.0", "ropes==1.0"]

    [project.test]
    runner = "pytest"
    args = ["--rootdir=.", "fillrate_tests"]
    path = ["."]
    "#);
    let laid = fs::read_to_string(folder.path("tasks.corpus/boats/fillrate_tests/test_12.py"));
    insta::assert_snapshot!(laid.expect("tests were laid there"), @r#"
    from harbour import sea
    from harbour.ropes import *
    import sys

    def test_1():
        with open("output/test-apps+boats/test_output/moor/test_1", "rb") as f:
            assert f.read() != "s3://bucket/output/1"
    "#);
    assert!(
        folder
            .path("tasks.corpus/boats/output/test-apps+boats/test_output/moor/test_1")
            .exists()
    );

    let whole = ImportOptions {
        whole_functions: true,
        ..options.clone()
    };
    folder
        .import("repoexec", std::slice::from_ref(&record), &whole)
        .expect("the record is sound");
    assert!(folder.holes().contains("boats.py:4:body [12] \"def moor"));

    fs::remove_file(folder.path("tasks.jsonl")).expect("it was written");
    fs::remove_dir_all(folder.path("tasks.corpus")).expect("it was written");
    let complaint = |field, value, options: &ImportOptions| {
        folder.complaint("repoexec", with(&record, field, Some(value)), options)
    };
    insta::assert_snapshot!(complaint("focal_function", json!("def sink():\n    pass"), &options), @"FOLDER/records.jsonl, line 1: `focal_function` is 0 times in harbour/boats.py of the repository, not once");
    insta::assert_snapshot!(complaint("module", json!("harbour.ships"), &options), @"FOLDER/records.jsonl, line 1: `module` is `harbour.ships`, which test-apps/boats does not have");
    insta::assert_snapshot!(complaint("test", json!("from ..x import y"), &options), @"FOLDER/records.jsonl, line 1: `test` has `from ..x import y`, which leads out of the package");
    insta::assert_snapshot!(complaint("test", json!("open('/output/a')"), &options), @"FOLDER/records.jsonl, line 1: `test` reads `/output/a`, and FOLDER/outputs/a is no file");
    insta::assert_snapshot!(complaint("problem_ids", json!(3), &ImportOptions::default()), @"FOLDER/records.jsonl, line 1: `project` names a repository, without which nothing can be run; give the folder that holds it by `--repositories`");
    let without = ImportOptions {
        outputs: None,
        ..options.clone()
    };
    insta::assert_snapshot!(complaint("problem_ids", json!(3), &without), @"FOLDER/records.jsonl, line 1: `test` reads `/output/test-apps+boats/test_output/moor/test_1`; give the benchmark's `data_with_test_case` by `--outputs`");
}

#[test]
fn repobench_asks_for_the_line_after_its_code() {
    let folder = ImportFolder::new();
    let record = json!({
        "repo_name": "harbour/boats",
        "file_path": "src/boats.py",
        "context": [{"identifier": "rope", "path": "src/sea.py", "snippet": "def rope(boat): ..."}],
        "import_statement": "import sea",
        "cropped_code": "def moor(boat):\n    \"\"\"Tie it up.\"\"\"\n",
        "all_code": "import sea\n\n\ndef moor(boat):\n    \"\"\"Tie it up.\"\"\"\n",
        "next_line": "    rope = sea.rope(boat)",
    });
    let none = ImportOptions::default();
    folder
        .import("repobench", std::slice::from_ref(&record), &none)
        .expect("the record is sound");
    insta::assert_snapshot!(folder.holes(), @r#"harbour-boats/harbour_boats_c8f4715d/src/boats.py:4:line [harbour/boats/src/boats.py:c8f4715d] "rope = sea.rope(boat)" []"#);
    let made = folder.path("tasks.corpus/harbour-boats/harbour_boats_c8f4715d/src/boats.py");
    insta::assert_snapshot!(fs::read_to_string(made).expect("it was made"), @r#"
    import sea
    def moor(boat):
        """Tie it up."""
        rope = sea.rope(boat)
    "#);

    let folder = ImportFolder::new();
    folder.write("repos/harbour/boats/src/boats.py", BOATS);
    let options = ImportOptions {
        repositories: Some(folder.path("repos")),
        ..ImportOptions::default()
    };
    insta::assert_snapshot!(folder.complaint("repobench", with(&record, "next_line", Some(json!("    sink()"))), &options), @"FOLDER/records.jsonl, line 1: `cropped_code` and `next_line` are not in the repository's file: it is another version of it");
    insta::assert_snapshot!(folder.complaint("repobench", with(&record, "next_line", Some(json!(" "))), &options), @"FOLDER/records.jsonl, line 1: `next_line` is blank");
    folder
        .import("repobench", &[record], &options)
        .expect("the line is in the repository");
    insta::assert_snapshot!(folder.holes(), @r#"harbour-boats/src/boats.py:6:line [harbour/boats/src/boats.py:c8f4715d] "rope = sea.rope(boat)" []"#);
}

#[test]
fn repoeval_follows_its_prompt() {
    let folder = ImportFolder::new();
    let record = json!({
        "prompt": "import sea\n\n\ndef moor(boat):\n    \"\"\"Tie it up.\"\"\"\n    rope =",
        "metadata": {
            "task_id": "harbour_boats/3",
            "ground_truth": " sea.rope(boat)",
            "fpath_tuple": ["harbour_boats", "src", "boats.py"],
            "context_start_lineno": 0,
            "line_no": 5,
        },
    });
    let none = ImportOptions::default();
    folder
        .import("repoeval", std::slice::from_ref(&record), &none)
        .expect("the record is sound");
    insta::assert_snapshot!(folder.holes(), @r#"harbour_boats/harbour_boats_3/src/boats.py:6:line [harbour_boats/3] " sea.rope(boat)" []"#);

    let folder = ImportFolder::new();
    folder.write("repos/harbour_boats/src/boats.py", BOATS);
    let options = ImportOptions {
        repositories: Some(folder.path("repos")),
        ..ImportOptions::default()
    };
    insta::assert_snapshot!(folder.complaint("repoeval", with(&record, "metadata.fpath_tuple", Some(json!(["harbour_boats"]))), &none), @"FOLDER/records.jsonl, line 1: `metadata.fpath_tuple` must be a repository and the names down to the file");
    insta::assert_snapshot!(folder.complaint("repoeval", with(&record, "metadata.ground_truth", Some(json!("x"))), &options), @"FOLDER/records.jsonl, line 1: `prompt` and `metadata.ground_truth` are not in the repository's file: it is another version of it");
    // The set is in the file's name.
    let file = folder.write("function_level_completion_2k.jsonl", &format!("{record}\n"));
    let format = format_by_name("repoeval").expect("it is known");
    let to = folder.path("tasks.jsonl");
    import(format, &[file], &options, &to, &|_, _| {}).expect("the record is sound");
    insta::assert_snapshot!(folder.holes(), @r#"harbour_boats/src/boats.py:6:body [harbour_boats/3] " sea.rope(boat)" []"#);
}

#[test]
fn deveval_is_cut_by_its_lines() {
    let folder = ImportFolder::new();
    let record = json!({
        "namespace": "boats.moor",
        "type": "function",
        "project_path": "Sea-Things/boats",
        "completion_path": "Sea-Things/boats/src/boats.py",
        "signature_position": [4, 4],
        "body_position": [6, 7],
        "dependency": {"intra_class": [], "intra_file": [], "cross_file": ["sea.rope"]},
        "requirement": {"Functionality": "Tie it up.", "Arguments": ":param boat: A boat."},
        "tests": ["tests/test_boats.py::test_moor"],
        "indent": 4,
    });
    folder.write("repos/Sea-Things/boats/src/boats.py", BOATS);
    let options = ImportOptions {
        repositories: Some(folder.path("repos")),
        ..ImportOptions::default()
    };
    let complaint = |field, value, options: &ImportOptions| {
        folder.complaint("deveval", with(&record, field, Some(value)), options)
    };
    insta::assert_snapshot!(complaint("indent", json!(4), &ImportOptions::default()), @"FOLDER/records.jsonl, line 1: `completion_path` names the code, which records don't hold; give the benchmark's `Source_Code` by `--repositories`");
    insta::assert_snapshot!(complaint("body_position", json!([6]), &options), @"FOLDER/records.jsonl, line 1: `body_position` must be two line numbers, first and last");
    insta::assert_snapshot!(complaint("body_position", json!([7, 60]), &options), @"FOLDER/records.jsonl, line 1: `body_position` is [7, 60], and src/boats.py has no code there");
    insta::assert_snapshot!(complaint("indent", json!(8), &options), @"FOLDER/records.jsonl, line 1: `indent` is 8, and line 6 of src/boats.py is indented less");
    insta::assert_snapshot!(complaint("completion_path", json!("Other/boats.py"), &options), @"FOLDER/records.jsonl, line 1: `completion_path` must begin with `project_path`");
    insta::assert_snapshot!(complaint("signature_position", json!([5, 5]), &options), @"FOLDER/records.jsonl, line 1: `signature_position` is [5, 5], and src/boats.py does not define moor there: it is another version of it");
    folder
        .import("deveval", &[record], &options)
        .expect("the record is sound");
    insta::assert_snapshot!(folder.holes(), @r#"Sea-Things-boats/src/boats.py:6:body [boats.moor] "    rope = sea.rope(boat)\n    return rope.tie()" ["tests/test_boats.py::test_moor"]"#);
}

#[test]
fn safim_runs_python_with_inputs_and_nothing_else() {
    let folder = ImportFolder::new();
    let record = |id: &str, lang: &str, tests: Value| {
        json!({
            "task_id": id, "lang": lang, "unit_tests": tests,
            "prompt": "n = int(input())\n# TODO: Your code here\n",
            "eval_prompt": "n = int(input())\n{{completion}}\n",
            "ground_truth": "print(n + 1)",
        })
    };
    let cases = json!("[{\"input\": \"1\\n\", \"output\": [\"2\"]}]");
    let records = [
        record("block_completion_000001", "python", cases.clone()),
        record("api_completion_000002", "python", json!("[]")),
        record("control_completion_000003", "cpp", cases.clone()),
    ];
    let none = ImportOptions::default();
    let summary = folder
        .import("safim", &records, &none)
        .expect("the records are sound");
    assert_eq!((summary.holes, summary.judged, summary.projects), (3, 1, 2));
    insta::assert_snapshot!(folder.holes(), @r#"
    safim/programs/block_completion_000001.py:2:block [block_completion_000001] "print(n + 1)" ["tests/test_block_completion_000001.py"]
    safim-untested/programs/api_completion_000002.py:2:span [api_completion_000002] "print(n + 1)" []
    safim-cpp/programs/control_completion_000003.cpp:2:span [control_completion_000003] "print(n + 1)" []
    "#);
    let folder = ImportFolder::new();
    let complaint =
        |field, value| folder.complaint("safim", with(&records[0], field, Some(value)), &none);
    insta::assert_snapshot!(complaint("lang", json!("perl")), @"FOLDER/records.jsonl, line 1: `lang` is `perl`; known are python, java, cpp and csharp");
    insta::assert_snapshot!(complaint("eval_prompt", json!("n = 1")), @"FOLDER/records.jsonl, line 1: `eval_prompt` must have `{{completion}}` in it once");
    insta::assert_snapshot!(complaint("unit_tests", json!("[{\"input\": 1}]")), @"FOLDER/records.jsonl, line 1: `unit_tests` must be a list of an `input` and its `output`s: invalid type: integer `1`, expected a string at line 1 column 12");
}

#[test]
fn mrg_bench_is_cut_after_signature_and_documentation() {
    let folder = ImportFolder::new();
    let function = BOATS[BOATS.find("def").expect("it has one")..].trim_end();
    let record = json!({
        "project": "boats", "file_path": "src/boats.py", "func_name": "moor",
        "func": function, "comment": "\"\"\"Tie it up.\"\"\"",
        "test_funcs": "tests/test_a.py::test_x tests/test_a.py::test_y",
        "func_start": "3", "func_end": 6,
        "signature": "def moor(boat):", "task-id": "boats-src/boats.py-moor",
    });
    let none = ImportOptions::default();
    let go = json!({
        "project": "ships", "file_path": "a.go", "func": "func Moor(b *Boat) error {\n\treturn nil\n}",
        "comment": "// Moor ties it up.", "func_start": 4, "func_end": 6,
        "signature": "func Moor(b *Boat) error {", "task-id": "ships-a.go-Moor",
    });
    folder
        .import("mrg-bench", &[record.clone(), go], &none)
        .expect("the records are sound");
    insta::assert_snapshot!(folder.holes(), @r#"
    boats/boats_src_boats_py_moor/src/boats.py:3:body [boats-src/boats.py-moor] "rope = sea.rope(boat)\n    return rope.tie()" ["tests/test_a.py::test_x", "tests/test_a.py::test_y"]
    ships/ships_a_go_moor/a.go:2:body [ships-a.go-Moor] "return nil\n}" []
    "#);

    let folder = ImportFolder::new();
    folder.write("repos/boats/src/boats.py", BOATS);
    let options = ImportOptions {
        repositories: Some(folder.path("repos")),
        ..ImportOptions::default()
    };
    let complaint =
        |field, value| folder.complaint("mrg-bench", with(&record, field, Some(value)), &options);
    insta::assert_snapshot!(complaint("func_start", json!(4)), @"FOLDER/records.jsonl, line 1: `func` is not in the lines 4 to 6 (from 0) of the repository's src/boats.py: it is another version of it");
    insta::assert_snapshot!(complaint("signature", json!("def sink():")), @"FOLDER/records.jsonl, line 1: `signature` is not how `func` begins");
    insta::assert_snapshot!(complaint("func", json!("def moor(boat):")), @"FOLDER/records.jsonl, line 1: `func` has no body after its `signature`");
    folder
        .import("mrg-bench", &[record], &options)
        .expect("the function is in the repository");
    insta::assert_snapshot!(folder.holes(), @r#"boats/src/boats.py:6:body [boats-src/boats.py-moor] "rope = sea.rope(boat)\n    return rope.tie()" ["tests/test_a.py::test_x", "tests/test_a.py::test_y"]"#);
}

proptest::proptest! {
    /// Whatever the record's texts are, a hole in a file made of them gives them back.
    #[test]
    fn a_made_hole_is_what_the_record_says(before in ".{0,40}", reference in ".{0,20}", after in ".{0,40}") {
        let folder = ImportFolder::new();
        let mut record = crosscodeeval("src/boats.py");
        record["prompt"] = json!(before);
        record["groundtruth"] = json!(reference);
        record["right_context"] = json!(after);
        folder.import("crosscodeeval", &[record], &ImportOptions::default()).expect("it is sound");
        let hole = fillrate_language::task::read(&folder.path("tasks.jsonl")).expect("it was written").remove(0);
        let path = folder.path("tasks.corpus").join(&hole.project).join(&hole.path);
        let contents = fs::read_to_string(path).expect("it was made");
        proptest::prop_assert_eq!(hole.cut(&contents).expect("it is that file"), (&*before, &*after));
        proptest::prop_assert_eq!(hole.reference, reference);
    }
}

#[test]
fn options_that_a_format_does_not_read_are_refused() {
    let folder = ImportFolder::new();
    let refused = |format: &str, options: &ImportOptions| {
        let error = folder.import(format, &[json!({})], options);
        error.expect_err("the record is empty").to_string()
    };
    let whole = ImportOptions {
        whole_functions: true,
        ..ImportOptions::default()
    };
    let outputs = ImportOptions {
        outputs: Some(folder.path("output")),
        ..ImportOptions::default()
    };
    let repositories = ImportOptions {
        repositories: Some(folder.path("repositories")),
        ..ImportOptions::default()
    };
    for (options, name) in [
        (&whole, "--whole-functions"),
        (&outputs, "--outputs"),
        (&repositories, "--repositories"),
    ] {
        let error = refused("safim", options);
        assert_eq!(
            error,
            format!("{name} is not for the format `safim`; leave it out")
        );
        assert!(!refused("repoexec", options).contains(name));
    }
    assert!(!refused("mrg-bench", &whole).contains("--whole-functions"));
    assert!(refused("mrg-bench", &outputs).contains("--outputs"));
}
