//! A node and what it adds.

use std::sync::Arc;

use verbatim_chat::{Chain, ImagePlace, Message, Setup, StartState};
use verbatim_events::{Finish, NodeId, Timings, TurnCommitted};
use verbatim_tokens::{Replay, Sampled, Speculation, TokenId};

/// One step of a lineage.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it follows; an observation's parent is a generation, and the other way round.
    pub parent: Option<NodeId>,
    /// What it adds.
    pub body: Body,
    /// What it is found by.
    pub(crate) key: NodeKey,
    /// How many tokens the path holds, this node's included.
    pub(crate) tokens: usize,
    /// How many messages the path holds, this node's included.
    pub(crate) messages: usize,
    /// How many nodes follow it.
    pub(crate) children: u32,
    /// The observation whose tools and template arguments are in force.
    pub(crate) setup: NodeId,
}

/// What a node is found by. What follows ids is ids: a conversation that does not know them cannot go on after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKey {
    /// The path of messages that ends here.
    Messages(Chain),
    /// The path's ids, which say it themselves.
    Ids,
}

/// The two kinds of nodes.
#[derive(Clone, Debug)]
pub enum Body {
    /// What the model was shown.
    Observation(Observation),
    /// What the model sampled.
    Generation(Box<Generation>),
}

/// What the model was shown.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Tools and template arguments, at a root and where they changed.
    pub setup: Option<Arc<Setup>>,
    /// The messages it adds.
    pub messages: Box<[Arc<Message>]>,
    /// The ids it adds; shared between the sessions of a group that begin alike.
    pub ids: Arc<[TokenId]>,
    /// Where the messages' images stand among its ids, one an image and in their order.
    pub images: Box<[ImagePlace]>,
    /// How many of its parent's last tokens its ids replace.
    pub trim: usize,
    /// What a turn sampled from here starts in.
    pub start: StartState,
}

/// What the model sampled.
#[derive(Clone, Debug)]
pub struct Generation {
    /// The sampled span.
    pub sampled: Sampled,
    /// The span as a message.
    pub message: Arc<Message>,
    /// How the turn ended.
    pub finish: Finish,
    /// The reply's id.
    pub response: String,
    /// When it was committed, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The temperature that it was sampled with.
    pub temperature: f32,
    /// Prompt tokens that the engine had cached, if it said.
    pub cached_tokens: Option<u32>,
    /// Which experts the lineage's tokens were routed to, as far as no turn before has told.
    pub experts: Option<Arc<Replay>>,
    /// Which positions sparse attention looked at, as far as no turn before has told.
    pub indexer: Option<Arc<Replay>>,
    /// What speculative decoding did, if the engine says.
    pub speculation: Option<Speculation>,
    /// How many of its tokens are reasoning.
    pub reasoning_tokens: usize,
    /// How long its parts took.
    pub timings: Timings,
}

impl Generation {
    pub(crate) fn of(turn: &TurnCommitted) -> Self {
        let generated = &turn.generated;
        Self {
            sampled: generated.sampled.clone(),
            message: Arc::clone(&generated.message),
            finish: generated.finish,
            response: generated.response.clone(),
            at: turn.at,
            temperature: generated.temperature,
            cached_tokens: generated.cached_tokens,
            experts: generated.experts.clone(),
            indexer: generated.indexer.clone(),
            speculation: generated.speculation,
            reasoning_tokens: generated.reasoning_tokens,
            timings: turn.timings,
        }
    }
}

impl Node {
    /// The ids it adds.
    pub fn ids(&self) -> &[TokenId] {
        match &self.body {
            Body::Observation(observation) => &observation.ids,
            Body::Generation(generation) => generation.sampled.ids(),
        }
    }

    /// The messages it adds.
    pub fn messages(&self) -> &[Arc<Message>] {
        match &self.body {
            Body::Observation(observation) => &observation.messages,
            Body::Generation(generation) => std::slice::from_ref(&generation.message),
        }
    }

    /// How many of its parent's last tokens its ids replace.
    pub fn trim(&self) -> usize {
        match &self.body {
            Body::Observation(observation) => observation.trim,
            Body::Generation(_) => 0,
        }
    }

    /// The sampled turn, if it is one.
    pub fn generation(&self) -> Option<&Generation> {
        match &self.body {
            Body::Generation(generation) => Some(generation),
            Body::Observation(_) => None,
        }
    }

    /// The observation, if it is one.
    pub fn observation(&self) -> Option<&Observation> {
        match &self.body {
            Body::Observation(observation) => Some(observation),
            Body::Generation(_) => None,
        }
    }

    /// How many tokens the path to here holds.
    pub fn path_tokens(&self) -> usize {
        self.tokens
    }

    /// How many messages the path to here holds.
    pub fn path_messages(&self) -> usize {
        self.messages
    }
}
