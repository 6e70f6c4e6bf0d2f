//! Text metrics: from a prediction and its reference to a number.
//!
//! Every metric that has rivals is a named variant. [`TEXT_METRICS`] is the table that reports
//! iterate over.

pub(crate) mod cceval;
pub(crate) mod dependencies;
pub(crate) mod edit;
pub(crate) mod identifiers;
mod python;
pub(crate) mod sample;

use std::cell::OnceCell;
use std::ops::RangeInclusive;

use serde::Serialize;

use cceval::Cleaned;
use sample::Sample;

/// A named text metric.
#[derive(Debug)]
pub struct TextMetric {
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
pub static TEXT_METRICS: [TextMetric; 11] = [
    TextMetric {
        name: "em/cceval",
        unit: Unit::ZeroOrOne,
        measure: Measure::Cleaned(cceval::exact_match),
    },
    TextMetric {
        name: "em/tokens",
        unit: Unit::ZeroOrOne,
        measure: Measure::Raw(token_match),
    },
    TextMetric {
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
    TextMetric {
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
    TextMetric {
        name: "es/repocoder",
        unit: Unit::Fraction,
        measure: Measure::Raw(edit::repocoder_similarity),
    },
    TextMetric {
        name: "es/repobench-difflib",
        unit: Unit::Percent,
        measure: Measure::Raw(|prediction, reference| {
            edit::fuzz_ratio(reference, prediction, edit::difflib_ratio)
        }),
    },
    TextMetric {
        name: "es/repobench-levenshtein",
        unit: Unit::Percent,
        measure: Measure::Raw(|prediction, reference| {
            edit::fuzz_ratio(reference, prediction, edit::indel_ratio)
        }),
    },
    TextMetric {
        name: "id_em/cceval",
        unit: Unit::ZeroOrOne,
        measure: Measure::Cleaned(|cleaned| identifiers::exact_match(cleaned.identifiers())),
    },
    TextMetric {
        name: "id_precision/cceval",
        unit: Unit::Fraction,
        measure: Measure::Cleaned(|cleaned| {
            identifiers::overlap(cleaned.identifiers()).precision()
        }),
    },
    TextMetric {
        name: "id_recall/cceval",
        unit: Unit::Fraction,
        measure: Measure::Cleaned(|cleaned| identifiers::overlap(cleaned.identifiers()).recall()),
    },
    TextMetric {
        name: "id_f1/cceval",
        unit: Unit::Fraction,
        measure: Measure::Cleaned(|cleaned| identifiers::overlap(cleaned.identifiers()).f1()),
    },
];

impl TextMetric {
    /// The metric of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TEXT_METRICS.iter().find(|metric| metric.name == name)
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
    pub fn score(&self, metric: &TextMetric) -> f64 {
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

/// The value of every metric for one sample, in the order of [`TEXT_METRICS`].
pub fn text_scores(sample: &Sample<'_>) -> Vec<(&'static TextMetric, f64)> {
    let scorer = Scorer::new(*sample);
    TEXT_METRICS
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
    f64::from(python::split(prediction).eq(python::split(reference)))
}

#[cfg(test)]
mod tests;
