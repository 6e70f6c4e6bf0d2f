//! Several models under names of their own, one of them in use, or all of them on trial.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Configuration, ConfigurationError};
use crate::model;

/// The name that `[model]` goes by among those of `[models.NAME]`.
pub const DEFAULT: &str = "default";

/// Several models that take turns, so that what people make of them can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrialSettings {
    /// The names of at least two models; [`DEFAULT`] is `[model]`. Without any there is no trial.
    pub models: Vec<String>,
    /// What a model is drawn for.
    pub unit: TrialUnit,
    /// Another seed draws other models for the same keys.
    pub seed: u64,
    /// Whether the person is not told which model answers.
    pub blind: bool,
}

/// What a model is drawn for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialUnit {
    /// Each place that a completion is asked for.
    #[default]
    Request,
    /// Each run of the server.
    Session,
    /// Each day, by UTC.
    Day,
    /// Each place, and two of them: both answer, in a drawn order, and the person chooses.
    Pairs,
}

impl TrialUnit {
    /// All of them, in the order of the reference page.
    pub const ALL: [Self; 4] = [Self::Request, Self::Session, Self::Day, Self::Pairs];

    /// The name in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Session => "session",
            Self::Day => "day",
            Self::Pairs => "pairs",
        }
    }
}

impl fmt::Display for TrialUnit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// One of the models that may answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweringModel {
    /// Its name in the configuration.
    pub name: String,
    /// The settings with it as the one model there is.
    pub configuration: Configuration,
}

impl Configuration {
    /// The models that may answer: those of the trial, in its order, or else the one in use.
    /// There is always one.
    pub fn answering_models(&self) -> Vec<AnsweringModel> {
        let one = [self.used.clone().unwrap_or_else(|| DEFAULT.to_owned())];
        let names = match self.trial() {
            Some(trial) => trial.models.as_slice(),
            None => &one,
        };
        let contestants = names.iter().map(|name| AnsweringModel {
            name: name.clone(),
            configuration: self.alone(name),
        });
        contestants.collect()
    }

    /// The trial, where there is one.
    pub fn trial(&self) -> Option<&TrialSettings> {
        (!self.trial.models.is_empty()).then_some(&self.trial)
    }

    /// Whether there is a trial of which the person is not told who answers.
    pub fn is_blind(&self) -> bool {
        self.trial().is_some_and(|trial| trial.blind)
    }

    /// Every name that a model has here, [`DEFAULT`] first, with its settings.
    pub fn named(&self) -> impl Iterator<Item = (&str, &model::Settings)> {
        let others = self.models.iter().map(|(name, model)| (&**name, model));
        std::iter::once((DEFAULT, &self.model)).chain(others)
    }

    /// The settings with this model as the one there is; an unknown name means `[model]`, and
    /// is refused before it comes here.
    fn alone(&self, name: &str) -> Self {
        Self {
            model: self.models.get(name).unwrap_or(&self.model).clone(),
            models: BTreeMap::new(),
            used: None,
            trial: TrialSettings::default(),
            ..self.clone()
        }
    }

    /// Whether each name means a model, and the trial is one.
    pub(super) fn check_names(&self) -> Result<(), ConfigurationError> {
        let fault = |setting: &str, reason: String| ConfigurationError::Models {
            setting: setting.to_owned(),
            reason,
        };
        for name in self.models.keys() {
            if name == DEFAULT {
                let reason = "is the name of `[model]` itself; give this model another".to_owned();
                return Err(fault("models.default", reason));
            }
            if name.trim().is_empty() {
                let reason = "holds a model without a name; give it one".to_owned();
                return Err(fault("models", reason));
            }
        }
        let known = |setting: &str, name: &str| {
            if self.named().any(|(known, _)| known == name) {
                return Ok(());
            }
            let names: Vec<_> = self.named().map(|(name, _)| format!("`{name}`")).collect();
            let reason = format!(
                "names the model `{name}`, and there is none of that name, only {}; add a table \
                 `[models.{name}]`, or use one of those",
                names.join(", ")
            );
            Err(fault(setting, reason))
        };
        if let Some(name) = &self.used {
            known("use", name)?;
        }
        let models = &self.trial.models;
        for (index, name) in models.iter().enumerate() {
            known("trial.models", name)?;
            if models[..index].contains(name) {
                let reason = format!("names `{name}` twice; each model takes part once");
                return Err(fault("trial.models", reason));
            }
        }
        match models.as_slice() {
            [only] => {
                let reason = format!(
                    "names `{only}` alone, and a trial compares at least two models; add another, \
                     or set `use = \"{only}\"` without a trial"
                );
                Err(fault("trial.models", reason))
            }
            _ => Ok(()),
        }
    }
}

