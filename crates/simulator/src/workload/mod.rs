//! Workloads: which flows a trial has.

mod arrivals;
mod generate;
mod normal;
mod reading;
mod sizes;

pub use arrivals::Arrivals;
pub use generate::{Load, Pattern, Workload, WorkloadError};
pub use sizes::{SizeDistribution, SizeError, SizeTable};
