//! Finding a program as `execvp(3)` does, in the child's `PATH` and from the child's directory.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use crate::{Command, Error};

/// What `execvp(3)` uses when there is no `PATH`: `confstr(_CS_PATH)`.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// The path of the program of `command`; a relative one counts from `directory`.
///
/// # Errors
/// `Empty`, `ZeroByte`, `NoSuchProgram` or `NotExecutable`.
pub(crate) fn find(command: &Command, directory: &OwnedFd) -> Result<CString, Error> {
    let program = command.arguments.first().ok_or(Error::Empty)?;
    if program.as_bytes().contains(&0) {
        return Err(Error::ZeroByte { part: "argument", text: program.clone() });
    }
    if program.as_bytes().contains(&b'/') {
        return candidate(b"", program, directory).map_err(|source| {
            let from = command.working_directory.display();
            refusal(program, source, &format!("(from the working directory {from})"))
        });
    }
    let path =
        command.environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_bytes());
    let path = path.unwrap_or(DEFAULT_PATH);
    let mut refused = io::Error::from_raw_os_error(libc::ENOENT);
    for folder in path.split(|byte| *byte == b':') {
        match candidate(folder, program, directory) {
            Ok(found) => return Ok(found),
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => refused = error,
            Err(_) => {}
        }
    }
    Err(refusal(program, refused, &format!("in PATH {:?}", OsStr::from_bytes(path))))
}

/// `folder/program` when it is a file that may be executed.
fn candidate(folder: &[u8], program: &OsStr, directory: &OwnedFd) -> io::Result<CString> {
    if program.is_empty() {
        return Err(io::Error::from_raw_os_error(libc::ENOENT));
    }
    let mut path = folder.to_vec();
    if !folder.is_empty() && !folder.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(program.as_bytes());
    let path = CString::new(path)?;
    check(&path, directory).map(|()| path)
}

fn check(path: &CString, directory: &OwnedFd) -> io::Result<()> {
    // SAFETY: all-zero is a valid `stat`, which the call fills.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends in a zero byte and `status` is ours.
    if unsafe { libc::fstatat(directory.as_raw_fd(), path.as_ptr(), &raw mut status, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if status.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Err(io::Error::from_raw_os_error(libc::EACCES));
    }
    // SAFETY: the path ends in a zero byte.
    if unsafe { libc::faccessat(directory.as_raw_fd(), path.as_ptr(), libc::X_OK, libc::AT_EACCESS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn refusal(program: &OsStr, source: io::Error, place: &str) -> Error {
    match source.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => {
            Error::NoSuchProgram { program: program.to_owned(), place: place.to_owned() }
        }
        _ => Error::NotExecutable { program: program.to_owned(), source },
    }
}
