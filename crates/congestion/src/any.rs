//! All controllers behind one type: chosen by name, dispatched without a table of pointers.

use trialwise_units::{Bytes, Duration, Rate, Time};

use crate::{
    Acknowledgement, BuildError, Context, Controller, Dcqcn, DcqcnSettings, Dctcp, DctcpSettings, Hpcc,
    HpccSettings, Loss, Sent, Timely, TimelySettings, Timeout,
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
}

impl Algorithm {
    /// The names that [`Self::named`] knows.
    pub const NAMES: [&'static str; 5] = ["dctcp", "dcqcn", "timely", "timely_patched", "hpcc"];

    /// The algorithm of this name with the defaults for senders of this line rate.
    pub fn named(name: &str, line: Rate) -> Result<Self, BuildError> {
        match name {
            "dctcp" => Ok(Self::Dctcp(DctcpSettings::for_line_rate(line))),
            "dcqcn" => Ok(Self::Dcqcn(DcqcnSettings::for_line_rate(line))),
            "timely" => Ok(Self::Timely(TimelySettings::for_line_rate(line))),
            "timely_patched" => Ok(Self::Timely(TimelySettings::for_line_rate(line).patched())),
            "hpcc" => Ok(Self::Hpcc(HpccSettings::for_line_rate(line))),
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
        })
    }

    fn feedback(&self) -> Feedback {
        match self {
            Self::Dctcp(_) | Self::Dcqcn(_) => Feedback::Marks,
            Self::Timely(_) => Feedback::Timestamps,
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
            assert_eq!(controller.pacing_rate(), Some(line));
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
