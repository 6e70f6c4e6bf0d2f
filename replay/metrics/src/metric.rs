//! Names, units and number formats of figures.
//!
//! [`METRICS`] lists every metric. No other code scales values by a metric's name.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::interval::Estimate;
use crate::interval::clustered::{clustered_share, clustered_weighted_mean};

/// A metric: its name, the unit of its values, what its n counts, and which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name with its variant, e.g. `es/cceval-difflib`. In a family, `@k`, `@ms` and `@s` are
    /// placeholders for any number.
    pub name: &'static str,
    /// The name in plain words, for readers of reports. In a family, `#` stands for the number: see
    /// [`Metric::title_of`].
    pub title: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Samples that an estimate's n counts.
    pub denominator: &'static str,
    /// True if a higher value is better.
    pub higher_is_better: bool,
    /// One phrase on what it measures.
    pub meaning: &'static str,
}

impl Metric {
    /// Returns the metric of a figure's name.
    ///
    /// # Panics
    /// If no metric has the name: figures are named by the constants of this table.
    pub fn of_figure(name: &str) -> Self {
        Self::find(name).unwrap_or_else(|| panic!("`{name}` is not in the table of metrics"))
    }

    /// Returns the name in plain words of this metric or, in a family, of the member with this name.
    pub fn title_of(&self, name: &str) -> String {
        let number = name.split_once('@').map_or("", |(_, number)| number);
        self.title.replace('#', number)
    }

    /// Returns the metric of this name: one of [`METRICS`], a member of a family such as
    /// `pass@10`, or any of these for one policy or view, e.g. `late(line)` or
    /// `pass@1, as-written`.
    pub fn find(name: &str) -> Option<Self> {
        let with_name = |wanted: &str| {
            METRICS.iter().copied().find(|metric| {
                let families = metric.name.split_once('@').zip(wanted.split_once('@'));
                metric.name == wanted
                    || families.is_some_and(|((family, parameter), (other, number))| {
                        let is_family = parameter.parse::<u64>().is_err();
                        family == other && is_family && number.parse::<u64>().is_ok()
                    })
            })
        };
        with_name(name).or_else(|| {
            // A policy's name may contain a comma, as in `late(line, as-written)`.
            let (metric, _) = match name.strip_suffix(')') {
                Some(of_policy) => of_policy.rsplit_once('(')?,
                None => name.split_once(", ")?,
            };
            with_name(metric)
        })
    }
}

/// Unit of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// 0 or 1 for each sample, shown in %; the mean is a proportion.
    ZeroOrOne,
    /// From 0 to 1, shown in %.
    Fraction,
    /// A fraction that is saved, shown in %: at most 1, and negative if more is spent instead.
    Saving,
    /// From 0 to 100. Edit similarities in percent are whole numbers for each sample.
    Percent,
    /// Milliseconds.
    Milliseconds,
    /// Tokens of a model.
    Tokens,
    /// A number of things, which the metric's name says.
    Number,
    /// An amount in the currency of the prices.
    Money,
}

impl Unit {
    /// The least and the greatest value.
    pub fn range(self) -> RangeInclusive<f64> {
        match self {
            Self::ZeroOrOne | Self::Fraction => 0.0..=1.0,
            Self::Saving => f64::NEG_INFINITY..=1.0,
            Self::Percent => 0.0..=100.0,
            Self::Milliseconds | Self::Tokens | Self::Number | Self::Money => 0.0..=f64::INFINITY,
        }
    }

    /// Returns the number format of values in reports.
    pub fn format(self) -> NumberFormat {
        let (scale, symbol, decimals) = match self {
            Self::ZeroOrOne | Self::Fraction | Self::Saving => (100.0, "%", 1),
            Self::Percent => (1.0, "of 100", 1),
            Self::Milliseconds => (1.0, "ms", 1),
            Self::Tokens => (1.0, "tokens", 1),
            Self::Number => (1.0, "", 1),
            Self::Money => (1.0, "in the price's currency", 4),
        };
        NumberFormat {
            scale,
            symbol,
            decimals,
            signed: false,
        }
    }

    /// The most that two values can differ by; infinite if nothing bounds them.
    pub fn span(self) -> f64 {
        let range = self.range();
        range.end() - range.start()
    }

