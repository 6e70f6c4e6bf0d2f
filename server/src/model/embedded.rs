//! The embedded model: a nested n-gram cache model over the repository's tokens, after
//! Hellendoorn & Devanbu, "Are deep neural networks the best choice for modeling source code?",
//! ESEC/FSE 2017, <https://doi.org/10.1145/3106237.3106290>.
//!
//! It is a published baseline that needs no download, no network and no configuration, and never
//! more than that. It learns from the files it observes, and at a request from the file's own
//! text and the windows.

mod counts;
mod generate;
mod lexer;
mod vocabulary;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::RwLock;

use self::counts::{Counts, Sequence};
use self::generate::Knowledge;
use self::vocabulary::{Extended, START, Vocabulary};
use super::{Model, ModelError, ModelOutput, ModelRequest, TextListener};

/// The embedded model. Equal observations, in any order, and an equal request give an equal
/// answer.
#[derive(Debug, Default)]
pub struct EmbeddedModel {
    learnt: Arc<RwLock<Learnt>>,
}

/// What was observed.
#[derive(Debug, Default)]
struct Learnt {
    vocabulary: Vocabulary,
    counts: Counts,
    /// Path to text number.
    files: HashMap<String, u32>,
    /// Text number to folder.
    folders: Vec<String>,
}

impl EmbeddedModel {
    /// A model that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Learnt {
    fn observe(&mut self, path: &str, contents: Option<&str>) {
        if let Some(number) = self.files.remove(path) {
            self.counts.forget(number);
        }
        let Some(contents) = contents else { return };
        let sequence = Sequence::read(contents, START, &mut self.vocabulary);
        let number = self.counts.learn(sequence);
        let index = number as usize;
        if self.folders.len() <= index {
            self.folders.resize(index + 1, String::new());
        }
        self.folders[index] = folder(path).to_owned();
        self.files.insert(path.to_owned(), number);
    }

    fn complete(&self, request: &ModelRequest) -> ModelOutput {
        let mut vocabulary = Extended::new(&self.vocabulary);
        let file = generate::file_cache(request, &mut vocabulary);
        let windows = generate::window_cache(request, &mut vocabulary);
        let left_out = self.files.get(&request.path).copied();
        let here = folder(&request.path);
        let mut knowledge = Knowledge {
            vocabulary,
            file,
            windows,
            repository: &self.counts,
            in_folder: &|number| self.folders[number as usize] == here,
            left_out,
            left_out_counts: left_out
                .and_then(|number| self.counts.sequence(number))
                .map(Sequence::short),
            reductions: RefCell::default(),
        };
        ModelOutput {
            candidates: generate::candidates(&mut knowledge, request),
            prompt: String::new(),
        }
    }
}

/// The folder of a path, without a final `/`.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[async_trait]
impl Model for EmbeddedModel {
    fn name(&self) -> &str {
        "embedded"
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        _listener: &dyn TextListener,
    ) -> Result<ModelOutput, ModelError> {
        let learnt = Arc::clone(&self.learnt);
        let request = request.clone();
        // Some milliseconds of pure work, which must not hold up the protocol's own task.
        tokio::task::spawn_blocking(move || learnt.read().complete(&request))
            .await
            .map_err(|error| ModelError::Failed(error.to_string()))
    }

    fn learns(&self) -> bool {
        true
    }

    fn observe(&self, path: &str, contents: Option<&str>) {
        self.learnt.write().observe(path, contents);
    }
}

#[cfg(test)]
mod tests;
