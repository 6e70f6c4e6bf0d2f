use fillrate_report::table::TextWidth;

use super::*;
use crate::input::{Observation, SampleDimension, SampleMix, Stratum};
use crate::{Figure, FigureUnit, Study, StudyOptions, StudySide, table};

fn side(rows: &[(&str, f64)], metric: &str) -> StudySide {
    let rows: String = rows
        .iter()
        .map(|(version, value)| format!("{version},,{metric},{value},400\n"))
        .collect();
    let text = format!("version,language,metric,value,n\n{rows}");
    StudySide {
        observations: table::parse_table(&text, "t.csv").unwrap(),
        ..StudySide::default()
    }
}

fn study(offline: &StudySide, online: &StudySide) -> Study {
    let options = StudyOptions {
        draws: 500,
        bootstrap_draws: 100,
        simulations: 50,
        ..StudyOptions::default()
    };
    Study::new(offline, online, SecondSide::Online, &options).unwrap()
}

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn versions(values: impl Fn(usize) -> f64) -> Vec<(&'static str, f64)> {
    NAMES
        .iter()
        .enumerate()
        .map(|(at, name)| (*name, values(at)))
        .collect()
}

// Two configurations of one model are predicted apart, as the list of versions left out names them.
#[test]
fn predictions_name_the_configurations_of_a_model() {
    let mut rows: String = NAMES
        .iter()
        .enumerate()
        .map(|(at, name)| format!("{name},,pass@1,0.{},400,\n", 30 + 5 * at))
        .collect();
    rows.push_str("new,,pass@1,0.42,400,aaaaaaaaa1\nnew,,pass@1,0.47,400,bbbbbbbbb2\n");
    let text = format!("version,language,metric,value,n,configuration\n{rows}");
    let offline = StudySide {
        observations: table::parse_table(&text, "t.csv").unwrap(),
        ..StudySide::default()
    };
    let online = versions(|at| 0.2 + 0.03 * at as f64);
    let study = study(&offline, &side(&online, "acceptance/shown"));
    let predictions = &study.decision.as_ref().unwrap().predictions;
    let names: Vec<&str> = predictions.iter().map(|one| one.version.as_str()).collect();
    assert_eq!(names, ["new (aaaaaaaa)", "new (bbbbbbbb)"]);
}

#[test]
fn a_close_connection_is_trusted_from_a_gap_on() {
    let mut offline = versions(|at| 0.3 + 0.05 * at as f64);
    offline.push(("next", 0.52));
    offline.push(("far", 0.9));
    let wave = [0.01, -0.01, 0.008, 0.0, -0.012, 0.01, -0.006, 0.0];
    let online = versions(|at| 0.2 + 0.03 * at as f64 + wave[at]);
    let study = study(
        &side(&offline, "pass@1"),
        &side(&online, "acceptance/shown"),
    );
    let decision = study.decision.as_ref().unwrap();
    assert_eq!(decision.trust, Trust::Trust);
    let gap = decision.smallest_gap.unwrap();
    assert!((0.01..0.06).contains(&gap), "{gap}");
    // h has the best figures on both sides.
    let selection = decision.selection.unwrap();
    assert_eq!(selection.chosen, 7);
    assert!(selection.probability > 0.6, "{selection:?}");
    assert!(selection.regret.value < 0.02, "{selection:?}");
    let [next, far] = decision.predictions.as_slice() else {
        panic!("{:?}", decision.predictions);
    };
    assert_eq!((next.version.as_str(), next.extrapolated), ("next", false));
    assert_eq!((far.version.as_str(), far.extrapolated), ("far", true));
    assert!((next.second.value - 0.332).abs() < 0.01, "{next:?}");
    let width = |one: &VersionPrediction| one.second.high.unwrap() - one.second.low.unwrap();
    assert!(width(far) > width(next));
    let text = study.text(TextWidth::UNLIMITED);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("[TRUST] pass@1 may choose"), "{first}");
    assert!(text.contains("Smallest gap worth trusting"), "{text}");
    // The page begins with the same, and all else is closed until it is opened.
    let page = study.page();
    let sentence = decision.sentence.replace(" %", "\u{a0}%");
    let answer = page.find(&sentence).unwrap();
    assert!(page.find("<p class=\"badge trust\">Trust</p>").unwrap() < answer);
    let first_section = page.find("<details>").unwrap();
    assert!(answer < first_section && page.find("<svg").unwrap() < first_section);
    assert!(!page.contains("<details open"));
    for link in [
        "evidence", "left-out", "versions", "trend", "pairs", "method",
    ] {
        assert!(page.contains(&format!("<a href=\"#{link}\">")), "{link}");
        assert!(page.contains(&format!("<div id=\"{link}\">")), "{link}");
    }
    assert!(
        text.contains("next (pass@1 52.0 %) is predicted to measure"),
        "{text}"
    );
}

