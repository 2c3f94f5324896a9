//! Congestion controllers behind one sans-IO trait.
//!
//! A controller does not know whether its packets are real: the UDP transport, a sender over an emulated path
//! and the simulator drive the same code. No clock, socket or file is touched here; every call carries `now`,
//! and no call for an acknowledgement allocates.
//!
//! The driver (whoever owns the packets) calls [`Controller::on_acknowledgement`], [`Controller::on_loss`]
//! and [`Controller::on_timeout`] as these happen, [`Controller::on_timer`] when [`Controller::next_timer`]
//! is due, and after each call obeys [`Controller::window`] and [`Controller::pacing_rate`].

mod any;
mod controller;
mod dcqcn;
mod dctcp;
mod event;
mod fidelity;
mod hpcc;
mod paced;
mod round_trip;
#[cfg(test)]
mod testing;
mod timely;
mod window;

pub use any::{Algorithm, AnyController, Factory, Feedback};
pub use controller::{BuildError, Context, Controller};
pub use dcqcn::{Dcqcn, DcqcnSettings};
pub use dctcp::{Dctcp, DctcpSettings};
pub use event::{Acknowledgement, HopRecord, Loss, Sent, Timeout};
pub use fidelity::Fidelity;
pub use hpcc::{Hpcc, HpccSettings, MAXIMUM_HOPS};
pub use round_trip::RoundTrip;
pub use timely::{Timely, TimelyLaw, TimelySettings};
pub use window::WindowRule;
