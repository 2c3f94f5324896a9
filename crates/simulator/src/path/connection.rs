//! A connection over a simulated path: both its ends.

use trialwise_link::Ecn;
use trialwise_protocol::application::{Application, Completion};
use trialwise_protocol::frame::{Answer, Data, Frame, Way};
use trialwise_protocol::load::Job;
use trialwise_protocol::message::{PART_BYTES, Whole};
use trialwise_protocol::opening::{OPENING_BYTES, Task};
use trialwise_protocol::receiver::Receiver;
use trialwise_protocol::report::Captured;
use trialwise_protocol::scheme::{IpVersion, Scheme, SchemeError, UDP_HEADER};
use trialwise_protocol::sender::{Departure, Sender};
use trialwise_units::{Seed, Time};

/// A frame that leaves an end, the bytes of its IP packet, and its ECN field.
pub(super) type Leaving = (Frame, u16, Ecn);

/// A connection: what a UDP sender and the receiver have of it.
pub(super) struct Connection {
    /// Place of its flow.
    pub(super) flow: u16,
    scheme: Scheme,
    /// Its place in the load.
    job: usize,
    task: Task,
    pub(super) opener: Sender,
    seed: Seed,
    application: Application,
    /// What comes back to the opener.
    returned: Receiver,
    /// What comes to the other end.
    arrived: Receiver,
    /// What the other end sends, where it answers requests, from the first packet on.
    answerer: Option<Sender>,
    /// Whether the opener has ended.
    pub(super) is_over: bool,
}

impl Connection {
    pub(super) fn new(
        flow: u16,
        scheme: Scheme,
        job: &Job,
        now: Time,
        seed: Seed,
    ) -> Result<Self, SchemeError> {
        Ok(Self {
            flow,
            job: job.flow,
            task: job.supply.task(),
            opener: scheme.sender(now, true, seed.named("opener"))?,
            seed,
            application: Application::new(job.supply.clone(), now, scheme.segment()),
            returned: scheme.receiver(),
            arrived: scheme.receiver(),
            scheme,
            answerer: None,
            is_over: false,
        })
    }

    /// Payload that has come back to the opener.
    pub(super) fn received(&self) -> u64 {
        self.returned.received()
    }

    /// Its place in the load.
    pub(super) const fn job(&self) -> usize {
        self.job
    }

    /// The next frame of media that its source has captured, or left out.
    pub(super) fn take_captured(&mut self) -> Option<Captured> {
        self.application.take_captured()
    }

    /// The next one that has wholly arrived.
    pub(super) fn take_whole(&mut self) -> Option<Whole> {
        self.arrived.take_whole()
    }

    /// A frame has arrived; the acknowledgement that it calls for.
    pub(super) fn on_frame(
        &mut self,
        now: Time,
        frame: &Frame,
        ecn: Ecn,
    ) -> Result<Option<Leaving>, SchemeError> {
        match frame {
            Frame::Data(Way::Out, data) => {
                if matches!(self.task, Task::Answer { .. }) && self.answerer.is_none() {
                    self.answerer = Some(self.scheme.sender(now, false, self.seed.named("answerer"))?);
                }
                Ok(acknowledge(&mut self.arrived, Way::Out, now, data, ecn))
            }
            Frame::Data(Way::Back, data) if !self.is_over => {
                Ok(acknowledge(&mut self.returned, Way::Back, now, data, ecn))
            }
            Frame::Answer(way, answer) => {
                if let Some(sender) = self.sender(*way) {
                    sender.on_answer(now, now, answer);
                }
                Ok(None)
            }
            Frame::Data(..) | Frame::Close => Ok(None),
        }
    }

    /// Who sends this way, while it does.
    pub(super) fn sender(&mut self, way: Way) -> Option<&mut Sender> {
        match way {
            Way::Out => Some(&mut self.opener).filter(|_| !self.is_over),
            Way::Back => self.answerer.as_mut(),
        }
    }

    /// Lets the application and the timers of both ends do what is due; a transfer that this completes.
    pub(super) fn advance(&mut self, now: Time) -> Option<Completion> {
        if let Some(answerer) = &mut self.answerer {
            answerer.write(self.task.owed(self.arrived.received()));
            expire(answerer, now);
        }
        if self.is_over {
            return None;
        }
        let (acknowledged, received) = (self.opener.acknowledged(), self.returned.received());
        let completion = self.application.on_progress(now, acknowledged, received);
        self.is_over = self.application.is_finished();
        self.application.write(now, &mut self.opener);
        expire(&mut self.opener, now);
        completion
    }

    /// The next frame that leaves one way, if any may now.
    pub(super) fn poll(&mut self, way: Way, now: Time) -> Option<Leaving> {
        let declared = self.scheme.manner.ecn;
        let sender = self.sender(way)?;
        let departure = sender.poll(now)?;
        let ecn = sender.ecn(declared);
        Some((Frame::Data(way, departure.data(None)), self.size_of(way, &departure), ecn))
    }

    /// Of the packets of a connection the first from the opener has an opening, which needs no telling here.
    fn size_of(&self, way: Way, departure: &Departure) -> u16 {
        let opens = way == Way::Out && departure.offset == 0;
        let opening = if opens { OPENING_BYTES as u64 } else { 0 };
        let part = if departure.part.is_some() { PART_BYTES as u64 } else { 0 };
        (self.scheme.overhead() + opening + part + departure.length) as u16
    }

    /// The next answer that is due to data of one way.
    pub(super) fn poll_answer(&mut self, way: Way, now: Time) -> Option<Leaving> {
        answer(self.receiver(way)?, way, now)
    }

    /// Who takes what is sent this way, while there is a connection.
    fn receiver(&mut self, way: Way) -> Option<&mut Receiver> {
        let receiver = if way == Way::Out { &mut self.arrived } else { &mut self.returned };
        Some(receiver).filter(|_| !self.is_over)
    }

    /// When something is to be done at either end.
    pub(super) fn next_event(&self, now: Time) -> Option<Time> {
        let back = self.answerer.as_ref().and_then(Sender::next_event);
        if self.is_over {
            return back;
        }
        let write = self.application.next_write(now);
        let answers = [&self.arrived, &self.returned]
            .map(|receiver| receiver.next_answer().map(Time::from_nanoseconds));
        [back, self.opener.next_event(), write].into_iter().chain(answers).flatten().min()
    }
}

fn expire(sender: &mut Sender, now: Time) {
    if sender.next_timer().is_some_and(|time| time <= now) {
        sender.on_timer(now);
    }
}

fn acknowledge(receiver: &mut Receiver, way: Way, now: Time, data: &Data, ecn: Ecn) -> Option<Leaving> {
    receiver.on_data(now.nanoseconds(), data, ecn);
    answer(receiver, way, now)
}

fn answer(receiver: &mut Receiver, way: Way, now: Time) -> Option<Leaving> {
    let answer: Answer = receiver.answer(now.nanoseconds())?;
    let size = IpVersion::Four.header() + UDP_HEADER + answer.frame_length() as u64;
    Some((Frame::Answer(way, answer), size as u16, Ecn::NotCapable))
}
