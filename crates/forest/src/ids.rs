//! Finding where ids belong that a client gave itself.
//!
//! The invariant: a place is found by ids alone, so that what is put after it is, id for id, what the client sent.

use verbatim_events::NodeId;
use verbatim_tokens::TokenId;

use crate::node::NodeKey;
use crate::{Forest, Place};

impl Forest {
    /// Where a prompt of these ids belongs, and how many of them are held there: after the longest turn whose path they
    /// begin with (of several the latest), or at the observation that they are, if ids were put there before.
    ///
    /// The cost is one look at each node, and at each id of the paths that the prompt begins with.
    pub fn locate(&self, prompt: &[TokenId]) -> (Place, usize) {
        // How many ids of each node's path the prompt begins with.
        let mut shared: Vec<usize> = Vec::with_capacity(self.nodes.len());
        let (mut place, mut held) = (Place::Root, 0);
        for (id, node) in self.nodes() {
            let before = node.tokens - node.ids().len();
            let follows = node.parent.is_none_or(|parent| shared[parent.0 as usize] >= before);
            let own = match prompt.get(before..).filter(|_| follows) {
                Some(rest) => rest.iter().zip(node.ids()).take_while(|(sent, held)| sent == held).count(),
                None => 0,
            };
            let reached = match node.parent {
                Some(parent) if !follows => shared[parent.0 as usize],
                _ => before + own,
            };
            shared.push(reached);
            if !follows || reached < node.tokens {
                continue;
            }
            let again =
                node.observation().is_some() && node.key == NodeKey::Ids && node.tokens == prompt.len();
            if again {
                (place, held) = (Place::Again(id), node.tokens);
            } else if node.generation().is_some() && node.tokens >= held && !matches!(place, Place::Again(_))
            {
                (place, held) = (Place::After(id), node.tokens);
            }
        }
        (place, held)
    }

    /// Whether a node is found by its path's ids, not by messages.
    pub fn is_by_ids(&self, node: NodeId) -> bool {
        self.node(node).is_some_and(|node| node.key == NodeKey::Ids)
    }
}
