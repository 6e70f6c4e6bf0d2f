//! The decision that a study supports: whether the offline figure may choose the next version.

use fillrate_metrics::{Estimate, LinearPrediction, Selection, best_predictor};
use serde::Serialize;

use super::format;
use super::join::{VersionKey, full_name};
use super::pool::{FigureKey, PooledFigures};
use super::strata::WeightedFigures;
use super::view_gain::ViewGain;
use super::{Conclusion, MetricPair, SecondSide};

/// The model probability at which a gap is reported; simulated studies reach 75 to 95 % for a true
/// r of .5 or more, and half without a connection.
pub(super) const TRUSTED: f64 = 0.9;

/// Advice on the main pair of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudyDecision {
    /// The answer in a word.
    pub trust: Trust,
    /// The answer in a sentence, which names the language if languages are compared apart.
    pub sentence: String,
    /// The step that would help most.
    pub next_step: String,
    /// Result of choosing by the main offline figure among these versions; `None` if errors are
    /// unknown or versions too few.
    pub selection: Option<Selection>,
    /// The smallest difference of the offline figure at which the model gives the better version a
    /// probability of .9 to measure better too; `None` if no difference reaches it.
    pub smallest_gap: Option<f64>,
    /// The second figure of versions that have offline figures only.
    pub predictions: Vec<VersionPrediction>,
    /// The pair that predicts best, each version predicted from the others alone.
    pub best: Option<BestPair>,
    /// The main offline metric in other views, compared by how well they predict.
    pub views: Vec<ViewGain>,
    /// The main offline figure with holes weighted to the second side's mix.
    pub weighted: Vec<WeightedFigures>,
}

/// Advice on choosing by the offline figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// It may.
    Trust,
    /// Groups of the samples contradict the pooled figures.
    Depends,
    /// The figures support no answer.
    CantTell,
    /// It chooses the worse version.
    Dont,
}

impl Trust {
    /// The badge's words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Trust => "Trust",
            Self::Depends => "Depends on the mix",
            Self::CantTell => "Can't tell",
            Self::Dont => "Don't trust",
        }
    }
}

/// The predicted second figure of a version without one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersionPrediction {
    /// The version: the model's name, with the beginning of its configuration's fingerprint if that
    /// is known.
    pub version: String,
    /// Its offline figure.
    pub offline: f64,
    /// Its predicted figure on the second side, if it is measured as well as the others, with a
    /// prediction interval.
    pub second: Estimate,
    /// True if the offline figure is outside those of the study's versions.
    pub extrapolated: bool,
}

/// The pair of metrics that predicts best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestPair {
    /// The offline metric.
    pub offline: String,
    /// The second side's metric.
    pub second: String,
    /// True if a better figure of the offline metric goes with a better second figure.
    pub rises: bool,
    /// The share of the second figure's variance that it explains, each version predicted from the
    /// others alone.
    pub share: f64,
    /// The same if the offline metric is also chosen among the other versions alone.
    pub nested_share: f64,
    /// The pairs it is chosen from.
    pub pairs: usize,
    /// The versions.
    pub versions: usize,
}

/// Input of a decision, apart from the pairs.
pub(super) struct DecisionInput<'a> {
    pub(super) second: SecondSide,
    pub(super) offline_only: &'a [VersionKey],
    pub(super) offline: &'a PooledFigures,
    pub(super) views: Vec<ViewGain>,
    pub(super) weighted: Vec<WeightedFigures>,
}

impl StudyDecision {
    /// The decision by the first pair; `None` without pairs.
    pub(super) fn new(pairs: &[MetricPair], input: DecisionInput<'_>) -> Option<Self> {
        let main = pairs.first()?;
        let trust = match main.conclusion {
            // So weak a design finds luck more often than the truth.
            Conclusion::Together if main.is_weak() => Trust::CantTell,
            Conclusion::Together => Trust::Trust,
            Conclusion::Opposed => Trust::Dont,
            Conclusion::DependsOnMix => Trust::Depends,
            Conclusion::CantTell => Trust::CantTell,
        };
        let line = main.prediction();
        // A gap to choose by would contradict a decision not to choose.
        let smallest_gap = LinearPrediction::fit(&main.goodness())
            .filter(|_| trust == Trust::Trust)
            .and_then(|line| line.smallest_gap(TRUSTED));
        let predictions = line.map_or_else(Vec::new, |line| predict(main, &line, &input));
        let mut decision = Self {
            trust,
            sentence: String::new(),
            next_step: String::new(),
            // Figures that their groups contradict do not show which version is the best.
            selection: main.selection.filter(|_| trust != Trust::Depends),
            smallest_gap,
            predictions,
            best: best_pair(pairs),
            views: input.views,
            weighted: input.weighted,
        };
        let sentence = decision.describe(main, input.second);
        decision.sentence = format!("{}{sentence}", main.language_prefix());
        decision.next_step = decision.advise(main, input.second);
        Some(decision)
    }

