//! A rule by which a comparison fails: `pass@1 of b < a - 2`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use fillrate_metrics::metric::PASS_WITHIN;
use fillrate_metrics::{Estimate, Metric};

use super::{FIGURES, ModelComparison, within_name};

/// A comparison of a model's figure with another model's or with a number. Rates are in percent,
/// times in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureRule {
    /// The rule as it was written.
    text: String,
    metric: String,
    model: String,
    /// True for `<`.
    is_less: bool,
    /// The other model; `None` for a number alone.
    other: Option<String>,
    /// Number added to the other model's figure.
    offset: f64,
}

/// Why a rule can't be read or applied.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// It is not of the form of a rule.
    #[error(
        "`{0}` is no rule; write `FIGURE of MODEL < MODEL - NUMBER`, such as `pass@1 of b < a - 2`, \
         with `>` or `<` and with `+`, `-` or a number alone"
    )]
    Form(String),
    /// It names no figure.
    #[error(
        "`{0}` is no figure of a comparison; name one of the table's columns, such as `pass@1`"
    )]
    Figure(String),
    /// It names a model that is not compared.
    #[error("--fail-if names the model `{0}`; the models are {1}")]
    Model(String, String),
    /// It names passes within a time that is not compared.
    #[error("--fail-if compares `{0}`, and --within {1}; name the same time in both")]
    Within(String, String),
    /// A model lacks the figure.
    #[error("`{rule}` compares `{metric}`, which {model} has not")]
    Missing {
        /// The rule.
        rule: String,
        /// The figure.
        metric: String,
        /// The model.
        model: String,
    },
    /// No hole has the figure of both models.
    #[error("`{0}` compares models that have no hole with this figure in common")]
    NoCommonHole(String),
}

impl FromStr for FailureRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let form = || RuleError::Form(text.to_owned());
        let words: Vec<&str> = text.split_whitespace().collect();
        let [metric, "of", model, sign @ ("<" | ">"), right @ ..] = words.as_slice() else {
            return Err(form());
        };
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        // A model may have a number as its name; the number is meant then.
        let (other, offset) = match right {
            [one] => match number(one) {
                Some(number) => (None, number),
                None => (Some((*one).to_owned()), 0.0),
            },
            [other, sign @ ("+" | "-"), offset] => {
                let offset = number(offset).ok_or_else(form)?;
                let offset = if *sign == "-" { -offset } else { offset };
                (Some((*other).to_owned()), offset)
            }
            _ => return Err(form()),
        };
        // Passes within a time have the time in their name.
        let is_figure = FIGURES.iter().any(|figure| figure.name == *metric)
            || Metric::find(metric) == Some(PASS_WITHIN);
        if !is_figure {
            return Err(RuleError::Figure((*metric).to_owned()));
        }
        Ok(Self {
            text: words.join(" "),
            metric: (*metric).to_owned(),
            model: (*model).to_owned(),
            is_less: *sign == "<",
            other,
            offset,
        })
    }
}

impl Display for FailureRule {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FailureRule {
    /// Checks that a comparison of models with these names can apply the rule.
    ///
    /// # Errors
    /// A model is not compared, or passes within the rule's time are not.
    pub fn check(&self, models: &[String], within_ms: Option<f64>) -> Result<(), RuleError> {
        let mut named = std::iter::once(&self.model).chain(&self.other);
        if let Some(unknown) = named.find(|model| !models.contains(model)) {
            return Err(RuleError::Model(unknown.clone(), models.join(", ")));
        }
        let is_within = Metric::find(&self.metric) == Some(PASS_WITHIN);
        let within = within_ms.map(within_name);
        if is_within && within.as_ref() != Some(&self.metric) {
            let within =
                within.map_or_else(|| "is missing".to_owned(), |name| format!("gives `{name}`"));
            return Err(RuleError::Within(self.metric.clone(), within));
        }
        Ok(())
    }

