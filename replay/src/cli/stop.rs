//! What a person is told who stops a command by Ctrl-C.

use std::sync::{Mutex, Once, PoisonError};

/// What is said from now on; a later call takes the place of an earlier one.
pub(super) fn tell_when_stopped(what: String) {
    static WHAT: Mutex<String> = Mutex::new(String::new());
    static WATCH: Once = Once::new();
    *WHAT.lock().unwrap_or_else(PoisonError::into_inner) = what;
    WATCH.call_once(|| {
        std::thread::spawn(|| {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
            else {
                return;
            };
            if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                let what = WHAT.lock().unwrap_or_else(PoisonError::into_inner);
                eprintln!("\nfillrate: stopped; {what}");
                // 128 + SIGINT, as a shell reports it.
                std::process::exit(130);
            }
        });
    });
}
