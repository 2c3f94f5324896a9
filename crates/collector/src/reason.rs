//! Why the system, a database or a file format refused something, in words.

use std::error::Error;
use std::io;

/// As in Python's `trialwise.errors`.
const DISK_IS_FULL: &str = "the disk is full";

/// What an error and its causes say; where one of them is that a disk is full, that alone, in words that everybody knows.
pub(crate) fn reason(error: &(dyn Error + 'static)) -> String {
    let causes = || std::iter::successors(Some(error), |cause: &&(dyn Error + 'static)| (*cause).source());
    if causes().any(is_full) {
        return DISK_IS_FULL.to_owned();
    }
    causes().map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Whether there is no room, on the disk or for this user.
pub(crate) fn is_full(error: &(dyn Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            || error.get_ref().is_some_and(|inner| is_full(inner));
    }
    let database = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    database == Some(rusqlite::ErrorCode::DiskFull)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_whoever_says_it() {
        let system = io::Error::from_raw_os_error(libc::ENOSPC);
        assert_eq!(reason(&system), DISK_IS_FULL);
        assert_eq!(reason(&io::Error::other(io::Error::from_raw_os_error(libc::EDQUOT))), DISK_IS_FULL);
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
        assert_eq!(reason(&rusqlite::Error::SqliteFailure(code, None)), DISK_IS_FULL);
        assert!(reason(&io::Error::from_raw_os_error(libc::EIO)).contains("os error 5"));
    }
}