    fn describe(&self, main: &MetricPair, second: SecondSide) -> String {
        let (offline, other) = (&main.offline, &main.second);
        let (n, side) = (main.points.len(), second.name());
        match self.trust {
            Trust::Trust => {
                let gap = self.smallest_gap.map_or_else(
                    || "no difference reaches an estimated probability of .9".to_owned(),
                    |gap| {
                        format!(
                            "of two versions, the one that is at least {} ahead is {}",
                            format::gap(main.offline_unit, gap),
                            estimated_to_lead(side)
                        )
                    },
                );
                format!(
                    "{offline} may choose the version with the better {other}: {gap} (n = {n} versions)."
                )
            }
            Trust::Dont => format!(
                "{offline} chooses the version with the worse {other}: a better {offline} goes with \
                 a worse {side} figure (n = {n} versions)."
            ),
            Trust::Depends => format!(
                "{offline} must not choose across the mix: within groups of the samples it goes the \
                 other way than pooled (n = {n} versions)."
            ),
            Trust::CantTell if main.conclusion == Conclusion::Together => format!(
                "{offline} and {other} go together over these {n} versions, but so few, measured this \
                 well, find even a close connection in fewer than half of such studies: a hint, not \
                 yet a reason to choose by {offline}."
            ),
            Trust::CantTell => format!(
                "{n} version{} can't show whether {offline} chooses the version with the better \
                 {other}.",
                if n == 1 { "" } else { "s" }
            ),
        }
    }

    fn advise(&self, main: &MetricPair, second: SecondSide) -> String {
        let better = || {
            let best = self
                .best
                .as_ref()
                .filter(|best| best.offline != main.offline)?;
            (best.rises && best.nested_share > 0.0).then(|| {
                format!(
                    "Choose by {} instead, which predicts {} better, and check it on new versions.",
                    best.offline, best.second
                )
            })
        };
        match self.trust {
            Trust::Depends => "Compare within each language (--by version,language), or weight \
                               holes to the mix that people see."
                .to_owned(),
            Trust::Dont => better().unwrap_or_else(|| {
                "Choose by the second side's figure, and look at the versions that disagree most."
                    .to_owned()
            }),
            Trust::Trust => main.advice.clone().unwrap_or_else(|| {
                format!(
                    "Predict the next version's {} before it ships, and check the prediction after.",
                    main.second
                )
            }),
            Trust::CantTell => main.advice.clone().or_else(better).unwrap_or_else(|| {
                match main.points.len() {
                    0..=2 => "Measure at least 4 versions on both sides; with fewer no correlation \
                              can differ from chance."
                        .to_owned(),
                    _ => format!(
                        "Try another offline metric: this number of versions, with this measurement error, would show \
                         a close connection with {} {}.",
                        second.name(),
                        main.second
                    ),
                }
            }),
        }
    }

    /// Returns the figures behind the decision, in sentences that name the language as its own
    /// does.
    pub(super) fn details(
        &self,
        main: &MetricPair,
        second: SecondSide,
        labels: &[&str],
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let side = second.name();
        if let Some(selection) = &self.selection {
            let label = main
                .points
                .get(selection.chosen)
                .and_then(|point| labels.get(point.version))
                .copied()
                .unwrap_or_default();
            lines.push(format!(
                "{label} has the best {} and is truly the best of these {} versions {side} with \
                 probability {}; picking it costs {} of {}, expected (95 % range {} to {}).",
                main.offline,
                main.points.len(),
                format::decimals(selection.probability, 2),
                format::gap(main.second_unit, selection.regret.value),
                main.second,
                format::gap(main.second_unit, selection.regret.low.unwrap_or(0.0)),
                format::gap(main.second_unit, selection.regret.high.unwrap_or(0.0)),
            ));
        }
        lines.push(match self.smallest_gap {
            Some(gap) => format!(
                "Smallest gap worth trusting: {} of {}; of two new versions, the one that is at \
                 least so far ahead is {}.",
                format::gap(main.offline_unit, gap),
                main.offline,
                estimated_to_lead(side)
            ),
            None => format!(
                "No gap of {} is worth trusting yet: none reaches an estimated probability of .9.",
                main.offline
            ),
        });
        for one in &self.predictions {
            let bound = |bound: Option<f64>| {
                bound.map_or_else(|| "?".to_owned(), |it| format::value(main.second_unit, it))
            };
            lines.push(format!(
                "{} ({} {}) is predicted to measure {} {} [{}, {}]{}.",
                one.version,
                main.offline,
                format::value(main.offline_unit, one.offline),
                main.second,
                format::value(main.second_unit, one.second.value),
                bound(one.second.low),
                bound(one.second.high),
                match one.extrapolated {
                    true => ", outside the range of the measured versions",
                    false => "",
                }
            ));
        }
        lines.extend(self.best.as_ref().map(BestPair::sentence));
        lines.extend(self.views.iter().map(ViewGain::sentence));
        lines.extend(
            self.weighted
                .iter()
                .map(|one| one.sentence(&main.offline, side)),
        );
        let language = main.language_prefix();
        lines
            .into_iter()
            .map(|line| format!("{language}{line}"))
            .collect()
    }
}

