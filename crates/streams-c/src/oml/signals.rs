//! INT, HUP, TERM and PIPE close the streams and end the program, as liboml2's handlers do (OML.md section 12).
//!
//! A handler may do next to nothing, so it wakes a thread, which closes and exits. liboml2 closes in the handler itself,
//! where locks may be held by what was interrupted.

use std::ffi::c_int;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

const SIGNALS: [c_int; 4] = [libc::SIGINT, libc::SIGHUP, libc::SIGTERM, libc::SIGPIPE];

/// Where the handler says which signal came.
static WRITE_END: AtomicI32 = AtomicI32::new(-1);
/// The process whose streams these are; a child by fork has the handler too, but nothing to close.
static PROCESS: AtomicI32 = AtomicI32::new(0);

extern "C" fn handle(signal: c_int) {
    // SAFETY: getpid, raise and write may be called in a handler; the errno of what was interrupted is put back.
    unsafe {
        let errno = *libc::__errno_location();
        if libc::getpid() == PROCESS.load(Ordering::Relaxed) {
            let number = signal as u8;
            libc::write(WRITE_END.load(Ordering::Relaxed), (&raw const number).cast(), 1);
        } else {
            libc::raise(signal); // the default action is back, by SA_RESETHAND
        }
        *libc::__errno_location() = errno;
    }
}

/// Installs the handlers, once for the process. What the program handles or ignores itself stays as it is; a second
/// signal of a kind has its default action, so that whoever is impatient can end the program at once.
///
/// # Errors
/// No pipe or thread to be had.
pub(super) fn install(close: extern "C" fn()) -> io::Result<()> {
    // SAFETY: getpid reads.
    let process = unsafe { libc::getpid() };
    if PROCESS.swap(process, Ordering::SeqCst) == process {
        return Ok(());
    }
    let [read_end, write_end] = pipe()?;
    WRITE_END.store(write_end, Ordering::SeqCst);
    std::thread::Builder::new().name("trialwise-signal".to_owned()).spawn(move || {
        let signal = wait(read_end);
        close();
        // SAFETY: runs what the program registered for its end, as its own call would.
        unsafe { libc::exit(-signal) }
    })?;
    SIGNALS.into_iter().for_each(handle_default);
    Ok(())
}

fn pipe() -> io::Result<[c_int; 2]> {
    let mut ends = [0; 2];
    // SAFETY: there is room for two.
    match unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } {
        0 => Ok(ends),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The next signal.
fn wait(read_end: c_int) -> c_int {
    let mut number = 0_u8;
    loop {
        // SAFETY: there is room for one byte.
        if unsafe { libc::read(read_end, (&raw mut number).cast(), 1) } == 1 {
            return number.into();
        }
    }
}

/// Handles a signal that has its default action.
fn handle_default(signal: c_int) {
    // SAFETY: an all-zero action is a valid one; both pointers live during the calls.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut action) != 0
            || action.sa_sigaction != libc::SIG_DFL
        {
            return;
        }
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}
