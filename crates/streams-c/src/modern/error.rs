//! `tw_error`, and what the last one had to say.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

use streams::client::{ClientError, InjectError};

/// `tw_error`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TwError {
    Ok = 0,
    Argument = 1,
    Configuration = 2,
    Declaration = 3,
    State = 4,
    Values = 5,
    Full = 6,
    TooLong = 7,
    Closed = 8,
    Lost = 9,
    System = 10,
    Asked = 11,
}

/// A call's outcome before C sees it: an error, and what there is to say of it.
pub(super) type Outcome = Result<(), (TwError, String)>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

const TEXTS: [&CStr; 12] = [
    c"no error",
    c"an argument is NULL, or a name or type that is none",
    c"an option, a file or a destination cannot be used",
    c"the measurement point cannot be declared",
    c"the session is started already, or closed",
    c"the values do not have the number and types of the point's fields",
    c"the buffer of this thread is full: inject less, filter more, or give a larger buffer",
    c"the sample is larger than the buffer of a thread",
    c"the session is closed",
    c"something was lost: see the counters",
    c"the system gives no thread or memory",
    c"help was asked for",
];

impl From<InjectError> for TwError {
    fn from(error: InjectError) -> Self {
        match error {
            InjectError::Full => Self::Full,
            InjectError::TooLong => Self::TooLong,
            InjectError::Values => Self::Values,
            InjectError::Closed => Self::Closed,
        }
    }
}

/// An error of the client, with what it says.
pub(super) fn of_client(error: &ClientError) -> (TwError, String) {
    let kind = match error {
        ClientError::App(_) | ClientError::Key(_) | ClientError::Field(..) => TwError::Argument,
        ClientError::Domain(_) => TwError::Configuration,
        ClientError::Inject(error) => (*error).into(),
        ClientError::Started => TwError::State,
        ClientError::Thread(_) => TwError::System,
        ClientError::Declare(_) => TwError::Declaration,
    };
    (kind, error.to_string())
}

/// An argument that is none.
pub(super) fn argument(message: &str) -> (TwError, String) {
    (TwError::Argument, message.to_owned())
}

/// Keeps what there is to say for `tw_last_error`.
pub(super) fn tell(outcome: Outcome) -> TwError {
    let Err((error, message)) = outcome else { return TwError::Ok };
    let message = CString::new(message.replace('\0', "?")).unwrap_or_default();
    let _ = LAST.try_with(|last| last.replace(message));
    error
}

/// See `trialwise/streams.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_error_text(error: c_int) -> *const c_char {
    let text = usize::try_from(error).ok().and_then(|number| TEXTS.get(number));
    text.map_or(c"an error that this library does not know", |text| *text).as_ptr()
}

/// See `trialwise/streams.h`.
#[unsafe(no_mangle)]
extern "C" fn tw_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
