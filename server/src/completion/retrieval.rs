//! Finds the windows at a cursor by the profile, both for completions and for inspection.

use std::collections::HashMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tree_sitter::Tree;

use super::cache::RequestKey;
use super::generation::{DocumentName, SiteText, build_request, generate};
use super::model_call::StreamedText;
use super::reading::PromptBudget;
use super::repository::RepositoryState;
use super::trace::milliseconds;
use crate::configuration::{Configuration, Profile};
use crate::context::lines::{self, HitTarget, cceval_query, repocoder_query};
use crate::context::{
    self, GivenContext, IndexError, Query, Window, WindowLayout, with_line_feeds,
};
use crate::documents::Snapshot;
use crate::model::embeddings::{Embeddings, Vector};
use crate::model::{Model, TokenUsage};
use crate::prompt;
use crate::syntax::Language;
use crate::text::ByteOffset;

/// The windows of other files for one cursor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetrievedWindows {
    /// The profile's name.
    pub profile: String,
    /// The query, if the profile searches with a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The windows found, best first, before they are limited for a prompt.
    pub windows: Vec<Window>,
    /// Number of windows, from the first, that fit into a prompt as a whole.
    pub whole_in_prompt: usize,
    /// The completion of a first round, if the windows were found with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_round: Option<String>,
    /// Reason why retrieval failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Duration of retrieval in milliseconds.
    pub milliseconds: f64,
}

/// The windows found for a cursor.
#[derive(Debug, Default)]
pub(super) struct FoundWindows {
    /// The query, if it is a text.
    query: Option<String>,
    /// Best first.
    pub(super) windows: Vec<Window>,
    /// The completion of a first round.
    pub(super) first_round: Option<String>,
    /// Tokens of a first round.
    pub(super) first_usage: Option<TokenUsage>,
}

/// Finds windows with one model under one set of settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retriever<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) model: &'a dyn Model,
    pub(super) repository: &'a RepositoryState,
    /// The source of vectors, if the profile needs one.
    pub(super) embeddings: Option<&'a Embeddings>,
    /// The limit on the prompt, if there is one.
    pub(super) budget: Option<PromptBudget>,
}

