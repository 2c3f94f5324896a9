//! What became of each packet, by columns.

use trialwise_link::log::COPY;
use trialwise_link::{Exit, Fate};
use trialwise_units::Time;

use crate::path::Direction;
use crate::path::packet::PathPacket;

const DELIVERED: u8 = 0;
const HELD: u8 = 1;
/// The first of the numbers of causes.
const DROPPED: u8 = 2;

/// The packet log of a trial: the values of each packet at one index, with the numbers of an emulator's packet log. In
/// the order of each direction time never goes back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketColumns {
    /// When it left its link, or for what was held, when the trial ended; nanoseconds.
    pub time: Vec<u64>,
    /// Nanoseconds since it had come.
    pub delay: Vec<u64>,
    /// Number of its flow, from 1.
    pub flow: Vec<u64>,
    /// Bytes of the IP packet.
    pub size: Vec<u16>,
    /// 0 delivered, 1 held, else dropped: 2 loss, 3 outage, 4 policed, 5 overflow, 6 managed, 7 corrupt, 8 filtered; and [`COPY`]
    /// for a copy.
    pub event: Vec<u8>,
    /// 0 forward, 1 backward.
    pub direction: Vec<u8>,
    /// The ECN field it left with.
    pub ecn: Vec<u8>,
    /// The element that dropped it.
    pub element: Vec<u8>,
}

impl PacketColumns {
    pub(super) fn add(&mut self, direction: Direction, exit: &Exit<PathPacket>) {
        let (event, element) = match exit.fate {
            Fate::Delivered => (DELIVERED, 0),
            Fate::Dropped { element, cause } => (DROPPED + cause.number(), element as u8),
            // It will leave in another way, and then have a row.
            Fate::Copied { .. } => return,
        };
        self.push(direction, exit.time, &exit.packet, event, element);
    }

    pub(super) fn add_held(&mut self, direction: Direction, end: Time, packet: &PathPacket) {
        self.push(direction, end, packet, HELD, 0);
    }

    fn push(&mut self, direction: Direction, time: Time, packet: &PathPacket, event: u8, element: u8) {
        self.time.push(time.nanoseconds());
        self.delay.push((time - packet.arrival).nanoseconds());
        self.flow.push(u64::from(packet.flow) + 1);
        self.size.push(packet.size);
        self.event.push(event | if packet.is_copy { COPY } else { 0 });
        self.direction.push(direction as u8);
        self.ecn.push(packet.ecn.bits());
        self.element.push(element);
    }
}
