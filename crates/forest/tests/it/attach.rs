//! Where a request is attached.

use verbatim_chat::{LooseReplay, Strict, Tool};
use verbatim_forest::{Lineage, Place, Refusal};

use crate::world::{Reply, World, talk};

fn tree() -> World {
    World::new(Lineage::Tree, Strict)
}

fn place(world: &World, lines: &[&str]) -> Place {
    world.find(None, &talk(lines)).map_or(Place::Root, |choice| choice.place)
}

#[test]
fn an_extension_follows_the_turn_that_it_extends() {
    let mut world = tree();
    let first = world.turn(&talk(&["s:be", "u:q"]), &Reply::new("r"));
    assert_eq!(place(&world, &["s:be", "u:q", "a:r", "t:out"]), Place::After(first.generation));
}

#[test]
fn the_same_request_again_is_the_same_observation() {
    let mut world = tree();
    let first = world.turn(&talk(&["u:q"]), &Reply::new("r"));
    assert_eq!(place(&world, &["u:q"]), Place::Again(first.observation));
    let again = world.turn(&talk(&["u:q"]), &Reply::new("s"));
    assert_eq!(again.observation, first.observation);
    assert_eq!(world.heard[0].prompt, world.heard[1].prompt);
    assert_eq!(world.forest.nodes().len(), 3, "one observation, two generations");
}

#[test]
fn a_conversation_that_ends_with_its_reply_follows_it_with_an_empty_tail() {
    let mut world = tree();
    let first = world.turn(&talk(&["u:q"]), &Reply::new("r"));
    assert_eq!(place(&world, &["u:q", "a:r"]), Place::After(first.generation));
    let empty = world.turn(&talk(&["u:q", "a:r"]), &Reply::new("s"));
    assert!(world.forest.node(empty.observation).unwrap().messages().is_empty());
    assert_eq!(place(&world, &["u:q", "a:r"]), Place::Again(empty.observation));
    assert_eq!(place(&world, &["u:q", "a:r", "a:s", "u:x"]), Place::After(empty.generation));
}

#[test]
fn divergence_goes_back_to_the_last_turn_that_agrees() {
    let mut world = tree();
    let first = world.turn(&talk(&["u:q"]), &Reply::new("r"));
    world.turn(&talk(&["u:q", "a:r", "t:1", "t:2"]), &Reply::new("r2"));
    let after = Place::After(first.generation);
    assert_eq!(place(&world, &["u:q", "a:r", "t:1", "t:other"]), after, "inside a child's messages");
    assert_eq!(place(&world, &["u:q", "a:r", "t:1"]), after, "a part of a child's messages");
    assert_eq!(place(&world, &["u:q", "a:r", "t:1", "t:2", "a:edited"]), after, "an edited reply");
}

#[test]
fn what_agrees_with_no_whole_turn_begins_a_root() {
    let mut world = tree();
    world.turn(&talk(&["s:be", "u:q", "u:more"]), &Reply::new("r"));
    assert_eq!(place(&world, &["s:be", "u:other", "u:more"]), Place::Root, "divergence inside the root");
    assert_eq!(place(&world, &["s:be", "u:q"]), Place::Root, "a beginning of the root");
    assert_eq!(place(&world, &["s:be", "u:q", "u:more", "a:foreign"]), Place::Root, "a reply nobody sampled");
    assert_eq!(place(&world, &["u:zero"]), Place::Root, "nothing in common");
}

#[test]
fn an_assistant_message_of_the_clients_is_no_turn() {
    let mut world = tree();
    let shots = talk(&["u:ex", "a:shot", "u:q"]);
    let nodes = world.turn(&shots, &Reply::new("r"));
    assert_eq!(place(&world, &["u:ex", "a:shot", "u:other"]), Place::Root);
    assert_eq!(place(&world, &["u:ex", "a:shot", "u:q", "a:r", "u:x"]), Place::After(nodes.generation));
}

#[test]
fn of_twins_the_latest_is_extended() {
    let mut world = tree();
    world.turn(&talk(&["u:q"]), &Reply::new("same"));
    let twin = world.turn(&talk(&["u:q"]), &Reply::new("same"));
    assert_eq!(place(&world, &["u:q", "a:same", "u:x"]), Place::After(twin.generation));
}

