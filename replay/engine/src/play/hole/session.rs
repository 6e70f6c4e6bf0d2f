//! A hole in a copy of its project, and the requests of a session with a server there.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fillrate_language::task::Hole;
use fillrate_mine::contexts::HoleView;
use fillrate_server::context::EarlierAttempt;
use fillrate_syntax::text::ByteOffset;
use fillrate_syntax::{CompletionExtent, Language};
use serde_json::{Map, Value, json};

use super::judging::HoleSite;
use crate::developer::policy::Policy;
use crate::developer::typing::{HoleText, Pace, TypingSession, TypistSettings, type_hole};
use crate::developer::{CompletionReply, Developer, DeveloperError, ServerCommand};
use crate::play::PlayError;
use crate::play::editor::{ServerEditor, TypingFailure};
use crate::play::events::{Event, Listener};
use crate::play::permits::WorkerPermits;
use crate::play::schedule::{MissingSample, ReplayParameters};
use crate::play::subject::SERVER_SETTINGS;
use crate::play::worker::ReplayWorker;

/// Timeout for a language server to start and to index a repository.
const SERVER_START_TIMEOUT: Duration = Duration::from_secs(120);

/// Upper limit for the wait before a retry, also for a server's `Retry-After`.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(600);

/// Lower limit for the wait before a retry: a server may send `Retry-After: 0` each time.
const SHORTEST_RETRY_AFTER: Duration = Duration::from_millis(100);

/// Sum of the waits for one completion after which it fails.
const MOST_WAITED: Duration = Duration::from_secs(1800);

/// A hole that is cut out of its file in a worker's copy of the project.
pub(super) struct HoleSession<'s> {
    pub(super) parameters: &'s ReplayParameters<'s>,
    pub(super) permits: &'s WorkerPermits,
    pub(super) listener: &'s dyn Listener,
    pub(super) site: &'s HoleSite<'s>,
    /// The hole as it is presented.
    pub(super) shown: &'s HoleView,
    pub(super) server: ServerCommand,
    /// The copy's folder.
    pub(super) workspace: PathBuf,
}

/// Waits before the retries of one completion.
#[derive(Default)]
struct RetryWaits {
    waited: Duration,
}

impl RetryWaits {
    /// Returns the wait that a server's `Retry-After` asks for, in milliseconds, within limits.
    /// `None` if the completion has waited for too long.
    fn next_wait(&mut self, retry_after_ms: f64) -> Option<Duration> {
        if self.waited >= MOST_WAITED {
            return None;
        }
        // A negative or too large number is no `Duration`; it counts as the upper limit.
        let wait = Duration::try_from_secs_f64(retry_after_ms / 1000.0)
            .unwrap_or(LONGEST_RETRY_AFTER)
            .clamp(SHORTEST_RETRY_AFTER, LONGEST_RETRY_AFTER);
        self.waited += wait;
        Some(wait)
    }
}

/// A session in which the reference was typed.
pub(super) struct TypedReference {
    pub(super) session: TypingSession,
    /// The fingerprint of the server's settings.
    pub(super) configuration: String,
}

