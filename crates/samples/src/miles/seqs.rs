//! A forest as Miles' tree.

use serde_json::{Value, json};
use verbatim_events::{Finish, NodeId};
use verbatim_forest::Forest;

/// The number of each generation: its place in the order of commits, from 0.
pub struct Seqs(Vec<Option<usize>>);

impl Seqs {
    /// Numbers a forest's generations.
    pub fn of(forest: &Forest) -> Self {
        let mut next = 0;
        let number = |(_, node): (NodeId, &verbatim_forest::Node)| {
            node.generation().map(|_| {
                next += 1;
                next - 1
            })
        };
        Self(forest.nodes().map(number).collect())
    }

    /// A generation's number.
    pub fn get(&self, node: NodeId) -> Option<usize> {
        self.0.get(node.0 as usize).copied().flatten()
    }
}

/// The numbers of the generations on the way to one, itself included.
pub fn path_ids(forest: &Forest, seqs: &Seqs, end: NodeId) -> Vec<usize> {
    let mut path: Vec<_> = std::iter::successors(Some(end), |node| forest.parent_turn(*node))
        .filter_map(|node| seqs.get(node))
        .collect();
    path.reverse();
    path
}

/// `{"nodes": […], "leaves": […]}`: each generation with the span of its sampled tokens on its own path, and
/// each that nothing follows with its path.
pub fn tree(forest: &Forest, seqs: &Seqs) -> Value {
    let nodes = forest.nodes().filter_map(|(id, node)| {
        let generation = node.generation()?;
        let end = node.path_tokens();
        Some(json!({
            "id": seqs.get(id),
            "parent": forest.parent_turn(id).and_then(|parent| seqs.get(parent)),
            "seq": seqs.get(id),
            "truncated": generation.finish == Finish::Length,
            "committed_at": generation.at as f64 / 1000.0,
            "completion_span": [end - generation.sampled.len(), end],
            "num_tokens": end,
            "response_id": generation.response,
        }))
    });
    let leaf =
        |leaf: NodeId| json!({"node_id": seqs.get(leaf), "path_node_ids": path_ids(forest, seqs, leaf)});
    json!({
        "nodes": nodes.collect::<Vec<_>>(),
        "leaves": forest.leaves().into_iter().map(leaf).collect::<Vec<_>>(),
    })
}
