//! Which leaves become rows.

use serde::{Deserialize, Serialize};
use verbatim_events::NodeId;
use verbatim_forest::{Forest, Lineage};

/// A rule that picks leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// Every leaf but those that a later turn after the same parent replaced. Roots are never
    /// dropped. (Miles' `drop_retries`.) A linear session has one line, and its end is picked.
    #[default]
    DropRetries,
    /// Every leaf (Miles' `keep_all`).
    #[serde(alias = "keep_all")]
    All,
}

impl Pick {
    /// The picked leaves, in the order of commits.
    pub fn leaves(self, forest: &Forest) -> Vec<NodeId> {
        if forest.lineage() == Lineage::Linear {
            return forest.head().into_iter().collect();
        }
        let leaves = forest.leaves();
        match self {
            Self::All => leaves,
            Self::DropRetries => {
                let latest = latest_by_parent(forest);
                let replaced = |leaf: NodeId| {
                    forest
                        .parent_turn(leaf)
                        .is_some_and(|parent| latest.get(parent.0 as usize) > Some(&Some(leaf)))
                };
                leaves.into_iter().filter(|leaf| !replaced(*leaf)).collect()
            }
        }
    }
}

/// For each node the latest generation whose parent turn it is.
fn latest_by_parent(forest: &Forest) -> Vec<Option<NodeId>> {
    let mut latest = vec![None; forest.nodes().len()];
    for (id, node) in forest.nodes() {
        if node.generation().is_some()
            && let Some(parent) = forest.parent_turn(id)
        {
            latest[parent.0 as usize] = Some(id);
        }
    }
    latest
}
