//! Congestion controllers behind one sans-IO trait.
//!
//! A controller does not know whether its packets are real: the UDP transport, a sender over an emulated path
//! and the simulator drive the same code. No clock or socket is touched here, nor a file but those that settings name; every call carries `now`,
//! and no call for an acknowledgement allocates.
//!
//! The driver (whoever owns the packets) calls [`Controller::on_acknowledgement`], [`Controller::on_loss`]
//! and [`Controller::on_timeout`] as these happen, [`Controller::on_timer`] when [`Controller::next_timer`]
//! is due, and after each call obeys [`Controller::window`] and [`Controller::pacing_rate`].
//!
//! Of the Internet: [`NewReno`], [`Cubic`], [`Ledbat`], [`Copa`], [`Prague`], [`Allegro`], [`Vivace`], [`Bbr3`], [`C4`], [`Remy`], [`Aurora`] and
//! [`Indigo`], and, for media, [`Gcc`], [`Scream`] and [`Scream2`], beside [`FixedRate`], which controls nothing, and [`Saturator`], which measures. Of the data centre: [`Dctcp`], [`Dcqcn`],
//! [`Timely`] and [`Hpcc`]. [`Algorithm::named`] knows all
//! of them. A new one implements [`Declared`] beside its law and gets a line in `laws.rs`.

mod any;
mod controller;
mod copa_delay;
mod declared;
mod delay_gradient;
mod delivery;
mod episodes;
mod event;
mod fidelity;
mod hop_memory;
mod hystart;
mod in_flight;
mod laws;
mod learner;
mod ledbat_delay;
mod media_pace;
mod monitor;
mod named_file;
mod network;
mod onnx;
mod paced;
mod packet_log;
mod packet_window;
mod policy;
mod power_window;
mod probe;
mod protobuf;
mod quota;
mod received_rate;
mod receiver_half;
mod round_trip;
mod rule_table;
mod scream_delay;
mod segments;
mod sliding;
mod state;
#[cfg(test)]
mod testing;
mod threshold;
pub mod values;
mod window;

pub use any::{Factory, Feedback};
pub use controller::{BuildError, Context, Controller};
pub use declared::{Declared, Listed, Marks, Named, Needs, Quantity, Setting, Value};
pub use delivery::{Delivery, Departed};
pub use event::{
    Acknowledgement, Backlog, HopRecord, Loss, PacketOutcome, PacketReport, RateSample, Sent, Timeout,
};
pub use fidelity::Fidelity;
pub use hop_memory::MAXIMUM_HOPS;
pub use laws::allegro::AllegroSettings;
pub use laws::aurora::AuroraSettings;
pub use laws::bbr3::Bbr3Settings;
pub use laws::c4::C4Settings;
pub use laws::copa::{CopaMode, CopaSettings};
pub use laws::cubic::CubicSettings;
pub use laws::dcqcn::DcqcnSettings;
pub use laws::dctcp::DctcpSettings;
pub use laws::fixed_rate::FixedRateSettings;
pub use laws::gcc::{GccConstants, GccSettings};
pub use laws::hpcc::HpccSettings;
pub use laws::indigo::IndigoSettings;
pub use laws::ledbat::LedbatSettings;
pub use laws::newreno::NewRenoSettings;
pub use laws::nscc::NsccSettings;
pub use laws::powertcp::PowerTcpSettings;
pub use laws::prague::PragueSettings;
pub use laws::remy::RemySettings;
pub use laws::saturator::SaturatorSettings;
pub use laws::sprout::SproutSettings;
pub use laws::swift::SwiftSettings;
pub use laws::theta_powertcp::ThetaPowerTcpSettings;
pub use laws::timely::{TimelyLaw, TimelySettings};
pub use laws::verus::VerusSettings;
pub use laws::vivace::VivaceSettings;
pub use laws::*;
pub use ledbat_delay::DelayFilter;
pub use packet_log::PacketLog;
pub use policy::{Form, Policy, PolicyError};
pub use receiver_half::{NOTE_BYTES, Note, Received, ReceiverHalf};
pub use round_trip::RoundTrip;
pub use rule_table::{RuleTable, TableError};
pub use scream_delay::ScreamSettings;
pub use state::{Phase, State};
pub use window::WindowRule;
