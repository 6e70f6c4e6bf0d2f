//! The speed at which a model reads prompts, and the prompts that it can read in time.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::prompt::{self, approximate_tokens};

/// Limit on a prompt that keeps the time of reading it within `context.budget_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptBudget {
    /// Maximum number of tokens of the prompt, approximately.
    pub tokens: usize,
    /// Maximum number of these for windows of other files.
    pub window_tokens: usize,
    /// The speed at which the model reads, in tokens per second.
    pub tokens_per_second: f64,
    /// The setting `context.budget_ms`.
    pub budget_ms: u64,
    /// True if the prompt takes longer than the budget, as the file's own lines need it.
    pub exceeds: bool,
}

impl PromptBudget {
    /// Describes the limit in a few words for people, with its reason.
    pub fn describe(&self) -> String {
        let longer = match self.exceeds {
            true => "; the file's own lines take longer",
            false => "",
        };
        format!(
            "at most {} tokens, {} of windows, as the model reads {:.0} tokens a second and \
             `context.budget_ms` is {}{longer}",
            self.tokens, self.window_tokens, self.tokens_per_second, self.budget_ms
        )
    }
}

/// The speed at which a model reads, estimated from the time to its first text.
#[derive(Debug, Default)]
pub(super) struct ReadingSpeed {
    /// The speeds of the last prompts, in tokens per second.
    samples: VecDeque<f64>,
    /// The last prompt. A server that has cached it reads only the rest of the next one.
    last: String,
    /// The limit of the last prompt, in tokens.
    level: Option<usize>,
}

/// Minimum number of new tokens in a prompt for which the speed is measured: below it, other costs
/// outweigh the reading.
const MIN_NEW_TOKENS: usize = 128;

/// Number of prompts whose median is the speed. A median, as a busy server makes single prompts
/// slow.
const SAMPLES: usize = 7;

/// Minimum number of prompts whose median is the speed: the median of fewer may be one slow prompt.
const LEAST_SAMPLES: usize = 3;

/// Number of the file's own lines that a prompt contains at any speed: before the cursor, and after
/// it.
const OWN_LINES: (usize, usize) = (40, 10);

/// Minimum limit. Limits are this number times a power of the square root of 2, so that a small
/// change of the speed or of the lines does not move the beginning of the prompt, which the model's
/// server has cached.
const LEAST_TOKENS: f64 = 64.0;

/// Ratios of the allowed tokens to the last limit between which the limit stays, so that it does
/// not alternate.
const STAYS: std::ops::Range<f64> = 0.8..1.75;

impl ReadingSpeed {
    /// Records a prompt and the time of reading it, which ends with the first text; `None` if
    /// something else delayed that text.
    pub(super) fn read(&mut self, prompt: &str, read_ms: Option<f64>) {
        let same = prompt
            .bytes()
            .zip(self.last.bytes())
            .take_while(|(one, other)| one == other)
            .count();
        // The common bytes may end within a character.
        let new = approximate_tokens(&prompt[prompt.floor_char_boundary(same)..]);
        prompt.clone_into(&mut self.last);
        let Some(read_ms) = read_ms.filter(|ms| new >= MIN_NEW_TOKENS && *ms > 0.0) else {
            return;
        };
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(new as f64 / read_ms * 1000.0);
    }

    /// Returns the median speed; of an even number, the faster of the two in the middle. `None`
    /// before [`LEAST_SAMPLES`] prompts.
    fn tokens_per_second(&self) -> Option<f64> {
        if self.samples.len() < LEAST_SAMPLES {
            return None;
        }
        let mut sorted: Vec<f64> = self.samples.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }

    /// Returns the limit on a prompt at a cursor; `None` if the speed is unknown, or the model
    /// reads `most_tokens` in time.
    pub(super) fn budget(
        &mut self,
        budget_ms: u64,
        most_tokens: usize,
        prefix: &str,
        suffix: &str,
    ) -> Option<PromptBudget> {
        let tokens_per_second = self.tokens_per_second()?;
        let allowed = tokens_per_second * budget_ms as f64 / 1000.0;
        // A new limit is rounded down, to keep within the time.
        let level = match self.level {
            Some(level) if STAYS.contains(&(allowed / level as f64)) => level,
            _ => step(allowed, f64::floor),
        };
        self.level = Some(level);
        // Rounded up, so that the file's own lines fit.
        let floor = step(
            prompt::tokens_for_lines(prefix, suffix, OWN_LINES),
            f64::ceil,
        );
        let tokens = level.max(floor);
        (tokens < most_tokens).then(|| PromptBudget {
            tokens,
            // The file's own lines take precedence over windows.
            window_tokens: prompt::windows_budget(tokens).min(tokens - floor),
            tokens_per_second,
            budget_ms,
            exceeds: floor > level,
        })
    }
}

