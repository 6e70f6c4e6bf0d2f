//! Resolves addresses of servers as people write them: a provider's base as its page prints it,
//! with or without a version, or the whole endpoint.

use reqwest::Url;

use crate::model::ModelError;

/// Base paths of providers other than `/v1`, by the end of the host. An address without this path,
/// or with only its beginning, is completed to it. Each is from the provider's own page.
const PROVIDER_ROOTS: &[(&str, &str)] = &[
    // <https://ai.google.dev/gemini-api/docs/openai>
    ("generativelanguage.googleapis.com", "v1beta/openai"),
    // <https://openrouter.ai/docs/quickstart>
    ("openrouter.ai", "api/v1"),
    // <https://docs.github.com/en/rest/models/inference>
    ("models.github.ai", "inference"),
    // <https://docs.z.ai/api-reference/llm/chat-completion>
    ("api.z.ai", "api/paas/v4"),
    // <https://docs.bigmodel.cn/api-reference>
    ("open.bigmodel.cn", "api/paas/v4"),
    // <https://console.groq.com/docs/openai>
    ("api.groq.com", "openai/v1"),
    // <https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope>
    ("dashscope.aliyuncs.com", "compatible-mode/v1"),
    ("dashscope-intl.aliyuncs.com", "compatible-mode/v1"),
    ("dashscope-us.aliyuncs.com", "compatible-mode/v1"),
    // <https://learn.microsoft.com/en-us/azure/ai-foundry/openai/api-version-lifecycle>
    (".openai.azure.com", "openai/v1"),
    (".services.ai.azure.com", "openai/v1"),
    (".cognitiveservices.azure.com", "openai/v1"),
    // <https://docs.fireworks.ai/tools-sdks/openai-compatibility>
    ("api.fireworks.ai", "inference/v1"),
    // <https://deepinfra.com/docs/openai_api>
    ("api.deepinfra.com", "v1/openai"),
    // <https://docs.perplexity.ai/guides/chat-completions-guide>
    ("api.perplexity.ai", ""),
    // The predecessor of models.github.ai.
    ("models.inference.ai.azure.com", ""),
];

/// Endpoints that people copy, and the protocols that request them, if any here does. Of two that
/// match, the longer comes first.
const ENDPOINTS: &[(&str, Option<&str>)] = &[
    ("chat/completions", Some("openai-chat")),
    ("fim/completions", Some("mistral-fim` or `inception-fim")),
    ("completions", Some("openai-completions")),
    ("completion", Some("llama-completion")),
    ("infill", Some("llama-infill")),
    ("messages", Some("anthropic-messages")),
    ("generate_stream", Some("tgi")),
    ("generate", Some("tgi` or `ollama-generate")),
    ("responses", None),
    ("api/chat", None),
];

/// Allowed query parameters of an address. Others could contain a key, which would then appear in
/// errors and logs.
const QUERIES: &[&str] = &["api-version"];

