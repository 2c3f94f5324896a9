//! What is known of forwarding while it runs, and how it is told to wait.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{ForwardStatus, Trouble};
use crate::clock::now_micros;

/// Shared by the forwarder and those who watch it.
#[derive(Debug)]
pub(crate) struct Forwarding {
    state: Mutex<ForwardStatus>,
    /// Is there while the forwarder is to wait, also over restarts.
    mark: PathBuf,
}

impl Forwarding {
    /// `mark` is a file to remember a pause by.
    pub(crate) fn new(to: String, mark: PathBuf) -> Self {
        let paused = mark.exists();
        Self { state: Mutex::new(ForwardStatus { to, paused, ..ForwardStatus::default() }), mark }
    }

    /// Tells the forwarder to wait, or to go on.
    pub(crate) fn pause(&self, pause: bool) -> io::Result<()> {
        match pause {
            true => fs::write(&self.mark, "")?,
            false => match fs::remove_file(&self.mark) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            },
        }
        self.change(|state| state.paused = pause);
        Ok(())
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.lock().paused
    }

    pub(crate) fn status(&self) -> ForwardStatus {
        self.lock().clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut ForwardStatus)) {
        change(&mut self.lock());
    }

    /// Notes why a connection was lost or not made.
    pub(crate) fn fail(&self, error: &impl ToString) {
        let trouble = Trouble { time: now_micros() as f64 / 1e6, text: error.to_string() };
        self.change(|state| state.last_error = Some(trouble));
    }

    fn lock(&self) -> MutexGuard<'_, ForwardStatus> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
