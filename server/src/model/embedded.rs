//! The embedded model: a nested n-gram cache model over the repository's tokens, after
//! Hellendoorn & Devanbu, "Are deep neural networks the best choice for modeling source code?",
//! ESEC/FSE 2017, <https://doi.org/10.1145/3106237.3106290>.
//!
//! It is a published baseline that needs no download, no network and no configuration. It learns
//! from the files it observes, and at a request from the file's own text and the windows.

mod counts;
mod generate;
mod lexer;
mod settled;
mod tables;
mod vocabulary;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};

use self::counts::{Counts, Sequence};
pub(crate) use self::generate::OWN_TEXT;

use self::generate::Knowledge;
use self::settled::SettledText;
use self::tables::{KeptTables, LearntTexts};
use self::vocabulary::{Extended, START, Vocabulary};
use super::{
    BulkLearning, KeptLearning, Model, ModelError, ModelOutput, ModelRequest, TextListener,
};

/// The embedded model. Equal observations, in any order, and an equal request give an equal answer.
#[derive(Debug, Default)]
pub struct EmbeddedModel {
    learnt: Arc<RwLock<Learnt>>,
    /// The settled text of the file completed last.
    settled: Arc<Mutex<Option<Arc<SettledText>>>>,
}

/// State learnt from observed files.
#[derive(Debug, Default)]
struct Learnt {
    vocabulary: Vocabulary,
    counts: Counts,
    /// Path to text number.
    files: HashMap<String, u32>,
    /// Text number to folder.
    folders: Vec<String>,
    /// Identifies this state of the vocabulary in the process.
    generation: u64,
}

/// Number of states of vocabularies in the process.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

