//! The trait of all controllers.

use trialwise_units::{Bytes, Duration, ParseQuantityError, Rate, Seed, Time};

use crate::values::ValueError;
use crate::window::RateWindow;
use crate::{Acknowledgement, Backlog, Loss, Sent, State, Timeout, WindowRule};

/// What a driver knows when a flow starts; what it does not know is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// When the flow starts.
    pub now: Time,
    /// Payload of a full packet (the sender maximum segment size).
    pub segment: Bytes,
    /// Rate of the sender's own link.
    pub line_rate: Option<Rate>,
    /// Round-trip time of the empty path.
    pub base_rtt: Option<Duration>,
    /// One bandwidth-delay product of the path.
    pub path_window: Option<Bytes>,
    /// Switches on the way to the receiver.
    pub hops: Option<u32>,
    /// Of everything that the controller draws: another one for each flow.
    pub seed: Seed,
}

impl Context {
    /// The line rate in bits per second, or a refusal on behalf of `controller`.
    pub(crate) fn line_rate_for(&self, controller: &'static str) -> Result<f64, BuildError> {
        let lacking = BuildError::Lacking { controller, field: "line_rate" };
        self.line_rate
            .filter(|rate| *rate > Rate::ZERO)
            .map(|rate| rate.bits_per_second() as f64)
            .ok_or(lacking)
    }

    pub(crate) fn base_rtt_for(&self, controller: &'static str) -> Result<Duration, BuildError> {
        let lacking = BuildError::Lacking { controller, field: "base_rtt" };
        self.base_rtt.filter(|rtt| *rtt > Duration::ZERO).ok_or(lacking)
    }

    pub(crate) fn path_window_for(&self, controller: &'static str) -> Result<u64, BuildError> {
        let lacking = BuildError::Lacking { controller, field: "path_window" };
        self.path_window.filter(|window| *window > Bytes::ZERO).map(Bytes::get).ok_or(lacking)
    }

    /// The window of this rule, or a refusal where the rule needs what is not known.
    pub(crate) fn rate_window(
        &self,
        rule: WindowRule,
        controller: &'static str,
    ) -> Result<RateWindow, BuildError> {
        let full = match rule {
            WindowRule::Unlimited => 0,
            WindowRule::Fixed | WindowRule::Scaled => self.path_window_for(controller)?,
        };
        Ok(RateWindow::new(rule, full, self.line_rate_for(controller)? as u64))
    }
}

/// Why no controller can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// No controller has this name.
    #[error("no controller is called {name:?}; known: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// What is written behind its name is no rate.
    #[error("{controller}:RATE: {problem}")]
    Rate {
        /// The controller.
        controller: String,
        /// What is wrong.
        problem: ParseQuantityError,
    },
    /// The controller has no parameter of this name.
    #[error("{controller} has no parameter {setting:?}: it has {known}")]
    NoSetting {
        /// The controller.
        controller: &'static str,
        /// What was written.
        setting: String,
        /// What there is.
        known: String,
    },
    /// What is written of a parameter is no value of it.
    #[error("{controller}:{setting}: {problem}")]
    Value {
        /// The controller.
        controller: &'static str,
        /// The parameter.
        setting: &'static str,
        /// What is wrong.
        problem: ValueError,
    },
    /// The controller needs a fact that the driver did not give.
    #[error("{controller} needs Context::{field}, greater than zero: give what the path has")]
    Lacking {
        /// The controller.
        controller: &'static str,
        /// The field of [`Context`].
        field: &'static str,
    },
    /// A parameter of the controller is out of its range.
    #[error("{controller} takes no such {setting}: give one {wanted}")]
    Setting {
        /// The controller.
        controller: &'static str,
        /// The parameter.
        setting: &'static str,
        /// What would do.
        wanted: &'static str,
    },
}

/// A congestion controller: facts in, a window and a pacing rate out.
///
/// All sizes are payload bytes. Methods with a default body are for controllers that need them; a driver
/// calls every one. The trait can be used by static dispatch and as `dyn Controller`.
pub trait Controller: Send {
    /// The name by which it is chosen, such as `"dctcp"`.
    fn name(&self) -> &'static str;

