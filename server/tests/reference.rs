//! Checks the tables of the reference pages in `docs/` against the code.

use fillrate_server::cleanup;
use fillrate_server::completion::{GateFeature, GateSignals, TrialAssignment};
use fillrate_server::configuration::{BUDGET_MS, Configuration, Profile, SWITCHED_OFF, TrialUnit};
use fillrate_server::context::{EarlierAttempt, GivenContext};
use fillrate_server::model::{Protocol, TokenPrice};
use fillrate_server::prompt::{FAMILIES, RepositoryTemplate, TemplateOrder};
use fillrate_server::telemetry::{
    AcceptedCandidate, Certainty, CompletionRow, Displayed, EnteredCharacters, ExportLine,
    PartialAcceptance, RecordedCompletion, Remainder, SecondModel,
};
use serde_json::Value;

/// Returns the cells of the rows of a page's tables, without headers.
fn rows(page: &'static str) -> Vec<Vec<&'static str>> {
    let lines: Vec<&str> = page.lines().collect();
    let header = |index: usize| {
        let rule = lines.get(index + 1);
        rule.is_some_and(|line| line.starts_with("| ---"))
    };
    let row = |(index, line): (usize, &&'static str)| {
        (line.starts_with('|') && !line.starts_with("| ---") && !header(index)).then(|| {
            let cells = line.trim_matches('|').split(" | ");
            cells.map(str::trim).collect()
        })
    };
    lines.iter().enumerate().filter_map(row).collect()
}

/// Returns the first cells of a page's tables, without code marks.
fn names(page: &'static str) -> Vec<&'static str> {
    let cells = rows(page).into_iter().map(|cells| cells[0]);
    cells.map(|cell| cell.trim_matches('`')).collect()
}

/// Returns the part of a page from one heading on.
fn section(page: &'static str, heading: &str) -> &'static str {
    let from = page.find(heading).expect("the page has the heading");
    &page[from..]
}

/// The words of a list that an editor's source has between two of its own texts, in quoted parts.
fn listed<'a>(source: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    let (_, list) = source.split_once(before).expect("the source has a list");
    let (list, _) = list.split_once(after).expect("the list ends");
    let words = list.split('"').skip(1).step_by(2);
    words.flat_map(str::split_whitespace).collect()
}

#[test]
fn editors_switch_on_the_prose_that_the_server_leaves_out() {
    let vscode = include_str!("../../editors/vscode/src/settings.ts");
    let nvim = include_str!("../../editors/nvim/lua/fillrate/options.lua");
    let vscode = listed(vscode, "const PROSE = new Set(", ".split(");
    for (name, _) in SWITCHED_OFF {
        assert!(vscode.contains(name), "{name} in {vscode:?}");
    }
    for words in [vscode, listed(nvim, "M.prose = vim.split(", "\" \"\n)")] {
        let is_one =
            |(name, others): &(&str, &[&str]), word: &str| *name == word || others.contains(&word);
        for group in SWITCHED_OFF {
            assert!(
                words.iter().any(|word| is_one(group, word)),
                "{group:?} in {words:?}"
            );
        }
        for word in words {
            assert!(
                SWITCHED_OFF.iter().any(|group| is_one(group, word)),
                "{word}"
            );
        }
    }
}

#[test]
fn every_protocol_has_its_row() {
    let page = include_str!("../docs/protocols.md");
    let page = &page[..page.len() - section(page, "\n## Conformance\n").len()];
    assert_eq!(names(page), Protocol::ALL.map(Protocol::name));
}

#[test]
fn every_profile_has_its_row() {
    let page = include_str!("../docs/context.md");
    let profiles: Vec<_> = Profile::ALL.iter().map(|profile| profile.name()).collect();
    assert_eq!(names(page), profiles);
}

#[test]
fn every_unit_of_a_trial_has_its_row() {
    let page = include_str!("../docs/trials.md");
    let units: Vec<_> = TrialUnit::ALL.iter().map(|unit| unit.name()).collect();
    assert_eq!(names(page), units);
}

#[test]
fn every_evaluation_member_has_its_row() {
    let given = GivenContext {
        reference: Some(String::new()),
        windows: Some(Vec::new()),
        earlier: Some(EarlierAttempt {
            completion: String::new(),
            feedback: String::new(),
        }),
        hole: Some(String::new()),
    };
    let given = serde_json::to_value(given).expect("it is JSON");
    let members = given.as_object().expect("members").keys();
    let members: Vec<_> = members.map(|name| format!("fillrate.{name}")).collect();
    let page = section(
        include_str!("../docs/requests.md"),
        "\n## Evaluation members\n",
    );
    assert_eq!(names(page), members);
}

#[test]
fn every_rule_has_its_row() {
    let rules: Vec<_> = cleanup::rules().collect();
    let page = include_str!("../docs/cleanup.md");
    let tokens = section(page, "\n## Foreign tokens\n");
    let page = &page[..page.len() - tokens.len()];
    assert_eq!(names(page), rules);
}

#[test]
fn every_foreign_token_has_its_row() {
    let expected: Vec<_> = cleanup::FOREIGN_TOKENS
        .iter()
        .map(|token| match token.text {
            "\u{fffd}" => ("U+FFFD", token.reason),
            text => (text, token.reason),
        })
        .collect();
    let page = include_str!("../docs/cleanup.md");
    let tokens = section(page, "\n## Foreign tokens\n");
    let end = tokens[1..].find("\n## ").map_or(tokens.len(), |at| at + 1);
    let found: Vec<_> = rows(&tokens[..end])
        .into_iter()
        .map(|cells| (cells[0].trim_matches('`'), cells[2]))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn every_family_has_its_row() {
    let code = |words: &[&str]| {
        let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
        // A bar inside a table's cell is escaped, even in code.
        words.join(", ").replace('|', "\\|")
    };
    let expected: Vec<Vec<String>> = FAMILIES
        .iter()
        .map(|family| {
            let order = match family.order {
                TemplateOrder::PrefixFirst => "prefix, suffix",
                TemplateOrder::SuffixFirst => "suffix, prefix",
                TemplateOrder::PrefixOnly => "prefix",
            };
            let others = match family.repository {
                RepositoryTemplate::Tokens {
                    name: Some(name),
                    file,
                    ..
                } => code(&[name, file]),
                RepositoryTemplate::Tokens { file, .. } => code(&[file]),
                RepositoryTemplate::Headings(mark) => code(&[&format!("{mark}path")]),
                RepositoryTemplate::Comments => "comments".to_owned(),
            };
            vec![
                code(&[family.name]),
                code(family.names),
                order.to_owned(),
                others,
            ]
        })
        .collect();
    assert_eq!(rows(include_str!("../docs/families.md")), expected);
}

/// Adds each setting under a path, as its row shows it, with its default.
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
                // An empty table, whose keys are the person's own.
                Value::String(text) if text == "{}" => "`{}`".to_owned(),
                other => format!("`{other}`"),
            };
            rows.push((format!("`{}`", path.trim_start_matches('.')), default));
        }
    }
}