/// Reads a value that may be `null`, by which a layer takes back what a lower one says.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{FILE_NAME, Layers};
    use super::*;

    fn merged(options: &Value) -> Result<Configuration, ConfigurationError> {
        let mut layers = Layers::default();
        layers.options("a test", options)?;
        layers.merged()
    }

    fn names(configuration: &Configuration) -> Vec<String> {
        let contestants = configuration.answering_models().into_iter();
        contestants.map(|contestant| contestant.name).collect()
    }

    #[test]
    fn one_model_is_in_use_unless_there_is_a_trial() {
        let models = json!({"a": {"seed": 1}, "b": {"seed": 2}});
        let plain = merged(&json!({"models": models})).expect("they are settings");
        assert_eq!(names(&plain), ["default"]);
        let used = merged(&json!({"models": models, "use": "b"})).expect("they are settings");
        assert_eq!(names(&used), ["b"]);
        assert_eq!(used.answering_models()[0].configuration.model.seed, 2);
        let trial = json!({"models": ["b", "default"], "blind": true});
        let trial = json!({"models": models, "use": "a", "trial": trial});
        let trial = merged(&trial).expect("they are settings");
        assert_eq!(names(&trial), ["b", "default"]);
        assert_eq!(
            trial.answering_models()[1].configuration,
            Configuration::default()
        );
    }

    #[test]
    fn a_layer_takes_back_what_a_lower_one_says() {
        let mut layers = Layers::default();
        let lower = json!({
            "models": {"a": {}}, "use": "a", "trial": {"models": ["a", "default"]},
        });
        layers.options("below", &lower).expect("they are settings");
        for above in [
            json!({"use": null, "trial": null}),
            json!({"use": "default", "trial": {"models": []}}),
            json!({"use": "default"}),
        ] {
            let mut layers = layers.clone();
            layers.options("above", &above).expect("they are settings");
            let merged = layers.merged().expect("they agree");
            assert_eq!(names(&merged), ["default"]);
            assert_eq!(merged.trial(), None);
        }
    }

    #[test]
    fn names_that_mean_nothing_are_refused_with_those_there_are() {
        let refused = [
            (
                json!({"use": "x", "models": {"a": {}}}),
                "`use` names the model `x`, and there is none of that name, only `default`, `a`; \
                 add a table `[models.x]`, or use one of those",
            ),
            (
                json!({"trial": {"models": ["default", "x"]}}),
                "`trial.models` names the model `x`, and there is none of that name, only \
                 `default`; add a table `[models.x]`, or use one of those",
            ),
            (
                json!({"trial": {"models": ["default"]}}),
                "`trial.models` names `default` alone, and a trial compares at least two models; \
                 add another, or set `use = \"default\"` without a trial",
            ),
            (
                json!({"trial": {"models": ["a", "default", "a"]}, "models": {"a": {}}}),
                "`trial.models` names `a` twice; each model takes part once",
            ),
            (
                json!({"models": {"default": {}}}),
                "`models.default` is the name of `[model]` itself; give this model another",
            ),
            (
                json!({"models": {" ": {}}}),
                "`models` holds a model without a name; give it one",
            ),
        ];
        for (settings, message) in refused {
            let error = merged(&settings).expect_err("it can't be");
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn a_workspace_cannot_choose_who_answers() {
        for (key, text) in [
            ("models", "[models.a]\nprotocol = \"embedded\"\n"),
            ("use", "use = \"default\"\n"),
            ("trial", "[trial]\nseed = 1\n"),
        ] {
            let folder = tempfile::tempdir().expect("the system gives a temporary folder");
            let path = folder.path().join(FILE_NAME);
            std::fs::write(&path, text).expect("the folder is writable");
            let mut layers = Layers::default();
            let error = layers
                .workspace(folder.path())
                .expect_err("it is the person's own choice");
            let expected = format!("{}: `{key}` can't be set by a workspace", path.display());
            assert!(error.to_string().starts_with(&expected), "{error}");
            let merged = layers.merged().expect("nothing was laid");
            assert_eq!(merged, Configuration::default());
        }
    }

    #[test]
    fn a_key_that_is_no_setting_is_named() {
        let error = merged(&json!({"models": {"a": {"sead": 1}}})).expect_err("a misspelling");
        assert!(error.to_string().contains("`sead`"), "{error}");
        let error = merged(&json!({"trial": {"unit": "week"}})).expect_err("no unit of ours");
        assert!(error.to_string().contains("`week`"), "{error}");
    }

    #[test]
    fn every_unit_is_told_by_its_name() {
        for unit in TrialUnit::ALL {
            let value = serde_json::to_value(unit).expect("it is JSON");
            assert_eq!(value, unit.name());
        }
    }
}
