//! Routes messages to their handlers.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CompletionParams, CompletionResponse, DidChangeConfigurationParams,
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    ExecuteCommandParams, InitializeParams, InitializeResult, InitializedParams,
};
use tower_lsp::{LanguageServer, LspService, LspServiceBuilder};

use super::lifecycle;
use super::notifications::event::{EVENT, EventParams};
use super::notifications::notebook::{
    DidChangeNotebookParams, DidCloseNotebookParams, DidOpenNotebookParams,
};
use super::notifications::{
    did_change, did_change_configuration, did_change_watched_files, did_change_workspace_folders,
    did_close, did_open, event, notebook,
};
use super::options::ServerOptions;
use super::requests::explain::{EXPLAIN, ExplainParams, Explanation};
use super::requests::inline_completion::{
    InlineCompletionList, InlineCompletionParams, METHOD as INLINE_COMPLETION,
};
use super::requests::models::{MODELS, ModelList};
use super::requests::new_session::{NEW_SESSION, NewSessionParams};
use super::requests::purge::{PURGE, PurgeParams, PurgeResult};
use super::requests::retrieve::{RETRIEVE, RetrieveParams};
use super::requests::{
    completion, execute_command, explain, inline_completion, models, new_session, purge, retrieve,
};
use super::session::EditorSession;
use crate::completion::RetrievedWindows;

/// The session as tower-lsp's backend.
pub(super) struct Backend(Arc<EditorSession>);

/// Creates a service for one client, to which methods may be added.
pub(super) fn build(options: ServerOptions) -> LspServiceBuilder<Backend> {
    LspService::build(|client| Backend(Arc::new(EditorSession::new(client, options))))
        .custom_method(INLINE_COMPLETION, Backend::inline_completion)
        .custom_method(EXPLAIN, Backend::explain)
        .custom_method(RETRIEVE, Backend::retrieve)
        .custom_method(MODELS, Backend::models)
        .custom_method(EVENT, Backend::event)
        .custom_method(PURGE, Backend::purge)
        .custom_method(NEW_SESSION, Backend::new_session)
        .custom_method(notebook::DID_OPEN, Backend::notebook_opened)
        .custom_method(notebook::DID_CHANGE, Backend::notebook_changed)
        .custom_method(notebook::DID_SAVE, Backend::notebook_saved)
        .custom_method(notebook::DID_CLOSE, Backend::notebook_closed)
}

impl Backend {
    pub(super) fn session(&self) -> &Arc<EditorSession> {
        &self.0
    }
}

/// Requests and notifications that the protocol, or lsp-types' version of it, does not have.
impl Backend {
    async fn inline_completion(
        &self,
        params: InlineCompletionParams,
    ) -> Result<Option<InlineCompletionList>> {
        Ok(inline_completion::handle(&self.0, params).await)
    }

    async fn explain(&self, params: ExplainParams) -> Result<Option<Explanation>> {
        explain::handle(&self.0, params).await
    }

    async fn retrieve(&self, params: RetrieveParams) -> Result<Option<RetrievedWindows>> {
        Ok(retrieve::handle(&self.0, params).await)
    }

    async fn models(&self, _: Value) -> Result<ModelList> {
        models::handle(&self.0)
    }

    async fn event(&self, params: EventParams) {
        event::handle(&self.0, &params);
    }

    async fn notebook_opened(&self, params: DidOpenNotebookParams) {
        notebook::handle_open(&self.0, params);
    }

    async fn notebook_changed(&self, params: DidChangeNotebookParams) {
        notebook::handle_change(&self.0, params);
    }

    async fn notebook_saved(&self, _: Value) {
        // The open cells already count.
    }

    async fn notebook_closed(&self, params: DidCloseNotebookParams) {
        notebook::handle_close(&self.0, params);
    }

    async fn purge(&self, _: PurgeParams) -> Result<PurgeResult> {
        purge::handle(&self.0).await
    }

    async fn new_session(&self, _: NewSessionParams) -> Result<()> {
        new_session::handle(&self.0).await
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        lifecycle::initialize(&self.0, params)
    }

    async fn initialized(&self, _: InitializedParams) {
        lifecycle::initialized(&self.0);
    }

    async fn shutdown(&self) -> Result<()> {
        lifecycle::shutdown(&self.0).await;
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        did_open::handle(&self.0, params);
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        did_change::handle(&self.0, params);
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        did_close::handle(&self.0, &params);
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        // The open document already counts as the file, except for settings: not every client watches
        // files.
        let saved = [params.text_document.uri.as_str()];
        did_change_watched_files::reload_settings(&self.0, saved.into_iter()).await;
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        did_change_watched_files::handle(&self.0, &params).await;
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        did_change_workspace_folders::handle(&self.0, &params).await;
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        did_change_configuration::handle(&self.0, params).await;
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        Ok(completion::handle(&self.0, params).await)
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        execute_command::handle(&self.0, params).await
    }
}