    /// The mean of samples in this unit, each with its cluster and its weight, with an interval
    /// that stays within the [`range`](Self::range): [`clustered_share`]'s if that is finite.
    pub fn mean<K: Ord>(self, samples: &[(K, f64, f64)]) -> Option<Estimate> {
        let span = self.span();
        if !span.is_finite() {
            return Some(clustered_weighted_mean(samples)?.within(self.range()));
        }
        let samples: Vec<(&K, f64, f64)> = samples
            .iter()
            .map(|(cluster, weight, value)| (cluster, *weight, value / span))
            .collect();
        Some(clustered_share(&samples)?.scaled(span))
    }

    /// Writes an estimate's parts in this unit's [`format`](Self::format).
    pub fn render(self, estimate: &Estimate) -> FigureText {
        self.format().render(estimate)
    }
}

/// Number format of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NumberFormat {
    /// Factor by which a value is multiplied.
    pub scale: f64,
    /// Unit of the scaled values, e.g. `%`.
    pub symbol: &'static str,
    /// Number of decimals.
    pub decimals: usize,
    /// True if positive numbers have a sign, as in differences.
    pub signed: bool,
}

impl NumberFormat {
    /// The same with another number of decimals.
    #[must_use]
    pub fn with_decimals(self, decimals: usize) -> Self {
        Self { decimals, ..self }
    }

    /// The same for differences: positive numbers have a sign.
    #[must_use]
    pub fn with_sign(self) -> Self {
        Self {
            signed: true,
            ..self
        }
    }

    /// As [`with_sign`](Self::with_sign), with the unit named: shares differ by points.
    #[must_use]
    pub fn with_sign_in_points(self) -> Self {
        let symbol = match self.symbol {
            "%" => "points",
            symbol => symbol,
        };
        Self {
            symbol,
            ..self.with_sign()
        }
    }

    /// Writes a value without the symbol. Zero has no sign.
    pub fn number(self, value: f64) -> String {
        let text = format!("{:.*}", self.decimals, (value * self.scale).abs());
        let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        let sign = match value {
            _ if is_zero => "",
            _ if value < 0.0 => "−",
            _ if self.signed => "+",
            _ => "",
        };
        format!("{sign}{text}")
    }

    /// Writes an estimate's parts. This is the one place where cells of tables and pages come
    /// from.
    pub fn render(self, estimate: &Estimate) -> FigureText {
        let bound = |bound: Option<f64>| bound.map_or_else(|| "?".to_owned(), |it| self.number(it));
        FigureText {
            value: self.number(estimate.value),
            interval: format!("[{}, {}]", bound(estimate.low), bound(estimate.high)),
            n: estimate.n,
            clusters: estimate.clusters,
            symbol: self.symbol,
        }
    }
}

/// A figure as text: its value, its interval and its n, never one without the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FigureText {
    /// The value, scaled, without its symbol.
    pub value: String,
    /// Both bounds in brackets, `?` for a bound that the data do not support.
    pub interval: String,
    /// The number of samples.
    pub n: usize,
    /// The number of clusters that they come in, if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<usize>,
    /// Unit of the value, e.g. `%`.
    pub symbol: &'static str,
}

impl FigureText {
    /// Three lines for a cell of a table whose header or footnote names the unit.
    pub fn lines(&self) -> String {
        format!("{}\n{}\n{}", self.value, self.interval, self.size())
    }

    /// The number of samples, and of the clusters that they come in.
    pub fn size(&self) -> String {
        match self.clusters {
            Some(clusters) => format!("n {} in {clusters}", self.n),
            None => format!("n {}", self.n),
        }
    }

    /// One line for a cell of a table whose header or footnote names the unit.
    pub fn line(&self) -> String {
        format!("{} {} {}", self.value, self.interval, self.size())
    }

    /// One line with the unit, for a sentence.
    pub fn sentence(&self) -> String {
        let Self {
            value,
            interval,
            symbol,
            ..
        } = self;
        let unit = match *symbol {
            "" => String::new(),
            symbol => format!(" {symbol}"),
        };
        format!("{value}{unit} {interval}, {}", self.size())
    }
}

const fn metric(
    name: &'static str,
    title: &'static str,
    unit: Unit,
    denominator: &'static str,
    higher_is_better: bool,
    meaning: &'static str,
) -> Metric {
    Metric {
        name,
        title,
        unit,
        denominator,
        higher_is_better,
        meaning,
    }
}

