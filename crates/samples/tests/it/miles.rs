//! What Miles' driver is told of a tree, against a grove's own record.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use verbatim_events::Finish;
use verbatim_forest::Lineage;
use verbatim_samples::{Options, Pick, Row, miles};

use crate::assembly::rows;
use crate::grove::{At, End, Grove, STOP, groves};
use crate::oracle::{context, line, picked};

/// The ids of everything that the engine had before it when a turn ended.
fn accumulated(grove: &Grove, turn: usize) -> Value {
    context(grove, turn).iter().map(|seen| Value::from(seen.id)).collect()
}

/// Which turn a row ends with.
fn end(grove: &Grove, row: &Row) -> usize {
    grove.turns.iter().position(|turn| turn.node == row.leaf).unwrap()
}

fn leaf(grove: &Grove, turn: usize) -> Value {
    json!({
        "node_id": turn,
        "parent": grove.turns[turn].parent,
        "path_node_ids": line(grove, turn),
        "response_id": format!("r{turn}"),
    })
}

fn node(grove: &Grove, turn: usize) -> Value {
    let (record, end) = (&grove.turns[turn], context(grove, turn).len());
    json!({
        "id": turn,
        "parent": record.parent,
        "seq": turn,
        "truncated": record.end.finish == Finish::Length,
        "committed_at": (1000 + turn) as f64 / 1000.0,
        "completion_span": [end - record.said.len(), end],
        "num_tokens": end,
        "response_id": format!("r{turn}"),
    })
}

/// Metadata of an agent that says what only the server may say.
fn forged() -> Map<String, Value> {
    let keys = miles::SERVER_KEYS.iter().map(|key| ((*key).to_owned(), json!("forged")));
    keys.chain([("instance".to_owned(), json!("x-1"))]).collect()
}

proptest! {
    #[test]
    fn a_tree_is_told_in_the_order_of_its_commits(
        grove in groves(Lineage::Tree),
        pick in prop::sample::select(vec![Pick::All, Pick::DropRetries]),
    ) {
        let mut rows = rows(&grove, &Options { pick, metadata: forged(), ..Options::default() }).rows;
        miles::annotate(&mut rows, &grove.forest);
        for row in &rows {
            let turn = end(&grove, row);
            prop_assert_eq!(&row.metadata["leaf"], &leaf(&grove, turn));
            prop_assert_eq!(&row.metadata["accumulated_token_ids"], &accumulated(&grove, turn));
            prop_assert_eq!(&row.metadata["instance"], "x-1");
            prop_assert!(!row.metadata.contains_key("tito_session_mismatch"));
        }

        miles::order(&mut rows, &grove.forest);
        let mut expected: Vec<usize> = picked(&grove, pick);
        expected.retain(|turn| rows.iter().any(|row| row.leaf == grove.turns[*turn].node));
        expected.sort_by_key(|turn| std::cmp::Reverse((line(&grove, *turn).len(), *turn)));
        let ordered: Vec<_> = rows.iter().map(|row| end(&grove, row)).collect();
        prop_assert_eq!(ordered, expected);

        let told = miles::session(&grove.forest, 3);
        let turns = 0..grove.turns.len();
        let nodes: Vec<_> = turns.clone().map(|turn| node(&grove, turn)).collect();
        let leaves = picked(&grove, Pick::All).into_iter();
        let leaves: Vec<_> =
            leaves.map(|turn| json!({"node_id": turn, "path_node_ids": line(&grove, turn)})).collect();
        prop_assert_eq!(&told["tree"], &json!({"nodes": nodes, "leaves": leaves}));
        prop_assert_eq!(&told["max_trim_tokens"], 3);
        let last = turns.last().map_or_else(|| json!([]), |last| accumulated(&grove, last));
        prop_assert_eq!(&told["accumulated_token_ids"], &last);
    }
}

#[test]
fn a_line_says_where_it_ends_once() {
    let mut grove = Grove::new(Lineage::Linear);
    let first = grove.grow(At::Root, 0, 3, &[(Some(-0.5), Some(1)); 2], STOP);
    grove.grow(At::After(first), 0, 1, &[(Some(-0.5), Some(1))], End { finish: Finish::Length, ..STOP });
    let mut rows = rows(&grove, &Options { metadata: forged(), ..Options::default() }).rows;
    miles::annotate(&mut rows, &grove.forest);
    let keys: Vec<_> = rows[0].metadata.keys().collect();
    assert_eq!(keys, ["instance", "lifecycle"]);
    let told = miles::session(&grove.forest, 0);
    let expected = json!({"accumulated_token_ids": [1, 2, 3, 4, 5, 6, 7], "max_trim_tokens": 0});
    assert_eq!(Value::Object(told), expected);
}
