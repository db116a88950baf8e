//! How a session may grow: along one line, or as a tree.

use serde::{Deserialize, Serialize};
use verbatim_events::{Finish, NodeId};

use crate::{Conflict, Forest, Refusal};

/// The two policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lineage {
    /// One line: a request that replaces the last turn drops it (or the last few,
    /// [`Forest::with_rollback`]), deeper divergence is refused. A turn that was cut by its length limit may
    /// be extended.
    Linear,
    /// Branches: divergence begins a branch or a root. A turn that was cut by its length limit may
    /// not be extended.
    #[default]
    Tree,
}

/// Where a request was found to belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nothing of the session precedes it.
    Root,
    /// It follows this generation.
    After(NodeId),
    /// It is this observation again.
    Again(NodeId),
}

/// A place that the lineage took, to be committed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where the turn goes.
    pub place: Place,
    /// The generation it follows.
    pub parent: Option<NodeId>,
    /// How many turns a linear session takes back by it.
    pub drops: usize,
    /// The end of the line when the plan was made.
    head: Option<NodeId>,
}

impl Forest {
    /// Takes a place or refuses it. `sent` is the number of messages in the request.
    ///
    /// # Errors
    /// [`Refusal`], as the lineage demands.
    pub fn plan(&self, place: Place, sent: usize) -> Result<Plan, Refusal> {
        let parent = match place {
            Place::Root => None,
            Place::After(generation) => Some(generation),
            Place::Again(observation) => self.node(observation).and_then(|node| node.parent),
        };
        let mut plan = Plan { place, parent, drops: 0, head: self.head };
        match self.lineage {
            Lineage::Tree => self.refuse_truncated(parent)?,
            Lineage::Linear => plan.drops = self.dropped_by(parent, sent)?,
        }
        Ok(plan)
    }

    /// Whether a plan still holds.
    ///
    /// # Errors
    /// [`Conflict::Raced`] if a linear session's line moved on. A tree never conflicts: what was
    /// sampled meanwhile is a sibling.
    pub fn check(&self, plan: &Plan) -> Result<(), Conflict> {
        match self.lineage {
            Lineage::Linear if plan.head != self.head => Err(Conflict::Raced),
            _ => Ok(()),
        }
    }

    fn refuse_truncated(&self, parent: Option<NodeId>) -> Result<(), Refusal> {
        let generation = parent.and_then(|id| Some((id, self.node(id)?.generation()?)));
        match generation {
            Some((node, generation)) if generation.finish == Finish::Length => {
                Err(Refusal::Truncated { node })
            }
            _ => Ok(()),
        }
    }

    fn dropped_by(&self, parent: Option<NodeId>, sent: usize) -> Result<usize, Refusal> {
        let Some(head) = self.head else { return Ok(0) };
        // Ids grow along a path: the later of two ends steps back until line and path meet.
        let (mut line, mut path, mut discard) = (Some(head), parent, 0);
        while line != path {
            if line > path {
                line = line.and_then(|turn| self.parent_turn(turn));
                discard += 1;
            } else {
                path = path.and_then(|turn| self.parent_turn(turn));
            }
        }
        if discard > self.rollback {
            let stored = self.node(head).map_or(0, |node| node.messages);
            return Err(Refusal::Diverged { discard, allowed: self.rollback, stored, sent });
        }
        Ok(discard)
    }
}