/// The probability that a completion makes all tests pass.
pub const PASS_AT_1: Metric = metric(
    "pass@1",
    "pass@1",
    Unit::Fraction,
    "holes",
    true,
    "probability that a completion makes all tests pass, mean over holes",
);

/// The family of [`pass_at_k`](crate::pass_at_k).
pub const PASS_AT_K: Metric = metric(
    "pass@k",
    "pass@#",
    Unit::Fraction,
    "holes with as many verdicts",
    true,
    "probability that one of k completions makes all tests pass, mean over holes",
);

/// The family of [`pass_within`](crate::pass_within).
pub const PASS_WITHIN: Metric = metric(
    "pass-within@ms",
    "passed within # ms",
    Unit::Fraction,
    "holes",
    true,
    "share of holes whose completion makes all tests pass and arrived within so many milliseconds",
);

/// The pass rate in which a hole's weight is its mutation score: a pass counts little if the tests
/// hardly distinguish right from wrong.
pub const WEIGHTED_PASS: Metric = metric(
    "pass@1/mutation-weighted",
    "pass@1, weighted by mutation score",
    Unit::Fraction,
    "the holes that have one",
    true,
    "pass@1 in which each hole counts as much as its mutation score",
);

/// The share of offered completions that an [`oracle_prefix`](crate::oracle_prefix) developer
/// accepts. Simulated.
pub const ORACLE_ACCEPTANCE: Metric = metric(
    "acceptance/oracle-prefix",
    "accepted by a simulated developer",
    Unit::ZeroOrOne,
    "completions offered",
    true,
    "completions that a simulated developer, not a person, accepts who takes what is a prefix of \
     what it was about to type",
);

/// [`dependency_invocation_rate`](crate::dependency_invocation_rate) of the repository's names.
pub const INVOCATION: Metric = metric(
    "DIR/repository",
    "repository names used",
    Unit::Fraction,
    "attempts at holes with such names",
    true,
    "share of the repository's names which the reference uses that the completion uses too",
);

/// [`dependency_invocation_rate`](crate::dependency_invocation_rate) as RepoExec's script counts.
pub const SCRIPT_INVOCATION: Metric = metric(
    "DIR/repoexec",
    "repository names used (RepoExec)",
    Unit::Fraction,
    "attempts at holes with such names",
    true,
    "DIR/repository as RepoExec's script computes it: imported names count, and a function's \
     signature and documentation don't",
);

/// The share of completions that add no type error, by TypeScript's checker.
pub const TYPE_CHECK: Metric = metric(
    "type_check/tsc",
    "no new type error",
    Unit::ZeroOrOne,
    "the attempts it was asked about",
    true,
    "completions that add no error of TypeScript's checker",
);

/// The share of shown completions that were accepted (Ziegler et al. 2022,
/// <https://doi.org/10.1145/3520312.3534864>).
pub const ACCEPTANCE_SHOWN: Metric = metric(
    "acceptance/shown",
    "accepted, of shown",
    Unit::ZeroOrOne,
    "completions shown",
    true,
    "of completions shown, those accepted",
);

/// The share of completions shown for [`READ_MS`](crate::READ_MS) or longer, or accepted, that
/// were accepted.
pub const ACCEPTANCE_READ: Metric = metric(
    "acceptance/read",
    "accepted, of read",
    Unit::ZeroOrOne,
    "completions shown so long or accepted",
    true,
    "of completions shown for 750 ms or longer, or accepted, those accepted",
);

/// [`ACCEPTANCE_READ`], weighted by characters.
pub const ACCEPTANCE_CHARACTERS: Metric = metric(
    "acceptance/chars",
    "accepted characters, of read",
    Unit::Fraction,
    "completions shown so long or accepted",
    true,
    "as acceptance/read, weighted by characters",
);

/// The share of pairs in which a model's completion was chosen.
pub const ACCEPTANCE_PAIRS: Metric = metric(
    "acceptance/pairs",
    "chosen, of pairs",
    Unit::ZeroOrOne,
    "pairs shown",
    true,
    "of pairs shown, those in which the model's completion was chosen",
);

