//! The parameters of a request's body: those that a person adds or omits, and those that a model
//! rejects, which are omitted from then on.

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::model::{ModelError, ModelSettings};

/// Names of the limit on a completion's tokens. Servers accept one of them, and reject others.
const LIMITS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_new_tokens"];

/// Parts of a refusal of a prompt that is too long, or of a limit that is too large for it.
const SIZES: [&str; 6] = [
    "too large",
    "too long",
    "maximum context",
    "context length",
    "must be <=",
    "exceed",
];

/// Required members of a body, and the setting that decides each.
const ESSENTIAL: &[(&str, &str)] = &[
    ("model", "model.name"),
    ("messages", "the protocol"),
    ("system", "the protocol"),
    ("prompt", "the protocol"),
    ("suffix", "the protocol"),
    ("inputs", "the protocol"),
    ("input_prefix", "the protocol"),
    ("input_suffix", "the protocol"),
    ("input_extra", "the protocol"),
    ("stream", "model.stream"),
];

/// Changes that apply to every body.
#[derive(Debug)]
pub(super) struct Parameters {
    omitted: Vec<String>,
    added: Map<String, Value>,
    refused: Mutex<Refused>,
}

/// Parameters that the model has rejected.
#[derive(Debug, Default)]
struct Refused {
    omitted: Vec<String>,
    /// Old names and new ones.
    renamed: Vec<(String, &'static str)>,
    /// Number of both that has been reported.
    reported: usize,
}

impl Parameters {
    /// # Errors
    /// [`ModelError::Settings`] if the settings name a parameter that another setting decides.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        let names = settings.omit.iter().map(|name| ("omit", name));
        let names = names.chain(settings.parameters.keys().map(|name| ("parameters", name)));
        for (setting, name) in names {
            let decided = ESSENTIAL.iter().find(|(essential, _)| essential == name);
            let by = decided.map(|(_, by)| *by);
            let by = by.or((setting == "parameters" && name == "n").then_some("model.candidates"));
            if let Some(by) = by {
                return Err(ModelError::Settings(format!(
                    "model: {setting} names `{name}`, which {by} decides."
                )));
            }
        }
        Ok(Self {
            omitted: settings.omit.clone(),
            added: settings.parameters.clone(),
            refused: Mutex::default(),
        })
    }

    /// Applies the settings and the model's rejections to a body.
    pub(super) fn apply(&self, body: &mut Value) {
        for name in &self.omitted {
            remove(body, name);
        }
        {
            let refused = self.refused.lock();
            for (old, new) in &refused.renamed {
                if let Some(value) = remove(body, old) {
                    body[*new] = value;
                }
            }
            for name in &refused.omitted {
                remove(body, name);
            }
        }
        // Servers reject a second limit, so one from the settings replaces the protocol's own.
        if self
            .added
            .keys()
            .any(|name| LIMITS.contains(&name.as_str()))
        {
            for name in LIMITS {
                remove(body, name);
            }
        }
        for (name, value) in &self.added {
            // `options.num_ctx` is a member of a table.
            let members = name.rsplit('.').fold(value.clone(), |inner, part| {
                Value::Object(Map::from_iter([(part.to_owned(), inner)]))
            });
            merge(body, &members);
        }
    }

    /// Records a response of status 400 or 422 to a body. Returns true if the response names a
    /// parameter that is omitted or renamed from now on, so that the request is worth repeating.
    pub(super) fn refuse(&self, answer: &str, body: &Value) -> bool {
        // A limit that is too large for one prompt is right for others.
        let lower = answer.to_ascii_lowercase();
        if SIZES.iter().any(|words| lower.contains(words)) {
            return false;
        }
        let Some(name) = named_parameter(answer, body, &self.added) else {
            return false;
        };
        let mut refused = self.refused.lock();
        let last = name.rsplit('.').next();
        if let Some(limit) = LIMITS.into_iter().find(|limit| Some(*limit) == last) {
            // Within a table, there is no other name for it.
            if name != limit {
                return false;
            }
            let tried = |other: &&str| {
                let renamed = refused.renamed.iter();
                *other == limit
                    || renamed
                        .clone()
                        .any(|(old, new)| old == other || new == other)
            };
            let instead = LIMITS
                .into_iter()
                .find(|other| *other != limit && has_word(answer, other))
                .or(match limit {
                    "max_tokens" => Some("max_completion_tokens"),
                    _ => Some("max_tokens"),
                })
                .filter(|other| !tried(other));
            // A completion without a limit could cost any number of tokens, so the limit is never
            // omitted.
            let Some(instead) = instead else { return false };
            refused.renamed.push((name, instead));
        } else {
            refused.omitted.push(name);
        }
        true
    }

