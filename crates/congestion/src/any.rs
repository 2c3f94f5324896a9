//! All controllers behind one type: chosen by name, dispatched without a table of pointers.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::{
    Acknowledgement, BuildError, Context, Controller, Copa, CopaSettings, Cubic, CubicSettings, Dcqcn,
    DcqcnSettings, Dctcp, DctcpSettings, FixedRate, FixedRateSettings, Hpcc, HpccSettings, Ledbat,
    LedbatSettings, Loss, NewReno, NewRenoSettings, Sent, State, Timely, TimelySettings, Timeout,
};

/// What a packet must carry for a controller beside sequence numbers and congestion marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Nothing.
    Marks,
    /// A time stamp that the acknowledgement echoes.
    Timestamps,
    /// A record of each switch on the way.
    Telemetry,
}

/// Makes a controller for each flow; implement it to bring one's own.
pub trait Factory: Sync {
    /// The controller of a flow that starts now.
    fn build(&self, context: &Context) -> Result<AnyController, BuildError>;

    /// What its packets must carry.
    fn feedback(&self) -> Feedback;
}

/// A controller by name, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Algorithm {
    /// DCTCP.
    Dctcp(DctcpSettings),
    /// DCQCN.
    Dcqcn(DcqcnSettings),
    /// TIMELY, as published or patched.
    Timely(TimelySettings),
    /// HPCC.
    Hpcc(HpccSettings),
    /// NewReno.
    NewReno(NewRenoSettings),
    /// CUBIC.
    Cubic(CubicSettings),
    /// LEDBAT.
    Ledbat(LedbatSettings),
    /// Copa.
    Copa(CopaSettings),
    /// A saturator.
    FixedRate(FixedRateSettings),
}

impl Algorithm {
    /// The names that [`Self::named`] knows.
    pub const NAMES: [&'static str; 10] = [
        "dctcp",
        "dcqcn",
        "timely",
        "timely_patched",
        "hpcc",
        "newreno",
        "cubic",
        "ledbat",
        "copa",
        "fixed_rate",
    ];
    /// Those of the data centre: they need what only a fabric gives, and start at line rate.
    pub const DATA_CENTRE: [&'static str; 5] = ["dctcp", "dcqcn", "timely", "timely_patched", "hpcc"];

    /// The algorithm of this name with the defaults for senders of this line rate, which those of the
    /// Internet ignore and `fixed_rate` takes for its rate.
    pub fn named(name: &str, line: Rate) -> Result<Self, BuildError> {
        match name {
            "dctcp" => Ok(Self::Dctcp(DctcpSettings::for_line_rate(line))),
            "dcqcn" => Ok(Self::Dcqcn(DcqcnSettings::for_line_rate(line))),
            "timely" => Ok(Self::Timely(TimelySettings::for_line_rate(line))),
            "timely_patched" => Ok(Self::Timely(TimelySettings::for_line_rate(line).patched())),
            "hpcc" => Ok(Self::Hpcc(HpccSettings::for_line_rate(line))),
            "newreno" => Ok(Self::NewReno(NewRenoSettings::default())),
            "cubic" => Ok(Self::Cubic(CubicSettings::default())),
            "ledbat" => Ok(Self::Ledbat(LedbatSettings::default())),
            "copa" => Ok(Self::Copa(CopaSettings::default())),
            "fixed_rate" => Ok(Self::FixedRate(FixedRateSettings { rate: line })),
            other => Err(BuildError::Unknown { name: other.to_owned(), known: Self::NAMES.join(", ") }),
        }
    }

    /// The same algorithm in this fidelity; controllers that have only one stay as they are.
    pub fn with_fidelity(mut self, fidelity: crate::Fidelity) -> Self {
        match &mut self {
            Self::Dctcp(settings) => settings.fidelity = fidelity,
            Self::Dcqcn(settings) => settings.fidelity = fidelity,
            Self::Timely(settings) => settings.fidelity = fidelity,
            Self::Hpcc(settings) => settings.fidelity = fidelity,
            Self::NewReno(_) | Self::Cubic(_) | Self::Ledbat(_) | Self::Copa(_) | Self::FixedRate(_) => {}
        }
        self
    }
}

impl Factory for Algorithm {
    fn build(&self, context: &Context) -> Result<AnyController, BuildError> {
        Ok(match self {
            Self::Dctcp(settings) => AnyController::Dctcp(Dctcp::new(settings, context)?),
            Self::Dcqcn(settings) => AnyController::Dcqcn(Dcqcn::new(settings, context)?),
            Self::Timely(settings) => AnyController::Timely(Timely::new(settings, context)?),
            Self::Hpcc(settings) => AnyController::Hpcc(Hpcc::new(settings, context)?),
            Self::NewReno(settings) => AnyController::NewReno(NewReno::new(settings, context)?),
            Self::Cubic(settings) => AnyController::Cubic(Cubic::new(settings, context)?),
            Self::Ledbat(settings) => AnyController::Ledbat(Box::new(Ledbat::new(settings, context)?)),
            Self::Copa(settings) => AnyController::Copa(Box::new(Copa::new(settings, context)?)),
            Self::FixedRate(settings) => AnyController::FixedRate(FixedRate::new(settings, context)?),
        })
    }