    /// A packet has been handed to the wire.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// An acknowledgement has arrived.
    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>);

    /// Packets are deemed lost.
    fn on_loss(&mut self, loss: &Loss);

    /// The retransmission timer has expired.
    fn on_timeout(&mut self, timeout: &Timeout);

    /// The last loss or time-out turned out to be none: what was reduced may be undone (RFC 9438, section
    /// 4.9).
    fn on_spurious(&mut self, _now: Time) {}

    /// The flow starts to send again after nothing was in flight for `idle` (RFC 5681, section 4.1).
    fn on_idle_restart(&mut self, _now: Time, _idle: Duration) {}

    /// When [`Self::on_timer`] wants to be called next; it may change in every call.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// All timers in a fixed order, for a driver that settles ties by the order of arming (as the simulator
    /// does); empty where [`Self::next_timer`] is the only one.
    fn timers(&self) -> &[Option<Time>] {
        &[]
    }

    /// The time that [`Self::next_timer`] named has come: handles whatever is due at `now`, and then names a
    /// later time or none.
    fn on_timer(&mut self, _now: Time) {}

    /// How much payload may be in flight; `None` for no limit. A packet may be sent while less is in flight.
    fn window(&self) -> Option<Bytes>;

    /// How fast packets may leave; `None` where only the window (and its acknowledgements) clock them.
    fn pacing_rate(&self) -> Option<Rate>;

    /// How much payload may leave together, where the pacing rate would have it leave one by one (the send quantum of
    /// draft-ietf-ccwg-bbr); none for what suits the driver. The simulator of a fabric, whose hosts pace each packet,
    /// does not ask.
    fn burst(&self) -> Option<Bytes> {
        None
    }

    /// How fast a source that can adapt, such as a video encoder, should produce payload (the target bitrate of RFC 8298, section 4.1.3, and
    /// of draft-ietf-rmcat-gcc, section 5.5); `None` where the controller has no opinion and the source follows the pacing rate.
    fn target_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether packets that are in flight are to leave once more where the source has nothing to send, as a probe of the path wants more
    /// (padding of libwebrtc). It is no retransmission. The simulator of a fabric does not ask.
    fn pads(&self) -> bool {
        false
    }

    /// In how much time from the packet that was sent last the next one is due, as far as the controller decides that; `None` where it does
    /// not say. The driver tells the receiver's half of it ([`Received::next`](crate::Received::next)) unless the application has nothing
    /// more to send.
    fn next_departure(&self) -> Option<Duration> {
        None
    }

    /// What waits before the pacer, where a source of media writes: after each of its frames, and before each acknowledgement.
    fn on_backlog(&mut self, _now: Time, _backlog: &Backlog) {}

    /// Whether a change of the pacing rate also moves the departure of the packet that already waits for its
    /// turn; most let it go at the time that the old rate gave it.
    fn repaces_waiting_packet(&self) -> bool {
        false
    }

    /// Whether the path takes the ECN field away, so that packets are to say no more that they can be marked (RFC 9000, section
    /// 13.4.2).
    fn forgoes_ecn(&self) -> bool {
        false
    }

    /// How much later than the rate has it a packet may leave, so that the next ones make up for it; none for what suits the driver.
    /// What is made up for leaves in a burst, which a short queue marks.
    fn lateness(&self) -> Option<Duration> {
        None
    }

    /// What there is to see of it, for logs and debugging.
    fn state(&self) -> State {
        State { window: self.window(), pacing_rate: self.pacing_rate(), ..State::default() }
    }
}

impl<C: Controller + ?Sized> Controller for Box<C> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn on_sent(&mut self, sent: &Sent) {
        (**self).on_sent(sent);
    }

    fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement<'_>) {
        (**self).on_acknowledgement(acknowledgement);
    }

    fn on_loss(&mut self, loss: &Loss) {
        (**self).on_loss(loss);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        (**self).on_timeout(timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        (**self).on_spurious(now);
    }

    fn on_idle_restart(&mut self, now: Time, idle: Duration) {
        (**self).on_idle_restart(now, idle);
    }

    fn next_timer(&self) -> Option<Time> {
        (**self).next_timer()
    }

    fn timers(&self) -> &[Option<Time>] {
        (**self).timers()
    }

    fn on_timer(&mut self, now: Time) {
        (**self).on_timer(now);
    }

    fn window(&self) -> Option<Bytes> {
        (**self).window()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (**self).pacing_rate()
    }

    fn burst(&self) -> Option<Bytes> {
        (**self).burst()
    }

    fn target_rate(&self) -> Option<Rate> {
        (**self).target_rate()
    }

    fn pads(&self) -> bool {
        (**self).pads()
    }

    fn next_departure(&self) -> Option<Duration> {
        (**self).next_departure()
    }

    fn on_backlog(&mut self, now: Time, backlog: &Backlog) {
        (**self).on_backlog(now, backlog);
    }

    fn repaces_waiting_packet(&self) -> bool {
        (**self).repaces_waiting_packet()
    }

    fn forgoes_ecn(&self) -> bool {
        (**self).forgoes_ecn()
    }

    fn lateness(&self) -> Option<Duration> {
        (**self).lateness()
    }

    fn state(&self) -> State {
        (**self).state()
    }
}