/// Rounds a number of tokens to a limit.
fn step(tokens: f64, round: fn(f64) -> f64) -> usize {
    let steps = round(2.0 * (tokens / LEAST_TOKENS).max(1.0).log2());
    (LEAST_TOKENS * (steps / 2.0).exp2()) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::context::WindowLayout;
    use crate::prompt::{Family, PromptInput, render};

    const LINE: &str = "    total = total + price(item)\n";

    fn speed(tokens_per_second: f64) -> ReadingSpeed {
        let mut speed = ReadingSpeed::default();
        for start in ["a", "b", "c"] {
            read(&mut speed, start, tokens_per_second);
        }
        speed
    }

    /// Reads a prompt that differs from the last one from its start.
    fn read(speed: &mut ReadingSpeed, start: &str, tokens_per_second: f64) {
        let prompt = start.to_owned() + &LINE.repeat(100);
        let tokens = approximate_tokens(&prompt) as f64;
        speed.read(&prompt, Some(tokens / tokens_per_second * 1000.0));
    }

    #[test]
    fn fast_model_has_no_budget() {
        let text = LINE.repeat(500);
        assert_eq!(ReadingSpeed::default().budget(1000, 2048, &text, ""), None);
        assert_eq!(speed(5000.0).budget(1000, 2048, &text, ""), None);
    }

    #[test]
    fn slow_model_gets_what_it_reads_in_time() {
        let budget = speed(1000.0).budget(1000, 2048, "x = 1\n", "");
        let budget = budget.expect("2048 tokens take two seconds");
        assert!((700..=1000).contains(&budget.tokens), "{budget:?}");
        assert!(!budget.exceeds && budget.window_tokens > 100, "{budget:?}");
    }

    #[test]
    fn own_lines_are_sent_at_any_speed() {
        let lines: Vec<String> = (0..300).map(|at| format!("line_{at} = {at}\n")).collect();
        let (prefix, suffix) = (lines[..200].concat(), lines[200..].concat());
        let budget = speed(1.0).budget(1000, 2048, &prefix, &suffix);
        let budget = budget.expect("2048 tokens take half an hour");
        assert!(budget.exceeds && budget.window_tokens == 0, "{budget:?}");
        let input = PromptInput {
            repository: "r",
            path: "a.py",
            line_comment: "#",
            prefix: &prefix,
            suffix: &suffix,
            windows: &[],
            layout: WindowLayout::Family,
        };
        let family = Family::from_name("qwen2.5-coder").expect("it is in the table");
        let prompt = render(family, &input, budget.tokens).text;
        for line in &lines[160..210] {
            assert!(prompt.contains(line), "{line}{prompt}");
        }
    }

    #[test]
    fn cached_beginning_does_not_count_as_read() {
        let mut speed = speed(100.0);
        let before = speed.tokens_per_second();
        let before_last = speed.samples.len();
        speed.read(&("c".to_owned() + &LINE.repeat(100) + "x"), Some(5.0));
        assert_eq!(speed.tokens_per_second(), before);
        assert_eq!(speed.samples.len(), before_last);
    }

    #[test]
    fn one_slow_answer_does_not_decide() {
        let mut speed = ReadingSpeed::default();
        read(&mut speed, "a", 10.0);
        assert_eq!(speed.budget(1000, 2048, "x = 1\n", ""), None);
        read(&mut speed, "b", 1000.0);
        assert_eq!(speed.budget(1000, 2048, "x = 1\n", ""), None);
        read(&mut speed, "c", 1000.0);
        let tokens = speed.tokens_per_second().expect("three prompts were read");
        assert!((tokens - 1000.0).abs() < 1.0, "{tokens}");
    }

    #[test]
    fn delayed_answer_is_no_sample() {
        let mut speed = ReadingSpeed::default();
        for start in ["a", "b", "c"] {
            speed.read(&(start.to_owned() + &LINE.repeat(100)), None);
        }
        assert_eq!(speed.tokens_per_second(), None);
        // The server has cached its prompt nevertheless.
        speed.read(&("c".to_owned() + &LINE.repeat(100) + "x"), Some(5.0));
        assert!(speed.samples.is_empty());
    }

    proptest! {
        #[test]
        fn bound_stays_while_the_speed_varies_a_little(
            tokens_per_second in 100.0..900.0_f64,
            share in 0.85..1.2_f64,
        ) {
            let mut speed = speed(tokens_per_second);
            let first = speed.budget(1000, 4096, "", "").map(|budget| budget.tokens);
            speed.samples = [tokens_per_second * share; LEAST_SAMPLES].into();
            let second = speed.budget(1000, 4096, "", "").map(|budget| budget.tokens);
            prop_assert_eq!(first, second);
        }
    }
}
