//! One end of a connection: a sender, a receiver, and the frames between.

use std::io;
use std::net::SocketAddr;

use trialwise_units::Time;

use crate::clock::Clock;
use crate::udp::outbox::Outbox;
use crate::udp::socket::{Arrived, EcnField, Socket};
use trialwise_protocol::frame::{DATA_HEADER, Frame, MAX_ANSWER, Name, Way, write_answer, write_data};
use trialwise_protocol::message::Whole;
use trialwise_protocol::opening::{OPENING_BYTES, Opening};
use trialwise_protocol::receiver::Receiver;
use trialwise_protocol::sender::Sender;

/// Batches sent before others have their turn.
const TURN: usize = 32;

/// How this end sends data.
pub(super) struct Outgoing {
    pub(super) sender: Sender,
    /// What the first packet says, at the end that opened the connection.
    pub(super) opening: Option<Opening>,
    /// Of packets with data.
    pub(super) field: EcnField,
    /// The longest frame.
    pub(super) frame: usize,
}

/// One end.
pub(super) struct Connection {
    pub(super) name: Name,
    /// Which way this end sends.
    way: Way,
    /// Where to; none where the socket has one peer.
    to: Option<SocketAddr>,
    pub(super) outgoing: Option<Outgoing>,
    receiver: Receiver,
}

impl Connection {
    /// The end that opens it, at a socket with one peer.
    pub(super) fn opening(name: Name, outgoing: Outgoing, receiver: Receiver) -> Self {
        Self { name, way: Way::Out, to: None, outgoing: Some(outgoing), receiver }
    }

    /// The other end, which does not know yet what it is to do.
    pub(super) fn opened(name: Name, to: SocketAddr) -> Self {
        Self { name, way: Way::Back, to: Some(to), outgoing: None, receiver: Receiver::default() }
    }

    /// It is known now whose packets come: those of the scheme with this receiver.
    pub(super) fn receive_as(&mut self, receiver: Receiver) {
        self.receiver = std::mem::take(&mut self.receiver).with_half_of(receiver);
    }

    /// Bytes that have come without a gap.
    pub(super) fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// The next message that has wholly come.
    pub(super) fn take_whole(&mut self) -> Option<Whole> {
        self.receiver.take_whole()
    }

    /// A frame is read now.
    pub(super) fn on_frame(&mut self, clock: Clock, now: Time, frame: &Frame, arrived: &Arrived<'_>) {
        match (frame, &mut self.outgoing) {
            (Frame::Data(way, data), _) if *way != self.way => {
                self.receiver.on_data(clock.nanoseconds(arrived.at), data, arrived.ecn);
            }
            (Frame::Answer(way, answer), Some(outgoing)) if *way == self.way => {
                outgoing.sender.on_answer(now, arrived.at, answer);
            }
            _ => {}
        }
    }

    /// Does what a frame that has just come calls for; data that come joined are answered together, and those that came long after
    /// them by themselves, even where all were read late. Where nothing else says when packets leave, an acknowledgement sends what
    /// it permits before the next is looked at: controllers may go by what is in flight then (RFC 6817, section 2.4.2).
    pub(super) fn respond(
        &mut self,
        frame: &Frame,
        arrived: &Arrived<'_>,
        clock: Clock,
        (socket, outbox): (&Socket, &mut Outbox),
        is_blocked: &mut bool,
    ) -> io::Result<()> {
        match frame {
            Frame::Data(..) if arrived.is_last && self.receiver.is_due(clock.nanoseconds(arrived.at)) => {
                self.answer(clock, socket)
            }
            Frame::Answer(..) if !*is_blocked && self.is_clocked_by_answers() => {
                *is_blocked = !self.transmit(clock, socket, outbox)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn is_clocked_by_answers(&self) -> bool {
        self.outgoing.as_ref().is_some_and(|outgoing| outgoing.sender.is_clocked_by_answers())
    }

    /// When an answer is owed.
    pub(super) fn next_answer(&self, clock: Clock) -> Option<Time> {
        self.receiver.next_answer().map(|nanoseconds| clock.time(nanoseconds))
    }

    /// Until when the socket need not be read for this connection, now: what comes is answered together anyway, or packets leave
    /// then in any case.
    pub(super) fn rests_until(&self, clock: Clock, now: Time) -> Option<Time> {
        let receiver = self.receiver.rests_until().map(|nanoseconds| clock.time(nanoseconds));
        let sender = self.outgoing.as_ref().and_then(|outgoing| outgoing.sender.rests_until(now));
        receiver.into_iter().chain(sender).filter(|time| *time > now).min()
    }

    /// Acknowledges what has come since the last time, where that is due. An answer that the socket does not take is lost, as on the path.
    pub(super) fn answer(&mut self, clock: Clock, socket: &Socket) -> io::Result<()> {
        let Some(answer) = self.receiver.answer(clock.nanoseconds(clock.now())) else { return Ok(()) };
        let way = if self.way == Way::Out { Way::Back } else { Way::Out };
        let mut buffer = [0; MAX_ANSWER];
        let length = write_answer(&mut buffer, self.name, way, &answer);
        socket.send(self.to.as_ref(), &buffer[..length], length, None).map(drop)
    }

    /// Sends what may leave now, until others have their turn; whether the socket took all of it.
    pub(super) fn transmit(
        &mut self,
        clock: Clock,
        socket: &Socket,
        outbox: &mut Outbox,
    ) -> io::Result<bool> {
        for _ in 0..TURN {
            self.fill(clock.now(), outbox);
            if outbox.is_empty() {
                break;
            }
            if !outbox.flush(socket)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn fill(&mut self, now: Time, outbox: &mut Outbox) {
        let Some(outgoing) = &mut self.outgoing else { return };
        outbox.address(self.to, Some(outgoing.field.of_sender(&outgoing.sender)));
        while let Some(slot) = outbox.slot(outgoing.frame) {
            let Some(departure) = outgoing.sender.poll(now) else { return };
            let data = departure.data(outgoing.opening.filter(|_| departure.offset == 0));
            let length = write_data(slot, self.name, self.way, &data);
            outbox.push(length);
        }
    }
}

/// The length of a frame with so much payload.
pub(super) const fn frame_length(payload: u64) -> usize {
    DATA_HEADER + payload as usize
}

const _: () = assert!(OPENING_BYTES < 500, "the smallest packet holds an opening");
