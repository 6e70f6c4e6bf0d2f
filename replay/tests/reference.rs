//! Holds the tables of the reference page against the code.

use fillrate::developer::policy::{Feature, Policy};
use fillrate::developer::typist::Typist;
use fillrate::import::FORMATS;
use fillrate::mine::contexts::{FILE_TOKENS, FOLDER_TOKENS, Paper};
use fillrate::mutate::Operator;
use fillrate::report::acceptance::VARIANTS;
use fillrate::report::export::{COLUMNS, SCHEMA};
use fillrate::report::policies::POLICY_METRICS;
use fillrate::score::ScoringLanguage;
use fillrate::verdict::Evidence;
use fillrate::verdict::feedback::{MOST_CHARACTERS, MOST_TESTS};
use fillrate_metrics::{READ_MS, TEXT_METRICS, Unit};
use strum::VariantArray;

const PAGE: &str = include_str!("../README.md");

/// The rows of the table under a heading, header and rule left out, each cell trimmed.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, section) = PAGE
        .split_once(&format!("\n## {heading}\n"))
        .expect("the page has the heading");
    section
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect()
}

#[test]
fn every_figure_of_acceptance_has_its_row() {
    let rows = rows("What people accept");
    let names: Vec<&str> = rows
        .iter()
        .flat_map(|cells| cells[0].split(", "))
        .map(|name| name.trim_matches('`'))
        .collect();
    assert_eq!(names, VARIANTS);
    let read = format!("{READ_MS} ms");
    assert!(rows[1][1].contains(&read), "{rows:?}");
}

#[test]
fn every_piece_of_evidence_has_its_row() {
    let rows = rows("Evidence");
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
    for &evidence in Evidence::ALL {
        let written = serde_json::to_value(evidence).expect("a name is written");
        assert_eq!(written, evidence.name());
    }
}

#[test]
fn every_text_metric_has_its_row() {
    let rows = rows("Scores by text");
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
                Unit::Saving | Unit::Milliseconds => "no text metric",
            };
            (metric.metric.name, unit)
        })
        .collect();
    assert_eq!(written, ours);
    for cells in rows {
        assert_eq!(cells.len(), 4, "{} has another number of cells", cells[0]);
        // What a row says of cutting holds: the names tell it.
        let metric = TEXT_METRICS
            .iter()
            .find(|metric| metric.metric.name == cells[0].trim_matches('`'))
            .expect("the names were compared above");
        assert_eq!(metric.truncates(), metric.metric.name.contains("/cceval"));
    }
    let languages = ScoringLanguage::NAMES.map(|name| format!("`{name}`"));
    assert!(PAGE.contains(&languages.join(", ")));
}

#[test]
fn every_mutation_operator_has_its_row() {
    let rows = rows("Mutation operators");
    let names: Vec<&str> = rows.iter().map(|cells| cells[0]).collect();
    assert_eq!(names, Operator::ALL.map(Operator::name));
    for cells in rows {
        assert_eq!(cells.len(), 4, "{} has another number of cells", cells[0]);
    }
}

#[test]
fn every_column_of_a_table_has_its_row() {
    let rows = rows("Tables for other programs");
    let written: Vec<(&str, &str)> = rows
        .iter()
        .map(|cells| (cells[0].trim_matches('`'), cells[1]))
        .collect();
    let ours: Vec<(&str, &str)> = COLUMNS
        .iter()
        .map(|column| (column.name, column.form.name()))
        .collect();
    assert_eq!(written, ours);
    assert!(rows[0][2].ends_with(&format!(": {SCHEMA}")));
}

#[test]
fn every_format_of_a_benchmark_has_its_row() {
    let rows = rows("Importers");
    let heads: Vec<&str> = rows.iter().map(|cells| cells[0]).collect();
    let formats = FORMATS
        .iter()
        .map(|format| format!("[`{}`]({})", format.name, format.link));
    assert_eq!(heads, formats.collect::<Vec<_>>());
}

#[test]
fn the_bounds_of_feedback_are_told() {
    let (_, section) = PAGE.split_once("\n## Rounds\n").expect("the page has it");
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
    let rows = rows("Contexts of papers");
    let names: Vec<&str> = rows
        .iter()
        .map(|cells| cells[0].trim_matches('`'))
        .collect();
    assert_eq!(names, Paper::ALL.map(Paper::name));
    let tokens = |paper: Paper, tokens: usize| {
        let row = rows.iter().find(|cells| cells[0].contains(paper.name()));
        let written = format!("{},{:03} tokens", tokens / 1000, tokens % 1000);
        assert!(
            row.is_some_and(|cells| cells[1].contains(&written)),
            "{paper}"
        );
    };
    tokens(Paper::MrgInFile, FILE_TOKENS);
    tokens(Paper::MrgFolder, FOLDER_TOKENS);
}

/// The rows of a section's tables but for a name, which a table's header may be.
fn names(heading: &str) -> Vec<String> {
    let rows = rows(heading).into_iter().filter(|cells| cells[0] != "---");
    rows.map(|cells| cells[0].trim_matches('`').replace('\\', ""))
        .collect()
}

#[test]
fn every_policy_and_feature_has_its_row() {
    let mut expected: Vec<&str> = Policy::NAMES.to_vec();
    expected.push("probabilistic=FILE");
    expected.push("feature");
    expected.extend(Feature::VARIANTS.iter().map(|feature| feature.name()));
    assert_eq!(names("Policies"), expected);
}

#[test]
fn every_metric_of_a_policy_has_its_row() {
    assert_eq!(
        names("Acceptance"),
        POLICY_METRICS.map(|metric| metric.name)
    );
    assert!(PAGE.contains(&format!("on display for {READ_MS} ms or longer")));
}

#[test]
fn the_pauses_of_the_typist_are_told() {
    let typist = Typist::default();
    let rows = rows("Typing");
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
