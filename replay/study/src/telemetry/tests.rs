//! Numbers in these tests come from scipy 1.17.1, statsmodels 0.15.0 and numpy 2.4.6, called as
//! the comment before each test says.
use std::collections::BTreeSet;

use fillrate_metrics::Estimate;
use fillrate_report::table::TextWidth;
use fillrate_server::completion::{CompletionOrigin, TrialAssignment};
use fillrate_server::configuration::TrialUnit;
use fillrate_server::telemetry::{
    AcceptedCandidate, Certainty, CompletionRow, Displayed, EnteredCharacters, PartialAcceptance,
    RecordedCompletion, Remainder, RequestOutcome, SecondModel, StoreContents, TextSize, Timings,
};
use proptest::prelude::*;

use super::PageUse;
use super::online::online_side;
use super::shown_observations;
use super::statistics::{
    Counted, Dimension, StatisticsOptions, StatisticsRow, TelemetryStatistics, VARIANTS,
};
use super::trial::TrialStatistics;

/// The time of the statistics: a day after 1970 begins.
const NOW: i64 = 86_400_000;

/// A completion of 10 characters that was shown for a second, confirmed, in the session and file
/// of these names.
fn shown(session: &str, file: &str) -> RecordedCompletion {
    RecordedCompletion {
        answered: CompletionRow {
            session: session.to_owned(),
            file: file.to_owned(),
            model: "m".to_owned(),
            named: "default".to_owned(),
            language: Some("python".to_owned()),
            outcome: RequestOutcome::Offered,
            candidates: vec![TextSize {
                characters: 10,
                lines: 1,
            }],
            timings: Timings {
                latency_ms: 50.0,
                ..Timings::default()
            },
            ..CompletionRow::default()
        },
        shown: Some(Displayed {
            certainty: Certainty::Confirmed,
            ms: Some(1000.0),
        }),
        ..RecordedCompletion::default()
    }
}

fn accepted(mut recorded: RecordedCompletion, candidate: usize) -> RecordedCompletion {
    recorded.accepted = Some(AcceptedCandidate {
        at_ms: 0,
        candidate,
        characters: 10,
        text: None,
    });
    recorded
}

fn left(distance: f64, word_distance: f64) -> Option<Remainder> {
    Some(Remainder {
        distance,
        removed: distance == 1.0,
        word_distance,
    })
}

/// An outcome for each letter of a file: `+` accepted, `-` not.
fn outcomes_of(session: &str, files: &[(&str, &str)]) -> Vec<RecordedCompletion> {
    let mut recorded = Vec::new();
    for (file, outcomes) in files {
        for outcome in outcomes.chars() {
            let one = shown(session, file);
            recorded.push(if outcome == '+' {
                accepted(one, 0)
            } else {
                one
            });
        }
    }
    recorded
}

fn by_model(completions: Vec<RecordedCompletion>) -> TelemetryStatistics {
    statistics(completions, Vec::new())
}

fn statistics(
    completions: Vec<RecordedCompletion>,
    entered: Vec<EnteredCharacters>,
) -> TelemetryStatistics {
    let contents = StoreContents {
        completions,
        entered,
    };
    let choice = StatisticsOptions {
        groupings: vec![vec![Dimension::Model]],
        ..StatisticsOptions::default()
    };
    TelemetryStatistics::new(&contents, &choice, NOW)
}

fn close(ours: Option<f64>, theirs: f64) {
    let ours = ours.unwrap();
    assert!((ours - theirs).abs() < 1e-9, "{ours} is not {theirs}");
}

fn figure(row: &StatisticsRow, name: &str) -> Estimate {
    row.figures[name]
}

// y = [1,0,1, 0,0, 1,1,1,0, 0,1], g = [a,a,a, b,b, c,c,c,c, d,d]
// OLS(y, ones).fit(cov_type="cluster", cov_kwds={"groups": g}, use_t=True).conf_int()
#[test]
fn rates_are_clustered_by_session_and_file() {
    let files = [("a", "+-+"), ("b", "--"), ("c", "+++-"), ("d", "-+")];
    let acceptance = by_model(outcomes_of("s", &files));
    let rate = figure(&acceptance.rows[0], "acceptance/shown");
    close(Some(rate.value), 6.0 / 11.0);
    // Wilson's interval of the effective sample size, p (1 − p) / the clustered variance.
    close(rate.low, 0.17823066210694902);
    close(rate.high, 0.8690999740583003);
    assert_eq!((rate.n, acceptance.rows[0].offered), (11, 11));
    assert_eq!(acceptance.rows[0].shown["confirmed"], 11);
    // The same file in another session is another cluster.
    let mut twice = outcomes_of("s", &[("a", "+-")]);
    assert_eq!(
        figure(&by_model(twice.clone()).rows[0], "acceptance/shown").low,
        None
    );
    twice.extend(outcomes_of("t", &[("a", "+-")]));
    assert!(
        figure(&by_model(twice).rows[0], "acceptance/shown")
            .low
            .is_some()
    );
}

