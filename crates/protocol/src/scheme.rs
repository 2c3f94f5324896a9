//! Congestion controllers by the names that people write.

use std::sync::Arc;

use trialwise_congestion::{Algorithm, AnyController, BuildError, Context, Factory, Feedback};
use trialwise_units::{Bytes, Duration, Ecn, Seed, Time};

use crate::frame::DATA_HEADER;
use crate::opening::OPENING_BYTES;
use crate::receiver::Receiver;
use crate::sender::{Segments, Sender};

/// Bytes of a UDP header (RFC 768).
pub const UDP_HEADER: u64 = 8;

/// Bytes of the smallest IP packet that every host takes whole (RFC 791, section 3.1).
pub const MIN_MTU: u16 = 576;
/// The largest packets: jumbo frames.
pub const MAX_MTU: u16 = 9000;

/// Why there is no such controller.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SchemeError {
    /// No controller has this name.
    #[error("no congestion control over UDP is called `{0}`; there are {known}", known = known())]
    Unknown(String),
    /// Packets too small for their headers and what the first of them says.
    #[error("an MTU of {0} bytes is too small for these packets; take {MIN_MTU} or more")]
    Mtu(u16),
    /// A controller that cannot be made.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The version of IP under a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// Headers of 20 bytes (RFC 791).
    Four,
    /// Headers of 40 bytes (RFC 8200).
    Six,
}

/// What a flow's packets say of themselves, and how its sender lets them go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// The ECN field of packets with data.
    pub ecn: Ecn,
    /// Whether windows are spread over their round trips ([`Sender::spreading_windows`]).
    pub spreads_window: bool,
    /// How often packets ask to be answered ([`Sender::answered_every`]); zero for at once.
    pub pace: Duration,
}

/// Which ECN field packets with data have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marking {
    /// That which the controller declares.
    #[default]
    Declared,
    /// That which the controller declares, or ECT(0) where it answers no marks.
    On,
    /// This one, whatever the controller makes of marks.
    Field(Ecn),
}

impl Marking {
    const fn field(self, declared: Ecn) -> Ecn {
        match (self, declared) {
            (Self::On, Ecn::NotCapable) => Ecn::Capable0,
            (Self::Declared | Self::On, declared) => declared,
            (Self::Field(ecn), _) => ecn,
        }
    }
}

/// A controller and the packets that it controls.
#[derive(Clone)]
pub struct Scheme {
    factory: Arc<dyn Factory + Send>,
    segment: u64,
    overhead: u64,
    /// How packets go.
    pub manner: Manner,
    many_round_trips: bool,
}

impl Scheme {
    /// The controller of this name for packets of at most `mtu` bytes. Rates of `fixed-rate` are of whole IP packets.
    ///
    /// # Errors
    /// There is no such controller, its rate is none, or packets are below [`MIN_MTU`].
    pub fn named(name: &str, mtu: u16, version: IpVersion, marking: Marking) -> Result<Self, SchemeError> {
        check_mtu(mtu)?;
        let segment = u64::from(mtu) - overhead(version);
        let algorithm = algorithm(name, segment as f64 / f64::from(mtu))?;
        let needs = algorithm.needs();
        let manner =
            Manner { ecn: marking.field(needs.ecn), spreads_window: needs.spreads_window, pace: needs.pace };
        let scheme = Self::new(Arc::new(algorithm), mtu, version, manner)?;
        Ok(Self { many_round_trips: needs.many_round_trips, ..scheme })
    }

    /// Controllers of this factory, for packets of at most `mtu` bytes.
    ///
    /// # Errors
    /// Packets below [`MIN_MTU`].
    pub fn new(
        factory: Arc<dyn Factory + Send>,
        mtu: u16,
        version: IpVersion,
        manner: Manner,
    ) -> Result<Self, SchemeError> {
        check_mtu(mtu)?;
        let overhead = overhead(version);
        Ok(Self { factory, segment: u64::from(mtu) - overhead, overhead, manner, many_round_trips: false })
    }

    /// The sender of a flow that starts now, at whichever end; its controller draws from this seed.
    ///
    /// # Errors
    /// The controller lacks something, or refuses a parameter.
    pub fn sender(&self, now: Time, carries_opening: bool, seed: Seed) -> Result<Sender, SchemeError> {
        let first = self.segment - if carries_opening { OPENING_BYTES as u64 } else { 0 };
        let segments = Segments { full: self.segment, first };
        let sender = Sender::new(self.controller(now, seed)?, segments, now).answered_every(self.manner.pace);
        let sender =
            if self.factory.feedback() == Feedback::Packets { sender.reporting_packets() } else { sender };
        Ok(if self.manner.spreads_window { sender.spreading_windows() } else { sender })
    }

