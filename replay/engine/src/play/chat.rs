//! Chat models that are asked about holes outside of a replay.

use std::path::Path;
use std::sync::Arc;

use fillrate_language::task::Hole;
use fillrate_server::configuration::AnsweringModel;
use fillrate_server::context::WindowLayout;
use fillrate_server::model::{
    self, ChatQuestion, Model, ModelParameters, ModelRequest, UnlimitedListener,
};
use fillrate_syntax::Language;
use tokio::runtime::{Handle, Runtime};

use super::PlayError;

/// Minimum of `max_tokens`: the settings are those for a completion, which is too short here.
const LEAST_TOKENS: u32 = 2048;
/// Minimum of `timeout_ms`.
const LEAST_TIME: u64 = 120_000;

/// A model that answers questions.
pub(super) struct ChatModel {
    model: Arc<dyn Model>,
    parameters: ModelParameters,
}

impl ChatModel {
    /// Opens the model of a settings file. `task` ends the error for a model that only fills in and
    /// can't do it.
    pub(super) fn open(file: &Path, candidates: usize, task: &str) -> Result<Self, PlayError> {
        let mut settings = AnsweringModel::of_file(file)?.configuration.model;
        settings.max_tokens = settings.max_tokens.max(LEAST_TOKENS);
        settings.timeout_ms = settings.timeout_ms.max(LEAST_TIME);
        settings.candidates = candidates;
        let model = model::open(&settings, &|name| std::env::var(name).ok())?;
        if !model.chats() {
            return Err(PlayError::Refused(format!(
                "{} only fills in and can't {task}; use a model that speaks openai-chat or \
                 anthropic-messages",
                model.name()
            )));
        }
        Ok(Self {
            model,
            parameters: settings.parameters(),
        })
    }

    pub(super) fn name(&self) -> &str {
        self.model.name()
    }

    /// Returns the answers to a question about a hole, or the reason for a failure. `more_seed` is
    /// added to the seed of the settings.
    pub(super) fn ask(
        &self,
        runtime: &Handle,
        hole: &Hole,
        question: ChatQuestion,
        more_seed: u32,
    ) -> Result<Vec<String>, String> {
        let mut parameters = self.parameters.clone();
        parameters.seed = parameters.seed.wrapping_add(u64::from(more_seed));
        let request = ModelRequest {
            prefix: String::new(),
            suffix: String::new(),
            path: hole.path.clone(),
            repository: hole.project.clone(),
            language: Language::for_path(Path::new(&hole.path)),
            windows: Vec::new(),
            layout: WindowLayout::default(),
            earlier: None,
            hole: None,
            question: Some(question),
            parameters,
        };
        let answer = runtime.block_on(self.model.complete(&request, &UnlimitedListener));
        let candidates = answer.map_err(|error| error.to_string())?.candidates;
        Ok(candidates.into_iter().map(|one| one.text).collect())
    }
}

/// Returns a runtime that workers block on from outside, which needs a thread to drive connections.
pub(super) fn runtime() -> Result<Runtime, PlayError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(PlayError::file("the runtime"))
}
