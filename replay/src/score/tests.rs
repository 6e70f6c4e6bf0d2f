#![allow(clippy::unwrap_used)] // A test may panic: that is how it fails.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use fillrate_server::syntax::Language;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::*;

fn language(id: &str) -> ScoringLanguage {
    let of_server = Language::by_id(id).map(ScoringLanguage::from);
    of_server.or_else(|| ScoringLanguage::named(id)).unwrap()
}

/// Called where something a test needs is absent: only outside continuous integration may the
/// test then do nothing.
fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    // Not `eprintln!`, whose output the test harness keeps back.
    writeln!(std::io::stderr(), "skipped: {reason}").unwrap();
}

/// The published results of others, which stand beside the repository, not in it.
fn oracle(path: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/oracles")
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
            language: language("python"),
            prompt: &example.prompt,
            prediction: &example.prediction,
            reference: &example.reference,
        };
        let truncated = truncate_cceval(sample.prompt, sample.prediction, sample.language);
        if example.expected["truncated"] != truncated {
            wrong.push(format!(
                "{} truncated: {truncated:?}, not {}",
                example.id, example.expected["truncated"]
            ));
        }
        for (name, field) in fields {
            let ours = Metric::named(name).unwrap().score(&sample);
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
fn published_pass_at_k_is_reproduced() {
    let Some(text) = oracle("repoexec/pass_at_k.json") else {
        return;
    };
    let counts: Value = serde_json::from_str(&text).unwrap();
    let n = counts["n"].as_u64().unwrap();
    let correct: Vec<u64> = counts["correct_per_task"]
        .as_array()
        .unwrap()
        .iter()
        .map(|count| count.as_u64().unwrap())
        .collect();
    assert_eq!(correct.len(), 355);
    for k in [1, 5, 10] {
        let sum: f64 = correct.iter().map(|&c| pass_at_k(n, c, k).unwrap()).sum();
        let published = counts["passk"][format!("pass@{k}")].as_f64().unwrap();
        assert!((sum / 355.0 - published).abs() <= 1e-12, "pass@{k}");
    }
}

#[test]
fn pass_at_k_has_its_worked_values() {
    for (n, correct, k, expected) in [
        (10, 3, 5, 0.916667),
        (20, 1, 10, 0.5),
        (200, 7, 100, 0.992991),
        (10, 0, 10, 0.0),
        (10, 1, 10, 1.0),
        (1, 1, 1, 1.0),
    ] {
        let value = pass_at_k(n, correct, k).unwrap();
        assert!((value - expected).abs() < 5e-7, "{value} is not {expected}");
    }
}

#[test]
fn pass_at_k_of_fewer_than_k_completions_is_undefined() {
    assert_eq!(pass_at_k(5, 0, 10), None);
    assert_eq!(pass_at_k(5, 6, 1), None);
    assert_eq!(pass_at_k(5, 2, 0), None);
    assert_eq!(pass_at_k(0, 0, 1), None);
}

#[test]
fn a_pass_is_worth_its_holes_mutation_score() {
    // statsmodels: WLS([1, 0, 1], [1, 1, 1], weights=[.5, 1, .25]).fit().params
    let rate = mutation_weighted_pass_rate([(0.5, 1.0), (1.0, 0.0), (0.25, 1.0)]).unwrap();
    assert!((rate - 0.42857142857142855).abs() < 1e-12, "{rate}");
    assert_eq!(
        mutation_weighted_pass_rate([(0.0, 1.0), (1.0, 0.0)]),
        Some(0.0)
    );
    assert_eq!(mutation_weighted_pass_rate([(0.0, 1.0)]), None);
    assert_eq!(mutation_weighted_pass_rate([]), None);
}

#[test]
fn accepting_and_passing_are_told_apart() {
    let completions = [
        (true, true),
        (true, true),
        (true, true),
        (true, false),
        (false, true),
        (false, false),
        (false, false),
    ];
    let counts: AcceptedAndPassed = completions.into_iter().collect();
    assert_eq!(counts.declined_failing, 2);
    assert_eq!(counts.pass_given_accepted(), Some(0.75));
    assert_eq!(counts.accepted_given_pass(), Some(0.75));
    assert_eq!(counts.wasted_accept_rate(), Some(0.25));

    let declined: AcceptedAndPassed = [(false, false)].into_iter().collect();
    assert_eq!(declined.pass_given_accepted(), None);
    assert_eq!(declined.accepted_given_pass(), None);
    assert_eq!(declined.wasted_accept_rate(), None);
}

/// The definition of the reference, letter by letter: parse after every character.
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
            Some('\n') => return python::strip_end(&completion[..next]),
            Some(_) => {}
            None => return completion,
        }
    }
    completion
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
            truncate_cceval(&prompt, &example.prediction, language("python")),
            naive_truncation(&prompt, &example.prediction),
            "{}",
            example.id
        );
    }
}

