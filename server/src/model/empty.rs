//! A model that returns empty completions: the lower bound of every figure.

use async_trait::async_trait;

use super::{Finish, Model, ModelError, ModelOutput, ModelRequest, RawCandidate, TextListener};

/// Returns the empty text everywhere.
#[derive(Debug)]
pub(super) struct EmptyModel;

#[async_trait]
impl Model for EmptyModel {
    fn name(&self) -> &str {
        "empty"
    }

    async fn complete(
        &self,
        _request: &ModelRequest,
        listener: &dyn TextListener,
    ) -> Result<ModelOutput, ModelError> {
        Ok(ModelOutput {
            candidates: vec![
                RawCandidate {
                    text: String::new(),
                    finish: Finish::Stop,
                    mean_log_probability: None,
                    thought: false,
                }
                .announce(0, listener),
            ],
            prompt: String::new(),
            notice: None,
            usage: None,
            is_delayed: false,
        })
    }
}
