//! Differences of providers and models from the protocol of chat requests: the name of the limit,
//! rejected sampling parameters, and the switch that turns off reasoning, which is too slow while a
//! person types. Each row names its source. Undocumented differences are learnt from rejections:
//! see `http/parameters.rs`.

use serde_json::{Value, json};

use super::ModelSettings;

/// Differences of the request from the protocol, by the server's host and the model's name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RequestStyle {
    /// Old names of parameters and new ones.
    renamed: Vec<(&'static str, &'static str)>,
    /// Parameters to omit.
    omitted: Vec<&'static str>,
    /// Parameters to add: those that turn reasoning off, or keep it short.
    added: Vec<(&'static str, Value)>,
    /// True if greedy generation requires `top_p` 1.
    whole_nucleus_if_greedy: bool,
}

/// Providers with documented differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provider {
    OpenAi,
    Azure,
    OpenRouter,
    Gemini,
    Mistral,
    DeepSeek,
    Glm,
    Qwen,
    Groq,
    Together,
    Inception,
    GitHub,
    /// Any other, usually a local server.
    Other,
}

/// The end of each provider's hosts.
const HOSTS: &[(&str, Provider)] = &[
    ("api.openai.com", Provider::OpenAi),
    (".azure.com", Provider::Azure),
    ("openrouter.ai", Provider::OpenRouter),
    ("generativelanguage.googleapis.com", Provider::Gemini),
    (".mistral.ai", Provider::Mistral),
    ("api.deepseek.com", Provider::DeepSeek),
    ("api.z.ai", Provider::Glm),
    ("bigmodel.cn", Provider::Glm),
    (".aliyuncs.com", Provider::Qwen),
    ("api.groq.com", Provider::Groq),
    ("api.together.xyz", Provider::Together),
    ("api.together.ai", Provider::Together),
    ("api.inceptionlabs.ai", Provider::Inception),
    ("models.github.ai", Provider::GitHub),
];

impl RequestStyle {
    /// Returns the style of a chat request in OpenAI's format.
    pub(super) fn of_chat(settings: &ModelSettings) -> Self {
        let provider = provider(settings);
        let name = plain_name(settings);
        let mut style = Self::default();
        if let Some(effort) = openai_effort(&name) {
            // <https://platform.openai.com/docs/guides/reasoning>: only the default temperature and
            // nucleus are allowed, and the limit has another name.
            style.omitted.extend(["temperature", "top_p"]);
            match provider {
                Provider::OpenRouter => {}
                _ => style.renamed.push(("max_tokens", "max_completion_tokens")),
            }
            if let Some(effort) = effort {
                style.added.push(match provider {
                    Provider::OpenRouter => ("reasoning", json!({ "effort": effort })),
                    _ => ("reasoning_effort", effort.into()),
                });
            }
            return style;
        }
        if provider == Provider::OpenAi {
            style.renamed.push(("max_tokens", "max_completion_tokens"));
        }
        if let Some(version) = claude_version(&name) {
            style.omitted.extend(refused_by_claude(version));
        }
        if provider == Provider::Mistral {
            // <https://docs.mistral.ai/api/endpoint/chat>: other fields than these are rejected.
            style.renamed.push(("seed", "random_seed"));
            style.whole_nucleus_if_greedy = true;
        }
        style.added.extend(thinking_switch(provider, &name));
        style
    }

    /// Returns the style of a request to Anthropic's `/v1/messages`, which other providers support
    /// too.
    pub(super) fn of_messages(settings: &ModelSettings) -> Self {
        let mut style = Self::default();
        if let Some(version) = claude_version(&plain_name(settings)) {
            style.omitted.extend(refused_by_claude(version));
        }
        if matches!(provider(settings), Provider::Glm | Provider::DeepSeek) {
            style
                .added
                .push(("thinking", json!({ "type": "disabled" })));
        }
        style
    }

    /// Changes a request's body.
    pub(super) fn apply(&self, body: &mut Value) {
        if self.whole_nucleus_if_greedy && body["temperature"] == 0.0 {
            body["top_p"] = 1.0.into();
        }
        let Some(fields) = body.as_object_mut() else {
            return;
        };
        for name in &self.omitted {
            fields.shift_remove(*name);
        }
        for (old, new) in &self.renamed {
            if let Some(value) = fields.shift_remove(*old) {
                fields.insert((*new).to_owned(), value);
            }
        }
        for (name, value) in &self.added {
            fields.insert((*name).to_owned(), value.clone());
        }
    }
}

fn provider(settings: &ModelSettings) -> Provider {
    let url = settings.url.as_deref().unwrap_or_default();
    let url = url::Url::parse(url.trim()).ok();
    let host = url
        .as_ref()
        .and_then(url::Url::host_str)
        .unwrap_or_default();
    let found = HOSTS.iter().find(|(end, _)| host.ends_with(end));
    found.map_or(Provider::Other, |(_, provider)| *provider)
}

