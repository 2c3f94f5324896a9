//! What a setting names: something that ships, or else a file. What was read is kept for the rest of the process, by its content, as
//! settings of controllers are `Copy`.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

/// The content of the file that is named, where it has no more than `most` bytes.
///
/// # Errors
/// It cannot be read, or is longer. `shipped` is what might have been named instead.
pub(crate) fn read(path: &str, most: u64, shipped: &[&str]) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let unread = |error: std::io::Error| {
        let shipped = shipped.join(", ");
        format!("cannot be read: {error}; give a file, or the name of what ships: {shipped}")
    };
    let file = File::open(path).map_err(unread)?;
    let length = file.take(most + 1).read_to_end(&mut content).map_err(unread)?;
    if length as u64 > most { Err(format!("is longer than {} MiB", most >> 20)) } else { Ok(content) }
}

/// What was made of contents; never freed.
pub(crate) struct Kept<T: 'static>(Mutex<Option<HashMap<Vec<u8>, &'static T>>>);

impl<T> Kept<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// What was made of this content before, or is made now.
    pub(crate) fn get<E>(
        &self,
        content: &[u8],
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&'static T, E> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if let Some(found) = known.get(content) {
            return Ok(found);
        }
        let made = Box::leak(Box::new(make()?));
        known.insert(content.to_owned(), made);
        Ok(made)
    }
}
