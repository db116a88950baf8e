//! `verify`: does a claim hold?

mod rows;

pub use rows::{Bound, Gap, RowsReport, VerifyError, Worst, rows};
