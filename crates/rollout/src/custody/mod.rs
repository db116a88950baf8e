//! What a rollout keeps on disk: where it stands, and rows that nobody has taken for good.
//!
//! The invariants: a group's rows are frozen before anybody is given them and before its step counts it; they are
//! retired before whoever took them is told so. So a rollout that goes on after its server was killed gives every group
//! that was frozen and not retired again, none that was retired, and runs every other task anew.

mod frozen;
mod keeper;
mod ledger;

pub use keeper::{Custody, Past};
