//! Metrics: pure functions from a prediction and its reference to a number.
//!
//! Every metric that has rivals is a named variant. [`METRICS`] is the table reports iterate
//! over; [`Sample`] is what each of its rows is given. Metrics of what tests and people made of
//! a completion take their outcomes; the mutation score is [`crate::mutate::MutationScore`].

mod acceptance;
mod cceval;
mod dependencies;
mod edit;
mod execution;
mod identifiers;
mod language;
mod python;

pub use acceptance::{READ_MS, first_line, first_token, oracle_prefix};
pub use cceval::{remove_comments_cceval, truncate_cceval};
pub use dependencies::dependency_invocation_rate;
pub use edit::{difflib_ratio, indel_distance, levenshtein};
pub use execution::{AcceptedAndPassed, mutation_weighted_pass_rate, pass_at_k};
pub use identifiers::identifiers_cceval;
pub use language::ScoringLanguage;

use std::cell::OnceCell;
use std::ops::RangeInclusive;

use cceval::Cleaned;
use serde::Serialize;

/// One prediction beside the code it should have been.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The language of the file. It chooses the truncation rule and the keyword list.
    pub language: ScoringLanguage,
    /// What stands in the file before the hole. Truncation parses it together with the
    /// prediction; cross-file context does not belong here.
    pub prompt: &'a str,
    /// What the model wrote, as it came: each metric cuts it as its own definition says.
    pub prediction: &'a str,
    /// What stood in the hole.
    pub reference: &'a str,
}

/// A named text metric.
#[derive(Debug)]
pub struct Metric {
    /// The name a report prints, with its variant: `es/cceval-difflib`.
    pub name: &'static str,
    /// What the values are counted in.
    pub unit: Unit,
    measure: Measure,
}

/// What the values of a metric are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// 0 or 1 for each sample; the mean is a proportion.
    ZeroOrOne,
    /// From 0 to 1.
    Fraction,
    /// From 0 to 100. The edit similarities counted so are whole numbers for each sample.
    Percent,
}

impl Unit {
    /// The least and the greatest value.
    pub fn range(self) -> RangeInclusive<f64> {
        match self {
            Self::ZeroOrOne | Self::Fraction => 0.0..=1.0,
            Self::Percent => 0.0..=100.0,
        }
    }
}

/// Every text metric, in the order reports print them.
pub static METRICS: [Metric; 11] = [
    Metric {
        name: "em/cceval",
        unit: Unit::ZeroOrOne,
        measure: Measure::Cleaned(cceval::exact_match),
    },
    Metric {
        name: "em/tokens",
        unit: Unit::ZeroOrOne,
        measure: Measure::Raw(token_match),
    },
    Metric {
        name: "es/cceval-difflib",
        unit: Unit::Percent,
        measure: Measure::Cleaned(|cleaned| {
            edit::fuzz_ratio(
                python::strip(&cleaned.prediction),
                python::strip(&cleaned.reference),
                edit::difflib_ratio,
            )
        }),
    },
    Metric {
        name: "es/cceval-levenshtein",
        unit: Unit::Percent,
        measure: Measure::Cleaned(|cleaned| {
            edit::fuzz_ratio(
                python::strip(&cleaned.prediction),
                python::strip(&cleaned.reference),
                edit::indel_ratio,
            )
        }),
    },
    Metric {
        name: "es/repocoder",
        unit: Unit::Fraction,
        measure: Measure::Raw(edit::repocoder_similarity),
    },
    Metric {
        name: "es/repobench-difflib",
        unit: Unit::Percent,
        measure: Measure::Raw(|prediction, reference| {
            edit::fuzz_ratio(reference, prediction, edit::difflib_ratio)
        }),
    },
    Metric {
        name: "es/repobench-levenshtein",
        unit: Unit::Percent,
        measure: Measure::Raw(|prediction, reference| {
            edit::fuzz_ratio(reference, prediction, edit::indel_ratio)
        }),
    },
    Metric {
        name: "id_em/cceval",
        unit: Unit::ZeroOrOne,
        measure: Measure::Cleaned(identifiers::exact_match),
    },
    Metric {
        name: "id_precision/cceval",
        unit: Unit::Fraction,
        measure: Measure::Cleaned(|cleaned| identifiers::overlap(cleaned).precision()),
    },
    Metric {
        name: "id_recall/cceval",
        unit: Unit::Fraction,
        measure: Measure::Cleaned(|cleaned| identifiers::overlap(cleaned).recall()),
    },
    Metric {
        name: "id_f1/cceval",
        unit: Unit::Fraction,
        measure: Measure::Cleaned(|cleaned| identifiers::overlap(cleaned).f1()),
    },
];

impl Metric {
    /// The metric of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }

    /// Whether the prediction is cut to its first statement before this metric looks at it. Such
    /// a metric depends on the prompt.
    pub fn truncates(&self) -> bool {
        matches!(self.measure, Measure::Cleaned(_))
    }

    /// The value for one sample, exact, in the metric's [`Unit`]. For several metrics of one
    /// sample, [`Scorer`] is faster.
    pub fn score(&self, sample: &Sample<'_>) -> f64 {
        Scorer::new(*sample).score(self)
    }
}

/// One sample under several metrics: the prediction is truncated once, when the first metric
/// asks for it.
#[derive(Debug)]
pub struct Scorer<'a> {
    sample: Sample<'a>,
    cleaned: OnceCell<Cleaned<'a>>,
}

impl<'a> Scorer<'a> {
    /// A scorer of this sample.
    pub fn new(sample: Sample<'a>) -> Self {
        Self {
            sample,
            cleaned: OnceCell::new(),
        }
    }

    /// The metric's value, exact, in its [`Unit`].
    pub fn score(&self, metric: &Metric) -> f64 {
        match metric.measure {
            Measure::Raw(function) => function(self.sample.prediction, self.sample.reference),
            Measure::Cleaned(function) => function(self.cleaned()),
        }
    }

    /// The prediction's first statement, [`truncate_cceval`].
    pub fn truncated(&self) -> &'a str {
        self.cleaned().truncated
    }

    fn cleaned(&self) -> &Cleaned<'a> {
        self.cleaned.get_or_init(|| Cleaned::new(&self.sample))
    }
}

/// The value of every metric for one sample, in the order of [`METRICS`].
pub fn scores(sample: &Sample<'_>) -> Vec<(&'static Metric, f64)> {
    let scorer = Scorer::new(*sample);
    METRICS
        .iter()
        .map(|metric| (metric, scorer.score(metric)))
        .collect()
}

/// What a metric looks at.
#[derive(Debug)]
enum Measure {
    /// Prediction and reference as they are.
    Raw(fn(&str, &str) -> f64),
    /// Both after what CrossCodeEval does before it compares.
    Cleaned(fn(&Cleaned<'_>) -> f64),
}

/// `em/tokens`: the pieces between white space are equal lists, as RepoBench's scorer
/// compares them (<https://github.com/Leolty/repobench>).
fn token_match(prediction: &str, reference: &str) -> f64 {
    indicator(python::split(prediction).eq(python::split(reference)))
}

fn indicator(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests;
