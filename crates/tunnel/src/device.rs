//! The TUN device through which programs of the namespace send and get packets.
//!
//! It promises no offload, so the kernel splits what TCP and UDP send in one piece, and gives each packet with its checksum.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::error::{Error, check, last};

const NAME: &str = "tunnel0";
/// Packets that wait for us: at a gigabit fifty milliseconds of full ones.
const QUEUE: u32 = 4096;
const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);
const PREFIX: u32 = 64;
const DISABLED: &str = "/proc/sys/net/ipv6/conf/tunnel0/disable_ipv6";

/// The device; it is gone with its descriptor.
#[derive(Debug)]
pub(crate) struct Device(fs::File);

impl Device {
    /// Makes it in the network namespace that this process is in, with an address.
    pub(crate) fn new(address: Ipv4Addr, mtu: usize) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .map_err(Error::NoTun)?;
        let mut request = named(NAME);
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as libc::c_short;
        // SAFETY: reads the request, which lives on.
        check("a TUN device", unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
        // SAFETY: makes a descriptor.
        let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        check("a socket", socket)?;
        // SAFETY: it was just made and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let tell = |command: libc::c_ulong, request: libc::ifreq| ask(&socket, command, request);
        tell(libc::SIOCSIFADDR, with_address(address))?;
        tell(libc::SIOCSIFNETMASK, with_address(MASK))?;
        let mut size = named(NAME);
        size.ifr_ifru.ifru_mtu = i32::try_from(mtu).unwrap_or(i32::MAX);
        tell(libc::SIOCSIFMTU, size)?;
        lengthen_queue()?;
        // Without neighbours nobody has to be asked whether an address of IPv6 is taken, which would last a second.
        for (name, more) in [("lo", 0), (NAME, libc::IFF_NOARP)] {
            let mut up = named(name);
            up.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING | more) as libc::c_short;
            tell(libc::SIOCSIFFLAGS, up)?;
        }
        Ok(Self(file))
    }

    /// Gives it an address of IPv6 too; this fails where the system has none, or the device takes no packets of 1280 bytes.
    pub(crate) fn add_v6(&self, address: Ipv6Addr) -> Result<(), Error> {
        // What new devices have by the machine's settings; where it stays disabled, the address is refused below.
        let _ = fs::write(DISABLED, "0");
        // SAFETY: makes a descriptor.
        let socket = unsafe { libc::socket(libc::AF_INET6, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        check("IPv6 inside the tunnel", socket)?;
        // SAFETY: it was just made and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let mut request = libc::in6_ifreq {
            ifr6_addr: libc::in6_addr { s6_addr: address.octets() },
            ifr6_prefixlen: PREFIX,
            ifr6_ifindex: index().cast_signed(),
        };
        // SAFETY: reads the request, which lives on.
        let returned = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFADDR as _, &raw mut request) };
        check("IPv6 inside the tunnel", returned).map(|_| ())
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Reads a packet that programs sent; `None` when none waits.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        match (&self.0).read(buffer) {
            Ok(count) => Ok(Some(count)),
            Err(error) if is_later(&error) => Ok(None),
            Err(error) => Err(Error::System("reading from the TUN device", error)),
        }
    }

    /// Gives a packet to programs; whether the kernel took it.
    pub(crate) fn write(&self, packet: &[u8]) -> bool {
        (&self.0).write(packet).is_ok()
    }

    /// Packets that the kernel dropped on their way to us or from us, for want of room.
    pub(crate) fn dropped() -> Result<u64, Error> {
        /// Of what came and of what was sent, behind the name.
        const DROPS: [usize; 2] = [3, 11];
        let text = fs::read_to_string("/proc/self/net/dev").map_err(|_| last("/proc/self/net/dev"))?;
        let row = text.lines().find_map(|line| line.trim_start().strip_prefix(NAME)?.strip_prefix(':'));
        let fields: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
        let drops = DROPS.iter().filter_map(|place| fields.get(*place)?.parse::<u64>().ok());
        Ok(drops.sum())
    }
}

/// Whether a call would have to wait.
pub(crate) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn named(name: &str) -> libc::ifreq {
    // SAFETY: all fields of the request may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    request
}

fn index() -> u32 {
    // SAFETY: the name ends in zero.
    unsafe { libc::if_nametoindex(c"tunnel0".as_ptr()) }
}

/// By rtnetlink(7): the request of netdevice(7) is not permitted in a user namespace.
fn lengthen_queue() -> Result<(), Error> {
    const LENGTH: u32 = 40;
    let [kind, flags] = [libc::RTM_NEWLINK, libc::NLM_F_REQUEST as u16];
    let attribute = [8, libc::IFLA_TXQLEN];
    let mut request = [0_u8; LENGTH as usize];
    request[..4].copy_from_slice(&LENGTH.to_ne_bytes());
    for (at, word) in [(4, kind), (6, flags), (32, attribute[0]), (34, attribute[1])] {
        request[at..at + 2].copy_from_slice(&word.to_ne_bytes());
    }
    request[20..24].copy_from_slice(&index().to_ne_bytes());
    request[36..].copy_from_slice(&QUEUE.to_ne_bytes());
    // SAFETY: makes a descriptor.
    let socket =
        unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
    check("a netlink socket", socket)?;
    // SAFETY: it was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: the request has that many bytes.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 { Err(last("the queue of the TUN device")) } else { Ok(()) }
}

fn with_address(address: Ipv4Addr) -> libc::ifreq {
    let mut request = named(NAME);
    let mut bytes = [0; 14];
    bytes[2..6].copy_from_slice(&address.octets().map(u8::cast_signed));
    request.ifr_ifru.ifru_addr = libc::sockaddr { sa_family: libc::AF_INET as u16, sa_data: bytes };
    request
}

fn ask(socket: &OwnedFd, command: libc::c_ulong, mut request: libc::ifreq) -> Result<(), Error> {
    // SAFETY: these requests read what lives on.
    let returned = unsafe { libc::ioctl(socket.as_raw_fd(), command as _, &raw mut request) };
    check("setting up the TUN device", returned).map(|_| ())
}
