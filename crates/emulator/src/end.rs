//! The two ends of a path, by name.

use std::net::{Ipv4Addr, Ipv6Addr};

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
