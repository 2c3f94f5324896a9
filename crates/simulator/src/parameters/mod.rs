//! Parameters by name: what an experiment file writes of a controller and of the network.

mod controllers;
mod faults;
mod network;

use trialwise_congestion::values;

use crate::quantity::QuantityError;

pub use controllers::{controller_parameters, set_controller};
pub use network::NETWORK_PARAMETERS;

/// Why a parameter cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// Nothing has this name.
    #[error("{of} has no parameter {name:?}: it has {}", known.join(", "))]
    Unknown {
        /// Whose parameter it would be.
        of: &'static str,
        /// What was written.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// The value is not what the parameter takes.
    #[error("{name}: {problem}")]
    Value {
        /// The parameter.
        name: String,
        /// What is wrong.
        problem: ValueError,
    },
}

/// Why a text is no value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// What any parameter would refuse.
    #[error(transparent)]
    Text(#[from] values::ValueError),
    /// A fault of two nodes that no link joins.
    #[error("{fault:?}: no link joins node {} and node {}; {there}", ends[0], ends[1])]
    NoLink {
        /// What was written.
        fault: String,
        /// The nodes that it names.
        ends: [u32; 2],
        /// The links that these nodes have.
        there: String,
    },
}

impl From<QuantityError> for ValueError {
    fn from(error: QuantityError) -> Self {
        values::ValueError::from(error).into()
    }
}

fn wrong(name: &str, problem: ValueError) -> ParameterError {
    ParameterError::Value { name: name.to_owned(), problem }
}

fn wanted(text: &str, wanted: &'static str) -> ValueError {
    values::ValueError::wanted(text, wanted).into()
}
