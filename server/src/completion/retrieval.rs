//! Finding the windows for a place as the profile says: the one path to them, whoever asks.

use std::collections::HashMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::flight::Heard;
use super::memory::Asked;
use super::{Engine, EngineError, generate, milliseconds};
use crate::configuration::Profile;
use crate::context::lines::{self, Stands, cceval_query, repocoder_query};
use crate::context::{self, Form, Given, Query, Window};
use crate::documents::Snapshot;
use crate::model::embeddings::Vector;
use crate::prompt;
use crate::text::ByteOffset;

/// The windows of other files for one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Retrieved {
    /// The profile's name.
    pub profile: String,
    /// What was looked for, where the profile asks with a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// What was found, best first, before any of it was left out for a prompt's sake.
    pub windows: Vec<Window>,
    /// How many of them, from the first, a prompt has whole.
    pub whole_in_prompt: usize,
    /// The completion of a first round, where one was made to find the windows with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_round: Option<String>,
    /// What kept windows from being found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Milliseconds it took.
    pub milliseconds: f64,
}

/// What was found for a place.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What was looked for, where it is one text.
    query: Option<String>,
    /// Best first.
    pub(super) windows: Vec<Window>,
    /// The completion of a first round.
    pub(super) first_round: Option<String>,
}

impl Engine {
    /// The windows for a place, without a completion there.
    pub(super) async fn retrieve(
        &self,
        document: &Snapshot,
        cursor: ByteOffset,
        given: &Given,
    ) -> Retrieved {
        let started = Instant::now();
        let found = match self.repository.relative_path(document) {
            Ok(path) => {
                let asked = self.asked(document, cursor, given);
                self.find(&asked, &path, document, given).await
            }
            Err(reason) => Err(reason),
        };
        let profile = self.configuration.context.profile.to_string();
        let milliseconds = milliseconds(started.elapsed());
        match found {
            Ok(found) => {
                let bounded = self.bounded(found.windows.clone(), document);
                let whole = found.windows.iter().zip(&bounded);
                let whole = whole.take_while(|(found, kept)| found == kept).count();
                Retrieved {
                    profile,
                    query: found.query,
                    windows: found.windows,
                    whole_in_prompt: whole,
                    first_round: found.first_round,
                    fault: None,
                    milliseconds,
                }
            }
            Err(fault) => Retrieved {
                profile,
                fault: Some(fault),
                milliseconds,
                ..Retrieved::default()
            },
        }
    }

    /// The windows that the model is given at a place, or what kept them from being found.
    pub(super) async fn windows(
        &self,
        asked: &Asked,
        path: &str,
        document: &Snapshot,
        given: &Given,
    ) -> Result<Found, String> {
        let model = &self.model;
        if given.earlier.is_some() && !model.chats() {
            return Err(format!(
                "the model {} can't be told of its earlier answer: only models that are asked as \
                 a chat is can, by the protocols openai-chat and anthropic-messages",
                model.name()
            ));
        }
        let found = self.find(asked, path, document, given).await?;
        Ok(Found {
            windows: self.bounded(found.windows, document),
            ..found
        })
    }

    /// [`Engine::windows`] without a wait; nothing where there is a fault or the profile has to
    /// wait for a model or a server.
    pub(super) fn windows_at_once(
        &self,
        asked: &Asked,
        path: &str,
        document: &Snapshot,
    ) -> Option<Found> {
        if !self.configuration.context.profile.is_immediate() {
            return None;
        }
        let found = self.find_at_once(asked, path, document, &Given::default());
        let found = found.ok()?;
        Some(Found {
            windows: self.bounded(found.windows, document),
            ..found
        })
    }

    async fn find(
        &self,
        asked: &Asked,
        path: &str,
        document: &Snapshot,
        given: &Given,
    ) -> Result<Found, String> {
        match self.configuration.context.profile {
            Profile::Repocoder => self.two_rounds(asked, path, document).await,
            Profile::Dense => self.by_vectors(asked, path, false).await,
            Profile::Mix => self.by_vectors(asked, path, true).await,
            _ => self.find_at_once(asked, path, document, given),
        }
    }

    /// What profiles find without a model or another server; of those that need one, what they
    /// find without it.
    fn find_at_once(
        &self,
        asked: &Asked,
        path: &str,
        document: &Snapshot,
        given: &Given,
    ) -> Result<Found, String> {
        let limit = self.configuration.context.windows;
        let asking = |query: String, stands: Stands| {
            let windows = self.repository.lines(path, |candidates| {
                candidates.best(&candidates.bm25(&query), limit, stands)
            });
            Ok(Found {
                windows: windows.map_err(told)?,
                query: Some(query),
                first_round: None,
            })
        };
        match self.configuration.context.profile {
            Profile::None => Ok(Found::default()),
            Profile::Editor => self.indexed(asked, path, document).map_err(told),
            Profile::Cceval | Profile::Dense | Profile::Mix => {
                asking(cceval_query(&asked.prefix, None), Stands::ForTheNext)
            }
            Profile::Reference => {
                let reference = given.reference.as_deref().ok_or(
                    "the profile `reference` looks for windows with what is missing at the \
                     cursor, which only an evaluator knows, and this request has no \
                     `fillrate.reference`",
                )?;
                let query = cceval_query(&asked.prefix, Some(reference));
                asking(query, Stands::ForItself)
            }
            Profile::Given => {
                let windows = given.windows.clone().ok_or(
                    "the profile `given` uses the windows that a request brings along in \
                     `fillrate.windows`, and this one has none; an empty list would do",
                )?;
                Ok(Found {
                    windows,
                    ..Found::default()
                })
            }
            Profile::Repocoder => self.similar(path, repocoder_query(&asked.prefix, None), false),
        }
    }

