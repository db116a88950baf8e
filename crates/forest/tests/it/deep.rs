//! Long sessions.

use std::time::{Duration, Instant};

use verbatim_chat::Strict;
use verbatim_forest::{Lineage, Place};

use crate::world::{Reply, World, talk};

/// A chain of `turns` turns, each found from the observation before it, as a session finds them.
fn chain(lineage: Lineage, turns: usize) -> World {
    let mut world = World::new(lineage, Strict);
    let mut request = Vec::new();
    let mut anchor = None;
    for turn in 0..turns {
        request.extend(talk(&[&format!("u:{turn}")]));
        let choice = anchor.and_then(|anchor| world.find(Some(anchor), &request));
        let asked = world.place(choice, &request).unwrap();
        anchor = Some(world.answer(asked, &Reply::new("r")).unwrap().observation);
        request.extend(talk(&["a:r"]));
    }
    world
}

#[test]
fn a_chain_of_fifteen_hundred_turns_is_one_path() {
    for lineage in [Lineage::Tree, Lineage::Linear] {
        let began = Instant::now();
        let world = chain(lineage, 1500);
        let head = world.forest.head().unwrap();
        assert_eq!((world.forest.path(head).len(), world.forest.leaves().len()), (3000, 1));
        let request = world.forest.messages(head);
        assert_eq!(world.find(None, &request).unwrap().place, Place::After(head), "without an anchor");
        assert!(world.forest.setup(head).is_some());
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}

/// Every turn of the chain is a candidate; together they cost one walk, not one each.
#[test]
fn a_long_request_that_is_not_recognised_is_found_in_one_walk() {
    let world = chain(Lineage::Tree, 1500);
    let head = world.forest.head().unwrap();
    let request = world.forest.messages(head);
    let began = Instant::now();
    for _ in 0..50 {
        assert_eq!(world.find(None, &request).unwrap().place, Place::After(head));
    }
    assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
}

#[test]
fn what_is_stored_grows_with_what_was_said_and_not_with_what_was_read() {
    let (short, long) = (chain(Lineage::Tree, 100), chain(Lineage::Tree, 200));
    let read = |world: &World| world.heard.iter().map(|heard| heard.prompt.len()).sum::<usize>();
    assert_eq!(long.forest.stored_tokens(), long.brought);
    assert!(long.forest.stored_tokens() < 2 * short.forest.stored_tokens() + 200);
    assert!(read(&long) > 39 * read(&short) / 10, "every prompt repeats the ones before");
}

#[test]
fn a_retried_turn_adds_only_what_it_sampled() {
    let mut world = chain(Lineage::Tree, 50);
    let mut request = world.forest.messages(world.forest.head().unwrap());
    request.pop();
    let (before, nodes) = (world.forest.stored_tokens(), world.forest.nodes().len());
    world.turn(&request, &Reply::new("again"));
    assert_eq!(world.forest.stored_tokens() - before, world.heard.last().unwrap().sampled.len());
    assert_eq!(world.forest.nodes().len() - nodes, 1);
}