#[test]
fn opposed_figures_are_not_trusted_and_few_versions_cant_tell() {
    let up = side(&versions(|at| 0.3 + 0.05 * at as f64), "pass@1");
    let down = side(&versions(|at| 0.6 - 0.04 * at as f64), "acceptance/shown");
    let opposed = study(&up, &down).decision.unwrap();
    assert_eq!((opposed.trust, opposed.smallest_gap), (Trust::Dont, None));

    let three = |side: &StudySide| StudySide {
        observations: side.observations[..3].to_vec(),
        ..StudySide::default()
    };
    let few = study(&three(&up), &three(&up)).decision.unwrap();
    assert_eq!(few.trust, Trust::CantTell);
    // Four versions that agree with p = 1/24 are a hint.
    let four = |values: [f64; 4], metric| {
        let rows: Vec<_> = NAMES.into_iter().zip(values).collect();
        side(&rows, metric)
    };
    let hint = study(
        &four([0.5, 0.491, 0.563, 0.551], "pass@1"),
        &four([0.3, 0.299, 0.314, 0.312], "acceptance/shown"),
    );
    assert_eq!(hint.pairs[0].conclusion, Conclusion::Together);
    let hint = hint.decision.unwrap();
    assert_eq!((hint.trust, hint.smallest_gap), (Trust::CantTell, None));
    assert!(
        hint.sentence.contains("a hint, not yet a reason"),
        "{hint:?}"
    );
    let two = StudySide {
        observations: up.observations[..2].to_vec(),
        ..StudySide::default()
    };
    let two = study(&two, &two).decision.unwrap();
    assert_eq!((two.trust, two.selection), (Trust::CantTell, None));
    assert!(
        two.next_step.starts_with("Measure at least 4 versions"),
        "{two:?}"
    );
}

#[test]
fn the_best_metric_is_named_with_what_choosing_it_costs() {
    let mut offline = side(
        &versions(|at| [0.5, 0.3, 0.6, 0.2, 0.4, 0.7, 0.35, 0.45][at]),
        "pass@1",
    );
    let better = side(&versions(|at| 0.3 + 0.05 * at as f64), "em/tokens");
    offline.observations.extend(better.observations);
    let online = side(&versions(|at| 0.2 + 0.03 * at as f64), "acceptance/shown");
    let decision = study(&offline, &online).decision.unwrap();
    let best = decision.best.unwrap();
    assert_eq!(
        (best.offline.as_str(), best.pairs, best.versions),
        ("em/tokens", 2, 8)
    );
    assert!(best.share > 0.99 && best.nested_share > 0.99, "{best:?}");
    assert!(best.rises, "{best:?}");
}

#[test]
fn a_metric_that_predicts_nothing_is_not_called_best() {
    let of = |share, nested_share| BestPair {
        offline: "em/tokens".to_owned(),
        second: "acceptance/shown".to_owned(),
        rises: true,
        share,
        nested_share,
        pairs: 2,
        versions: 8,
    };
    assert_eq!(
        of(0.0, -1.1).sentence(),
        "None of 2 offline metrics predicts acceptance/shown better than its mean does, each \
         version predicted from the other 7."
    );
    let chosen = of(0.2, -1.1).sentence();
    assert!(chosen.contains("best: 20 % of its variance"), "{chosen}");
    assert!(chosen.contains("and none of it if the choice"), "{chosen}");
    assert!(of(0.2, 0.1).sentence().contains("and 10 % if the choice"));
}

