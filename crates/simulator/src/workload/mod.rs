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
mod size_table;
mod sizes;
mod switching;

pub use arrivals::Arrivals;
pub use density::Density;
pub use error::WorkloadError;
pub use generate::Workload;
pub use generator::Generator;
pub use load::{Fullest, Load};
pub use pairs::Pattern;
pub use points::{Point, Uniforms};
pub use size_table::{SizeError, SizeTable};
pub use sizes::SizeDistribution;
pub use switching::{SwitchingFlows, WeightedFinish};
