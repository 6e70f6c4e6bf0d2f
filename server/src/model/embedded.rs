//! The embedded model.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use async_trait::async_trait;

use super::{Answer, Candidate, Finish, Model, ModelError, Request};

/// The embedded model: continues the longest match of what stands before the cursor.
#[derive(Debug, Default)]
pub struct Embedded {
    files: RwLock<BTreeMap<String, String>>,
}

impl Embedded {
    /// A model that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Model for Embedded {
    fn name(&self) -> &str {
        "embedded"
    }

    async fn complete(&self, request: &Request) -> Result<Answer, ModelError> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let prefix = request.prefix.as_bytes();
        let mut best = (0, "");
        let others = files
            .iter()
            .filter(|(path, _)| **path != request.path)
            .map(|(_, text)| text.as_str());
        for text in [request.prefix.as_str(), request.suffix.as_str()]
            .into_iter()
            .chain(others)
        {
            for (end, _) in text.char_indices().filter(|(end, _)| *end > 0) {
                let before = &text.as_bytes()[..end];
                let length = before
                    .iter()
                    .rev()
                    .zip(prefix.iter().rev())
                    .take(64)
                    .take_while(|(a, b)| a == b)
                    .count();
                if length > best.0 {
                    best = (length, &text[end..]);
                }
            }
        }
        let line = best.1.split(['\r', '\n']).next().unwrap_or_default();
        Ok(Answer {
            candidates: vec![Candidate {
                text: line.to_owned(),
                finish: Finish::Stop,
                mean_log_probability: None,
            }],
            prompt: String::new(),
        })
    }

    fn observe(&self, path: &str, contents: Option<&str>) {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        match contents {
            Some(contents) => files.insert(path.to_owned(), contents.to_owned()),
            None => files.remove(path),
        };
    }
}
