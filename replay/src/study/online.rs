//! The online figures of what people's editors told.

use std::collections::{BTreeMap, BTreeSet};

use fillrate_metrics::READ_MS;
use fillrate_server::completion::Source;
use fillrate_server::telemetry::{CursorKind, RecordedCompletion, StoreContents};

use super::{Figure, Mix, Observation, Side, Unit};

/// Accepted completions, of those shown (Ziegler et al. 2022,
/// <https://doi.org/10.1145/3520312.3534864>).
pub const SHOWN: &str = "acceptance/shown";
/// Accepted completions, of those shown for [`READ_MS`] or longer, or accepted.
pub const READ: &str = "acceptance/read";
/// As [`READ`], weighted by characters.
pub const CHARACTERS: &str = "acceptance/chars";
/// Accepted characters, of all that entered the files.
pub const COMPLETED_CODE: &str = "completed-code";

/// A completion that came before a person, once: what is left of it after its beginning was typed
/// is the same one, still shown.
struct Impression<'a> {
    first: &'a RecordedCompletion,
    shown: bool,
    shown_ms: f64,
    accepted: bool,
    /// Characters that were taken, whole or in parts.
    taken: usize,
    last: &'a RecordedCompletion,
}

impl<'a> Impression<'a> {
    fn of(one: &'a RecordedCompletion) -> Self {
        let partly = one.partly.as_ref().map_or(0, |partly| partly.characters);
        let whole = one.accepted.as_ref().map_or(0, |it| it.characters);
        Self {
            first: one,
            // What was taken was seen, whether or not the editor said so.
            shown: one.shown.is_some() || one.accepted.is_some() || partly > 0,
            shown_ms: one.shown.and_then(|shown| shown.ms).unwrap_or(0.0),
            accepted: one.accepted.is_some(),
            taken: whole + partly,
            last: one,
        }
    }

    /// Whether a later completion in the same session and file is the rest of this one.
    fn goes_on_as(&self, later: &RecordedCompletion) -> bool {
        let (before, after) = (&self.last.answered, &later.answered);
        let characters = |of: &[fillrate_server::telemetry::TextSize]| {
            of.first().map_or(0, |size| size.characters)
        };
        !self.accepted
            && after.source == Source::TypedThrough
            && (&before.model, &before.configuration, before.form)
                == (&after.model, &after.configuration, after.form)
            && characters(&after.candidates) < characters(&before.candidates)
    }

    fn join(&mut self, later: Self) {
        self.shown |= later.shown;
        self.shown_ms += later.shown_ms;
        self.accepted = later.accepted;
        self.taken += later.taken;
        self.last = later.last;
    }

    /// The characters of the best candidate, which is what is displayed first.
    fn characters(&self) -> usize {
        let first = self.first.answered.candidates.first();
        first.map_or(0, |size| size.characters)
    }
}

/// The figures of what people did: of each model and configuration, by language. Samples are
/// clustered by session and file. Pairs of a trial and a replay's sessions are left out, so `None` where there is
/// nothing else. `source` is what people know the store by, and tells its clusters from others'.
pub fn side(contents: &StoreContents, source: &str) -> Option<Side> {
    let mut impressions: Vec<Impression<'_>> = Vec::new();
    let mut last: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in &contents.completions {
        // Of a pair, each model had half of the person's attention.
        if one.answered.simulated || !one.is_offered() || one.answered.is_pair() {
            continue;
        }
        let place = (one.answered.session.as_str(), one.answered.file.as_str());
        let before = last.get(&place).map(|at| &mut impressions[*at]);
        match before.filter(|before| before.goes_on_as(one)) {
            Some(before) => before.join(Impression::of(one)),
            None => {
                last.insert(place, impressions.len());
                impressions.push(Impression::of(one));
            }
        }
    }
    let mut groups: BTreeMap<(&str, &str, &str), Vec<&Impression<'_>>> = BTreeMap::new();
    for one in &impressions {
        let answered = &one.first.answered;
        let language = answered.language.as_deref().unwrap_or("other");
        let group = (
            answered.model.as_str(),
            answered.configuration.as_str(),
            language,
        );
        groups.entry(group).or_default().push(one);
    }
    let mut side = Side::default();
    for ((model, configuration, language), group) in groups {
        for (metric, figure) in figures(&group, contents, language, source) {
            side.observations.push(Observation {
                version: model.to_owned(),
                configuration: Some(configuration.to_owned()).filter(|it| !it.is_empty()),
                label: None,
                language: Some(language.to_owned()),
                metric,
                unit: Unit::Share,
                figure,
                source: source.to_owned(),
            });
        }
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for one in group.iter().filter(|one| one.shown) {
            let place = match one.first.answered.place {
                CursorKind::MidLine => "mid_line",
                CursorKind::LineEnd => "line_end",
                CursorKind::NewBlock => "new_block",
            };
            *places.entry(place.to_owned()).or_default() += 1;
        }
        let shown: usize = places.values().sum();
        for (what, counts) in [
            ("place", places),
            ("language", [(language.to_owned(), shown)].into()),
        ] {
            side.mixes.push(Mix {
                what,
                version: model.to_owned(),
                counts,
            });
        }
    }
    (!side.observations.is_empty()).then_some(side)
}