    /// Returns the parameters rejected since the last report, as one sentence.
    pub(super) fn report(&self, model: &str) -> Option<String> {
        let mut refused = self.refused.lock();
        let count = refused.omitted.len() + refused.renamed.len();
        if count == refused.reported {
            return None;
        }
        refused.reported = count;
        let mut parts = Vec::new();
        if !refused.omitted.is_empty() {
            let names: Vec<String> = refused.omitted.iter().map(|name| quoted(name)).collect();
            parts.push(format!("{} left out", names.join(", ")));
        }
        for (old, new) in &refused.renamed {
            parts.push(format!("{} sent as {}", quoted(old), quoted(new)));
        }
        let omit: Vec<String> = refused
            .omitted
            .iter()
            .map(|name| format!("{name:?}"))
            .collect();
        let advice = if omit.is_empty() {
            String::new()
        } else {
            format!(
                " `model.omit = [{}]` spares the request that it refuses first.",
                omit.join(", ")
            )
        };
        Some(format!(
            "{model} refuses parameters: {}.{advice}",
            parts.join(", ")
        ))
    }
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// Returns a body's parameters, without the texts in it.
pub(super) fn without_texts(body: Value) -> Map<String, Value> {
    let Value::Object(mut body) = body else {
        return Map::new();
    };
    body.retain(|name, _| {
        matches!(name.as_str(), "model" | "stream")
            || !ESSENTIAL.iter().any(|(essential, _)| essential == name)
    });
    body
}

/// Removes the member of a body at a dotted path, and returns it.
fn remove(body: &mut Value, path: &str) -> Option<Value> {
    match path.split_once('.') {
        // A member whose name contains the dot itself takes precedence.
        Some((first, rest)) if body.get(path).is_none() => remove(body.get_mut(first)?, rest),
        _ => body.as_object_mut()?.shift_remove(path),
    }
}

/// Merges a value into another: objects member by member.
fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (name, value) in over {
                merge(base.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// Returns the parameter of a body that a response names, if it may be omitted. A parameter that
/// the person added by name is never omitted silently.
fn named_parameter(answer: &str, body: &Value, added: &Map<String, Value>) -> Option<String> {
    let mut removable = Vec::new();
    for (name, value) in body.as_object()? {
        if ESSENTIAL.iter().any(|(essential, _)| essential == name) || added.contains_key(name) {
            continue;
        }
        // The parameters of Ollama and text-generation-inference are one level down.
        if let ("options" | "parameters", Value::Object(members)) = (name.as_str(), value) {
            for name_inside in members.keys() {
                removable.push((name_inside.clone(), format!("{name}.{name_inside}")));
            }
        } else {
            removable.push((name.clone(), name.clone()));
        }
    }
    let find = |name: &str| {
        let found = removable.iter().find(|(own, _)| own == name);
        found.map(|(_, path)| path.clone())
    };
    let value: Value = serde_json::from_str(answer).unwrap_or(Value::Null);
    let mut fields = Vec::new();
    let mut messages = Vec::new();
    collect(&value, &mut fields, &mut messages);
    if !fields.is_empty() {
        let found = fields.iter().find_map(|field| {
            // `body.seed`, `reasoning.effort`, `options[seed]`: the outer name comes first.
            let mut names = field.split(|character: char| !is_word(character));
            names.find_map(find)
        });
        if found.is_some() {
            return found;
        }
    }
    let text = if messages.is_empty() {
        answer.to_owned()
    } else {
        messages.join("\n")
    };
    let text = text.to_ascii_lowercase();
    let mut named: Vec<(usize, &str, &String)> = removable
        .iter()
        .filter_map(|(name, path)| Some((position(&text, name)?, name.as_str(), path)))
        .collect();
    named.sort_unstable();
    // If two parameters exclude each other, keep the temperature, which matters more.
    let excluded = named.len() > 1 && named.iter().any(|(_, name, _)| *name == "temperature");
    let chosen = named
        .iter()
        .find(|(_, name, _)| excluded && *name == "top_p");
    chosen.or(named.first()).map(|(_, _, path)| (*path).clone())
}

/// Collects the fields that an error names (`param`, `loc`), and its messages.
fn collect(value: &Value, fields: &mut Vec<String>, messages: &mut Vec<String>) {
    match value {
        Value::Array(values) => values
            .iter()
            .for_each(|value| collect(value, fields, messages)),
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("param" | "parameter" | "field", Value::String(field)) => {
                        fields.push(field.clone());
                    }
                    ("loc", Value::Array(parts)) => {
                        let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                        fields.push(parts.join("."));
                    }
                    ("message" | "msg" | "detail" | "error" | "raw", Value::String(text)) => {
                        // Gateways embed the response of the server behind them as text.
                        match serde_json::from_str::<Value>(text) {
                            Ok(inner @ (Value::Object(_) | Value::Array(_))) => {
                                collect(&inner, fields, messages);
                            }
                            _ => messages.push(text.clone()),
                        }
                    }
                    (_, value) => collect(value, fields, messages),
                }
            }
        }
        _ => {}
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// True if a text contains a name as a whole word.
fn has_word(text: &str, name: &str) -> bool {
    position(text, name).is_some()
}

/// Returns the first position of a name as a whole word. Short names, which may be English words,
/// count only in quotes.
fn position(text: &str, name: &str) -> Option<usize> {
    let is_clear = name.contains('_') || name.len() >= 4;
    text.match_indices(name).find_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        let is_whole = !before.is_some_and(is_word) && !after.is_some_and(is_word);
        let is_quoted = before.is_some_and(|quote| "'\"`“‘\\".contains(quote));
        (is_whole && (is_clear || is_quoted)).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body() -> Value {
        json!({
            "model": "m", "messages": [], "temperature": 0.0, "top_p": 1.0, "seed": 1, "n": 1,
            "max_tokens": 128, "stream": true, "reasoning_effort": "none",
        })
    }

    fn parameters(settings: &ModelSettings) -> Parameters {
        Parameters::new(settings).expect("the settings are sound")
    }

    /// Rejections as providers word them, and the parameter omitted or renamed.
    #[test]
    fn refusals_name_what_is_left_out() {
        for (answer, expected) in [
            (
                r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.","param":"temperature","code":"unsupported_value"}}"#,
                "temperature",
            ),
            (
                r#"{"error":{"message":"`temperature` and `top_p` cannot both be specified for this model. Please use only one."}}"#,
                "top_p",
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` is deprecated for this model."}}"#,
                "temperature",
            ),
            (
                r#"{"error":{"message":"property 'seed' is unsupported","type":"invalid_request_error"}}"#,
                "seed",
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted","input":0}]}"#,
                "seed",
            ),
            (
                r#"{"message":{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"extra"}]}}"#,
                "seed",
            ),
            (
                r#"[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"seed\": Cannot find field.","status":"INVALID_ARGUMENT"}}]"#,
                "seed",
            ),
            (
                r#"{"error":{"message":"Unrecognized request argument supplied: reasoning_effort"}}"#,
                "reasoning_effort",
            ),
            (
                r#"{"error":{"message":"Unsupported value: 'none'","param":"reasoning_effort"}}"#,
                "reasoning_effort",
            ),
            (
                r#"{"error":{"message":"litellm.BadRequestError: BedrockException - {\"message\":\"{\\\"error\\\":{\\\"message\\\":\\\"`temperature` is deprecated for this model.\\\"}}\"}"}}"#,
                "temperature",
            ),
            ("unknown field `n`, expected one of model", "n"),
        ] {
            let parameters = parameters(&ModelSettings::default());
            let mut body = body();
            assert!(parameters.refuse(answer, &body), "{answer}");
            parameters.apply(&mut body);
            assert!(body.get(expected).is_none(), "{answer}: {body}");
            assert_eq!(body.as_object().map(Map::len), Some(8), "{answer}: {body}");
        }
    }

    #[test]
    fn limit_is_renamed_and_never_left_out() {
        let parameters = parameters(&ModelSettings::default());
        let answer = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}"#;
        let mut body = body();
        assert!(parameters.refuse(answer, &body));
        parameters.apply(&mut body);
        assert_eq!(body["max_completion_tokens"], 128);
        assert!(body.get("max_tokens").is_none());
        let answer = r#"{"error":{"message":"unknown 'max_completion_tokens'"}}"#;
        assert!(!parameters.refuse(answer, &body));
    }

    #[test]
    fn other_faults_change_nothing() {
        let parameters = parameters(&ModelSettings::default());
        for answer in [
            "",
            "<html>no</html>",
            r#"{"error":{"message":"The model `x` does not exist","param":"model"}}"#,
            r#"{"error":{"message":"Invalid value in the messages: stream","param":"messages"}}"#,
            r#"{"error":{"message":"n is a letter"}}"#,
            // A prompt that is too long says nothing about the limit's name: vLLM, and
            // text-generation-inference.
            r#"{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 128. This model's maximum context length is 1024 tokens","param":"max_tokens"}}"#,
            r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096"}"#,
        ] {
            assert!(!parameters.refuse(answer, &body()), "{answer}");
        }
        assert_eq!(parameters.report("m"), None);
    }

    #[test]
    fn refusals_are_reported_once() {
        let parameters = parameters(&ModelSettings::default());
        let mut body = body();
        assert!(parameters.refuse(r#"{"error":{"param":"temperature"}}"#, &body));
        parameters.apply(&mut body);
        assert!(parameters.refuse(r#"{"error":{"param":"max_tokens"}}"#, &body));
        insta::assert_snapshot!(parameters.report("gpt-5").expect("a report"), @r#"gpt-5 refuses parameters: `temperature` left out, `max_tokens` sent as `max_completion_tokens`. `model.omit = ["temperature"]` spares the request that it refuses first."#);
        assert_eq!(parameters.report("gpt-5"), None);
    }

    #[test]
    fn settings_add_and_leave_out() {
        let settings = ModelSettings {
            omit: vec!["temperature".to_owned(), "options.seed".to_owned()],
            parameters: json!({"max_completion_tokens": 500, "options.num_ctx": 1})
                .as_object()
                .cloned()
                .unwrap_or_default(),
            ..ModelSettings::default()
        };
        let mut body = body();
        body["options"] = json!({"seed": 1, "stop": []});
        let parameters = parameters(&settings);
        parameters.apply(&mut body);
        assert_eq!(
            body,
            json!({
                "model": "m", "messages": [], "top_p": 1.0, "seed": 1, "n": 1, "stream": true,
                "reasoning_effort": "none", "options": {"stop": [], "num_ctx": 1},
                "max_completion_tokens": 500,
            })
        );
        // A parameter that the person added is not dropped silently.
        let answer = r#"{"error":{"param":"max_completion_tokens"}}"#;
        assert!(!parameters.refuse(answer, &body));
    }

    #[test]
    fn parameters_of_other_settings_are_refused() {
        for (omit, added) in [("messages", "top_k"), ("top_k", "stream"), ("top_k", "n")] {
            let settings = ModelSettings {
                omit: vec![omit.to_owned()],
                parameters: [(added.to_owned(), Value::Null)].into_iter().collect(),
                ..ModelSettings::default()
            };
            let error = Parameters::new(&settings).expect_err("another setting decides it");
            assert!(error.to_string().contains("decides"), "{error}");
        }
    }
}
