//! The client's progress bar while the repository is indexed.

use tower_lsp::Client;
use tower_lsp::lsp_types::notification::Progress;
use tower_lsp::lsp_types::request::WorkDoneProgressCreate;
use tower_lsp::lsp_types::{
    NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};

/// The client's progress bar for indexing, if it shows one.
pub(super) struct IndexingProgress<'a> {
    client: &'a Client,
    shown: bool,
}

impl<'a> IndexingProgress<'a> {
    pub(super) async fn begin(client: &'a Client, wanted: bool) -> Self {
        let create = WorkDoneProgressCreateParams { token: token() };
        let shown = wanted
            && client
                .send_request::<WorkDoneProgressCreate>(create)
                .await
                .is_ok();
        let bar = Self { client, shown };
        bar.send(WorkDoneProgress::Begin(WorkDoneProgressBegin {
            title: "Indexing".to_owned(),
            percentage: Some(0),
            ..WorkDoneProgressBegin::default()
        }))
        .await;
        bar
    }

    pub(super) async fn report(&self, done: usize, all: usize) {
        // One report per percent is enough for a progress bar.
        if all == 0 || !done.is_multiple_of((all / 100).max(1)) {
            return;
        }
        let percentage = u32::try_from(done * 100 / all).unwrap_or(100);
        self.send(WorkDoneProgress::Report(WorkDoneProgressReport {
            message: Some(format!("{done}/{all} files")),
            percentage: Some(percentage),
            ..WorkDoneProgressReport::default()
        }))
        .await;
    }

    pub(super) async fn end(self) {
        self.send(WorkDoneProgress::End(WorkDoneProgressEnd::default()))
            .await;
    }

    async fn send(&self, value: WorkDoneProgress) {
        if self.shown {
            let params = ProgressParams {
                token: token(),
                value: ProgressParamsValue::WorkDone(value),
            };
            self.client.send_notification::<Progress>(params).await;
        }
    }
}

fn token() -> NumberOrString {
    NumberOrString::String("fillrate/indexing".to_owned())
}
