//! Which leaves become rows, and what one row may hold.

use verbatim_events::{Cause, Finish, GroupId, SessionId};
use verbatim_forest::Lineage;
use verbatim_samples::{EmptyReason, Options, Pick, RowError, Status, Unowned, assemble};
use verbatim_tokens::{LogprobKind, MaskCause};

use crate::assembly::rows;
use crate::grove::{At, End, Grove, STOP};

const ONE: &[(Option<f32>, Option<u8>)] = &[(Some(-0.5), Some(1))];

fn tree() -> Grove {
    Grove::new(Lineage::Tree)
}

fn leaves(grove: &Grove, pick: Pick) -> Vec<usize> {
    let nodes = pick.leaves(&grove.forest);
    nodes.iter().map(|leaf| grove.turns.iter().position(|turn| turn.node == *leaf).unwrap()).collect()
}

#[test]
fn a_leaf_is_dropped_if_its_parent_was_followed_again_later() {
    let mut grove = tree();
    let root = grove.grow(At::Root, 0, 1, ONE, STOP);
    let retried = grove.grow(At::After(root), 0, 1, ONE, STOP);
    let again = grove.grow(At::Again(retried), 0, 0, ONE, STOP);
    let divergent = grove.grow(At::After(root), 0, 1, ONE, STOP);
    assert_eq!(leaves(&grove, Pick::All), [retried, again, divergent]);
    assert_eq!(leaves(&grove, Pick::DropRetries), [divergent]);
}

#[test]
fn an_abandoned_branch_that_went_on_is_kept() {
    let mut grove = tree();
    let root = grove.grow(At::Root, 0, 1, ONE, STOP);
    let branch = grove.grow(At::After(root), 0, 1, ONE, STOP);
    let deep = grove.grow(At::After(branch), 0, 1, ONE, STOP);
    let other = grove.grow(At::After(root), 0, 1, ONE, STOP);
    assert_eq!(leaves(&grove, Pick::DropRetries), [deep, other]);
}

#[test]
fn a_root_is_never_dropped() {
    let mut grove = tree();
    let first = grove.grow(At::Root, 0, 1, ONE, STOP);
    let again = grove.grow(At::Again(first), 0, 0, ONE, STOP);
    let other = grove.grow(At::Root, 0, 1, ONE, STOP);
    assert_eq!(leaves(&grove, Pick::DropRetries), [first, again, other]);
}

#[test]
fn a_dropped_retry_is_superseded() {
    let mut grove = tree();
    let root = grove.grow(At::Root, 0, 1, ONE, STOP);
    let retried = grove.grow(At::After(root), 0, 1, &[ONE[0]; 3], STOP);
    grove.grow(At::Again(retried), 0, 0, ONE, STOP);
    let unowned = rows(&grove, &Options::default()).unowned;
    let node = grove.turns[retried].node;
    assert_eq!(unowned, [Unowned { node, tokens: 3, cause: Cause::Superseded }]);
}

#[test]
fn each_token_of_one_turn_is_lost_for_its_own_cause() {
    let mut grove = tree();
    let said = [(Some(-0.1), None), (None, None), (Some(-0.2), None), (Some(-0.3), None), (Some(-0.4), None)];
    let root = grove.grow(At::Root, 0, 2, &said, STOP);
    grove.grow(At::After(root), 1, 1, ONE, STOP);
    let assembly = rows(&grove, &Options { max_seq_len: Some(5), ..Options::default() });
    let lost: Vec<_> =
        assembly.unowned.iter().map(|lost| (lost.node.0, lost.cause.detail(), lost.tokens)).collect();
    let root = grove.turns[root].node.0;
    let [no_logprob, truncated, trimmed] =
        [MaskCause::NoLogprob, MaskCause::Truncated, MaskCause::Trimmed].map(MaskCause::as_str);
    assert_eq!(lost[..3], [(root, no_logprob, 1), (root, truncated, 1), (root, trimmed, 1)]);
    assert_eq!(lost[3].1, truncated);
    assert_eq!(assembly.rows[0].trained(), 2);
}

#[test]
fn a_turn_that_was_wholly_replaced_is_in_no_row() {
    let mut grove = tree();
    let root = grove.grow(At::Root, 0, 2, ONE, STOP);
    grove.grow(At::After(root), 1, 2, ONE, STOP);
    let assembly = rows(&grove, &Options::default());
    assert_eq!((assembly.rows[0].turns.len(), assembly.rows[0].prompt_length), (1, 4));
    let cut = rows(&grove, &Options { max_seq_len: Some(4), ..Options::default() });
    assert_eq!((cut.rows.len(), cut.empty), (0, Some(EmptyReason::AllTruncated)));
}

#[test]
fn a_row_ends_as_its_last_turn_did_unless_it_was_cut() {
    let mut grove = Grove::new(Lineage::Linear);
    let length = End { finish: Finish::Length, ..STOP };
    let first = grove.grow(At::Root, 0, 2, &[ONE[0]; 2], length);
    let status = |grove: &Grove, max_seq_len| {
        rows(grove, &Options { max_seq_len, ..Options::default() }).rows[0].status
    };
    assert_eq!(status(&grove, None), Status::Truncated);
    grove.grow(At::After(first), 0, 2, &[ONE[0]; 2], STOP);
    assert_eq!(status(&grove, None), Status::Completed);
    assert_eq!(status(&grove, Some(8)), Status::Completed, "exactly at the limit");
    assert_eq!(status(&grove, Some(7)), Status::Truncated);
}

#[test]
fn logprobs_of_two_kinds_are_refused_in_one_row() {
    let mut grove = tree();
    let root = grove.grow(At::Root, 0, 1, ONE, STOP);
    let other = End { kind: LogprobKind::Tempered, ..STOP };
    grove.grow(At::Root, 0, 1, ONE, other);
    let assembled =
        |grove: &Grove| assemble(&grove.forest, &SessionId::new("s"), None::<&GroupId>, &Options::default());
    let kinds = assembled(&grove).unwrap().rows.iter().map(|row| row.logprob_kind).collect::<Vec<_>>();
    assert_eq!(kinds, [LogprobKind::Raw, LogprobKind::Tempered], "two rows may differ");
    grove.grow(At::After(root), 0, 1, ONE, other);
    let refused = assembled(&grove).unwrap_err();
    assert!(matches!(
        refused,
        RowError::MixedLogprobs { first: LogprobKind::Raw, second: LogprobKind::Tempered }
    ));
}