/// Accepted characters, of all that entered a file.
pub const COMPLETED_CODE: Metric = metric(
    "completed-code",
    "completed code",
    Unit::Fraction,
    "holes or files",
    true,
    "accepted characters, of all that entered the file",
);

/// 1 − keys / characters of the reference, over all holes.
pub const KEYSTROKES_SAVED: Metric = metric(
    "keystrokes-saved",
    "keystrokes saved",
    Unit::Saving,
    "holes",
    true,
    "1 − keys / characters of the reference",
);

/// The share of accepted completions that pass the tests in place of the rest of the hole.
pub const PASS_GIVEN_ACCEPTED: Metric = metric(
    "P(pass|accepted)",
    "passed, of accepted",
    Unit::ZeroOrOne,
    "completions accepted and judged",
    true,
    "of completions accepted, those that pass the tests",
);

/// The share of completions shown at an empty hole that pass which were accepted.
pub const ACCEPTED_GIVEN_PASS: Metric = metric(
    "P(accepted|pass)",
    "accepted, of passing",
    Unit::ZeroOrOne,
    "completions shown at an empty hole that pass",
    true,
    "of completions shown at an empty hole that pass the tests, those accepted",
);

/// The share of accepted completions that fail the tests.
pub const WASTED_ACCEPT: Metric = metric(
    "wasted-accept",
    "failed, of accepted",
    Unit::ZeroOrOne,
    "completions accepted and judged",
    false,
    "of completions accepted, those that fail the tests",
);

/// The share of accepted completions of which something was removed again.
pub const REPAIRED: Metric = metric(
    "repaired",
    "partly removed, of accepted",
    Unit::ZeroOrOne,
    "completions accepted",
    false,
    "of completions accepted, those of which something was removed again",
);

/// The share of requests whose answer was not there before the next key.
pub const LATE: Metric = metric(
    "late",
    "late answers",
    Unit::ZeroOrOne,
    "requests",
    false,
    "of requests, those whose answer was not there before the next key",
);

/// Accepted characters that stayed, a minute of the developer's time.
pub const ACCEPTED_PER_MINUTE: Metric = metric(
    "accepted-characters/minute",
    "accepted characters a minute",
    Unit::Number,
    "holes",
    true,
    "accepted characters that stayed, a minute of the typist's clock",
);

/// Completions shown and not accepted, for each that was accepted.
pub const INTERRUPTIONS: Metric = metric(
    "interruptions/accept",
    "interruptions for each acceptance",
    Unit::Number,
    "completions shown",
    false,
    "completions shown and not accepted, for each accepted one",
);

/// The family of accepted completions that are still there, nearly unchanged, the given number of
/// seconds later.
pub const RETAINED: Metric = metric(
    "retained@s",
    "retained after # s",
    Unit::ZeroOrOne,
    "completions accepted and observed that long",
    true,
    "of completions accepted, those still there nearly unchanged after so many seconds",
);

/// The family of accepted completions that are still there in part the given number of seconds
/// later.
pub const STILL_IN_CODE: Metric = metric(
    "still-in-code@s",
    "partly retained after # s",
    Unit::ZeroOrOne,
    "completions accepted and observed that long",
    true,
    "of completions accepted, those still there in part after so many seconds",
);

/// The median time from a request to its answer.
pub const MEDIAN_LATENCY: Metric = metric(
    "latency_ms/median",
    "latency, median",
    Unit::Milliseconds,
    "answers",
    false,
    "median time from request to answer, as the editor sees it",
);

/// The 90th percentile of the time from a request to its answer.
pub const LATENCY_P90: Metric = metric(
    "latency_ms/p90",
    "latency, 90th percentile",
    Unit::Milliseconds,
    "answers",
    false,
    "90th percentile of the time from request to answer, as the editor sees it",
);

/// The median time from a request to the first text of its answer.
pub const FIRST_TEXT_MEDIAN: Metric = metric(
    "first_text_ms/median",
    "first text, median",
    Unit::Milliseconds,
    "answers of models that stream",
    false,
    "median time from request to the model's first text",
);

/// The 90th percentile of the time from a request to the first text of its answer.
pub const FIRST_TEXT_P90: Metric = metric(
    "first_text_ms/p90",
    "first text, 90th percentile",
    Unit::Milliseconds,
    "answers of models that stream",
    false,
    "90th percentile of the time from request to the model's first text",
);

