//! A path at work: packets of both directions through their links, in real time.

use std::io;

use trialwise_link::Link;
use trialwise_link::log::Direction;
use trialwise_units::Time;

use crate::carrier::{Place, Served};
use crate::datagram::Datagram;
use crate::device::{Device, DeviceCounters};
use crate::engine::{Engine, Way};
use crate::error::Error;
use crate::log::PacketLog;
use crate::relay::Gate;
use crate::report::Report;

/// An emulated path at work: a thread takes packets from either device through its link to the other. Dropping it takes
/// the path off the thread.
#[derive(Debug)]
pub struct Emulator {
    place: Place,
    /// What the kernel had counted before.
    before: [DeviceCounters; 2],
}

impl Emulator {
    /// Gives the path between the devices of the sender and of the receiver to a thread. The links, to the receiver and back,
    /// start at [`Time::ZERO`], which is now.
    ///
    /// # Errors
    /// `System`.
    pub fn start(
        devices: [Device; 2],
        links: [Link<Datagram>; 2],
        log: Option<PacketLog>,
    ) -> Result<Self, Error> {
        Self::start_with_gate(devices, links, log, None)
    }

    pub(crate) fn start_with_gate(
        devices: [Device; 2],
        [forward, backward]: [Link<Datagram>; 2],
        log: Option<PacketLog>,
        gate: Option<Gate>,
    ) -> Result<Self, Error> {
        let before = read_counters(&devices).map_err(Error::from_io("reading the counters of a device"))?;
        let ways =
            [Way::new(Direction::Forward, forward, gate), Way::new(Direction::Backward, backward, None)];
        let place = Place::take(|| Box::new(Engine::new(devices, ways, log)))?;
        Ok(Self { place, before })
    }

    /// Stops the path and tells what became of it. Packets that are still inside are held, not delivered.
    ///
    /// # Errors
    /// `System` when the thread died.
    pub fn stop(self) -> Result<Report, Error> {
        let died = || Error::System { attempt: "running the emulator", source: io::Error::other("it died") };
        Ok(report(self.place.give_back().ok_or_else(died)?, self.before))
    }
}

fn report(served: Served, before: [DeviceCounters; 2]) -> Report {
    let Served { mut engine, ended, processor_time, priority, yielded, failure } = served;
    let (after, failure) = match read_counters(&engine.devices) {
        Ok(after) => (after, failure),
        Err(error) => (before, failure.or(Some(error))),
    };
    // Asked now: what is held counts as such, also where its element would have let it go later.
    let [forward, backward] = engine.ways.each_ref().map(Way::elements);
    engine.hold_the_rest(ended);
    let (records_lost, written) = engine.log.take().map_or((0, Ok(())), PacketLog::finish);
    Report {
        started: engine.clock.origin(),
        duration: ended - Time::ZERO,
        processor_time,
        device: engine.devices[0].kind(),
        priority,
        yielded,
        unseen: engine.unseen.percentiles(),
        forward: engine.ways[0].report(before, after, forward),
        backward: engine.ways[1].report(before, after, backward),
        records_lost,
        log_error: written.err().map(|error| error.to_string()),
        failure: failure.map(|error| error.to_string()),
    }
}

fn read_counters(devices: &[Device; 2]) -> io::Result<[DeviceCounters; 2]> {
    Ok([devices[0].counters()?, devices[1].counters()?])
}
