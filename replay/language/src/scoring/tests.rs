use std::fs;
use std::io::Write;
use std::path::PathBuf;

use fillrate_metrics::{
    Sample, TextMetric, dependency_invocation_rate, identifiers_cceval, truncate_cceval,
};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn language(id: &str) -> ScoringLanguage {
    let of_server = Language::by_id(id).map(ScoringLanguage::from);
    of_server.or_else(|| ScoringLanguage::named(id)).unwrap()
}

/// Reports that a test's requirement is absent. Continuous integration fails then.
fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    // The test harness captures the output of `eprintln!`.
    writeln!(std::io::stderr(), "skipped: {reason}").unwrap();
}

/// Published results, which are in a folder next to the repository.
fn oracle(path: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/oracles")
        .join(path);
    match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) => {
            skip(&format!("{} cannot be read: {error}", path.display()));
            None
        }
    }
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

struct Example {
    id: String,
    prompt: String,
    prediction: String,
    reference: String,
    expected: Value,
}

/// The reference's definition: parse after every character.
fn naive_truncation<'c>(prompt: &str, completion: &'c str) -> &'c str {
    fn has_error_node(node: tree_sitter::Node<'_>) -> bool {
        node.kind() == "ERROR"
            || (0..node.child_count()).any(|i| has_error_node(node.child(i).unwrap()))
    }
    let python = Language::by_id("python").unwrap();
    for (at, character) in completion.char_indices() {
        let next = at + character.len_utf8();
        let tree = python.parse(&[prompt, &completion[..next]].concat());
        if has_error_node(tree.root_node()) {
            continue;
        }
        match completion[next..].chars().next() {
            Some('\n') => return completion[..next].trim_end_matches(is_python_space),
            Some(_) => {}
            None => return completion,
        }
    }
    completion
}

