//! What simulated developers accepted in a run of `replay --mode type`, as the second side of a
//! study. Every metric's name has its policy's, and none of it is a person's.

use std::collections::BTreeMap;

use fillrate_metrics::READ_MS;
use fillrate_metrics::metric::{
    ACCEPTANCE_CHARACTERS, ACCEPTANCE_READ, ACCEPTANCE_SHOWN, COMPLETED_CODE, KEYSTROKES_SAVED,
};

use super::{Figure, Mix, Observation, Side, Unit};
use crate::developer::typing::RequestResult;
use crate::report::policies::named;
use crate::store::TypingAttempt;
use crate::task::Hole;

/// A hole that was typed.
#[derive(Clone, Copy, Debug)]
pub struct Typed<'a> {
    /// What came of it.
    pub typing: &'a TypingAttempt,
    /// The hole.
    pub hole: &'a Hole,
}

/// The figures of holes that were typed, of each model and configuration, by language and policy,
/// by the definitions of [`report::policies`](crate::report::policies). Samples are clustered by
/// file. `configuration` is that of typings which don't tell theirs; `source` is what people know
/// the run by, `label` its short name.
pub fn side(
    typed: &[Typed<'_>],
    configuration: Option<&str>,
    source: &str,
    label: Option<&str>,
) -> Side {
    let mut groups: BTreeMap<(&str, Option<&str>, &str, &str), Vec<&Typed<'_>>> = BTreeMap::new();
    for one in typed {
        let own = one.typing.configuration.as_str();
        let configuration = Some(own).filter(|own| !own.is_empty()).or(configuration);
        let group = (
            one.typing.model.as_str(),
            configuration,
            one.typing.policy.as_str(),
            one.hole.language.as_str(),
        );
        groups.entry(group).or_default().push(one);
    }
    let mut side = Side::default();
    let mut holes: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for ((model, configuration, policy, language), group) in groups {
        for (metric, figure) in figures(&group) {
            side.observations.push(Observation {
                version: model.to_owned(),
                configuration: configuration.map(str::to_owned),
                label: label.map(str::to_owned),
                language: Some(language.to_owned()),
                metric: named(metric, policy),
                unit: Unit::Share,
                figure,
                source: source.to_owned(),
            });
        }
        // Every policy types the same holes.
        holes.insert((model, language), group.len());
    }
    for ((model, language), count) in holes {
        side.mixes.push(Mix {
            what: "language",
            version: model.to_owned(),
            counts: [(language.to_owned(), count)].into(),
        });
    }
    side
}

fn figures(group: &[&Typed<'_>]) -> Vec<(&'static str, Figure)> {
    let mut rows: BTreeMap<&'static str, Vec<(String, f64, f64)>> = BTreeMap::new();
    let mut put = |metric, cluster: &str, weight: f64, value: f64| {
        let rows = rows.entry(metric).or_default();
        rows.push((cluster.to_owned(), weight, value));
    };
    for one in group {
        let cluster = format!("{}\0{}", one.hole.project, one.hole.path);
        let session = &one.typing.session;
        let mut taken = 0;
        for request in &session.requests {
            if let Some(accepted) = request.accepted {
                taken += accepted.kept + accepted.removed;
            }
            if request.result != RequestResult::Shown {
                continue;
            }
            let accepted = f64::from(u8::from(request.accepted.is_some()));
            put(ACCEPTANCE_SHOWN.name, &cluster, 1.0, accepted);
            if request.accepted.is_some() || request.shown_ms >= READ_MS {
                let characters = request.text().map_or(0, |text| text.chars().count());
                put(ACCEPTANCE_READ.name, &cluster, 1.0, accepted);
                put(
                    ACCEPTANCE_CHARACTERS.name,
                    &cluster,
                    characters as f64,
                    accepted,
                );
            }
        }
        let all = (taken + session.keys.typed) as f64;
        put(
            COMPLETED_CODE.name,
            &cluster,
            all,
            taken as f64 / all.max(1.0),
        );
        let characters = one.hole.reference.chars().count() as f64;
        let saved = 1.0 - session.keys.total() as f64 / characters.max(1.0);
        put(KEYSTROKES_SAVED.name, &cluster, characters, saved);
    }
    // The main one first.
    [
        ACCEPTANCE_SHOWN,
        ACCEPTANCE_READ,
        ACCEPTANCE_CHARACTERS,
        COMPLETED_CODE,
        KEYSTROKES_SAVED,
    ]
    .into_iter()
    .map(|metric| metric.name)
    .filter_map(|metric| Some((metric, Figure::of(rows.remove(metric)?))))
    .collect()
}