/// The mean number of tokens of the prompts for a completion.
pub const PROMPT_TOKENS: Metric = metric(
    "tokens/prompt",
    "prompt tokens",
    Unit::Tokens,
    "completions by a model's server",
    false,
    "mean number of tokens of the prompts that were sent for a completion",
);

/// The mean number of tokens that were generated for a completion.
pub const COMPLETION_TOKENS: Metric = metric(
    "tokens/completion",
    "completion tokens",
    Unit::Tokens,
    "completions by a model's server",
    false,
    "mean number of tokens that were generated for a completion",
);

/// The mean cost of a thousand completions.
pub const COST: Metric = metric(
    "cost/1000",
    "cost of 1,000 completions",
    Unit::Money,
    "completions by a model with a price",
    false,
    "mean cost of 1,000 completions by the prices in the settings",
);

const fn text_metric(
    name: &'static str,
    title: &'static str,
    unit: Unit,
    meaning: &'static str,
) -> Metric {
    metric(name, title, unit, "attempts", true, meaning)
}

/// Lines equal the reference's, as CrossCodeEval compares them.
pub const EM_CCEVAL: Metric = text_metric(
    "em/cceval",
    "exact match (CrossCodeEval)",
    Unit::ZeroOrOne,
    "completions whose first statement equals the whole reference, as CrossCodeEval compares them, \
     so that a reference of several statements may differ from itself",
);

/// Tokens equal the reference's, as RepoBench compares them.
pub const EM_TOKENS: Metric = text_metric(
    "em/tokens",
    "exact match (tokens)",
    Unit::ZeroOrOne,
    "completions whose words between white space equal the reference's, as RepoBench compares them",
);

/// Edit similarity of CrossCodeEval without python-Levenshtein.
pub const ES_CCEVAL_DIFFLIB: Metric = text_metric(
    "es/cceval-difflib",
    "edit similarity (CrossCodeEval, difflib)",
    Unit::Percent,
    "similarity of the first statement to the whole reference, as CrossCodeEval computes it without \
     python-Levenshtein",
);

/// Edit similarity of CrossCodeEval with python-Levenshtein.
pub const ES_CCEVAL_LEVENSHTEIN: Metric = text_metric(
    "es/cceval-levenshtein",
    "edit similarity (CrossCodeEval)",
    Unit::Percent,
    "similarity of the first statement to the whole reference, as CrossCodeEval computes it with \
     python-Levenshtein",
);

/// Edit similarity of RepoCoder.
pub const ES_REPOCODER: Metric = text_metric(
    "es/repocoder",
    "edit similarity (RepoCoder)",
    Unit::Fraction,
    "similarity of the completion's first lines, as many as the reference has, to the reference, as \
     RepoCoder computes it",
);

/// Edit similarity of RepoBench without python-Levenshtein.
pub const ES_REPOBENCH_DIFFLIB: Metric = text_metric(
    "es/repobench-difflib",
    "edit similarity (RepoBench, difflib)",
    Unit::Percent,
    "similarity of the completion to the reference, as RepoBench computes it without \
     python-Levenshtein",
);

/// Edit similarity of RepoBench with python-Levenshtein.
pub const ES_REPOBENCH_LEVENSHTEIN: Metric = text_metric(
    "es/repobench-levenshtein",
    "edit similarity (RepoBench)",
    Unit::Percent,
    "similarity of the completion to the reference, as RepoBench computes it with \
     python-Levenshtein",
);

/// Identifiers equal the reference's in order.
pub const ID_EM_CCEVAL: Metric = text_metric(
    "id_em/cceval",
    "exact match of identifiers (CrossCodeEval)",
    Unit::ZeroOrOne,
    "completions whose first statement has the reference's identifiers in the same order, as \
     CrossCodeEval compares them",
);

/// Share of the prediction's identifiers that the reference has.
pub const ID_PRECISION_CCEVAL: Metric = text_metric(
    "id_precision/cceval",
    "precision of identifiers (CrossCodeEval)",
    Unit::Fraction,
    "share of the first statement's identifiers that the reference has, as CrossCodeEval counts them",
);

