//! The second side of a study from a run of `replay --mode type`: what simulated developers
//! accepted. Every metric's name has its policy's, and none of it is a person's.

use std::collections::BTreeMap;

use fillrate_engine::store::TypingAttempt;
use fillrate_language::task::Hole;
use fillrate_metrics::Metric;
use fillrate_mine::written::CodeView;
use fillrate_report::policies::{TypedHole, characters, named, typing_samples};

use super::figure::{Figure, FigureUnit};
use super::input::{Observation, Stratum, StudySide};
use super::mix::mixes;
use super::offline::{hole_strata, named_in};

/// A group's model, configuration and language.
type GroupKey<'a> = (&'a str, Option<&'a str>, &'a str);

/// A group's typed holes, by policy.
type TypedByPolicy<'a> = BTreeMap<&'a str, Vec<(&'a TypingAttempt, &'a Hole)>>;

/// Calculates the figures of typed holes by model, configuration, language and policy. The variants
/// are those of [`report::policies`](fillrate_report::policies). Samples are clustered by file.
/// `configuration` is that of typings without their own; `source` names the run to people, `label`
/// is its short name. What is accepted in another [view](CodeView) than the finished file has names
/// of its own, in which the policy is followed by the view.
pub(super) fn simulated_side(
    typed: &[(&TypingAttempt, &Hole)],
    configuration: Option<&str>,
    source: &str,
    label: Option<&str>,
    view: CodeView,
) -> StudySide {
    let mut groups: BTreeMap<GroupKey<'_>, TypedByPolicy<'_>> = BTreeMap::new();
    for (typing, hole) in typed.iter().filter(|(typing, _)| typing.is_counted()) {
        let own = Some(typing.configuration.as_str()).filter(|own| !own.is_empty());
        let key = (&*typing.model, own.or(configuration), &*hole.language);
        let policies = groups.entry(key).or_default();
        policies
            .entry(&typing.policy)
            .or_default()
            .push((typing, hole));
    }
    let mut side = StudySide::default();
    for ((model, configuration, language), policies) in groups {
        let configuration = configuration.map(str::to_owned);
        // Every policy types the same holes.
        let most = policies.values().max_by_key(|group| group.len());
        let strata = most
            .into_iter()
            .flatten()
            .map(|(_, hole)| hole_strata(hole));
        side.mixes
            .extend(mixes(model, configuration.as_deref(), language, strata));
        for (policy, group) in policies {
            let mut put = |stratum: Option<&Stratum>, group: &[(&TypingAttempt, &Hole)]| {
                for (metric, figure) in figures(group) {
                    side.observations.push(Observation {
                        version: model.to_owned(),
                        configuration: configuration.clone(),
                        label: label.map(str::to_owned),
                        language: Some(language.to_owned()),
                        stratum: stratum.cloned(),
                        metric: named(metric.name, &named_in(view, policy)),
                        unit: FigureUnit::of_fraction(metric),
                        figure,
                        source: source.to_owned(),
                    });
                }
            };
            put(None, &group);
            let mut parts: BTreeMap<Stratum, Vec<(&TypingAttempt, &Hole)>> = BTreeMap::new();
            for (typing, hole) in &group {
                for stratum in hole_strata(hole) {
                    parts.entry(stratum).or_default().push((typing, hole));
                }
            }
            for (stratum, group) in &parts {
                put(Some(stratum), group);
            }
        }
    }
    side
}

fn figures(group: &[(&TypingAttempt, &Hole)]) -> Vec<(Metric, Figure)> {
    let clusters: Vec<String> = group
        .iter()
        .map(|(_, hole)| format!("{}\0{}", hole.project, hole.path))
        .collect();
    let typed: Vec<TypedHole<'_>> = group
        .iter()
        .zip(&clusters)
        .map(|((typing, hole), cluster)| TypedHole {
            cluster,
            characters: characters(hole),
            typing,
        })
        .collect();
    typing_samples(&typed)
        .into_iter()
        .filter(|(_, samples)| !samples.is_empty())
        .map(|(metric, samples)| (metric, Figure::from_rows(samples)))
        .collect()
}
