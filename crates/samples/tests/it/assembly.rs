//! The promises of a row, over random forests.

use std::collections::{BTreeMap, HashMap, HashSet};

use proptest::prelude::*;
use serde_json::json;
use verbatim_events::{Cause, GroupId, SessionId};
use verbatim_forest::Lineage;
use verbatim_samples::{Assembly, EmptyReason, Options, Pick, Rewards, Row, assemble};
use verbatim_tokens::{MaskCause, TokenId};

use crate::grove::{Grove, groves};
use crate::oracle;

pub(crate) fn rows(grove: &Grove, options: &Options) -> Assembly {
    assemble(&grove.forest, &SessionId::new("s"), Some(&GroupId::new("g")), options).unwrap()
}

fn per_token<T: Clone + PartialEq>(runs: &verbatim_tokens::Runs<T>) -> Vec<T> {
    runs.iter().flat_map(|(value, count)| std::iter::repeat_n(value.clone(), count)).collect()
}

fn check(grove: &Grove, leaves: &[usize], limit: Option<usize>, pick: Pick) -> Result<(), TestCaseError> {
    let assembly = rows(grove, &Options { pick, max_seq_len: limit, ..Options::default() });
    let limit = limit.unwrap_or(usize::MAX);
    let expected = oracle::rows(grove, leaves, limit);
    prop_assert_eq!(assembly.rows.len(), expected.len());
    for (row, expected) in assembly.rows.iter().zip(&expected) {
        prop_assert_eq!(row.leaf, expected.leaf);
        prop_assert_eq!(TokenId::raw(&row.tokens), &expected.ids[..]);
        prop_assert_eq!(per_token(&row.mask), &expected.mask[..]);
        prop_assert_eq!(&row.logprobs, &expected.logprobs);
        prop_assert_eq!(per_token(&row.versions), &expected.versions[..]);
        prop_assert_eq!(&row.turns, &expected.turns);
        prop_assert_eq!((row.status, row.cache), (expected.status, expected.cache));
        prop_assert_eq!(row.experts.as_ref().map(|told| told.bytes().to_vec()), expected.routes.clone());
        prop_assert_eq!(row.prompt_length, expected.turns[0].start);
        prop_assert_eq!(row.weight, 1.0 / assembly.rows.len() as f64);
        let whole = grove.forest.gather(row.leaf);
        prop_assert!(
            row.tokens.len() <= limit && whole.starts_with(&row.tokens),
            "a row is a prefix of a path"
        );
    }
    prop_assert_eq!(
        assembly.empty,
        match (leaves.is_empty(), expected.is_empty()) {
            (true, _) => Some(EmptyReason::NoRecords),
            (_, true) => Some(EmptyReason::AllTruncated),
            _ => None,
        }
    );
    accounts(grove, &assembly, oracle::unowned(grove, leaves, limit))
}

/// Every sampled token is trained once or lost once.
fn accounts(
    grove: &Grove,
    assembly: &Assembly,
    expected: BTreeMap<(verbatim_events::NodeId, Cause), usize>,
) -> Result<(), TestCaseError> {
    let sampled: HashMap<u32, Option<f32>> =
        grove.turns.iter().flat_map(|turn| turn.said.iter().map(|token| (token.id, token.logprob))).collect();
    let mut trained = HashSet::new();
    for row in &assembly.rows {
        for (at, id) in row.tokens.iter().enumerate().filter(|(at, _)| row.trains(*at)) {
            prop_assert!(sampled[&id.0].is_some(), "only a sampled token with a logprob trains");
            prop_assert_eq!(row.logprobs[at], sampled[&id.0]);
            prop_assert!(trained.insert(id.0), "a sampled token trains once");
        }
        prop_assert_eq!(row.loss_mask().iter().filter(|trains| **trains == 1).count(), row.trained());
    }
    let lost: BTreeMap<_, _> =
        assembly.unowned.iter().map(|lost| ((lost.node, lost.cause.clone()), lost.tokens)).collect();
    prop_assert_eq!(lost.len(), assembly.unowned.len(), "each cause once a turn");
    prop_assert_eq!(&lost, &expected);
    let losses: usize = assembly.unowned.iter().map(|lost| lost.tokens).sum();
    prop_assert_eq!(trained.len() + losses, sampled.len());
    let shared =
        |row: &Row| per_token(&row.mask).iter().filter(|mask| **mask == Some(MaskCause::SharedOwner)).count();
    let told: u64 = assembly.losses().map(|(_, tokens)| tokens).sum();
    prop_assert_eq!(told as usize, losses + assembly.rows.iter().map(shared).sum::<usize>());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A tree's rows are those that a walk of the record gives, and every sampled token is accounted for.
    #[test]
    fn rows_of_a_tree_follow_from_what_was_committed(
        grove in groves(Lineage::Tree),
        limit in prop::option::of(0usize..40),
        pick in prop::sample::select(vec![Pick::All, Pick::DropRetries]),
    ) {
        check(&grove, &oracle::picked(&grove, pick), limit, pick)?;
    }

    /// A linear session yields the row of its end, whatever was dropped on the way.
    #[test]
    fn the_row_of_a_line_follows_from_what_was_committed(
        grove in groves(Lineage::Linear),
        limit in prop::option::of(0usize..40),
    ) {
        let end: Vec<_> = grove.turns.len().checked_sub(1).into_iter().collect();
        check(&grove, &end, limit, Pick::DropRetries)?;
    }

    /// Session, group, metadata and rewards reach every row; a reward of its own wins.
    #[test]
    fn what_is_known_of_the_session_is_in_every_row(grove in groves(Lineage::Tree), own in 0usize..16) {
        let rewards = Rewards { session: Some(0.5), by_response: [(format!("r{own}"), 1.5)].into(), ..Rewards::default() };
        let metadata = json!({"task": "é"}).as_object().unwrap().clone();
        let options = Options { pick: Pick::All, rewards, metadata: metadata.clone(), ..Options::default() };
        for row in rows(&grove, &options).rows {
            let last = row.turns.last().unwrap().response == format!("r{own}");
            prop_assert_eq!(row.reward, Some(if last { 1.5 } else { 0.5 }));
            prop_assert_eq!((row.session, row.group), (SessionId::new("s"), Some(GroupId::new("g"))));
            prop_assert_eq!(row.metadata, metadata.clone());
        }
    }
}
