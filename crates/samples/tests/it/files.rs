//! Whole files, kept, so that a reader that shares no code with the writer reads the same ones
//! (`python/tests/test_golden.py`). `VERBATIM_GOLDEN=write` writes them anew.

use std::path::Path;

use serde_json::json;
use verbatim_forest::Lineage;
use verbatim_samples::{Advantages, Envelope, Options, Pick, Row, write_safetensors};
use verbatim_tokens::TokenId;

use crate::assembly::rows;
use crate::golden::two_turns;
use crate::grove::{At, End, Grove, STOP};

fn kept(name: &str, rows: &[Row]) {
    let session_metadata = json!({"max_trim_tokens": 0, "note": "é"}).as_object().unwrap().clone();
    let envelope = Envelope { session_metadata, empty: None };
    let made = write_safetensors(rows, &envelope, |ids| format!("{:?}", TokenId::raw(ids))).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name);
    if std::env::var("VERBATIM_GOLDEN").is_ok_and(|what| what == "write") {
        std::fs::write(&path, &made).unwrap();
    }
    let told = std::fs::read(&path).unwrap();
    assert!(made == told, "{name} is not what it was; if that is meant, run with VERBATIM_GOLDEN=write");
}

#[test]
fn two_turns_are_the_file_that_they_were() {
    kept("two_turns.safetensors", &[two_turns()]);
}

/// With a name, an identity, and credit for the row and for a turn.
#[test]
fn credited_rows_are_the_file_that_they_were() {
    let mut row = two_turns();
    (row.group_index, row.sample_index) = (Some(3), Some(13));
    (row.name, row.reward) = (Some("main".to_owned()), Some(1.0));
    row.turns[1].reward = Some(0.5);
    row.credit(Advantages::Turns(vec![0.25, -0.75])).unwrap();
    let mut other = two_turns();
    other.credit(Advantages::Whole(-1.5)).unwrap();
    kept("credited.safetensors", &[row, other]);
}

/// One turn, two branches after it, routed experts told once each.
#[test]
fn branches_are_the_file_that_they_were() {
    let mut grove = Grove::new(Lineage::Tree);
    let said = [(Some(-0.5), Some(1)), (Some(-0.25), Some(1))];
    let routed = End { routed: true, ..STOP };
    let first = grove.grow(At::Root, 0, 3, &said, routed);
    let left = grove.grow(At::After(first), 0, 2, &said, routed);
    grove.grow(At::After(left), 1, 2, &said, routed);
    grove.grow(At::After(first), 0, 4, &said, routed);
    let rows = rows(&grove, &Options { pick: Pick::All, ..Options::default() }).rows;
    assert_eq!(rows.len(), 2);
    kept("branched.safetensors", &rows);
}
