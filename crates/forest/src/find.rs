//! Finding where a request belongs.

use std::collections::HashMap;
use std::sync::Arc;

use verbatim_chat::{Chain, Message, Verdict};
use verbatim_events::NodeId;

use crate::node::NodeKey;
use crate::{Forest, Place};

/// A node under whose key a prefix of the request was found, with what is stored there, so that it
/// can be judged without the forest.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The node.
    pub node: NodeId,
    /// Where the request belongs if the candidate is chosen.
    pub place: Place,
    /// Stored messages from the anchor to the node, and on to a candidate that covers more.
    way: Arc<[Arc<Message>]>,
    covered: usize,
}

impl Candidate {
    /// The stored messages between the anchor and the node: as many as it covers of the request.
    pub fn stored(&self) -> &[Arc<Message>] {
        &self.way[..self.covered]
    }
}

/// The candidate that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Where the request belongs.
    pub place: Place,
    /// How many of the request's messages, counted from the anchor, are stored there.
    pub covered: usize,
    /// Whether they came back in another spelling.
    pub respelt: bool,
}

impl Forest {
    /// The key of the path that ends at a node, where messages say it.
    pub fn chain(&self, node: NodeId) -> Option<Chain> {
        match self.node(node)?.key {
            NodeKey::Messages(chain) => Some(chain),
            NodeKey::Ids => None,
        }
    }

    /// Candidates for a request, those that cover most of it first, among equals the latest first.
    ///
    /// `chains[i]` is the key of the request's path after the anchor's messages and `i` more. The
    /// anchor is an observation that the request is known to begin with; without one `chains[0]` is
    /// the root's key. The anchor may also be a generation, which then is a candidate itself. The cost is
    /// that of what follows the anchor.
    pub fn candidates(&self, anchor: Option<NodeId>, chains: &[Chain]) -> Vec<Candidate> {
        let whole = chains.len().saturating_sub(1);
        let base = anchor.and_then(|id| self.node(id)).map_or(0, |node| node.messages);
        // Most candidates lie on the way to one that covers more, and share its messages.
        let mut ways = HashMap::new();
        let mut found = Vec::new();
        for (covers, chain) in chains.iter().enumerate().rev() {
            for id in self.by_chain.get(chain).into_iter().flatten().rev() {
                let Some(node) = self.node(*id).filter(|node| node.messages == base + covers) else {
                    continue;
                };
                let place = match node.observation() {
                    None => Place::After(*id),
                    Some(_) if covers == whole => Place::Again(*id),
                    Some(_) => continue,
                };
                if !ways.contains_key(id) {
                    self.walk(anchor, *id, &mut ways);
                }
                let way = ways.get(id).map(Arc::clone);
                found.extend(way.map(|way| Candidate { node: *id, place, way, covered: covers }));
            }
        }
        found
    }

    /// Walks from `node` back to `anchor`; if it leads there, every node on it gets its messages.
    fn walk(&self, anchor: Option<NodeId>, node: NodeId, ways: &mut HashMap<NodeId, Arc<[Arc<Message>]>>) {
        let (mut ids, mut messages) = (vec![node], Vec::new());
        let mut at = Some(node);
        while at != anchor {
            // Ids fall on the way back: before the anchor there is none to be found.
            let Some(node) = at.filter(|_| at > anchor).and_then(|id| self.node(id)) else { return };
            messages.extend(node.messages().iter().rev().cloned());
            at = node.parent;
            ids.extend(at);
        }
        messages.reverse();
        let way: Arc<[_]> = messages.into();
        ids.into_iter().for_each(|id| drop(ways.insert(id, Arc::clone(&way))));
    }
}

/// Judges candidates, outside any lock: of those that cover most, an exact match before an
/// equivalent one, then the first in the order of [`Forest::candidates`]. `judge` says whether the second
/// message is the first again; `sent` are the request's messages after the anchor. `None` means that the
/// request begins a root.
pub fn choose(
    mut judge: impl FnMut(&Arc<Message>, &Arc<Message>) -> Verdict,
    candidates: &[Candidate],
    sent: &[Arc<Message>],
) -> Option<Choice> {
    let mut best: Option<(Verdict, Choice)> = None;
    for candidate in candidates {
        let covered = candidate.covered;
        if best.is_some_and(|(verdict, choice)| covered < choice.covered || verdict == Verdict::Exact) {
            break;
        }
        let verdict = candidate
            .stored()
            .iter()
            .zip(sent)
            .map(|(stored, sent)| judge(stored, sent))
            .min()
            .unwrap_or(Verdict::Exact);
        if verdict > best.map_or(Verdict::Different, |(verdict, _)| verdict) {
            let respelt = verdict == Verdict::Equivalent;
            best = Some((verdict, Choice { place: candidate.place, covered, respelt }));
        }
    }
    best.map(|(_, choice)| choice)
}
