//! Prompts as protocols send them: rendered from a family's template, or written by the model's
//! server.

use super::settings::{ChosenFamily, Infill};
use super::{ModelError, ModelRequest, ModelSettings};
use crate::prompt::{self, Prompt, PromptParts, PromptSides};

/// Writes prompts from the template of the model's family.
#[derive(Debug)]
pub(super) struct TemplatePrompts {
    family: ChosenFamily,
    context_tokens: usize,
}

impl TemplatePrompts {
    /// # Errors
    /// [`ModelError::Settings`] if the family is missing or unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            family: settings.template()?,
            context_tokens: settings.context_tokens,
        })
    }

    /// Describes the template and the reason for it in one sentence.
    pub(super) fn describe(&self) -> String {
        self.family.describe()
    }

    /// Renders the prompt of a request.
    pub(super) fn render(&self, request: &ModelRequest) -> Prompt {
        let input = request.prompt_input();
        let budget = request.prompt_budget(self.context_tokens);
        prompt::render(self.family.family, &input, budget)
    }
}

/// Limits and escapes the texts from which a server writes the prompt.
#[derive(Debug)]
pub(super) struct ServerPrompts {
    /// Tokens that a text must not spell, as the server would parse them as special tokens.
    reserved: Vec<&'static str>,
    context_tokens: usize,
}

impl ServerPrompts {
    /// # Errors
    /// [`ModelError::Settings`] if the family is unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(Self {
            reserved: settings.reserved()?,
            context_tokens: settings.context_tokens,
        })
    }

    /// Returns prefix and suffix of a request, with the windows in the prefix.
    pub(super) fn sides(&self, request: &ModelRequest) -> PromptSides {
        let budget = request.prompt_budget(self.context_tokens);
        prompt::sides(&request.prompt_input(), &self.reserved, budget)
    }

    /// Returns prefix, suffix and windows of a request.
    pub(super) fn parts(&self, request: &ModelRequest) -> PromptParts {
        let budget = request.prompt_budget(self.context_tokens);
        prompt::parts(&request.prompt_input(), &self.reserved, budget)
    }
}

/// Writer of the prompt, for protocols with either choice.
#[derive(Debug)]
pub(super) enum ChosenPrompts {
    /// This server.
    Template(TemplatePrompts),
    /// The model's server.
    Server(ServerPrompts),
}

impl ChosenPrompts {
    /// # Errors
    /// [`ModelError::Settings`] if the family is missing or unknown.
    pub(super) fn new(settings: &ModelSettings) -> Result<Self, ModelError> {
        Ok(match settings.infill {
            Infill::Template => Self::Template(TemplatePrompts::new(settings)?),
            Infill::Suffix => Self::Server(ServerPrompts::new(settings)?),
        })
    }

    /// Describes in one sentence who writes the prompt, and why.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Template(prompts) => prompts.describe(),
            Self::Server(_) => {
                "the server writes the prompt, because `infill` is \"suffix\"".to_owned()
            }
        }
    }
}
