//! The parameters of a network, each a key of an experiment and so a possible factor.

use trialwise_congestion::{Algorithm, Fidelity, Marks};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

/// Classes of a port.
pub(crate) const CLASSES: usize = 8;

/// How closely the reference simulator is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Exact picoseconds; a lost tail is repaired by a time-out; acknowledgements repeat what is known.
    #[default]
    Clean,
    /// Nanoseconds rounded down and the peculiarities of the public HPCC simulator, for equal results flow by
    /// flow.
    Compatible,
}

impl Mode {
    /// The fidelity of controllers that goes with this mode.
    pub const fn fidelity(self) -> Fidelity {
        match self {
            Self::Clean => Fidelity::Clean,
            Self::Compatible => Fidelity::Compatible,
        }
    }
}

/// ECN marking by queue length (RED on the instantaneous queue, as DCQCN's congestion point), at dequeue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marking {
    /// Up to this length nothing is marked.
    pub minimum: Bytes,
    /// Beyond it everything is.
    pub maximum: Bytes,
    /// The probability at `maximum`, growing in proportion from `minimum`.
    pub probability: f64,
    /// The link rate for which the lengths are meant: other links scale them.
    pub rate: Rate,
}

impl Marking {
    /// As the HPCC simulator's scripts have it for DCQCN: 400 and 1600 kB at 100 Gbit/s, 20 percent.
    pub const DEFAULT: Self = Self {
        minimum: Bytes::new(400_000),
        maximum: Bytes::new(1_600_000),
        probability: 0.2,
        rate: Rate::from_megabits_per_second(100_000),
    };

    /// Beyond these bytes at 100 Gbit/s, at the larger with certainty.
    const fn certain(minimum: u64, maximum: u64) -> Self {
        Self {
            minimum: Bytes::new(minimum),
            maximum: Bytes::new(maximum),
            probability: 1.0,
            rate: Self::DEFAULT.rate,
        }
    }

    /// The same marks with the lengths at another rate.
    #[must_use]
    pub fn at(self, rate: Rate) -> Self {
        let part = u128::from(self.rate.bits_per_second().max(1));
        let scale = |length: Bytes| {
            Bytes::new((u128::from(length.get()) * u128::from(rate.bits_per_second()) / part) as u64)
        };
        Self { minimum: scale(self.minimum), maximum: scale(self.maximum), rate, ..self }
    }
}

/// Priority flow control (IEEE 802.1Qbb) with dynamic thresholds over a shared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowControl {
    /// A class may hold `1 / 2^shift` of the free shared buffer before its sender is paused (alpha = 1/8).
    pub shift: u32,
    /// A paused class starts again this far below the threshold.
    pub hysteresis: Bytes,
}

impl FlowControl {
    /// An eighth of the free buffer, and 3 KiB.
    pub const DEFAULT: Self = Self { shift: 3, hysteresis: Bytes::new(3072) };
}

/// Where packets are dropped without priority flow control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dropping {
    /// A class of an ingress port may hold so many times the free shared buffer (Choudhury and Hahne, "Dynamic queue length
    /// thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6, 1998), beside the reserve.
    Dynamic {
        /// The factor, above 0.
        alpha: f64,
    },
    /// Whatever finds no room in the shared buffer.
    Tail,
}

impl Dropping {
    /// As much as is free.
    pub const DEFAULT: Self = Self::Dynamic { alpha: 1.0 };
}

/// Classes in which packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priorities {
    /// The class of data whose flow names none (1 to 7).
    pub data: u8,
    /// Who goes first where packets of several classes wait.
    pub scheduling: Scheduling,
    /// Whether a paused data class lets acknowledgements leave the hosts.
    pub acknowledgements_pass_pause: bool,
    /// Whether acknowledgements overtake data inside switches; otherwise they share the queue of data.
    pub acknowledgements_first_in_switches: bool,
}

/// In which order a port serves classes that have packets waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// One packet of each class in turn, as the HPCC simulator's switches do; hosts give each flow its turn, whatever its
    /// class.
    #[default]
    RoundRobin,
    /// The highest number first (IEEE 802.1Q, 8.6.8.1), in switches and in hosts.
    Strict,
    /// Bytes in proportion to weights, by deficit round robin (Shreedhar and Varghese, "Efficient fair queuing using deficit
    /// round-robin", IEEE/ACM Transactions on Networking 4, 1996), in switches; hosts give each flow its turn.
    Weighted(Weights),
}

/// Weights of classes: full packets of each that go out in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights([u8; CLASSES]);

impl Weights {
    /// The same for all.
    pub const EQUAL: Self = Self([1; CLASSES]);

