//! What is written is what is read.

use proptest::prelude::*;
use verbatim_samples::{Format, RowError};

use crate::rows::rows;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every format holds everything that a row holds, missing logprobs and unicode included.
    #[test]
    fn every_format_gives_back_every_row(rows in prop::collection::vec(rows(), 0..4)) {
        for format in [Format::Safetensors, Format::Parquet, Format::Jsonl] {
            let bytes = format.write(&rows).unwrap();
            prop_assert_eq!(&format.read(&bytes).unwrap(), &rows, "{:?}", format);
        }
    }
}

#[test]
fn no_rows_are_a_file_without_rows() {
    for format in [Format::Safetensors, Format::Parquet, Format::Jsonl] {
        assert_eq!(format.read(&format.write(&[]).unwrap()).unwrap(), []);
    }
}

#[test]
fn a_format_is_known_by_the_ending_of_a_name() {
    for format in [Format::Safetensors, Format::Parquet, Format::Jsonl] {
        assert_eq!(Format::of(&format!("a.b.{}", format.extension())).unwrap(), format);
    }
    for name in ["rows", "rows.json", "jsonl", "rows.jsonl.gz"] {
        assert!(matches!(Format::of(name), Err(RowError::Format { name: told }) if told == name));
    }
}

/// A limit may cut a row where a turn begins.
#[test]
fn a_turn_of_which_nothing_is_left_comes_back() {
    let mut row = crate::golden::two_turns();
    let last = row.turns.last_mut().unwrap();
    last.start = last.end;
    for format in [Format::Jsonl, Format::Parquet, Format::Safetensors] {
        let file = format.write(std::slice::from_ref(&row)).unwrap();
        assert_eq!(format.read(&file).unwrap()[0].turns, row.turns);
    }
}
