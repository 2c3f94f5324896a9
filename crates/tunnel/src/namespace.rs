//! A network namespace that hangs on this process, and how programs get into it.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::error::Error;

const SETTINGS: &str = "/proc/sys/net/ipv4";

/// Moves this process, which has one thread, into a network namespace of its own: in a user namespace of its own where that takes
/// one. TCP is set there as it is here.
pub(crate) fn unshare() -> Result<(), Error> {
    let settings = settings_of_tcp();
    let [user, group] = [number(libc::geteuid), number(libc::getegid)];
    if let Err(refused) = call(libc::CLONE_NEWNET) {
        call(libc::CLONE_NEWUSER | libc::CLONE_NEWNET).map_err(|_| Error::Namespace(refused))?;
        let written = fs::write("/proc/self/setgroups", "deny")
            .and_then(|()| fs::write("/proc/self/uid_map", format!("{user} {user} 1")))
            .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1")));
        written.map_err(|source| Error::System("the user's number in a namespace", source))?;
    }
    for (path, value) in settings {
        // What is the same, or belongs to the whole machine, cannot or need not be written.
        if fs::read_to_string(&path).is_ok_and(|there| there != value) {
            let _ = fs::write(&path, value);
        }
    }
    Ok(())
}

fn call(flags: i32) -> io::Result<()> {
    // SAFETY: changes namespaces of this process.
    match unsafe { libc::unshare(flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn number(id: unsafe extern "C" fn() -> u32) -> u32 {
    // SAFETY: such a call gives a number, and never fails.
    unsafe { id() }
}

fn settings_of_tcp() -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(SETTINGS).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("tcp_"))
        .filter_map(|entry| Some((entry.path(), fs::read_to_string(entry.path()).ok()?)))
        .collect()
}

/// Number of this process as /proc has it: that may be of a namespace further out.
pub(crate) fn own_number() -> Result<u32, Error> {
    let link = fs::read_link("/proc/self").map_err(|source| Error::System("/proc/self", source))?;
    let number = link.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Error::System("/proc/self", io::ErrorKind::InvalidData.into()))
}

/// Becomes the program of the words, in the network namespace of a process: that of a tunnel of this user.
///
/// # Errors
/// There is no such process, it is not this user's, or the program cannot be started.
pub fn enter(process: u32, words: &[String]) -> Result<std::convert::Infallible, Error> {
    let refused = |source| Error::Enter(process, source);
    let open = |kind: &str| File::open(format!("/proc/{process}/ns/{kind}")).map_err(refused);
    let (users, network) = (open("user")?, open("net")?);
    let own = fs::metadata("/proc/self/ns/user").map_err(refused)?;
    let is_same = users.metadata().is_ok_and(|theirs| same(&theirs, &own));
    if !is_same {
        set(&users, libc::CLONE_NEWUSER).map_err(refused)?;
    }
    set(&network, libc::CLONE_NEWNET).map_err(refused)?;
    let [name, arguments @ ..] = words else { return Err(refused(io::ErrorKind::InvalidInput.into())) };
    Err(refused(Command::new(name).args(arguments).exec()))
}

fn same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn set(namespace: &File, kind: i32) -> io::Result<()> {
    // SAFETY: changes a namespace of this process.
    match unsafe { libc::setns(namespace.as_raw_fd(), kind) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