impl Retriever<'_> {
    /// Returns the windows at a cursor, without completing.
    pub(super) async fn retrieve(
        self,
        key: &RequestKey,
        document: &Snapshot,
        given: &GivenContext,
    ) -> RetrievedWindows {
        let started = Instant::now();
        let found = match self.repository.relative_path(document) {
            Ok(path) => self.find(key, &path, document, given).await,
            Err(reason) => Err(reason),
        };
        let profile = self.configuration.context.profile.to_string();
        let milliseconds = milliseconds(started.elapsed());
        match found {
            Ok(found) => {
                let bounded = self.bounded(found.windows.clone(), document);
                // A layout may cut the last window, which then differs from the one found.
                let whole = found.windows.iter().zip(&bounded);
                let whole = whole.take_while(|(found, kept)| found == kept).count();
                RetrievedWindows {
                    profile,
                    query: found.query,
                    windows: found.windows,
                    whole_in_prompt: whole,
                    first_round: found.first_round,
                    fault: None,
                    milliseconds,
                }
            }
            Err(fault) => RetrievedWindows {
                profile,
                fault: Some(fault),
                milliseconds,
                ..RetrievedWindows::default()
            },
        }
    }

    /// Returns the windows for the model at a cursor, or the reason why retrieval failed.
    pub(super) async fn windows(
        self,
        key: &RequestKey,
        path: &str,
        document: &Snapshot,
        given: &GivenContext,
    ) -> Result<FoundWindows, String> {
        let model = self.model;
        if given.earlier.is_some() && !model.chats() {
            return Err(format!(
                "the model {} can't be given its earlier completion: only chat models can; use the \
                 protocol openai-chat or anthropic-messages",
                model.name()
            ));
        }
        let found = self.find(key, path, document, given).await?;
        Ok(FoundWindows {
            windows: self.bounded(found.windows, document),
            ..found
        })
    }

    /// As [`Retriever::windows`], without waiting; `None` if retrieval fails or the profile has to
    /// wait for a model or a server.
    pub(super) fn windows_at_once(
        self,
        key: &RequestKey,
        path: &str,
        document: &Snapshot,
    ) -> Option<FoundWindows> {
        if !self.configuration.context.profile.is_immediate() {
            return None;
        }
        let found = self.find_at_once(key, path, document, &GivenContext::default());
        let found = found.ok()?;
        Some(FoundWindows {
            windows: self.bounded(found.windows, document),
            ..found
        })
    }

    async fn find(
        self,
        key: &RequestKey,
        path: &str,
        document: &Snapshot,
        given: &GivenContext,
    ) -> Result<FoundWindows, String> {
        match self.configuration.context.profile {
            Profile::Repocoder => self.two_rounds(key, path, document).await,
            Profile::Dense => self.by_vectors(key, path, false).await,
            Profile::Mix => self.by_vectors(key, path, true).await,
            _ => self.find_at_once(key, path, document, given),
        }
    }

    /// Returns what profiles find without a model or another server. For those that need one, this
    /// is the part found without it.
    fn find_at_once(
        self,
        key: &RequestKey,
        path: &str,
        document: &Snapshot,
        given: &GivenContext,
    ) -> Result<FoundWindows, String> {
        let limit = self.configuration.context.windows;
        let asking = |query: String, target: HitTarget| {
            let windows = self.repository.lines(path, |candidates| {
                candidates.best(&candidates.bm25(&query), limit, target)
            });
            Ok(FoundWindows {
                windows: windows.map_err(|error| error.to_string())?,
                query: Some(query),
                ..FoundWindows::default()
            })
        };
        match self.configuration.context.profile {
            Profile::None => Ok(FoundWindows::default()),
            Profile::Editor => self
                .indexed(key, path, document)
                .map_err(|error| error.to_string()),
            Profile::Cceval | Profile::Dense | Profile::Mix => {
                asking(cceval_query(&key.prefix, None), HitTarget::Next)
            }
            Profile::Reference => {
                let reference = given.reference.as_deref().ok_or(
                    "the profile `reference` searches with the missing text, which only an \
                     evaluator knows: the request has no `fillrate.reference`",
                )?;
                let query = cceval_query(&key.prefix, Some(reference));
                asking(query, HitTarget::Itself)
            }
            Profile::Given => {
                let windows = given.windows.clone().ok_or(
                    "the profile `given` uses the windows of the request: the request has no \
                     `fillrate.windows`; send a list, which may be empty",
                )?;
                Ok(FoundWindows {
                    windows,
                    ..FoundWindows::default()
                })
            }
            Profile::Repocoder => self.similar(path, repocoder_query(&key.prefix, None), false),
        }
    }

    fn indexed(
        self,
        key: &RequestKey,
        path: &str,
        document: &Snapshot,
    ) -> Result<FoundWindows, IndexError> {
        let Some(language) = document.language else {
            return Ok(FoundWindows::default());
        };
        let recent = self.repository.recent(path);
        let cursor = ByteOffset(key.cursor());
        let site = SiteText::near(document, cursor);
        let head = parsed_head(document, cursor, language);
        let query = Query {
            path,
            prefix: &site.prefix,
            suffix: &site.suffix,
            language,
            tree: site.tree.as_ref(),
            head: head.as_ref().map(|(text, tree)| (text.as_str(), tree)),
            recent: &recent,
        };
        let limit = self.configuration.context.windows;
        Ok(FoundWindows {
            windows: self.repository.indexed(&query, limit)?,
            ..FoundWindows::default()
        })
    }

    /// Returns RepoCoder's windows for a query. If the query contains a completion, the matching
    /// window itself is returned.
    fn similar(self, path: &str, query: String, completed: bool) -> Result<FoundWindows, String> {
        let limit = self.configuration.context.windows;
        let target = if completed {
            HitTarget::Itself
        } else {
            HitTarget::Next
        };
        let windows = self.repository.lines(path, |candidates| {
            candidates.best(&candidates.jaccard(&query), limit, target)
        });
        Ok(FoundWindows {
            windows: windows.map_err(|error| error.to_string())?,
            query: Some(query),
            ..FoundWindows::default()
        })
    }

    /// Returns CrossCodeEval's windows by the cosine of their vectors; with `mixed`, fused with
    /// BM25's ranking.
    async fn by_vectors(
        self,
        key: &RequestKey,
        path: &str,
        mixed: bool,
    ) -> Result<FoundWindows, String> {
        let query = cceval_query(&key.prefix, None);
        let texts = self.repository.line_texts(path);
        let texts = texts.map_err(|error| error.to_string())?;
        let Some(embeddings) = self.embeddings.filter(|_| !texts.is_empty()) else {
            return Ok(FoundWindows::default());
        };
        let mut asking: Vec<&str> = texts.iter().map(String::as_str).collect();
        // The query is embedded in the same request as the windows; its vector is the last.
        asking.push(&query);
        let vectors = embeddings
            .vectors(&asking)
            .await
            .map_err(|error| format!("no vectors for the profile's windows: {error}"))?;
        let of_query = &vectors[texts.len()];
        let known: HashMap<&str, &Vector> = asking.into_iter().zip(&vectors).collect();
        let limit = self.configuration.context.windows;
        let windows = self.repository.lines(path, |candidates| {
            // A text that changed in the meantime has no vector yet, and comes last.
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
            candidates.best(&scores, limit, HitTarget::Next)
        });
        Ok(FoundWindows {
            windows: windows.map_err(|error| error.to_string())?,
            query: Some(query),
            ..FoundWindows::default()
        })
    }

    /// Runs RepoCoder's two rounds: the completion with the first round's windows extends the query
    /// of the second. Without a completion, the first round's windows are returned.
    async fn two_rounds(
        self,
        key: &RequestKey,
        path: &str,
        document: &Snapshot,
    ) -> Result<FoundWindows, String> {
        let first = self.similar(path, repocoder_query(&key.prefix, None), false)?;
        let windows = self.bounded(first.windows.clone(), document);
        let request = build_request(
            self.configuration,
            DocumentName {
                repository: &self.repository.name,
                path: path.to_owned(),
            },
            document,
            key,
            windows,
            &GivenContext::default(),
            self.budget,
        );
        let model = self.model;
        let extent = self.configuration.cleanup.extent;
        let streamed = StreamedText::default();
        let site = SiteText::near(document, ByteOffset(key.cursor()));
        let completion = generate(model, &request, &site, extent, &streamed).await;
        if let Some(fault) = completion.trace.fault {
            return Err(fault);
        }
        let first_usage = completion.trace.usage;
        let Some(completion) = completion.candidates.into_iter().next() else {
            return Ok(FoundWindows {
                first_usage,
                ..first
            });
        };
        let query = repocoder_query(&key.prefix, Some(&completion));
        let second = self.similar(path, query, true)?;
        Ok(FoundWindows {
            first_round: Some(completion),
            first_usage,
            ..second
        })
    }

    /// Returns the windows that fit into a prompt, by the profile's layout.
    fn bounded(self, windows: Vec<Window>, document: &Snapshot) -> Vec<Window> {
        let share = match self.budget {
            Some(budget) => budget.window_tokens,
            None => prompt::windows_budget(self.configuration.model.context_tokens),
        };
        match self.configuration.context.profile.layout() {
            WindowLayout::Family => context::budget(windows, share, prompt::approximate_tokens),
            WindowLayout::Whole => windows,
            WindowLayout::Comments => {
                let mark = Language::line_comment_of(document.language);
                lines::limited(windows, lines::CCEVAL_TOKENS.min(share), |windows| {
                    prompt::approximate_tokens(&prompt::render_comments(windows, mark))
                })
            }
        }
    }
}

/// Returns the beginning of a large document with its syntax tree: see [`Query::head`].
fn parsed_head(
    document: &Snapshot,
    cursor: ByteOffset,
    language: &Language,
) -> Option<(String, Tree)> {
    let head = document.head(cursor)?;
    let text = with_line_feeds(&head.text.to_string()).into_owned();
    // A document with carriage returns has no tree.
    let tree = head.tree().cloned();
    let tree = tree.unwrap_or_else(|| language.parse(&text));
    Some((text, tree))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_a_large_file_do_not_depend_on_line_ends() {
        let text = "import a.b\n\n".to_owned() + &"def f():\n    pass\n\n\n".repeat(2000);
        let language = Language::by_id("python").expect("it is known");
        for end in ["\n", "\r\n", "\r"] {
            let text = text.replace('\n', end);
            let document = Snapshot::new("file:///a.py", "python", 1, &text);
            let cursor = ByteOffset(text.len());
            let (head, tree) = parsed_head(&document, cursor, language).expect("it is large");
            let imports = language.imported_modules(tree.root_node(), &head, "");
            assert!(
                imports.iter().any(|module| module.matches("a/b")),
                "{end:?}"
            );
        }
    }
}
