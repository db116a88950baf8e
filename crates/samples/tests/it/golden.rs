//! A session of two turns, down to the last value.

use serde_json::{Value, json};
use verbatim_events::Finish;
use verbatim_forest::Lineage;
use verbatim_samples::{CacheUse, Options, Row, Status, miles};
use verbatim_tokens::{LogprobKind, TokenId};

use crate::assembly::rows;
use crate::grove::{At, End, Grove, STOP};

/// Three tokens read, two sampled by policy 7; two read, two sampled by policy 8.
pub(crate) fn two_turns() -> Row {
    let mut grove = Grove::new(Lineage::Tree);
    let cached = |cached| End { cached: Some(cached), ..STOP };
    let first = grove.grow(At::Root, 0, 3, &[(Some(-0.25), Some(7)), (Some(-0.5), Some(7))], cached(0));
    grove.grow(At::After(first), 0, 2, &[(Some(-0.75), Some(8)), (Some(-1.0), Some(8))], cached(5));
    let metadata = json!({"instance": "x-1", "answer": 42}).as_object().unwrap().clone();
    rows(&grove, &Options { metadata, ..Options::default() }).rows.remove(0)
}

#[test]
fn two_turns_make_one_row() {
    let row = two_turns();
    assert_eq!(TokenId::raw(&row.tokens), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(row.loss_mask()[row.prompt_length..], [1, 1, 0, 0, 1, 1]);
    let logprobs = [Some(-0.25), Some(-0.5), None, None, Some(-0.75), Some(-1.0)];
    assert_eq!((&row.logprobs[..3], &row.logprobs[3..]), (&[None; 3][..], &logprobs[..]));
    assert_eq!((row.prompt_length, row.logprob_kind), (3, LogprobKind::Raw));
    assert_eq!(row.cache, CacheUse { cached_tokens: 5, total_prompt_tokens: 10 });
    let turns: Vec<_> = row.turns.iter().map(|turn| (turn.start, turn.end, turn.finish)).collect();
    assert_eq!(turns, [(3, 5, Finish::Stop), (7, 9, Finish::Stop)]);
    assert_eq!((row.status, row.weight, row.reward), (Status::Completed, 1.0, None));
}

#[test]
fn each_turn_says_when_it_was_asked_for_began_and_ended() {
    let mut grove = Grove::new(Lineage::Tree);
    let said = [(Some(-0.5), Some(1)); 2];
    let first = grove.grow(At::Root, 0, 3, &said, STOP);
    let told = |grove: &Grove| {
        let mut rows = rows(grove, &Options::default()).rows;
        miles::annotate(&mut rows, &grove.forest);
        rows.remove(0).metadata.remove("lifecycle").unwrap()
    };
    let entry = |told: &Value, turn: u64, times: [f64; 3]| {
        assert_eq!(told["turn"], turn);
        for (name, time) in ["req_ts", "t0", "t1"].into_iter().zip(times) {
            assert!((told[name].as_f64().unwrap() - time).abs() < 1e-9, "{name} of {told}");
        }
    };
    let one = told(&grove);
    entry(&one, 1, [0.993, 0.996, 1.0]);
    assert_eq!(one.get("prev_t1"), None);
    grove.grow(At::After(first), 0, 2, &said, STOP);
    let two = told(&grove);
    assert_eq!(two.as_array().unwrap().len(), 2);
    entry(&two[0], 1, [0.993, 0.996, 1.0]);
    entry(&two[1], 2, [0.994, 0.997, 1.001]);
    assert_eq!(two[1]["prev_t1"], 1.0);
}

#[test]
fn a_limit_cuts_at_a_token() {
    let mut grove = Grove::new(Lineage::Tree);
    let said = [(Some(-0.5), Some(1)); 2];
    let first = grove.grow(At::Root, 0, 3, &said, STOP);
    grove.grow(At::After(first), 0, 2, &said, STOP);
    let lengths: Vec<_> = (0..=10)
        .map(|limit| {
            let cut = rows(&grove, &Options { max_seq_len: Some(limit), ..Options::default() });
            cut.rows.first().map_or(0, |row| row.tokens.len())
        })
        .collect();
    assert_eq!(lengths, [0, 0, 0, 0, 4, 5, 5, 5, 8, 9, 9], "no row ends with what nobody answered");
}
