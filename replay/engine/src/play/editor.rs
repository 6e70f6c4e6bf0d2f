//! The editor that a simulated developer types into: an open file of a language server.

use std::ops::Range;
use std::time::Duration;

use fillrate_server::completion::CompletionOrigin;
use fillrate_server::context::GivenContext;
use fillrate_syntax::text::ByteOffset;
use lsp_types::Command;
use serde_json::{Value, json};

use crate::developer::typing::{EditorReply, RequestResult, TypingEditor, TypingRequest};
use crate::developer::{Developer, DeveloperError, OpenFile};

/// An open file and the server that sees its edits.
pub(super) struct ServerEditor<'a> {
    pub(super) developer: &'a mut Developer,
    pub(super) file: OpenFile,
    /// Context for the server that an editor does not send.
    pub(super) given: Option<GivenContext>,
    /// The fingerprint of the settings, once a completion was requested.
    pub(super) configuration: String,
    /// The commands that report an accept, by request and candidate; `None` disables telemetry.
    pub(super) accept_commands: Option<Vec<Vec<Command>>>,
}

/// Reason for which typing stops early.
pub(super) enum TypingFailure {
    /// The model failed: an infrastructure failure.
    Model(String),
    /// The session with the server failed.
    Session(DeveloperError),
}

impl From<DeveloperError> for TypingFailure {
    fn from(error: DeveloperError) -> Self {
        Self::Session(error)
    }
}

impl TypingEditor for ServerEditor<'_> {
    type Error = TypingFailure;

    async fn ask(
        &mut self,
        cursor: usize,
        timeout: Duration,
    ) -> Result<EditorReply, TypingFailure> {
        let asked = self.developer.request_while_typing(
            &self.file,
            ByteOffset(cursor),
            timeout,
            self.given.clone(),
        );
        let reply = asked.await?;
        // Unanswered requests push, too: the index of the commands is that of the request.
        if let Some(commands) = &mut self.accept_commands {
            commands.push(reply.commands);
        }
        if !reply.answered {
            return Ok(EditorReply::default());
        }
        if let Some(fault) = reply.trace.as_ref().and_then(|trace| trace.fault.clone()) {
            return Err(TypingFailure::Model(fault));
        }
        if let Some(trace) = &reply.trace {
            self.configuration.clone_from(&trace.configuration);
        }
        // A cached or typed-through completion has no time of the model.
        let asked_model = reply
            .trace
            .filter(|trace| trace.source == CompletionOrigin::Model);
        Ok(EditorReply {
            candidates: reply.candidates,
            latency_ms: Some(reply.latency.as_secs_f64() * 1000.0),
            model_ms: asked_model.map(|trace| trace.model_ms),
        })
    }

    async fn edit(&mut self, range: Range<usize>, text: &str) -> Result<(), TypingFailure> {
        let range = ByteOffset(range.start)..ByteOffset(range.end);
        let edited = self.developer.edit(&mut self.file, range, text);
        edited.await.map_err(TypingFailure::Session)
    }

    async fn report_shown(&mut self, request: usize, ms: f64) -> Result<(), TypingFailure> {
        let commands = self
            .accept_commands
            .as_ref()
            .and_then(|commands| commands.get(request));
        let first = commands.and_then(|commands| commands.first());
        let Some(Value::Object(mut event)) =
            first.and_then(|command| command.arguments.as_ref()?.first().cloned())
        else {
            return Ok(());
        };
        event.insert("event".to_owned(), json!("shown"));
        event.insert("certainty".to_owned(), json!("confirmed"));
        event.insert("shownMs".to_owned(), json!(ms));
        let sent = self.developer.send_event(Value::Object(event));
        sent.await.map_err(TypingFailure::Session)
    }

    async fn report_accepted(
        &mut self,
        request: usize,
        candidate: usize,
    ) -> Result<(), TypingFailure> {
        let commands = self
            .accept_commands
            .as_ref()
            .and_then(|commands| commands.get(request));
        if let Some(command) = commands.and_then(|commands| commands.get(candidate)) {
            let run = self.developer.run_command(command);
            run.await?;
        }
        Ok(())
    }

    async fn sleep(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// The indices of a session's requests whose completions are judged: those accepted, and the first
/// one shown before anything was typed.
pub(super) fn requests_to_judge(requests: &[TypingRequest]) -> Vec<usize> {
    let opening = requests
        .iter()
        .position(|request| request.written == 0 && request.result == RequestResult::Shown);
    (0..requests.len())
        .filter(|index| requests[*index].accepted.is_some() || Some(*index) == opening)
        .collect()
}