impl EmbeddedModel {
    /// Creates a model that has observed nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Learnt {
    /// Opens a kept state.
    fn of_kept(kept: KeptTables) -> Self {
        let kept = Arc::new(kept);
        let paths = kept.paths().iter();
        Self {
            files: paths.clone().cloned().zip(0..).collect(),
            folders: paths.map(|path| folder(path).to_owned()).collect(),
            vocabulary: Vocabulary::of_kept(Arc::clone(&kept)),
            counts: Counts::of_kept(kept),
            generation: GENERATIONS.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Returns the state to be kept.
    fn texts(&self) -> LearntTexts {
        let mut texts = LearntTexts::default();
        let mut files: Vec<(&String, &u32)> = self.files.iter().collect();
        files.sort();
        for (path, number) in files {
            texts.add(path, self.counts.symbols(*number));
        }
        texts.add_vocabulary(&self.vocabulary);
        texts
    }

    fn observe(&mut self, path: &str, contents: Option<&str>) {
        if let Some(number) = self.files.remove(path) {
            self.counts.forget(number);
        }
        let Some(contents) = contents else { return };
        // Forgetting leaves the vocabulary as it is, so only learning begins a new generation.
        self.generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
        let sequence = Sequence::read(contents, START, &mut self.vocabulary);
        let number = self.counts.learn(sequence, 0);
        let index = number as usize;
        if self.folders.len() <= index {
            self.folders.resize(index + 1, String::new());
        }
        self.folders[index] = folder(path).to_owned();
        self.files.insert(path.to_owned(), number);
    }

    /// Returns the settled text of a request's file: the earlier one, if it is that.
    fn settled(
        &self,
        request: &ModelRequest,
        earlier: Option<Arc<SettledText>>,
    ) -> Option<Arc<SettledText>> {
        let own = generate::own_text(request);
        let is_valid = |settled: &SettledText| settled.rest(own, self.generation).is_some();
        earlier.filter(|earlier| is_valid(earlier)).or_else(|| {
            let settled = SettledText::new(own, &self.vocabulary, self.generation)?;
            // Text with few line ends may leave more after the settled part than a request can
            // count.
            is_valid(&settled).then(|| Arc::new(settled))
        })
    }

    /// Completes with the settled text of the request's file; the result is the same without one.
    fn complete(&self, request: &ModelRequest, settled: Option<&SettledText>) -> ModelOutput {
        let own = generate::own_text(request);
        let settled = settled.and_then(|settled| {
            let rest = settled.rest(own, self.generation)?;
            generate::is_long_enough(rest, own, settled).then_some((settled, rest))
        });
        let additions = settled.map(|(settled, _)| &settled.additions);
        let mut vocabulary = Extended::new(&self.vocabulary, additions);
        let file = match settled {
            Some((settled, rest)) => settled.count_rest(rest, &mut vocabulary),
            None => generate::file_cache(own, &mut vocabulary),
        };
        let windows = generate::window_cache(request, &mut vocabulary);
        let left_out = self.files.get(&request.path).copied();
        let here = folder(&request.path);
        let mut knowledge = Knowledge {
            vocabulary,
            file,
            settled: settled.map(|(settled, _)| settled),
            rest: settled.map_or(own.prefix, |(_, rest)| rest),
            windows,
            repository: &self.counts,
            in_folder: &|number| self.folders[number as usize] == here,
            left_out,
            left_out_counts: left_out
                .and_then(|number| self.counts.sequence(number))
                .map(Sequence::short),
            short: RefCell::default(),
        };
        ModelOutput {
            candidates: generate::candidates(&mut knowledge, request),
            prompt: String::new(),
            notice: None,
            usage: None,
            is_delayed: false,
        }
    }
}

/// Learns many texts at once by sorting, which needs less time and memory than learning one after
/// another.
#[derive(Default)]
struct ManyTexts {
    vocabulary: Vocabulary,
    texts: LearntTexts,
}

impl BulkLearning for ManyTexts {
    fn learn(&mut self, path: &str, contents: &str) {
        let sequence = Sequence::read(contents, START, &mut self.vocabulary);
        self.texts.add(path, sequence.symbols().iter().copied());
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        let Self {
            vocabulary,
            mut texts,
        } = *self;
        texts.add_vocabulary(&vocabulary);
        drop(vocabulary);
        texts.encode()
    }
}

/// Returns the folder of a path, without a final `/`.
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
        let kept = Arc::clone(&self.settled);
        let request = request.clone();
        // This takes some milliseconds of computation, which must not block the protocol's task.
        let complete = move || {
            let learnt = learnt.read();
            let earlier = kept.lock().clone();
            let settled = learnt.settled(&request, earlier);
            kept.lock().clone_from(&settled);
            learnt.complete(&request, settled.as_deref())
        };
        tokio::task::spawn_blocking(complete)
            .await
            .map_err(|error| ModelError::Failed(error.to_string()))
    }

    fn learns(&self) -> bool {
        true
    }

    fn observe(&self, path: &str, contents: Option<&str>) {
        self.learnt.write().observe(path, contents);
    }

    fn learn_many(&self) -> Option<Box<dyn BulkLearning>> {
        Some(Box::<ManyTexts>::default())
    }

    fn learning(&self) -> Option<KeptLearning> {
        let learnt = self.learnt.read();
        if let Some(kept) = learnt.counts.unchanged().map(KeptTables::bytes) {
            return Some(Box::new(|| kept));
        }
        // Sorting takes seconds in a large repository, and completions must not wait for it, so it
        // runs later.
        let texts = learnt.texts();
        Some(Box::new(|| Arc::new(texts.encode())))
    }

    fn relearn(&self, kept: Arc<Vec<u8>>, gone: &[String]) -> bool {
        let Some(tables) = KeptTables::read(kept) else {
            return false;
        };
        let mut learnt = Learnt::of_kept(tables);
        for path in gone {
            learnt.observe(path, None);
        }
        // The state is replaced only now, so that no answer comes from files that are hidden by
        // now.
        *self.learnt.write() = learnt;
        true
    }
}

#[cfg(test)]
mod tests;