/// Returns a model's name in lower case, without the owner's and gateway's names before it.
fn plain_name(settings: &ModelSettings) -> String {
    let name = settings.name.as_deref().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    name.to_ascii_lowercase()
}

/// Returns the lowest reasoning effort of OpenAI's reasoning models; the inner `None` means that
/// the effort can't be set. <https://platform.openai.com/docs/guides/reasoning>: `minimal` for
/// GPT-5, `none` from 5.1 on, and `low` for the o-series and Codex.
fn openai_effort(name: &str) -> Option<Option<&'static str>> {
    let o_series = ["o1", "o3", "o4"].iter().any(|series| {
        name.strip_prefix(series)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    if o_series {
        return Some(Some("low"));
    }
    let rest = name.strip_prefix("gpt-")?;
    let (major, minor) = version(rest)?;
    if major < 5 || rest.contains("chat") {
        return None;
    }
    Some(if rest.contains("pro") {
        None
    } else if rest.contains("codex") {
        Some("low")
    } else if (major, minor) == (5, 0) {
        Some("minimal")
    } else {
        Some("none")
    })
}

/// Returns the version of a Claude model.
fn claude_version(name: &str) -> Option<(u32, u32)> {
    let from = name.find("claude-")?;
    let rest = name[from..].strip_prefix("claude-")?;
    let at = rest.find(|character: char| character.is_ascii_digit())?;
    version(&rest[at..])
}

/// Returns the sampling parameters that a version of Claude rejects: from 4.7 on all of them, from
/// 4.1 on two at once. <https://platform.claude.com/docs/en/about-claude/models/migration-guide>
fn refused_by_claude(version: (u32, u32)) -> &'static [&'static str] {
    if version >= (4, 7) {
        &["temperature", "top_p"]
    } else if version >= (4, 1) {
        &["top_p"]
    } else {
        &[]
    }
}

/// Parses the version at a text's beginning: one or two digits, and one or two after a point or
/// dash.
fn version(text: &str) -> Option<(u32, u32)> {
    let number = |text: &str| {
        let digits = text.len()
            - text
                .trim_start_matches(|character: char| character.is_ascii_digit())
                .len();
        (1..=2)
            .contains(&digits)
            .then(|| Some((text[..digits].parse().ok()?, digits)))
            .flatten()
    };
    let (major, digits) = number(text)?;
    let minor = text[digits..]
        .strip_prefix(['.', '-'])
        .and_then(number)
        .map_or(0, |(minor, _)| minor);
    Some((major, minor))
}

/// Returns the switch that turns reasoning off, or keeps it as short as possible.
fn thinking_switch(provider: Provider, name: &str) -> Option<(&'static str, Value)> {
    let disabled = || json!({ "type": "disabled" });
    let hybrid = is_hybrid(name);
    match provider {
        // <https://openrouter.ai/docs/use-cases/reasoning-tokens>
        Provider::OpenRouter => Some(("reasoning", json!({ "enabled": false }))),
        // <https://ai.google.dev/gemini-api/docs/openai#thinking>
        Provider::Gemini => {
            let (_, rest) = name.split_once("gemini-")?;
            let effort = match version(rest)? {
                (0..=1, _) | (2, 0..=4) => return None,
                (2, _) if !rest.contains("pro") => "none",
                (2, _) => "low",
                _ if rest.contains("pro") => "low",
                _ => "minimal",
            };
            Some(("reasoning_effort", effort.into()))
        }
        // <https://docs.z.ai/guides/capabilities/thinking-mode>
        Provider::Glm if hybrid => Some(("thinking", disabled())),
        // <https://api-docs.deepseek.com/guides/thinking_mode>
        Provider::DeepSeek if hybrid || name.contains("flash") || name.contains("pro") => {
            Some(("thinking", disabled()))
        }
        // <https://www.alibabacloud.com/help/en/model-studio/deep-thinking>
        Provider::Qwen if hybrid || is_hybrid_of_model_studio(name) => {
            Some(("enable_thinking", false.into()))
        }
        // <https://console.groq.com/docs/reasoning>
        Provider::Groq if name.starts_with("qwen3") => Some(("reasoning_effort", "none".into())),
        // <https://docs.together.ai/docs/reasoning-overview>
        Provider::Together if hybrid => Some(("reasoning", json!({ "enabled": false }))),
        // <https://docs.litellm.ai/docs/providers/inception>
        Provider::Inception if version(name.strip_prefix("mercury-")?).is_some() => {
            Some(("reasoning_effort", "instant".into()))
        }
        // <https://github.com/openai/gpt-oss#reasoning-effort>: it can't be turned off.
        _ if name.contains("gpt-oss") => Some(("reasoning_effort", "low".into())),
        // vLLM, SGLang and llama.cpp's server: <https://qwen.readthedocs.io/en/latest/deployment/vllm.html>
        Provider::Other if hybrid => {
            let switch = if name.contains("deepseek") {
                "thinking"
            } else {
                "enable_thinking"
            };
            Some(("chat_template_kwargs", json!({ switch: false })))
        }
        _ => None,
    }
}

