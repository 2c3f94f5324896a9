//! Congestion controllers behind one sans-IO trait.
//!
//! A controller does not know whether its packets are real: the UDP transport, a sender over an emulated path
//! and the simulator drive the same code. No clock, socket or file is touched here; every call carries `now`,
//! and no call for an acknowledgement allocates.
//!
//! The driver (whoever owns the packets) calls [`Controller::on_acknowledgement`], [`Controller::on_loss`]
//! and [`Controller::on_timeout`] as these happen, [`Controller::on_timer`] when [`Controller::next_timer`]
//! is due, and after each call obeys [`Controller::window`] and [`Controller::pacing_rate`].
//!
//! Of the Internet: [`NewReno`], [`Cubic`], [`Ledbat`] and [`Copa`], beside [`FixedRate`], which controls
//! nothing. Of the data centre: [`Dctcp`], [`Dcqcn`], [`Timely`] and [`Hpcc`]. [`Algorithm::named`] knows all
//! of them. A new one implements [`Declared`] beside its law and gets a line in `register.rs`.

mod any;
mod controller;
mod copa;
mod copa_delay;
mod cubic;
mod dcqcn;
mod dctcp;
mod declared;
mod episodes;
mod event;
mod fidelity;
mod fixed_rate;
mod hpcc;
mod hystart;
mod ledbat;
mod ledbat_delay;
mod newreno;
mod paced;
mod register;
mod round_trip;
mod segments;
mod sliding;
#[cfg(any(test, feature = "specimen"))]
mod specimen;
mod state;
#[cfg(test)]
mod testing;
mod threshold;
mod timely;
mod window;

pub use any::{Factory, Feedback};
pub use controller::{BuildError, Context, Controller};
pub use copa::{Copa, CopaSettings};
pub use cubic::{Cubic, CubicSettings};
pub use dcqcn::{Dcqcn, DcqcnSettings};
pub use dctcp::{Dctcp, DctcpSettings};
pub use declared::{Declared, Named, Needs, Quantity, Setting, Value};
pub use event::{Acknowledgement, HopRecord, Loss, Sent, Timeout};
pub use fidelity::Fidelity;
pub use fixed_rate::{FixedRate, FixedRateSettings};
pub use hpcc::{Hpcc, HpccSettings, MAXIMUM_HOPS};
pub use ledbat::{Ledbat, LedbatSettings};
pub use ledbat_delay::DelayFilter;
pub use newreno::{NewReno, NewRenoSettings};
pub use register::{Algorithm, AnyController};
pub use round_trip::RoundTrip;
pub use state::{Phase, State};
pub use timely::{Timely, TimelyLaw, TimelySettings};
pub use window::WindowRule;
