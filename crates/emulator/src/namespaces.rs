//! The two ends of a path: namespaces that hang on descriptors of this process and on nothing else.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::device::Device;
use crate::error::{Error, Stage};
use crate::helper;

/// What the devices carry at least: IPv6 needs it (RFC 8200 section 5).
pub const MINIMUM_MTU: u16 = 1280;
/// What the devices carry at most: Ethernet's.
pub const MAXIMUM_MTU: u16 = 1500;

/// Packets that a device keeps for us: at ten gigabits a few milliseconds of whole frames.
const DEVICE_QUEUE: u32 = 4096;
const SOCKET: RawFd = 3;
const PARTS: usize = 8;

/// One end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Where the sender runs.
    Sender,
    /// Where the receiver runs.
    Receiver,
}

impl End {
    /// The end's IPv4 address (in RFC 6598's shared space).
    pub const fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(100, 64, 0, 1 + self as u8)
    }

    /// The end's IPv6 address (unique local, RFC 4193).
    pub const fn address6(self) -> Ipv6Addr {
        Ipv6Addr::new(0xfd74, 0x7269, 0x616c, 0, 0, 0, 0, 1 + self as u16)
    }

    /// The end at the other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// How the ends are made.
#[derive(Clone, Copy, Debug)]
pub struct NamespaceSettings {
    /// The largest IP packet in bytes.
    pub mtu: u16,
    /// Whether to make a user namespace: needed without root, and possible with it.
    pub user_namespace: bool,
}

impl Default for NamespaceSettings {
    fn default() -> Self {
        // SAFETY: geteuid only answers.
        Self { mtu: MAXIMUM_MTU, user_namespace: unsafe { libc::geteuid() } != 0 }
    }
}

/// Two network namespaces, and a process namespace for the programs in them. Dropping it, and the death of this process
/// by whatever cause, ends every program inside; then nothing is left.
#[derive(Debug)]
pub struct Namespaces {
    users: Option<OwnedFd>,
    processes: OwnedFd,
    networks: [OwnedFd; 2],
    keeper: Child,
    /// Closing it ends the keeper. An option only so that dropping can close it first.
    socket: Option<UnixStream>,
}

impl Namespaces {
    /// Makes the ends and their devices, of the sender and of the receiver.
    ///
    /// # Errors
    /// `Mtu`; `Refused`, which names what is not permitted here and what would lift that.
    pub fn make(settings: NamespaceSettings) -> Result<(Self, [Device; 2]), Error> {
        if !(MINIMUM_MTU..=MAXIMUM_MTU).contains(&settings.mtu) {
            return Err(Error::Mtu { mtu: settings.mtu, minimum: MINIMUM_MTU, maximum: MAXIMUM_MTU });
        }
        let (socket, theirs) = UnixStream::pair().map_err(Error::from_io("making a socket pair"))?;
        let mut keeper = start_keeper(settings, &theirs)?;
        drop(theirs);
        let parts = receive(&socket).inspect_err(|_| {
            let _ = keeper.wait();
        })?;
        let [
            processes,
            users,
            sender,
            sender_device,
            sender_netlink,
            receiver,
            receiver_device,
            receiver_netlink,
        ] = parts;
        let users = settings.user_namespace.then_some(users);
        let devices = [
            Device::new(sender_device, sender_netlink, settings.mtu),
            Device::new(receiver_device, receiver_netlink, settings.mtu),
        ];
        let networks = [sender, receiver];
        Ok((Self { users, processes, networks, keeper, socket: Some(socket) }, devices))
    }

    /// What to put before a program and its arguments so that it runs at `end`. It may be used with any way to start a
    /// program while this value lives; the program cannot outlive it.
    ///
    /// # Errors
    /// `System`.
    pub fn prefix(&self, end: End) -> Result<Vec<OsString>, Error> {
        let users = self.users.as_ref().map_or_else(|| "-".into(), |users| helper::path_of(users).into());
        let network = helper::path_of(&self.networks[end as usize]);
        let processes = helper::path_of(&self.processes);
        Ok(vec![helper::path()?.into(), "enter".into(), users, network.into(), processes.into()])
    }

    /// A command that runs `program` at `end`, with the address of the other end in `TRIALWISE_PEER`.
    ///
    /// # Errors
    /// `System`.
    pub fn command(&self, end: End, program: impl AsRef<OsStr>) -> Result<Command, Error> {
        let prefix = self.prefix(end)?;
        let mut command = Command::new(&prefix[0]);
        command.args(&prefix[1..]).arg(program).env("TRIALWISE_PEER", end.other().address().to_string());
        Ok(command)
    }

    /// Moves the calling thread to `end`, for good: what it opens from now on is there.
    ///
    /// # Errors
    /// `System`: without root a thread cannot enter the user namespace that the end is in.
    pub fn enter(&self, end: End) -> Result<(), Error> {
        // SAFETY: changes the network namespace of this thread alone.
        match unsafe { libc::setns(self.networks[end as usize].as_raw_fd(), libc::CLONE_NEWNET) } {
            0 => Ok(()),
            _ => Err(Error::last("moving a thread into a network namespace")),
        }
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.socket = None;
        let _ = self.keeper.wait();
    }
}

fn start_keeper(settings: NamespaceSettings, socket: &UnixStream) -> Result<Child, Error> {
    let socket = socket.as_raw_fd();
    let mut command = Command::new(helper::path()?);
    command.args(["make", &settings.mtu.to_string(), &DEVICE_QUEUE.to_string()]);
    command.arg(if settings.user_namespace { "1" } else { "0" });
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
    command.spawn().map_err(Error::from_io("starting the helper"))
}

/// The helper's answer: descriptors in the order of `enum part` in `helper.c`.
fn receive(socket: &UnixStream) -> Result<[OwnedFd; PARTS], Error> {
    const SPACE: usize = 128;
    #[repr(align(8))]
    struct Control([u8; SPACE]);
    let mut answer = [0_u8; 8];
    let mut control = Control([0; SPACE]);
    let mut vector = [IoSliceMut::new(&mut answer)];
    // SAFETY: all fields of a message header may be zero.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = vector.as_mut_ptr().cast();
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = SPACE as _;
    // SAFETY: the header points at buffers of the given lengths that live on.
    let count = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    if usize::try_from(count) != Ok(answer.len()) {
        return Err(Error::HelperLost);
    }
    let word = |at: usize| i32::from_ne_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]]);
    if word(0) != 0 {
        let source = io::Error::from_raw_os_error(word(4));
        return Err(Error::Refused { stage: Stage::from_number(word(0)), source });
    }
    // SAFETY: the kernel filled the header and the control buffer.
    let descriptors = unsafe { descriptors(&message) };
    descriptors.try_into().map_err(|_| Error::HelperLost)
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