#[test]
fn an_opposed_metric_is_not_advised() {
    let wave = [0.01, -0.01, 0.008, 0.0, -0.012, 0.01, -0.006, 0.0];
    let mut offline = side(&versions(|at| 0.3 + 0.05 * at as f64 + wave[at]), "pass@1");
    let closer = side(&versions(|at| 0.3 + 0.05 * at as f64), "em/tokens");
    offline.observations.extend(closer.observations);
    let online = side(&versions(|at| 0.6 - 0.04 * at as f64), "acceptance/shown");
    let decision = study(&offline, &online).decision.unwrap();
    assert_eq!(decision.trust, Trust::Dont);
    let best = decision.best.unwrap();
    assert_eq!((best.offline.as_str(), best.rises), ("em/tokens", false));
    assert!(best.nested_share > 0.9, "{best:?}");
    assert!(
        decision
            .next_step
            .starts_with("Choose by the second side's figure"),
        "{}",
        decision.next_step
    );
}

/// A better version wastes fewer accepts: r is negative, and the offline figure is to be trusted.
#[test]
fn lower_is_better_where_the_metric_says_so() {
    let offline = side(&versions(|at| 0.3 + 0.05 * at as f64), "pass@1");
    let wave = [0.01, -0.01, 0.008, 0.0, -0.012, 0.01, -0.006, 0.0];
    let online = side(
        &versions(|at| 0.6 - 0.03 * at as f64 + wave[at]),
        "wasted-accept",
    );
    let decision = study(&offline, &online).decision.unwrap();
    assert_eq!(decision.trust, Trust::Trust, "{}", decision.sentence);
    assert!(decision.smallest_gap.unwrap() > 0.0);
    // h passes most and wastes least.
    let selection = decision.selection.unwrap();
    assert_eq!(selection.chosen, 7);
    assert!(selection.probability > 0.6, "{selection:?}");
    let rising = side(&versions(|at| 0.2 + 0.03 * at as f64), "wasted-accept");
    let decision = study(&offline, &rising).decision.unwrap();
    assert_eq!(decision.trust, Trust::Dont, "{}", decision.sentence);
}

/// Version b is better in long holes, which are few offline and most of what people see.
#[test]
fn holes_are_weighted_to_the_mix_that_people_see() {
    let mut offline = side(&versions(|at| 0.5 - 0.01 * at as f64), "pass@1");
    let mut online = side(&versions(|at| 0.2 + 0.03 * at as f64), "acceptance/shown");
    for (at, name) in NAMES.iter().enumerate() {
        for (stratum, passing, holes) in [("mid_line", 30 - at, 50), ("line_end", 4 + at, 20)] {
            let rows = (0..holes).map(|hole| {
                let passed = f64::from(u8::from(hole < passing));
                (format!("{stratum}{}", hole % 5), 1.0, passed)
            });
            offline.observations.push(Observation {
                version: (*name).to_owned(),
                configuration: None,
                label: None,
                language: None,
                stratum: Some(Stratum {
                    dimension: SampleDimension::Place,
                    name: stratum.to_owned(),
                }),
                metric: "pass@1".to_owned(),
                unit: FigureUnit::Share,
                figure: Figure::from_rows(rows),
                source: String::new(),
            });
        }
        online.mixes.push(SampleMix {
            dimension: SampleDimension::Place,
            version: (*name).to_owned(),
            configuration: None,
            counts: [("mid_line", 10), ("line_end", 80), ("new_block", 10)]
                .map(|(place, count)| (place.to_owned(), count))
                .into(),
        });
    }
    let decision = study(&offline, &online).decision.unwrap();
    let [weighted] = decision.weighted.as_slice() else {
        panic!("{:?}", decision.weighted);
    };
    assert_eq!(weighted.dimension, SampleDimension::Place);
    assert!((weighted.shares["line_end"] - 8.0 / 9.0).abs() < 1e-12);
    assert!((weighted.uncovered - 0.1).abs() < 1e-12);
    // 1/9 · 30/50 + 8/9 · 4/20 for the first version.
    let (version, first) = weighted.figures[0];
    assert_eq!(version, 0);
    assert!(
        (first.value - (0.6 + 8.0 * 0.2) / 9.0).abs() < 1e-12,
        "{first:?}"
    );
    assert!(
        weighted.raw_r < -0.99 && weighted.weighted_r > 0.99,
        "{weighted:?}"
    );
    let sentence = weighted.sentence("pass@1", "online");
    assert!(
        sentence.contains("10 % of the online samples are in strata without holes"),
        "{sentence}"
    );
}