/// Resolves the address of a protocol's path (`/` first) under a base of a setting. `name` is the
/// model's, which Azure's addresses may lack.
///
/// # Errors
/// [`ModelError::Settings`] if it is not an address, or is another protocol's.
pub(super) fn resolve(
    setting: &str,
    base: &str,
    path: &str,
    name: Option<&str>,
) -> Result<Url, ModelError> {
    let fault = |why: &str| {
        ModelError::Settings(format!(
            "model: the setting {setting} is not an address of the form http://host:port: {why}."
        ))
    };
    if !base.contains("://") {
        return Err(fault("put http:// or https:// before it"));
    }
    let mut url = Url::parse(base.trim()).map_err(|error| fault(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fault("the scheme is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("it holds a user name or password, use key_env"));
    }
    if url.fragment().is_some() {
        return Err(fault("it has a fragment, the part from `#` on"));
    }
    if let Some((other, _)) = url
        .query_pairs()
        .find(|(name, _)| !QUERIES.contains(&&**name))
    {
        return Err(fault(&format!(
            "its query has `{other}`, and only `{}` may be there; a key belongs in key_env, \
             other values in headers",
            QUERIES.join("`, `")
        )));
    }
    let path: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (root, leaf) = match path.as_slice() {
        [root @ ("v1" | "beta" | "api"), leaf @ ..] => (*root, leaf),
        leaf => ("", leaf),
    };
    let own = url.path().to_owned();
    let given: Vec<&str> = own.split('/').filter(|part| !part.is_empty()).collect();
    let mut parts = given.clone();
    let leaf_text = leaf.join("/");
    let ending = ENDPOINTS.iter().find(|(ending, _)| {
        let ending: Vec<&str> = ending.split('/').collect();
        parts.ends_with(&ending)
    });
    match ending {
        // The whole endpoint.
        _ if parts.ends_with(leaf) && ending.is_none_or(|(ending, _)| *ending == leaf_text) => {
            parts.truncate(parts.len() - leaf.len());
        }
        Some(("generate" | "generate_stream", _)) if leaf_text.starts_with("generate") => {
            parts.pop();
        }
        Some((ending, None)) => {
            return Err(fault(&format!(
                "it ends in `/{ending}`, which no protocol here requests; set the address without \
                 this end"
            )));
        }
        Some((ending, Some(protocol))) => {
            return Err(fault(&format!(
                "it ends in `/{ending}`, which the protocol `{protocol}` requests; set that \
                 protocol, or the address without this end"
            )));
        }
        None => complete_root(&url, root, leaf, name, &mut parts),
    }
    let path: Vec<&str> = parts.iter().chain(leaf).copied().collect();
    url.set_path(&path.join("/"));
    Ok(url)
}

/// Completes a base's path to the parent of a protocol's endpoint.
fn complete_root<'a>(
    url: &Url,
    root: &'a str,
    leaf: &[&str],
    name: Option<&'a str>,
    parts: &mut Vec<&'a str>,
) {
    if root != "v1" {
        // The base of another protocol of the same server.
        if parts.last() == Some(&"v1") {
            parts.pop();
        }
        if !root.is_empty() && parts.last() != Some(&root) {
            parts.push(root);
        }
        return;
    }
    let host = url.host_str().unwrap_or_default();
    if matches!(leaf, ["completions"] | ["chat", "completions"]) {
        if url.query().is_some() && host.ends_with(".azure.com") && parts.len() < 2 {
            // <https://learn.microsoft.com/en-us/azure/ai-foundry/openai/reference>
            *parts = vec!["openai", "deployments"];
            parts.extend(name);
            return;
        }
        let provider = PROVIDER_ROOTS
            .iter()
            .find(|(end, _)| host == *end || end.starts_with('.') && host.ends_with(end));
        if let Some((_, root)) = provider {
            let root: Vec<&str> = root.split('/').filter(|part| !part.is_empty()).collect();
            if root.starts_with(parts) {
                *parts = root;
                return;
            }
        }
    }
    let is_whole = parts.iter().any(|part| is_version(part))
        || parts.contains(&"deployments")
        || url.query().is_some()
        || matches!(parts.last(), Some(&"beta" | &"inference"));
    if !is_whole {
        parts.push(root);
    }
}

/// True for `v1`, `v4`, `v1beta`, `v1beta3` and similar.
fn is_version(part: &str) -> bool {
    let Some(rest) = part.strip_prefix('v') else {
        return false;
    };
    let letters = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    // At least one digit follows the `v`.
    letters.len() < rest.len()
        && letters
            .chars()
            .all(|character| character.is_ascii_lowercase() || character.is_ascii_digit())
}

/// True for an address of Azure OpenAI, which expects the key in a different header.
pub(super) fn is_azure(url: &Url) -> bool {
    url.host_str()
        .is_some_and(|host| host.ends_with(".azure.com"))
        || url.path().contains("/openai/deployments/")
}

/// True for an address of this machine. Servers print `0.0.0.0` and `[::]` for all of their own
/// addresses.
pub(super) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost"
                || name.ends_with(".localhost")
                || matches!(name, "ip6-localhost" | "localhost.localdomain")
        }
        Some(url::Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(url::Host::Ipv6(address)) => {
            address.is_loopback()
                || address.is_unspecified()
                || address
                    .to_ipv4_mapped()
                    .is_some_and(|address| address.is_loopback() || address.is_unspecified())
        }
        None => false,
    }
}