// w = [10,40,10,20], y = [1,0,1,0], g = [a,a,b,c]
// WLS(y, ones, weights=w).fit(cov_type="cluster", cov_kwds={"groups": g}, use_t=True)
#[test]
fn read_counts_shown_long_enough_or_accepted() {
    let with = |file: &str, characters: usize, ms: Option<f64>| {
        let mut one = shown("s", file);
        one.answered.candidates[0].characters = characters;
        one.shown = Some(Displayed {
            certainty: Certainty::Estimated,
            ms,
        });
        one
    };
    let acceptance = by_model(vec![
        accepted(with("a", 10, Some(100.0)), 0),
        with("a", 40, Some(750.0)),
        with("a", 500, Some(749.0)),
        with("b", 500, None),
        accepted(with("b", 10, None), 0),
        with("c", 20, Some(2000.0)),
    ]);
    let row = &acceptance.rows[0];
    assert_eq!(row.shown["estimated"], 6);
    let read = figure(row, "acceptance/read");
    assert_eq!((read.value, read.n), (0.5, 4));
    let shown = figure(row, "acceptance/shown");
    assert_eq!((shown.value, shown.n), (2.0 / 6.0, 6));
    let chars = figure(row, "acceptance/chars");
    close(Some(chars.value), 0.25);
    close(chars.high, 0.8775249638995604);
    close(chars.low, 0.015270821240206706);
}

#[test]
fn retention_counts_accepted_and_observed() {
    let kept = |lefts: &[(u64, Option<Remainder>)]| {
        let mut one = accepted(shown("s", "f"), 0);
        one.retention = lefts.iter().copied().collect();
        one
    };
    let mut refused = shown("s", "g");
    refused.retention = [(30, left(0.0, 0.0))].into();
    let acceptance = by_model(vec![
        kept(&[(30, left(0.33, 0.5)), (120, left(0.34, 0.51))]),
        kept(&[(30, left(0.0, 0.0)), (120, None)]),
        kept(&[(30, left(1.0, 0.2))]),
        refused,
    ]);
    let row = &acceptance.rows[0];
    let value_and_n = |name: &str| (figure(row, name).value, figure(row, name).n);
    assert_eq!(value_and_n("retained@30"), (2.0 / 3.0, 3));
    // Moved elsewhere it is not retained, and still in the code.
    assert_eq!(value_and_n("still-in-code@30"), (1.0, 3));
    assert_eq!(value_and_n("retained@120"), (0.0, 1));
    assert_eq!(value_and_n("still-in-code@120"), (0.0, 1));
    assert!(!row.figures.contains_key("retained@300"));
}

#[test]
fn completed_code_divides_by_all_characters_that_entered_the_file() {
    let entered = |file: &str, characters: usize| EnteredCharacters {
        session: "s".to_owned(),
        file: file.to_owned(),
        characters,
        model: Some("m".to_owned()),
        named: "default".to_owned(),
        ..EnteredCharacters::default()
    };
    let mut partly = shown("s", "g");
    partly.partly = Some(PartialAcceptance {
        steps: 2,
        characters: 5,
    });
    let completions = vec![accepted(shown("s", "f"), 0), shown("s", "f"), partly];
    let files = vec![entered("f", 30), entered("f", 10), entered("g", 10)];
    let acceptance = statistics(completions, files);
    let row = &acceptance.rows[0];
    // A quarter of f's 40 characters and half of g's 10.
    let completed = figure(row, "completed-code");
    close(Some(completed.value), 15.0 / 50.0);
    assert_eq!(completed.n, 2);
    // An editor that lost count of what entered g: 5 of 3 characters are not 167 %. By hand,
    // (10 + 5) / (40 + 5).
    let mut partly = shown("s", "g");
    partly.partly = Some(PartialAcceptance {
        steps: 2,
        characters: 5,
    });
    let completions = vec![accepted(shown("s", "f"), 0), partly];
    let files = vec![entered("f", 40), entered("g", 3)];
    let beyond = statistics(completions, files);
    close(
        Some(figure(&beyond.rows[0], "completed-code").value),
        15.0 / 45.0,
    );
    // A completion that is accepted in parts counts as shown, not as accepted.
    assert_eq!(figure(row, "acceptance/shown").value, 1.0 / 3.0);
}

