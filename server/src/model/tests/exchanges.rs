//! One successful response of each protocol, whole and streamed, in its documented format. The
//! tests for all protocols apply to each protocol listed here.

use serde_json::json;

use super::server::{Script, streamed, whole};
use super::*;

/// The protocols that go over HTTP.
pub(super) fn protocols() -> impl Iterator<Item = Protocol> {
    Protocol::ALL
        .into_iter()
        .filter(|protocol| exchange(*protocol).is_some())
}

/// A response with one candidate, "ab", that ended by itself.
pub(super) struct RecordedExchange {
    /// The response as one value.
    pub(super) whole: String,
    /// The response as a stream: a piece "a", a piece "b", and the rest.
    pub(super) streamed: [String; 3],
    /// An error within a stream, with this message.
    pub(super) error: fn(&str) -> String,
}

impl RecordedExchange {
    /// Returns the response in the requested form.
    pub(super) fn script(&self, stream: bool) -> Script {
        if stream {
            streamed(&self.streamed)
        } else {
            whole(&self.whole)
        }
    }
}

/// Returns the exchange of a protocol; `None` for those that send nothing.
pub(super) fn exchange(protocol: Protocol) -> Option<RecordedExchange> {
    match protocol {
        Protocol::Embedded | Protocol::Recorded | Protocol::Empty => None,
        // <https://platform.openai.com/docs/api-reference/completions/object>
        Protocol::OpenAiCompletions | Protocol::Vllm | Protocol::InceptionFim => {
            let choice = |text: &str, finish: Option<&str>| {
                json!({
                    "id": "cmpl-1",
                    "object": "text_completion",
                    "created": 1700000000,
                    "model": "m",
                    "choices": [
                        { "index": 0, "text": text, "logprobs": null, "finish_reason": finish }
                    ],
                })
            };
            Some(RecordedExchange {
                whole: choice("ab", Some("stop")).to_string(),
                streamed: [
                    event(&choice("a", None)),
                    event(&choice("b", None)),
                    event(&choice("", Some("stop"))) + DONE,
                ],
                error: openai_error,
            })
        }
        // <https://platform.openai.com/docs/api-reference/chat-streaming/streaming>
        Protocol::OpenAiChat => {
            let chunk = |delta: Value, finish: Option<&str>| {
                json!({
                    "id": "chatcmpl-1",
                    "object": "chat.completion.chunk",
                    "created": 1700000000,
                    "model": "m",
                    "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
                })
            };
            let whole = json!({
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "choices": [{
                    "index": 0,
                    "message": { "role": "assistant", "content": "ab" },
                    "finish_reason": "stop",
                }],
                "usage": { "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11 },
            });
            Some(RecordedExchange {
                whole: whole.to_string(),
                streamed: [
                    event(&chunk(
                        json!({ "role": "assistant", "content": null }),
                        None,
                    )) + &event(&chunk(json!({ "content": "a" }), None)),
                    event(&chunk(json!({ "content": "b" }), None)),
                    event(&chunk(json!({}), Some("stop"))) + DONE,
                ],
                error: openai_error,
            })
        }
        // <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>
        Protocol::LlamaInfill | Protocol::LlamaCompletion => {
            let piece =
                |text: &str| json!({ "index": 0, "content": text, "tokens": [1], "stop": false });
            let last = |text: &str| {
                json!({
                    "index": 0,
                    "content": text,
                    "tokens": [],
                    "stop": true,
                    "stop_type": "eos",
                    "stopping_word": "",
                    "tokens_predicted": 2,
                    "truncated": false,
                })
            };
            Some(RecordedExchange {
                whole: last("ab").to_string(),
                streamed: [event(&piece("a")), event(&piece("b")), event(&last(""))],
                error: openai_error,
            })
        }
        // <https://docs.anthropic.com/en/api/messages-streaming>
        Protocol::AnthropicMessages => {
            let named = |value: Value| {
                let name = value["type"].as_str().unwrap_or_default().to_owned();
                format!("event: {name}\n{}", event(&value))
            };
            let delta = |text: &str| {
                named(json!({
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": { "type": "text_delta", "text": text },
                }))
            };
            let message = |content: Value, reason: Option<&str>| {
                json!({
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "model": "m",
                    "content": content,
                    "stop_reason": reason,
                    "stop_sequence": null,
                    "usage": { "input_tokens": 9, "output_tokens": 2 },
                })
            };
            let whole = message(json!([{ "type": "text", "text": "ab" }]), Some("end_turn"));
            let beginning = named(json!({
                "type": "message_start",
                "message": message(json!([]), None),
            })) + &named(json!({
                "type": "content_block_start",
                "index": 0,
                "content_block": { "type": "text", "text": "" },
            })) + &named(json!({ "type": "ping" }));
            let end = named(json!({ "type": "content_block_stop", "index": 0 }))
                + &named(json!({
                    "type": "message_delta",
                    "delta": { "stop_reason": "end_turn", "stop_sequence": null },
                    "usage": { "output_tokens": 2 },
                }))
                + &named(json!({ "type": "message_stop" }));
            Some(RecordedExchange {
                whole: whole.to_string(),
                streamed: [beginning + &delta("a"), delta("b"), end],
                error: |message| {
                    let error = json!({
                        "type": "error",
                        "error": { "type": "overloaded_error", "message": message },
                    });
                    format!("event: error\n{}", event(&error))
                },
            })
        }
        // <https://docs.mistral.ai/api/endpoint/fim>
        Protocol::MistralFim => {
            let chunk = |text: &str, finish: Option<&str>| {
                json!({
                    "id": "cmpl-1",
                    "object": "chat.completion.chunk",
                    "created": 1700000000,
                    "model": "m",
                    "choices": [{
                        "index": 0, "delta": { "content": text }, "finish_reason": finish,
                    }],
                })
            };
            let whole = json!({
                "id": "cmpl-1",
                "object": "chat.completion",
                "model": "m",
                "usage": { "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11 },
                "choices": [{
                    "index": 0,
                    "message": { "role": "assistant", "content": "ab", "tool_calls": null },
                    "finish_reason": "stop",
                }],
            });
            Some(RecordedExchange {
                whole: whole.to_string(),
                streamed: [
                    event(&chunk("a", None)),
                    event(&chunk("b", None)),
                    event(&chunk("", Some("stop"))) + DONE,
                ],
                error: openai_error,
            })
        }
        // <https://api-docs.deepseek.com/api/create-completion>
        Protocol::DeepseekFim => {
            let choice = |text: &str, finish: Option<&str>| {
                json!({
                    "id": "1",
                    "object": "text_completion",
                    "model": "m",
                    "choices": [
                        { "index": 0, "text": text, "logprobs": null, "finish_reason": finish }
                    ],
                })
            };
            Some(RecordedExchange {
                whole: choice("ab", Some("stop")).to_string(),
                streamed: [
                    event(&choice("a", None)),
                    event(&choice("b", None)),
                    event(&choice("", Some("stop"))) + DONE,
                ],
                error: openai_error,
            })
        }
        // <https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-completion>
        Protocol::OllamaGenerate => {
            let line = |text: &str, done: bool| {
                let mut value = json!({
                    "model": "m",
                    "created_at": "2023-11-14T22:13:20.5Z",
                    "response": text,
                    "done": done,
                });
                if done {
                    value["done_reason"] = "stop".into();
                    value["eval_count"] = 2.into();
                }
                format!("{value}\n")
            };
            Some(RecordedExchange {
                whole: line("ab", true),
                streamed: [line("a", false), line("b", false), line("", true)],
                error: |message| format!("{}\n", json!({ "error": message })),
            })
        }
        // <https://huggingface.github.io/text-generation-inference/>
        Protocol::Tgi => {
            let token = |index: usize, text: &str, special: bool, whole: Option<&str>| {
                let details = whole.map(
                    |_| json!({ "finish_reason": "eos_token", "generated_tokens": 3, "seed": 7 }),
                );
                event(&json!({
                    "index": index,
                    "token": { "id": 5, "text": text, "logprob": -0.25, "special": special },
                    "generated_text": whole,
                    "details": details,
                }))
            };
            let whole = json!({
                "generated_text": "ab",
                "details": {
                    "finish_reason": "eos_token",
                    "generated_tokens": 3,
                    "seed": 7,
                    "prefill": [],
                    "tokens": [],
                },
            });
            Some(RecordedExchange {
                whole: whole.to_string(),
                streamed: [
                    token(1, "a", false, None),
                    token(2, "b", false, None),
                    token(3, "</s>", true, Some("ab")),
                ],
                error: |message| event(&json!({ "error": message, "error_type": "generation" })),
            })
        }
    }
}

/// The mark after OpenAI's last event.
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// A server-sent event of one value.
pub(super) fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn openai_error(message: &str) -> String {
    event(&json!({ "error": { "code": 500, "message": message, "type": "server_error" } }))
}
