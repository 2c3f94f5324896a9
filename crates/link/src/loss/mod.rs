//! Loss: which packets are dropped whatever the load.

mod bernoulli;
mod gilbert_elliott;
pub(crate) mod pattern;
mod register;

pub use bernoulli::{Bernoulli, VaryingLoss};
pub use gilbert_elliott::{GilbertElliott, GilbertElliottParameters};
pub use pattern::{Pattern, PatternError, PatternLoss};
pub use register::LossSpec;

use crate::element::{Cause, Verdict};

fn verdict(lost: bool) -> Verdict {
    if lost { Verdict::Drop(Cause::Loss) } else { Verdict::Pass }
}
