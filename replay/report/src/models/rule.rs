//! A rule by which a comparison fails: `pass@1 of b < a - 2`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use fillrate_metrics::Metric;

use super::ModelComparison;

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
    #[error("`{0}` is no figure; name one of the table's columns, such as `pass@1`")]
    Figure(String),
    /// It names a model that is not compared.
    #[error("--fail-if names the model `{0}`; the models are {1}")]
    Model(String, String),
    /// A model lacks the figure.
    #[error("--fail-if compares `{metric}`, which {model} has not; {advice}")]
    Missing {
        /// The figure.
        metric: String,
        /// The model.
        model: String,
        /// Advice.
        advice: &'static str,
    },
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
        if Metric::find(metric).is_none() {
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
    /// The models that the rule names.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.model.as_str()).chain(self.other.as_deref())
    }

    /// A sentence if the rule holds, so that the comparison fails; `None` if it does not.
    ///
    /// # Errors
    /// A model is not compared, or lacks the figure.
    pub fn failure(&self, comparison: &ModelComparison) -> Result<Option<String>, RuleError> {
        let value = |model: &str| {
            if !comparison.models.iter().any(|one| one.model == model) {
                let names = comparison.models.iter().map(|one| one.model.as_str());
                let names: Vec<&str> = names.collect();
                return Err(RuleError::Model(model.to_owned(), names.join(", ")));
            }
            let estimate = comparison.figure(model, &self.metric);
            let estimate = estimate.ok_or_else(|| RuleError::Missing {
                metric: self.metric.clone(),
                model: model.to_owned(),
                advice: "name a figure of the table, and for passes within a time add --within",
            })?;
            let format = Metric::of_figure(&self.metric).unit.format();
            // The rule compares what the table shows, such as percent in place of shares.
            Ok(estimate.value * format.scale)
        };
        let left = value(&self.model)?;
        let right = self.other.as_deref().map(value).transpose()?.unwrap_or(0.0) + self.offset;
        let holds = if self.is_less {
            left < right
        } else {
            left > right
        };
        Ok(holds.then(|| {
            let sign = if self.is_less { '<' } else { '>' };
            format!("`{self}` holds: {left:.1} {sign} {right:.1}")
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
        ModelComparison {
            sentence: String::new(),
            probability: 0.95,
            orders: Vec::new(),
            ending: ComparisonEnding::AllHoles,
            holes: 10,
            models: vec![model("a", 0.5), model("b", 0.47)],
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
        let unknown = failure("pass@1 of c < a").expect_err("there is no such model");
        assert_eq!(
            unknown,
            "--fail-if names the model `c`; the models are a, b"
        );
        let missing = failure("latency_ms/median of a > 3").expect_err("it has no latency");
        assert!(
            missing.contains("`latency_ms/median`, which a has not"),
            "{missing}"
        );
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
        let figure = "quality of b < a".parse::<FailureRule>();
        assert!(matches!(figure, Err(RuleError::Figure(_))));
    }
}
