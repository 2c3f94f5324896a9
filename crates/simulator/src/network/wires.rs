//! Ports and their wires: who is on the way, who waits, what is lost.

use std::ops::{Index, IndexMut};

use trialwise_units::Time;

use super::clock::Clock;
use super::mail::{Letters, Mail};
use super::packets::Packets;
use super::parts::Parts;
use super::terms::Terms;
use crate::buffer::{Held, IngressLimits};
use crate::event::Event;
use crate::index::{HostId, PacketId, PartId, PortId};
use crate::link_kind::{LinkKind, LinkKinds};
use crate::packet::Kind;
use crate::port::{Port, PortStatistics, Side};
use crate::random::Chance;
use crate::routing::End;
use crate::timing::Quantum;

/// One direction of each link.
pub(super) struct Wires {
    ports: Vec<Port>,
    kinds: LinkKinds,
    quantum: Quantum,
    losses: Chance,
    mail: Mail,
}

impl Wires {
    pub(super) fn new(terms: &Terms<'_>, parts: &Parts) -> Self {
        let (fabric, settings) = (terms.fabric, terms.settings);
        let links = &fabric.topology().links;
        let (kinds, of_each) = LinkKinds::new(links, fabric.host_rate(HostId::new(0)), settings);
        let ports = (0..2 * links.len()).map(|number| {
            let port = PortId::new(number as u32);
            let side = |end: PortId| match fabric.end(end.reverse()) {
                End::Host(_) => Side::Card(fabric.card(end)),
                End::Switch(switch) => Side::Switch(switch),
            };
            Port::new(of_each[number / 2], side(port), side(port.reverse()))
                .in_part(parts.at_end(fabric.topology(), port))
        });
        let ports = ports.collect();
        Self {
            ports,
            kinds,
            quantum: terms.quantum,
            losses: Chance::new(settings.seed.named("losses"), parts.lookahead().is_some()),
            mail: Mail::default(),
        }
    }

    /// What the link of a port shares with others.
    #[inline]
    pub(super) fn kind(&self, port: PortId) -> &LinkKind {
        &self.kinds[self.ports[port.index()].kind]
    }

    /// What the far end holds of one class that came over this wire, and what it may hold.
    #[inline]
    pub(super) fn account(&mut self, wire: PortId, class: usize) -> (&mut Held, IngressLimits) {
        let port = &mut self.ports[wire.index()];
        let limits = self.kinds[port.kind].limits;
        (port.held(class), limits)
    }

    /// Whether the wire is taken for the running event.
    #[inline]
    pub(super) fn is_busy(&self, port: PortId, clock: &Clock) -> bool {
        self.ports[port.index()].is_busy(clock.now(), clock.running())
    }

    /// Puts a packet on an idle wire: the end of its transmission is scheduled first, then its arrival.
    #[inline]
    pub(super) fn transmit(&mut self, port: PortId, id: PacketId, packets: &mut Packets, clock: &mut Clock) {
        let wire = &mut self.ports[port.index()];
        let size = u64::from(packets[id].wire);
        let kind = &mut self.kinds[wire.kind];
        wire.transmitted += size;
        wire.free_at = clock.now() + kind.duration(self.quantum, size);
        wire.free_order = clock.reserve(Event::Free(port));
        wire.free_scheduled = false;
        let (arrival, order) = (wire.free_at + kind.delay, clock.reserve(Event::Arrival(port)));
        if self.mail.is_elsewhere(wire.end_part) {
            self.mail.send(wire.end_part, (port, (arrival, order)), id, packets);
        } else if wire.flight.launch(packets.slab_mut(), id, (arrival, order)) {
            clock.push_to(wire.end_part, arrival, order);
        }
    }

    /// Takes the packet off the wire whose arrival is the running event, and schedules the arrival of the one behind it;
    /// none where the wire has lost it meanwhile.
    #[inline]
    pub(super) fn land(
        &mut self,
        port: PortId,
        packets: &Packets,
        clock: &mut Clock,
    ) -> Option<(PacketId, Side)> {
        let wire = &mut self.ports[port.index()];
        let (id, next) = wire.flight.land(packets.slab(), clock.running())?;
        if let Some((time, order)) = next {
            clock.push(time, order);
        }
        Some((id, wire.end))
    }

    /// Whether a lossy link loses this packet. Pause frames are spared: nothing would repeat them.
    #[inline]
    pub(super) fn loses(&mut self, port: PortId, kind: Kind, now: Time) -> bool {
        let loss = self.kind(port).loss;
        loss > 0.0 && !matches!(kind, Kind::Pause | Kind::Resume) && self.losses.uniform(port, now) < loss
    }

    /// Makes sure that the port is served when its wire falls free.
    #[inline]
    pub(super) fn serve_when_free(&mut self, port: PortId, clock: &mut Clock) {
        let wire = &mut self.ports[port.index()];
        if !wire.free_scheduled {
            wire.free_scheduled = true;
            clock.push(wire.free_at, wire.free_order);
        }
    }

    /// The wire has fallen free; gives who sends through the port.
    #[inline]
    pub(super) fn fall_free(&mut self, port: PortId) -> Side {
        let wire = &mut self.ports[port.index()];
        wire.free_scheduled = false;
        wire.owner
    }

    /// Has letters for other threads from now on.
    pub(super) fn share(&mut self, mail: Mail) {
        self.mail = mail;
    }

    pub(super) const fn mail(&mut self) -> &mut Mail {
        &mut self.mail
    }

    /// Puts what other threads have sent on its wires.
    pub(super) fn deliver(&mut self, letters: &mut Letters, packets: &mut Packets, clock: &mut Clock) {
        let mut records = letters.records.drain(..);
        for letter in letters.packets.drain(..) {
            let id = packets.take_over(letter.packet, &mut records);
            let wire = &mut self.ports[letter.port.index()];
            if wire.flight.launch(packets.slab_mut(), id, letter.arrival) {
                clock.push_to(wire.end_part, letter.arrival.0, letter.arrival.1);
            }
        }
    }

    /// Whether another thread has what sends through a port.
    pub(super) fn is_elsewhere(&self, port: PortId) -> bool {
        self.mail.is_elsewhere(self.part(port))
    }

    /// The part that sends through a port.
    pub(super) fn part(&self, port: PortId) -> PartId {
        self.ports[port.reverse().index()].end_part
    }

    /// Whether all links work.
    pub(super) fn are_up(&self) -> bool {
        self.ports.iter().all(|port| port.up)
    }

    /// What each port has seen.
    pub(super) fn statistics(&self, now: Time) -> Vec<PortStatistics> {
        self.ports.iter().map(|port| port.statistics_until(now)).collect()
    }
}

impl Index<PortId> for Wires {
    type Output = Port;

    #[inline]
    fn index(&self, port: PortId) -> &Port {
        &self.ports[port.index()]
    }
}

impl IndexMut<PortId> for Wires {
    #[inline]
    fn index_mut(&mut self, port: PortId) -> &mut Port {
        &mut self.ports[port.index()]
    }
}
