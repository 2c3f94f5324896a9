//! All controllers behind one type: chosen by name, dispatched without a table of pointers. Which there are stands in `laws.rs`.

use trialwise_units::Ecn;

use crate::{AnyController, BuildError, Context, ReceiverHalf};

/// What a packet must carry for a controller beside sequence numbers and congestion marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Nothing.
    Marks,
    /// A time stamp that the acknowledgement echoes.
    Timestamps,
    /// A record of each switch on the way.
    Telemetry,
    /// Time stamps, and the controller is told of each packet by itself
    /// ([`Acknowledgement::reports`](crate::Acknowledgement::reports)).
    Packets,
}

/// Makes a controller for each flow; implement it to bring one's own.
pub trait Factory: Sync {
    /// The controller of a flow that starts now.
    fn build(&self, context: &Context) -> Result<AnyController, BuildError>;

    /// What its packets must carry.
    fn feedback(&self) -> Feedback;

    /// The half of the scheme at the receiver of a flow; none where it has none.
    fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        None
    }

    /// The ECN field of its packets in a fabric, whose switches mark all data.
    fn ecn(&self) -> Ecn {
        Ecn::Capable0
    }
}

/// Declares the modules of controllers, and writes [`crate::Algorithm`] and [`crate::AnyController`], from a list of controllers, each with
/// the type that holds it.
macro_rules! register {
    ($($(#[$attribute:meta])* $module:ident::$name:ident in $held:ty),* $(,)?) => {
        $($(#[$attribute])* pub(crate) mod $module;)*
        $($(#[$attribute])* pub use $module::$name;)*

        /// A controller by name, with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Algorithm {
            $($(#[$attribute])* #[doc = concat!("[`", stringify!($name), "`].")] $name(<$name as Declared>::Settings)),*
        }

        impl Algorithm {
            /// All names that [`Self::named`] knows, each with what its controller needs.
            pub fn all() -> Vec<(&'static str, Needs)> {
                let mut all = Vec::new();
                $($(#[$attribute])* all.extend(<$name as Declared>::NAMES.iter().map(|each| (each.name, $name::NEEDS)));)*
                all
            }

            /// Each controller: its names, what it does, and what can be set of it.
            pub fn listed() -> Vec<Listed> {
                vec![$($(#[$attribute])* Listed {
                    names: $name::NAMES.iter().map(|each| each.name).collect(),
                    words: $name::WORDS,
                    needs: $name::NEEDS,
                    settings: $name::SETTINGS.iter().map(|each| (each.name, each.quantity)).collect(),
                }),*]
            }

            /// The algorithm of this name with the defaults for senders of this line rate, which those of the
            /// Internet ignore and `fixed_rate` takes for its rate. Hyphens and underscores are the same.
            pub fn named(name: &str, line: Rate) -> Result<Self, BuildError> {
                let written = name.replace('-', "_");
                $($(#[$attribute])* if let Some(found) = $name::NAMES.iter().find(|each| each.name == written) {
                    return Ok(Self::$name((found.settings)(line)));
                })*
                Err(BuildError::Unknown { name: name.to_owned(), known: Self::names().join(", ") })
            }

            /// What it needs of the network.
            pub const fn needs(&self) -> Needs {
                match self {
                    $($(#[$attribute])* Self::$name(_) => $name::NEEDS),*
                }
            }

            /// The name of its law, whatever the settings.
            pub fn law(&self) -> &'static str {
                match self {
                    $($(#[$attribute])* Self::$name(_) => $name::NAMES[0].name),*
                }
            }

            /// What can be set of it: names, and what each takes.
            pub fn settings(&self) -> Vec<(&'static str, Quantity)> {
                match self {
                    $($(#[$attribute])* Self::$name(_) => {
                        $name::SETTINGS.iter().map(|each| (each.name, each.quantity)).collect()
                    })*
                }
            }

            /// A setting as name and text, in the spelling of now where former versions had another one.
            pub fn respelt<'a>(&self, name: &'a str, text: &'a str) -> (&'a str, &'a str) {
                let found = match self {
                    $($(#[$attribute])* Self::$name(_) => $name::respelt(name, text)),*
                };
                found.unwrap_or((name, text))
            }

            /// Gives a setting a value of the kind that [`Self::settings`] names; what is unknown changes nothing.
            pub fn set(&mut self, name: &str, value: Value) {
                match self {
                    $($(#[$attribute])* Self::$name(settings) => {
                        if let Some(found) = $name::SETTINGS.iter().find(|each| each.name == name) {
                            (found.set)(settings, value);
                        }
                    })*
                }
            }

            /// The same algorithm in this fidelity; controllers that have only one stay as they are.
            pub fn with_fidelity(self, fidelity: Fidelity) -> Self {
                match self {
                    $($(#[$attribute])* Self::$name(settings) => Self::$name($name::with_fidelity(settings, fidelity))),*
                }
            }

            /// The same algorithm as it is over UDP, where `payload` is the share of payload in a packet.
            pub fn over_udp(self, payload: f64) -> Self {
                match self {
                    $($(#[$attribute])* Self::$name(settings) => Self::$name($name::over_udp(settings, payload))),*
                }
            }
        }

        impl Factory for Algorithm {
            fn build(&self, context: &Context) -> Result<AnyController, BuildError> {
                Ok(match self {
                    $($(#[$attribute])* Self::$name(settings) => {
                        AnyController::$name(<$held>::from(<$name as Declared>::build(settings, context)?))
                    })*
                })
            }

            fn feedback(&self) -> Feedback {
                self.needs().feedback
            }

            fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
                match self {
                    $($(#[$attribute])* Self::$name(settings) => $name::receiver_half(settings)),*
                }
            }

            fn ecn(&self) -> Ecn {
                self.needs().ecn
            }
        }

        /// One controller of any kind.
        #[non_exhaustive]
        pub enum AnyController {
            $($(#[$attribute])* #[doc = concat!("[`", stringify!($name), "`].")] $name($held),)*
            /// One that this crate does not know.
            Custom(Box<dyn Controller>),
        }

        macro_rules! each {
            ($value:expr, $inner:ident => $call:expr) => {
                match $value {
                    $($(#[$attribute])* AnyController::$name($inner) => $call,)*
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

            fn target_rate(&self) -> Option<Rate> {
                each!(self, inner => inner.target_rate())
            }

            fn pads(&self) -> bool {
                each!(self, inner => inner.pads())
            }

            fn on_backlog(&mut self, now: Time, backlog: &crate::Backlog) {
                each!(self, inner => inner.on_backlog(now, backlog));
            }

            fn burst(&self) -> Option<Bytes> {
                each!(self, inner => inner.burst())
            }

            fn next_departure(&self) -> Option<Duration> {
                each!(self, inner => inner.next_departure())
            }

            fn repaces_waiting_packet(&self) -> bool {
                each!(self, inner => inner.repaces_waiting_packet())
            }

            fn forgoes_ecn(&self) -> bool {
                each!(self, inner => inner.forgoes_ecn())
            }

            fn lateness(&self) -> Option<Duration> {
                each!(self, inner => inner.lateness())
            }

            fn state(&self) -> State {
                each!(self, inner => inner.state())
            }
        }
    };
}

pub(crate) use register;
