//! Handling of Ctrl-C and of requests to terminate.

use tokio::signal::unix::{SignalKind, signal};

/// Calls a function on the first interrupt or termination signal and ends the program with status
/// 130.
pub(super) fn on_interrupt(report: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        // Without a handler, a signal ends the program as usual.
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
        else {
            return;
        };
        let signalled = runtime.block_on(async {
            let mut terminate = signal(SignalKind::terminate()).ok()?;
            tokio::select! {
                interrupted = tokio::signal::ctrl_c() => interrupted.ok(),
                terminated = terminate.recv() => terminated,
            }
        });
        if signalled.is_some() {
            report();
            // 128 + SIGINT, as a shell reports it.
            std::process::exit(130);
        }
    });
}
