//! One good answer of each protocol, whole and streamed, in its documented form. A new protocol
//! is held to all that the tests ask of every protocol once it stands here.

use serde_json::json;

use super::server::{Script, streamed, whole};
use super::*;

/// The protocols that go over HTTP.
pub(super) fn protocols() -> impl Iterator<Item = Protocol> {
    Protocol::ALL
        .into_iter()
        .filter(|protocol| exchange(*protocol).is_some())
}

/// An answer with one candidate, "ab", that came to its own end.
pub(super) struct Exchange {
    /// The answer as one value.
    pub(super) whole: String,
    /// The answer as a stream: a piece "a", a piece "b", and the rest.
    pub(super) streamed: [String; 3],
    /// An error that is told within a stream, with this message.
    pub(super) error: fn(&str) -> String,
}

impl Exchange {
    /// The answer in the form that is asked for.
    pub(super) fn script(&self, stream: bool) -> Script {
        if stream {
            streamed(&self.streamed)
        } else {
            whole(&self.whole)
        }
    }
}

/// The exchange of a protocol; nothing for those that send nothing.
pub(super) fn exchange(protocol: Protocol) -> Option<Exchange> {
    match protocol {
        Protocol::Embedded | Protocol::Recorded | Protocol::Empty => None,
        // <https://platform.openai.com/docs/api-reference/completions/object>
        Protocol::OpenAiCompletions | Protocol::Vllm => {
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
            Some(Exchange {
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
            Some(Exchange {
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
            Some(Exchange {
                whole: last("ab").to_string(),
                streamed: [event(&piece("a")), event(&piece("b")), event(&last(""))],
                error: openai_error,
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