impl HoleSession<'_> {
    /// Runs a session with a server.
    ///
    /// # Errors
    /// The server fails, or `work` does.
    pub(super) fn run<T>(
        &self,
        worker: &mut ReplayWorker,
        work: impl AsyncFnOnce(&mut Developer) -> Result<T, PlayError>,
    ) -> Result<T, PlayError> {
        let (workspace, path) = (&self.workspace, self.path());
        let began = Instant::now();
        // The time until the closure runs is the start of the server, or its new session.
        worker.run_session(&self.server, workspace, &path, async |developer| {
            self.permits
                .add(|spent| &mut spent.servers, began.elapsed());
            work(developer).await
        })
    }

    /// Changes the server's settings to those of one of the hole's samples.
    ///
    /// # Errors
    /// The server fails.
    pub(super) async fn configure_sample(
        &self,
        developer: &mut Developer,
        sample: &MissingSample,
    ) -> Result<(), DeveloperError> {
        let mut settings = self.settings();
        // A single sample keeps the seed of the settings, so it equals a completion in the editor.
        if self.parameters.samples_at(self.site.hole) > 1 {
            let seed = self.parameters.subject.configuration.model.seed;
            // Each sample has its own seed; else a deterministic model gives the same completion
            // each time.
            let seed = seed + u64::from(sample.number);
            settings.insert("model".to_owned(), json!({"seed": seed}));
        }
        configure(developer, settings).await
    }

    /// Requests a completion once a permit is free, and repeats the request after the server's
    /// `Retry-After`, if it sends one, until [`MOST_WAITED`]: then the reply has the fault.
    ///
    /// # Errors
    /// The server fails.
    pub(super) async fn ask(
        &self,
        developer: &mut Developer,
        earlier: Option<EarlierAttempt>,
    ) -> Result<CompletionReply, DeveloperError> {
        let mut waits = RetryWaits::default();
        loop {
            let permit = self.permits.asking.take();
            let began = Instant::now();
            let reply = self.request_completion(developer, earlier.clone()).await?;
            // The permit is returned before the pause, which then applies to all workers.
            drop(permit);
            self.permits.add(|spent| &mut spent.models, began.elapsed());
            let retry_after = reply.trace.as_ref().and_then(|trace| trace.retry_after_ms);
            let Some(retry_after) = retry_after else {
                return Ok(reply);
            };
            let Some(wait) = waits.next_wait(retry_after) else {
                return Ok(reply);
            };
            self.listener.receive(&Event::ModelBusy {
                model: self.parameters.subject.name.clone(),
                hole: self.site.hole.id.clone(),
                seconds: wait.as_secs_f64(),
            });
            self.permits.asking.pause(wait);
        }
    }

    /// Opens the hole's file, requests a completion and accepts it.
    async fn request_completion(
        &self,
        developer: &mut Developer,
        earlier: Option<EarlierAttempt>,
    ) -> Result<CompletionReply, DeveloperError> {
        let HoleView { prefix, suffix, .. } = self.shown;
        let hole = self.site.hole;
        let cursor = ByteOffset(prefix.len());
        let given = self.parameters.subject.given(hole, self.shown, earlier);
        let cut = [prefix.as_str(), suffix].concat();
        let mut file = developer
            .open(&self.path(), language_id(hole), &cut)
            .await?;
        let reply = developer
            .request_completion(&file, cursor, self.parameters.request_timeout, given)
            .await?;
        // Without a candidate nothing is accepted, and the tests get the hole empty.
        if let Some(text) = reply.candidates.first() {
            developer.accept(&mut file, cursor, text).await?;
            if let Some(command) = reply
                .commands
                .first()
                .filter(|_| self.parameters.telemetry.is_some())
            {
                developer.run_command(command).await?;
            }
            // The tests get what the editor shows.
            check_contents(hole, &file.contents(), &[prefix.as_str(), text, suffix])?;
        }
        developer.close(file).await?;
        Ok(reply)
    }

    /// Types the reference under a policy.
    ///
    /// # Errors
    /// The model or the server fails.
    pub(super) async fn type_reference(
        &self,
        developer: &mut Developer,
        typing: &TypistSettings,
        policy: &Policy,
    ) -> Result<TypedReference, TypingFailure> {
        let (hole, subject) = (self.site.hole, self.parameters.subject);
        let HoleView { prefix, suffix, .. } = self.shown;
        let mut settings = self.settings();
        if typing.pace == Pace::Virtual {
            // The wait for the next key is counted and does not pass.
            settings.insert("typing".to_owned(), json!({"wait_ms": 0}));
        }
        configure(developer, settings).await?;
        let cut = [prefix.as_str(), suffix].concat();
        let file = developer
            .open(&self.path(), language_id(hole), &cut)
            .await?;
        let mut editor = ServerEditor {
            developer: &mut *developer,
            file,
            given: subject.given(hole, self.shown, None),
            configuration: String::new(),
            accept_commands: self.parameters.telemetry.is_some().then(Vec::new),
        };
        let text = HoleText {
            id: &hole.id,
            prefix,
            suffix,
            reference: &hole.reference,
            continuation: self.site.continuation(),
            wait_ms: subject.configuration.typing.wait_ms,
            timeout: self.parameters.request_timeout,
        };
        let permit = self.permits.asking.take();
        let began = Instant::now();
        let typed = type_hole(&mut editor, text, typing, policy).await;
        drop(permit);
        self.permits.add(|spent| &mut spent.models, began.elapsed());
        let session = typed?;
        let (file, configuration) = (editor.file, editor.configuration);
        let contents = file.contents();
        // The last completion may have gone on to what comes next.
        let beyond = contents
            .strip_prefix(&[prefix, hole.reference.as_str()].concat())
            .and_then(|rest| rest.strip_suffix(suffix.as_str()))
            .filter(|beyond| text.continuation.starts_with(beyond))
            .unwrap_or_default();
        check_contents(hole, &contents, &[prefix, &hole.reference, beyond, suffix])?;
        developer.close(file).await?;
        Ok(TypedReference {
            session,
            configuration,
        })
    }

    /// The hole's file.
    fn path(&self) -> PathBuf {
        self.workspace.join(&self.site.hole.path)
    }

    /// The server's settings at the hole that differ from the run's: the extent that the hole's
    /// benchmark asks for, unless the run's settings name one.
    fn settings(&self) -> Map<String, Value> {
        let chosen = self.parameters.subject.configuration.cleanup.extent;
        let extent = self.site.hole.extent;
        let extent = extent.filter(|_| chosen == CompletionExtent::default());
        extent
            .map(|extent| ("cleanup".to_owned(), json!({"extent": extent})))
            .into_iter()
            .collect()
    }
}

