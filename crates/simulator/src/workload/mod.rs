//! Workloads: which flows a trial has.

mod arrivals;
mod density;
mod generate;
mod generator;
mod normal;
mod pairs;
mod points;
mod reading;
mod sizes;
mod switching;

pub use arrivals::Arrivals;
pub use density::Density;
pub use generate::{Fullest, Load, Pattern, Workload, WorkloadError};
pub use generator::Generator;
pub use points::{Point, Uniforms};
pub use sizes::{SizeDistribution, SizeError, SizeTable};
pub use switching::{SwitchingFlows, WeightedFinish};
