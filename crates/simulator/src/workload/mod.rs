//! Workloads: which flows a trial has.

mod arrivals;
mod density;
mod error;
mod generate;
mod generator;
mod load;
mod normal;
mod pairs;
mod points;
mod reading;
mod sizes;
mod switching;

pub use arrivals::Arrivals;
pub use density::Density;
pub use error::WorkloadError;
pub use generate::{Pattern, Workload};
pub use generator::Generator;
pub use load::{Fullest, Load};
pub use points::{Point, Uniforms};
pub use sizes::{SizeDistribution, SizeError, SizeTable};
pub use switching::{SwitchingFlows, WeightedFinish};
