//! Looking a request up from a path that it is known to begin with.

use proptest::prelude::*;
use verbatim_chat::{LooseReplay, Strict, Verdict};
use verbatim_forest::{Lineage, Place};

use crate::histories::{Agent, steps};
use crate::oracle::agreement;
use crate::world::{Reply, World, talk};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// From any node on the way to the choice, observation or generation, the choice is the same.
    #[test]
    fn an_anchor_on_the_way_changes_no_choice(steps in steps(), loose: bool) {
        let mut agent = match loose {
            true => Agent::new(Lineage::Tree, LooseReplay, 1),
            false => Agent::new(Lineage::Tree, Strict, 1),
        };
        for step in &steps {
            let request = agent.request(step);
            let world = &agent.world;
            if let Some(choice) = world.find(None, &request) {
                let (Place::After(end) | Place::Again(end)) = choice.place else { panic!("{choice:?}") };
                for segment in world.forest.path(end) {
                    // A beginning in another spelling hides how well twins agree after it.
                    if agreement(world, segment.id, &request) == Verdict::Exact {
                        prop_assert_eq!(world.find(Some(segment.id), &request), Some(choice));
                    }
                }
            }
            agent.step(step);
        }
    }
}

#[test]
fn an_anchor_keeps_to_its_own_path() {
    let mut world = World::new(Lineage::Tree, Strict);
    let first = world.turn(&talk(&["u:q"]), &Reply::new("same"));
    let twin = world.turn(&talk(&["u:q"]), &Reply::new("same"));
    let request = talk(&["u:q", "a:same", "u:more"]);
    assert_eq!(world.find(None, &request).unwrap().place, Place::After(twin.generation));
    assert_eq!(world.find(Some(first.generation), &request).unwrap().place, Place::After(first.generation));
}

#[test]
fn a_request_that_leaves_its_anchor_is_not_found_from_it() {
    let mut world = World::new(Lineage::Tree, Strict);
    let nodes = world.turn(&talk(&["u:q"]), &Reply::new("r"));
    assert_eq!(world.find(Some(nodes.observation), &talk(&["u:q", "a:other", "u:more"])), None);
}
