//! Checks the tables of the reference pages in `docs/` against the code.

use std::fs;
use std::path::Path;

use fillrate_engine::developer::policy::{Feature, Policy};
use fillrate_engine::developer::typist::Typist;
use fillrate_language::mutate::MutationOperator;
use fillrate_language::scoring::ScoringLanguage;
use fillrate_metrics::{METRICS, READ_MS, TEXT_METRICS, Unit, hole_metrics, reported_text_metrics};
use fillrate_mine::contexts::{FILE_TOKENS, FOLDER_TOKENS, MrgContext, PaperContext};
use fillrate_mine::import::FORMATS;
use fillrate_report::export::{self, ExportColumn, SCHEMA, TYPING_COLUMNS};
use fillrate_report::policies::POLICY_METRICS;
use fillrate_study::telemetry::statistics::VARIANTS;
use fillrate_verdict::Evidence;
use fillrate_verdict::feedback::{MOST_CHARACTERS, MOST_TESTS};
use strum::VariantArray;

const ACCEPTANCE: &str = include_str!("../docs/acceptance.md");
const CONTEXTS: &str = include_str!("../docs/contexts.md");
const EXPORT: &str = include_str!("../docs/export.md");
const IMPORTERS: &str = include_str!("../docs/importers.md");
const METRICS_PAGE: &str = include_str!("../docs/metrics.md");
const MUTATION: &str = include_str!("../docs/mutation.md");
const VERDICTS: &str = include_str!("../docs/verdicts.md");

