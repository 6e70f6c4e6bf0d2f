//! Steps of preparing a project.

/// The current step of [`Corpus::prepare`](super::Corpus::prepare) for a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorpusStep {
    /// The source is being brought into the cache.
    Source,
    /// The environment is being installed.
    Environment,
    /// Another process is preparing the same thing; this one waits for it.
    Waiting,
    /// The project is ready.
    Ready,
}
