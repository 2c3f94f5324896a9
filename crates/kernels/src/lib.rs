//! Numeric loops that NumPy and SciPy cannot do fast: slices in, numbers out, nothing else.
//!
//! Every function takes finite numbers (`part_means` any); what a caller has to check is said at each.

mod buckets;
mod factorial;
mod means;
mod order;
mod permutation;
mod random;
mod shift;
mod slopes;
mod trend;
mod windows;

pub use factorial::{Factorial, Term, term_exceedances};
pub use means::part_means;
pub use permutation::{Draws, lag_product_exceedances, score_exceedances};
pub use shift::differences_at;
pub use slopes::slope_order_statistics;
pub use trend::inversions;
pub use windows::{Window, window_percentiles};
