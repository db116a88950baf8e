//! Contexts that an agent exported by name, and what credit they are given.

use serde_json::json;
use verbatim_forest::Lineage;
use verbatim_samples::{AdvantageError, Advantages, Context, Options, Rewards};
use verbatim_tokens::MaskCause;

use crate::assembly::rows;
use crate::golden::two_turns;
use crate::grove::{At, Grove, STOP};

const SAID: [(Option<f32>, Option<u8>); 2] = [(Some(-0.5), Some(1)), (Some(-0.25), Some(1))];

/// A turn, two that follow it, and one that follows the first of them.
fn grove() -> Grove {
    let mut grove = Grove::new(Lineage::Tree);
    let first = grove.grow(At::Root, 0, 3, &SAID, STOP);
    let left = grove.grow(At::After(first), 0, 2, &SAID, STOP);
    grove.grow(At::After(left), 0, 2, &SAID, STOP);
    grove.grow(At::After(first), 0, 4, &SAID, STOP);
    grove
}

fn context(grove: &Grove, turn: usize, name: &str, reward: Option<f64>) -> Context {
    let metadata = json!({ "role": name }).as_object().unwrap().clone();
    Context { end: grove.turns[turn].node, name: name.into(), reward, metadata }
}

#[test]
fn each_exported_context_is_one_row_and_a_shared_span_trains_in_the_first() {
    let grove = grove();
    let contexts = vec![
        context(&grove, 3, "main", Some(1.0)),
        // No leaf, and wholly within the next one.
        context(&grove, 1, "draft", None),
        context(&grove, 2, "whole", None),
    ];
    let metadata = json!({"role": "all", "task": 7}).as_object().unwrap().clone();
    let rewards = Rewards { session: Some(0.5), ..Rewards::default() };
    let made = rows(&grove, &Options { contexts: Some(contexts), metadata, rewards, ..Options::default() });
    let told: Vec<_> = made
        .rows
        .iter()
        .map(|row| (row.name.as_deref(), row.turns.len(), row.trained(), row.reward))
        .collect();
    let expected =
        [(Some("main"), 2, 4, Some(1.0)), (Some("draft"), 2, 2, Some(0.5)), (Some("whole"), 3, 2, Some(0.5))];
    assert_eq!(told, expected, "8 sampled tokens, each trained once");
    assert_eq!(made.rows[1].mask.get(3), Some(&Some(MaskCause::SharedOwner)));
    assert_eq!(made.rows[0].metadata, *json!({"role": "main", "task": 7}).as_object().unwrap());
    assert!(made.unowned.is_empty());
    assert_eq!(made.rows[0].weight, 1.0 / 3.0);
}

#[test]
fn what_no_context_names_is_told_as_lost() {
    let grove = grove();
    let contexts = Some(vec![context(&grove, 1, "only", None)]);
    let made = rows(&grove, &Options { contexts, ..Options::default() });
    let lost: Vec<_> = made.unowned.iter().map(|lost| (lost.node, lost.tokens, lost.cause.name())).collect();
    assert_eq!(lost, [(grove.turns[2].node, 2, "not_exported"), (grove.turns[3].node, 2, "not_exported")]);
}

#[test]
fn turns_have_their_own_rewards_by_their_replies() {
    let by_turn = [("r1".to_owned(), 0.25), ("elsewhere".to_owned(), 9.0)].into();
    let rewards = Rewards { by_turn, ..Rewards::default() };
    let grove = grove();
    let made = rows(&grove, &Options { rewards, ..Options::default() });
    let told: Vec<_> = made.rows.iter().map(|row| row.turn_rewards()).collect();
    assert_eq!(told, [Some(vec![None, Some(0.25), None]), None]);
}

#[test]
fn advantages_are_for_the_row_or_for_each_turn_and_spread_over_what_was_sampled() {
    let mut row = two_turns();
    assert_eq!(row.token_advantages(), None);
    row.credit(Advantages::Whole(0.5)).unwrap();
    assert_eq!(row.token_advantages().unwrap(), [0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.5, 0.5]);
    row.credit(Advantages::Turns(vec![1.0, -1.0])).unwrap();
    assert_eq!(row.token_advantages().unwrap(), [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, -1.0, -1.0]);
    let refused = row.credit(Advantages::Turns(vec![1.0])).unwrap_err();
    assert_eq!(refused, AdvantageError::Turns { values: 1, turns: 2 });
    assert!(row.credit(Advantages::Whole(f64::NAN)).is_err());
    assert_eq!(row.advantages, Some(Advantages::Turns(vec![1.0, -1.0])), "what is refused changes nothing");
}