#[test]
fn typing_through_continues_the_same_impression() {
    let rest = |characters: usize, ms: f64| {
        let mut one = shown("s", "f");
        one.answered.source = CompletionOrigin::TypedThrough;
        one.answered.candidates[0].characters = characters;
        one.shown = Some(Displayed {
            certainty: Certainty::Estimated,
            ms: Some(ms),
        });
        one
    };
    let mut first = shown("s", "f");
    first.shown = Some(Displayed {
        certainty: Certainty::Confirmed,
        ms: Some(400.0),
    });
    let acceptance = by_model(vec![first.clone(), rest(9, 300.0), rest(8, 100.0)]);
    let row = &acceptance.rows[0];
    assert_eq!((row.offered, row.shown["confirmed"]), (1, 1));
    assert_eq!(figure(row, "acceptance/read").n, 1);
    assert_eq!(figure(row, "acceptance/chars").n, 1);

    let taken = by_model(vec![first.clone(), accepted(rest(9, 300.0), 0)]);
    assert_eq!((taken.rows[0].offered, taken.rows[0].accepted), (1, 1));
    // Another one, in another file or after an accept.
    let mut elsewhere = rest(9, 300.0);
    elsewhere.answered.file = "g".to_owned();
    assert_eq!(by_model(vec![first.clone(), elsewhere]).rows[0].offered, 2);
    let after = vec![accepted(first, 0), rest(9, 300.0)];
    assert_eq!(by_model(after).rows[0].offered, 2);
}

#[test]
fn only_offered_completions_within_the_options_count() {
    let mut nothing = shown("s", "f");
    nothing.answered.outcome = RequestOutcome::Nothing;
    let mut simulated = accepted(shown("s", "f"), 0);
    simulated.answered.simulated = true;
    let mut old = shown("s", "f");
    old.answered.at_ms = -1;
    let mut unsure = accepted(shown("s", "f"), 0);
    unsure.shown = None;
    let contents = StoreContents {
        completions: vec![nothing, simulated, old, shown("s", "f"), unsure],
        entered: Vec::new(),
    };
    let of = |counted: Counted| {
        let options = StatisticsOptions {
            groupings: vec![vec![Dimension::Model]],
            counted,
            ..StatisticsOptions::default()
        };
        TelemetryStatistics::new(&contents, &options, NOW)
    };
    let offered = |counted: Counted| {
        let of = of(counted);
        let row = &of.rows[0];
        let shown: usize = row.shown.values().sum();
        (row.offered, shown, row.accepted)
    };
    assert_eq!(offered(Counted::default()), (3, 3, 1));
    let recent = Counted {
        days: Some(1),
        ..Counted::default()
    };
    assert_eq!(offered(recent), (2, 2, 1));
    let simulated = Counted {
        simulated: true,
        ..Counted::default()
    };
    assert_eq!(offered(simulated), (1, 1, 1));
    let confirmed = Counted {
        confirmed: true,
        ..Counted::default()
    };
    assert_eq!(offered(confirmed), (3, 2, 0));
    // What is left out is said wherever the figures are.
    let both = of(Counted {
        days: Some(7),
        confirmed: true,
        ..Counted::default()
    });
    let said = "Only completions of the last 7 days count, and only what an editor confirms to have \
                displayed counts as shown.";
    let table = both.table(TextWidth::UNLIMITED);
    let words: Vec<&str> = table.split_whitespace().collect();
    assert!(words.join(" ").contains(said), "{table}");
    assert!(both.page(PageUse::File).contains(said));
    assert!(
        !of(Counted::default())
            .page(PageUse::File)
            .contains("Only completions")
    );
}

#[test]
fn accepts_of_editors_that_report_no_display_support_no_rate() {
    let mut one = accepted(shown("generic", "f"), 0);
    one.shown = None;
    one.retention = [(30, left(0.0, 0.0))].into();
    let mut other = shown("generic", "f");
    other.shown = None;
    let generic = [one, other];
    let acceptance = by_model(generic.to_vec());
    let row = &acceptance.rows[0];
    assert_eq!(
        (row.offered, row.accepted, row.accepted_unreported),
        (2, 0, 1)
    );
    assert!(!row.figures.contains_key("acceptance/shown"));
    assert_eq!(figure(row, "retained@30").value, 1.0);
    let table = acceptance.table(TextWidth::UNLIMITED);
    assert!(
        table.contains("1 more were accepted in editors that do not report"),
        "{table}"
    );
    // Next to one with events, it changes nothing of its rate.
    let mut both = outcomes_of("s", &[("f", "+-")]);
    both.extend(generic);
    let acceptance = by_model(both);
    assert_eq!(figure(&acceptance.rows[0], "acceptance/shown").n, 2);
}

// Helix runs no command: the server infers accepts from edits and marks them as shown, estimated,
// and nothing says which others were shown. Three of them are no rate of 100 %.
#[test]
fn accepts_inferred_from_edits_support_no_rate() {
    let in_helix = |is_accepted: bool| {
        let mut one = shown("helix", "f");
        one.shown = None;
        if is_accepted {
            one = accepted(one, 0);
            one.shown = Some(Displayed {
                certainty: Certainty::Estimated,
                ms: None,
            });
        }
        one
    };
    let recorded: Vec<_> = (0..10).map(|index| in_helix(index < 3)).collect();
    assert_eq!(shown_observations(&recorded), []);
    let acceptance = by_model(recorded);
    let row = &acceptance.rows[0];
    assert_eq!(
        (row.offered, row.accepted, row.accepted_unreported),
        (10, 0, 3)
    );
    assert_eq!((row.shown["confirmed"], row.shown["estimated"]), (0, 0));
    assert!(!row.figures.contains_key("acceptance/shown"), "{row:?}");
}

