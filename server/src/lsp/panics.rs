//! Reports panics to the client.
//!
//! A panic anywhere in the process is logged with its location, and the user sees a message once.
//! The handler that panicked, or that awaits a task that panicked, responds with an internal error
//! (see [`service`](super::service)). The server continues.

use std::panic::PanicHookInfo;

use tokio::sync::mpsc;
use tower_lsp::Client;
use tower_lsp::lsp_types::MessageType;

/// Reports every panic of the process from now on to this client.
pub(super) fn report_to(client: Client) {
    let (sender, mut panics) = mpsc::unbounded_channel();
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // The default hook writes to standard error, which editors keep as the server's log.
        previous(info);
        let _ = sender.send(describe(info));
    }));
    tokio::spawn(async move {
        let mut shown = false;
        while let Some(panic) = panics.recv().await {
            let message = format!("fillrate: internal error: {panic}");
            client.log_message(MessageType::ERROR, &message).await;
            if !shown {
                shown = true;
                let message = format!(
                    "{message}. Some completions may be missing. The server's log has the \
                     details; please report them."
                );
                client.show_message(MessageType::ERROR, message).await;
            }
        }
    });
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("panic without a message");
    match info.location() {
        Some(location) => format!("{message} ({location})"),
        None => message.to_owned(),
    }
}
