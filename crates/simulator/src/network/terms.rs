//! What holds for the whole of a trial.

use trialwise_congestion::{Factory, Feedback};
use trialwise_units::{Bytes, Duration, Ecn};

use crate::fabric::Fabric;
use crate::framing::Framing;
use crate::settings::{Mode, Settings};
use crate::timing::Quantum;

/// The parameters of a trial, and what follows from them. Nobody changes it.
pub(super) struct Terms<'a> {
    pub(super) settings: &'a Settings,
    pub(super) fabric: &'a Fabric,
    pub(super) factory: &'a dyn Factory,
    pub(super) quantum: Quantum,
    /// Whether everything is as in the reference simulator.
    pub(super) compatible: bool,
    pub(super) carries_telemetry: bool,
    /// Whether controllers are told of each packet.
    pub(super) reports_packets: bool,
    /// Of data that are not marked.
    pub(super) ecn: Ecn,
    /// Bytes of headers of a packet of data.
    pub(super) data_header: u64,
    /// Bytes of an acknowledgement.
    pub(super) acknowledgement_wire: u64,
}

impl<'a> Terms<'a> {
    pub(super) fn new(fabric: &'a Fabric, settings: &'a Settings, factory: &'a dyn Factory) -> Self {
        let framing = Framing::new(settings, factory.feedback());
        let compatible = settings.mode == Mode::Compatible;
        Self {
            settings,
            fabric,
            factory,
            quantum: if compatible { Quantum::NanosecondFloor } else { Quantum::Picosecond },
            compatible,
            carries_telemetry: factory.feedback() == Feedback::Telemetry,
            reports_packets: factory.feedback() == Feedback::Packets,
            ecn: factory.ecn(),
            data_header: framing.header,
            acknowledgement_wire: framing.acknowledgement,
        }
    }

    /// About how far apart events lie where every link is busy: a port has one or two in the time that the
    /// fastest link takes for a full packet.
    pub(super) fn event_spacing(&self) -> Duration {
        let links = &self.fabric.topology().links;
        let fastest = links.iter().map(|link| link.rate.bits_per_second()).max().unwrap_or(1);
        let transmission = Quantum::Picosecond.transmission(self.settings.segment.get(), fastest);
        Duration::from_picoseconds(transmission.picoseconds() / (2 * links.len() as u64).max(1))
    }

    /// How long the slowest link takes for so much.
    pub(super) fn at_slowest_link(&self, bytes: Bytes) -> Duration {
        let slowest = self.fabric.topology().links.iter().map(|link| link.rate).min();
        slowest.map_or(Duration::ZERO, |rate| rate.transmission_time(bytes))
    }
}
