//! Queues: `droptail:packets=50`, `codel:packets=1000,target=5ms,interval=100ms`.

use std::str::FromStr;

use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use crate::packet::Packet;
use crate::queue::{
    CoDel, CoDelParameters, DropHead, DropTail, FqCoDel, FqCoDelParameters, Limit, MahimahiPie,
    MahimahiPieParameters, Pie, PieParameters, Queue, Red, RedParameters,
};
use crate::spec::arguments::{Arguments, split_name};
use crate::spec::{SpecError, words};

const NAMES: &[&str] = &[
    "infinite",
    "droptail",
    "drophead",
    "codel",
    "pie",
    "fq_codel",
    "red",
    "codel-mahimahi",
    "pie-mahimahi",
];
const FULL_PACKET: Bytes = Bytes::new(1500);

/// A queue as written. Defaults are those of its RFC; where that has none, of Linux (limits of 1000 packets,
/// fq_codel 10240).
#[derive(Clone, Debug, PartialEq)]
pub enum QueueSpec {
    /// `infinite`
    Infinite,
    /// `droptail:packets=,bytes=,bdp=,mark=`, at least one of the first three; up to `mark`, packets or a size, nothing is
    /// marked.
    DropTail(LimitSpec, Limit),
    /// `drophead:packets=,bytes=,bdp=`, at least one.
    DropHead(LimitSpec),
    /// `codel:packets=,bytes=,bdp=,target=,interval=,ecn=`, or `codel-mahimahi` as mm-link has it.
    CoDel(LimitSpec, CoDelParameters),
    /// `pie:packets=,bytes=,bdp=,target=,update=,max_burst=,ecn=`
    Pie(LimitSpec, PieParameters),
    /// `pie-mahimahi:packets=,bytes=,bdp=,target=,max_burst=`, both times given.
    MahimahiPie(LimitSpec, MahimahiPieParameters),
    /// `fq_codel:packets=,bytes=,bdp=,target=,interval=,ecn=,flows=,quantum=`
    FqCoDel(LimitSpec, FqCoDelParameters),
    /// `red:packets=,bytes=,bdp=,min=,max=,probability=,weight=,gentle=,ecn=`; min and max are packets.
    Red(LimitSpec, RedParameters),
}

/// Limits as written; all that are given hold at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitSpec {
    /// At most so many packets.
    pub packets: Option<u64>,
    /// At most so many bytes.
    pub bytes: Option<Bytes>,
    /// At most so many bandwidth-delay products, in bytes.
    pub bdp: Option<f64>,
}

/// What a queue must know of the link that it stands in.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// The bottleneck's rate, or the mean of a trace.
    pub rate: Rate,
    /// The round-trip time of the path without queues, where known: needed for limits in BDPs.
    pub round_trip: Option<Duration>,
    /// When the link starts.
    pub start: Time,
    /// From which the queue's seed derives.
    pub seed: Seed,
}

impl LimitSpec {
    fn read(arguments: &Arguments<'_>) -> Result<Self, SpecError> {
        let bytes = arguments.get("bytes")?;
        if bytes == Some(Bytes::ZERO) {
            return Err(arguments.bad("bytes", "0 would let nothing pass; write one like 75kB".to_owned()));
        }
        Ok(Self { packets: arguments.count("packets")?, bytes, bdp: arguments.number("bdp")? })
    }

    fn is_given(&self) -> bool {
        *self != Self::default()
    }

    fn required(self, arguments: &Arguments<'_>) -> Result<Self, SpecError> {
        if self.is_given() {
            return Ok(self);
        }
        Err(arguments.missing("a limit (packets, bytes or bdp)", "packets=50"))
    }

    fn or_packets(self, packets: u64) -> Self {
        if self.is_given() { self } else { Self { packets: Some(packets), ..self } }
    }

    /// The limits in packets and bytes; a BDP is at least one full packet.
    ///
    /// # Errors
    /// A limit in BDPs without a round-trip time.
    pub fn resolve(&self, surroundings: &Surroundings) -> Result<Limit, SpecError> {
        let product = self.bdp.map(|factor| bdp_bytes(factor, surroundings)).transpose()?;
        let unlimited = Limit::NONE.bytes;
        let bytes = self.bytes.unwrap_or(unlimited).min(product.unwrap_or(unlimited));
        Ok(Limit { packets: self.packets.unwrap_or(Limit::NONE.packets), bytes })
    }
}