/// True for a server on this machine or in the same network, which may have to load the model
/// first.
pub(super) fn is_local(url: &Url) -> bool {
    if is_this_machine(url) {
        return true;
    }
    match url.host() {
        Some(url::Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            !name.contains('.')
                || [".local", ".lan", ".internal", ".home.arpa"]
                    .iter()
                    .any(|end| name.ends_with(end))
        }
        Some(url::Host::Ipv4(address)) => address.is_private() || address.is_link_local(),
        Some(url::Host::Ipv6(address)) => {
            address.is_unique_local() || address.is_unicast_link_local()
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(base: &str, path: &str) -> String {
        resolve("url", base, path, Some("gpt-5"))
            .map_or_else(|error| error.to_string(), String::from)
    }

    #[test]
    fn endpoints_of_no_protocol_name_none() {
        for base in ["http://h:1/v1/responses", "http://h:1/api/chat"] {
            let fault = resolved(base, "/v1/chat/completions");
            assert!(fault.contains("which no protocol here requests"), "{fault}");
        }
    }

    /// Each line: a base as a provider's page or an editor's guide prints it, a protocol's path,
    /// and the expected address.
    #[test]
    fn bases_and_endpoints_are_requested_as_meant() {
        const CHAT: &str = "/v1/chat/completions";
        for (base, path, expected) in [
            ("http://h:1", CHAT, "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", CHAT, "http://h:1/v1/chat/completions"),
            (
                "http://h:1/v1/chat/completions",
                CHAT,
                "http://h:1/v1/chat/completions",
            ),
            (
                "http://h:1/proxy",
                CHAT,
                "http://h:1/proxy/v1/chat/completions",
            ),
            (
                "http://h:1/api/v1/",
                CHAT,
                "http://h:1/api/v1/chat/completions",
            ),
            (
                "http://h:1/v1beta/openai/",
                CHAT,
                "http://h:1/v1beta/openai/chat/completions",
            ),
            (
                "http://h:1/api/paas/v4/",
                CHAT,
                "http://h:1/api/paas/v4/chat/completions",
            ),
            (
                "http://h:1/inference",
                CHAT,
                "http://h:1/inference/chat/completions",
            ),
            ("http://h:1/beta", CHAT, "http://h:1/beta/chat/completions"),
            (
                "https://models.github.ai/orgs/o/inference",
                CHAT,
                "https://models.github.ai/orgs/o/inference/chat/completions",
            ),
            (
                "https://models.github.ai",
                CHAT,
                "https://models.github.ai/inference/chat/completions",
            ),
            (
                "https://generativelanguage.googleapis.com/v1beta",
                CHAT,
                "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            ),
            (
                "https://openrouter.ai/api",
                CHAT,
                "https://openrouter.ai/api/v1/chat/completions",
            ),
            (
                "https://api.z.ai",
                CHAT,
                "https://api.z.ai/api/paas/v4/chat/completions",
            ),
            (
                "https://api.z.ai/api/coding/paas/v4",
                CHAT,
                "https://api.z.ai/api/coding/paas/v4/chat/completions",
            ),
            (
                "https://api.groq.com",
                CHAT,
                "https://api.groq.com/openai/v1/chat/completions",
            ),
            (
                "https://api.perplexity.ai",
                CHAT,
                "https://api.perplexity.ai/chat/completions",
            ),
            (
                "https://api.fireworks.ai/inference",
                CHAT,
                "https://api.fireworks.ai/inference/v1/chat/completions",
            ),
            (
                "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
                CHAT,
                "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            ),
            (
                "https://x.openai.azure.com/?api-version=2024-10-21",
                CHAT,
                "https://x.openai.azure.com/openai/deployments/gpt-5/chat/completions?api-version=2024-10-21",
            ),
            (
                "https://x.openai.azure.com",
                CHAT,
                "https://x.openai.azure.com/openai/v1/chat/completions",
            ),
            (
                "https://x.openai.azure.com/openai/v1/",
                CHAT,
                "https://x.openai.azure.com/openai/v1/chat/completions",
            ),
            (
                "https://h/v1/projects/p/locations/l/endpoints/openapi",
                CHAT,
                "https://h/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
            ),
            (
                "https://api.deepseek.com",
                "/beta/completions",
                "https://api.deepseek.com/beta/completions",
            ),
            (
                "https://api.deepseek.com/v1",
                "/beta/completions",
                "https://api.deepseek.com/beta/completions",
            ),
            (
                "https://api.deepseek.com/beta",
                "/beta/completions",
                "https://api.deepseek.com/beta/completions",
            ),
            (
                "https://api.deepseek.com/beta/completions",
                "/beta/completions",
                "https://api.deepseek.com/beta/completions",
            ),
            (
                "https://codestral.mistral.ai",
                "/v1/fim/completions",
                "https://codestral.mistral.ai/v1/fim/completions",
            ),
            (
                "https://codestral.mistral.ai/v1/fim/completions",
                "/v1/fim/completions",
                "https://codestral.mistral.ai/v1/fim/completions",
            ),
            (
                "https://api.anthropic.com/v1",
                "/v1/messages",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                "https://api.z.ai/api/anthropic",
                "/v1/messages",
                "https://api.z.ai/api/anthropic/v1/messages",
            ),
            (
                "http://h:11434/v1",
                "/api/generate",
                "http://h:11434/api/generate",
            ),
            (
                "http://h:11434/api/",
                "/api/generate",
                "http://h:11434/api/generate",
            ),
            (
                "http://h:11434/api/generate",
                "/api/generate",
                "http://h:11434/api/generate",
            ),
            ("http://h:8080/v1", "/infill", "http://h:8080/infill"),
            (
                "http://h:8080/generate",
                "/generate_stream",
                "http://h:8080/generate_stream",
            ),
            (
                "http://h:8080/generate_stream",
                "/generate",
                "http://h:8080/generate",
            ),
        ] {
            assert_eq!(resolved(base, path), expected, "{base}");
        }
    }

    #[test]
    fn another_protocols_endpoint_is_named() {
        let said = resolved("http://h/v1/chat/completions", "/v1/completions");
        assert!(
            said.contains("`/chat/completions`") && said.contains("`openai-chat`"),
            "{said}"
        );
        let said = resolved("http://h/v1/completions", "/v1/chat/completions");
        assert!(said.contains("`openai-completions`"), "{said}");
    }

    #[test]
    fn queries_that_could_hold_a_key_are_refused_without_it() {
        let said = resolved("http://h/v1?key=sk-1", "/v1/chat/completions");
        assert!(said.contains("`key`") && !said.contains("sk-1"), "{said}");
    }

    #[test]
    fn names_of_this_machine_are_recognised() {
        let this = |text: &str| is_this_machine(&Url::parse(text).expect("an address"));
        for text in [
            "http://localhost",
            "http://a.localhost",
            "http://127.0.0.2",
            "http://0.0.0.0",
            "http://[::]",
            "http://[::1]",
            "http://[::ffff:127.0.0.1]",
            "http://localhost.",
        ] {
            assert!(this(text), "{text}");
        }
        for text in [
            "http://10.0.0.1",
            "http://localhost.example.org",
            "http://[fd00::1]",
        ] {
            assert!(!this(text), "{text}");
        }
        let local = |text: &str| is_local(&Url::parse(text).expect("an address"));
        assert!(local("http://10.0.0.1") && local("http://gpu:8000") && local("http://a.local"));
        assert!(!local("https://api.openai.com") && !local("http://8.8.8.8"));
    }
}
