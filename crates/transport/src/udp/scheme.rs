//! Congestion controllers by the names that people write.

use std::net::SocketAddr;

use trialwise_congestion::{
    Algorithm, AnyController, Context, CopaSettings, CubicSettings, Factory, FixedRateSettings,
    LedbatSettings, NewRenoSettings,
};
use trialwise_units::{Bytes, ParseQuantityError, Rate, Time};

use crate::opening::OPENING_BYTES;
use crate::protocol::frame::DATA_HEADER;
use crate::protocol::sender::{Segments, Sender};
use crate::system::is_ipv4;

const NAMES: &str = "newreno, cubic, ledbat, copa, fixed-rate:RATE (such as fixed-rate:12Mbit/s)";
const UDP_HEADER: u64 = 8;

/// Why there is no such controller.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum SchemeError {
    #[error("no congestion control over UDP is called `{0}`; there are {NAMES}")]
    Unknown(String),
    #[error("fixed-rate: {0}")]
    Rate(ParseQuantityError),
    #[error(transparent)]
    Build(#[from] trialwise_congestion::BuildError),
}

/// A controller and the packets that it controls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheme {
    algorithm: Algorithm,
    segment: u64,
    /// Whether its packets say that they may be marked.
    pub(super) ecn: bool,
}

impl Scheme {
    /// The controller of this name for packets of at most `mtu` bytes to `peer`. Rates of `fixed-rate` are of whole IP
    /// packets. `ecn` is on where the controller answers marks (RFC 3168, section 6.1.2), unless it is said otherwise.
    pub(super) fn named(
        name: &str,
        mtu: u16,
        peer: &SocketAddr,
        ecn: Option<bool>,
    ) -> Result<Self, SchemeError> {
        let ip_header = if is_ipv4(peer) { 20 } else { 40 };
        let segment = u64::from(mtu) - ip_header - UDP_HEADER - DATA_HEADER as u64;
        let algorithm = algorithm(name, segment as f64 / f64::from(mtu))?;
        let answers = matches!(algorithm, Algorithm::NewReno(_) | Algorithm::Cubic(_) | Algorithm::Ledbat(_));
        Ok(Self { algorithm, segment, ecn: ecn.unwrap_or(answers) })
    }

    /// The sender of a flow that starts now, at whichever end.
    pub(super) fn sender(&self, now: Time, carries_opening: bool) -> Result<Sender, SchemeError> {
        let first = self.segment - if carries_opening { OPENING_BYTES as u64 } else { 0 };
        let segments = Segments { full: self.segment, first };
        let sender = Sender::new(self.controller(now)?, segments, now);
        // LEDBAT bounds its window by what is in flight (RFC 6817, section 2.4.2), which spreading would lower.
        let spreads = matches!(self.algorithm, Algorithm::NewReno(_) | Algorithm::Cubic(_));
        Ok(if spreads { sender.spreading_windows() } else { sender })
    }

    fn controller(&self, now: Time) -> Result<AnyController, SchemeError> {
        let segment = Bytes::new(self.segment);
        let context = Context { now, segment, line_rate: None, base_rtt: None, path_window: None };
        Ok(self.algorithm.build(&context)?)
    }

    /// Payload of a full packet.
    pub(super) const fn segment(&self) -> u64 {
        self.segment
    }
}

/// The controller; `payload` is the share of payload in a packet. Slow start counts all that an answer acknowledges, as RFC
/// 9406, section 4.3 has it where windows are spread, and Linux does (`tcp_slow_start`).
fn algorithm(name: &str, payload: f64) -> Result<Algorithm, SchemeError> {
    let burst_limit = u32::MAX;
    match name.split_once(':').unwrap_or((name, "")) {
        ("newreno", "") => {
            Ok(Algorithm::NewReno(NewRenoSettings { burst_limit, ..NewRenoSettings::default() }))
        }
        ("cubic", "") => Ok(Algorithm::Cubic(CubicSettings { burst_limit, ..CubicSettings::default() })),
        ("ledbat", "") => Ok(Algorithm::Ledbat(LedbatSettings::default())),
        ("copa", "") => Ok(Algorithm::Copa(CopaSettings::default())),
        ("fixed-rate", rate) => {
            let rate: Rate = rate.parse().map_err(SchemeError::Rate)?;
            let rate = Rate::from_bits_per_second((rate.bits_per_second() as f64 * payload) as u64);
            Ok(Algorithm::FixedRate(FixedRateSettings { rate }))
        }
        _ => Err(SchemeError::Unknown(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(name: &str) -> Result<Scheme, SchemeError> {
        Scheme::named(name, 1500, &"10.0.0.1:9".parse().unwrap(), None)
    }

    #[test]
    fn packets_fill_the_mtu() {
        assert_eq!(scheme("copa").unwrap().segment(), 1440);
        let six = Scheme::named("copa", 1400, &"[::1]:9".parse().unwrap(), None).unwrap();
        assert_eq!(six.segment(), 1320);
    }

    #[test]
    fn a_fixed_rate_is_of_whole_packets() {
        let Algorithm::FixedRate(settings) = scheme("fixed-rate:15Mbit/s").unwrap().algorithm else {
            panic!()
        };
        assert_eq!(settings.rate, Rate::from_bits_per_second(14_400_000));
    }

    #[test]
    fn marks_are_asked_for_where_they_are_answered() {
        assert!(scheme("cubic").unwrap().ecn && scheme("ledbat").unwrap().ecn);
        assert!(!scheme("copa").unwrap().ecn && !scheme("fixed-rate:1Mbit/s").unwrap().ecn);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |name: &str| scheme(name).unwrap_err().to_string();
        assert!(message("bbr").contains("there are newreno, cubic"));
        assert!(message("copa:1").contains("no congestion control"));
        assert!(message("fixed-rate").contains("does not start with a number"));
        let zero = scheme("fixed-rate:0bit/s").unwrap().sender(Time::ZERO, true);
        assert!(zero.err().unwrap().to_string().contains("greater than zero"));
    }
}