#[test]
fn of_several_roots_the_one_that_covers_most_is_extended() {
    let mut world = tree();
    let deep = world.turn(&talk(&["u:q", "a:r", "u:2"]), &Reply::new("r2"));
    let late = world.turn(&talk(&["u:q"]), &Reply::new("r"));
    assert_eq!(place(&world, &["u:q", "a:r", "u:2", "a:r2", "u:3"]), Place::After(deep.generation));
    assert_eq!(place(&world, &["u:q", "a:r", "u:other"]), Place::After(late.generation));
}

#[test]
fn other_tools_are_another_root() {
    let mut world = tree();
    let without = world.turn(&talk(&["u:q"]), &Reply::new("r"));
    let request = ["u:q", "a:r", "u:x"];
    world.setup.tools.push(Tool(serde_json::json!({"name": "f"})));
    assert_eq!(place(&world, &request), Place::Root);
    let with = world.turn(&talk(&["u:q"]), &Reply::new("r"));
    assert_eq!(place(&world, &request), Place::After(with.generation), "under its own tools it is found");
    let tools = |node| world.forest.setup(node).map(|setup| setup.tools.len());
    assert_eq!((tools(with.generation), tools(without.generation)), (Some(1), Some(0)));
    world.setup.tools.clear();
    assert_eq!(place(&world, &request), Place::After(without.generation));
}

#[test]
fn a_respelt_turn_that_covers_more_is_preferred_to_an_exact_one_that_covers_less() {
    let mut world = World::new(Lineage::Tree, LooseReplay);
    let first = world.turn(&talk(&["u:q"]), &Reply::new("r"));
    let mut thought = talk(&["a:r"])[0].as_ref().clone();
    thought.reasoning = Some("hm".to_owned());
    let mut generated = crate::world::generated(vec![verbatim_tokens::TokenId(7)], &Reply::new("r"));
    generated.message = std::sync::Arc::new(thought.clone());
    let observed = verbatim_events::Observed::Shared(first.observation);
    let second = world.forest.apply(&crate::world::turn(None, observed, generated)).unwrap();
    let followed = [talk(&["u:q"]), vec![std::sync::Arc::new(thought)], talk(&["u:2"])].concat();
    let asked = world.ask(&followed).unwrap();
    assert_eq!(asked.choice.unwrap().place, Place::After(second.generation));
    let deep = world.turn(&followed, &Reply::new("r2"));
    // Spelt as the first turn is, which covers two of its messages, as the respelt one covers four.
    let found = world.find(None, &talk(&["u:q", "a:r", "u:2", "a:r2", "u:3"])).unwrap();
    assert_eq!((found.place, found.covered, found.respelt), (Place::After(deep.generation), 4, true));
}

#[test]
fn an_exact_twin_is_preferred_to_a_later_respelt_one() {
    let mut world = World::new(Lineage::Tree, LooseReplay);
    let [plain, thought] = [None, Some("hm".to_owned())].map(|reasoning| {
        let mut message = talk(&["a:r"])[0].as_ref().clone();
        message.reasoning = reasoning;
        std::sync::Arc::new(message)
    });
    let first = world.turn(&talk(&["u:q"]), &Reply::new("r"));
    let mut generated = crate::world::generated(vec![verbatim_tokens::TokenId(7)], &Reply::new("r"));
    generated.message = std::sync::Arc::clone(&thought);
    let observed = verbatim_events::Observed::Shared(first.observation);
    let second = world.forest.apply(&crate::world::turn(None, observed, generated)).unwrap();
    let sent = |assistant| [talk(&["u:q"]), vec![assistant], talk(&["u:x"])].concat();
    let exact = world.find(None, &sent(plain)).unwrap();
    assert_eq!((exact.place, exact.respelt), (Place::After(first.generation), false));
    let exact = world.find(None, &sent(thought)).unwrap();
    assert_eq!((exact.place, exact.respelt), (Place::After(second.generation), false));
}

#[test]
fn a_tree_refuses_to_extend_a_truncated_turn_and_retries_it_from_before_the_cut() {
    let mut world = tree();
    let cut = world.turn(&talk(&["u:q"]), &Reply::cut("par"));
    let before = world.fingerprint();
    let refused = world.ask(&talk(&["u:q", "a:par", "u:go on"])).err();
    assert_eq!(refused, Some(Refusal::Truncated { node: cut.generation }));
    assert_eq!(world.fingerprint(), before);
    let retried = world.turn(&talk(&["u:q"]), &Reply::new("whole"));
    world.turn(&talk(&["u:q", "a:whole", "u:x"]), &Reply::new("r"));
    assert_eq!(retried.observation, cut.observation);
}
