//! The background worker: opens engines and indexes the repository.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::future::FutureExt;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use super::indexing::IndexingProgress;
use super::reporting::{
    report, report_indexed, report_indexing, report_switch, suspend, suspend_for,
};
use super::session::{BackgroundJob, EditorSession};
use super::status::ServerState;
use crate::completion::{EngineError, Engines};
use crate::configuration::Configuration;

/// Runs jobs one after another until the session is dropped.
pub(super) async fn run(
    session: Arc<EditorSession>,
    mut jobs: mpsc::UnboundedReceiver<BackgroundJob>,
) {
    report(&session, ServerState::Starting).await;
    while let Some(job) = jobs.recv().await {
        let job = async {
            match job {
                BackgroundJob::Index => put_in_force(&session, true).await,
                BackgroundJob::Switch => put_in_force(&session, false).await,
            }
        };
        // A panic is reported by its hook; the next job may succeed.
        let _ = AssertUnwindSafe(job).catch_unwind().await;
    }
}

/// Applies the current settings. Keeps the index if it can be used with them, unless `anew`.
async fn put_in_force(session: &EditorSession, anew: bool) {
    // Read before the settings: a change in between only repeats the job.
    let revision = session.revision();
    let configuration = match session.configuration() {
        Ok(configuration) => configuration,
        Err(error) => return suspend(session, error).await,
    };
    match anew {
        true => configure(session, configuration.clone(), revision).await,
        false => switch(session, &configuration, revision).await,
    }
    // Settings that changed meanwhile may need other models or another index. Earlier, working ones
    // may have been restored while these failed.
    if session.revision() != revision {
        session.queue(BackgroundJob::Switch);
    }
}

/// Opens engines for these settings, indexes the repository and reports both to the client.
async fn configure(session: &EditorSession, configuration: Configuration, revision: u64) {
    report_indexing(session, 0).await;
    let Some((folders, id, shows_progress)) = session.state().map(|state| {
        (
            state.folders.clone(),
            state.id.clone(),
            state.features.shows_progress,
        )
    }) else {
        return;
    };
    let opened = tokio::task::spawn_blocking(move || Engines::open(configuration, folders, &id));
    let engines = match joined(opened.await) {
        Ok(engines) => session.install_engines(engines, revision),
        Err(reason) => return give_up(session, "the settings can't be used", reason).await,
    };
    // From here on, requests are served from what is indexed so far.
    let progress = IndexingProgress::begin(&session.client, shows_progress).await;
    let (counts, mut receive) = mpsc::unbounded_channel();
    let indexing = Arc::clone(&engines);
    let indexed = tokio::task::spawn_blocking(move || {
        indexing.index(|done, all| {
            let _ = counts.send((done, all));
        })
    });
    let mut tenths = 0;
    while let Some((done, all)) = receive.recv().await {
        progress.report(done, all).await;
        // Reported in steps of ten percent, as indexing a file may be faster than sending a
        // message.
        let reached = (done * 10).checked_div(all).unwrap_or_default();
        if reached > tenths {
            tenths = reached;
            report_indexing(session, tenths * 10).await;
        }
    }
    let indexed = joined(indexed.await);
    progress.end().await;
    let indexed = match indexed {
        Ok(indexed) => indexed,
        Err(reason) => return give_up(session, "the repository can't be read", reason).await,
    };
    // Reading may have missed these changes, so they are indexed again.
    let read = session.state().and_then(|mut state| state.indexing.take());
    for path in read.unwrap_or_default().changed {
        session.file_changed(&path);
    }
    // `shutdown` waits for this lock, so that the index is kept before the process ends.
    let _keeping = session.keeping.lock().await;
    report_indexed(session, &engines, &indexed).await;
    let kept = Arc::clone(&engines);
    if let Err(error) = tokio::task::spawn_blocking(move || kept.keep_index()).await {
        tracing::error!(%error, "keeping the index failed");
    }
}

/// Returns the result of a blocking task, or the reason why it failed.
fn joined<T>(result: Result<Result<T, EngineError>, JoinError>) -> Result<T, String> {
    match result {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Stops serving requests: the repository is not read any further.
async fn give_up(session: &EditorSession, cause: &str, reason: String) {
    if let Some(mut state) = session.state() {
        state.indexing = None;
    }
    suspend_for(session, cause, reason).await;
}

/// Applies settings. Keeps the index if it can be used with them.
async fn switch(session: &EditorSession, configuration: &Configuration, revision: u64) {
    // Two jobs may be queued for the same change; the second has nothing to do.
    let resumed = session
        .state()
        .and_then(|mut state| state.resume(configuration, revision));
    if let Some((engines, was_suspended)) = resumed {
        if was_suspended {
            report_switch(session, &engines).await;
        }
        return;
    }
    let switched = match session.engines() {
        None => Ok(None),
        Some(engines) => {
            let configuration = configuration.clone();
            joined(tokio::task::spawn_blocking(move || engines.with_models(&configuration)).await)
        }
    };
    match switched {
        Ok(Some(engines)) => {
            let engines = session.install_engines(engines, revision);
            report_switch(session, &engines).await;
        }
        Ok(None) => configure(session, configuration.clone(), revision).await,
        Err(reason) => suspend(session, reason).await,
    }
}
