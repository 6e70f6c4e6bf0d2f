use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use rand::{RngExt, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::cceval::{remove_comments_cceval, truncate_cceval};
use super::edit::{difflib_ratio, indel_distance, levenshtein};
use super::identifiers::identifiers_cceval;
use super::sample::ScoringSyntax;
use super::*;
use crate::metric::Unit;

/// Two keywords, and a parser that only balances parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestSyntax {
    Indented,
    Braces,
}

use TestSyntax::{Braces, Indented};

/// The value of every metric for one sample, in the order of [`TEXT_METRICS`].
fn text_scores(sample: &Sample<'_>) -> Vec<(&'static TextMetric, f64)> {
    let scorer = Scorer::new(*sample);
    TEXT_METRICS
        .iter()
        .map(|metric| (metric, scorer.score(metric)))
        .collect()
}

impl ScoringSyntax for TestSyntax {
    fn is_keyword(&self, word: &str) -> bool {
        ["c", "x"].contains(&word)
    }

    fn indented_blocks(&self) -> bool {
        *self == Indented
    }

    fn first_parsing_end(&self, text: &str, ends: &[usize]) -> Option<usize> {
        let count = |text: &str, wanted: char| text.matches(wanted).count();
        let balanced = |end: usize| count(&text[..end], '(') == count(&text[..end], ')');
        ends.iter().copied().find(|&end| balanced(end))
    }
}

#[test]
fn a_completion_that_starts_with_a_brace_is_returned_whole() {
    for completion in ["; a();", "} else { b(); }", "{ a; }"] {
        assert_eq!(truncate_cceval("", completion, &Braces), completion);
    }
}

#[test]
fn comments_go_even_inside_strings_and_divisions() {
    assert_eq!(remove_comments_cceval("a # b\nc // d"), "a \nc ");
    assert_eq!(remove_comments_cceval("'#' // 2\n\n"), "'\n\n");
    assert_eq!(remove_comments_cceval("a / b # c\r\nd"), "a / b \nd");
}

#[test]
fn sets_without_identifiers_score_0_but_match() {
    let score = |name: &str, prediction, reference| {
        let sample = Sample {
            syntax: &Indented,
            prompt: "",
            prediction,
            reference,
        };
        TextMetric::named(name).unwrap().score(&sample)
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
            TextMetric::named(name).unwrap().score(&Sample {
                syntax: &Indented,
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
        TextMetric::named(name).unwrap().score(&Sample {
            syntax: &Indented,
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
fn metrics_are_found_by_their_names() {
    for text in &TEXT_METRICS {
        let name = text.metric.name;
        assert_eq!(TextMetric::named(name).unwrap().metric.name, name);
    }
    assert!(TextMetric::named("es").is_none());
}

/// Reports that a test's requirement is absent. Continuous integration fails then.
fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    // The test harness captures the output of `eprintln!`.
    writeln!(std::io::stderr(), "skipped: {reason}").unwrap();
}

/// Random texts in pairs: from few characters, from many, alike and not, short, and long enough
/// for autojunk.
fn random_pairs(seed: u64, count: usize) -> Vec<(String, String)> {
    const ALPHABETS: [&str; 5] = [
        "ab",
        "abcdefgh \n",
        "self.result = other_name(index, 0)\n    # // '\"\\",
        "aä€𝄞名\u{301}\u{94d}\u{903}\u{20dd}\u{203f}\u{bd}\u{2167}१ \"'\\\n",
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

/// Returns Python's own results for pairs of texts; `None` if Python is unavailable.
fn python_on(pairs: &[(String, String)]) -> Option<Vec<Value>> {
    const PROGRAM: &str = r##"
import difflib, json, re, struct, sys

KEYWORDS = {"c", "x"}

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
            "words": identifiers_cceval(a, &Indented),
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

/// Pieces of statements, balanced or not.
fn statements() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "x", "f(", ")", " = ", "\n", "\n    ", "if x:", "return ", "'", "\"\"\"", ";", "}", ",",
        "#", "ä", "1", "  ", "\r\n", "{", "\\",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn indented_blocks_are_cut_where_the_syntax_says(
        prompt in statements(),
        completion in statements(),
    ) {
        let cut = truncate_cceval(&prompt, &completion, &Indented);
        prop_assert!(completion.starts_with(cut));
        let ends = completion.match_indices('\n').map(|(at, _)| at).filter(|&at| at > 0);
        let balanced = |&end: &usize| {
            let text = [&prompt, &completion[..end]].concat();
            text.matches('(').count() == text.matches(')').count()
        };
        match ends.into_iter().find(balanced) {
            Some(end) => prop_assert_eq!(cut, python::strip_end(&completion[..end])),
            None => prop_assert_eq!(cut, &completion),
        }
    }

    #[test]
    fn values_stay_within_their_unit(
        syntax in prop::sample::select(vec![Indented, Braces]),
        prompt in statements(),
        prediction in statements(),
        reference in statements(),
    ) {
        let sample = Sample {
            syntax: &syntax,
            prompt: &prompt,
            prediction: &prediction,
            reference: &reference,
        };
        for (metric, value) in text_scores(&sample) {
            prop_assert_eq!(value, metric.score(&sample));
            prop_assert!(match metric.metric.unit {
                Unit::ZeroOrOne => value == 0.0 || value == 1.0,
                Unit::Fraction => (0.0..=1.0).contains(&value),
                Unit::Percent => (0.0..=100.0).contains(&value) && value.fract() == 0.0,
                Unit::Saving | Unit::Milliseconds | Unit::Tokens | Unit::Number | Unit::Money => false,
            }, "{} gave {value}", metric.metric.name);
        }
    }

    #[test]
    fn a_right_prediction_has_full_marks(text in "[a-z(). =]{0,40}") {
        let sample = Sample {
            syntax: &Indented,
            prompt: "",
            prediction: &text,
            reference: &text,
        };
        for (metric, value) in text_scores(&sample) {
            let without_identifiers = identifiers_cceval(&text, sample.syntax).is_empty();
            let full = match metric.metric.unit {
                Unit::Percent => 100.0,
                Unit::Saving | Unit::Milliseconds | Unit::Tokens | Unit::Number | Unit::Money => f64::NAN,
                Unit::Fraction if metric.metric.name.starts_with("id_") && without_identifiers => 0.0,
                Unit::Fraction | Unit::ZeroOrOne => 1.0,
            };
            prop_assert_eq!(value, full, "{}", metric.metric.name);
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
}
