//! The offline side of a study: figures of a run.

use std::collections::BTreeMap;
use std::path::Path;

use fillrate_metrics::{Sample, text_scores};
use fillrate_server::syntax::Language;

use super::figure::{Figure, FigureUnit};
use super::input::{Observation, SampleMix, StratumFigure, StudySide};
use crate::developer::policy::LinePosition;
use crate::language::scoring::ScoringLanguage;
use crate::mine::invocation::InvocationRates;
use crate::store::Attempt;
use crate::task::Hole;
use crate::verdict::Outcome;

/// The probability that a completion makes all tests pass, mean over holes.
pub const PASS: &str = "pass@1";

/// Text metrics to compare with acceptance, and whether their values are shares.
const TEXT_METRICS: [(&str, bool); 4] = [
    ("em/tokens", true),
    ("em/cceval", true),
    ("es/cceval-levenshtein", false),
    ("id_f1/cceval", true),
];

/// The share of the reference's dependencies that a completion uses.
const INVOCATION: &str = fillrate_metrics::metric::INVOCATION.name;

/// An attempt with its hole and the file that it was cut into.
#[derive(Clone, Copy, Debug)]
pub struct ReplayedAttempt<'a> {
    /// The attempt.
    pub attempt: &'a Attempt,
    /// Its hole.
    pub hole: &'a Hole,
    /// The file, whole.
    pub contents: &'a str,
}

/// Calculates the offline figures of a run's attempts by model and language. Repair rounds are left
/// out. Samples are clustered by file. `source` names the run to people, `label` is its short name.
pub fn offline_side(
    attempts: &[ReplayedAttempt<'_>],
    source: &str,
    label: Option<&str>,
) -> StudySide {
    let configuration =
        run_configuration(attempts.iter().map(|one| one.attempt)).map(str::to_owned);
    let mut groups: BTreeMap<(&str, &str), Vec<&ReplayedAttempt<'_>>> = BTreeMap::new();
    for one in attempts.iter().filter(|one| one.attempt.repair_round == 0) {
        let group = (one.attempt.model.as_str(), one.hole.language.as_str());
        groups.entry(group).or_default().push(one);
    }
    let mut side = StudySide::default();
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
        for (dimension, stratum, rows) in pass_strata(language, &group) {
            side.strata.push(StratumFigure {
                version: model.to_owned(),
                configuration: configuration.clone(),
                dimension,
                stratum,
                metric: PASS.to_owned(),
                rows,
            });
        }
        for (dimension, counts) in mixes(language, &group) {
            side.mixes.push(SampleMix {
                dimension,
                version: model.to_owned(),
                configuration: configuration.clone(),
                counts,
            });
        }
    }
    side
}

/// A row of a figure: its cluster, its weight, its value.
type FigureRow = (String, f64, f64);

/// The cluster of a hole: its file.
fn cluster(one: &ReplayedAttempt<'_>) -> String {
    format!("{}\0{}", one.hole.project, one.hole.path)
}

/// By hole, one of its attempts and its share of passes. Each hole counts once, however many samples
/// it has.
fn pass_rows<'a>(
    group: &[&'a ReplayedAttempt<'a>],
) -> BTreeMap<&'a str, (&'a ReplayedAttempt<'a>, FigureRow)> {
    let mut holes: BTreeMap<&str, (&ReplayedAttempt<'_>, usize, usize)> = BTreeMap::new();
    for one in group {
        let outcome = one.attempt.verdict.outcome;
        if outcome.is_evidence() {
            let entry = holes.entry(&one.hole.id).or_insert((one, 0, 0));
            entry.1 += usize::from(outcome == Outcome::Passed);
            entry.2 += 1;
        }
    }
    let rows = holes.into_iter().map(|(hole, (one, passed, judged))| {
        let row = (cluster(one), 1.0, passed as f64 / judged as f64);
        (hole, (one, row))
    });
    rows.collect()
}

/// The rows of pass@1 by language and by the cursor's position.
fn pass_strata(
    language: &str,
    group: &[&ReplayedAttempt<'_>],
) -> Vec<(&'static str, String, Vec<FigureRow>)> {
    let mut languages = Vec::new();
    let mut places: BTreeMap<&'static str, Vec<FigureRow>> = BTreeMap::new();
    for (one, row) in pass_rows(group).into_values() {
        if let Ok((prefix, suffix)) = one.hole.cut(one.contents) {
            let place = place_name(LinePosition::between(prefix, suffix));
            places.entry(place).or_default().push(row.clone());
        }
        languages.push(row);
    }
    let places = places.into_iter();
    places
        .map(|(place, rows)| ("place", place.to_owned(), rows))
        .chain([("language", language.to_owned(), languages)])
        .filter(|(_, _, rows)| !rows.is_empty())
        .collect()
}

/// How many holes there are by the cursor's position, and by language.
fn mixes(
    language: &str,
    group: &[&ReplayedAttempt<'_>],
) -> [(&'static str, BTreeMap<String, usize>); 2] {
    let holes: BTreeMap<&str, &ReplayedAttempt<'_>> = group
        .iter()
        .map(|one| (one.hole.id.as_str(), *one))
        .collect();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for one in holes.values() {
        if let Ok((prefix, suffix)) = one.hole.cut(one.contents) {
            let place = LinePosition::between(prefix, suffix);
            *places.entry(place_name(place).to_owned()).or_default() += 1;
        }
    }
    let languages = [(language.to_owned(), holes.len())].into();
    [("place", places), ("language", languages)]
}

/// The configuration of a run's first samples, as the others have another seed each. `None` if no
/// trace has it.
pub fn run_configuration<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> Option<&'a str> {
    attempts
        .into_iter()
        .filter(|attempt| attempt.sample == 0)
        .filter_map(|attempt| attempt.trace.as_ref())
        .map(|trace| trace.configuration.as_str())
        .find(|fingerprint| !fingerprint.is_empty())
}

/// The name of a cursor position.
fn place_name(place: LinePosition) -> &'static str {
    match place {
        LinePosition::MidLine => "mid_line",
        LinePosition::LineEnd => "line_end",
        LinePosition::NewBlock => "new_block",
    }
}

fn figures(group: &[&ReplayedAttempt<'_>]) -> Vec<(&'static str, FigureUnit, Figure)> {
    let mut figures = Vec::new();
    let mut put = |metric, unit, rows: Vec<(String, f64, f64)>| {
        if !rows.is_empty() {
            figures.push((metric, unit, Figure::from_rows(rows)));
        }
    };
    let passes = pass_rows(group).into_values().map(|(_, row)| row);
    put(PASS, FigureUnit::Share, passes.collect());

    let mut texts: BTreeMap<&'static str, Vec<(String, f64, f64)>> = BTreeMap::new();
    let mut invocations = Vec::new();
    for one in group
        .iter()
        .filter(|one| one.attempt.verdict.outcome.is_counted())
    {
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
        let rates = InvocationRates::score(one.hole, one.attempt.completion());
        invocations.extend(rates.repository.map(|rate| (cluster(one), 1.0, rate)));
    }
    for (metric, is_share) in TEXT_METRICS {
        let unit = if is_share {
            FigureUnit::Share
        } else {
            FigureUnit::Plain
        };
        put(metric, unit, texts.remove(metric).unwrap_or_default());
    }
    put(INVOCATION, FigureUnit::Share, invocations);
    figures
}
