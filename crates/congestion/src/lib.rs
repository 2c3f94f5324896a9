//! Congestion controllers behind one sans-IO trait.
//!
//! A controller does not know whether its packets are real: the UDP transport, a sender over an emulated path and the
//! simulator drive the same code. No clock, socket or file is touched here; every call carries `now`, and
//! no call for an acknowledgement allocates.
//!
//! The driver (whoever owns the packets) calls [`Controller::on_acknowledgement`], [`Controller::on_loss`] and
//! [`Controller::on_timeout`] as these happen, [`Controller::on_timer`] when [`Controller::next_timer`] is due, and after
//! each call obeys [`Controller::window`] and [`Controller::pacing_rate`].

mod controller;
mod event;
mod round_trip;

pub use controller::{Context, Controller};
pub use event::{Acknowledgement, HopRecord, Loss, Sent, Timeout};
pub use round_trip::RoundTrip;
