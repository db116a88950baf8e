//! A linear session: one line, of which at most the last turn is taken back.

use verbatim_chat::Strict;
use verbatim_forest::{Conflict, Lineage, Place, Refusal};

use crate::world::{Reply, World, talk};

/// A line of `turns` turns: `u:1 a:r1 u:2 a:r2 …`.
fn line(turns: usize) -> World {
    let mut world = World::new(Lineage::Linear, Strict);
    let mut request = Vec::new();
    for turn in 1..=turns {
        request.extend(talk(&[&format!("u:{turn}")]));
        world.turn(&request, &Reply::new(&format!("r{turn}")));
        request.extend(talk(&[&format!("a:r{turn}")]));
    }
    world
}

#[test]
fn a_retry_drops_the_last_turn_and_reads_the_same_prompt() {
    let mut world = line(2);
    let dropped = world.forest.head();
    let asked = world.ask(&talk(&["u:1", "a:r1", "u:2"])).unwrap();
    assert_eq!(asked.plan.drops, 1);
    assert_eq!(world.forest.head(), dropped, "nothing is dropped before the commit");
    world.answer(asked, &Reply::new("again")).unwrap();
    assert_eq!(world.heard[1].prompt, world.heard[2].prompt);
    let head = world.forest.head().unwrap();
    assert_eq!(world.forest.messages(head), talk(&["u:1", "a:r1", "u:2", "a:again"]));
}

#[test]
fn one_step_is_rolled_back_however_the_request_differs() {
    for request in [
        &["u:1", "a:r1"][..],
        &["u:1", "a:r1", "u:other"],
        &["u:1", "a:r1", "u:2", "u:more"],
        &["u:1", "a:r1", "u:2", "a:edited", "u:3"],
    ] {
        let world = line(2);
        let plan = world.ask(&talk(request)).unwrap().plan;
        assert_eq!((plan.drops, plan.parent), (1, Some(world.heard[0].nodes.generation)));
    }
}

#[test]
fn the_only_turn_is_rolled_back_to_an_empty_session() {
    for request in [&["u:1"][..], &["u:other"], &["s:be", "u:1"]] {
        let world = line(1);
        let plan = world.ask(&talk(request)).unwrap().plan;
        assert_eq!((plan.drops, plan.parent), (1, None));
    }
}

#[test]
fn deeper_divergence_is_refused_with_counts_and_leaves_the_line_as_it_was() {
    let mut world = line(3);
    let before = world.fingerprint();
    let refused = |world: &World, request: &[&str]| world.ask(&talk(request)).err();
    let diverged = |discard, sent| Some(Refusal::Diverged { discard, allowed: 1, stored: 6, sent });
    assert_eq!(refused(&world, &["u:other"]), diverged(3, 1));
    assert_eq!(refused(&world, &["u:1"]), diverged(3, 1));
    assert_eq!(refused(&world, &["u:1", "a:r1"]), diverged(2, 2));
    assert_eq!(refused(&world, &["u:1", "a:r1", "u:2"]), diverged(2, 3));
    assert_eq!(refused(&world, &["u:1", "a:edited", "u:2", "a:r2", "u:3"]), diverged(3, 5));
    assert_eq!(world.fingerprint(), before);
    let all = talk(&["u:1", "a:r1", "u:2", "a:r2", "u:3", "a:r3", "u:4"]);
    world.turn(&all, &Reply::new("r4"));
}

#[test]
fn a_line_takes_back_as_many_turns_as_it_is_told_to() {
    for (allowed, request, discard) in [
        (0, &["u:1", "a:r1", "u:2", "a:r2", "u:3"][..], 1),
        (2, &["u:1", "a:r1", "u:other"], 2),
        (2, &["u:other"], 3),
        (3, &["u:other"], 3),
    ] {
        let mut world = line(3);
        world.forest = std::mem::replace(&mut world.forest, World::new(Lineage::Linear, Strict).forest)
            .with_rollback(allowed);
        let sent = request.len();
        match world.ask(&talk(request)) {
            Ok(asked) => {
                assert!(discard <= allowed);
                assert_eq!(asked.plan.drops, discard);
                world.answer(asked, &Reply::new("new")).unwrap();
                assert_eq!(world.forest.messages(world.forest.head().unwrap()).len(), sent + 1);
            }
            Err(refusal) => {
                assert!(discard > allowed);
                assert_eq!(refusal, Refusal::Diverged { discard, allowed, stored: 6, sent });
            }
        }
    }
}

#[test]
fn a_line_extends_a_truncated_turn() {
    let mut world = World::new(Lineage::Linear, Strict);
    let cut = world.turn(&talk(&["u:1"]), &Reply::cut("par"));
    let plan = world.ask(&talk(&["u:1", "a:par", "u:go on"])).unwrap().plan;
    assert_eq!((plan.place, plan.drops), (Place::After(cut.generation), 0));
}

/// An agent may have seen both replies of a retried turn and go on with the first.
#[test]
fn a_turn_that_was_dropped_can_be_taken_up_again() {
    let mut world = line(1);
    let retried = world.turn(&talk(&["u:1"]), &Reply::new("other"));
    let asked = world.ask(&talk(&["u:1", "a:r1", "u:2"])).unwrap();
    assert_eq!(asked.plan.parent, Some(world.heard[0].nodes.generation));
    assert_eq!(asked.plan.drops, 1, "in exchange for {}, which replaced it", retried.generation);
    world.answer(asked, &Reply::new("r2")).unwrap();
    let gone = world.ask(&talk(&["u:1", "a:other", "u:2"])).err();
    assert_eq!(gone, Some(Refusal::Diverged { discard: 2, allowed: 1, stored: 4, sent: 3 }));
}

#[test]
fn of_two_turns_on_one_end_the_first_to_commit_wins() {
    let mut world = line(1);
    let request = talk(&["u:1", "a:r1", "u:2"]);
    let (first, second) = (world.ask(&request).unwrap(), world.ask(&request).unwrap());
    world.answer(second, &Reply::new("fast")).unwrap();
    let before = world.fingerprint();
    assert_eq!(world.answer(first, &Reply::new("slow")), Err(Conflict::Raced));
    assert_eq!(world.fingerprint(), before);
}

/// A rollback and a commit leave as many turns as before, but not the same ones.
#[test]
fn a_line_that_was_rolled_back_and_grew_again_is_another_line() {
    let mut world = line(2);
    let slow = world.ask(&talk(&["u:1", "a:r1", "u:2", "a:r2", "u:3"])).unwrap();
    world.turn(&talk(&["u:1", "a:r1", "u:2"]), &Reply::new("r2"));
    let before = world.fingerprint();
    assert_eq!(world.answer(slow, &Reply::new("late")), Err(Conflict::Raced));
    assert_eq!(world.fingerprint(), before);
}

#[test]
fn branches_that_race_in_a_tree_become_siblings() {
    let mut world = World::new(Lineage::Tree, Strict);
    let request = talk(&["u:q"]);
    let (first, second) = (world.ask(&request).unwrap(), world.ask(&request).unwrap());
    world.answer(second, &Reply::new("fast")).unwrap();
    world.answer(first, &Reply::new("slow")).unwrap();
    assert_eq!(world.forest.leaves().len(), 2);
}
