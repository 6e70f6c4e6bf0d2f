//! Handling of Ctrl-C and of requests to terminate.

use tokio::signal::unix::{SignalKind, signal};

/// Calls a function on the first interrupt or termination signal and ends the program with the
/// status that a shell reports for it, 130 or 143.
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
                interrupted = tokio::signal::ctrl_c() => interrupted.ok().map(|()| SignalKind::interrupt()),
                terminated = terminate.recv() => terminated.map(|()| SignalKind::terminate()),
            }
        });
        if let Some(signal) = signalled {
            report();
            std::process::exit(128 + signal.as_raw_value());
        }
    });
}
