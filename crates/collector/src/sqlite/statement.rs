//! A prepared statement that is executed once for each row, with nothing between it and SQLite.

use std::ffi::c_int;
use std::ptr::NonNull;

use rusqlite::{Connection, Error, ffi};

/// A prepared statement.
#[derive(Debug)]
pub(super) struct Statement {
    raw: NonNull<ffi::sqlite3_stmt>,
    connection: NonNull<ffi::sqlite3>,
    /// The first error of a bind since the last execution.
    bound: c_int,
}

// SAFETY: SQLite's statements are not tied to a thread; `&mut self` keeps two threads from using one at a time.
unsafe impl Send for Statement {}

impl Statement {
    /// Prepares `sql`.
    ///
    /// # Safety
    /// The statement must be dropped before `connection` is.
    pub(super) unsafe fn prepare(connection: &Connection, sql: &str) -> Result<Self, Error> {
        let mut raw = std::ptr::null_mut();
        let length = c_int::try_from(sql.len()).map_err(|_| Error::InvalidParameterCount(sql.len(), 0))?;
        // SAFETY: the handle is open while `connection` is borrowed; `sql` has `length` bytes; `raw` may be written.
        let (handle, code) = unsafe {
            let handle = connection.handle();
            let text = sql.as_ptr().cast();
            let flags = ffi::SQLITE_PREPARE_PERSISTENT;
            (handle, ffi::sqlite3_prepare_v3(handle, text, length, flags, &raw mut raw, std::ptr::null_mut()))
        };
        let connection = NonNull::new(handle).ok_or(Error::InvalidQuery)?;
        if code != ffi::SQLITE_OK {
            return Err(error_of(connection, code));
        }
        Ok(Self { raw: NonNull::new(raw).ok_or(Error::InvalidQuery)?, connection, bound: ffi::SQLITE_OK })
    }

    fn note(&mut self, code: c_int) {
        if code != ffi::SQLITE_OK {
            self.bound = code;
        }
    }

    /// Binds an integer to parameter `index`, from 1.
    pub(super) fn bind_integer(&mut self, index: c_int, value: i64) {
        // SAFETY: the statement is prepared and not running; SQLite checks the index.
        self.note(unsafe { ffi::sqlite3_bind_int64(self.raw.as_ptr(), index, value) });
    }

    /// Binds a number; NaN becomes NULL.
    pub(super) fn bind_double(&mut self, index: c_int, value: f64) {
        // SAFETY: as in `bind_integer`.
        self.note(unsafe { ffi::sqlite3_bind_double(self.raw.as_ptr(), index, value) });
    }

    /// Binds NULL.
    pub(super) fn bind_null(&mut self, index: c_int) {
        // SAFETY: as in `bind_integer`.
        self.note(unsafe { ffi::sqlite3_bind_null(self.raw.as_ptr(), index) });
    }

    /// Binds a text, by custom UTF-8; SQLite copies it.
    pub(super) fn bind_text(&mut self, index: c_int, text: &[u8]) {
        let (start, length) = (text.as_ptr().cast(), text.len() as u64);
        let (copy, utf8) = (ffi::SQLITE_TRANSIENT(), ffi::SQLITE_UTF8 as u8);
        // SAFETY: as in `bind_integer`; `text` is read during the call only.
        self.note(unsafe { ffi::sqlite3_bind_text64(self.raw.as_ptr(), index, start, length, copy, utf8) });
    }

    /// Binds bytes; SQLite copies them.
    pub(super) fn bind_blob(&mut self, index: c_int, bytes: &[u8]) {
        let (start, length) = (bytes.as_ptr().cast(), bytes.len() as u64);
        // SAFETY: as in `bind_text`.
        self.note(unsafe {
            ffi::sqlite3_bind_blob64(self.raw.as_ptr(), index, start, length, ffi::SQLITE_TRANSIENT())
        });
    }

    /// Executes with what is bound; whether there was a row.
    pub(super) fn execute(&mut self) -> Result<bool, Error> {
        let bound = std::mem::replace(&mut self.bound, ffi::SQLITE_OK);
        if bound != ffi::SQLITE_OK {
            return Err(error_of(self.connection, bound));
        }
        // SAFETY: the statement is prepared, on a connection that outlives it.
        let (code, error) = unsafe {
            let code = ffi::sqlite3_step(self.raw.as_ptr());
            let failed = code != ffi::SQLITE_DONE && code != ffi::SQLITE_ROW;
            let error = failed.then(|| error_of(self.connection, code));
            ffi::sqlite3_reset(self.raw.as_ptr());
            (code, error)
        };
        error.map_or(Ok(code == ffi::SQLITE_ROW), Err)
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: prepared once, finalized once, while the connection is open.
        unsafe { ffi::sqlite3_finalize(self.raw.as_ptr()) };
    }
}

/// What SQLite says of its last error.
fn error_of(connection: NonNull<ffi::sqlite3>, code: c_int) -> Error {
    // SAFETY: the connection is open; the message is copied before anything else is asked of it.
    let message = unsafe { std::ffi::CStr::from_ptr(ffi::sqlite3_errmsg(connection.as_ptr())) };
    Error::SqliteFailure(ffi::Error::new(code), Some(message.to_string_lossy().into_owned()))
}