fn bdp_bytes(factor: f64, surroundings: &Surroundings) -> Result<Bytes, SpecError> {
    let round_trip = surroundings.round_trip.ok_or_else(|| SpecError::Missing {
        what: "a limit in bdp".to_owned(),
        missing: "a delay, from which the round-trip time follows",
        example: "packets=50",
    })?;
    let product = surroundings.rate.bytes_in(round_trip).get() as f64 * factor;
    Ok(Bytes::new(product.round() as u64).max(FULL_PACKET))
}

impl FromStr for QueueSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = split_name(text);
        let arguments = |allowed| Arguments::parse(format!("queue {name}"), rest, allowed);
        match name {
            "infinite" => arguments(&[]).map(|_| Self::Infinite),
            "droptail" => read_drop_tail(&arguments(&["packets", "bytes", "bdp", "mark"])?),
            "drophead" => read_limit(&arguments(&["packets", "bytes", "bdp"])?).map(Self::DropHead),
            "codel" => read_codel(&arguments(&["packets", "bytes", "bdp", "target", "interval", "ecn"])?),
            "pie" => {
                read_pie(&arguments(&["packets", "bytes", "bdp", "target", "update", "max_burst", "ecn"])?)
            }
            "fq_codel" => read_fq_codel(&arguments(&[
                "packets", "bytes", "bdp", "target", "interval", "ecn", "flows", "quantum",
            ])?),
            "red" => read_red(&arguments(&[
                "packets",
                "bytes",
                "bdp",
                "min",
                "max",
                "probability",
                "weight",
                "gentle",
                "ecn",
            ])?),
            "codel-mahimahi" => {
                read_mahimahi_codel(&arguments(&["packets", "bytes", "bdp", "target", "interval"])?)
            }
            "pie-mahimahi" => {
                read_mahimahi_pie(&arguments(&["packets", "bytes", "bdp", "target", "max_burst"])?)
            }
            _ => Err(words::unknown("queue", name, NAMES)),
        }
    }
}

fn read_limit(arguments: &Arguments<'_>) -> Result<LimitSpec, SpecError> {
    LimitSpec::read(arguments)?.required(arguments)
}

fn read_drop_tail(arguments: &Arguments<'_>) -> Result<QueueSpec, SpecError> {
    let threshold = arguments.with("mark", parse_threshold)?.unwrap_or(Limit::NONE);
    Ok(QueueSpec::DropTail(read_limit(arguments)?, threshold))
}

/// A whole number of packets, or a size.
fn parse_threshold(text: &str) -> Result<Limit, String> {
    let size = || text.parse().map(Limit::bytes);
    text.parse()
        .map(Limit::packets)
        .or_else(|_| size())
        .map_err(|_| format!("`{text}` is neither packets nor a size; write 20 or 30kB"))
}

fn read_codel(arguments: &Arguments<'_>) -> Result<QueueSpec, SpecError> {
    let limit = LimitSpec::read(arguments)?.or_packets(1000);
    Ok(QueueSpec::CoDel(limit, codel_parameters(arguments, CoDelParameters::default())?))
}

fn codel_parameters(
    arguments: &Arguments<'_>,
    default: CoDelParameters,
) -> Result<CoDelParameters, SpecError> {
    Ok(CoDelParameters {
        target: arguments.span("target")?.unwrap_or(default.target),
        interval: arguments.span("interval")?.unwrap_or(default.interval),
        ecn: arguments.flag("ecn")?.unwrap_or(default.ecn),
        ..default
    })
}

fn read_mahimahi_codel(arguments: &Arguments<'_>) -> Result<QueueSpec, SpecError> {
    let limit = read_limit(arguments)?;
    match (arguments.span("target")?, arguments.span("interval")?) {
        (Some(target), Some(interval)) => {
            Ok(QueueSpec::CoDel(limit, CoDelParameters::mahimahi(target, interval)))
        }
        _ => Err(arguments.missing("target and interval", "packets=1000,target=5ms,interval=100ms")),
    }
}

fn read_pie(arguments: &Arguments<'_>) -> Result<QueueSpec, SpecError> {
    let default = PieParameters::default();
    let parameters = PieParameters {
        target: arguments.span("target")?.unwrap_or(default.target),
        update: arguments.span("update")?.unwrap_or(default.update),
        max_burst: arguments.get("max_burst")?.unwrap_or(default.max_burst),
        ecn: arguments.flag("ecn")?.unwrap_or(default.ecn),
        ..default
    };
    Ok(QueueSpec::Pie(LimitSpec::read(arguments)?.or_packets(1000), parameters))
}

