//! A committed turn.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use verbatim_chat::{ImagePlace, Message, Setup, StartState};
use verbatim_tokens::{Replay, Sampled, Speculation, TokenId};

use crate::{NodeId, SessionId};

/// One turn: what the model read that was new, and what it sampled. Committing it is appending
/// this event; everything else follows from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TurnCommitted {
    /// The session.
    pub session: SessionId,
    /// The generation that the turn extends; `None` begins a new root.
    pub parent: Option<NodeId>,
    /// What was put before the model.
    pub observed: Observed,
    /// What the model did.
    pub generated: Generated,
    /// When it was committed, in milliseconds since the Unix epoch.
    pub at: u64,
    /// How long its parts took.
    pub timings: Timings,
}

/// What a turn put before the model, beyond its parent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    /// An observation that is already there: the turn is sampled again from it.
    Shared(NodeId),
    /// A new one.
    New {
        /// Tools and template arguments, where the turn begins a root.
        setup: Option<Arc<Setup>>,
        /// The new messages; may be empty.
        messages: Box<[Arc<Message>]>,
        /// The ids that were put after the parent's, the opener of the turn included.
        ids: Arc<[TokenId]>,
        /// Where the messages' images stand among the ids, one an image and in their order.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        images: Box<[ImagePlace]>,
        /// How many of the parent's tokens, at its end, these ids replace.
        trim: usize,
        /// What the ids leave the turn in.
        start: StartState,
    },
    /// Ids that the client gave itself, put after the parent's: no message says what they are.
    Ids(Arc<[TokenId]>),
}

/// What the model sampled, and how it reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Generated {
    /// The sampled span.
    pub sampled: Sampled,
    /// The span as a message.
    pub message: Arc<Message>,
    /// How the turn ended.
    pub finish: Finish,
    /// The id under which the agent knows the reply.
    pub response: String,
    /// The temperature that it was sampled with; 0 is greedy.
    pub temperature: f32,
    /// Prompt tokens that the engine had cached, if it said.
    pub cached_tokens: Option<u32>,
    /// Which experts the lineage's tokens were routed to, from the first position that no turn before
    /// has told to the last token but one; `None` if that was not asked for or is not complete.
    pub experts: Option<Arc<Replay>>,
    /// Which positions sparse attention looked at, from the first position that no turn before has told on;
    /// `None` if that was not asked for or is not complete.
    pub indexer: Option<Arc<Replay>>,
    /// What speculative decoding did, if the engine says.
    pub speculation: Option<Speculation>,
    /// How often the engine computed the turn's cache again.
    pub retractions: u32,
    /// How many attempts it took.
    pub attempts: u32,
    /// How many of its tokens are reasoning, by the family's parser; 0 where the engine read the reply.
    pub reasoning_tokens: usize,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model ended it, or a stop condition did.
    Stop,
    /// The token limit did; it may not be extended in a tree.
    Length,
}

/// How long the parts of a turn took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timings {
    /// From the request's arrival to the ids of its prompt.
    pub prepare: Duration,
    /// Waiting for a permit or for the gate.
    pub held: Duration,
    /// From the first dispatch to the first sampled token.
    pub first_token: Duration,
    /// From the first dispatch to the end of the last attempt.
    pub generate: Duration,
}