    /// The same on a machine, where answers cost time: they are kept apart, unless its controller needs many round-trip times.
    ///
    /// # Errors
    /// The controller lacks something, or refuses a parameter.
    pub fn sender_on_machine(
        &self,
        now: Time,
        carries_opening: bool,
        seed: Seed,
    ) -> Result<Sender, SchemeError> {
        let sender = self.sender(now, carries_opening, seed)?;
        Ok(if self.many_round_trips { sender } else { sender.keeping_answers_apart() })
    }

    /// What acknowledges its packets, with the scheme's half at the receiver.
    pub fn receiver(&self) -> Receiver {
        Receiver::new(self.factory.receiver_half())
    }

    fn controller(&self, now: Time, seed: Seed) -> Result<AnyController, SchemeError> {
        let segment = Bytes::new(self.segment);
        let context =
            Context { now, segment, line_rate: None, base_rtt: None, path_window: None, hops: None, seed };
        Ok(self.factory.build(&context)?)
    }

    /// Payload of a full packet.
    pub const fn segment(&self) -> u64 {
        self.segment
    }

    /// Bytes of an IP packet before its payload, without an opening.
    pub const fn overhead(&self) -> u64 {
        self.overhead
    }
}

fn check_mtu(mtu: u16) -> Result<(), SchemeError> {
    if mtu < MIN_MTU { Err(SchemeError::Mtu(mtu)) } else { Ok(()) }
}

/// Bytes of an IP packet that are not payload.
const fn overhead(version: IpVersion) -> u64 {
    version.header() + UDP_HEADER + DATA_HEADER as u64
}

impl IpVersion {
    /// Bytes of the header.
    pub const fn header(self) -> u64 {
        match self {
            Self::Four => 20,
            Self::Six => 40,
        }
    }
}

/// The controllers that can be had over UDP, as they are written.
pub fn known() -> String {
    let written = Algorithm::over_paths().into_iter().map(|(name, needs)| {
        if needs.rate { format!("{name}:RATE (such as {name}:12Mbit/s)") } else { name.to_owned() }
    });
    written.collect::<Vec<_>>().join(", ")
}

/// The controller of this name, as it is over UDP; `payload` is the share of payload in a packet.
fn algorithm(text: &str, payload: f64) -> Result<Algorithm, SchemeError> {
    match Algorithm::written(text, None) {
        Ok(algorithm) if !algorithm.needs().fabric => Ok(algorithm.over_udp(payload)),
        Ok(_) | Err(BuildError::Unknown { .. }) => Err(SchemeError::Unknown(text.to_owned())),
        Err(other) => Err(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Rate;

    fn scheme(name: &str) -> Result<Scheme, SchemeError> {
        Scheme::named(name, 1500, IpVersion::Four, Marking::Declared)
    }

    #[test]
    fn packets_fill_the_mtu() {
        assert_eq!(scheme("copa").unwrap().segment(), 1440);
        let six = Scheme::named("copa", 1400, IpVersion::Six, Marking::Declared).unwrap();
        assert_eq!(six.segment(), 1320);
    }

    #[test]
    fn a_fixed_rate_is_of_whole_packets() {
        for name in ["fixed_rate:15Mbit/s", "fixed-rate:15Mbit/s"] {
            let sender = scheme(name).unwrap().sender(Time::ZERO, true, Seed::new(1)).unwrap();
            assert_eq!(sender.state().pacing_rate, Some(Rate::from_bits_per_second(14_400_000)));
        }
    }

    #[test]
    fn marks_are_asked_for_where_they_are_answered() {
        let field =
            |name: &str, marking| Scheme::named(name, 1500, IpVersion::Four, marking).unwrap().manner.ecn;
        for (name, declared, on) in [
            ("cubic", Ecn::Capable0, Ecn::Capable0),
            ("ledbat", Ecn::Capable0, Ecn::Capable0),
            ("copa", Ecn::NotCapable, Ecn::Capable0),
            ("fixed-rate:1Mbit/s", Ecn::NotCapable, Ecn::Capable0),
        ] {
            assert_eq!((field(name, Marking::Declared), field(name, Marking::On)), (declared, on));
            assert_eq!(field(name, Marking::Field(Ecn::Capable1)), Ecn::Capable1);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |name: &str| scheme(name).err().unwrap().to_string();
        assert!(message("bbr").contains("there are newreno, cubic"));
        assert!(message("dctcp").contains("fixed_rate:RATE (such as fixed_rate:12Mbit/s)"));
        assert!(message("copa:1").contains("no congestion control"));
        assert!(message("fixed-rate").contains("does not start with a number"));
        let zero = scheme("fixed-rate:0bit/s").unwrap().sender(Time::ZERO, true, Seed::new(1));
        assert!(zero.err().unwrap().to_string().contains("greater than zero"));
    }
}
