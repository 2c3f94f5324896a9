//! Strings that come from C.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};

/// The text at `pointer`; what is no UTF-8 is replaced. `None` for no pointer.
///
/// # Safety
/// `pointer` is null or leads to a NUL-terminated string that does not change while the text is used.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Option<Cow<'a, str>> {
    // SAFETY: as the caller promises.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy())
}

/// A word of the command line: what it says, and where it lies.
pub(crate) struct Argument {
    text: String,
    pointer: *const c_char,
}

impl AsRef<str> for Argument {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

/// Where the arguments begin: behind the program's own name, or at once where a plugin gives options alone.
///
/// # Safety
/// As for [`read_arguments`].
unsafe fn first(count: usize, argv: *const *const c_char) -> usize {
    if count == 0 {
        return 0;
    }
    // SAFETY: there is one, and the caller promises what it is.
    let named = unsafe { text(*argv) };
    usize::from(!named.is_some_and(|word| word.starts_with("--oml-")))
}

/// The arguments behind the program's own name.
///
/// # Safety
/// `argv` holds `count` pointers, each null or to a NUL-terminated string.
pub(crate) unsafe fn read_arguments(count: usize, argv: *const *const c_char) -> Vec<Argument> {
    // SAFETY: the caller's promise, passed on.
    let first = unsafe { first(count, argv) };
    let pointers = (first..count).map(|index| {
        // SAFETY: below `count`.
        unsafe { *argv.add(index) }
    });
    pointers
        .map_while(|pointer| {
            // SAFETY: as the caller promises.
            let text = unsafe { text(pointer) }?.into_owned();
            Some(Argument { text, pointer })
        })
        .collect()
}

/// Puts the arguments that are left behind the program's own name, and a null pointer behind them; returns their number,
/// the name counted.
///
/// # Safety
/// `argv` holds at least so many pointers as were read from it, and one for the name.
pub(crate) unsafe fn write_arguments(rest: &[Argument], before: usize, argv: *mut *const c_char) -> c_int {
    // SAFETY: nothing was written yet.
    let first = unsafe { first(before, argv) };
    for (index, argument) in rest.iter().enumerate() {
        // SAFETY: there are no more than were read.
        unsafe { *argv.add(first + index) = argument.pointer };
    }
    let count = first + rest.len();
    if count < before {
        // SAFETY: within what was there before.
        unsafe { *argv.add(count) = std::ptr::null() };
    }
    c_int::try_from(count).unwrap_or(c_int::MAX)
}
