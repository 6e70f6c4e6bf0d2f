//! Tokens of a completion as the model's server counts them, and what they cost.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RawCandidate;
use crate::prompt::approximate_tokens;

/// Tokens of all requests for one completion, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens of the prompts.
    pub prompt: u64,
    /// Tokens of the candidates, and of reasoning where the server counts it.
    pub completion: u64,
    /// True if the server did not count one of these, which is then
    /// [approximated](approximate_tokens) from the text. Servers count at the end, so an exchange
    /// that is ended early has no count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_approximate: bool,
    /// Cost by the setting `model.price`, in its currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl TokenUsage {
    /// Returns the usage of these exchanges, which sent the same prompt for these candidates.
    pub(super) fn of_exchanges(
        exchanges: &[CountedTokens],
        prompt: &str,
        candidates: &[RawCandidate],
        price: Option<TokenPrice>,
    ) -> Self {
        // An exchange that the timeout ended is not among them.
        let sum = |of: fn(&CountedTokens) -> Option<u64>| {
            let counts = (!exchanges.is_empty()).then(|| exchanges.iter().map(of));
            counts.and_then(Iterator::sum::<Option<u64>>)
        };
        let (prompts, completions) = (
            sum(|one| one.known().prompt),
            sum(|one| one.known().completion),
        );
        let approximate = |text: &str| approximate_tokens(text) as u64;
        let prompt = prompts.unwrap_or_else(|| approximate(prompt) * exchanges.len().max(1) as u64);
        let completion = completions.unwrap_or_else(|| {
            let texts = candidates.iter();
            texts.map(|candidate| approximate(&candidate.text)).sum()
        });
        Self {
            prompt,
            completion,
            is_approximate: prompts.is_none() || completions.is_none(),
            cost: price.map(|price| {
                (prompt as f64 * price.input + completion as f64 * price.output) / 1e6
            }),
        }
    }

    /// Adds the usage of an earlier call for the same completion.
    #[must_use]
    pub(crate) fn with(self, earlier: Self) -> Self {
        Self {
            prompt: self.prompt + earlier.prompt,
            completion: self.completion + earlier.completion,
            is_approximate: self.is_approximate || earlier.is_approximate,
            cost: self.cost.zip(earlier.cost).map(|(one, other)| one + other),
        }
    }
}

/// Price of a model's tokens, in any one currency per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenPrice {
    /// Price of tokens of prompts.
    pub input: f64,
    /// Price of tokens of completions.
    pub output: f64,
}

/// Tokens of one exchange so far, as its server counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CountedTokens {
    prompt: Option<u64>,
    completion: Option<u64>,
}

impl CountedTokens {
    /// Returns the counts, or none if the server does not count and writes zeros: no prompt is
    /// empty.
    fn known(self) -> Self {
        match self.prompt {
            Some(0) => Self::default(),
            _ => self,
        }
    }

    /// Adds the counts of one value of a response. Within a stream, counts are of the whole so far,
    /// so the highest is kept.
    pub(super) fn add(&mut self, value: &Value) {
        let found = Self::of(value);
        self.prompt = self.prompt.max(found.prompt);
        self.completion = self.completion.max(found.completion);
    }

    /// Returns the counts in one value.
    fn of(value: &Value) -> Self {
        if let Value::Array(values) = value {
            // Several whole responses to one prompt, each with its own counts.
            let each = values.iter().map(Self::of);
            let (prompt, completion) = each.map(|one| (one.prompt, one.completion)).unzip();
            let (prompt, completion): (Vec<_>, Vec<_>) = (prompt, completion);
            return Self {
                prompt: prompt.into_iter().max().flatten(),
                completion: completion.into_iter().sum(),
            };
        }
        let number = |path: &str| value.pointer(path).and_then(Value::as_u64);
        let first = |paths: &[&str]| paths.iter().find_map(|path| number(path));
        let with_cached = |(own, cached): &(&str, &[&str])| {
            let cached: u64 = cached.iter().filter_map(|path| number(path)).sum();
            number(own).map(|own| own + cached)
        };
        Self {
            prompt: first(PROMPT_COUNTS).or_else(|| PROMPT_PARTS.iter().find_map(with_cached)),
            completion: first(COMPLETION_COUNTS),
        }
    }
}

/// Members with the number of a prompt's tokens: of OpenAI's format, Groq's streams, Ollama, and
/// llama.cpp's own protocols.
const PROMPT_COUNTS: &[&str] = &[
    "/usage/prompt_tokens",
    "/x_groq/usage/prompt_tokens",
    "/prompt_eval_count",
    "/tokens_evaluated",
];