// Offline, 8 versions with a variance of .008² · 6 = .00038 between them, each measured on 80 holes,
// whose errors have a variance of at least .4 · .6 / 84 = .0028: nothing but error can be seen, so
// of any true r as many studies find one as of none, some 5 of 100.
#[test]
fn errors_beyond_the_variance_between_versions_are_not_trusted() {
    let rows = |metric: &str, n: usize, values: [f64; 8]| {
        let rows: String = NAMES
            .iter()
            .zip(values)
            .map(|(version, value)| format!("{version},,{metric},{value},{n}\n"))
            .collect();
        let text = format!("version,language,metric,value,n\n{rows}");
        StudySide {
            observations: table::parse_table(&text, "t.csv").unwrap(),
            ..StudySide::default()
        }
    };
    let offline = [0.400, 0.416, 0.408, 0.424, 0.432, 0.448, 0.440, 0.456];
    let online = [0.30, 0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37];
    let study = study(
        &rows("pass@1", 80, offline),
        &rows("acceptance/shown", 20_000, online),
    );
    let pair = &study.pairs[0];
    assert_eq!(pair.conclusion, Conclusion::Together);
    assert_eq!(pair.attenuation, None);
    let design = pair.design.as_ref().unwrap();
    assert_eq!((design.seen_of_one, design.least_found), (Some(0.0), None));
    for at in &design.power {
        let low = at.student.low.unwrap();
        assert!(low <= 0.05 && at.student.value < 0.2, "{at:?}");
    }
    assert_eq!(study.decision.as_ref().unwrap().trust, Trust::CantTell);
    let text = study.text(TextWidth::UNLIMITED);
    assert!(
        text.contains("appears as .00 through measurement error"),
        "{text}"
    );
    assert!(!text.contains("unknown and taken as 0"), "{text}");
    // Plain numbers have unknown errors.
    let unknown = |metric: &str, values: [f64; 8]| {
        let mut side = rows(metric, 1, values);
        for one in &mut side.observations {
            one.unit = FigureUnit::Plain;
        }
        side
    };
    let study = self::study(
        &unknown("pass@1", offline),
        &unknown("acceptance/shown", online),
    );
    assert_eq!(study.pairs[0].design.as_ref().unwrap().seen_of_one, None);
    let text = study.text(TextWidth::UNLIMITED);
    assert!(text.contains("unknown and taken as 0"), "{text}");
}

// The r of each view is Pearson's by plain Python, over the versions that have both views.
#[test]
fn views_are_compared_by_how_well_they_predict() {
    let finished = [0.31, 0.28, 0.42, 0.55, 0.47, 0.39, 0.9];
    let written = [0.30, 0.33, 0.35, 0.50, 0.41, 0.45];
    let accepted = [0.21, 0.25, 0.24, 0.33, 0.27, 0.30, 0.1];
    let rows = |values: &[f64]| -> Vec<(&str, f64)> {
        NAMES.iter().copied().zip(values.iter().copied()).collect()
    };
    let mut offline = side(&rows(&finished), "pass@1");
    let view = side(&rows(&written), "\"pass@1, as-written\"");
    offline.observations.extend(view.observations);
    let online = side(&rows(&accepted), "acceptance/shown");
    let study = study(&offline, &online);
    let decision = study.decision.as_ref().unwrap();
    let [view] = decision.views.as_slice() else {
        panic!("{:?}", decision.views);
    };
    assert!((view.r - 0.7366615866752362).abs() < 1e-12, "{view:?}");
    assert!(
        (view.other_r - 0.9779642090429976).abs() < 1e-12,
        "{view:?}"
    );
    assert_eq!(view.gain.n, 6);
    let details = decision.details(&study.pairs[0], study.second, &study.labels());
    let sentence = "pass@1 predicts acceptance/shown with r = .737, pass@1, as-written with \
                    r = .978: a difference of .241 (two-level bootstrap ";
    let line = details.iter().find(|line| line.starts_with(sentence));
    let line = line.expect("the text has the comparison");
    assert!(
        line.ends_with("so these versions can't tell which predicts it better."),
        "{line}"
    );
}