fn figures(
    group: &[&Impression<'_>],
    contents: &StoreContents,
    language: &str,
    source: &str,
) -> Vec<(String, Figure)> {
    let yes = |holds: bool| f64::from(u8::from(holds));
    let cluster = |session: &str, file: &str| format!("{source}\0{session}\0{file}");
    let mut rows: BTreeMap<String, Vec<(String, f64, f64)>> = BTreeMap::new();
    let mut names: Vec<String> = [SHOWN, READ, CHARACTERS, COMPLETED_CODE]
        .map(str::to_owned)
        .to_vec();
    let mut put = |metric: &str, cluster: String, weight: f64, value: f64| {
        let rows = rows.entry(metric.to_owned()).or_default();
        rows.push((cluster, weight, value));
    };
    let mut retained: BTreeSet<u64> = BTreeSet::new();
    let mut taken: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in group.iter().filter(|one| one.shown) {
        let answered = &one.first.answered;
        let own = cluster(&answered.session, &answered.file);
        *taken
            .entry((&answered.session, &answered.file))
            .or_default() += one.taken;
        put(SHOWN, own.clone(), 1.0, yes(one.accepted));
        if one.accepted || one.shown_ms >= READ_MS {
            put(READ, own.clone(), 1.0, yes(one.accepted));
            let characters = one.characters() as f64;
            put(CHARACTERS, own.clone(), characters, yes(one.accepted));
        }
        for (horizon, left) in one.last.retention.iter().filter(|_| one.accepted) {
            // Where it could not be observed, nothing is known of it.
            let Some(left) = left else { continue };
            retained.insert(*horizon);
            let kept = yes(left.is_retained());
            put(&format!("retained@{horizon}"), own.clone(), 1.0, kept);
            let still = yes(left.is_still_in_code());
            put(&format!("still-in-code@{horizon}"), own.clone(), 1.0, still);
        }
    }
    for horizon in retained {
        names.push(format!("retained@{horizon}"));
        names.push(format!("still-in-code@{horizon}"));
    }
    // What entered a file counts for the model that last answered in it.
    let model = group.first().map(|one| one.first.answered.model.as_str());
    let mut entered: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in &contents.entered {
        let of_language = one.language.as_deref().unwrap_or("other") == language;
        if !one.simulated && of_language && one.model.as_deref() == model {
            *entered.entry((&one.session, &one.file)).or_default() += one.characters;
        }
    }
    for (place, characters) in entered
        .into_iter()
        .filter(|(_, characters)| *characters > 0)
    {
        if let Some(taken) = taken.get(&place) {
            let share = *taken as f64 / characters as f64;
            put(
                COMPLETED_CODE,
                cluster(place.0, place.1),
                characters as f64,
                share,
            );
        }
    }
    names
        .into_iter()
        .filter_map(|name| {
            let figure = Figure::of(rows.remove(&name)?);
            Some((name, figure))
        })
        .collect()
}
