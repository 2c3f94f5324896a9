//! What holds of the bytes of any frame: for the target in `fuzz/`, and for the replay of its corpus.

use trialwise_capture::{Link, decode};

/// Nothing panics, whatever is cut off; what is read of a part is read of the whole.
pub(crate) fn captured(bytes: &[u8]) {
    for link in [Link::Ethernet, Link::Ip, Link::Radiotap] {
        let whole = decode(link, bytes);
        let cut = bytes.first().map_or(0, |first| usize::from(*first) * bytes.len() / 256);
        let part = decode(link, &bytes[..cut]);
        if let Some(ip) = part.ip {
            // A part may end before the extension headers do.
            let of_all = |ip: trialwise_capture::Ip| (ip.version, ip.source, ip.destination, ip.hops);
            assert_eq!(whole.ip.map(of_all), Some(of_all(ip)));
        }
        if let Some(transport) = part.transport {
            assert_eq!(whole.transport, Some(transport));
        }
    }
}