    fn indexed(
        &self,
        asked: &Asked,
        path: &str,
        document: &Snapshot,
    ) -> Result<Found, EngineError> {
        let Some(language) = document.language else {
            return Ok(Found::default());
        };
        let recent = self.repository.recent(path);
        let query = Query {
            path,
            prefix: &asked.prefix,
            suffix: &asked.suffix,
            language,
            tree: document.tree(),
            recent: &recent,
        };
        let limit = self.configuration.context.windows;
        Ok(Found {
            windows: self.repository.indexed(&query, limit)?,
            ..Found::default()
        })
    }

    /// RepoCoder's windows for a text. Where it holds a completion, they stand for themselves.
    fn similar(&self, path: &str, query: String, completed: bool) -> Result<Found, String> {
        let limit = self.configuration.context.windows;
        let stands = if completed {
            Stands::ForItself
        } else {
            Stands::ForTheNext
        };
        let windows = self.repository.lines(path, |candidates| {
            candidates.best(&candidates.jaccard(&query), limit, stands)
        });
        Ok(Found {
            windows: windows.map_err(told)?,
            query: Some(query),
            first_round: None,
        })
    }

    /// CrossCodeEval's windows by the angles between vectors; with `mixed`, that ranking and BM25's
    /// fused.
    async fn by_vectors(&self, asked: &Asked, path: &str, mixed: bool) -> Result<Found, String> {
        let query = cceval_query(&asked.prefix, None);
        let texts = self.repository.lines(path, |candidates| {
            candidates.texts().map(str::to_owned).collect::<Vec<_>>()
        });
        let texts = texts.map_err(told)?;
        let Some(embeddings) = self.embeddings.as_ref().filter(|_| !texts.is_empty()) else {
            return Ok(Found::default());
        };
        let mut asking: Vec<&str> = texts.iter().map(String::as_str).collect();
        asking.push(&query);
        let vectors = embeddings
            .vectors(&asking)
            .await
            .map_err(|error| format!("no vectors for the profile's windows: {error}"))?;
        let of_query = &vectors[texts.len()];
        let known: HashMap<&str, &Vector> = asking.into_iter().zip(&vectors).collect();
        let limit = self.configuration.context.windows;
        let windows = self.repository.lines(path, |candidates| {
            // A text that came with a change in the meantime has no vector yet, and comes last.
            let angles = candidates.texts().map(|text| {
                let vector = known.get(text);
                vector.map_or(-1.0, |vector| lines::cosine(vector, of_query))
            });
            let angles: Vec<f64> = angles.collect();
            let scores = if mixed {
                candidates.fused(&[angles, candidates.bm25(&query)])
            } else {
                angles
            };
            candidates.best(&scores, limit, Stands::ForTheNext)
        });
        Ok(Found {
            windows: windows.map_err(told)?,
            query: Some(query),
            first_round: None,
        })
    }

    /// RepoCoder's two rounds: the completion with the windows of the first joins the question of
    /// the second. Where there is no completion, the first round's windows stay.
    async fn two_rounds(
        &self,
        asked: &Asked,
        path: &str,
        document: &Snapshot,
    ) -> Result<Found, String> {
        let first = self.similar(path, repocoder_query(&asked.prefix, None), false)?;
        let windows = self.bounded(first.windows.clone(), document);
        let request = self.request(document, path.to_owned(), asked, windows, &Given::default());
        let model = &*self.model;
        let extent = self.configuration.cleanup.extent;
        let heard = Heard::default();
        let completion = generate(model, &request, document.tree(), extent, &heard).await;
        if let Some(fault) = completion.trace.fault {
            return Err(fault);
        }
        let Some(completion) = completion.candidates.into_iter().next() else {
            return Ok(first);
        };
        let query = repocoder_query(&asked.prefix, Some(&completion));
        let second = self.similar(path, query, true)?;
        Ok(Found {
            first_round: Some(completion),
            ..second
        })
    }

    /// What of the windows a prompt has room for, as the profile's form has it.
    fn bounded(&self, windows: Vec<Window>, document: &Snapshot) -> Vec<Window> {
        let share = prompt::windows_budget(self.configuration.model.context_tokens);
        match self.configuration.context.profile.form() {
            Form::Family => context::budget(windows, share, prompt::approximate_tokens),
            Form::Whole => windows,
            Form::Comments => {
                let mark = document
                    .language
                    .map_or("#", |language| language.line_comment);
                lines::limited(windows, lines::CCEVAL_TOKENS.min(share), |windows| {
                    prompt::approximate_tokens(&prompt::as_comments(windows, mark))
                })
            }
        }
    }
}

/// What went wrong, for a trace.
fn told(error: EngineError) -> String {
    error.to_string()
}
