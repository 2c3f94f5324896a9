//! How DualPI2 is written, and what it is without more words.

use trialwise_units::Duration;
use trialwise_units::element::{Arguments, Declared, ElementError, Form, Key, Takes};

use super::{DualPi2, DualPi2Parameters};
use crate::error::SpecError;
use crate::packet::{FULL_PACKET, Packet};
use crate::queue::register::DeclaredQueue;
use crate::queue::{Limit, LimitSpec, Queue, Surroundings};

/// The default limit is what the link sends in this time (appendix A.1, `limit`).
const LIMIT: Duration = Duration::from_milliseconds(250);
/// The default limit of Linux (tc-dualpi2(8), `limit`).
const LINUX_PACKETS: u64 = 10_000;

/// `dualpi2` or `dualpi2-linux`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Spec {
    /// None for what the link sends in 250 ms.
    pub(crate) limit: Option<LimitSpec>,
    /// What it goes by.
    pub(crate) parameters: DualPi2Parameters,
}

const TARGET: Key =
    Key { name: "target", takes: Takes::Span, words: "Target delay of the classic queue; default 15 ms." };
const COUPLING: Key = Key {
    name: "coupling",
    takes: Takes::Number,
    words: "Ratio of the marks of the low-latency queue to the square root of what the classic queue drops; default 2.",
};

impl Declared for DualPi2Spec {
    const FORMS: &'static [Form] = &[
        Form {
            name: "dualpi2",
            words: "DualPI2 (RFC 9332, appendix A): a short queue for ECT(1) and CE, a classic one for the rest; default limit 250 ms at the link's rate.",
            head: None,
            keys: &[
                LimitSpec::PACKETS,
                LimitSpec::BYTES,
                LimitSpec::BDP,
                TARGET,
                Key {
                    name: "max_rtt",
                    takes: Takes::Span,
                    words: "Longest usual round-trip time, by which the controller is tuned; default 100 ms.",
                },
                COUPLING,
                Key {
                    name: "threshold",
                    takes: Takes::Time,
                    words: "Delay up to which the low-latency queue does not mark by itself; default 800 us.",
                },
                Key {
                    name: "range",
                    takes: Takes::Time,
                    words: "Further delay over which its marks rise to all, 0 for a step; default 400 us.",
                },
                Key {
                    name: "share",
                    takes: Takes::Share,
                    words: "Part of the link that the classic queue has at least; default 1/16.",
                },
            ],
            example: "dualpi2:target=15ms,max_rtt=100ms",
        },
        Form {
            name: "dualpi2-linux",
            words: "DualPI2 with the settings of Linux 6.17; default limit 10000 packets.",
            head: None,
            keys: &[
                LimitSpec::PACKETS,
                LimitSpec::BYTES,
                LimitSpec::BDP,
                TARGET,
                Key {
                    name: "update",
                    takes: Takes::Span,
                    words: "Interval at which the probability is updated; default 16 ms.",
                },
                Key {
                    name: "alpha",
                    takes: Takes::Number,
                    words: "Weight of the distance from the target, per second; default 0.16.",
                },
                Key {
                    name: "beta",
                    takes: Takes::Number,
                    words: "Weight of the change of the delay, per second; default 3.2.",
                },
                COUPLING,
                Key {
                    name: "threshold",
                    takes: Takes::Time,
                    words: "Delay above which the low-latency queue marks all; default 1 ms.",
                },
                Key {
                    name: "share",
                    takes: Takes::Share,
                    words: "Part of the link that the classic queue has at least; default 10 %.",
                },
            ],
            example: "dualpi2-linux:packets=10000",
        },
    ];

    fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let is_linux = arguments.name() == "dualpi2-linux";
        let given = LimitSpec::read(arguments)?;
        let limit = if is_linux { Some(given.or_packets(LINUX_PACKETS)) } else { given.if_given() };
        let base = if is_linux { read_linux(arguments)? } else { read_rfc(arguments)? };
        let parameters = DualPi2Parameters {
            coupling: arguments.number("coupling")?.unwrap_or(base.coupling),
            threshold: arguments.time("threshold")?.unwrap_or(base.threshold),
            share: arguments.share("share")?.unwrap_or(base.share),
            ..base
        };
        Ok(Self { limit, parameters })
    }
}

fn read_rfc(arguments: &Arguments<'_>) -> Result<DualPi2Parameters, ElementError> {
    let target = arguments.span("target")?.unwrap_or(Duration::from_milliseconds(15));
    let max_rtt = arguments.span("max_rtt")?.unwrap_or(Duration::from_milliseconds(100));
    let base = DualPi2Parameters::for_round_trips(target, max_rtt);
    Ok(DualPi2Parameters { range: arguments.time("range")?.unwrap_or(base.range), ..base })
}

fn read_linux(arguments: &Arguments<'_>) -> Result<DualPi2Parameters, ElementError> {
    let base = DualPi2Parameters::LINUX;
    Ok(DualPi2Parameters {
        target: arguments.span("target")?.unwrap_or(base.target),
        update: arguments.span("update")?.unwrap_or(base.update),
        alpha: arguments.number("alpha")?.unwrap_or(base.alpha),
        beta: arguments.number("beta")?.unwrap_or(base.beta),
        ..base
    })
}

impl DeclaredQueue for DualPi2Spec {
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        let limit = match &self.limit {
            Some(limit) => limit.resolve(surroundings)?,
            None => {
                Limit { spares_one: true, ..Limit::bytes(surroundings.rate.bytes_in(LIMIT).max(FULL_PACKET)) }
            }
        };
        Ok(Box::new(DualPi2::new(self.parameters, limit, surroundings.seed)))
    }
}
