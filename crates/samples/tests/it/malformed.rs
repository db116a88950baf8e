//! Files that are not what they should be.

use serde_json::{Value, json};
use verbatim_samples::{Envelope, Format, RowError, read_safetensors, write_safetensors};

use crate::golden::two_turns;

#[test]
fn a_file_cut_anywhere_is_an_error_or_holds_the_whole_rows_before_the_cut() {
    let rows = [two_turns(), two_turns()];
    for format in [Format::Safetensors, Format::Parquet, Format::Jsonl] {
        let bytes = format.write(&rows).unwrap();
        for end in 0..bytes.len() {
            match format.read(&bytes[..end]) {
                Err(error) => assert!(!error.to_string().is_empty()),
                Ok(read) => {
                    assert_eq!(format, Format::Jsonl, "cut at {end} of {}", bytes.len());
                    assert_eq!(read[..], rows[..read.len()]);
                }
            }
        }
    }
}

/// Edits the JSON of everything that a safetensors file says beside its arrays.
fn edited(edit: impl FnOnce(&mut Value)) -> Result<(), RowError> {
    let file = write_safetensors(&[two_turns()], &Envelope::default(), |_| String::new())?;
    let tensors = safetensors::SafeTensors::deserialize(&file)?;
    let mut meta: Value = serde_json::from_slice(tensors.tensor("_samples_meta")?.data())?;
    edit(&mut meta);
    let meta = serde_json::to_vec(&meta)?;
    let views = tensors.iter().map(|(name, view)| match name {
        "_samples_meta" => {
            (name, safetensors::tensor::TensorView::new(view.dtype(), vec![meta.len()], &meta).unwrap())
        }
        _ => (name, view),
    });
    read_safetensors(&safetensors::serialize(views, None)?).map(drop)
}

#[test]
fn lengths_that_do_not_belong_together_are_errors() {
    assert!(edited(|_| ()).is_ok());
    let huge = json!(usize::MAX);
    for (field, value) in [
        ("prompt_length", huge.clone()),
        ("prompt_length", json!(4)),
        ("mask", json!([[null, huge.clone()], [null, 10]])),
        ("mask", json!([[null, 8]])),
        ("versions", json!([[null, huge.clone()], ["7", 10]])),
        ("known", json!([[true, huge], [false, 10]])),
        ("known", json!([[true, 8]])),
        ("turns", json!([{"node": 1, "start": 5, "end": 4, "finish": "stop", "response": "", "at": 0}])),
        ("turns", json!([{"node": 1, "start": 5, "end": 10, "finish": "stop", "response": "", "at": 0}])),
        ("session", json!(null)),
    ] {
        let refused = edited(|meta| meta["samples"][0]["metadata"]["verbatim"][field] = value.clone());
        assert!(refused.is_err(), "{field} {value}");
    }
    let foreign = edited(|meta| meta["samples"][0]["metadata"] = json!({})).unwrap_err();
    assert!(foreign.to_string().contains("not written by verbatim"), "{foreign}");
    assert!(edited(|meta| meta["samples"] = json!([meta["samples"][0], meta["samples"][0]])).is_err());
}

#[test]
fn arrays_of_another_type_are_errors() {
    let file = write_safetensors(&[two_turns()], &Envelope::default(), |_| String::new()).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&file).unwrap();
    for wrong in ["tokens.0", "rollout_log_probs.0"] {
        let views = tensors.iter().map(|(name, view)| {
            let bytes = safetensors::Dtype::U8;
            let as_bytes = safetensors::tensor::TensorView::new(bytes, vec![view.data().len()], view.data());
            (name, if name == wrong { as_bytes.unwrap() } else { view })
        });
        let refused = read_safetensors(&safetensors::serialize(views, None).unwrap()).unwrap_err();
        let field = wrong.trim_end_matches(".0");
        assert!(refused.to_string().contains(field), "{refused}");
    }
}

#[test]
fn a_line_that_is_no_row_is_named() {
    let mut file = Format::Jsonl.write(&[two_turns()]).unwrap();
    file.extend_from_slice(b"\n{\"tokens\": [1]}\n");
    let refused = Format::Jsonl.read(&file).unwrap_err();
    assert!(matches!(refused, RowError::Malformed { row: 1, .. }), "{refused}");
}

#[test]
fn a_file_of_another_kind_is_an_error_in_every_format() {
    for format in [Format::Safetensors, Format::Parquet, Format::Jsonl] {
        assert!(format.read(b"not rows at all, but long enough for a header").is_err());
        assert!(format.read(&[0xff; 64]).is_err());
    }
}