#[test]
fn confirmed_displays_leave_no_accept_to_silent_editors() {
    let mut estimated = accepted(shown("s", "f"), 0);
    estimated.shown = Some(Displayed {
        certainty: Certainty::Estimated,
        ms: Some(900.0),
    });
    let contents = StoreContents {
        completions: vec![estimated, shown("s", "g")],
        entered: Vec::new(),
    };
    let options = StatisticsOptions {
        groupings: vec![vec![Dimension::Model]],
        counted: Counted {
            confirmed: true,
            ..Counted::default()
        },
        ..StatisticsOptions::default()
    };
    let row = &TelemetryStatistics::new(&contents, &options, NOW).rows[0];
    // The editor reports what it shows, so it is no editor that does not.
    assert_eq!((row.accepted, row.accepted_unreported), (0, 0));
    assert_eq!(figure(row, "acceptance/shown").n, 1);
}

// Of 10 characters, a word of 4 is accepted first, then the whole candidate. 20 more are typed. By
// hand, 10 of 30.
#[test]
fn parts_of_an_accepted_candidate_count_once() {
    let mut one = accepted(shown("s", "f"), 0);
    one.partly = Some(PartialAcceptance {
        steps: 1,
        characters: 4,
    });
    let entered = EnteredCharacters {
        session: "s".to_owned(),
        file: "f".to_owned(),
        characters: 30,
        model: Some("m".to_owned()),
        named: "default".to_owned(),
        ..EnteredCharacters::default()
    };
    let acceptance = statistics(vec![one], vec![entered]);
    let completed = figure(&acceptance.rows[0], "completed-code");
    close(Some(completed.value), 10.0 / 30.0);
}

// An editor reports an accept by two words as two parts: of 10 characters, 4 and 6.
#[test]
fn parts_that_add_up_to_a_candidate_accept_it() {
    let mut one = shown("s", "f");
    one.partly = Some(PartialAcceptance {
        steps: 2,
        characters: 10,
    });
    let row = &statistics(vec![one.clone(), shown("s", "f")], Vec::new()).rows[0];
    assert_eq!(figure(row, "acceptance/shown").value, 0.5);
    one.partly = Some(PartialAcceptance {
        steps: 1,
        characters: 4,
    });
    let row = &statistics(vec![one], Vec::new()).rows[0];
    assert_eq!(figure(row, "acceptance/shown").value, 0.0);
}

// Two configurations of one model take turns in a file, and accept 10 characters an answer. The
// characters of an answer are counted when the next one, which is the other configuration's, is
// there. By hand, 2 · 10 of 2 · 200 characters, and 2 · 10 of 2 · 20.
#[test]
fn characters_count_for_their_own_configuration_of_a_model() {
    let mut contents = StoreContents::default();
    for (number, named) in ["a", "b", "a", "b"].into_iter().enumerate() {
        let at_ms = 1000 * number as i64;
        let mut one = accepted(shown("s", "f"), 0);
        one.answered.named = named.to_owned();
        one.answered.configuration = format!("of {named}");
        one.answered.at_ms = at_ms;
        contents.completions.push(one);
        contents.entered.push(EnteredCharacters {
            at_ms: at_ms + 1500,
            session: "s".to_owned(),
            file: "f".to_owned(),
            language: Some("python".to_owned()),
            model: Some("m".to_owned()),
            named: named.to_owned(),
            characters: if named == "a" { 200 } else { 20 },
            ..EnteredCharacters::default()
        });
    }
    let completed = |contents: &StoreContents, configuration: &str| {
        let side = online_side(contents, "store").unwrap();
        let mut own = side.observations.iter().filter(|one| {
            one.metric == "completed-code" && one.configuration.as_deref() == Some(configuration)
        });
        own.next().and_then(|one| one.figure.value())
    };
    close(completed(&contents, "of a"), 20.0 / 400.0);
    close(completed(&contents, "of b"), 20.0 / 40.0);
    // Old stores name no configuration, so the last answer of the model counts.
    contents.completions.truncate(1);
    contents.entered.truncate(1);
    contents.entered[0].named.clear();
    close(completed(&contents, "of a"), 10.0 / 200.0);
}

// A person types two characters of a completion and accepts the rest: one observation, as it was
// shown first.
#[test]
fn policies_are_fitted_to_impressions() {
    let mut rest = accepted(shown("s", "f"), 0);
    rest.answered.source = CompletionOrigin::TypedThrough;
    rest.answered.candidates[0].characters = 8;
    let recorded = [shown("s", "f"), rest, shown("s", "g")];
    let observations = shown_observations(&recorded);
    let seen: Vec<(usize, bool)> = observations
        .iter()
        .map(|one| (one.characters, one.accepted))
        .collect();
    assert_eq!(seen, [(10, true), (10, false)]);
}

