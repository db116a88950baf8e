//! Walking from a root to a node.

use std::sync::Arc;

use verbatim_chat::{ImageSpan, Message, Setup};
use verbatim_events::NodeId;
use verbatim_tokens::TokenId;

use crate::{Forest, Node};

/// One node of a path and how many of its ids the path keeps.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// The node's id.
    pub id: NodeId,
    /// The node.
    pub node: &'a Node,
    /// How many of its ids remain; the next segment replaces the others.
    pub kept: usize,
}

impl<'a> Segment<'a> {
    /// The ids that remain.
    pub fn ids(&self) -> &'a [TokenId] {
        &self.node.ids()[..self.kept]
    }

    /// Its images, each at its place among its ids.
    pub fn images(&self) -> impl Iterator<Item = ImageSpan> + 'a {
        let observation = self.node.observation().filter(|observation| !observation.images.is_empty());
        let observation = observation.into_iter();
        observation.flat_map(|one| ImageSpan::join(&one.messages, one.images.iter().copied()))
    }
}

impl Forest {
    /// The path from the root to `end`, both included.
    pub fn path(&self, end: NodeId) -> Vec<Segment<'_>> {
        let mut path = Vec::new();
        let mut trimmed = 0;
        let mut at = Some(end);
        while let Some((id, node)) = at.and_then(|id| Some((id, self.node(id)?))) {
            path.push(Segment { id, node, kept: node.ids().len() - trimmed });
            trimmed = node.trim();
            at = node.parent;
        }
        path.reverse();
        path
    }

    /// The ids that the engine had before it once `end` was there: one linear pass.
    pub fn gather(&self, end: NodeId) -> Vec<TokenId> {
        self.gather_with(end, 0)
    }

    /// As [`Forest::gather`], with room for `more` ids.
    pub fn gather_with(&self, end: NodeId, more: usize) -> Vec<TokenId> {
        let mut ids = Vec::with_capacity(self.node(end).map_or(0, |node| node.tokens) + more);
        self.path(end).iter().for_each(|segment| ids.extend_from_slice(segment.ids()));
        ids
    }

    /// The images of a path, each at its place among the path's ids.
    pub fn images(&self, end: NodeId) -> Vec<ImageSpan> {
        let (mut images, mut before) = (Vec::new(), 0);
        for segment in self.path(end) {
            images.extend(
                segment.images().map(|image| ImageSpan { place: image.place.after(before), ..image }),
            );
            before += segment.kept;
        }
        images
    }

    /// The messages of a path.
    pub fn messages(&self, end: NodeId) -> Vec<Arc<Message>> {
        self.path(end).iter().flat_map(|segment| segment.node.messages().iter().cloned()).collect()
    }

    /// Tools and template arguments in force at a node.
    pub fn setup(&self, node: NodeId) -> Option<Arc<Setup>> {
        let setup = self.node(node)?.setup;
        self.node(setup)?.observation()?.setup.clone()
    }
}
