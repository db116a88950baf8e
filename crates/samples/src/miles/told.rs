//! What the server says of a session and of each of its rows.

use serde_json::{Map, Value, json};
use verbatim_forest::{Forest, Lineage};
use verbatim_tokens::TokenId;

use super::lifecycle::lifecycle;
use super::{Seqs, path_ids, tree};
use crate::Row;

/// The keys of a row's metadata that nobody but the server writes: an agent's own are dropped.
pub const SERVER_KEYS: [&str; 3] = ["accumulated_token_ids", "tito_session_mismatch", "leaf"];

/// Adds to each row what Miles' server adds to a sample: the ids of its whole lineage, where its leaf is, and
/// when its turns began and ended. A linear session's rows get the last alone; the rest is in [`session`].
pub fn annotate(rows: &mut [Row], forest: &Forest) {
    let seqs = Seqs::of(forest);
    for row in rows {
        for key in SERVER_KEYS {
            row.metadata.remove(key);
        }
        let turns = row.turns.iter().map(|turn| turn.node);
        row.metadata.insert("lifecycle".into(), lifecycle(forest, turns));
        if forest.lineage() == Lineage::Linear {
            continue;
        }
        let leaf = row.leaf;
        let response = forest.node(leaf).and_then(|node| node.generation()).map(|turn| turn.response.clone());
        row.metadata.insert("accumulated_token_ids".into(), ids(&forest.gather(leaf)));
        row.metadata.insert(
            "leaf".into(),
            json!({
                "node_id": seqs.get(leaf),
                "parent": forest.parent_turn(leaf).and_then(|parent| seqs.get(parent)),
                "path_node_ids": path_ids(forest, &seqs, leaf),
                "response_id": response,
            }),
        );
    }
}

/// What is said of the session as a whole, whose view is its last turn's.
pub fn session(forest: &Forest, max_trim: usize) -> Map<String, Value> {
    let mut told = Map::new();
    let head = forest.head().map(|head| forest.gather(head)).unwrap_or_default();
    told.insert("accumulated_token_ids".into(), ids(&head));
    told.insert("max_trim_tokens".into(), json!(max_trim));
    if forest.lineage() == Lineage::Tree {
        told.insert("tree".into(), tree(forest, &Seqs::of(forest)));
    }
    told
}

/// Puts rows into the order in which Miles' pickers give them: longer paths first, among equals the later leaf.
pub fn order(rows: &mut [Row], forest: &Forest) {
    let seqs = Seqs::of(forest);
    rows.sort_by_cached_key(|row| std::cmp::Reverse((path_ids(forest, &seqs, row.leaf).len(), row.leaf)));
}

fn ids(ids: &[TokenId]) -> Value {
    ids.iter().map(|id| Value::from(id.0)).collect()
}
