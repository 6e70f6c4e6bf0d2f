//! The offline figures of a run.

use std::collections::BTreeMap;
use std::path::Path;

use fillrate_metrics::{Sample, dependency_invocation_rate, text_scores};
use fillrate_server::syntax::Language;

use super::{Figure, Mix, Observation, Side, Unit};
use crate::developer::policy::LinePosition;
use crate::language::scoring::{ScoringLanguage, syntax_identifiers};
use crate::store::Attempt;
use crate::task::Hole;
use crate::verdict::Outcome;

/// The probability that a completion makes all tests pass, mean over holes.
pub const PASS: &str = "pass@1";

/// Text metrics that are held against acceptance, and whether their values are shares.
const TEXT_METRICS: [(&str, bool); 4] = [
    ("em/tokens", true),
    ("em/cceval", true),
    ("es/cceval-levenshtein", false),
    ("id_f1/cceval", true),
];

/// The share of the repository's names that a completion uses of those the reference does.
const INVOCATION: &str = fillrate_metrics::metric::INVOCATION.name;

/// An attempt with its hole and the file that it was cut into.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The attempt.
    pub attempt: &'a Attempt,
    /// Its hole.
    pub hole: &'a Hole,
    /// The file, whole.
    pub contents: &'a str,
}

/// The figures of attempts, first answers only: of each model and configuration, by language.
/// Samples are clustered by file. A run's configuration is that of its first samples, since the
/// others are asked with another seed each. `source` is what people know the run by, `label` its
/// short name.
pub fn side(seen: &[Seen<'_>], source: &str, label: Option<&str>) -> Side {
    let configuration = configuration(seen.iter().map(|one| one.attempt)).map(str::to_owned);
    let mut groups: BTreeMap<(&str, &str), Vec<&Seen<'_>>> = BTreeMap::new();
    for one in seen.iter().filter(|one| one.attempt.repair_round == 0) {
        let group = (one.attempt.model.as_str(), one.hole.language.as_str());
        groups.entry(group).or_default().push(one);
    }
    let mut side = Side::default();
    for ((model, language), group) in groups {
        for (metric, unit, figure) in figures(&group) {
            side.observations.push(Observation {
                version: model.to_owned(),
                configuration: configuration.clone(),
                label: label.map(str::to_owned),
                language: Some(language.to_owned()),
                metric: metric.to_owned(),
                unit,
                figure,
                source: source.to_owned(),
            });
        }
        let mut by_hole: BTreeMap<&str, &Seen<'_>> = BTreeMap::new();
        for one in &group {
            by_hole.insert(&one.hole.id, one);
        }
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for one in by_hole.values() {
            if let Ok((prefix, suffix)) = one.hole.cut(one.contents) {
                let place = LinePosition::between(prefix, suffix);
                *places.entry(place_name(place).to_owned()).or_default() += 1;
            }
        }
        side.mixes.push(Mix {
            what: "place",
            version: model.to_owned(),
            counts: places,
        });
        side.mixes.push(Mix {
            what: "language",
            version: model.to_owned(),
            counts: [(language.to_owned(), by_hole.len())].into(),
        });
    }
    side
}

/// The configuration of a run's first samples; `None` where no trace tells it.
pub fn configuration<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> Option<&'a str> {
    attempts
        .into_iter()
        .filter(|attempt| attempt.sample == 0)
        .filter_map(|attempt| attempt.trace.as_ref())
        .map(|trace| trace.configuration.as_str())
        .find(|fingerprint| !fingerprint.is_empty())
}

/// What a kind of place is called.
fn place_name(place: LinePosition) -> &'static str {
    match place {
        LinePosition::MidLine => "mid_line",
        LinePosition::LineEnd => "line_end",
        LinePosition::NewBlock => "new_block",
    }
}

fn figures(group: &[&Seen<'_>]) -> Vec<(&'static str, Unit, Figure)> {
    let cluster = |one: &Seen<'_>| format!("{}\0{}", one.hole.project, one.hole.path);
    let mut figures = Vec::new();
    let mut put = |metric, unit, rows: Vec<(String, f64, f64)>| {
        if !rows.is_empty() {
            figures.push((metric, unit, Figure::of(rows)));
        }
    };
    // Each hole counts once, however many samples it has.
    let mut holes: BTreeMap<&str, (String, usize, usize)> = BTreeMap::new();
    for one in group {
        let outcome = one.attempt.verdict.outcome;
        if outcome.is_evidence() {
            let entry = holes
                .entry(&one.hole.id)
                .or_insert_with(|| (cluster(one), 0, 0));
            entry.1 += usize::from(outcome == Outcome::Passed);
            entry.2 += 1;
        }
    }
    let passes = holes
        .into_values()
        .map(|(cluster, passed, of)| (cluster, 1.0, passed as f64 / of as f64));
    put(PASS, Unit::Share, passes.collect());

    let mut texts: BTreeMap<&'static str, Vec<(String, f64, f64)>> = BTreeMap::new();
    let mut invocations = Vec::new();
    for one in group {
        let Some(language) = Language::for_path(Path::new(&one.hole.path)) else {
            continue;
        };
        let Ok((prefix, _)) = one.hole.cut(one.contents) else {
            continue;
        };
        let sample = Sample {
            syntax: &ScoringLanguage::from(language),
            prompt: prefix,
            prediction: one.attempt.completion(),
            reference: &one.hole.reference,
        };
        for (metric, value) in text_scores(&sample) {
            let rows = texts.entry(metric.metric.name).or_default();
            rows.push((cluster(one), 1.0, value));
        }
        // Where the machinery failed there is no completion.
        let spoiled = one.attempt.verdict.outcome == Outcome::Infrastructure;
        if let Some(dependencies) = one.hole.dependencies.as_ref().filter(|_| !spoiled) {
            let completion = one.attempt.completion();
            let rate =
                dependency_invocation_rate(&syntax_identifiers(completion, language), dependencies);
            invocations.extend(rate.map(|rate| (cluster(one), 1.0, rate)));
        }
    }
    for (metric, is_share) in TEXT_METRICS {
        let unit = if is_share { Unit::Share } else { Unit::Plain };
        put(metric, unit, texts.remove(metric).unwrap_or_default());
    }
    put(INVOCATION, Unit::Share, invocations);
    figures
}
