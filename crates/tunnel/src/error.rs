//! Why there is no tunnel.

use std::io;

/// What is wrong, and what would lift it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No namespace may be made.
    #[error(
        "this user may not make a network namespace ({0}); run it as root, or permit user namespaces (sysctl user.max_user_namespaces, \
         kernel.unprivileged_userns_clone)"
    )]
    Namespace(#[source] io::Error),
    /// There are no TUN devices.
    #[error(
        "/dev/net/tun cannot be opened ({0}); `modprobe tun` makes it, and containers need --device /dev/net/tun"
    )]
    NoTun(#[source] io::Error),
    /// Packets of this size are the largest that pass by now, which is less than IPv6 inside needs (RFC 8200, section 5).
    #[error("packets of more than {0} bytes do not pass any more; take inside = \"ipv4\", which needs less")]
    TooSmall(usize),
    /// The numbers of packets are used up.
    #[error("more than 2^32 packets")]
    TooMany,
    /// The namespace of another process cannot be entered.
    #[error("the namespace of process {0} cannot be entered: {1}")]
    Enter(u32, #[source] io::Error),
    /// A call of the system failed.
    #[error("{0}: {1}")]
    System(&'static str, #[source] io::Error),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] trialwise_capture::Error),
}

/// The error of the call that was just made.
pub(crate) fn last(what: &'static str) -> Error {
    Error::System(what, io::Error::last_os_error())
}

/// Says what failed, where a call gave less than 0.
pub(crate) fn check(what: &'static str, returned: i32) -> Result<i32, Error> {
    if returned < 0 { Err(last(what)) } else { Ok(returned) }
}