fn read_mahimahi_pie(arguments: &Arguments<'_>) -> Result<QueueSpec, SpecError> {
    let limit = read_limit(arguments)?;
    match (arguments.span("target")?, arguments.span("max_burst")?) {
        (Some(target), Some(max_burst)) => {
            Ok(QueueSpec::MahimahiPie(limit, MahimahiPieParameters { target, max_burst }))
        }
        _ => Err(arguments.missing("target and max_burst", "packets=1000,target=20ms,max_burst=100ms")),
    }
}

fn read_fq_codel(arguments: &Arguments<'_>) -> Result<QueueSpec, SpecError> {
    let default = FqCoDelParameters::default();
    let flows = arguments.count("flows")?.unwrap_or(default.flows.into());
    let parameters = FqCoDelParameters {
        codel: codel_parameters(arguments, default.codel)?,
        flows: u32::try_from(flows).ok().filter(|flows| *flows <= 65_536).ok_or_else(|| {
            arguments.bad("flows", "more than 65536 queues are not kept; write 1024".to_owned())
        })?,
        quantum: arguments.count("quantum")?.map_or(default.quantum, Bytes::new),
    };
    Ok(QueueSpec::FqCoDel(LimitSpec::read(arguments)?.or_packets(10_240), parameters))
}

fn read_red(arguments: &Arguments<'_>) -> Result<QueueSpec, SpecError> {
    let minimum = arguments.number("min")?.unwrap_or(5.0);
    // Three times min_th and max_p of 0.1, as Floyd recommends ("RED: discussions of setting parameters",
    // 1997).
    let maximum = arguments.number("max")?.unwrap_or(3.0 * minimum);
    if maximum < minimum {
        return Err(arguments.bad("max", format!("{maximum} is below min ({minimum}); write at least that")));
    }
    let weight = arguments.fraction("weight")?.unwrap_or(0.002);
    if weight == 0.0 {
        return Err(
            arguments.bad("weight", "at 0 the average would never move; write one like 0.002".to_owned())
        );
    }
    let parameters = RedParameters {
        minimum,
        maximum,
        probability: arguments.fraction("probability")?.unwrap_or(0.1),
        weight,
        is_gentle: arguments.flag("gentle")?.unwrap_or(true),
        ecn: arguments.flag("ecn")?.unwrap_or(false),
        packet_time: Duration::ZERO,
    };
    Ok(QueueSpec::Red(read_limit(arguments)?, parameters))
}

impl QueueSpec {
    /// Reads `--uplink-queue=NAME --uplink-queue-args=ARGUMENTS` of mm-link, `name=number` with times in
    /// milliseconds: its `codel` and `pie` are `codel-mahimahi` and `pie-mahimahi` here.
    ///
    /// # Errors
    /// What the queue with that name of ours would refuse.
    pub fn from_mahimahi(name: &str, arguments: &str) -> Result<Self, SpecError> {
        let name = match name {
            "codel" => "codel-mahimahi",
            "pie" => "pie-mahimahi",
            other => other,
        };
        let items = arguments.split(',').map(|item| match item.trim().split_once('=') {
            Some(("qdelay_ref", time)) => format!("target={time}ms"),
            Some((key @ ("target" | "interval" | "max_burst"), time)) => format!("{key}={time}ms"),
            _ => item.trim().to_owned(),
        });
        format!("{name}:{}", items.collect::<Vec<_>>().join(",")).parse()
    }

    /// The queue, empty.
    ///
    /// # Errors
    /// A limit in BDPs without a round-trip time.
    pub fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
        let Surroundings { start, seed, rate, .. } = *surroundings;
        let limit = |spec: &LimitSpec| spec.resolve(surroundings);
        Ok(match self {
            Self::Infinite => Box::new(DropTail::new(Limit::NONE)),
            Self::DropTail(spec, threshold) => Box::new(DropTail::marking(limit(spec)?, *threshold)),
            Self::DropHead(spec) => Box::new(DropHead::new(limit(spec)?)),
            Self::CoDel(spec, parameters) => Box::new(CoDel::new(*parameters, limit(spec)?)),
            Self::Pie(spec, parameters) => Box::new(Pie::new(*parameters, limit(spec)?, seed)),
            Self::MahimahiPie(spec, parameters) => {
                Box::new(MahimahiPie::new(*parameters, limit(spec)?, start, seed))
            }
            Self::FqCoDel(spec, parameters) => Box::new(FqCoDel::new(*parameters, limit(spec)?, seed)),
            Self::Red(spec, parameters) => {
                let packet_time = rate.transmission_time(FULL_PACKET);
                Box::new(Red::new(RedParameters { packet_time, ..*parameters }, limit(spec)?, seed))
            }
        })
    }
}
