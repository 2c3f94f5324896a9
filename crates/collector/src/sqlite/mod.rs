//! SQLite: one file for each domain, with OML's tables (OML.md section 8).
//!
//! Values are as OML stores them, but exact: unsigned numbers keep their sign, and what is beyond 2^63 − 1 stands as the text
//! `0x` and 16 hexadecimal digits (greater than every number, and in order). NaN is NULL, as SQLite has no NaN;
//! infinities are infinities; a guid of 0 is NULL. Tables of our own begin with `_trialwise_`.

mod database;
mod statement;
mod table;
mod text;

pub(crate) use database::{Database, Stored, TableId};
pub(crate) use table::Origin;
