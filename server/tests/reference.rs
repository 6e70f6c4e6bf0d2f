//! Holds the tables of the reference page against the code.

use fillrate_server::cleanup;
use fillrate_server::completion::Assigned;
use fillrate_server::configuration::{Configuration, Profile, TrialUnit};
use fillrate_server::context::{Earlier, Given};
use fillrate_server::model::Protocol;
use fillrate_server::prompt::{FAMILIES, Order, Repository};
use fillrate_server::telemetry::{
    AcceptedCandidate, Certainty, CompletionRow, Displayed, EnteredCharacters, ExportLine,
    PartialAcceptance, RecordedCompletion, Remainder, SecondModel,
};
use serde_json::Value;

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

fn first_cells(heading: &str) -> Vec<String> {
    rows(heading)
        .iter()
        .map(|cells| cells[0].trim_matches('`').to_owned())
        .collect()
}

#[test]
fn every_protocol_has_its_row() {
    assert_eq!(first_cells("Protocols"), Protocol::ALL.map(Protocol::name));
}

#[test]
fn every_profile_has_its_row() {
    assert_eq!(
        first_cells("Context profiles"),
        Profile::ALL
            .iter()
            .map(|profile| profile.name())
            .collect::<Vec<_>>()
    );
}

#[test]
fn every_unit_of_a_trial_has_its_row() {
    assert_eq!(
        first_cells("Several models"),
        TrialUnit::ALL
            .iter()
            .map(|unit| unit.name())
            .collect::<Vec<_>>()
    );
}

#[test]
fn every_member_that_a_request_may_bring_along_has_its_row() {
    let given = Given {
        reference: Some(String::new()),
        windows: Some(Vec::new()),
        earlier: Some(Earlier {
            completion: String::new(),
            feedback: String::new(),
        }),
    };
    let given = serde_json::to_value(given).expect("it is JSON");
    let members = given.as_object().expect("members").keys();
    let members: Vec<_> = members.map(|name| format!("fillrate.{name}")).collect();
    assert_eq!(first_cells("What a request may bring along"), members);
}

#[test]
fn every_rule_has_its_row() {
    let rules: Vec<_> = cleanup::rules().collect();
    assert_eq!(first_cells("Clean-up rules"), rules);
}

#[test]
fn every_family_has_its_row() {
    let code = |words: &[&str]| {
        let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
        // A bar inside a table's cell is escaped, in code too.
        words.join(", ").replace('|', "\\|")
    };
    let expected: Vec<Vec<String>> = FAMILIES
        .iter()
        .map(|family| {
            let order = match family.order {
                Order::PrefixFirst => "prefix, suffix",
                Order::SuffixFirst => "suffix, prefix",
            };
            let others = match family.repository {
                Repository::Tokens {
                    name: Some(name),
                    file,
                    ..
                } => code(&[name, file]),
                Repository::Tokens { file, .. } => code(&[file]),
                Repository::Headings(mark) => code(&[&format!("{mark}path")]),
                Repository::Comments => "comments".to_owned(),
            };
            vec![
                code(&[family.name]),
                code(family.names),
                order.to_owned(),
                others,
            ]
        })
        .collect();
    assert_eq!(rows("Families"), expected);
}

/// Adds each setting under a path, as its row has it, with its default.
fn flattened(path: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                flattened(&format!("{path}.{key}"), value, rows);
            }
        }
        other => {
            let default = match other {
                Value::Null => "none".to_owned(),
                other => format!("`{other}`"),
            };
            rows.push((format!("`{}`", path.trim_start_matches('.')), default));
        }
    }
}

#[test]
fn every_setting_has_its_row() {
    let settings = serde_json::to_value(Configuration::default()).expect("settings are JSON");
    let mut expected = Vec::new();
    flattened("", &settings, &mut expected);
    let rows: Vec<_> = rows("Settings")
        .iter()
        .map(|cells| (cells[0].to_owned(), cells[1].to_owned()))
        .collect();
    assert_eq!(rows, expected);
}

/// The names of a JSON object's members, those of objects in it after a dot.
fn members(path: &str, value: &Value, names: &mut Vec<String>) {
    let Value::Object(object) = value else { return };
    for (key, value) in object {
        let name = format!("{path}{key}");
        // What is in the table by horizons stands below it for one of them.
        if key == "retention" || !value.is_object() {
            names.push(format!("`{name}`"));
        }
        members(&format!("{name}."), value, names);
    }
}

#[test]
fn every_member_of_an_export_has_its_row() {
    let text = || Some(String::new());
    let left = Remainder {
        distance: 0.0,
        removed: false,
        word_distance: 0.0,
    };
    let recorded = RecordedCompletion {
        answered: CompletionRow {
            texts: Some(Vec::new()),
            trial: Some(Assigned {
                models: Vec::new(),
                unit: TrialUnit::default(),
                seed: 0,
                blind: false,
                asked: Vec::new(),
                whose: Vec::new(),
            }),
            second: Some(SecondModel::default()),
            ..CompletionRow::default()
        },
        shown: Some(Displayed {
            certainty: Certainty::Confirmed,
            ms: None,
        }),
        accepted: Some(AcceptedCandidate {
            at_ms: 0,
            candidate: 0,
            characters: 0,
            text: text(),
        }),
        partly: Some(PartialAcceptance::default()),
        retention: [(30, Some(left))].into(),
        ..RecordedCompletion::default()
    };
    let lines = [
        ExportLine::Completion(Box::new(recorded)),
        ExportLine::Entered(EnteredCharacters::default()),
    ];
    let mut expected = Vec::new();
    for line in lines {
        members("", &line.to_json(), &mut expected);
    }
    let rows = rows("What is noted of completions");
    // The header and rule of the second table stand between the two.
    let named = rows.iter().map(|cells| cells[0].to_owned());
    let named: Vec<String> = named.filter(|name| name.starts_with('`')).collect();
    assert_eq!(named, expected);
}
