//! SIGTERM and SIGINT ask a program to end.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// While this lives, the signals are noted; afterwards they do what they did before.
pub(crate) struct Signals {
    previous: [(libc::c_int, libc::sigaction); 2],
}

extern "C" fn note(_: libc::c_int) {
    IS_ASKED.store(true, Ordering::Relaxed);
}

impl Signals {
    /// Begins to note them.
    pub(crate) fn note() -> Self {
        IS_ASKED.store(false, Ordering::Relaxed);
        Self { previous: [libc::SIGTERM, libc::SIGINT].map(|signal| (signal, replace(signal))) }
    }

    /// Whether one came.
    pub(crate) fn is_asked(&self) -> bool {
        IS_ASKED.load(Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, previous) in &self.previous {
            // SAFETY: what the kernel gave when it was replaced.
            unsafe { libc::sigaction(*signal, previous, std::ptr::null_mut()) };
        }
    }
}

fn replace(signal: libc::c_int) -> libc::sigaction {
    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zero bytes are a valid sigaction, with an empty mask and no flags, so that waiting is interrupted.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler only stores an atomic; both structures are valid, and `previous` was zero before.
    unsafe {
        libc::sigaction(signal, &raw const action, previous.as_mut_ptr());
        previous.assume_init()
    }
}
