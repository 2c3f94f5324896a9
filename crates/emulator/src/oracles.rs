//! What holds of any frames of a device and of any packet log: for the targets in `fuzz/`, and for the replay of their corpus.

use std::fs::File;
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;

use trialwise_link::{Ecn, Packet};
use trialwise_units::Time;

use crate::datagram::{Datagram, split};
use crate::destination::Destination;
use crate::device::Device;
use crate::headers::VNET;
use crate::join::Joiner;
use crate::pool::Pool;
use trialwise_link::log::{LogReader, Record};

/// Frames, each behind its length in two bytes: each is taken apart, some of it marked, copied or changed, looked at by the relay, and put together
/// again; nothing of it is lost or made.
pub fn packets(bytes: &[u8]) {
    let (mut pool, mut joiner, device) = (Pool::new(), Joiner::new(), nowhere());
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first_chunk() {
        let (frame, behind) = behind.split_at(usize::from(u16::from_be_bytes(*length)).min(behind.len()));
        rest = behind;
        let whole = VNET.max(frame.len());
        let room = pool.reading();
        room[..whole].fill(0);
        room[..frame.len()].copy_from_slice(frame);
        let _ = Destination::of(&room[VNET..whole]);
        let segments: Vec<Datagram> = split(&mut pool, whole, Time::ZERO).collect();
        let payload: usize = segments.iter().map(|segment| usize::from(segment.payload)).sum();
        assert_eq!(
            VNET + usize::from(segments[0].header) + payload,
            whole,
            "bytes of {} segments",
            segments.len()
        );
        for mut segment in segments {
            if segment.ecn() != Ecn::NotCapable && frame.len() % 2 == 0 {
                segment.set_ecn(Ecn::CongestionExperienced);
            }
            if let Some(which) = NonZeroU16::new(frame.len() as u16).filter(|which| which.get() % 5 == 0) {
                let copy = segment.copy();
                segment.change_bit(which);
                pool.retain(copy.buffer);
                joiner.add(copy, &mut pool, &device);
            }
            joiner.add(segment, &mut pool, &device);
        }
        if frame.len() % 3 == 0 {
            joiner.flush(&mut pool, &device);
        }
    }
    joiner.flush(&mut pool, &device);
    assert_eq!(pool.held(), 0, "buffers are held");
}

/// A device that takes everything.
fn nowhere() -> Device {
    let open = || OwnedFd::from(File::options().write(true).open("/dev/null").expect("/dev/null"));
    Device::tun(open(), open(), "nowhere".to_owned(), 1500)
}

/// A packet log: what is read of it and written again is read as the same.
pub fn packet_logs(bytes: &[u8]) {
    let Ok(reader) = LogReader::new(bytes) else { return };
    for record in reader.map_while(Result::ok) {
        assert_eq!(read_again(&record), Some(record));
    }
}

fn read_again(record: &Record) -> Option<Record> {
    let mut bytes = Vec::new();
    record.write(&mut bytes);
    Record::read(bytes.first_chunk()?)
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::replay::replay;
    use super::*;

    #[test]
    fn frames_of_a_device() {
        replay("packets", packets);
    }

    #[test]
    fn logs_of_packets() {
        replay("packet_logs", packet_logs);
    }
}
