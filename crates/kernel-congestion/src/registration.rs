//! Giving a program to the kernel, and holding on to one that is there.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use libbpf_rs::libbpf_sys::{bpf_link_get_fd_by_id, bpf_link_get_next_id};
use libbpf_rs::query::{LinkInfo, LinkTypeInfo};
use libbpf_rs::{Error, ErrorKind, MapCore, MapHandle, MapType, Object, ObjectBuilder};

use crate::{Algorithm, Reason, messages, permission};

/// A name is free again some milliseconds after its last holder died.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// A link to the registration: the kernel forgets the name when the last descriptor of the link is closed.
#[derive(Debug)]
pub(crate) struct Registration {
    link: OwnedFd,
}

impl Registration {
    /// Lets what this process becomes by execve(2) hold it too.
    pub(crate) fn outlast_exec(&self) -> io::Result<()> {
        // SAFETY: changes a flag of an open descriptor.
        match unsafe { libc::fcntl(self.link.as_raw_fd(), libc::F_SETFD, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Registers `algorithm`, or takes part in the registration that is there.
pub(crate) fn register(algorithm: Algorithm) -> Result<Registration, Reason> {
    let mut object = load(algorithm)?;
    for _ in 0..ATTEMPTS {
        match messages::collect(|| link(&mut object)) {
            Ok(link) => return Ok(Registration { link }),
            Err((error, _)) if error.kind() == ErrorKind::AlreadyExists => {}
            Err((error, said)) => return Err(refusal(algorithm, &error, &said)),
        }
        if let Some(link) = links().find(|link| is_of(link, algorithm)) {
            return Ok(Registration { link });
        }
        thread::sleep(PAUSE);
    }
    Err(Reason::NameTaken { name: algorithm.name() })
}

/// Has the kernel check the programs of `algorithm`.
pub(crate) fn check(algorithm: Algorithm) -> Result<(), Reason> {
    load(algorithm).map(drop)
}

fn load(algorithm: Algorithm) -> Result<Object, Reason> {
    permission::check()?;
    messages::collect(|| ObjectBuilder::default().open_memory(algorithm.program())?.load())
        .map_err(|(error, said)| refusal(algorithm, &error, &said))
}

fn link(object: &mut Object) -> Result<OwnedFd, Error> {
    let mut operations = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .ok_or_else(|| Error::from_raw_os_error(libc::ENOENT))?;
    Ok(operations.attach_struct_ops()?.as_fd().try_clone_to_owned()?)
}

fn refusal(algorithm: Algorithm, error: &Error, said: &str) -> Reason {
    let release = permission::release();
    if !permission::is_supported() {
        return Reason::NotSupported { release };
    }
    Reason::Refused { name: algorithm.name(), release, messages: format!("{said}\n{error:#}") }
}

/// All links of BPF programs in this kernel; none where they may not be listed (without CAP_SYS_ADMIN).
fn links() -> impl Iterator<Item = OwnedFd> {
    let mut id = 0;
    let next_id = move || {
        // SAFETY: reads and writes only `id`.
        (unsafe { bpf_link_get_next_id(id, &raw mut id) } == 0).then_some(id)
    };
    std::iter::from_fn(next_id).filter_map(descriptor_of)
}

/// Whether a link holds the registration of `algorithm`: the map behind it has its name.
fn is_of(link: &OwnedFd, algorithm: Algorithm) -> bool {
    let Ok(LinkInfo { info: LinkTypeInfo::StructOps(operations), .. }) = LinkInfo::from_fd(link.as_fd())
    else {
        return false;
    };
    MapHandle::from_map_id(operations.map_id).is_ok_and(|map| map.name() == algorithm.name())
}

/// The link of that number, unless it went meanwhile.
fn descriptor_of(id: u32) -> Option<OwnedFd> {
    // SAFETY: takes a number; gives a descriptor that nobody else knows, or a negative number.
    let descriptor = unsafe { bpf_link_get_fd_by_id(id) };
    // SAFETY: it was made for this call.
    (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })
}