/// Members with the number of a prompt's tokens that were read, and those of tokens from the
/// server's cache, which are added: of Anthropic's responses, of the beginning of its streams, and
/// of llama.cpp's others.
const PROMPT_PARTS: &[(&str, &[&str])] = &[
    (
        "/usage/input_tokens",
        &[
            "/usage/cache_read_input_tokens",
            "/usage/cache_creation_input_tokens",
        ],
    ),
    (
        "/message/usage/input_tokens",
        &[
            "/message/usage/cache_read_input_tokens",
            "/message/usage/cache_creation_input_tokens",
        ],
    ),
    ("/timings/prompt_n", &["/timings/cache_n"]),
];

/// Members with the number of a completion's tokens: of OpenAI's format, Anthropic, Groq's streams,
/// Ollama, llama.cpp's own protocols and its others, and text-generation-inference. The beginning of
/// Anthropic's stream has a count too, which the end's exceeds.
const COMPLETION_COUNTS: &[&str] = &[
    "/usage/completion_tokens",
    "/usage/output_tokens",
    "/message/usage/output_tokens",
    "/x_groq/usage/completion_tokens",
    "/eval_count",
    "/tokens_predicted",
    "/timings/predicted_n",
    "/details/generated_tokens",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Finish;

    fn counted(values: &[Value]) -> (Option<u64>, Option<u64>) {
        let mut counted = CountedTokens::default();
        for value in values {
            counted.add(value);
        }
        (counted.prompt, counted.completion)
    }

    #[test]
    fn each_servers_counts_are_read() {
        let openai = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}});
        let text = json!({"choices": [{"text": "a"}], "usage": null});
        assert_eq!(counted(&[text, openai]), (Some(9), Some(2)));
        let begun = json!({"type": "message_start", "message": {"usage": {
            "input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1}}});
        let ended = json!({"type": "message_delta", "usage": {"output_tokens": 7}});
        assert_eq!(counted(std::slice::from_ref(&begun)), (Some(9), Some(1)));
        assert_eq!(counted(&[begun, ended]), (Some(9), Some(7)));
        let ollama = json!({"done": true, "prompt_eval_count": 9, "eval_count": 2});
        assert_eq!(counted(&[ollama]), (Some(9), Some(2)));
        let llama = json!({"stop": true, "tokens_evaluated": 9, "tokens_predicted": 2,
            "timings": {"cache_n": 8, "prompt_n": 1, "predicted_n": 2}});
        assert_eq!(counted(std::slice::from_ref(&llama)), (Some(9), Some(2)));
        assert_eq!(counted(&[json!([llama, llama])]), (Some(9), Some(4)));
        let timings = json!({"timings": {"cache_n": 8, "prompt_n": 1, "predicted_n": 2}});
        assert_eq!(counted(&[timings]), (Some(9), Some(2)));
        assert_eq!(
            counted(&[json!({"details": {"generated_tokens": 2}})]),
            (None, Some(2))
        );
        assert_eq!(counted(&[json!({"usage": "many"})]), (None, None));
    }

    #[test]
    fn uncounted_tokens_are_approximated() {
        let candidate = RawCandidate {
            text: "x".repeat(35),
            finish: Finish::Enough,
            mean_log_probability: None,
            thought: false,
        };
        let price = TokenPrice {
            input: 2.0,
            output: 10.0,
        };
        let known = CountedTokens {
            prompt: Some(1000),
            completion: Some(20),
        };
        let of = |exchanges: &[CountedTokens], price| {
            TokenUsage::of_exchanges(exchanges, "prompt", std::slice::from_ref(&candidate), price)
        };
        let exact = of(&[known, known], Some(price));
        assert_eq!((exact.prompt, exact.completion), (2000, 40));
        assert!(!exact.is_approximate);
        // By hand: 2,000 × 2 + 40 × 10, per million.
        assert!((exact.cost.unwrap() - 0.0044).abs() < 1e-12);
        let cut_off = of(&[], Some(price));
        assert!(cut_off.is_approximate && cut_off.prompt == approximate_tokens("prompt") as u64);
        // LiteLLM's streams of text have zeros.
        let zeros = CountedTokens {
            prompt: Some(0),
            completion: Some(0),
        };
        let zeros = of(&[zeros], None);
        assert!(zeros.is_approximate && zeros.prompt > 0 && zeros.completion > 0);
        let open = CountedTokens {
            completion: None,
            ..known
        };
        let partly = of(&[open], None);
        assert!(partly.is_approximate && partly.cost.is_none());
        assert_eq!(partly.prompt, 1000);
        assert_eq!(
            partly.completion,
            approximate_tokens(&candidate.text) as u64
        );
    }
}
