//! Twenty servers and providers, each as its page documents it: the table of `docs/protocols.md`,
//! one test per column. Providers are reached through a proxy, which is the scripted server.

use serde_json::json;

use super::exchanges::{DONE, event};
use super::server::{Script, streamed};
use super::*;

/// A row of the table.
struct ProviderRow {
    /// Its name in the table.
    name: &'static str,
    /// The page that documents it.
    page: &'static str,
    protocol: Protocol,
    model: &'static str,
    /// Bases as the page and editors print them; the first is in the table.
    bases: &'static [&'static str],
    /// The resulting address for each of them.
    address: &'static str,
    /// Parameters of a request, without the texts.
    parameters: Value,
    /// The completion "ab" as a stream.
    stream: Vec<String>,
    /// The completion "ab" with separate reasoning, if the server sends it.
    thinking: Option<Vec<String>>,
    /// An error: its status line, its body, and the expected reaction.
    error: (&'static str, Value, Refusal),
    /// Header for a pause of 0 seconds, if the page documents one.
    retry: &'static str,
}

/// Reaction to an error.
enum Refusal {
    /// This parameter is omitted or renamed.
    Parameter(&'static str),
    /// These words are in the message to the person.
    Message(&'static str),
}

use Refusal::{Message, Parameter};

const RETRY_AFTER: &str = "retry-after: 0\r\n";

fn chat_chunk(delta: Value, reason: Value) -> String {
    event(&json!({
        "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }],
    }))
}

/// A chat's stream in OpenAI's format: the role first, the finish reason alone, and the usage at
/// the end.
fn chat_stream() -> Vec<String> {
    vec![
        chat_chunk(
            json!({ "role": "assistant", "content": "", "refusal": null }),
            Value::Null,
        ),
        chat_chunk(json!({ "content": "a" }), Value::Null),
        chat_chunk(json!({ "content": "b" }), Value::Null),
        chat_chunk(json!({}), "stop".into()),
        event(&json!({ "id": "1", "choices": [], "usage": { "completion_tokens": 2 } })),
        DONE.to_owned(),
    ]
}

/// A chat's stream with reasoning under this name before the completion.
fn thinking_stream(name: &str) -> Vec<String> {
    let mut stream = chat_stream();
    let thought = json!({ "role": "assistant", "content": null, (name): "A product." });
    stream.insert(1, chat_chunk(thought, Value::Null));
    stream
}

fn text_stream() -> Vec<String> {
    let chunk = |text: &str, reason: Value| {
        event(&json!({
            "id": "1", "object": "text_completion", "created": 1, "model": "m",
            "choices": [{ "index": 0, "text": text, "logprobs": null, "finish_reason": reason }],
        }))
    };
    vec![
        chunk("a", Value::Null),
        chunk("b", Value::Null),
        chunk("", "stop".into()),
        DONE.to_owned(),
    ]
}

/// Parameters of a chat in OpenAI's format, overridden by these; null omits one.
fn chat_parameters(model: &str, over: Value) -> Value {
    let mut parameters = json!({
        "model": model, "temperature": 0.0, "top_p": 1.0, "seed": 0, "n": 1, "stream": true,
        "max_tokens": 128,
    });
    if let (Some(fields), Value::Object(over)) = (parameters.as_object_mut(), over) {
        for (name, value) in over {
            if value.is_null() {
                fields.remove(&name);
            } else {
                fields.insert(name, value);
            }
        }
    }
    parameters
}

/// Parameters of `/v1/completions` with a prompt of Qwen's.
fn text_parameters(model: &str) -> Value {
    json!({
        "model": model, "max_tokens": 128, "temperature": 0.0, "top_p": 1.0, "seed": 0, "n": 1,
        "stop": ["<|endoftext|>", "<|file_sep|>", "<|fim_pad|>", "<|repo_name|>"], "stream": true,
    })
}

const QWEN: &str = "qwen2.5-coder";

fn rows() -> Vec<ProviderRow> {
    let openai_error = |message: &str, param: Value| {
        json!({ "error": {
            "message": message, "type": "invalid_request_error", "param": param, "code": null,
        } })
    };
    vec![
        ProviderRow {
            name: "llama.cpp",
            page: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
            protocol: Protocol::LlamaInfill,
            model: QWEN,
            bases: &[
                "http://127.0.0.1:8080",
                "http://127.0.0.1:8080/v1",
                "http://127.0.0.1:8080/infill",
            ],
            address: "http://127.0.0.1:8080/infill",
            parameters: json!({
                "n_predict": 128, "temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0,
                "seed": 0, "stop": ["<|endoftext|>", "<|file_sep|>", "<|fim_pad|>", "<|repo_name|>"],
                "cache_prompt": true, "stream": true,
            }),
            stream: vec![
                event(
                    &json!({ "index": 0, "content": "", "tokens": [], "stop": false,
                    "prompt_progress": { "total": 9, "processed": 9 } }),
                ),
                event(&json!({ "index": 0, "content": "a", "tokens": [1], "stop": false })),
                event(&json!({ "index": 0, "content": "b", "tokens": [2], "stop": false })),
                event(
                    &json!({ "index": 0, "content": "", "stop": true, "stop_type": "eos",
                    "stopping_word": "", "timings": {} }),
                ),
            ],
            thinking: None,
            error: (
                "501 Not Implemented",
                json!({ "error": { "code": 501, "type": "not_supported_error",
                    "message": "Infill is not supported by this model" } }),
                Message("Infill is not supported by this model"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "vLLM",
            page: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
            protocol: Protocol::Vllm,
            model: QWEN,
            bases: &[
                "http://localhost:8000/v1",
                "http://localhost:8000",
                "http://localhost:8000/v1/completions",
            ],
            address: "http://localhost:8000/v1/completions",
            parameters: json!({
                "model": QWEN, "max_tokens": 128, "temperature": 0.0, "top_p": 1.0, "seed": 0,
                "n": 1,
                "stop": ["<|endoftext|>", "<|file_sep|>", "<|fim_pad|>", "<|repo_name|>",
                    "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|im_end|>", "<|im_start|>"],
                "stream": true, "skip_special_tokens": false,
                "spaces_between_special_tokens": false, "top_k": -1, "min_p": 0.0,
                "repetition_penalty": 1.0, "logprobs": 0,
            }),
            stream: text_stream(),
            thinking: None,
            error: (
                "404 Not Found",
                json!({ "object": "error", "message": "The model `m` does not exist.",
                    "type": "NotFoundError", "param": null, "code": 404 }),
                Message("does not exist"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "Ollama",
            page: "https://github.com/ollama/ollama/blob/main/docs/api.md",
            protocol: Protocol::OllamaGenerate,
            model: QWEN,
            bases: &[
                "http://localhost:11434/api",
                "http://localhost:11434",
                "http://localhost:11434/v1",
            ],
            address: "http://localhost:11434/api/generate",
            parameters: json!({
                "model": QWEN, "raw": true, "stream": true, "options": {
                    "num_predict": 128, "temperature": 0.0, "top_p": 1.0, "seed": 0,
                    "num_ctx": 2688,
                    "stop": ["<|endoftext|>", "<|file_sep|>", "<|fim_pad|>", "<|repo_name|>"],
                },
            }),
            stream: vec![
                format!(
                    "{}\n",
                    json!({ "model": "m", "response": "a", "done": false })
                ),
                format!(
                    "{}\n",
                    json!({ "model": "m", "response": "b", "done": false })
                ),
                format!(
                    "{}\n",
                    json!({ "model": "m", "response": "", "done": true,
                    "done_reason": "stop", "eval_count": 2 })
                ),
            ],
            thinking: Some(vec![
                format!(
                    "{}\n",
                    json!({ "response": "", "thinking": "A product.", "done": false })
                ),
                format!("{}\n", json!({ "response": "ab", "done": false })),
                format!(
                    "{}\n",
                    json!({ "response": "", "done": true, "done_reason": "stop" })
                ),
            ]),
            error: (
                "404 Not Found",
                json!({ "error": "model 'm' not found" }),
                Message("model 'm' not found"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "LM Studio",
            page: "https://lmstudio.ai/docs/developer/openai-compat",
            protocol: Protocol::OpenAiCompletions,
            model: QWEN,
            bases: &["http://localhost:1234/v1", "http://localhost:1234"],
            address: "http://localhost:1234/v1/completions",
            parameters: text_parameters(QWEN),
            stream: text_stream(),
            thinking: None,
            error: (
                "400 Bad Request",
                json!({ "error": "Failed to load model \"m\"" }),
                Message("Failed to load model"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "TGI",
            page: "https://huggingface.github.io/text-generation-inference/",
            protocol: Protocol::Tgi,
            model: QWEN,
            bases: &["http://127.0.0.1:3000", "http://127.0.0.1:3000/generate"],
            address: "http://127.0.0.1:3000/generate_stream",
            parameters: json!({ "parameters": {
                "max_new_tokens": 128, "do_sample": false, "seed": 0,
                "stop": ["<|endoftext|>", "<|file_sep|>", "<|fim_pad|>", "<|repo_name|>"],
                "return_full_text": false, "details": true,
            } }),
            stream: vec![
                event(
                    &json!({ "index": 1, "token": { "id": 1, "text": "a", "logprob": -0.1,
                    "special": false }, "generated_text": null, "details": null }),
                ),
                event(
                    &json!({ "index": 2, "token": { "id": 2, "text": "b", "logprob": -0.1,
                    "special": false }, "generated_text": null, "details": null }),
                ),
                event(
                    &json!({ "index": 3, "token": { "id": 3, "text": "</s>", "logprob": -0.1,
                    "special": true }, "generated_text": "ab",
                    "details": { "finish_reason": "eos_token", "generated_tokens": 3 } }),
                ),
            ],
            thinking: None,
            error: (
                "422 Unprocessable Entity",
                json!({ "error": "Input validation error: `seed` must be strictly positive",
                    "error_type": "validation" }),
                Parameter("parameters/seed"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "SGLang",
            page: "https://docs.sglang.ai/basic_usage/openai_api_completions.html",
            protocol: Protocol::OpenAiChat,
            model: "Qwen/Qwen3-8B",
            bases: &["http://127.0.0.1:30000/v1", "http://127.0.0.1:30000"],
            address: "http://127.0.0.1:30000/v1/chat/completions",
            parameters: chat_parameters(
                "Qwen/Qwen3-8B",
                json!({ "chat_template_kwargs": { "enable_thinking": false } }),
            ),
            stream: chat_stream(),
            thinking: Some(thinking_stream("reasoning_content")),
            error: (
                "400 Bad Request",
                json!({ "object": "error", "message": "1 validation error:\n  {'type': 'extra_forbidden', 'loc': ('body', 'chat_template_kwargs'), 'msg': 'Extra inputs are not permitted'}",
                    "type": "BadRequestError", "param": null, "code": 400 }),
                Parameter("chat_template_kwargs"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "LiteLLM",
            page: "https://docs.litellm.ai/docs/proxy/user_keys",
            protocol: Protocol::OpenAiChat,
            model: "claude-opus-4-7",
            bases: &[
                "http://0.0.0.0:4000",
                "http://0.0.0.0:4000/v1",
                "http://0.0.0.0:4000/v1/chat/completions",
            ],
            address: "http://0.0.0.0:4000/v1/chat/completions",
            parameters: chat_parameters(
                "claude-opus-4-7",
                json!({ "temperature": null, "top_p": null }),
            ),
            stream: chat_stream(),
            thinking: Some(thinking_stream("reasoning_content")),
            error: (
                "400 Bad Request",
                json!({ "error": { "message": "litellm.UnsupportedParamsError: anthropic does not support parameters: ['seed'], for model=claude-opus-4-7. To drop these, set `litellm.drop_params=True`", "type": "None", "param": "None", "code": "400" } }),
                Parameter("seed"),
            ),
            retry: RETRY_AFTER,
        },
        ProviderRow {
            name: "OpenRouter",
            page: "https://openrouter.ai/docs/api-reference/overview",
            protocol: Protocol::OpenAiChat,
            model: "qwen/qwen3-coder",
            bases: &[
                "https://openrouter.ai/api/v1",
                "https://openrouter.ai/api",
                "https://openrouter.ai",
            ],
            address: "https://openrouter.ai/api/v1/chat/completions",
            parameters: chat_parameters(
                "qwen/qwen3-coder",
                json!({ "reasoning": { "enabled": false } }),
            ),
            stream: [
                vec![": OPENROUTER PROCESSING\n\n".to_owned()],
                chat_stream(),
            ]
            .concat(),
            thinking: Some(thinking_stream("reasoning")),
            error: (
                "400 Bad Request",
                json!({ "error": { "code": 400, "message": "Reasoning is mandatory for this endpoint and cannot be disabled." } }),
                Parameter("reasoning"),
            ),
            retry: RETRY_AFTER,
        },
        ProviderRow {
            name: "OpenAI",
            page: "https://platform.openai.com/docs/api-reference/chat",
            protocol: Protocol::OpenAiChat,
            model: "gpt-5-mini",
            bases: &["https://api.openai.com/v1", "https://api.openai.com"],
            address: "https://api.openai.com/v1/chat/completions",
            parameters: chat_parameters(
                "gpt-5-mini",
                json!({ "temperature": null, "top_p": null, "max_tokens": null,
                    "max_completion_tokens": 128, "reasoning_effort": "minimal" }),
            ),
            stream: chat_stream(),
            thinking: None,
            error: (
                "400 Bad Request",
                openai_error(
                    "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.",
                    "reasoning_effort".into(),
                ),
                Parameter("reasoning_effort"),
            ),
            retry: RETRY_AFTER,
        },
        ProviderRow {
            name: "Azure",
            page: "https://learn.microsoft.com/en-us/azure/ai-foundry/openai/reference",
            protocol: Protocol::OpenAiChat,
            model: "gpt-4o",
            bases: &[
                "https://x.openai.azure.com/openai/deployments/gpt-4o?api-version=2024-10-21",
                "https://x.openai.azure.com?api-version=2024-10-21",
                "https://x.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
            ],
            address: "https://x.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
            parameters: chat_parameters("gpt-4o", json!({})),
            stream: [
                vec![event(
                    &json!({ "id": "", "object": "", "created": 0, "model": "",
                    "choices": [], "prompt_filter_results": [{ "prompt_index": 0 }] }),
                )],
                chat_stream(),
            ]
            .concat(),
            thinking: None,
            error: (
                "400 Bad Request",
                openai_error("Unrecognized request argument supplied: seed", Value::Null),
                Parameter("seed"),
            ),
            retry: RETRY_AFTER,
        },
        ProviderRow {
            name: "Anthropic",
            page: "https://docs.anthropic.com/en/api/messages-streaming",
            protocol: Protocol::AnthropicMessages,
            model: "claude-haiku-4-5",
            bases: &[
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1",
                "https://api.anthropic.com/v1/messages",
            ],
            address: "https://api.anthropic.com/v1/messages",
            parameters: json!({
                "model": "claude-haiku-4-5", "max_tokens": 128, "temperature": 0.0, "stream": true,
            }),
            stream: anthropic_stream(&[]),
            thinking: Some(anthropic_stream(&["A product."])),
            error: (
                "400 Bad Request",
                json!({ "type": "error", "error": { "type": "invalid_request_error",
                    "message": "`temperature` is deprecated for this model." } }),
                Parameter("temperature"),
            ),
            retry: RETRY_AFTER,
        },
        ProviderRow {
            name: "Gemini",
            page: "https://ai.google.dev/gemini-api/docs/openai",
            protocol: Protocol::OpenAiChat,
            model: "gemini-2.5-flash",
            bases: &[
                "https://generativelanguage.googleapis.com/v1beta/openai/",
                "https://generativelanguage.googleapis.com/v1beta",
                "https://generativelanguage.googleapis.com",
            ],
            address: "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            parameters: chat_parameters("gemini-2.5-flash", json!({ "reasoning_effort": "none" })),
            stream: vec![
                chat_chunk(json!({ "role": "assistant", "content": "a" }), Value::Null),
                chat_chunk(
                    json!({ "role": "assistant", "content": "b" }),
                    "stop".into(),
                ),
                DONE.to_owned(),
            ],
            thinking: None,
            error: (
                "400 Bad Request",
                json!([{ "error": { "code": 400, "status": "INVALID_ARGUMENT",
                    "message": "Invalid JSON payload received. Unknown name \"seed\": Cannot find field." } }]),
                Parameter("seed"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "Mistral",
            page: "https://docs.mistral.ai/api/endpoint/fim",
            protocol: Protocol::MistralFim,
            model: "codestral-2508",
            bases: &[
                "https://codestral.mistral.ai/v1",
                "https://codestral.mistral.ai",
                "https://codestral.mistral.ai/v1/fim/completions",
            ],
            address: "https://codestral.mistral.ai/v1/fim/completions",
            parameters: json!({
                "model": "codestral-2508", "max_tokens": 128, "temperature": 0.0, "top_p": 1.0,
                "random_seed": 0, "stream": true,
            }),
            stream: chat_stream(),
            thinking: None,
            error: (
                "422 Unprocessable Entity",
                json!({ "object": "error", "message": { "detail": [{ "type": "extra_forbidden",
                    "loc": ["body", "random_seed"], "msg": "Extra inputs are not permitted" }] } }),
                Parameter("random_seed"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "DeepSeek",
            page: "https://api-docs.deepseek.com/api/create-completion",
            protocol: Protocol::DeepseekFim,
            model: "deepseek-v4-flash",
            bases: &[
                "https://api.deepseek.com/beta",
                "https://api.deepseek.com",
                "https://api.deepseek.com/v1",
            ],
            address: "https://api.deepseek.com/beta/completions",
            parameters: json!({
                "model": "deepseek-v4-flash", "max_tokens": 128, "temperature": 0.0, "top_p": 1.0,
                "stream": true,
            }),
            stream: [vec![": keep-alive\n\n".to_owned()], text_stream()].concat(),
            thinking: None,
            error: (
                "402 Payment Required",
                json!({ "error": { "message": "Insufficient Balance", "type": "unknown_error",
                    "param": null, "code": "invalid_request_error" } }),
                Message("Insufficient Balance"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "GitHub Models",
            page: "https://docs.github.com/en/rest/models/inference",
            protocol: Protocol::OpenAiChat,
            model: "openai/gpt-4.1-mini",
            bases: &[
                "https://models.github.ai/inference",
                "https://models.github.ai",
            ],
            address: "https://models.github.ai/inference/chat/completions",
            parameters: chat_parameters("openai/gpt-4.1-mini", json!({})),
            stream: chat_stream(),
            thinking: None,
            error: (
                "400 Bad Request",
                json!({ "error": { "code": "unknown_model", "message": "Unknown model: m" } }),
                Message("Unknown model: m"),
            ),
            retry: RETRY_AFTER,
        },
        ProviderRow {
            name: "GLM",
            page: "https://docs.z.ai/api-reference/llm/chat-completion",
            protocol: Protocol::OpenAiChat,
            model: "glm-4.7",
            bases: &[
                "https://api.z.ai/api/paas/v4",
                "https://api.z.ai",
                "https://api.z.ai/api/paas/v4/chat/completions",
            ],
            address: "https://api.z.ai/api/paas/v4/chat/completions",
            parameters: chat_parameters("glm-4.7", json!({ "thinking": { "type": "disabled" } })),
            stream: chat_stream(),
            thinking: Some(thinking_stream("reasoning_content")),
            error: (
                "400 Bad Request",
                json!({ "error": { "code": "1211", "message": "Unknown Model, please check the model code." } }),
                Message("Unknown Model"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "Qwen",
            page: "https://www.alibabacloud.com/help/en/model-studio/qwen-api-reference",
            protocol: Protocol::OpenAiChat,
            model: "qwen3.6-plus",
            bases: &[
                "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
                "https://dashscope-intl.aliyuncs.com",
            ],
            address: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions",
            parameters: chat_parameters("qwen3.6-plus", json!({ "enable_thinking": false })),
            stream: chat_stream(),
            thinking: Some(thinking_stream("reasoning_content")),
            error: (
                "400 Bad Request",
                json!({ "error": { "code": "invalid_parameter_error", "type": "invalid_request_error",
                    "message": "parameter.enable_thinking is not supported by this model", "param": null } }),
                Parameter("enable_thinking"),
            ),
            retry: "",
        },
        ProviderRow {
            name: "Groq",
            page: "https://console.groq.com/docs/openai",
            protocol: Protocol::OpenAiChat,
            model: "qwen/qwen3-32b",
            bases: &[
                "https://api.groq.com/openai/v1",
                "https://api.groq.com/openai",
                "https://api.groq.com",
            ],
            address: "https://api.groq.com/openai/v1/chat/completions",
            parameters: chat_parameters("qwen/qwen3-32b", json!({ "reasoning_effort": "none" })),
            stream: chat_stream(),
            thinking: Some(thinking_stream("reasoning")),
            error: (
                "400 Bad Request",
                openai_error("property 'seed' is unsupported", Value::Null),
                Parameter("seed"),
            ),
            retry: RETRY_AFTER,
        },
        ProviderRow {
            name: "Together",
            page: "https://docs.together.ai/reference/chat-completions-1",
            protocol: Protocol::OpenAiChat,
            model: "deepseek-ai/DeepSeek-V3.1",
            bases: &["https://api.together.xyz/v1", "https://api.together.xyz"],
            address: "https://api.together.xyz/v1/chat/completions",
            parameters: chat_parameters(
                "deepseek-ai/DeepSeek-V3.1",
                json!({ "reasoning": { "enabled": false } }),
            ),
            stream: vec![
                event(&json!({ "choices": [{ "index": 0, "text": "a",
                    "delta": { "token_id": 1, "role": "assistant", "content": "a" },
                    "finish_reason": null }], "usage": null })),
                event(&json!({ "choices": [{ "index": 0, "text": "b",
                    "delta": { "token_id": 2, "role": "assistant", "content": "b" },
                    "finish_reason": "eos" }], "usage": { "completion_tokens": 2 } })),
                DONE.to_owned(),
            ],
            thinking: Some(thinking_stream("reasoning")),
            error: (
                "422 Unprocessable Entity",
                openai_error("Input validation error: `seed` is not allowed", Value::Null),
                Parameter("seed"),
            ),
            retry: RETRY_AFTER,
        },
        ProviderRow {
            name: "Inception",
            page: "https://docs.litellm.ai/docs/providers/inception",
            protocol: Protocol::InceptionFim,
            model: "mercury-edit-2",
            bases: &[
                "https://api.inceptionlabs.ai/v1",
                "https://api.inceptionlabs.ai",
                "https://api.inceptionlabs.ai/v1/fim/completions",
            ],
            address: "https://api.inceptionlabs.ai/v1/fim/completions",
            parameters: json!({
                "model": "mercury-edit-2", "max_tokens": 128, "temperature": 0.0, "top_p": 1.0,
                "stream": true,
            }),
            stream: text_stream(),
            thinking: None,
            error: (
                "400 Bad Request",
                openai_error(
                    "temperature must be between 0.5 and 1.0",
                    "temperature".into(),
                ),
                Parameter("temperature"),
            ),
            retry: "",
        },
    ]
}

/// Anthropic's stream, with this reasoning before the completion.
fn anthropic_stream(thoughts: &[&str]) -> Vec<String> {
    let named = |value: Value| {
        let name = value["type"].as_str().unwrap_or_default().to_owned();
        format!("event: {name}\n{}", event(&value))
    };
    let delta =
        |delta: Value| named(json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
    let mut stream = vec![
        named(
            json!({ "type": "message_start", "message": { "type": "message", "content": [],
            "stop_reason": null, "usage": { "output_tokens": 1 } } }),
        ),
        named(json!({ "type": "ping" })),
    ];
    for thought in thoughts {
        stream.push(named(json!({ "type": "content_block_start", "index": 0,
            "content_block": { "type": "thinking", "thinking": "", "signature": "" } })));
        stream.push(delta(
            json!({ "type": "thinking_delta", "thinking": thought }),
        ));
        stream.push(delta(
            json!({ "type": "signature_delta", "signature": "s" }),
        ));
        stream.push(named(json!({ "type": "content_block_stop", "index": 0 })));
    }
    stream.extend([
        named(json!({ "type": "content_block_start", "index": 1,
            "content_block": { "type": "text", "text": "" } })),
        delta(json!({ "type": "text_delta", "text": "a" })),
        delta(json!({ "type": "text_delta", "text": "b" })),
        named(json!({ "type": "content_block_stop", "index": 1 })),
        named(
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
            "usage": { "output_tokens": 2 } }),
        ),
        named(json!({ "type": "message_stop" })),
    ]);
    stream
}

impl ProviderRow {
    fn settings(&self, base: &str) -> ModelSettings {
        ModelSettings {
            protocol: self.protocol,
            url: Some(base.to_owned()),
            name: Some(self.model.to_owned()),
            key_env: Some("MODEL_KEY".to_owned()),
            retries: 1,
            load_timeout_ms: 0,
            ..ModelSettings::default()
        }
    }

    /// Settings that reach a scripted server in place of this one.
    fn played_by(&self, server: &Server) -> ModelSettings {
        ModelSettings {
            proxy: Some(server.url.clone()),
            ..self.settings(&self.bases[0].replace("https://", "http://"))
        }
    }
}

#[test]
fn addresses_are_requested_as_documented() {
    for row in rows() {
        for base in row.bases {
            let outline = outline(&row.settings(base)).expect("the settings are sound");
            let address = outline.expect("it goes over HTTP").address;
            assert_eq!(address, row.address, "{}: {base}, {}", row.name, row.page);
        }
    }
}

#[test]
fn parameters_are_those_of_the_page() {
    for row in rows() {
        let outline = outline(&row.settings(row.bases[0])).expect("the settings are sound");
        let parameters = Value::Object(outline.expect("it goes over HTTP").parameters);
        assert_eq!(parameters, row.parameters, "{}, {}", row.name, row.page);
    }
}

#[tokio::test]
async fn streams_are_read_as_documented() {
    for row in rows() {
        let server = Server::start(vec![streamed(&row.stream)]).await;
        let answer = completes(&row.played_by(&server), &UnlimitedListener).await;
        assert_eq!(
            texts(&answer),
            [("ab", Finish::Stop)],
            "{}, {}",
            row.name,
            row.page
        );
        let request = &server.requests()[0];
        let line = format!(
            "POST {} HTTP/1.1\r\n",
            row.address.replace("https://", "http://")
        );
        assert!(request.starts_with(&line), "{}: {request}", row.name);
        let key = match row.name {
            "Azure" => format!("api-key: {KEY}"),
            "Anthropic" => format!("x-api-key: {KEY}"),
            _ => format!("authorization: Bearer {KEY}"),
        };
        assert!(request.contains(&key), "{}: {request}", row.name);
    }
}

#[tokio::test]
async fn reasoning_is_not_part_of_a_completion() {
    for row in rows() {
        let Some(thinking) = &row.thinking else {
            continue;
        };
        let server = Server::start(vec![streamed(thinking)]).await;
        let answer = completes(&row.played_by(&server), &UnlimitedListener).await;
        assert_eq!(
            texts(&answer),
            [("ab", Finish::Stop)],
            "{}, {}",
            row.name,
            row.page
        );
        assert!(answer.candidates[0].thought, "{}", row.name);
    }
}

#[tokio::test]
async fn errors_name_a_parameter_or_reach_the_person() {
    for row in rows() {
        let (status, body, refusal) = &row.error;
        let error = Script::ModelOutput(status, "", body.to_string().into_bytes());
        let server = Server::start(vec![error, streamed(&row.stream)]).await;
        let settings = row.played_by(&server);
        match refusal {
            Parameter(name) => {
                let answer = completes(&settings, &UnlimitedListener).await;
                assert_eq!(texts(&answer), [("ab", Finish::Stop)], "{}", row.name);
                assert!(answer.notice.is_some(), "{}", row.name);
                let pointer = format!("/{name}");
                let sent = server.bodies().into_iter();
                let sent: Vec<bool> = sent.map(|body| body.pointer(&pointer).is_some()).collect();
                assert_eq!(sent, [true, false], "{}: {name}, {}", row.name, row.page);
            }
            Message(words) => {
                let error = fails(&settings).await;
                assert!(error.to_string().contains(words), "{}: {error}", row.name);
                assert_eq!(server.requests().len(), 1, "{}", row.name);
            }
        }
    }
}

#[tokio::test]
async fn overloaded_server_is_retried() {
    for row in rows() {
        let status = match row.name {
            "llama.cpp" | "Ollama" => "503 Service Unavailable",
            "Anthropic" => "529 Overloaded",
            _ => "429 Too Many Requests",
        };
        let busy = Script::ModelOutput(status, row.retry, b"{}".to_vec());
        let server = Server::start(vec![busy, streamed(&row.stream)]).await;
        let answer = completes(&row.played_by(&server), &UnlimitedListener).await;
        assert_eq!(texts(&answer), [("ab", Finish::Stop)], "{}", row.name);
        assert_eq!(server.requests().len(), 2, "{}, {}", row.name, row.page);
    }
}

#[test]
fn protocols_page_has_the_table() {
    let page = include_str!("../../../docs/protocols.md");
    let (_, section) = page.split_once("\n## Conformance\n").expect("the section");
    let lines = section.lines().filter(|line| line.starts_with("| ["));
    let have: Vec<String> = lines
        .map(|line| line.split(" | ").take(3).collect::<Vec<_>>().join(" | "))
        .collect();
    let expected: Vec<String> = rows()
        .iter()
        .map(|row| {
            let base = row.bases[0];
            format!(
                "| [{}]({}) | `{}` | `{base}`",
                row.name, row.page, row.protocol
            )
        })
        .collect();
    assert_eq!(have, expected);
}
