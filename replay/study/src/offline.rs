//! The offline side of a study: figures of a run.

use std::collections::BTreeMap;
use std::path::Path;

use fillrate_engine::developer::policy::LinePosition;
use fillrate_engine::store::Attempt;
use fillrate_language::scoring::ScoringLanguage;
use fillrate_language::task::Hole;
use fillrate_metrics::metric::PASS_AT_1;
use fillrate_metrics::{Sample, Scorer, TextMetric, reported_text_metrics};
use fillrate_mine::invocation::InvocationRates;
use fillrate_mine::written::CodeView;
use fillrate_syntax::Language;
use fillrate_verdict::Outcome;

use super::figure::{Figure, FigureUnit};
use super::input::{Observation, SampleDimension, Stratum, StudySide};
use super::mix::mixes;

/// The probability that a completion makes all tests pass, mean over holes.
pub(super) const PASS: &str = PASS_AT_1.name;

/// The share of the reference's dependencies that a completion uses.
const INVOCATION: &str = fillrate_metrics::metric::INVOCATION.name;

/// An attempt with its hole and the file that it was cut into.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayedAttempt<'a> {
    /// The attempt.
    pub(super) attempt: &'a Attempt,
    /// Its hole.
    pub(super) hole: &'a Hole,
    /// The file, whole.
    pub(super) contents: &'a str,
}

/// The name of a metric, or of a policy, in a view: with the view's name, unless that is the
/// finished file.
pub(super) fn named_in(view: CodeView, name: &str) -> String {
    match view {
        CodeView::Finished => name.to_owned(),
        view => format!("{name}, {view}"),
    }
}

/// Calculates the offline figures of a run's attempts by model and language. Repair rounds are left
/// out. Samples are clustered by file. `source` names the run to people, `label` is its short name.
/// A metric of another [view](CodeView) than the finished file is one of its own: its name ends in
/// the view's.
pub(super) fn offline_side(
    attempts: &[ReplayedAttempt<'_>],
    source: &str,
    label: Option<&str>,
    view: CodeView,
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
        let strata = strata_of_holes(&group);
        let mut put = |metric: &str, unit, stratum: Option<Stratum>, figure| {
            side.observations.push(Observation {
                version: model.to_owned(),
                configuration: configuration.clone(),
                label: label.map(str::to_owned),
                language: Some(language.to_owned()),
                stratum,
                metric: named_in(view, metric),
                unit,
                figure,
                source: source.to_owned(),
            });
        };
        for FigureSamples { metric, unit, rows } in figures(&group) {
            let mut parts: BTreeMap<&Stratum, Vec<FigureRow>> = BTreeMap::new();
            for (one, row) in &rows {
                for stratum in strata.get(one.hole.id.as_str()).into_iter().flatten() {
                    parts.entry(stratum).or_default().push(row.clone());
                }
            }
            let all = rows.into_iter().map(|(_, row)| row);
            put(metric, unit, None, Figure::from_rows(all));
            for (stratum, rows) in parts {
                put(metric, unit, Some(stratum.clone()), Figure::from_rows(rows));
            }
        }
        let strata = strata.into_values();
        side.mixes
            .extend(mixes(model, configuration.as_deref(), language, strata));
    }
    side
}

/// The rows of a figure, each with the attempt that it is of.
struct FigureSamples<'a> {
    metric: &'static str,
    unit: FigureUnit,
    rows: Vec<(&'a ReplayedAttempt<'a>, FigureRow)>,
}

/// A row of a figure: its cluster, its weight, its value.
type FigureRow = (String, f64, f64);

/// The cluster of a hole: its file.
fn cluster(one: &ReplayedAttempt<'_>) -> String {
    // A path can't contain a zero byte, so the two parts stay apart.
    format!("{}\0{}", one.hole.project, one.hole.path)
}

/// By hole, one of its attempts and its share of passes. Each hole counts once, however many
/// samples it has.
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

/// By hole, the strata that it belongs to.
fn strata_of_holes<'a>(group: &[&'a ReplayedAttempt<'a>]) -> BTreeMap<&'a str, Vec<Stratum>> {
    let mut strata: BTreeMap<&str, Vec<Stratum>> = BTreeMap::new();
    for one in group {
        strata.entry(&one.hole.id).or_insert_with(|| {
            let mut own = hole_strata(one.hole);
            if let Ok((prefix, suffix)) = one.hole.cut(one.contents) {
                own.push(Stratum {
                    dimension: SampleDimension::Place,
                    name: place_name(LinePosition::between(prefix, suffix)).to_owned(),
                });
            }
            own
        });
    }
    strata
}

/// The strata of a hole that do not depend on its file.
pub(super) fn hole_strata(hole: &Hole) -> Vec<Stratum> {
    let kind = Stratum {
        dimension: SampleDimension::Kind,
        name: hole.kind.to_string(),
    };
    vec![kind, Stratum::of_length(hole.reference.lines().count())]
}

/// The configuration of a run's first samples, as the others have another seed each. `None` if no
/// trace has it.
pub(super) fn run_configuration<'a>(
    attempts: impl IntoIterator<Item = &'a Attempt>,
) -> Option<&'a str> {
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

fn figures<'a>(group: &[&'a ReplayedAttempt<'a>]) -> Vec<FigureSamples<'a>> {
    let mut figures = Vec::new();
    let mut put = |metric, unit, rows: Vec<(&'a ReplayedAttempt<'a>, FigureRow)>| {
        if !rows.is_empty() {
            figures.push(FigureSamples { metric, unit, rows });
        }
    };
    let passes = pass_rows(group).into_values();
    put(PASS, FigureUnit::Share, passes.collect());

    let mut texts: BTreeMap<&'static str, Vec<(&ReplayedAttempt<'_>, FigureRow)>> = BTreeMap::new();
    let mut invocations = Vec::new();
    for &one in group
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
        let scorer = Scorer::new(sample);
        for text in reported_text_metrics() {
            // A share of the range, so that a figure has the interval that reports give it.
            let value = scorer.score(text) / text.metric.unit.span();
            let rows = texts.entry(text.metric.name).or_default();
            rows.push((one, (cluster(one), 1.0, value)));
        }
        let rates = InvocationRates::score(one.hole, one.attempt.completion());
        invocations.extend(
            rates
                .repository
                .map(|rate| (one, (cluster(one), 1.0, rate))),
        );
    }
    for TextMetric { metric, .. } in reported_text_metrics() {
        let rows = texts.remove(metric.name).unwrap_or_default();
        put(metric.name, FigureUnit::Share, rows);
    }
    put(INVOCATION, FigureUnit::Share, invocations);
    figures
}
