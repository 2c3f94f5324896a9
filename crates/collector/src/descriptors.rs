//! Who gets the descriptors that this process may have: no crowd of clients takes those of the status, the store and the spool.

/// Kept back for the spool, the runtime, the listener and the program around the collector.
const RESERVE: usize = 48;
/// What a domain takes of a store: a file, its log and the index of that.
const DOMAIN: usize = 3;
/// More are not needed, whatever the limit.
const MOST: u64 = 1 << 20;
/// Connections that have said nothing complete yet.
const LOBBY: std::ops::RangeInclusive<usize> = 64..=1024;

/// How many of what may be open at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Connections that are served.
    pub(crate) places: usize,
    /// Connections before the end of their header; half of them may wait for a place.
    pub(crate) lobby: usize,
    /// Domains of a store.
    pub(crate) domains: usize,
}

impl Shares {
    /// Divides a limit of descriptors; `connections` are wanted, each of which takes two where it is forwarded.
    pub(crate) fn of(limit: u64, connections: usize, forwards: bool) -> Self {
        let free = usize::try_from(limit.min(MOST)).unwrap_or(usize::MAX).saturating_sub(RESERVE);
        let stores = if forwards { 0 } else { free / 4 };
        let sockets = free - stores;
        let lobby = (connections / 8).clamp(*LOBBY.start(), *LOBBY.end()).min(sockets / 4).max(2);
        let places = sockets.saturating_sub(lobby) / if forwards { 2 } else { 1 };
        Self { places: connections.min(places).max(1), lobby, domains: (stores / DOMAIN).max(1) }
    }

    /// Raises the limit of this process as far as it may, and divides it.
    pub(crate) fn take(connections: usize, forwards: bool) -> Self {
        Self::of(raise_limit(), connections, forwards)
    }
}

/// The limit afterwards: each client needs a descriptor.
fn raise_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: every call is given a valid `rlimit`, for its duration only.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return 1024; // what every Linux starts with
        }
        let most = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const most) == 0 {
            most.rlim_cur
        } else {
            limit.rlim_cur
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_stay_inside_the_limit_and_leave_a_reserve() {
        for limit in [0, 64, 256, 1024, 4096, 524_288, u64::MAX] {
            for connections in [1, 50, 10_000, usize::MAX] {
                for forwards in [false, true] {
                    let shares = Shares::of(limit, connections, forwards);
                    assert!(shares.places >= 1 && shares.lobby >= 2 && shares.domains >= 1);
                    let sockets = shares.places * if forwards { 2 } else { 1 } + shares.lobby;
                    let all = sockets + if forwards { 0 } else { shares.domains * DOMAIN };
                    assert!(limit < 64 || (all + RESERVE) as u64 <= limit.max(64), "{limit} {shares:?}");
                }
            }
        }
        assert_eq!(Shares::of(524_288, 10_000, false).places, 10_000);
    }
}