/// Returns the command that starts the language server of a run in this folder.
///
/// # Errors
/// The working folder is unknown.
pub(super) fn server_command(
    run: &Path,
    telemetry: Option<PathBuf>,
) -> Result<ServerCommand, PlayError> {
    let settings = std::path::absolute(run.join(SERVER_SETTINGS)).map_err(PlayError::file(run))?;
    Ok(ServerCommand {
        // This very program, even if its file was replaced since it started.
        program: PathBuf::from("/proc/self/exe"),
        arguments: vec!["serve".into(), "--config".into(), settings.into()],
        start_timeout: SERVER_START_TIMEOUT,
        telemetry,
        // Its workspace is a copy that is removed afterwards.
        keeps_index: false,
    })
}

/// Changes the server's settings, if there are any to change.
async fn configure(
    developer: &mut Developer,
    settings: Map<String, Value>,
) -> Result<(), DeveloperError> {
    if settings.is_empty() {
        return Ok(());
    }
    developer.configure(&Value::Object(settings)).await
}

/// The language's identifier in LSP.
fn language_id(hole: &Hole) -> &'static str {
    Language::for_path(Path::new(&hole.path)).map_or("", |language| language.id)
}

/// Compares what the editor shows with what it should show.
fn check_contents(hole: &Hole, shown: &str, expected: &[&str]) -> Result<(), DeveloperError> {
    if shown == expected.concat() {
        return Ok(());
    }
    Err(DeveloperError::Garbled(format!(
        "{}: the editor's text differs from what was inserted",
        hole.id
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_of_one_completion_end() {
        for (retry_after_ms, retries) in [
            (1_200_000.0, 3),
            (f64::INFINITY, 3),
            (-1.0, 3),
            (600_000.0, 3),
            (1000.0, 1800),
            (0.0, 18_000),
        ] {
            let mut waits = RetryWaits::default();
            let made = std::iter::from_fn(|| waits.next_wait(retry_after_ms));
            assert_eq!(made.count(), retries, "{retry_after_ms}");
        }
    }

    #[test]
    fn wait_is_that_of_the_server() {
        let mut waits = RetryWaits::default();
        assert_eq!(waits.next_wait(2500.0), Some(Duration::from_millis(2500)));
    }
}
