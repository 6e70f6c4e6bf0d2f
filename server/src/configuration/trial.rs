//! Named models, one of them in use or several in a trial.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use strum::{Display, IntoStaticStr, VariantArray};

use super::{Configuration, ConfigurationError, Layers};
use crate::model::{self, ModelSettings, Protocol};

/// The name of `[model]` among those of `[models.NAME]`.
pub const DEFAULT: &str = "default";

/// Sampling temperature of several candidates if none is set.
const TEMPERATURE_OF_SEVERAL: f64 = 0.4;

/// Several models that alternate, so that their acceptance can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrialSettings {
    /// The names of at least two models; [`DEFAULT`] is `[model]`. Empty means no trial.
    pub models: Vec<String>,
    /// Unit for which a model is drawn.
    pub unit: TrialUnit,
    /// Seed of the draws.
    pub seed: u64,
    /// True if the person does not learn which model answers.
    pub blind: bool,
}

/// Unit for which a model is drawn.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    Display,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TrialUnit {
    /// Each cursor that a completion is requested for.
    #[default]
    Request,
    /// Each run of the server.
    Session,
    /// Each day, by UTC.
    Day,
    /// Each cursor, with two models: both answer, in random order, and the person chooses.
    Pairs,
}

impl TrialUnit {
    /// All of them, in the order of the reference page.
    pub const ALL: &[Self] = <Self as VariantArray>::VARIANTS;

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A model that may be called.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweringModel {
    /// Its name in the configuration.
    pub name: String,
    /// The settings with this model as the only one.
    pub configuration: Configuration,
}

impl AnsweringModel {
    /// Returns the model that answers every request under a settings file alone.
    ///
    /// # Errors
    /// The file can't be read, holds an invalid setting, or chooses no single model: it has a trial,
    /// or names several models, of which none is in use.
    pub fn of_file(path: &Path) -> Result<Self, ConfigurationError> {
        let mut layers = Layers::default();
        layers.file(path)?;
        let chosen = layers.merged().and_then(|merged| merged.chosen_model());
        chosen.map_err(|error| ConfigurationError::File {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }
}

impl Configuration {
    /// Returns the models that may be called: those of the trial, in its order, or else the one in
    /// use. Never empty.
    pub fn answering_models(&self) -> Vec<AnsweringModel> {
        let one = [self.used.clone().unwrap_or_else(|| DEFAULT.to_owned())];
        let names = match self.trial() {
            Some(trial) => trial.models.as_slice(),
            None => &one,
        };
        let answering = names.iter().map(|name| AnsweringModel {
            name: name.clone(),
            configuration: self.with_only(name),
        });
        answering.collect()
    }

    /// Sets the temperature of each model that would give one of several candidates and has none in
    /// the settings.
    pub(super) fn vary_candidates(&mut self, settings: &Value) {
        let named = self.models.iter_mut();
        let named = named
            .map(|(name, model)| (settings.get("models").and_then(|all| all.get(name)), model));
        let all = named.chain([(settings.get("model"), &mut self.model)]);
        for (written, model) in all {
            let temperature = written.and_then(|written| written.get("temperature"));
            if temperature.is_none_or(Value::is_null) && gives_one_of_several(model) {
                model.temperature = TEMPERATURE_OF_SEVERAL;
            }
        }
    }

    /// Returns a sentence for the person on settings that have no effect together, if there are any.
    pub fn notice(&self) -> Option<String> {
        let answering = self.answering_models().into_iter();
        let mut greedy =
            answering.filter(|answering| gives_one_of_several(&answering.configuration.model));
        greedy.next().map(|answering| {
            format!(
                "`candidates` is {}, but at temperature 0 there is only one: set `temperature` \
                 above 0 to see others.",
                answering.configuration.model.candidates
            )
        })
    }

    /// Returns the model that answers every request.
    ///
    /// # Errors
    /// There is a trial, or several models are named, of which none is in use: a server then answers
    /// by the embedded model until a person chooses one.
    pub(super) fn chosen_model(&self) -> Result<AnsweringModel, ConfigurationError> {
        let fault = |setting: &str, reason| ConfigurationError::Setting {
            setting: setting.to_owned(),
            reason,
        };
        if self.trial().is_some() {
            let reason = "has several models, and one is asked here; leave the table out, and name \
                          the model by `use`";
            return Err(fault("trial", reason.to_owned()));
        }
        if let (Some(first), None) = (self.models.keys().next(), &self.used) {
            let names: Vec<_> = self.models.keys().map(|name| format!("`{name}`")).collect();
            let reason = format!(
                "names {}, and none of them is in use; add a line such as `use = \"{first}\"` at the \
                 top of the file",
                names.join(" and ")
            );
            return Err(fault("models", reason));
        }
        let name = self.used.clone().unwrap_or_else(|| DEFAULT.to_owned());
        let configuration = self.with_only(&name);
        Ok(AnsweringModel {
            name,
            configuration,
        })
    }

    /// Puts `[model]` in use if it is there, and else the named model if it is the only one.
    pub(super) fn use_default_or_only(&mut self, has_default: bool) {
        let mut names = self.models.keys();
        match (names.next(), names.next()) {
            (Some(_), _) if has_default => self.used = Some(DEFAULT.to_owned()),
            (Some(name), None) => self.used = Some(name.clone()),
            _ => {}
        }
    }

    /// Returns the trial, if there is one.
    pub fn trial(&self) -> Option<&TrialSettings> {
        (!self.trial.models.is_empty()).then_some(&self.trial)
    }

    /// True in a blind trial.
    pub fn is_blind(&self) -> bool {
        self.trial().is_some_and(|trial| trial.blind)
    }

    /// Returns the name for people of a model in the configuration: for [`DEFAULT`], the last part of
    /// the name that its server knows it by, or else its protocol.
    pub fn title(&self, name: &str) -> String {
        if name != DEFAULT {
            return name.to_owned();
        }
        let known = self.model.name.as_deref();
        let own = known.and_then(|known| known.rsplit(['/', '\\']).find(|part| !part.is_empty()));
        own.map_or_else(|| self.model.protocol.to_string(), str::to_owned)
    }

    /// Returns the name for people of the model in use; `None` in a trial.
    pub fn title_in_use(&self) -> Option<String> {
        let used = self.used.as_deref().unwrap_or(DEFAULT);
        self.trial().is_none().then(|| self.title(used))
    }

    /// Returns all models by name, [`DEFAULT`] first.
    pub fn named(&self) -> impl Iterator<Item = (&str, &model::ModelSettings)> {
        let others = self.models.iter().map(|(name, model)| (&**name, model));
        std::iter::once((DEFAULT, &self.model)).chain(others)
    }

    /// Returns the settings with this model as the only one. An unknown name means `[model]`;
    /// merging rejects it earlier.
    fn with_only(&self, name: &str) -> Self {
        Self {
            model: self.models.get(name).unwrap_or(&self.model).clone(),
            models: BTreeMap::new(),
            used: None,
            trial: TrialSettings::default(),
            ..self.clone()
        }
    }

    /// Checks that every name refers to a model and that the trial has at least two.
    pub(super) fn check_names(&self) -> Result<(), ConfigurationError> {
        let fault = |setting: &str, reason: String| ConfigurationError::Setting {
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
                "names the model `{name}`, which does not exist; add a table `[models.{name}]`, or use \
                 one of {}",
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

/// True if a model is asked for several candidates, which are all equal at its temperature of 0. The
/// embedded model gives the best ones.
fn gives_one_of_several(model: &ModelSettings) -> bool {
    model.candidates > 1 && model.temperature == 0.0 && model.protocol != Protocol::Embedded
}

/// Reads a value that may be `null`, with which a layer resets a lower one.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::FILE_NAME;
    use super::*;

    fn merged(options: &Value) -> Result<Configuration, ConfigurationError> {
        let mut layers = Layers::default();
        layers.options("a test", options)?;
        layers.merged()
    }

    fn names(configuration: &Configuration) -> Vec<String> {
        let answering = configuration.answering_models().into_iter();
        answering.map(|model| model.name).collect()
    }

    #[test]
    fn one_model_answers_unless_on_trial() {
        let models = json!({"a": {"seed": 1}, "b": {"seed": 2}});
        let plain = merged(&json!({"models": models})).expect("they are settings");
        assert_eq!(names(&plain), ["default"]);
        let unchosen = plain.chosen_model().expect_err("two are named");
        insta::assert_snapshot!(unchosen, @r#"`models` names `a` and `b`, and none of them is in use; add a line such as `use = "a"` at the top of the file"#);
        let only = merged(&json!({"models": {"a": {"seed": 1}}})).expect("they are settings");
        assert_eq!(names(&only), ["a"]);
        // What a workspace sets chooses no model, and an ended trial none either.
        for more in [json!({"model": {"seed": 2}}), json!({"trial": null})] {
            let mut layers = Layers::default();
            let only = json!({"models": {"a": {"seed": 1}}});
            for options in [&only, &more] {
                layers
                    .options("a test", options)
                    .expect("they are settings");
            }
            assert_eq!(
                names(&layers.merged().expect("they agree")),
                ["a"],
                "{more}"
            );
        }
        let models = json!({"a": {"seed": 1}, "b": {"seed": 2}});
        let with_own = json!({"models": models, "model": {"protocol": "embedded"}});
        let with_own = merged(&with_own).expect("they are settings");
        assert_eq!(names(&with_own), ["default"]);
        with_own.chosen_model().expect("`[model]` is there");
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
    fn several_candidates_differ_unless_a_temperature_is_set() {
        let infill = json!({"protocol": "llama-infill", "candidates": 3});
        let greedy = json!({"protocol": "llama-infill", "candidates": 3, "temperature": 0.0});
        let one = json!({"protocol": "llama-infill"});
        let settings = json!({
            "model": {"candidates": 3},
            "models": {"greedy": greedy, "one": one, "several": infill},
        });
        let of = |name: &str| {
            let mut layers = Layers::default();
            layers
                .options("a test", &settings)
                .expect("they are settings");
            let used = json!({"use": name});
            layers.options("a test", &used).expect("it is a setting");
            layers.merged().expect("they agree")
        };
        let temperature = |name: &str| {
            of(name).answering_models()[0]
                .configuration
                .model
                .temperature
        };
        assert_eq!(temperature("several"), 0.4);
        assert_eq!(temperature("greedy"), 0.0);
        assert_eq!(temperature("one"), 0.0);
        // The embedded model gives its best ones.
        assert_eq!(temperature("default"), 0.0);
        insta::assert_snapshot!(of("greedy").notice().expect("it has no effect"), @"`candidates` is 3, but at temperature 0 there is only one: set `temperature` above 0 to see others.");
        assert_eq!(of("several").notice(), None);
    }

    #[test]
    fn layers_reset_lower_ones() {
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
    fn unknown_names_are_refused_with_known_ones() {
        let refused = [
            (
                json!({"use": "x", "models": {"a": {}}}),
                "`use` names the model `x`, which does not exist; add a table `[models.x]`, or use \
                 one of `default`, `a`",
            ),
            (
                json!({"trial": {"models": ["default", "x"]}}),
                "`trial.models` names the model `x`, which does not exist; add a table \
                 `[models.x]`, or use one of `default`",
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
    fn workspace_cannot_set_models() {
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
            let merged = layers.merged().expect("nothing was added");
            assert_eq!(merged, Configuration::default());
        }
    }

    #[test]
    fn unknown_keys_are_named() {
        let error = merged(&json!({"models": {"a": {"sead": 1}}})).expect_err("a misspelling");
        assert!(error.to_string().contains("`sead`"), "{error}");
        let error = merged(&json!({"trial": {"unit": "week"}})).expect_err("no unit of ours");
        assert!(error.to_string().contains("`week`"), "{error}");
    }

    #[test]
    fn unit_names_match_serde() {
        for &unit in TrialUnit::ALL {
            let value = serde_json::to_value(unit).expect("it is JSON");
            assert_eq!(value, unit.name());
        }
    }
}