#[test]
fn rows_are_grouped_by_the_dimensions() {
    let with = |named: &str, language: Option<&str>, at_ms: i64| {
        let mut one = shown("s", "f");
        one.answered.named = named.to_owned();
        one.answered.language = language.map(str::to_owned);
        one.answered.at_ms = at_ms;
        one
    };
    const DAY: i64 = 86_400_000;
    let contents = StoreContents {
        completions: vec![
            with("default", Some("python"), 0),
            with("a", None, DAY - 1),
            with("a", Some("python"), DAY),
        ],
        entered: Vec::new(),
    };
    let rows = |grouping: &[Dimension]| -> Vec<String> {
        let choice = StatisticsOptions {
            groupings: vec![grouping.to_vec()],
            ..StatisticsOptions::default()
        };
        let rows = TelemetryStatistics::new(&contents, &choice, NOW)
            .rows
            .into_iter();
        rows.map(|row| {
            let by: Vec<_> = row.by.values().cloned().collect();
            format!("{} {}", by.join(" "), row.offered)
        })
        .collect()
    };
    assert_eq!(rows(&[Dimension::Model]), ["a 2", "m 1"]);
    assert_eq!(rows(&[Dimension::Language]), ["other 1", "python 2"]);
    assert_eq!(
        rows(&[Dimension::Model, Dimension::Day]),
        ["1970-01-01 a 1", "1970-01-02 a 1", "1970-01-01 m 1"]
    );
}

fn on_trial(
    mut recorded: RecordedCompletion,
    unit: TrialUnit,
    asked: &[&str],
    whose: &[usize],
) -> RecordedCompletion {
    let models = ["a", "b"].map(str::to_owned).to_vec();
    recorded.answered.named = asked[0].to_owned();
    recorded.answered.trial = Some(TrialAssignment {
        models,
        unit,
        seed: 1,
        blind: false,
        asked: asked.iter().map(|name| (*name).to_owned()).collect(),
        whose: whose.to_vec(),
    });
    if let [_, second] = asked {
        recorded.answered.timings.model_ms = 20.0;
        recorded.answered.second = Some(SecondModel {
            named: (*second).to_owned(),
            own_ms: 7.0,
            ..SecondModel::default()
        });
    }
    recorded
}

/// The outcomes of models that took turns.
fn turns(unit: TrialUnit, arms: &[(&str, &[(&str, &str)])]) -> Vec<RecordedCompletion> {
    let arms = arms.iter();
    arms.flat_map(|(name, files)| {
        let outcomes = outcomes_of("s", files).into_iter();
        outcomes.map(|one| on_trial(one, unit, &[name], &[0]))
    })
    .collect()
}

// y1 = [1,1,1,1, 0,0,0,1], g1 = aaaabbbb; y2 = [0,0,0,0, 1,0,1,1], g2 = ccccdddd
// v = 2 / (2 - 1) * 2 * (1.5 / 8) ** 2 of each group, which have no file in common
// deff = 2 * v / (var(y1) / 8 + var(y2) / 8)
// n = NormalIndPower().solve_power(proportion_effectsize(.625, .375), alpha=.05, power=.8)
// 2 * (ceil(n * max(deff, 1)) - 8)
#[test]
fn trial_states_differences_and_completions_needed() {
    let recorded = turns(
        TrialUnit::Request,
        &[
            ("a", &[("a", "++++"), ("b", "---+")]),
            ("b", &[("c", "----"), ("d", "+-++")]),
        ],
    );
    let trial = by_model(recorded).trial.unwrap();
    let shown: Vec<_> = trial
        .arms
        .iter()
        .map(|arm| (&*arm.model, arm.shown, arm.accepted))
        .collect();
    assert_eq!(shown, [("a", 8, 5), ("b", 8, 3)]);
    assert_eq!(trial.arms[0].figures["acceptance/shown"].value, 0.625);
    assert_eq!(trial.arms[1].figures["latency_ms/median"].value, 50.0);
    let [difference] = trial.differences.as_slice() else {
        panic!("{:?}", trial.differences);
    };
    assert_eq!(difference.difference.value, 0.25);
    close(difference.difference.low, -1.0);
    close(difference.difference.high, 1.0);
    assert!(!difference.clear);
    assert_eq!(difference.shown_needed, Some(576));
    assert_eq!(difference.others["acceptance/read"], difference.difference);
}

