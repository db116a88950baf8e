//! Why something was lost.

use serde::{Deserialize, Serialize};
use verbatim_tokens::MaskCause;

/// One kind of loss. Nothing is dropped, changed, masked or refused without one of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "cause")]
pub enum Cause {
    /// A field of a request was accepted and not acted on.
    FieldIgnored {
        /// The field.
        field: String,
    },
    /// A message's role has no counterpart and was taken for another.
    RoleMapped {
        /// The role on the wire.
        from: String,
    },
    /// A replayed message came back in another spelling; the stored one was kept.
    Respelt,
    /// A request left the session's lineage and began a branch.
    Forked,
    /// A request matched nothing of the session and began a root.
    Rerooted,
    /// A linear session dropped a turn, because the request replaced it.
    RolledBack,
    /// Tools or template arguments changed within a linear session; its prompt kept those it began with.
    ToolsDrifted,
    /// A request's own value gave way to the server's.
    Overridden {
        /// The field.
        field: String,
    },
    /// The user's matcher failed.
    MatcherFailed,
    /// The journal could not keep a turn.
    Unkept,
    /// A turn had no legal end; one was added as an observation.
    JunctionRepaired,
    /// A turn ended inside its think block.
    ReasoningOpen,
    /// A turn ended inside a tool call, which became content.
    CallOpen,
    /// A tool call was malformed and became content.
    CallMalformed,
    /// A stop string cut tokens that the engine had sampled beyond it.
    StoppedBeyond,
    /// An attempt was aborted by the engine or by a closing gate and resumed.
    AttemptAborted,
    /// An attempt failed; the turn went on in another.
    AttemptFailed {
        /// The kind of failure.
        kind: String,
    },
    /// Routed experts were asked for and did not come whole.
    ExpertsLost,
    /// What the indexer of sparse attention chose was asked for and did not come whole.
    IndexerLost,
    /// The engine failed; the turn was not committed.
    EngineFailed {
        /// The kind of failure.
        kind: String,
    },
    /// The turn was held beyond its deadline.
    HoldExpired,
    /// The client left before its turn was committed.
    ClientGone,
    /// The session closed before its turn was committed.
    SessionClosed,
    /// The session was reclaimed, because nobody used it.
    SessionExpired,
    /// Another turn of a linear session was committed first.
    Raced,
    /// A sampled turn is in no row: a later one took its place.
    Superseded,
    /// A sampled turn is in no row: the agent exported other contexts.
    NotExported,
    /// Sampled tokens of a row carry no loss.
    Masked {
        /// Why.
        mask: MaskCause,
    },
    /// The agent ended with an error.
    AgentFailed,
    /// The agent used up its time.
    AgentTimeout,
    /// The agent's output could not be read.
    AgentOutput,
    /// The agent exported a conversation that its session does not hold.
    ExportUnknown,
    /// The agent could not be run: the machine's failure, not the agent's.
    AgentNotRun,
    /// The agent ended without one committed turn.
    NoTurns,
    /// The run was interrupted.
    Interrupted,
    /// A group's first requests were not all there in time.
    BarrierExpired,
    /// A group's step was complete without it.
    Surplus,
    /// A group's result was not wanted.
    Discarded,
    /// A group teaches nothing: a filter's or an advantage function's decision.
    Filtered {
        /// What decided, and why.
        reason: String,
    },
    /// A reward or an advantage could not be had: the machine's failure, not the agent's.
    RewardFailed,
    /// Sessions of a group have several contexts, and nothing says how credit is shared among them.
    ContextsUncredited,
    /// A row could not be made.
    RowRefused,
    /// Rows that were ready were not taken before the rollout ended.
    Undelivered,
}

impl Cause {
    /// A stable short name, for metrics and tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::FieldIgnored { .. } => "field_ignored",
            Self::RoleMapped { .. } => "role_mapped",
            Self::Respelt => "respelt",
            Self::Forked => "forked",
            Self::Rerooted => "rerooted",
            Self::RolledBack => "rolled_back",
            Self::ToolsDrifted => "tools_drifted",
            Self::Overridden { .. } => "overridden",
            Self::MatcherFailed => "matcher_failed",
            Self::Unkept => "unkept",
            Self::JunctionRepaired => "junction_repaired",
            Self::ReasoningOpen => "reasoning_open",
            Self::CallOpen => "call_open",
            Self::CallMalformed => "call_malformed",
            Self::StoppedBeyond => "stopped_beyond",
            Self::AttemptAborted => "attempt_aborted",
            Self::AttemptFailed { .. } => "attempt_failed",
            Self::ExpertsLost => "experts_lost",
            Self::IndexerLost => "indexer_lost",
            Self::EngineFailed { .. } => "engine_failed",
            Self::HoldExpired => "hold_expired",
            Self::ClientGone => "client_gone",
            Self::SessionClosed => "session_closed",
            Self::SessionExpired => "session_expired",
            Self::Raced => "raced",
            Self::Superseded => "superseded",
            Self::NotExported => "not_exported",
            Self::Masked { .. } => "masked",
            Self::AgentFailed => "agent_failed",
            Self::AgentTimeout => "agent_timeout",
            Self::AgentOutput => "agent_output",
            Self::ExportUnknown => "export_unknown",
            Self::AgentNotRun => "agent_not_run",
            Self::NoTurns => "no_turns",
            Self::Interrupted => "interrupted",
            Self::BarrierExpired => "barrier_expired",
            Self::Surplus => "surplus",
            Self::Discarded => "discarded",
            Self::Filtered { .. } => "filtered",
            Self::RewardFailed => "reward_failed",
            Self::ContextsUncredited => "contexts_uncredited",
            Self::RowRefused => "row_refused",
            Self::Undelivered => "undelivered",
        }
    }

    /// What the name alone does not say: the field, the kind of failure, the mask.
    pub fn detail(&self) -> &str {
        match self {
            Self::FieldIgnored { field } | Self::Overridden { field } => field,
            Self::RoleMapped { from } => from,
            Self::AttemptFailed { kind } | Self::EngineFailed { kind } => kind,
            Self::Filtered { reason } => reason,
            Self::Masked { mask } => mask.as_str(),
            _ => "",
        }
    }
}