#[test]
fn every_feature_of_a_gate_has_its_row() {
    let features: Vec<Value> = GateFeature::ALL
        .iter()
        .map(|feature| serde_json::to_value(feature).expect("a name"))
        .collect();
    assert_eq!(names(include_str!("../docs/gate.md")), features);
}

#[test]
fn every_setting_has_its_row() {
    let mut configuration = Configuration::default();
    // These are serialised only if they differ from their defaults.
    configuration.context.budget_ms = Some(BUDGET_MS);
    configuration.context.keep_index = false;
    configuration.typing.after_deletion = true;
    configuration.telemetry.otlp_url = Some(String::new());
    configuration.model.load_timeout_ms = 1;
    configuration.model.headers = [(String::new(), String::new())].into();
    configuration.model.omit = vec![String::new()];
    configuration.model.price = Some(TokenPrice {
        input: 0.0,
        output: 0.0,
    });
    let _ = configuration
        .model
        .parameters
        .insert(String::new(), Value::Null);
    // The table has a key for each configured language.
    configuration.languages.insert("*".to_owned(), true);
    let mut settings = serde_json::to_value(configuration).expect("settings are JSON");
    settings["context"]["keep_index"] = true.into();
    settings["typing"]["after_deletion"] = false.into();
    settings["telemetry"]["otlp_url"] = Value::Null;
    settings["model"]["load_timeout_ms"] = 300_000.into();
    settings["model"]["headers"] = "{}".into();
    settings["model"]["omit"] = Value::Array(Vec::new());
    settings["model"]["price"] = serde_json::json!({ "input": null, "output": null });
    settings["model"]["parameters"] = "{}".into();
    let mut expected = Vec::new();
    flattened("", &settings, &mut expected);
    let rows: Vec<_> = rows(include_str!("../docs/settings.md"))
        .iter()
        .map(|cells| (cells[0].to_owned(), cells[1].to_owned()))
        .collect();
    assert_eq!(rows, expected);
}

/// Collects the names of a JSON object's members, those of inner objects after a dot.
fn members(path: &str, value: &Value, names: &mut Vec<String>) {
    let Value::Object(object) = value else { return };
    for (key, value) in object {
        let name = format!("{path}{key}");
        // The members of the table by horizon are documented once, below it.
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
            trial: Some(TrialAssignment {
                models: Vec::new(),
                unit: TrialUnit::default(),
                seed: 0,
                blind: false,
                asked: Vec::new(),
                whose: Vec::new(),
            }),
            second: Some(SecondModel::default()),
            signals: Some(GateSignals {
                interval_ms: Some(0.0),
                mean_log_probability: Some(0.0),
                ..GateSignals::default()
            }),
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
    let rows = rows(include_str!("../docs/telemetry.md"));
    let named: Vec<&str> = rows.iter().map(|cells| cells[0]).collect();
    assert_eq!(named, expected);
}