    fn feedback(&self) -> Feedback {
        match self {
            Self::Dctcp(_) | Self::Dcqcn(_) | Self::NewReno(_) | Self::Cubic(_) | Self::FixedRate(_) => {
                Feedback::Marks
            }
            Self::Timely(_) | Self::Ledbat(_) | Self::Copa(_) => Feedback::Timestamps,
            Self::Hpcc(_) => Feedback::Telemetry,
        }
    }
}

/// One controller of any kind.
#[non_exhaustive]
pub enum AnyController {
    /// DCTCP.
    Dctcp(Dctcp),
    /// DCQCN.
    Dcqcn(Dcqcn),
    /// TIMELY.
    Timely(Timely),
    /// HPCC.
    Hpcc(Hpcc),
    /// NewReno.
    NewReno(NewReno),
    /// CUBIC.
    Cubic(Cubic),
    /// LEDBAT, whose histories are large.
    Ledbat(Box<Ledbat>),
    /// Copa, whose histories are large.
    Copa(Box<Copa>),
    /// A saturator.
    FixedRate(FixedRate),
    /// One that this crate does not know.
    Custom(Box<dyn Controller>),
}

macro_rules! each {
    ($value:expr, $inner:ident => $call:expr) => {
        match $value {
            AnyController::Dctcp($inner) => $call,
            AnyController::Dcqcn($inner) => $call,
            AnyController::Timely($inner) => $call,
            AnyController::Hpcc($inner) => $call,
            AnyController::NewReno($inner) => $call,
            AnyController::Cubic($inner) => $call,
            AnyController::Ledbat($inner) => $call,
            AnyController::Copa($inner) => $call,
            AnyController::FixedRate($inner) => $call,
            AnyController::Custom($inner) => $call,
        }
    };
}

impl Controller for AnyController {
    fn name(&self) -> &'static str {
        each!(self, inner => inner.name())
    }

    fn on_sent(&mut self, sent: &Sent) {
        each!(self, inner => inner.on_sent(sent));
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        each!(self, inner => inner.on_acknowledgement(acknowledgement));
    }

    fn on_loss(&mut self, loss: &Loss) {
        each!(self, inner => inner.on_loss(loss));
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        each!(self, inner => inner.on_timeout(timeout));
    }

    fn on_spurious(&mut self, now: Time) {
        each!(self, inner => inner.on_spurious(now));
    }

    fn on_idle_restart(&mut self, now: Time, idle: Duration) {
        each!(self, inner => inner.on_idle_restart(now, idle));
    }

    fn next_timer(&self) -> Option<Time> {
        each!(self, inner => inner.next_timer())
    }

    fn timers(&self) -> &[Option<Time>] {
        each!(self, inner => inner.timers())
    }

    fn on_timer(&mut self, now: Time) {
        each!(self, inner => inner.on_timer(now));
    }

    fn window(&self) -> Option<Bytes> {
        each!(self, inner => inner.window())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        each!(self, inner => inner.pacing_rate())
    }

    fn repaces_waiting_packet(&self) -> bool {
        each!(self, inner => inner.repaces_waiting_packet())
    }

    fn state(&self) -> State {
        each!(self, inner => inner.state())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::context;

    #[test]
    fn every_name_builds_a_controller_of_that_name() {
        let line = Rate::from_megabits_per_second(100_000);
        for name in Algorithm::NAMES {
            let controller = Algorithm::named(name, line).unwrap().build(&context()).unwrap();
            assert_eq!(controller.name(), name);
            if Algorithm::DATA_CENTRE.contains(&name) {
                assert_eq!(controller.pacing_rate(), Some(line));
            }
            assert_eq!(controller.state().window, controller.window(), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = Algorithm::named("vegas", Rate::ZERO).unwrap_err().to_string();
        assert!(error.contains("vegas") && error.contains("timely_patched"), "{error}");
    }

    #[test]
    fn what_a_controller_needs_and_lacks_is_named() {
        let line = Rate::from_megabits_per_second(100_000);
        let bare = Context { base_rtt: None, ..context() };
        let error = Algorithm::named("hpcc", line).unwrap().build(&bare).err().unwrap().to_string();
        assert!(error.contains("base_rtt"), "{error}");
    }

    #[test]
    fn a_boxed_controller_is_a_controller() {
        fn window(controller: &impl Controller) -> Option<Bytes> {
            controller.window()
        }
        let line = Rate::from_megabits_per_second(100_000);
        let inner = Dctcp::new(&DctcpSettings::for_line_rate(line), &context()).unwrap();
        let boxed: Box<dyn Controller> = Box::new(inner);
        assert_eq!(window(&AnyController::Custom(boxed)), Some(Bytes::new(78_000)));
    }
}