/// True for models that reason unless this is turned off: Qwen3 and later, GLM-4.5 and later,
/// DeepSeek V3.1 and later. Coder models and those with a single mode don't.
fn is_hybrid(name: &str) -> bool {
    if ["coder", "instruct", "2507", "thinking", "vl", "embedding"]
        .iter()
        .any(|part| name.contains(part))
    {
        return false;
    }
    let after = |prefix: &str| name.split_once(prefix).and_then(|(_, rest)| version(rest));
    after("qwen")
        .or_else(|| after("qwen-"))
        .is_some_and(|version| version >= (3, 0))
        || after("glm-").is_some_and(|version| version >= (4, 5))
        || after("deepseek-v").is_some_and(|version| version >= (3, 1))
}

/// True for names of Alibaba's hybrid models without a version.
fn is_hybrid_of_model_studio(name: &str) -> bool {
    ["qwen-plus", "qwen-flash", "qwen-turbo"]
        .iter()
        .any(|hybrid| name.starts_with(hybrid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(url: &str, name: &str) -> Value {
        let settings = ModelSettings {
            url: Some(url.to_owned()),
            name: Some(name.to_owned()),
            ..ModelSettings::default()
        };
        let mut body = json!({ "temperature": 0.0, "top_p": 0.9, "seed": 1, "max_tokens": 8 });
        RequestStyle::of_chat(&settings).apply(&mut body);
        body
    }

    #[test]
    fn reasoning_models_get_their_own_parameters() {
        let plain = json!({ "temperature": 0.0, "top_p": 0.9, "seed": 1, "max_tokens": 8 });
        let with = |name: &str, value: Value| {
            let mut body = plain.clone();
            body[name] = value;
            body
        };
        let openai = |effort: &str| json!({ "seed": 1, "max_completion_tokens": 8, "reasoning_effort": effort });
        let local = "http://127.0.0.1:8000";
        for (url, name, expected) in [
            ("https://api.openai.com/v1", "gpt-5-mini", openai("minimal")),
            ("https://api.openai.com/v1", "gpt-5.2", openai("none")),
            ("https://api.openai.com/v1", "gpt-5.1-codex", openai("low")),
            (local, "openai/o4-mini", openai("low")),
            (
                "https://api.openai.com/v1",
                "gpt-5.2-pro",
                json!({ "seed": 1, "max_completion_tokens": 8 }),
            ),
            (
                "https://api.openai.com/v1",
                "gpt-4.1",
                json!({ "temperature": 0.0, "top_p": 0.9, "seed": 1, "max_completion_tokens": 8 }),
            ),
            (local, "gpt-5-chat-latest", plain.clone()),
            (local, "qwen2.5-coder", plain.clone()),
            (local, "Qwen/Qwen3-Coder-Next", plain.clone()),
            (
                local,
                "Qwen/Qwen3.6-35B-A3B",
                with("chat_template_kwargs", json!({ "enable_thinking": false })),
            ),
            (
                local,
                "deepseek-ai/DeepSeek-V4-Flash",
                with("chat_template_kwargs", json!({ "thinking": false })),
            ),
            (local, "gpt-oss:20b", with("reasoning_effort", json!("low"))),
            (local, "claude-sonnet-4-20250514", plain.clone()),
            (
                local,
                "anthropic/claude-haiku-4.5",
                json!({ "temperature": 0.0, "seed": 1, "max_tokens": 8 }),
            ),
            (
                local,
                "us.anthropic.claude-opus-4-7-v1:0",
                json!({ "seed": 1, "max_tokens": 8 }),
            ),
            (
                "https://openrouter.ai/api/v1",
                "openai/gpt-5",
                json!({ "seed": 1, "max_tokens": 8, "reasoning": { "effort": "minimal" } }),
            ),
            (
                "https://generativelanguage.googleapis.com/v1beta/openai",
                "gemini-2.5-flash",
                with("reasoning_effort", json!("none")),
            ),
            (
                "https://generativelanguage.googleapis.com/v1beta/openai",
                "models/gemini-3-pro-preview",
                with("reasoning_effort", json!("low")),
            ),
            (
                "https://api.z.ai/api/paas/v4",
                "glm-4.7",
                with("thinking", json!({ "type": "disabled" })),
            ),
            (
                "https://dashscope.aliyuncs.com/compatible-mode/v1",
                "qwen-plus",
                with("enable_thinking", json!(false)),
            ),
            (
                "https://api.mistral.ai/v1",
                "mistral-medium-latest",
                json!({ "temperature": 0.0, "top_p": 1.0, "max_tokens": 8, "random_seed": 1 }),
            ),
        ] {
            assert_eq!(chat(url, name), expected, "{name}");
        }
    }
}