/// The rows of the tables in a page's section, without headers, each cell trimmed. The section goes
/// from a heading of any level to the next heading.
fn rows(page: &'static str, heading: &str) -> Vec<Vec<&'static str>> {
    let title = |line: &str| line.trim_start_matches('#').trim() == heading;
    let lines: Vec<&str> = page
        .lines()
        .skip_while(|line| !(line.starts_with('#') && title(line)))
        .enumerate()
        .take_while(|(index, line)| *index == 0 || !line.starts_with('#'))
        .map(|(_, line)| line)
        .collect();
    assert!(!lines.is_empty(), "the page has no heading `{heading}`");
    // A header is the line before the rule of dashes.
    let is_rule = |line: &str| line.starts_with("| ---");
    let is_header = |index: usize| lines.get(index + 1).is_some_and(|line| is_rule(line));
    let cells = |line: &'static str| line.trim_matches('|').split(" | ").map(str::trim).collect();
    let body = lines
        .iter()
        .enumerate()
        .filter(|(index, line)| line.starts_with('|') && !is_rule(line) && !is_header(*index));
    body.map(|(_, line)| cells(line)).collect()
}

/// A name without the marks of code and escapes.
fn plain(cell: &str) -> String {
    cell.trim_matches('`').replace('\\', "")
}

#[test]
fn every_figure_of_acceptance_has_its_row() {
    let rows = rows(ACCEPTANCE, "Telemetry statistics");
    let names: Vec<&str> = rows
        .iter()
        .flat_map(|cells| cells[0].split(", "))
        .map(|name| name.trim_matches('`'))
        .collect();
    // The order is compared as well, since readers look for a name in the order of the output.
    assert_eq!(names, VARIANTS);
    let read = format!("{READ_MS} ms");
    assert!(rows[1][1].contains(&read), "{rows:?}");
}

#[test]
fn every_piece_of_evidence_has_its_row() {
    let rows = rows(VERDICTS, "Evidence");
    let names: Vec<String> = rows
        .iter()
        .map(|cells| cells[0].trim_matches('`').to_owned())
        .collect();
    assert_eq!(
        names,
        Evidence::ALL
            .iter()
            .map(|evidence| evidence.name())
            .collect::<Vec<_>>()
    );
    // A record is written by serde and a page by `name`, so the two must agree.
    for &evidence in Evidence::ALL {
        let written = serde_json::to_value(evidence).expect("a name is written");
        assert_eq!(written, evidence.name());
    }
}

#[test]
fn every_text_metric_has_its_row() {
    let rows = rows(METRICS_PAGE, "Text metrics");
    let written: Vec<(&str, &str)> = rows
        .iter()
        .map(|cells| (cells[0].trim_matches('`'), cells[1]))
        .collect();
    let ours: Vec<(&str, &str)> = TEXT_METRICS
        .iter()
        .map(|metric| {
            let unit = match metric.metric.unit {
                Unit::ZeroOrOne => "0 or 1",
                Unit::Fraction => "0–1",
                Unit::Percent => "0–100",
                Unit::Saving | Unit::Milliseconds | Unit::Tokens | Unit::Number | Unit::Money => {
                    "no text metric"
                }
            };
            (metric.metric.name, unit)
        })
        .collect();
    assert_eq!(written, ours);
    for cells in rows {
        assert_eq!(cells.len(), 4, "{} has another number of cells", cells[0]);
        // What a row says of cutting holds: the names say it.
        let metric = TEXT_METRICS
            .iter()
            .find(|metric| metric.metric.name == cells[0].trim_matches('`'))
            .expect("the names were compared above");
        assert_eq!(metric.truncates(), metric.metric.name.contains("/cceval"));
    }
    let languages = ScoringLanguage::names().into_iter();
    let languages: Vec<_> = languages.map(|name| format!("`{name}`")).collect();
    assert!(METRICS_PAGE.contains(&languages.join(", ")));
}

#[test]
fn every_mutation_operator_has_its_row() {
    let rows = rows(MUTATION, "Operators");
    let names: Vec<&str> = rows.iter().map(|cells| cells[0]).collect();
    let known: Vec<&str> = MutationOperator::VARIANTS.iter().map(Into::into).collect();
    assert_eq!(names, known);
    for cells in rows {
        assert_eq!(cells.len(), 4, "{} has another number of cells", cells[0]);
    }
}

fn columns<F>(columns: &[ExportColumn<F>]) -> Vec<(&'static str, &'static str)> {
    let columns = columns.iter();
    columns
        .map(|column| (column.name, column.form.name()))
        .collect()
}

#[test]
fn every_column_of_a_table_has_its_row() {
    for (section, ours) in [
        ("Export", columns(&export::columns())),
        ("Typings", columns(TYPING_COLUMNS)),
    ] {
        let rows = rows(EXPORT, section);
        let written: Vec<(&str, &str)> = rows
            .iter()
            .map(|cells| (cells[0].trim_matches('`'), cells[1]))
            .collect();
        assert_eq!(written, ours);
    }
    assert!(rows(EXPORT, "Export")[0][2].ends_with(&format!(": {SCHEMA}")));
}

#[test]
fn every_format_of_a_benchmark_has_its_row() {
    let rows = rows(IMPORTERS, "Importers");
    let heads: Vec<&str> = rows.iter().map(|cells| cells[0]).collect();
    let formats = FORMATS
        .iter()
        .map(|format| format!("[`{}`]({})", format.name, format.link));
    assert_eq!(heads, formats.collect::<Vec<_>>());
}

#[test]
fn the_limits_of_feedback_are_documented() {
    let (_, section) = CONTEXTS
        .split_once("\n## Repair rounds\n")
        .expect("the page has it");
    let characters = format!(
        "{},{:03} characters",
        MOST_CHARACTERS / 1000,
        MOST_CHARACTERS % 1000
    );
    assert!(section.contains(&characters), "{characters}");
    assert!(section.contains(&format!("up to {MOST_TESTS} tests")));
}

#[test]
fn every_context_of_a_paper_has_its_row() {
    let rows = rows(CONTEXTS, "Contexts, views and repair rounds");
    let names: Vec<&str> = rows
        .iter()
        .map(|cells| cells[0].trim_matches('`'))
        .collect();
    let known: Vec<String> = PaperContext::all().map(|paper| paper.to_string()).collect();
    assert_eq!(names, known);
    let tokens = |context: MrgContext, tokens: usize| {
        let paper = PaperContext::MrgBench(context).to_string();
        let row = rows.iter().find(|cells| cells[0].contains(&paper));
        let written = format!("{},{:03} tokens", tokens / 1000, tokens % 1000);
        assert!(
            row.is_some_and(|cells| cells[1].contains(&written)),
            "{paper}"
        );
    };
    tokens(MrgContext::InFile, FILE_TOKENS);
    tokens(MrgContext::Folder, FOLDER_TOKENS);
}

#[test]
fn every_policy_and_feature_has_its_row() {
    let mut expected: Vec<&str> = Policy::NAMES.to_vec();
    expected.push("probabilistic=FILE");
    expected.extend(Feature::VARIANTS.iter().map(|feature| feature.name()));
    let rows = rows(ACCEPTANCE, "Policies");
    let names: Vec<String> = rows.iter().map(|cells| plain(cells[0])).collect();
    assert_eq!(names, expected);
}

#[test]
fn every_metric_of_a_policy_has_its_row() {
    let rows = rows(ACCEPTANCE, "Metrics of a policy");
    let names: Vec<String> = rows.iter().map(|cells| plain(cells[0])).collect();
    assert_eq!(names, POLICY_METRICS.map(|metric| metric.name));
    let read = format!("on display for {READ_MS} ms or longer");
    assert!(ACCEPTANCE.contains(&read));
}

#[test]
fn the_pauses_of_the_typist_are_documented() {
    let typist = Typist::default();
    let rows = rows(ACCEPTANCE, "Typing");
    let pauses = [
        ("key", typist.key),
        ("word", typist.word),
        ("line", typist.line),
    ];
    assert_eq!(rows.len(), pauses.len());
    for (cells, (name, pause)) in rows.iter().zip(pauses) {
        assert_eq!(cells[0].trim_matches('`'), name);
        let numbers = format!("{} ms, {}:", pause.mean_ms, pause.sigma);
        assert!(cells[2].starts_with(&numbers), "{numbers}");
    }
}

/// The text of a source file without its comments and its tests.
fn code(text: &str) -> String {
    let code = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    let lines = code.lines();
    let lines = lines.filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn metric_names_are_written_in_their_table_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut outside = Vec::new();
    for entry in ignore::Walk::new(root).map(Result::unwrap) {
        let path = entry.path().strip_prefix(root).unwrap();
        let is_test = path.ends_with("tests.rs") || path.iter().any(|part| part == "tests");
        let is_table = path == Path::new("metrics/src/metric.rs");
        if path.extension().is_none_or(|extension| extension != "rs") || is_test || is_table {
            continue;
        }
        let code = code(&fs::read_to_string(entry.path()).unwrap());
        // A name without a variant, such as `late`, is a word of its own elsewhere.
        let names = METRICS.iter().map(|metric| metric.name);
        for name in names.filter(|name| name.contains(['/', '@', '('])) {
            if code.contains(&format!("\"{name}\"")) {
                outside.push(format!("{} writes {name}", path.display()));
            }
        }
    }
    assert_eq!(outside, Vec::<String>::new());
}

#[test]
fn every_reported_text_metric_reaches_export() {
    let columns: Vec<&str> = export::columns().iter().map(|column| column.name).collect();
    let reported: Vec<&str> = reported_text_metrics()
        .map(|text| text.metric.name)
        .collect();
    assert!(!reported.is_empty());
    for name in &reported {
        assert!(columns.contains(name), "{name}");
    }
    // A terminal's table shows only what pages show as well.
    for metric in hole_metrics().skip(1) {
        assert!(reported.contains(&metric.name), "{}", metric.name);
    }
}
