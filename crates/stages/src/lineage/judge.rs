//! What shape the requests make together.
//!
//! The invariant: linear is only what is linear request by request and has its replies; an accident outweighs what is
//! unknown, and what is unknown outweighs what is meant.

use serde::{Deserialize, Serialize};

use super::{Cause, Intent, Step, Transition};

/// The shape of an agent's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Topology {
    /// Every request goes on from the reply before.
    #[serde(rename = "linear")]
    Linear,
    /// There are branches, and all of them are declared.
    #[serde(rename = "intentional branches")]
    Intentional,
    /// There is a branch that nobody can have meant.
    #[serde(rename = "accidental branches")]
    Accidental,
    /// There is something that nobody has declared, or that cannot be read.
    #[serde(rename = "unknown")]
    Unknown,
}

impl Topology {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Intentional => "intentional branches",
            Self::Accidental => "accidental branches",
            Self::Unknown => "unknown",
        }
    }

    /// Of the steps of one run, of which `turns` had their reply and `unknown` may have, in so many contexts.
    pub fn of(steps: &[Step], turns: usize, unknown: usize, contexts: usize) -> Self {
        let branches = || steps.iter().filter(|step| step.is_branch());
        let unclear = |step: &&Step| step.transition == Transition::Unread || step.is_foreign();
        if branches().any(|step| step.intent == Intent::No) {
            Self::Accidental
        } else if steps.iter().any(|step| unclear(&step))
            || branches().any(|step| step.intent == Intent::Unknown)
            || unknown > 0
            || turns == 0
            || (branches().next().is_none() && contexts != 1)
        {
            Self::Unknown
        } else if branches().next().is_some() {
            Self::Intentional
        } else {
            Self::Linear
        }
    }

    /// Of several runs: the worst of them. Of none it is unknown.
    pub fn of_all(each: impl IntoIterator<Item = Self>) -> Self {
        let rank = |topology: &Self| match topology {
            Self::Accidental => 3,
            Self::Unknown => 2,
            Self::Intentional => 1,
            Self::Linear => 0,
        };
        each.into_iter().max_by_key(rank).unwrap_or(Self::Unknown)
    }
}

impl Step {
    /// Whether it leaves its line.
    pub fn is_branch(&self) -> bool {
        match self.transition {
            Transition::Fork | Transition::ConcurrentSibling | Transition::Reset => true,
            Transition::Retry => self.cause != Some(Cause::RetriedFailure),
            Transition::Start | Transition::Append | Transition::Unread => false,
        }
    }

    /// Whether it puts words into the model's mouth on the way: they would be observations.
    pub fn is_foreign(&self) -> bool {
        self.foreign > 0 && self.transition != Transition::Start
    }
}