impl BestPair {
    /// Says how well the metric predicts. A share of 0 or less is no better than the mean.
    fn sentence(&self) -> String {
        let Self { pairs, second, .. } = self;
        let others = self.versions - 1;
        if self.share <= 0.0 {
            return format!(
                "None of {pairs} offline metrics predicts {second} better than its mean does, each \
                 version predicted from the other {others}."
            );
        }
        let nested = match self.nested_share {
            share if share > 0.0 => format!("{:.0} %", share * 100.0),
            _ => "none of it".to_owned(),
        };
        format!(
            "Of {pairs} offline metrics {} predicts {second} best: {:.0} % of its variance, each \
             version predicted from the other {others}, and {nested} if the choice of the metric \
             is left to them too.",
            self.offline,
            self.share * 100.0
        )
    }
}

/// Returns the meaning of a gap of [`TRUSTED`] for the version ahead, with its share in
/// simulations: see `decision_tests` of the metrics.
fn estimated_to_lead(side: &str) -> String {
    format!(
        "estimated to measure better {side} with probability .9 (75 to 95 % in simulations with a \
         true r of .5 or more)"
    )
}

/// Predicts the second figure of versions that have offline figures only.
fn predict(
    main: &MetricPair,
    line: &LinearPrediction,
    input: &DecisionInput<'_>,
) -> Vec<VersionPrediction> {
    let values = main.values();
    let first =
        |pick: fn(f64, f64) -> f64, from: f64| values.iter().map(|it| it.0).fold(from, pick);
    let (least, most) = (
        first(f64::min, f64::INFINITY),
        first(f64::max, f64::NEG_INFINITY),
    );
    let predictions = input.offline_only.iter().filter_map(|version| {
        let key = FigureKey::new(version, main.language.as_deref(), &main.offline);
        let offline = input.offline.get(&key)?.figure.value()?;
        let mut second = line.predict(offline);
        // A line has no bounds, but a share has.
        let range = main.second_unit.range();
        second.value = second.value.clamp(*range.start(), *range.end());
        second = second.within(range);
        Some(VersionPrediction {
            version: full_name(version),
            offline,
            second,
            extrapolated: offline < least || offline > most,
        })
    });
    predictions.collect()
}

/// The offline metric that predicts the main pair's second metric best, among those that the same
/// versions have.
fn best_pair(pairs: &[MetricPair]) -> Option<BestPair> {
    let main = pairs.first()?;
    let versions = |pair: &MetricPair| -> Vec<usize> {
        pair.points.iter().map(|point| point.version).collect()
    };
    let all: Vec<&MetricPair> = pairs
        .iter()
        .filter(|pair| pair.second == main.second && pair.language == main.language)
        // Shares of variance are comparable only over the same versions.
        .filter(|pair| versions(pair) == versions(main))
        .collect();
    let firsts: Vec<Vec<f64>> = all
        .iter()
        .map(|pair| pair.values().iter().map(|it| it.0).collect())
        .collect();
    let second: Vec<f64> = main.values().iter().map(|it| it.1).collect();
    let best = best_predictor(&firsts, &second)?;
    let pair = all[best.index];
    // A single metric leaves no choice.
    (all.len() > 1).then(|| BestPair {
        offline: pair.offline.clone(),
        second: main.second.clone(),
        rises: pair.rises() == Some(true),
        share: best.share,
        nested_share: best.nested_share,
        pairs: all.len(),
        versions: second.len(),
    })
}

#[cfg(test)]
mod tests;
