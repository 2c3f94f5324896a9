//! Why a path could not be made or run.

use std::io;

/// Where the helper stopped; kept in step with `enum stage` in `helper/helper.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Making a user namespace.
    UserNamespace,
    /// Making a process namespace.
    ProcessNamespace,
    /// Making a network namespace.
    NetworkNamespace,
    /// Opening `/dev/net/tun`.
    DeviceOpen,
    /// Making a TUN device with offloads.
    DeviceMake,
    /// Giving the device addresses and routes.
    Address,
    /// Handing the descriptors over.
    HandOver,
    /// Making a device in the network that the path was started in.
    OuterDevice,
    /// Finding a block of addresses that nothing uses.
    Block,
    /// Making a path inside a path.
    Nesting,
    /// Making a pair of veth devices.
    Pair,
    /// Opening a packet socket, or giving it its ring.
    PacketSocket,
}

impl Stage {
    pub(crate) fn from_number(number: i32) -> Self {
        match number {
            1 => Self::UserNamespace,
            2 => Self::ProcessNamespace,
            3 => Self::NetworkNamespace,
            4 => Self::DeviceOpen,
            5 => Self::DeviceMake,
            6 => Self::Address,
            8 => Self::OuterDevice,
            9 => Self::Block,
            10 => Self::Nesting,
            11 => Self::Pair,
            12 => Self::PacketSocket,
            _ => Self::HandOver,
        }
    }

    /// What was attempted, and what would make it possible.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::UserNamespace => (
                "make a user namespace",
                "allow them to ordinary users (kernel.unprivileged_userns_clone=1, \
                 kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces above 0), or run as root",
            ),
            Self::ProcessNamespace => ("make a process namespace", "run as root with CAP_SYS_ADMIN"),
            Self::NetworkNamespace => (
                "make a network namespace",
                "raise user.max_net_namespaces, or run as root with CAP_SYS_ADMIN",
            ),
            Self::DeviceOpen => (
                "open /dev/net/tun",
                "make it readable and writable for you, give the container the device \
                 (docker run --device /dev/net/tun), or take packet devices",
            ),
            Self::DeviceMake => ("make a TUN device with offloads", "use Linux 4.6 or newer with CONFIG_TUN"),
            Self::Address => ("give a device its addresses", "use a kernel with IPv4 networking"),
            Self::HandOver => ("hand the devices over", "look whether /proc is mounted"),
            Self::OuterDevice => (
                "make a device in this network",
                "run as root with CAP_NET_ADMIN, or in a user namespace of its own, where a relay reaches this network",
            ),
            Self::Block => (
                "find a block of addresses in 100.64.0.0/10 that nothing uses",
                "end other paths started here, or run as an ordinary user, where the path has addresses of its own",
            ),
            Self::Nesting => (
                "make a path inside so many others",
                "nest at most five, and put several elements into one path",
            ),
            Self::Pair => (
                "make a pair of veth devices",
                "use a kernel with CONFIG_VETH, or make /dev/net/tun readable and writable for you",
            ),
            Self::PacketSocket => (
                "take packets from a veth device",
                "use Linux 4.20 or newer with CONFIG_PACKET, or make /dev/net/tun readable and writable for you",
            ),
        }
    }
}

/// Why a path could not be made or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused something the path needs.
    #[error("cannot {}: {}; {}", stage.words().0, kernels_word(*stage, source), stage.words().1)]
    Refused {
        /// What.
        stage: Stage,
        /// The kernel's word.
        source: io::Error,
    },
    /// The helper ended without an answer.
    #[error(
        "the helper that makes namespaces ended without a word; is it killed from outside (out of memory)?"
    )]
    HelperLost,
    /// An MTU out of range.
    #[error(
        "an MTU of {mtu} bytes is not possible; choose one from {minimum} to {maximum}, and for IPv6 1280 or more (RFC 8200 section 5)"
    )]
    Mtu {
        /// The MTU asked for.
        mtu: u16,
        /// The smallest possible.
        minimum: u16,
        /// The largest possible.
        maximum: u16,
    },
    /// Another call of the system failed.
    #[error("{attempt} failed: {source}")]
    System {
        /// What was attempted.
        attempt: &'static str,
        /// The kernel's word.
        source: io::Error,
    },
}

/// Where namespaces are no longer given out the kernel complains of a full disk (user_namespaces(7), `ENOSPC`).
fn kernels_word(stage: Stage, source: &io::Error) -> String {
    let namespaces = [Stage::UserNamespace, Stage::ProcessNamespace, Stage::NetworkNamespace];
    match source.raw_os_error() {
        Some(libc::ENOSPC) if namespaces.contains(&stage) => "no more of them are permitted".to_owned(),
        _ => source.to_string(),
    }
}

impl Error {
    pub(crate) fn last(attempt: &'static str) -> Self {
        Self::System { attempt, source: io::Error::last_os_error() }
    }

    pub(crate) fn from_io(attempt: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { attempt, source }
    }
}