    /// Sets the weight of a class of data; false if there is none of this number, or the weight is 0.
    pub const fn set(&mut self, class: u8, weight: u8) -> bool {
        let sound = class > 0 && (class as usize) < CLASSES && weight > 0;
        if sound {
            self.0[class as usize] = weight;
        }
        sound
    }

    /// That of a class.
    #[inline]
    pub(crate) fn of(&self, class: usize) -> u64 {
        u64::from(self.0[class])
    }
}

/// Which round-trip time and window a controller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKnowledge {
    /// The largest of the network, for every flow.
    Largest,
    /// Those of its own path.
    Own,
}

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// At most one negative acknowledgement in this time for the same gap.
    pub repeat_after: Duration,
    /// The lowest retransmission time-out; none for no time-out at all, so that a lost tail hangs its flow.
    pub minimum_timeout: Option<Duration>,
}

/// A link that fails or comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub time: Time,
    /// The link, by its place in the topology.
    pub link: usize,
    /// Whether it works from then on.
    pub up: bool,
}

/// All parameters of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How closely the reference simulator is followed.
    pub mode: Mode,
    /// Payload of a full packet.
    pub segment: Bytes,
    /// Headers of a data packet without what the controller needs.
    pub header: Bytes,
    /// The smallest acknowledgement on the wire.
    pub acknowledgement: Bytes,
    /// ECN marking; none for never.
    pub marking: Option<Marking>,
    /// Buffer of each switch.
    pub buffer: Bytes,
    /// Buffer that each port of a switch has to itself.
    pub reserve: Bytes,
    /// Priority flow control; none to drop what does not fit.
    pub flow_control: Option<FlowControl>,
    /// What is dropped without flow control.
    pub dropping: Dropping,
    /// Classes.
    pub priorities: Priorities,
    /// What controllers are told about their path.
    pub path_knowledge: PathKnowledge,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// The probability that a packet is lost on a link, each for itself; none for what the topology says.
    pub loss: Option<f64>,
    /// Failures and repairs of links, in order of time.
    pub faults: Vec<Fault>,
    /// When to stop; none to run until the last flow ends.
    pub stop: Option<Time>,
    /// How often the observer looks; none for never.
    pub sample_interval: Option<Duration>,
    /// The seed of marks and losses.
    pub seed: Seed,
}

impl Settings {
    /// What the HPCC simulator's own scripts use for hosts of this line rate: packets of 1000 bytes, a buffer
    /// of 32 MiB at 100 Gbit/s, priority flow control, marking as for DCQCN.
    pub const fn for_line_rate(line: Rate) -> Self {
        Self {
            mode: Mode::Clean,
            segment: Bytes::new(1000),
            header: Bytes::new(48),
            acknowledgement: Bytes::new(60),
            marking: Some(Marking::DEFAULT),
            buffer: Bytes::new((line.bits_per_second() as u128 * (32 << 20) / 100_000_000_000) as u64),
            reserve: Bytes::new(4096),
            flow_control: Some(FlowControl::DEFAULT),
            dropping: Dropping::DEFAULT,
            priorities: Priorities {
                data: 3,
                scheduling: Scheduling::RoundRobin,
                acknowledgements_pass_pause: true,
                acknowledgements_first_in_switches: false,
            },
            path_knowledge: PathKnowledge::Largest,
            recovery: Recovery {
                repeat_after: Duration::from_microseconds(500),
                // Longer than a full buffer takes to drain, so that a queue is no reason to send again.
                minimum_timeout: Some(Duration::from_milliseconds(4)),
            },
            loss: None,
            faults: Vec::new(),
            stop: None,
            sample_interval: None,
            seed: Seed::new(1),
        }
    }

    /// The same with what goes with this algorithm: DCTCP marks everything beyond 3 kB for each Gbit/s, NSCC from 0.25 to 0.75 kB (a quarter
    /// and three quarters of a round trip of 8 us); DCTCP, HPCC and PowerTCP let acknowledgements wait with paused data.
    pub fn for_algorithm(algorithm: &Algorithm, line: Rate) -> Self {
        let mut settings = Self::for_line_rate(line);
        settings.marking = Some(match algorithm.needs().marks {
            Marks::Gentle => Marking::DEFAULT,
            Marks::Step => Marking::certain(300_000, 300_000),
            Marks::Early => Marking::certain(25_000, 75_000),
        });
        settings.priorities.acknowledgements_pass_pause = !algorithm.needs().acknowledgements_wait;
        settings
    }

    /// The same in another mode. The reference simulator has no time-out.
    pub const fn with_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        if let Mode::Compatible = mode {
            self.recovery.minimum_timeout = None;
        }
        self
    }
}
