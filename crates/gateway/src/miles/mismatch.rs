//! How the ids that a session kept differ from what its messages render to.

use std::sync::Arc;

use serde_json::Value;
use verbatim_audit::{Comparator, canonical};
use verbatim_chat::{Message, Setup};
use verbatim_events::NodeId;
use verbatim_families::{Family, Scene};
use verbatim_forest::Forest;
use verbatim_tokens::TokenId;

/// A lineage as it was kept, to be judged without the forest.
pub(crate) struct Kept {
    setup: Arc<Setup>,
    messages: Vec<Arc<Message>>,
    ids: Vec<TokenId>,
}

impl Kept {
    /// The lineage that ends at a node.
    pub(crate) fn of(forest: &Forest, end: NodeId) -> Option<Self> {
        Some(Self { setup: forest.setup(end)?, messages: forest.messages(end), ids: forest.gather(end) })
    }
}

/// The differences, in Miles' form; `None` where the messages cannot be rendered at once. One full rendering.
pub(crate) fn mismatches(family: &dyn Family, opened: i64, kept: &Kept) -> Option<Value> {
    let scene = Scene { setup: &kept.setup, opened };
    let messages: Vec<_> = kept.messages.iter().map(|message| message.as_ref().clone()).collect();
    match canonical(family, scene, &messages) {
        Ok(expected) => serde_json::to_value(Comparator::of(family).compare(&expected, &kept.ids)).ok(),
        Err(error) => {
            tracing::debug!(%error, "the session cannot be compared with its messages");
            None
        }
    }
}