#[test]
fn a_page_says_which_model_is_accepted_more_than_all_others() {
    let page = |models: &[&str], recorded: &[RecordedCompletion]| {
        let mut recorded = recorded.to_vec();
        for trial in recorded
            .iter_mut()
            .filter_map(|one| one.answered.trial.as_mut())
        {
            trial.models = models.iter().map(|name| (*name).to_owned()).collect();
        }
        by_model(recorded).page(PageUse::File)
    };
    let (answer, unknown) = (">a is accepted most<", ">Can't tell yet<");
    let clear = turns(
        TrialUnit::Request,
        &[
            ("a", &[("a", "++++"), ("b", "+++-"), ("c", "++++")]),
            ("b", &[("a", "----"), ("b", "---+"), ("c", "----")]),
        ],
    );
    let of_two = page(&["a", "b"], &clear);
    assert!(of_two.contains(answer), "{of_two}");
    // Of the third, nothing was shown yet.
    let of_three = page(&["a", "b", "<c>"], &clear);
    assert!(!of_three.contains(answer), "{of_three}");
    assert!(of_three.contains("&lt;c&gt;") && !of_three.contains("<c>"));
    let files: &[(&str, &str)] = &[("a", "+-"), ("b", "-+")];
    let equal = turns(TrialUnit::Request, &[("a", files), ("b", files)]);
    let equal = page(&["a", "b"], &equal);
    assert!(!equal.contains("is accepted most"), "{equal}");
    assert!([of_three, equal].iter().all(|page| page.contains(unknown)));
}

#[test]
fn two_shown_completions_are_not_nearly_enough() {
    let recorded = turns(
        TrialUnit::Request,
        &[("a", &[("a", "+")]), ("b", &[("b", "-")])],
    );
    let trial = by_model(recorded).trial.unwrap();
    assert_eq!(trial.differences[0].shown_needed, Some(29 + 29));
}

#[test]
fn clear_and_zero_differences_need_no_more_completions() {
    let clear = turns(
        TrialUnit::Request,
        &[
            ("a", &[("a", "++++"), ("b", "+++-"), ("c", "++++")]),
            ("b", &[("a", "----"), ("b", "---+"), ("c", "----")]),
        ],
    );
    let acceptance = by_model(clear);
    let table = acceptance.table(TextWidth::UNLIMITED);
    assert!(table.contains("a is accepted more often than b"), "{table}");
    let difference = &acceptance.trial.unwrap().differences[0];
    assert!(difference.clear && difference.shown_needed.is_none());

    let files: &[(&str, &str)] = &[("a", "+-"), ("b", "-+")];
    let acceptance = by_model(turns(TrialUnit::Request, &[("a", files), ("b", files)]));
    let table = acceptance.table(TextWidth::UNLIMITED);
    assert!(
        table.contains("can't tell; they do not differ so far"),
        "{table}"
    );
    assert!(
        table.contains("Too few samples (fewer than 30 shown): a; b."),
        "{table}"
    );
    let difference = &acceptance.trial.unwrap().differences[0];
    assert!(!difference.clear && difference.shown_needed.is_none());
}

// Two sessions of 100 for each of two models, in plain Python: the shares .61 and .34 have the
// clustered variances 2 · 2 · .005² and 2 · 2 · .03², a design effect of 1.60. Cohen's n, 52.4, times
// that is 83.8 and less than the 200 shown. But Student's t with one degree of freedom is 12.7.
#[test]
fn few_clusters_are_not_a_lack_of_shown_completions() {
    let outcomes = |accepted: usize| "+".repeat(accepted) + &"-".repeat(100 - accepted);
    let in_session = |session: &str, model: &str, accepted: usize| {
        let recorded = outcomes_of(session, &[("f", &outcomes(accepted))]).into_iter();
        let of_trial = recorded.map(|one| on_trial(one, TrialUnit::Session, &[model], &[0]));
        of_trial.collect::<Vec<_>>()
    };
    let recorded = [
        in_session("1", "a", 60),
        in_session("2", "a", 62),
        in_session("3", "b", 28),
        in_session("4", "b", 40),
    ];
    let acceptance = by_model(recorded.concat());
    let difference = &acceptance.trial.as_ref().unwrap().differences[0];
    close(Some(difference.difference.value), 0.27);
    assert!(!difference.clear && difference.shown_needed.is_none());
    let table = acceptance.table(TextWidth::UNLIMITED);
    assert!(table.contains("too few clusters (by session)"), "{table}");
    assert!(!table.contains("do not differ"), "{table}");
    assert!(!table.contains("more shown completions"), "{table}");
    // So for pairs: 30 choices of 40, all of one session and file.
    let pairs = (0..40).map(|number| {
        let one = on_trial(shown("s", "f"), TrialUnit::Pairs, &["a", "b"], &[0, 1]);
        accepted(one, usize::from(number >= 30))
    });
    let table = by_model(pairs.collect()).table(TextWidth::UNLIMITED);
    assert!(
        table.contains("too few clusters (by session and file)"),
        "{table}"
    );
}

#[test]
fn completions_of_one_draw_are_one_cluster() {
    let files: &[(&str, &str)] = &[("a", "++"), ("b", "-+")];
    let of = |unit| {
        let acceptance = by_model(turns(unit, &[("a", files), ("b", files)]));
        acceptance.trial.unwrap()
    };
    let low = |trial: &TrialStatistics| trial.arms[0].figures["acceptance/shown"].low;
    assert!(low(&of(TrialUnit::Request)).is_some());
    // All of it is one session, on one day.
    assert_eq!(
        (
            low(&of(TrialUnit::Session)),
            of(TrialUnit::Session).clusters
        ),
        (None, "session")
    );
    assert_eq!(
        (low(&of(TrialUnit::Day)), of(TrialUnit::Day).clusters),
        (None, "day")
    );
}

