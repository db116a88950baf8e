//! Groups of rollouts: dataset rows in, training rows out.
//!
//! The invariants this crate keeps: a group's rows are given to the sink once, whole, and only after every
//! process and session of the group is gone; one agent's failure never touches another group; every
//! group ends as rows that were taken for good or as a drop with its cause.

mod context;
mod contexts;
mod custody;
mod dataset;
mod delivery;
mod driver;
mod error;
mod eval;
mod folder;
mod group;
mod handle;
mod media;
mod member;
mod plan;
mod pull;
mod score;
mod sink;
mod steps;
mod store;
mod summary;
mod tasks;

pub use custody::{Custody, Past};
pub use dataset::{Dataset, Task};
pub use error::RolloutError;
pub use eval::{DatasetReport, EvalRefused, EvalReport, Lane};
pub use folder::Folder;
pub use group::{Outcome, Phase};
pub use handle::{Ending, Parts, Progress, Rollout, StepRefused, View};
pub use plan::Plan;
pub use pull::{Acknowledged, Delivery, Pull};
pub use score::{CommandSource, Credit, Source, UrlSource};
pub use sink::{Batch, Sink, SinkError};
pub use steps::{StepState, StepView};
pub use store::Store;
pub use summary::Summary;
pub use tasks::Order;