    /// A sentence if the rule holds, so that the comparison fails; `None` if it does not. Two
    /// models are compared on the holes that both have.
    ///
    /// # Errors
    /// A model lacks the figure, or two have no hole in common.
    pub fn failure(&self, comparison: &ModelComparison) -> Result<Option<String>, RuleError> {
        let format = Metric::of_figure(&self.metric).unit.format();
        let figure = |model: &str, other: Option<&str>| -> Result<_, RuleError> {
            let own = comparison.figure(model, &self.metric);
            let own = own.ok_or_else(|| RuleError::Missing {
                rule: self.text.clone(),
                metric: self.metric.clone(),
                model: model.to_owned(),
            })?;
            let Some(other) = other else {
                return Ok((*own, own.n));
            };
            let common = comparison.common_figure(model, other, &self.metric);
            let common = common.ok_or_else(|| RuleError::NoCommonHole(self.text.clone()))?;
            Ok((*common, own.n))
        };
        // The rule compares what the table shows, such as percent in place of shares.
        let shown = |estimate: &Estimate| estimate.value * format.scale;
        let (left, of_model) = figure(&self.model, self.other.as_deref())?;
        let mut place = String::new();
        let mut right = self.offset;
        if let Some(other) = &self.other {
            let (of_both, of_other) = figure(other, Some(&self.model))?;
            right += shown(&of_both);
            if left.n < of_model || of_both.n < of_other {
                place = format!(" on the {} holes that both have", left.n);
            }
        }
        let left = shown(&left);
        let holds = if self.is_less {
            left < right
        } else {
            left > right
        };
        Ok(holds.then(|| {
            let sign = if self.is_less { '<' } else { '>' };
            format!("`{self}` holds: {left:.1} {sign} {right:.1}{place}")
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fillrate_engine::play::compare::ComparisonEnding;
    use fillrate_metrics::Estimate;

    use super::super::ComparedModel;
    use super::*;

    fn comparison() -> ModelComparison {
        let model = |name: &str, value| ComparedModel {
            model: name.to_owned(),
            name: name.to_owned(),
            run: String::new(),
            holes: 10,
            metrics: BTreeMap::from([(
                "pass@1".to_owned(),
                Estimate {
                    value,
                    low: None,
                    high: None,
                    n: 10,
                    clusters: None,
                },
            )]),
            curve: Vec::new(),
        };
        let models = vec![model("a", 0.5), model("b", 0.47)];
        let common = [("a", "b"), ("b", "a")].into_iter().zip(&models);
        ModelComparison {
            common: common
                .map(|((model, other), figures)| {
                    let names = (model.to_owned(), other.to_owned());
                    (names, figures.metrics.clone())
                })
                .collect(),
            sentence: String::new(),
            probability: 0.95,
            orders: Vec::new(),
            ending: ComparisonEnding::AllHoles,
            holes: 10,
            models,
            order_changes: Vec::new(),
        }
    }

    #[test]
    fn rules_compare_points_of_models_and_numbers() {
        let failure = |rule: &str| {
            let rule: FailureRule = rule.parse().expect("it is a rule");
            rule.failure(&comparison())
                .map_err(|error| error.to_string())
        };
        for (rule, expected) in [
            (
                "pass@1 of b < a - 2",
                Some("`pass@1 of b < a - 2` holds: 47.0 < 48.0"),
            ),
            ("pass@1 of b < a - 3.5", None),
            ("pass@1 of b > a", None),
            (
                "pass@1 of a > b + 1",
                Some("`pass@1 of a > b + 1` holds: 50.0 > 48.0"),
            ),
            (
                "pass@1 of a < 60",
                Some("`pass@1 of a < 60` holds: 50.0 < 60.0"),
            ),
        ] {
            assert_eq!(failure(rule), Ok(expected.map(str::to_owned)), "{rule}");
        }
        let missing = failure("latency_ms/median of a > 3").expect_err("it has no latency");
        assert!(
            missing.contains("`latency_ms/median`, which a has not"),
            "{missing}"
        );
    }

    #[test]
    fn rules_that_a_comparison_cannot_apply_are_refused_before_it() {
        let models = ["a", "b"].map(str::to_owned);
        let check = |rule: &str, within_ms| {
            let rule: FailureRule = rule.parse().expect("it is a rule");
            let checked = rule.check(&models, within_ms);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(
            check("pass@1 of c < a", None),
            Err("--fail-if names the model `c`; the models are a, b".to_owned())
        );
        let within = "pass-within@300 of a < b";
        assert_eq!(check(within, Some(300.0)), Ok(()));
        assert_eq!(
            check(within, Some(500.0)),
            Err(
                "--fail-if compares `pass-within@300`, and --within gives `pass-within@500`; name \
                 the same time in both"
                    .to_owned()
            )
        );
        let missing = check(within, None).expect_err("there is no time");
        assert!(missing.contains("--within is missing"), "{missing}");
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in [
            "",
            "pass@1 of b",
            "pass@1 b < a",
            "pass@1 of b <= a",
            "pass@1 of b < a - x",
        ] {
            assert!(
                matches!(text.parse::<FailureRule>(), Err(RuleError::Form(_))),
                "{text}"
            );
        }
        // A metric that exists is refused too, if a comparison does not have it.
        for text in [
            "quality of b < a",
            "em/cceval of b < a",
            "pass@1(line) of b < a",
        ] {
            let figure = text.parse::<FailureRule>();
            assert!(matches!(figure, Err(RuleError::Figure(_))), "{text}");
        }
    }
}