// wins a 6, b 2: Bradley and Terry's strengths for two are ± ln(6 / 2) / 2, with the standard
// error √(1/6 + 1/2) / 2 of half a log odds.
#[test]
fn pairs_yield_bradley_terry_strengths() {
    let pair = |file: &str, asked: [&str; 2], chosen: Option<usize>| {
        let one = on_trial(shown("s", file), TrialUnit::Pairs, &asked, &[0, 1]);
        match chosen {
            Some(candidate) => accepted(one, candidate),
            None => one,
        }
    };
    let mut recorded = vec![
        pair("f", ["a", "b"], None),
        // Both gave the same, so that taking it says nothing.
        accepted(
            on_trial(shown("s", "f"), TrialUnit::Pairs, &["a", "b"], &[0]),
            0,
        ),
    ];
    for number in 0..8 {
        let file = ["f", "g", "h"][number % 3];
        let first = number < 6;
        // In either order.
        recorded.push(if number % 2 == 0 {
            pair(file, ["a", "b"], Some(usize::from(!first)))
        } else {
            pair(file, ["b", "a"], Some(usize::from(first)))
        });
    }
    let acceptance = by_model(recorded);
    assert!(acceptance.rows.is_empty());
    let trial = acceptance.trial.as_ref().unwrap();
    let strengths = trial.strengths.as_ref().unwrap();
    let strength = 3.0_f64.ln() / 2.0;
    close(Some(strengths["a"].value), strength);
    let half = 1.959963984540054 * (1.0 / 6.0 + 1.0 / 2.0_f64).sqrt() / 2.0;
    close(strengths["a"].low, strength - half);
    assert_eq!(strengths["b"].n, 8);
    let arm = &trial.arms[0];
    assert_eq!((arm.shown, arm.accepted), (9, 6));
    assert_eq!(arm.figures["acceptance/pairs"].value, 6.0 / 9.0);
    assert!(!arm.figures.contains_key("acceptance/shown"));
    // In half of the pairs it was second, with its own time of 7 ms.
    assert_eq!(arm.figures["latency_ms/median"].n, 9);
    let difference = &trial.differences[0];
    close(Some(difference.difference.value), 4.0 / 9.0);
    // (1.95996 + 0.84162)² / (2 asin √.75 − 2 asin √.5)² = 28.63 choices, and at least 30, of which
    // there are 8; a choice takes 9 / 8 pairs.
    assert!(!difference.clear);
    assert_eq!(difference.shown_needed, Some(25));
    let table = acceptance.table(TextWidth::UNLIMITED);
    assert!(table.contains("Strengths by choices"), "{table}");
    assert!(
        table.starts_with("Nothing was offered by one model alone"),
        "{table}"
    );
    // Who was never chosen has no strength that is finite.
    let never = by_model(vec![
        pair("f", ["a", "b"], Some(0)),
        pair("g", ["a", "b"], Some(0)),
    ]);
    assert!(
        never
            .table(TextWidth::UNLIMITED)
            .contains("Strengths need each model"),
        "{}",
        never.table(TextWidth::UNLIMITED)
    );
    let never = never.trial.unwrap();
    assert!(never.strengths.is_none());
    // Nor do two choices say how many more it takes.
    let difference = &never.differences[0];
    assert!(!difference.clear);
    assert_eq!(difference.shown_needed, Some(28));
}

// A pair of candidates of 10 characters is shown, the person types the first letter of b's, and of
// 10 such rests accepts 8, as the fifth and the tenth pair are refused. By hand, b is chosen in 8 of
// 10 pairs and a in none.
#[test]
fn rest_of_one_candidate_is_the_choice_of_its_pair() {
    let mut recorded = Vec::new();
    for number in 0..10 {
        let session = ["s", "t"][number % 2];
        let second_is_b = number % 3 > 0;
        let asked = if second_is_b { ["a", "b"] } else { ["b", "a"] };
        let mut pair = on_trial(shown(session, "f"), TrialUnit::Pairs, &asked, &[0, 1]);
        let size = pair.answered.candidates[0];
        pair.answered.candidates.push(size);
        recorded.push(pair);
        let mut rest = on_trial(shown(session, "f"), TrialUnit::Pairs, &["b"], &[0]);
        rest.answered.source = CompletionOrigin::TypedThrough;
        rest.answered.candidates[0].characters = 9;
        rest.retention = [(30, left(0.0, 0.0))].into();
        recorded.push(if number % 5 < 4 {
            accepted(rest, 0)
        } else {
            rest
        });
    }
    let entered = EnteredCharacters {
        session: "s".to_owned(),
        file: "f".to_owned(),
        characters: 10,
        model: Some("m".to_owned()),
        named: "b".to_owned(),
        ..EnteredCharacters::default()
    };
    let contents = StoreContents {
        completions: recorded.clone(),
        entered: vec![entered.clone()],
    };
    let acceptance = statistics(recorded.clone(), vec![entered]);
    // The rest of a pair is no completion of one model alone, in rows and in studies.
    assert!(acceptance.rows.is_empty(), "{:?}", acceptance.rows);
    assert!(online_side(&contents, "store").is_none());
    let trial = acceptance.trial.unwrap();
    let arm = |index: usize| {
        let arm = &trial.arms[index];
        let chosen = arm.figures["acceptance/pairs"].value;
        (&*arm.model, arm.shown, arm.accepted, chosen)
    };
    assert_eq!([arm(0), arm(1)], [("a", 10, 0, 0.0), ("b", 10, 8, 0.8)]);
    assert_eq!(trial.arms[1].figures["retained@30"].n, 8);
    close(Some(trial.differences[0].difference.value), -0.8);
    // A policy sees each pair once.
    assert_eq!(shown_observations(&recorded).len(), 10);
    // A rest on its own, whose pair is older than what is counted, counts nowhere.
    let rest = by_model(vec![recorded[1].clone()]);
    assert!(rest.rows.is_empty());
}