#[test]
fn python_is_cut_before_the_first_newline_that_parses() {
    let cut = |prompt, completion| truncate_cceval(prompt, completion, language("python"));
    assert_eq!(cut("x = f(", "1)  \ny = 2\n"), "1)");
    assert_eq!(cut("x = f(", "1,\n  2)\ny = 2\n"), "1,\n  2)");
    // No newline after the statement, none at all, and an unclosed bracket.
    assert_eq!(cut("x = ", "1"), "1");
    assert_eq!(cut("x = ", ""), "");
    assert_eq!(cut("x = f(", "1,\n2,\n"), "1,\n2,\n");
    // The newline at the very beginning is no place for a cut.
    assert_eq!(cut("x = 1", "\ny = 2\nz = 3"), "\ny = 2");
    assert_eq!(cut("s = ", "'ä'\r\nt = 1"), "'ä'");
}

#[test]
fn brace_languages_are_cut_at_the_first_statement_end() {
    for id in ["typescript", "typescriptreact", "java", "csharp"] {
        let cut = |completion| truncate_cceval("", completion, language(id));
        assert_eq!(cut("a(); b();"), "a();");
        assert_eq!(cut("if (x) { y }"), "if (x) {");
        assert_eq!(cut("ä }"), "ä }");
        assert_eq!(cut("a + b"), "a + b");
        assert_eq!(cut(""), "");
    }
}

#[test]
fn a_completion_that_starts_with_a_brace_is_returned_whole() {
    for completion in ["; a();", "} else { b(); }", "{ a; }"] {
        assert_eq!(
            truncate_cceval("", completion, language("typescript")),
            completion
        );
    }
}

#[test]
fn comments_go_even_inside_strings_and_divisions() {
    assert_eq!(remove_comments_cceval("a # b\nc // d"), "a \nc ");
    assert_eq!(remove_comments_cceval("'#' // 2\n\n"), "'\n\n");
    assert_eq!(remove_comments_cceval("a / b # c\r\nd"), "a / b \nd");
}

#[test]
fn identifiers_are_words_outside_strings() {
    let python = |text| identifiers_cceval(text, language("python"));
    assert_eq!(
        python("if self.x2 is not None: return f(\"a\\\"b\", 'c d', True, 2e5, _)"),
        ["self", "x2", "f", "True", "_"]
    );
    // A string may run over lines unless the newline is escaped, and may not end.
    assert_eq!(python("'a\nb' c"), ["c"]);
    assert_eq!(python("'a\\\nb' c"), ["a", "b", "c"]);
    assert_eq!(python("\"\"\"a\"\"\" b"), ["b"]);
    assert_eq!(python("it's"), ["it", "s"]);
    // What follows a string closes up to what stood before it.
    assert_eq!(python("a'b'c"), ["ac"]);
    assert_eq!(python("naïve 名前 a名前"), ["naïve", "a名前"]);

    let typescript = |text| identifiers_cceval(text, language("typescript"));
    assert_eq!(
        typescript("const x: string = await null ?? true;"),
        ["x", "string", "await", "null", "true"]
    );
    let java = |text| identifiers_cceval(text, language("java"));
    assert_eq!(
        java("final var x = (String) null; assert true; record _;"),
        ["x", "String", "null", "true", "record", "_"]
    );
    let csharp = |text| identifiers_cceval(text, language("csharp"));
    assert_eq!(
        csharp("using static A; string x = null; var y = true; get; await z;"),
        ["A", "x", "var", "y", "true", "get", "await", "z"]
    );
}

