//! What is wrong with a workload.

use crate::event::INDEX_LIMIT;
use crate::index::NodeId;

/// Why there is no flow list.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// More is asked for than a link carries, or nothing.
    #[error("a load of {0} is not above 0 and at most 1, the capacity of {1}: write it like 30% or 0.3")]
    Load(f64, &'static str),
    /// The topology has no bottleneck.
    #[error(
        "the topology has no bottleneck that all flows share: give the load of the hosts, or take a dumbbell"
    )]
    NoBottleneck,
    /// The topology has no senders and receivers.
    #[error("the topology has no separate senders and receivers: choose all-to-all, or take a dumbbell")]
    NoSides,
    /// Too few hosts.
    #[error("the pattern needs {needed} hosts and the topology has {there}")]
    Hosts {
        /// How many it needs.
        needed: usize,
        /// How many there are.
        there: usize,
    },
    /// Too few hosts for a job.
    #[error("the job needs {needed} hosts and the topology has {there}")]
    Job {
        /// How many it needs.
        needed: usize,
        /// How many there are.
        there: usize,
    },
    /// Data cannot be cut into so many flows.
    #[error("{bytes} bytes cannot be cut into {parts} parts of at least one byte: enlarge the size")]
    Cut {
        /// How many there are.
        bytes: u64,
        /// How many are needed.
        parts: u64,
    },
    /// More flows than the simulator numbers.
    #[error("about {0:.0} flows are expected and {INDEX_LIMIT} fit: shorten the trial or enlarge the flows")]
    TooMany(f64),
    /// The flows offer a link more than it carries.
    #[error(
        "a load of {load} of {of} is {offered:.2} of the capacity of the link from node {} to node {} in the mean: \
         give at most {most:.4}", link.0.get(), link.1.get()
    )]
    Overload {
        /// The load asked for.
        load: f64,
        /// Of what.
        of: &'static str,
        /// The link, from which of its ends to which.
        link: (NodeId, NodeId),
        /// What the load is of the capacity of that link.
        offered: f64,
        /// The load that fills the link, rounded down.
        most: f64,
    },
    /// Points can only drive arrivals that are independent of one another.
    #[error("{0} arrivals cannot be driven by given numbers: choose Poisson arrivals")]
    NotPoisson(&'static str),
    /// A density is none.
    #[error(
        "a density over 0 to 1 needs edges that rise from 0 to 1 and one positive height for each part between"
    )]
    Density,
}
