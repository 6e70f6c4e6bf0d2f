//! The online side of a study: telemetry of people's editors by model, configuration and language.

use std::collections::BTreeMap;

use fillrate_server::telemetry::{
    CompletionRow, CursorKind, EnteredCharacters, RecordedCompletion, StoreContents,
};

use super::impression::{Impression, collect_impressions};
use super::variant::VariantSamples;
use crate::figure::{Figure, FigureUnit};
use crate::input::{Observation, SampleDimension, Stratum, StudySide};
use crate::mix::mixes;

/// Key of a group of figures: model, configuration, language.
type GroupKey<'a> = (&'a str, &'a str, &'a str);

/// Calculates the online figures of a store by model, configuration and language. Samples are
/// clustered by session and file.
///
/// Pairs of a trial and a replay's sessions are left out, so `None` if there is nothing else.
/// `source` names the store to people and tells its clusters from those of other stores.
pub fn online_side(contents: &StoreContents, source: &str) -> Option<StudySide> {
    let recorded: Vec<&RecordedCompletion> = contents
        .completions
        .iter()
        .filter(|one| !one.answered.simulated)
        .collect();
    let impressions = collect_impressions(&recorded, false);
    let mut groups: BTreeMap<GroupKey<'_>, (Vec<&Impression<'_>>, Vec<&EnteredCharacters>)> =
        BTreeMap::new();
    // Each model of a pair had half of the person's attention.
    let alone = impressions.iter().filter(|one| !one.answered.is_of_pairs());
    for one in alone {
        let answered = one.answered;
        let language = language_name(answered.language.as_ref());
        let key = (&*answered.model, &*answered.configuration, language);
        groups.entry(key).or_default().0.push(one);
    }
    for one in contents.entered.iter().filter(|one| !one.simulated) {
        let key = last_answer(one, &recorded)
            .filter(|answered| !answered.is_of_pairs())
            .map(|answered| {
                let language = language_name(one.language.as_ref());
                (&*answered.model, &*answered.configuration, language)
            });
        if let Some(group) = key.and_then(|key| groups.get_mut(&key)) {
            group.1.push(one);
        }
    }
    let mut side = StudySide::default();
    for ((model, configuration, language), (impressions, entered)) in groups {
        let configuration = Some(configuration.to_owned()).filter(|it| !it.is_empty());
        let mut put = |stratum: Option<&Stratum>, samples: VariantSamples| {
            for (variant, samples) in samples.into_variants() {
                let rows = samples.into_iter().map(|((session, file), weight, value)| {
                    (format!("{source}\0{session}\0{file}"), weight, value)
                });
                side.observations.push(Observation {
                    version: model.to_owned(),
                    configuration: configuration.clone(),
                    label: None,
                    language: Some(language.to_owned()),
                    stratum: stratum.cloned(),
                    metric: variant.name(),
                    unit: FigureUnit::Share,
                    figure: Figure::from_rows(rows),
                    source: source.to_owned(),
                });
            }
        };
        let samples = |impressions: &[&Impression<'_>]| {
            VariantSamples::from_impressions(impressions, &|one| one.cluster())
        };
        put(
            None,
            samples(&impressions).with_entered(&impressions, &entered),
        );
        let mut parts: BTreeMap<Stratum, Vec<&Impression<'_>>> = BTreeMap::new();
        for one in &impressions {
            for stratum in strata(one) {
                parts.entry(stratum).or_default().push(one);
            }
        }
        for (stratum, impressions) in &parts {
            put(Some(stratum), samples(impressions));
        }
        let shown = impressions.iter().filter(|one| one.shown.is_some());
        let strata = shown.map(|one| strata(one));
        side.mixes
            .extend(mixes(model, configuration.as_deref(), language, strata));
    }
    (!side.observations.is_empty()).then_some(side)
}

fn language_name(language: Option<&String>) -> &str {
    language.map_or("other", String::as_str)
}

/// The last answer of the model to which characters count that entered a file, before their
/// counting ended; `None` without one.
pub(super) fn last_answer<'a>(
    entered: &EnteredCharacters,
    recorded: &[&'a RecordedCompletion],
) -> Option<&'a CompletionRow> {
    let model = entered.model.as_deref()?;
    recorded
        .iter()
        .map(|one| &one.answered)
        .filter(|answered| {
            (&answered.session, &answered.file) == (&entered.session, &entered.file)
                && answered.model == model
                // Two configurations of one model differ in their name. Old stores have none.
                && (entered.named.is_empty() || answered.named == entered.named)
                && answered.at_ms <= entered.at_ms
        })
        .max_by_key(|answered| answered.at_ms)
}

/// The strata that a completion belongs to.
fn strata(one: &Impression<'_>) -> Vec<Stratum> {
    let place = match one.answered.place {
        CursorKind::MidLine => "mid_line",
        CursorKind::LineEnd => "line_end",
        CursorKind::NewBlock => "new_block",
    };
    let place = Stratum {
        dimension: SampleDimension::Place,
        name: place.to_owned(),
    };
    let length = one.answered.candidates.first();
    let length = length.map(|size| Stratum::of_length(size.lines));
    [place].into_iter().chain(length).collect()
}
