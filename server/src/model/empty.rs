//! A model that has nothing to say: the floor that every figure is held against.

use async_trait::async_trait;

use super::{Answer, Candidate, Finish, Listener, Model, ModelError, Request};

/// Answers every place with the empty text.
#[derive(Debug)]
pub(super) struct Empty;

#[async_trait]
impl Model for Empty {
    fn name(&self) -> &str {
        "empty"
    }

    async fn complete(
        &self,
        _request: &Request,
        listener: &dyn Listener,
    ) -> Result<Answer, ModelError> {
        Ok(Answer {
            candidates: vec![
                Candidate {
                    text: String::new(),
                    finish: Finish::Stop,
                    mean_log_probability: None,
                }
                .told(0, listener),
            ],
            prompt: String::new(),
        })
    }
}
