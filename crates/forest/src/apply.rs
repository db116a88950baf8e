//! Growing by one committed turn.

use std::sync::Arc;

use verbatim_chat::{Chain, StartState};
use verbatim_events::{NodeId, Observed, TurnCommitted};
use verbatim_tokens::TokenId;

use crate::node::NodeKey;
use crate::{Body, Conflict, Forest, Generation, Node, Observation};

/// The nodes of an applied turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// What was observed, new or shared.
    pub observation: NodeId,
    /// What was sampled.
    pub generation: NodeId,
}

impl Forest {
    /// Applies a committed turn; recovery applies the same events through the same door.
    ///
    /// # Errors
    /// [`Conflict::Gone`] if the turn follows what is not there; nothing has changed then.
    pub fn apply(&mut self, turn: &TurnCommitted) -> Result<Applied, Conflict> {
        let observation = match &turn.observed {
            Observed::Shared(id) => self.shared(*id, turn.parent)?,
            Observed::New { setup, messages, ids, images, trim, start } => self.observe(
                turn.parent,
                Observation {
                    setup: setup.clone(),
                    messages: messages.clone(),
                    ids: ids.clone(),
                    images: images.clone(),
                    trim: *trim,
                    start: *start,
                },
                false,
            )?,
            Observed::Ids(ids) => {
                let (setup, messages, start) = (None, Box::default(), StartState::Content);
                let (ids, images) = (Arc::clone(ids), Box::default());
                let observation = Observation { setup, messages, ids, images, trim: 0, start };
                self.observe(turn.parent, observation, true)?
            }
        };
        let body = Body::Generation(Box::new(Generation::of(turn)));
        let generation = self.push(Some(observation), body, false);
        self.head = Some(generation);
        Ok(Applied { observation, generation })
    }

    fn shared(&self, id: NodeId, parent: Option<NodeId>) -> Result<NodeId, Conflict> {
        match self.node(id) {
            Some(node) if node.observation().is_some() && node.parent == parent => Ok(id),
            _ => Err(Conflict::Gone { node: id }),
        }
    }

    fn observe(
        &mut self,
        parent: Option<NodeId>,
        observation: Observation,
        by_ids: bool,
    ) -> Result<NodeId, Conflict> {
        if let Some(id) = parent {
            let generation = self.node(id).and_then(Node::generation).ok_or(Conflict::Gone { node: id })?;
            if observation.trim > generation.sampled.len() {
                return Err(Conflict::Gone { node: id });
            }
        }
        Ok(self.push(parent, Body::Observation(observation), by_ids))
    }

    /// Adds a node, which is found `by_ids` if it says so or follows one that is.
    fn push(&mut self, parent: Option<NodeId>, body: Body, by_ids: bool) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let (key, tokens, messages, setup) = match parent.and_then(|id| self.node(id)) {
            Some(parent) => (parent.key, parent.tokens, parent.messages, parent.setup),
            None => (NodeKey::Messages(root(&body)), 0, 0, id),
        };
        let changed = matches!(&body, Body::Observation(Observation { setup: Some(_), .. }));
        let setup = if changed { id } else { setup };
        let key = if by_ids { NodeKey::Ids } else { key };
        let mut node = Node { parent, body, key, tokens, messages, children: 0, setup };
        node.tokens = node.tokens - node.trim() + node.ids().len();
        node.messages += node.messages().len();
        if let NodeKey::Messages(chain) = key {
            let chain =
                node.messages().iter().fold(chain, |chain, message| chain.then(self.matcher.key(message)));
            node.key = NodeKey::Messages(chain);
            self.by_chain.entry(chain).or_default().push(id);
        }
        self.bytes += weigh(&node);
        self.nodes.push(node);
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent.0 as usize)) {
            parent.children += 1;
        }
        id
    }
}

fn root(body: &Body) -> Chain {
    match body {
        Body::Observation(Observation { setup: Some(setup), .. }) => Chain::root(setup),
        _ => Chain::root(&verbatim_chat::Setup::default()),
    }
}

/// What a node holds, in bytes, without what is shared by all.
fn weigh(node: &Node) -> usize {
    let messages: usize = node.messages().iter().map(|message| message.bytes()).sum();
    let payload = match &node.body {
        Body::Observation(observation) => observation.ids.len() * size_of::<TokenId>(),
        Body::Generation(generation) => {
            let replay = [&generation.experts, &generation.indexer].into_iter().flatten();
            let replay: usize = replay.map(|replay| replay.bytes().len()).sum();
            let token = size_of::<TokenId>() + size_of::<f32>();
            size_of::<Generation>() + generation.sampled.len() * token + replay
        }
    };
    size_of::<Node>() + messages + payload
}
