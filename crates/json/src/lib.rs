//! Large JSON of other programs, without an object for each of its values.
//!
//! [`long_lists`] checks a document and says where its long lists stand, so that the rest can be parsed as usual; [`columns`] and
//! [`numbers`] read the entries of such a list into arrays. All of them refuse what is not plain (they return nothing): the caller then
//! parses the document in another way.

mod columns;
mod lists;
mod scanner;

pub use columns::{Column, Kind, Numbers, columns, numbers};
pub use lists::{LongList, Sizes, Step, long_lists};
