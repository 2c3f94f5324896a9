//! Exact arithmetic, or the whole bits per second of the reference simulator.

/// How a controller of the data centre computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// Rates keep their fraction; counts are what was really counted.
    #[default]
    Clean,
    /// As the public HPCC simulator does it: every rate is cut to whole bits per second, batches are
    /// estimated, and losses change no rate. For comparing results flow by flow.
    Compatible,
}

impl Fidelity {
    /// A rate in bits per second as this fidelity stores it.
    pub(crate) fn settle(self, bits_per_second: f64) -> f64 {
        match self {
            Self::Clean => bits_per_second,
            Self::Compatible => bits_per_second.trunc(),
        }
    }
}