/// CrossCodeEval's Python examples with what its own scorer gives.
fn crosscodeeval() -> Option<Vec<Example>> {
    let examples = json_lines(&oracle("crosscodeeval/examples.jsonl")?);
    let predictions = json_lines(&oracle("crosscodeeval/predictions.jsonl")?);
    let expected = json_lines(&oracle("crosscodeeval/expected.jsonl")?);
    let of_task = |rows: &[Value], id: &Value| {
        let row = rows.iter().find(|row| row["task_id"] == *id);
        row.unwrap_or_else(|| panic!("no row of {id}")).clone()
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let examples: Vec<Example> = examples
        .iter()
        .map(|example| {
            let id = &example["metadata"]["task_id"];
            Example {
                id: text(id),
                prompt: text(&example["prompt"]),
                prediction: text(&of_task(&predictions, id)["prediction"]),
                reference: text(&example["groundtruth"]),
                expected: of_task(&expected, id),
            }
        })
        .collect();
    assert_eq!(examples.len(), 72);
    Some(examples)
}

#[test]
fn every_figure_is_that_of_the_reference_scorer() {
    let Some(examples) = crosscodeeval() else {
        return;
    };
    let fields = [
        ("em/cceval", "em"),
        ("es/cceval-difflib", "es_difflib"),
        ("es/cceval-levenshtein", "es_levenshtein"),
        ("id_em/cceval", "id_em"),
        ("id_precision/cceval", "id_precision"),
        ("id_recall/cceval", "id_recall"),
        ("id_f1/cceval", "id_f1"),
    ];
    let mut wrong = Vec::new();
    for example in &examples {
        let sample = Sample {
            syntax: &language("python"),
            prompt: &example.prompt,
            prediction: &example.prediction,
            reference: &example.reference,
        };
        let truncated = truncate_cceval(sample.prompt, sample.prediction, sample.syntax);
        if example.expected["truncated"] != truncated {
            wrong.push(format!(
                "{} truncated: {truncated:?}, not {}",
                example.id, example.expected["truncated"]
            ));
        }
        for (name, field) in fields {
            let ours = TextMetric::named(name).unwrap().score(&sample);
            let theirs = example.expected[field].as_f64().unwrap();
            // The expected figures went through decimal notation once.
            if (ours - theirs).abs() > 1e-12 {
                wrong.push(format!("{} {name}: {ours}, not {theirs}", example.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn truncation_equals_its_definition_on_real_predictions() {
    let Some(examples) = crosscodeeval() else {
        return;
    };
    for example in &examples {
        // The definition parses a few hundred times: the end of the prompt will do.
        let lines: Vec<&str> = example.prompt.split_inclusive('\n').collect();
        let prompt = lines[lines.len().saturating_sub(8)..].concat();
        assert_eq!(
            truncate_cceval(&prompt, &example.prediction, &language("python")),
            naive_truncation(&prompt, &example.prediction),
            "{}",
            example.id
        );
    }
}

#[test]
fn python_is_cut_before_the_first_newline_that_parses() {
    let cut = |prompt, completion| truncate_cceval(prompt, completion, &language("python"));
    assert_eq!(cut("x = f(", "1)  \ny = 2\n"), "1)");
    assert_eq!(cut("x = f(", "1,\n  2)\ny = 2\n"), "1,\n  2)");
    // No newline after the statement, none at all, and an unclosed bracket.
    assert_eq!(cut("x = ", "1"), "1");
    assert_eq!(cut("x = ", ""), "");
    assert_eq!(cut("x = f(", "1,\n2,\n"), "1,\n2,\n");
    // A newline at the very beginning does not end the text.
    assert_eq!(cut("x = 1", "\ny = 2\nz = 3"), "\ny = 2");
    assert_eq!(cut("s = ", "'ä'\r\nt = 1"), "'ä'");
}

#[test]
fn languages_are_found_by_name_and_by_path() {
    for name in ScoringLanguage::names() {
        assert_eq!(ScoringLanguage::named(name).unwrap().name, name);
    }
    let of_path = |path: &str| ScoringLanguage::for_path(path.as_ref()).map(|found| found.name);
    assert_eq!(of_path("a/B.java"), Some("java"));
    assert_eq!(of_path("a/B.cs"), Some("csharp"));
    assert_eq!(of_path("a/b.tsx"), Some("typescript"));
    assert_eq!(of_path("a/b.py"), Some("python"));
    assert_eq!(of_path("a/b"), None);
    assert!(ScoringLanguage::named("cobol").is_none());
}

/// Pieces that make Python which parses, does not, or does only after some lines.
fn pythonic() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "x", "f(", ")", " = ", "\n", "\n    ", "if x:", "return ", "'", "\"\"\"", "[", "]", ",",
        "#", "ä", "1", "  ", "def f():", "\r\n", "else:", "\\",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

#[test]
fn identifiers_are_words_outside_strings() {
    let python = |text| identifiers_cceval(text, &language("python"));
    assert_eq!(
        python("if self.x2 is not None: return f(\"a\\\"b\", 'c d', True, 2e5, _)"),
        ["self", "x2", "f", "True", "_"]
    );
    // A string may run over lines unless the newline is escaped, and may not end.
    assert_eq!(python("'a\nb' c"), ["c"]);
    assert_eq!(python("'a\\\nb' c"), ["a", "b", "c"]);
    assert_eq!(python("\"\"\"a\"\"\" b"), ["b"]);
    assert_eq!(python("it's"), ["it", "s"]);
    // What follows a string closes up to the text before it.
    assert_eq!(python("a'b'c"), ["ac"]);
    assert_eq!(python("naïve 名前 a名前"), ["naïve", "a名前"]);

    let typescript = |text| identifiers_cceval(text, &language("typescript"));
    assert_eq!(
        typescript("const x: string = await null ?? true;"),
        ["x", "string", "await", "null", "true"]
    );
    let java = |text| identifiers_cceval(text, &language("java"));
    assert_eq!(
        java("final var x = (String) null; assert true; record _;"),
        ["x", "String", "null", "true", "record", "_"]
    );
    let csharp = |text| identifiers_cceval(text, &language("csharp"));
    assert_eq!(
        csharp("using static A; string x = null; var y = true; get; await z;"),
        ["A", "x", "var", "y", "true", "get", "await", "z"]
    );
}

#[test]
fn brace_languages_are_cut_at_the_first_statement_end() {
    for id in ["typescript", "typescriptreact", "java", "csharp"] {
        let cut = |completion| truncate_cceval("", completion, &language(id));
        assert_eq!(cut("a(); b();"), "a();");
        assert_eq!(cut("if (x) { y }"), "if (x) {");
        assert_eq!(cut("ä }"), "ä }");
        assert_eq!(cut("a + b"), "a + b");
        assert_eq!(cut(""), "");
    }
}

fn rate(id: &str, completion: &str, dependencies: &[&str]) -> Option<f64> {
    let names: Vec<String> = dependencies.iter().map(|name| (*name).to_owned()).collect();
    let language = Language::by_id(id).expect("the language is in the table");
    dependency_invocation_rate(&syntax_identifiers(completion, language), &names)
}

#[test]
fn the_share_of_the_dependencies_that_are_named() {
    // The paper's example: both dependencies in the first, none in the second.
    let dependencies = ["is_string", "InvalidInputError"];
    let right = "if not is_string(a):\n        raise InvalidInputError(a)\n    return a[::-1]";
    assert_eq!(rate("python", right, &dependencies), Some(1.0));
    assert_eq!(rate("python", "return a[::-1]", &dependencies), Some(0.0));
    assert_eq!(rate("python", "is_string(a)", &dependencies), Some(0.5));
    assert_eq!(rate("python", "is_string(a)", &[]), None);
    assert_eq!(rate("python", "", &["f"]), Some(0.0));
    assert_eq!(rate("python", "f", &["f", "f"]), Some(1.0));
}

#[test]
fn strings_and_comments_name_nothing() {
    let names = ["f", "g", "h"];
    let third = Some(1.0 / 3.0);
    assert_eq!(rate("python", "x = \"f\"  # g\nh()", &names), third);
    assert_eq!(rate("python", "x = f\"{h} g\"", &["g", "h"]), Some(0.5));
    assert_eq!(rate("typescript", "x = `f ${h}`; // g", &names), third);
}

#[test]
fn members_types_and_parts_of_statements_count() {
    assert_eq!(rate("python", ".price(item) > 3:", &["price"]), Some(1.0));
    assert_eq!(
        rate(
            "typescript",
            "a as Item).#size + { total };",
            &["Item", "total"]
        ),
        Some(1.0)
    );
}

proptest! {
    #[test]
    fn truncation_equals_its_definition(prompt in pythonic(), completion in pythonic()) {
        prop_assert_eq!(
            truncate_cceval(&prompt, &completion, &language("python")),
            naive_truncation(&prompt, &completion)
        );
    }
}

/// RepoExec's script splits as Python does, also at a form feed and the like.
#[test]
fn heads_are_removed_by_the_lines_of_python() {
    let lines = |text: &str| python_lines(text).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines("a\r\nb\u{b}\u{2028}c\rd\n"), ["a", "b", "", "c", "d"]);
    assert_eq!(lines(""), [""; 0]);
    assert_eq!(lines("\n\n"), ["", ""]);
    let head = "def f(x):\n    'Double.'";
    let other = "def f(x):\u{c}    'Two.'\n    return 2 * x\u{1f}";
    assert_eq!(without_head(other, head), "    return 2 * x");
    assert_eq!(
        without_head(&format!("{head}\n    return 2 * x\n"), head),
        "return 2 * x"
    );
}

/// The numbers of words in the scorer's lists.
#[test]
fn scorer_lists_leave_out_literals_and_contextual_words() {
    let counts = [
        ("python", 33),
        ("typescript", 42),
        ("go", 25),
        ("java", 51),
        ("csharp", 75),
    ];
    for (name, count) in counts {
        let language = ScoringLanguage::named(name).unwrap();
        let own = match language.scorer_keywords {
            ScorerKeywords::Only(all) => all.to_vec(),
            ScorerKeywords::Except(others) => {
                let is_known = |word: &&str| language.keywords.contains(word);
                assert!(others.iter().all(is_known), "{name}");
                language.keywords.to_vec()
            }
        };
        let words = own.into_iter().filter(|word| language.is_keyword(word));
        assert_eq!(words.count(), count, "{name}");
    }
    let java = ScoringLanguage::named("java").unwrap();
    assert!(java.is_keyword("class") && !java.is_keyword("record"));
}
