//! llama.cpp itself: started once, never stopped, its log in `tracing`.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::{LogOptions, send_logs_to_tracing};

/// The running library.
pub(crate) fn backend() -> &'static LlamaBackend {
    static BACKEND: OnceLock<LlamaBackend> = OnceLock::new();
    BACKEND.get_or_init(|| {
        send_logs_to_tracing(LogOptions::default());
        // It fails only where the program has started it before us. The type then is the proof of that, and since a
        // static is never dropped, ours does not stop what the program started.
        LlamaBackend::init().unwrap_or(LlamaBackend {})
    })
}

/// Held while a context is made: llama.cpp changes the model then, without a lock of its own.
pub(crate) fn context_lock() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}
