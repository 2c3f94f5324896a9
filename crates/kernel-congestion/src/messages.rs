//! What libbpf says while it works, which it would print to standard error.

use std::sync::{Mutex, PoisonError};

use libbpf_rs::{PrintLevel, set_print};

/// Enough for the reason; the verifier can say very much more.
const LIMIT: usize = 4000;

/// libbpf takes one plain function for the whole process, so that what it says can only go to a place of the whole process.
static MESSAGES: Mutex<String> = Mutex::new(String::new());
/// One use of libbpf at a time, so that messages belong to it.
static USE: Mutex<()> = Mutex::new(());

/// Runs `action`; where it fails, gives what libbpf said beside the error.
pub(crate) fn collect<T, E>(action: impl FnOnce() -> Result<T, E>) -> Result<T, (E, String)> {
    let _use = USE.lock().unwrap_or_else(PoisonError::into_inner);
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let previous = set_print(Some((PrintLevel::Warn, keep)));
    let result = action();
    set_print(previous);
    result.map_err(|error| {
        (error, MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).trim_end().to_owned())
    })
}

#[expect(clippy::needless_pass_by_value, reason = "the form that libbpf-rs asks for")]
fn keep(_: PrintLevel, message: String) {
    let mut messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let room = LIMIT.saturating_sub(messages.len());
    messages.extend(message.chars().take(room));
}
