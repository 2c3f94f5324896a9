//! The log of `ocomm/o_log.h`: written in C (shim/log.c), for the sake of `o_log`'s arguments, and exported from here.

use std::ffi::{CString, c_char, c_int};

pub(crate) const ERROR: c_int = -2;
pub(crate) const WARN: c_int = -1;
pub(crate) const INFO: c_int = 0;

/// A program's own log.
pub(crate) type LogFunction = Option<unsafe extern "C" fn(c_int, *const c_char, ...)>;

unsafe extern "C" {
    fn trialwise_o_log(level: c_int, format: *const c_char, ...);
    fn trialwise_log_level_active(level: c_int) -> c_int;
    fn trialwise_set_log_level(level: c_int);
    fn trialwise_set_log_file(name: *const c_char) -> c_int;
    fn trialwise_set_log(function: LogFunction) -> LogFunction;
}

/// Logs a message of the library's own.
pub(crate) fn log(level: c_int, message: &str) {
    let Ok(message) = CString::new(message.replace('\0', "?")) else { return };
    // SAFETY: the format takes one string, which lives until the call returns.
    unsafe { trialwise_o_log(level, c"%s".as_ptr(), message.as_ptr()) };
}

/// `o_log` of a variable number of arguments: a jump leaves them where the caller put them.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn o_log() {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!("jmp {}", sym trialwise_o_log);
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!("b {}", sym trialwise_o_log);
    #[cfg(target_arch = "riscv64")]
    core::arch::naked_asm!("tail {}", sym trialwise_o_log);
}

/// See `ocomm/o_log.h`.
#[unsafe(no_mangle)]
extern "C" fn o_log_level_active(level: c_int) -> c_int {
    // SAFETY: reads an atomic.
    unsafe { trialwise_log_level_active(level) }
}

/// See `ocomm/o_log.h`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn o_set_log_level(level: c_int) {
    // SAFETY: writes an atomic.
    unsafe { trialwise_set_log_level(level) }
}

/// See `ocomm/o_log.h`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn o_set_log_file(name: *const c_char) -> c_int {
    // SAFETY: the caller gives a string or null.
    unsafe { trialwise_set_log_file(name) }
}

/// See `ocomm/o_log.h`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn o_set_log(function: LogFunction) -> LogFunction {
    // SAFETY: the caller gives a function of this type or null.
    unsafe { trialwise_set_log(function) }
}