#[test]
fn blind_trial_hides_names_while_it_runs() {
    let blind = |one: RecordedCompletion| {
        let mut one = one;
        if let Some(trial) = &mut one.answered.trial {
            trial.blind = true;
        }
        one
    };
    let files: &[(&str, &str)] = &[("f", "+-"), ("g", "-+")];
    let mut recorded = vec![shown("s", "f")];
    let turns = turns(TrialUnit::Request, &[("a", files), ("b", files)]);
    recorded.extend(turns.into_iter().map(blind));
    let names = |acceptance: &TelemetryStatistics| -> Vec<String> {
        let rows = acceptance.rows.iter().map(|row| row.by["model"].clone());
        let arms = acceptance.trial.as_ref().unwrap().arms.iter();
        rows.chain(arms.map(|arm| arm.model.clone())).collect()
    };
    let hidden = by_model(recorded.clone());
    assert_eq!(names(&hidden), ["blind trial", "m", "A", "B"]);
    assert!(hidden.trial.as_ref().unwrap().hidden);
    recorded.push(shown("s", "f"));
    let named = by_model(recorded);
    assert_eq!(names(&named), ["a", "b", "m", "a", "b"]);
    assert!(!named.trial.as_ref().unwrap().hidden);
}

#[test]
fn empty_store_has_empty_statistics() {
    let acceptance = by_model(Vec::new());
    let json = serde_json::to_value(&acceptance).unwrap();
    let expected = serde_json::json!({
        "schema": 2,
        "counted": {"days": null, "simulated": false, "confirmed": false},
        "rows": [],
        "trial": null,
    });
    assert_eq!(json, expected);
    assert!(
        acceptance
            .table(TextWidth::UNLIMITED)
            .starts_with("Nothing was offered")
    );
}

#[test]
fn every_figure_is_a_documented_variant() {
    let mut one = accepted(shown("s", "f"), 0);
    one.retention = [(30, left(0.0, 0.0))].into();
    let entered = EnteredCharacters {
        session: "s".to_owned(),
        file: "f".to_owned(),
        characters: 10,
        model: Some("m".to_owned()),
        ..EnteredCharacters::default()
    };
    let acceptance = statistics(vec![one], vec![entered]);
    let names: BTreeSet<String> = acceptance.rows[0]
        .figures
        .keys()
        .map(|name| name.replace("@30", "@t"))
        .collect();
    assert_eq!(names, VARIANTS.map(str::to_owned).into());
}

proptest! {
    #[test]
    fn every_figure_is_within_its_interval(
        outcomes in prop::collection::vec((0usize..4, any::<bool>(), any::<bool>(), 0.0f64..2000.0), 1..60),
    ) {
        let recorded = outcomes.iter().map(|(file, first, taken, ms)| {
            let mut one = shown("s", &file.to_string());
            one.shown = Some(Displayed { certainty: Certainty::Estimated, ms: Some(*ms) });
            one = on_trial(one, TrialUnit::Request, &[if *first { "a" } else { "b" }], &[0]);
            if *taken { accepted(one, 0) } else { one }
        });
        let acceptance = by_model(recorded.collect());
        let trial = acceptance.trial.unwrap();
        let shown: usize = trial.arms.iter().map(|arm| arm.shown).sum();
        prop_assert_eq!(shown, outcomes.len());
        let of_rows = acceptance.rows.iter().flat_map(|row| row.figures.values());
        let of_arms = trial.arms.iter().flat_map(|arm| arm.figures.values());
        let differences = trial.differences.iter().map(|one| &one.difference);
        for estimate in of_rows.chain(of_arms).chain(differences) {
            prop_assert!(estimate.low.is_none_or(|low| low <= estimate.value));
            prop_assert!(estimate.high.is_none_or(|high| high >= estimate.value));
        }
    }
}
