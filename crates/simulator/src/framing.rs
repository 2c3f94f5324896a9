//! How large packets are on the wire.

use trialwise_congestion::Feedback;

use crate::settings::Settings;

/// Bytes of the time stamp that a controller may ask for.
const TIMESTAMP_BYTES: u64 = 8;
/// Bytes of the telemetry header: five records of eight bytes and a count, always whole.
const TELEMETRY_BYTES: u64 = 42;
/// Ethernet, IPv4 and the fields of an acknowledgement.
const ACKNOWLEDGEMENT_HEADER: u64 = 46;

/// Sizes of packets, in bytes, with what a controller's feedback adds to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload of a full packet.
    pub segment: u64,
    /// Headers of a data packet.
    pub header: u64,
    /// An acknowledgement.
    pub acknowledgement: u64,
}

impl Framing {
    /// Packets under these settings for controllers that want this feedback.
    pub fn new(settings: &Settings, feedback: Feedback) -> Self {
        let extra = match feedback {
            Feedback::Marks => 0,
            Feedback::Timestamps | Feedback::Packets => TIMESTAMP_BYTES,
            Feedback::Telemetry => TELEMETRY_BYTES,
        };
        Self {
            segment: settings.segment.get(),
            header: settings.header.get() + extra,
            acknowledgement: settings.acknowledgement.get().max(ACKNOWLEDGEMENT_HEADER + extra),
        }
    }

    /// Bytes on the wire of a flow with so much payload.
    pub const fn wire(self, payload: u64) -> u64 {
        payload + self.header * payload.div_ceil(self.segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Rate;

    #[test]
    fn feedback_makes_packets_larger() {
        let settings = Settings::for_line_rate(Rate::from_megabits_per_second(100_000));
        let sizes = |feedback| {
            let framing = Framing::new(&settings, feedback);
            (framing.header, framing.acknowledgement, framing.wire(1001))
        };
        assert_eq!(sizes(Feedback::Marks), (48, 60, 1097));
        assert_eq!(sizes(Feedback::Timestamps), (56, 60, 1113));
        assert_eq!(sizes(Feedback::Telemetry), (90, 88, 1181));
    }
}
