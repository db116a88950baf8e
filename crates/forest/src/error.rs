//! Requests that a lineage does not take, and commits that came too late.

use verbatim_events::NodeId;

/// A request that the session's lineage does not take. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A linear session would have to take back more turns than it may.
    #[error(
        "rollback failed: discard_count={discard} exceeds max_assistant_rollback_steps={allowed} \
         (stored has {stored} messages, request has {sent} messages); open the session with lineage \
         \"tree\" to branch"
    )]
    Diverged {
        /// How many turns would be taken back.
        discard: usize,
        /// How many may be.
        allowed: usize,
        /// Messages on the session's line.
        stored: usize,
        /// Messages in the request.
        sent: usize,
    },
    /// Tools or template arguments differ from those that the session began with, and it was told to refuse
    /// that.
    #[error(
        "{field} changed within the session; send what its first request sent, or open another session \
         (sessions.tools_drift = \"accept\" lets it)"
    )]
    Drifted {
        /// `tools` or `chat_template_kwargs`.
        field: &'static str,
    },
    /// A tree does not extend a turn that was cut by its length limit.
    #[error("turn {node} was cut by its length limit and cannot be extended; retry it from before the cut")]
    Truncated {
        /// The cut turn.
        node: NodeId,
    },
}

/// A turn that cannot be committed any more. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The line moved on while the turn was sampled.
    #[error("another turn of this linear session was committed first")]
    Raced,
    /// The node that the turn follows is not one it can follow.
    #[error("node {node} is no node that this turn can follow")]
    Gone {
        /// The missing node.
        node: NodeId,
    },
}