#[test]
fn languages_are_found_by_name_and_by_path() {
    for name in ScoringLanguage::NAMES {
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

#[test]
fn sets_without_identifiers_score_0_but_match() {
    let score = |name: &str, prediction, reference| {
        let sample = Sample {
            language: language("python"),
            prompt: "",
            prediction,
            reference,
        };
        Metric::named(name).unwrap().score(&sample)
    };
    assert_eq!(score("id_em/cceval", "1", "2"), 1.0);
    for name in ["id_precision/cceval", "id_recall/cceval", "id_f1/cceval"] {
        assert_eq!(score(name, "1", "2"), 0.0);
        assert_eq!(score(name, "a", "2"), 0.0);
    }
    // Duplicates and order matter to the exact match only.
    assert_eq!(score("id_em/cceval", "a + b", "b + a"), 0.0);
    assert_eq!(score("id_f1/cceval", "a + b + a", "b + a"), 1.0);
}

#[test]
fn halves_are_rounded_to_the_even_number() {
    // One match of sixteen characters: 12.5 %, as `round(100 * SequenceMatcher(…).ratio())`.
    let ratio = edit::difflib_ratio;
    assert_eq!(ratio("abcdefgh", "hijklmno"), 0.125);
    assert_eq!(edit::fuzz_ratio("abcdefgh", "hijklmno", ratio), 12.0);
    // 37.5 %.
    assert_eq!(edit::fuzz_ratio("abcdefgh", "fghijklm", ratio), 38.0);
}

#[test]
fn an_empty_text_is_unlike_any_other_and_like_itself() {
    for name in [
        "es/cceval-difflib",
        "es/cceval-levenshtein",
        "es/repobench-difflib",
        "es/repobench-levenshtein",
    ] {
        let score = |prediction, reference| {
            Metric::named(name).unwrap().score(&Sample {
                language: language("python"),
                prompt: "",
                prediction,
                reference,
            })
        };
        assert_eq!(score("", "a"), 0.0);
        assert_eq!(score("a", ""), 0.0);
        assert_eq!(score("", ""), 100.0);
        // RepoBench's does not strip.
        let stripped = if name.starts_with("es/cceval") {
            100.0
        } else {
            80.0
        };
        assert_eq!(score("ab", " ab"), stripped);
    }
}

#[test]
fn repobench_gives_difflib_the_reference_first() {
    // SequenceMatcher(None, "tide", "diet").ratio() is .25 and the other way round .5: the
    // standard library's own example.
    let score = |name: &str, prediction, reference| {
        Metric::named(name).unwrap().score(&Sample {
            language: language("python"),
            prompt: "",
            prediction,
            reference,
        })
    };
    assert_eq!(score("es/cceval-difflib", "tide", "diet"), 25.0);
    assert_eq!(score("es/repobench-difflib", "tide", "diet"), 50.0);
}

#[test]
fn repocoder_compares_as_many_lines_as_the_reference_has() {
    let similarity = edit::repocoder_similarity;
    assert_eq!(similarity("  a\n\n b\nc", "a\nb"), 1.0);
    assert_eq!(similarity("", " \n"), 1.0);
    assert_eq!(similarity("", "a"), 0.0);
    assert_eq!(similarity("a", ""), 1.0);
    assert_eq!(similarity("ab", "abcd"), 0.5);
    assert_eq!(similarity("a\u{2028}b", "a\r\nb"), 1.0);
}

#[test]
fn oracle_prefix_takes_whole_completions_at_token_boundaries() {
    for (reference, completion, accepted) in [
        ("foo(bar)", "foo", Some(3)),
        ("foo(bar)", "foo(", Some(4)),
        ("foo(bar)", "fo", None),
        ("foo(bar)", "foo(baz", None),
        ("foo(bar)", "foo(bar)", Some(8)),
        ("foo(bar)", "foo(bar)\n\n", Some(8)),
        ("foo(bar)", "foo(bar))", None),
        ("foo(bar)", " \n", None),
        ("foo(bar)", "", None),
        ("", "foo", None),
        ("a == b", "a =", Some(3)),
        ("a == b", "a ", Some(1)),
        ("x = 3.14", "x = 3", Some(5)),
        ("x = 314", "x = 3", None),
        ("\n  a", "\n  a", Some(4)),
        ("größe = 1", "größe", Some(7)),
        ("größe = 1", "größ", None),
    ] {
        assert_eq!(
            oracle_prefix(reference, completion),
            accepted,
            "{completion:?} of {reference:?}"
        );
    }
}

#[test]
fn first_tokens_and_lines_are_those_that_are_not_blank() {
    for (text, token, line) in [
        ("foo(bar)\nbaz", Some("foo"), Some("foo(bar)")),
        ("  (x) \n", Some("("), Some("  (x)")),
        (
            "\n    größe = 1  \n  y",
            Some("größe"),
            Some("\n    größe = 1"),
        ),
        ("a\r\nb", Some("a"), Some("a")),
        (" \n\t", None, None),
        ("", None, None),
    ] {
        assert_eq!(first_token(text), token, "{text:?}");
        assert_eq!(first_line(text), line, "{text:?}");
    }
}

#[test]
fn metrics_are_found_by_their_names() {
    for metric in &METRICS {
        assert_eq!(Metric::named(metric.name).unwrap().name, metric.name);
        let same_name = METRICS.iter().filter(|other| other.name == metric.name);
        assert_eq!(same_name.count(), 1);
    }
    assert!(Metric::named("es").is_none());
}

/// Random texts in pairs: from few characters, from many, alike and not, short, and long enough
/// for autojunk.
fn random_pairs(seed: u64, count: usize) -> Vec<(String, String)> {
    const ALPHABETS: [&str; 5] = [
        "ab",
        "abcdefgh \n",
        "self.result = other_name(index, 0)\n    # // '\"\\",
        "aä€𝄞名\u{301}\u{94d}\u{bd}\u{2167}१ \"'\\\n",
        "x\u{1c}\u{1f}\u{85}\u{a0}\u{2028}\u{b}\r\n \t\u{200b}",
    ];
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count)
        .map(|_| {
            let alphabet: Vec<char> = ALPHABETS.choose(&mut random).unwrap().chars().collect();
            let longest = *[4, 30, 230, 420].choose(&mut random).unwrap();
            let mut text = || -> Vec<char> {
                let length = random.random_range(0..=longest);
                (0..length)
                    .map(|_| *alphabet.choose(&mut random).unwrap())
                    .collect()
            };
            let first = text();
            let mut second = text();
            if random.random_bool(0.5) {
                // The first with a few edits.
                second.clone_from(&first);
                for _ in 0..random.random_range(0..6) {
                    let at = random.random_range(0..=second.len());
                    let end = second.len().min(at + random.random_range(0..4));
                    second.splice(at..end, alphabet.choose(&mut random).copied());
                }
            }
            (first.iter().collect(), second.iter().collect())
        })
        .collect()
}

/// What Python itself makes of pairs of texts. `None` without a Python.
fn python_on(pairs: &[(String, String)]) -> Option<Vec<Value>> {
    const PROGRAM: &str = r##"
import difflib, json, keyword, re, struct, sys

KEYWORDS = set(keyword.kwlist) - {"True", "False"}

def distance(a, b, substitution):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y) * substitution))
    return row[-1]

