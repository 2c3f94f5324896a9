//! What the helper that makes namespaces answers (`helper/answer.c`).

use std::io::{self, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::device::DeviceKind;
use crate::end::End;
use crate::error::{Error, Stage};
use crate::helper;

/// Where the helper has its side of the socket.
const SOCKET: RawFd = 3;
const ANSWER: usize = 20;
const KIND_OF_PACKETS: i32 = 2;

/// How blocks are cut from 100.64.0.0/10. Kept in step with `helper/ends.c`.
const EVERY_PREFIX: u32 = 10;
const OUTERMOST_PREFIX: u32 = 18;
const NESTED_BITS: u32 = 3;

/// A range of IPv4 addresses that one path has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) first: u32,
    pub(crate) prefix: u32,
}

impl Block {
    /// An address in it.
    pub(crate) fn address(self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first + offset)
    }

    /// The block of the outermost network that this is, or lies in.
    pub(crate) const fn outermost(self) -> Self {
        Self { first: self.first & !(u32::MAX >> OUTERMOST_PREFIX), prefix: OUTERMOST_PREFIX }
    }

    /// Its number among the blocks of the network that it is used in.
    pub(crate) const fn index(self) -> u32 {
        let bits =
            if self.prefix == OUTERMOST_PREFIX { OUTERMOST_PREFIX - EVERY_PREFIX } else { NESTED_BITS };
        self.first >> (32 - self.prefix) & ((1 << bits) - 1)
    }
}

/// What one end consists of.
#[derive(Debug)]
pub(crate) struct EndParts {
    pub(crate) network: OwnedFd,
    /// Its device, or what hears it, and a netlink socket.
    pub(crate) device: [OwnedFd; 2],
}

/// What the helper made.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) processes: OwnedFd,
    pub(crate) users: OwnedFd,
    pub(crate) sender: EndParts,
    pub(crate) receiver: EndParts,
    pub(crate) kind: DeviceKind,
    pub(crate) block: Block,
}

/// Our side of the socket to the helper; closing it ends the helper and all inside.
#[derive(Debug)]
pub(crate) struct Handover {
    socket: UnixStream,
}

impl Handover {
    /// Starts the helper with these arguments.
    pub(crate) fn start(arguments: &[String]) -> Result<(Self, Child), Error> {
        let (socket, theirs) = UnixStream::pair().map_err(Error::from_io("making a socket pair"))?;
        Ok((Self { socket }, start_helper(arguments, &theirs)?))
    }

    /// What the helper made.
    pub(crate) fn receive(&self) -> Result<Made, Error> {
        let (answer, descriptors) = receive(&self.socket)?;
        let [processes, users, network, device, netlink, network_2, device_2, netlink_2] =
            descriptors.try_into().map_err(|_| Error::HelperLost)?;
        let kind = if answer.kind == KIND_OF_PACKETS { DeviceKind::Packet } else { DeviceKind::Tun };
        Ok(Made {
            processes,
            users,
            sender: EndParts { network, device: [device, netlink] },
            receiver: EndParts { network: network_2, device: [device_2, netlink_2] },
            kind,
            block: answer.block,
        })
    }

    /// A socket of this end, of this type (`SOCK_STREAM`, `SOCK_DGRAM`), for IPv4 and IPv6.
    pub(crate) fn make_socket(&mut self, end: End, kind: i32) -> Result<OwnedFd, Error> {
        let request = [kind as u8 | (end as u8) << 4];
        self.socket.write_all(&request).map_err(Error::from_io("asking the helper for a socket"))?;
        receive(&self.socket)?.1.pop().ok_or(Error::HelperLost)
    }

    /// Another handle of the same helper.
    pub(crate) fn try_clone(&self) -> Result<Self, Error> {
        let socket = self.socket.try_clone().map_err(Error::from_io("copying a descriptor"))?;
        Ok(Self { socket })
    }
}

fn start_helper(arguments: &[String], socket: &UnixStream) -> Result<Child, Error> {
    let socket = socket.as_raw_fd();
    let mut command = Command::new(helper::path()?);
    command.arg("make").args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec only calls that are safe after a fork.
    unsafe {
        command.pre_exec(move || match libc::dup2(socket, SOCKET) {
            // The socket is there already: only let it live on.
            SOCKET if socket == SOCKET && libc::fcntl(SOCKET, libc::F_SETFD, 0) < 0 => {
                Err(io::Error::last_os_error())
            }
            SOCKET => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    let _blocked = SignalsBlocked::new();
    command.spawn().map_err(Error::from_io("starting the helper"))
}

/// While it lives, signals do not reach the calling thread, and what it starts keeps it so for good: the helper ends by
/// its socket alone, and a Ctrl-C before it has a session of its own is not meant for it.
struct SignalsBlocked(libc::sigset_t);

impl SignalsBlocked {
    fn new() -> Self {
        let [mut all, mut before] = [MaybeUninit::uninit(); 2];
        // SAFETY: the first set is filled before it is read, the second by the call that reads the first.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: puts back the mask that the calling thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

struct Answer {
    kind: i32,
    block: Block,
}

/// One answer of the helper with its descriptors.
fn receive(socket: &UnixStream) -> Result<(Answer, Vec<OwnedFd>), Error> {
    const SPACE: usize = 128;
    #[repr(align(8))]
    struct Control([u8; SPACE]);
    let mut answer = [0_u8; ANSWER];
    let mut control = Control([0; SPACE]);
    let mut vector = [IoSliceMut::new(&mut answer)];
    // SAFETY: all fields of a message header may be zero.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = vector.as_mut_ptr().cast();
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = SPACE as _;
    let count = loop {
        // SAFETY: the header points at buffers of the given lengths that live on.
        let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        if count >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break count;
        }
    };
    if usize::try_from(count) != Ok(answer.len()) {
        return Err(Error::HelperLost);
    }
    // SAFETY: the kernel filled the header and the control buffer.
    let descriptors = unsafe { descriptors(&message) };
    let word = |at: usize| i32::from_ne_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]]);
    if word(0) != 0 {
        let source = io::Error::from_raw_os_error(word(4));
        return Err(Error::Refused { stage: Stage::from_number(word(0)), source });
    }
    let block = Block { first: word(12).cast_unsigned(), prefix: word(16).cast_unsigned() };
    Ok((Answer { kind: word(8), block }, descriptors))
}

/// # Safety
/// `message` was filled by `recvmsg` and its control buffer is still there.
unsafe fn descriptors(message: &libc::msghdr) -> Vec<OwnedFd> {
    // SAFETY: as the caller promises; the kernel wrote as many descriptors as the length says, and they are ours.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Vec::new();
        }
        let bytes = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
        let first = libc::CMSG_DATA(header).cast::<RawFd>();
        (0..bytes / size_of::<RawFd>())
            .map(|index| OwnedFd::from_raw_fd(first.add(index).read_unaligned()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_knows_its_number_and_the_outermost_one_around_it() {
        let block = |first: [u8; 4], prefix| Block { first: u32::from_be_bytes(first), prefix };
        let outermost = block([100, 65, 192, 0], 18);
        assert_eq!((outermost.index(), outermost.outermost()), (7, outermost));
        let nested = block([100, 65, 216, 64], 27);
        assert_eq!((nested.index(), nested.outermost()), (2, outermost));
        assert_eq!(nested.address(1), Ipv4Addr::new(100, 65, 216, 65));
    }
}
