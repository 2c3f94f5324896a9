//! The packets on a wire, in the order of arrival.

use trialwise_units::Time;

use crate::event::Order;
use crate::index::PacketId;
use crate::packet::{PacketList, PacketSlab};

/// When a packet reaches the end of its wire, and the place of that instant among events.
type Arrival = (Time, Order);

/// The packets on a wire. Only the first has an event; each of the others has its arrival noted in the packet
/// before it, which is at hand when that event is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    list: PacketList,
    /// The place of the first packet's arrival.
    first: Order,
}

impl Flight {
    pub(crate) const EMPTY: Self = Self { list: PacketList::EMPTY, first: Order::FIRST };

    /// A packet sets out behind the others. True if there are none, so that its arrival needs an event.
    #[inline]
    pub(crate) fn launch(&mut self, packets: &mut PacketSlab, id: PacketId, (time, order): Arrival) -> bool {
        let alone = self.list.is_empty();
        if alone {
            self.first = order;
        } else {
            let before = &mut packets[self.list.last()];
            (before.next_arrival, before.next_order) = (time, order);
        }
        self.list.push(packets, id);
        alone
    }

    /// The packet whose arrival is the event in place `running`, and the arrival of the one behind it. None where the
    /// wire has lost it meanwhile.
    #[inline]
    pub(crate) fn land(
        &mut self,
        packets: &PacketSlab,
        running: Order,
    ) -> Option<(PacketId, Option<Arrival>)> {
        if self.first != running {
            return None;
        }
        let id = self.list.pop(packets)?;
        if self.list.is_empty() {
            return Some((id, None));
        }
        let packet = &packets[id];
        self.first = packet.next_order;
        packets.fetch(packet.next);
        Some((id, Some((packet.next_arrival, packet.next_order))))
    }

    /// Takes the first packet off the wire before it arrives.
    pub(crate) fn lose(&mut self, packets: &PacketSlab) -> Option<PacketId> {
        self.first = Order::FIRST;
        self.list.pop(packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, EventQueue, Ties};
    use crate::index::PortId;
    use trialwise_units::Duration;

    const ARRIVAL: Event = Event::Arrival(PortId::new(1));

    #[test]
    fn packets_land_in_order_and_each_tells_the_arrival_of_the_next() {
        let (mut flight, mut packets) = (Flight::EMPTY, PacketSlab::new());
        let mut events = EventQueue::new(Duration::from_nanoseconds(1), Ties::Reserved);
        let arrivals: Vec<_> =
            (1..4).map(|time| (Time::from_nanoseconds(time), events.reserve(ARRIVAL))).collect();
        let ids: Vec<_> = arrivals.iter().map(|_| packets.take()).collect();
        let alone: Vec<_> =
            ids.iter().zip(&arrivals).map(|(id, at)| flight.launch(&mut packets, *id, *at)).collect();
        assert_eq!(alone, [true, false, false]);
        assert_eq!(flight.land(&packets, arrivals[0].1), Some((ids[0], Some(arrivals[1]))));
        assert_eq!(flight.land(&packets, arrivals[0].1), None);
        assert_eq!(flight.land(&packets, arrivals[1].1), Some((ids[1], Some(arrivals[2]))));
        assert_eq!(flight.land(&packets, arrivals[2].1), Some((ids[2], None)));
    }

    #[test]
    fn the_event_of_a_lost_packet_brings_no_later_one_down() {
        let (mut flight, mut packets) = (Flight::EMPTY, PacketSlab::new());
        let mut events = EventQueue::new(Duration::from_nanoseconds(1), Ties::Reserved);
        let (lost, later) = (packets.take(), packets.take());
        let (first, second) = (events.reserve(ARRIVAL), events.reserve(ARRIVAL));
        flight.launch(&mut packets, lost, (Time::from_nanoseconds(5), first));
        assert_eq!((flight.lose(&packets), flight.land(&packets, first)), (Some(lost), None));
        assert!(flight.launch(&mut packets, later, (Time::from_nanoseconds(6), second)));
        assert_eq!(flight.land(&packets, first), None);
        assert_eq!(flight.land(&packets, second), Some((later, None)));
    }
}