def answer(a, b):
    ratio = difflib.SequenceMatcher(None, a, b).ratio()
    plain = re.sub(r'"(?:[^"\\]|\\.)*"|' r"'(?:[^'\\]|\\.)*'", "", a)
    return {
        "ratio": struct.unpack("<Q", struct.pack("<d", ratio))[0],
        "percent": round(100 * ratio),
        "levenshtein": distance(a, b, 1),
        "indel": distance(a, b, 2),
        "strip": a.strip(),
        "rstrip": a.rstrip(),
        "split": a.split(),
        "lines": [line.strip() for line in a.splitlines() if line.strip()],
        "uncommented": re.sub(r"//.*", "", re.sub(r"#.*", "", a)),
        "words": [
            word
            for word in re.findall(r"\w+", plain)
            if re.match("[_a-zA-Z]", word) and word not in KEYWORDS
        ],
    }

json.dump([answer(a, b) for a, b in json.load(sys.stdin)], sys.stdout)
"##;
    let child = Command::new("python3")
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            skip(&format!("python3 cannot be started: {error}"));
            return None;
        }
    };
    // Python reads all of its input before it writes: the two pipes cannot wait for each other.
    let question = json!(pairs).to_string();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(question.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn texts_are_compared_as_python_compares_them() {
    let pairs = random_pairs(20_260_101, 300);
    let Some(answers) = python_on(&pairs) else {
        return;
    };
    assert_eq!(answers.len(), pairs.len());
    for ((a, b), answer) in pairs.iter().zip(answers) {
        let ratio = difflib_ratio(a, b);
        let ours = json!({
            "ratio": ratio.to_bits(),
            "percent": (100.0 * ratio).round_ties_even() as u64,
            "levenshtein": levenshtein(a, b),
            "indel": indel_distance(a, b),
            "strip": python::strip(a),
            "rstrip": python::strip_end(a),
            "split": python::split(a).collect::<Vec<_>>(),
            "lines": python::stripped_lines(a).collect::<Vec<_>>(),
            "uncommented": remove_comments_cceval(a),
            "words": identifiers_cceval(a, language("python")),
        });
        assert_eq!(ours, answer, "{a:?} and {b:?}");
    }
}

/// The least cost by its definition (Wagner and Fischer 1974).
fn cost_cell_by_cell(first: &str, second: &str, substitution: usize) -> usize {
    let second: Vec<char> = second.chars().collect();
    let mut row: Vec<usize> = (0..=second.len()).collect();
    for (i, a) in first.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in second.iter().enumerate() {
            let substituted = diagonal + if a == *b { 0 } else { substitution };
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[second.len()]
}

#[test]
fn distances_of_all_lengths_are_those_by_definition() {
    // Words of 64 places begin and end here.
    let lengths = [0, 1, 2, 62, 63, 64, 65, 66, 127, 128, 129, 192, 193];
    let mut random = ChaCha8Rng::seed_from_u64(64);
    let mut text = |length: usize| -> String {
        let alphabet = ['a', 'b', 'c', 'ä', '𝄞'];
        (0..length)
            .map(|_| *alphabet.choose(&mut random).unwrap())
            .collect()
    };
    for first in lengths {
        for second in lengths {
            let (a, b) = (text(first), text(second));
            assert_eq!(levenshtein(&a, &b), cost_cell_by_cell(&a, &b, 1), "{a} {b}");
            assert_eq!(
                indel_distance(&a, &b),
                cost_cell_by_cell(&a, &b, 2),
                "{a} {b}"
            );
        }
    }
}

/// Pieces that make Python which parses, does not, or does only after some lines.
fn pythonic() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "x", "f(", ")", " = ", "\n", "\n    ", "if x:", "return ", "'", "\"\"\"", "[", "]", ",",
        "#", "ä", "1", "  ", "def f():", "\r\n", "else:", "\\",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn truncation_equals_its_definition(prompt in pythonic(), completion in pythonic()) {
        prop_assert_eq!(
            truncate_cceval(&prompt, &completion, language("python")),
            naive_truncation(&prompt, &completion)
        );
    }

    #[test]
    fn values_stay_within_their_unit(
        id in prop::sample::select(ScoringLanguage::NAMES.to_vec()),
        prompt in pythonic(),
        prediction in pythonic(),
        reference in pythonic(),
    ) {
        let sample = Sample {
            language: language(id),
            prompt: &prompt,
            prediction: &prediction,
            reference: &reference,
        };
        for (metric, value) in scores(&sample) {
            prop_assert_eq!(value, metric.score(&sample));
            prop_assert!(match metric.unit {
                Unit::ZeroOrOne => value == 0.0 || value == 1.0,
                Unit::Fraction => (0.0..=1.0).contains(&value),
                Unit::Percent => (0.0..=100.0).contains(&value) && value.fract() == 0.0,
            }, "{} gave {value}", metric.name);
        }
    }

    #[test]
    fn a_right_prediction_has_full_marks(text in "[a-z(). =]{0,40}") {
        let sample = Sample {
            language: language("python"),
            prompt: "",
            prediction: &text,
            reference: &text,
        };
        for (metric, value) in scores(&sample) {
            let without_identifiers = identifiers_cceval(&text, sample.language).is_empty();
            let full = match metric.unit {
                Unit::Percent => 100.0,
                Unit::Fraction if metric.name.starts_with("id_") && without_identifiers => 0.0,
                Unit::Fraction | Unit::ZeroOrOne => 1.0,
            };
            prop_assert_eq!(value, full, "{}", metric.name);
        }
    }

    #[test]
    fn distances_are_metrics(a in "[abä]{0,12}", b in "[abä]{0,12}", c in "[abä]{0,12}") {
        for distance in [levenshtein, indel_distance] {
            prop_assert_eq!(distance(&a, &b), distance(&b, &a));
            prop_assert_eq!(distance(&a, &b) == 0, a == b);
            prop_assert!(distance(&a, &c) <= distance(&a, &b) + distance(&b, &c));
        }
        prop_assert!(levenshtein(&a, &b) <= indel_distance(&a, &b));
        prop_assert!(indel_distance(&a, &b) <= 2 * levenshtein(&a, &b));
    }

    #[test]
    fn what_oracle_prefix_accepts_is_a_prefix(reference in "[a-c1 .\n]{0,9}", cut in 0..10_usize) {
        let completion = &reference[..cut.min(reference.len())];
        if let Some(length) = oracle_prefix(&reference, completion) {
            prop_assert_eq!(&reference[..length], completion.trim_end());
            prop_assert!(length > 0);
        } else {
            let splits = |at: usize| {
                let word = |byte: &u8| byte.is_ascii_alphanumeric();
                at > 0
                    && word(&reference.as_bytes()[at - 1])
                    && reference.as_bytes().get(at).is_some_and(word)
            };
            let length = completion.trim_end().len();
            prop_assert!(length == 0 || splits(length));
        }
    }
}
