//! The nodes of one session.

use std::collections::HashMap;
use std::sync::Arc;

use verbatim_chat::{Chain, Matcher};
use verbatim_events::NodeId;

use crate::{Lineage, Node};

/// All that one session's engine read and sampled.
pub struct Forest {
    pub(crate) matcher: Arc<dyn Matcher>,
    pub(crate) lineage: Lineage,
    /// How many turns a request may take back on a line.
    pub(crate) rollback: usize,
    pub(crate) nodes: Vec<Node>,
    /// Nodes by the key of their path, in the order of commits.
    pub(crate) by_chain: HashMap<Chain, Vec<NodeId>>,
    /// The last committed generation: the end of a linear session's line.
    pub(crate) head: Option<NodeId>,
    /// What its nodes hold, in bytes.
    pub(crate) bytes: usize,
}

impl Forest {
    /// An empty forest.
    pub fn new(lineage: Lineage, matcher: Arc<dyn Matcher>) -> Self {
        Self {
            matcher,
            lineage,
            rollback: 1,
            nodes: Vec::new(),
            by_chain: HashMap::new(),
            head: None,
            bytes: 0,
        }
    }

    /// The same forest in which a request may take back so many turns of a line; it is one unless told
    /// otherwise, as in Miles.
    #[must_use]
    pub fn with_rollback(self, turns: usize) -> Self {
        Self { rollback: turns, ..self }
    }

    /// The matcher that says which messages are the same.
    pub fn matcher(&self) -> &Arc<dyn Matcher> {
        &self.matcher
    }

    /// How it grows.
    pub fn lineage(&self) -> Lineage {
        self.lineage
    }

    /// The node of that id.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// Every node in the order of commits.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> + DoubleEndedIterator {
        self.nodes.iter().enumerate().map(|(at, node)| (NodeId(at as u32), node))
    }

    /// The last committed generation.
    pub fn head(&self) -> Option<NodeId> {
        self.head
    }

    /// The generation before a generation, past the observation between them.
    pub fn parent_turn(&self, generation: NodeId) -> Option<NodeId> {
        self.node(self.node(generation)?.parent?)?.parent
    }

    /// Generations that no later turn follows, in the order of commits.
    pub fn leaves(&self) -> Vec<NodeId> {
        self.nodes()
            .filter(|(id, node)| node.generation().is_some() && !self.is_followed(*id))
            .map(|(id, _)| id)
            .collect()
    }

    /// Whether anything follows a node.
    pub fn is_followed(&self, node: NodeId) -> bool {
        self.node(node).is_some_and(|node| node.children > 0)
    }

    /// Bytes held in all: ids, logprobs, messages and replay payloads. Shared openings count whole.
    pub fn stored_bytes(&self) -> usize {
        self.bytes
    }

    /// Ids held in all, each counted once: what memory grows with.
    pub fn stored_tokens(&self) -> usize {
        self.nodes.iter().map(|node| node.ids().len()).sum()
    }
}
