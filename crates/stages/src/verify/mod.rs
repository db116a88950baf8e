//! `verify`: does a claim hold?

mod rows;
mod template;

pub use rows::{Bound, Gap, RowsReport, VerifyError, Worst, rows};
pub use template::{Cut, Difference, Refused, TemplateReport, template};
