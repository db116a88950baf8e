//! A rollout as its trainer drives it: steps, rows, what the trainer did.
//!
//! The invariant: rows leave only once somebody said that they are kept.

mod batches;
mod evaluations;
mod steps;
mod trainer;

use verbatim_rollout::{Pull, Rollout};

use crate::access::Caller;
use crate::{ApiError, App};

pub(crate) use batches::{acknowledge, next};
pub(crate) use evaluations::{begin as evaluate, show as evaluation};
pub(crate) use steps::{drain, open, show, view};
pub(crate) use trainer::optimizer_step;

/// What the routes below `/rollout` give access to.
#[derive(Clone)]
pub struct RolloutControl {
    /// The rollout.
    pub rollout: Rollout,
    /// Its rows, if they are pulled.
    pub pull: Option<Pull>,
}

impl App {
    /// The rollout, for who may give orders.
    fn rollout(&self, caller: &Caller) -> Result<&RolloutControl, ApiError> {
        self.controlled(caller)?;
        self.rollout.as_ref().ok_or_else(ApiError::no_rollout)
    }
}
