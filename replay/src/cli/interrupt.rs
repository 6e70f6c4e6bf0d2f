//! What happens on Ctrl-C.

/// Calls a function on the first interrupt signal and ends the program with status 130.
pub(super) fn on_interrupt(report: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
        else {
            return;
        };
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            report();
            // 128 + SIGINT, as a shell reports it.
            std::process::exit(130);
        }
    });
}
