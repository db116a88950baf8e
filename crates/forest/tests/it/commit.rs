//! Turns that cannot be applied.

use std::sync::Arc;

use verbatim_chat::Strict;
use verbatim_events::{Generated, NodeId, Observed};
use verbatim_forest::{Conflict, Lineage};
use verbatim_tokens::{Replay, TokenId, Width};

use crate::world::{Reply, World, generated, observed, talk, turn};

#[test]
fn a_turn_that_follows_nothing_there_is_refused_and_changes_nothing() {
    let mut world = World::new(Lineage::Tree, Strict);
    let nodes = world.turn(&talk(&["u:q"]), &Reply::new("r"));
    let new = |trim| observed(None, &talk(&["u:x"]), vec![TokenId(5)], trim);
    let sampled = world.heard[0].sampled.len();
    let absent = NodeId(99);
    let cases: [(&str, Option<NodeId>, Observed, NodeId); 6] = [
        ("a parent that is not there", Some(absent), new(0), absent),
        ("a parent that was observed", Some(nodes.observation), new(0), nodes.observation),
        ("more trimmed than sampled", Some(nodes.generation), new(sampled + 1), nodes.generation),
        ("an observation that is not there", None, Observed::Shared(absent), absent),
        ("a generation for an observation", None, Observed::Shared(nodes.generation), nodes.generation),
        (
            "an observation of another turn",
            Some(nodes.generation),
            Observed::Shared(nodes.observation),
            nodes.observation,
        ),
    ];
    let before = world.fingerprint();
    for (what, parent, observed, node) in cases {
        let turn = turn(parent, observed, generated(vec![TokenId(7)], &Reply::new("r")));
        assert_eq!(world.forest.apply(&turn), Err(Conflict::Gone { node }), "{what}");
        assert_eq!(world.fingerprint(), before, "{what}");
    }
}

#[test]
fn the_same_events_make_the_same_forest() {
    let mut world = World::new(Lineage::Tree, Strict);
    let mut replayed = World::new(Lineage::Tree, Strict);
    let root = observed(None, &talk(&["u:q"]), vec![TokenId(5)], 0);
    let first = turn(None, root, generated(vec![TokenId(7)], &Reply::new("r")));
    let again = turn(None, Observed::Shared(NodeId(0)), generated(vec![TokenId(8)], &Reply::new("s")));
    for event in [&first, &again] {
        assert_eq!(world.forest.apply(event), replayed.forest.apply(event));
    }
    assert_eq!(world.fingerprint(), replayed.fingerprint());
}

/// What a session may hold is counted as it grows: ids, logprobs and text, each turn's own.
#[test]
fn what_is_held_grows_by_what_each_turn_brings() {
    let mut world = World::new(Lineage::Tree, Strict);
    let mut before = world.forest.stored_bytes();
    assert_eq!(before, 0);
    let mut request = Vec::new();
    for (turn, text) in ["u:a", "u:somewhat longer than that", "u:b"].into_iter().enumerate() {
        request.extend(talk(&[text]));
        let tokens = world.forest.stored_tokens();
        world.turn(&request, &Reply::new(&format!("r{turn}")));
        request.extend(talk(&[&format!("a:r{turn}")]));
        let grown = world.forest.stored_bytes() - before;
        let brought = world.forest.stored_tokens() - tokens;
        assert!(grown >= brought * 4 + text.len() && grown < 4096, "{grown} bytes for {brought} tokens");
        before += grown;
    }
}

/// A session's bytes after one turn that read and sampled so many tokens.
fn held(read: usize, sampled: usize, experts: Option<&[u8]>) -> usize {
    let mut world = World::new(Lineage::Tree, Strict);
    let replay = |bytes: &[u8]| Arc::new(Replay::new(0, 1, 1, Width::U8, bytes.to_vec()).unwrap());
    let ids = |count: usize| (0..count).map(|id| TokenId(id as u32)).collect::<Vec<_>>();
    let generated = Generated { experts: experts.map(replay), ..generated(ids(sampled), &Reply::new("r")) };
    let observed = observed(Some(Arc::default()), &talk(&["u:a"]), ids(read), 0);
    world.forest.apply(&turn(None, observed, generated)).unwrap();
    world.forest.stored_bytes()
}

#[test]
fn a_token_read_is_four_bytes_one_sampled_eight_and_a_payload_what_it_is() {
    let usual = held(3, 5, None);
    assert_eq!(held(10, 5, None) - usual, 7 * 4);
    assert_eq!(held(3, 9, None) - usual, 4 * 8);
    assert_eq!(held(3, 5, Some(&[1; 12])) - usual, 12);
}