/// Share of the reference's identifiers that the prediction has.
pub const ID_RECALL_CCEVAL: Metric = text_metric(
    "id_recall/cceval",
    "recall of identifiers (CrossCodeEval)",
    Unit::Fraction,
    "share of the reference's identifiers that the first statement has, as CrossCodeEval counts them",
);

/// Harmonic mean of the precision and recall of identifiers.
pub const ID_F1_CCEVAL: Metric = text_metric(
    "id_f1/cceval",
    "F1 of identifiers (CrossCodeEval)",
    Unit::Fraction,
    "harmonic mean of the precision and recall of identifiers, as CrossCodeEval computes it",
);

/// Every metric, in the order of reports: tests, text, then what an editor shows.
pub static METRICS: [Metric; 41] = [
    PASS_AT_1,
    PASS_AT_K,
    PASS_WITHIN,
    WEIGHTED_PASS,
    ORACLE_ACCEPTANCE,
    EM_CCEVAL,
    EM_TOKENS,
    ES_CCEVAL_DIFFLIB,
    ES_CCEVAL_LEVENSHTEIN,
    ES_REPOCODER,
    ES_REPOBENCH_DIFFLIB,
    ES_REPOBENCH_LEVENSHTEIN,
    ID_EM_CCEVAL,
    ID_PRECISION_CCEVAL,
    ID_RECALL_CCEVAL,
    ID_F1_CCEVAL,
    INVOCATION,
    SCRIPT_INVOCATION,
    TYPE_CHECK,
    ACCEPTANCE_SHOWN,
    ACCEPTANCE_READ,
    ACCEPTANCE_CHARACTERS,
    ACCEPTANCE_PAIRS,
    COMPLETED_CODE,
    KEYSTROKES_SAVED,
    PASS_GIVEN_ACCEPTED,
    ACCEPTED_GIVEN_PASS,
    WASTED_ACCEPT,
    REPAIRED,
    LATE,
    ACCEPTED_PER_MINUTE,
    INTERRUPTIONS,
    RETAINED,
    STILL_IN_CODE,
    MEDIAN_LATENCY,
    LATENCY_P90,
    FIRST_TEXT_MEDIAN,
    FIRST_TEXT_P90,
    PROMPT_TOKENS,
    COMPLETION_TOKENS,
    COST,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn metrics_are_found_by_name_family_policy_and_view() {
        for metric in METRICS {
            assert_eq!(Metric::find(metric.name), Some(metric));
        }
        let find = |name| Metric::find(name).map(|metric| metric.name);
        assert_eq!(find("pass@10"), Some("pass@k"));
        assert_eq!(find("retained@30"), Some("retained@s"));
        assert_eq!(find("keystrokes-saved(line)"), Some("keystrokes-saved"));
        assert_eq!(find("P(pass|accepted)(line)"), Some("P(pass|accepted)"));
        assert_eq!(find("late(line, as-written)"), Some("late"));
        assert_eq!(find("pass@1, as-written"), Some("pass@1"));
        assert_eq!(find("es/cceval-difflib"), Some("es/cceval-difflib"));
        assert_eq!(find("pass@"), None);
        assert_eq!(find("pass@1/other"), None);
        assert_eq!(find("es"), None);
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        let titles: BTreeSet<&str> = METRICS.iter().map(|metric| metric.title).collect();
        assert_eq!(titles.len(), METRICS.len());
        let title = |name| Metric::of_figure(name).title_of(name);
        assert_eq!(title("pass@10"), "pass@10");
        assert_eq!(title("pass-within@300"), "passed within 300 ms");
        assert_eq!(title("em/tokens"), "exact match (tokens)");
    }

    #[test]
    fn estimates_are_scaled_by_unit() {
        let estimate = Estimate {
            value: 0.125,
            low: Some(-0.0004),
            high: None,
            n: 7,
            clusters: Some(3),
        };
        let lines = |unit: Unit| unit.render(&estimate).lines();
        assert_eq!(lines(Unit::Fraction), "12.5\n[0.0, ?]\nn 7 in 3");
        assert_eq!(lines(Unit::Percent), "0.1\n[0.0, ?]\nn 7 in 3");
        let format = Unit::Fraction.format().with_decimals(2).with_sign();
        let text = format.render(&estimate).sentence();
        assert_eq!(text, "+12.50 % [−0.04, ?], n 7 in 3");
    }
}
