//! Groups of rollouts: dataset rows in, training rows out.
//!
//! The invariants this crate keeps: a group's rows are written once, whole, and only after every
//! process and session of the group is gone; one agent's failure never touches another group; every
//! group ends as rows on disk or as a drop with its cause.

mod context;
mod contexts;
mod dataset;
mod error;
mod group;
mod media;
mod member;
mod plan;
mod run;
mod score;
mod summary;
mod write;

pub use dataset::{Dataset, Task};
pub use error::RolloutError;
pub use group::Outcome;
pub use plan::Plan;
pub use run::{Progress, Run};
pub use score::{CommandSource, Credit, Source, UrlSource};
pub use summary::Summary;
