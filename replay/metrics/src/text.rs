//! Text metrics: from a prediction and its reference to a number.
//!
//! Every metric that has rivals is a named variant. [`TEXT_METRICS`] is the one table: a row says
//! how a metric is measured and which tables show it. `score`, reports, comparisons, exports and
//! studies iterate over it.

pub(crate) mod cceval;
pub(crate) mod dependencies;
pub(crate) mod distance;
pub(crate) mod edit;
pub(crate) mod identifiers;
pub(crate) mod leakage;
mod python;
pub(crate) mod sample;

use std::cell::OnceCell;

use cceval::Cleaned;
use sample::Sample;

use crate::metric::{self, Metric};

/// A named text metric.
#[derive(Debug)]
pub struct TextMetric {
    /// Its name, its unit and the rest of what reports say of it.
    pub metric: Metric,
    /// Tables that show it.
    pub shown: Shown,
    measure: Measure,
}

/// Tables that show a text metric. Each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// `fillrate score`.
    Score,
    /// Pages of reports, comparisons, exports and studies.
    Reports,
    /// The terminal's tables.
    Tables,
}

/// Every text metric, in the order reports print them.
pub static TEXT_METRICS: [TextMetric; 11] = [
    TextMetric {
        metric: metric::EM_CCEVAL,
        shown: Shown::Tables,
        measure: Measure::Cleaned(cceval::exact_match),
    },
    TextMetric {
        metric: metric::EM_TOKENS,
        shown: Shown::Reports,
        measure: Measure::Raw(token_match),
    },
    TextMetric {
        metric: metric::ES_CCEVAL_DIFFLIB,
        shown: Shown::Score,
        measure: Measure::Cleaned(|cleaned| {
            edit::fuzz_ratio(
                python::strip(&cleaned.prediction),
                python::strip(&cleaned.reference),
                edit::difflib_ratio,
            )
        }),
    },
    TextMetric {
        metric: metric::ES_CCEVAL_LEVENSHTEIN,
        shown: Shown::Tables,
        measure: Measure::Cleaned(|cleaned| {
            edit::fuzz_ratio(
                python::strip(&cleaned.prediction),
                python::strip(&cleaned.reference),
                edit::indel_ratio,
            )
        }),
    },
    TextMetric {
        metric: metric::ES_REPOCODER,
        shown: Shown::Score,
        measure: Measure::Raw(edit::repocoder_similarity),
    },
    TextMetric {
        metric: metric::ES_REPOBENCH_DIFFLIB,
        shown: Shown::Score,
        measure: Measure::Raw(|prediction, reference| {
            edit::fuzz_ratio(reference, prediction, edit::difflib_ratio)
        }),
    },
    TextMetric {
        metric: metric::ES_REPOBENCH_LEVENSHTEIN,
        shown: Shown::Score,
        measure: Measure::Raw(|prediction, reference| {
            edit::fuzz_ratio(reference, prediction, edit::indel_ratio)
        }),
    },
    TextMetric {
        metric: metric::ID_EM_CCEVAL,
        shown: Shown::Score,
        measure: Measure::Cleaned(|cleaned| identifiers::exact_match(cleaned.identifiers())),
    },
    TextMetric {
        metric: metric::ID_PRECISION_CCEVAL,
        shown: Shown::Score,
        measure: Measure::Cleaned(|cleaned| {
            identifiers::overlap(cleaned.identifiers()).precision()
        }),
    },
    TextMetric {
        metric: metric::ID_RECALL_CCEVAL,
        shown: Shown::Score,
        measure: Measure::Cleaned(|cleaned| identifiers::overlap(cleaned.identifiers()).recall()),
    },
    TextMetric {
        metric: metric::ID_F1_CCEVAL,
        shown: Shown::Tables,
        measure: Measure::Cleaned(|cleaned| identifiers::overlap(cleaned.identifiers()).f1()),
    },
];

/// Text metrics of reports, comparisons, exports and studies.
pub fn reported_text_metrics() -> impl Iterator<Item = &'static TextMetric> {
    TEXT_METRICS
        .iter()
        .filter(|text| text.shown >= Shown::Reports)
}

/// Metrics of the terminal's tables that have a value at each hole: pass@1, then text metrics.
pub fn hole_metrics() -> impl Iterator<Item = Metric> {
    let texts = TEXT_METRICS.iter();
    let shown = texts.filter(|text| text.shown >= Shown::Tables);
    std::iter::once(metric::PASS_AT_1).chain(shown.map(|text| text.metric))
}

impl TextMetric {
    /// The metric of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TEXT_METRICS.iter().find(|text| text.metric.name == name)
    }

    /// True if the prediction is cut to its first statement before it is scored. Such a metric
    /// depends on the prompt.
    pub fn truncates(&self) -> bool {
        matches!(self.measure, Measure::Cleaned(_))
    }

    /// The value for one sample, exact, in the metric's unit. For several metrics of one
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

    /// The metric's value, exact, in its unit.
    pub fn score(&self, metric: &TextMetric) -> f64 {
        match metric.measure {
            Measure::Raw(function) => function(self.sample.prediction, self.sample.reference),
            Measure::Cleaned(function) => function(self.cleaned()),
        }
    }

    /// The prediction as the metrics that truncate compare it: its first statement, without
    /// comments.
    pub fn compared(&self) -> &str {
        &self.cleaned().prediction
    }

    fn cleaned(&self) -> &Cleaned<'a> {
        self.cleaned.get_or_init(|| Cleaned::new(&self.sample))
    }
}

/// Input of a metric, with its function.
#[derive(Debug)]
enum Measure {
    /// Prediction and reference as they are.
    Raw(fn(&str, &str) -> f64),
    /// Both after CrossCodeEval's clean-up.
    Cleaned(fn(&Cleaned<'_>) -> f64),
}

/// `em/tokens`: the pieces between white space are equal lists, as RepoBench's scorer
/// compares them (<https://github.com/Leolty/repobench>).
fn token_match(prediction: &str, reference: &str) -> f64 {
    f64::from(python::split(prediction).eq(python::split(reference)))
}

#[cfg(test)]
mod tests;
