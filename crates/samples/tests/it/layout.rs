//! The safetensors file, byte for byte as Miles' driver reads it.

use serde_json::{Value, json};
use verbatim_samples::{EmptyReason, Envelope, Row, write_safetensors};
use verbatim_tokens::{Speculation, TokenId};

use crate::golden::two_turns;

fn header(file: &[u8]) -> (Value, &[u8]) {
    let (length, rest) = file.split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
    assert_eq!(length % 8, 0, "the header is padded");
    (serde_json::from_slice(&rest[..length]).unwrap(), &rest[length..])
}

fn tensor<'a>(file: &'a [u8], name: &str) -> &'a [u8] {
    let (header, data) = header(file);
    let at = |end: usize| header[name]["data_offsets"][end].as_u64().unwrap() as usize;
    &data[at(0)..at(1)]
}

fn decode(ids: &[TokenId]) -> String {
    format!("{:?}", TokenId::raw(ids))
}

fn write(rows: &[Row], envelope: &Envelope) -> Vec<u8> {
    write_safetensors(rows, envelope, decode).unwrap()
}

#[test]
fn names_types_shapes_and_order_are_miles() {
    let file = write(&[two_turns(), two_turns()], &Envelope::default());
    let (header, data) = header(&file);
    let mut tensors: Vec<_> = header.as_object().unwrap().iter().collect();
    tensors.sort_by_key(|(_, tensor)| tensor["data_offsets"][0].as_u64());
    let told: Vec<_> = tensors
        .iter()
        .map(|(name, tensor)| (name.as_str(), tensor["dtype"].as_str().unwrap(), tensor["shape"].clone()))
        .collect();
    let meta = tensor(&file, "_samples_meta").len();
    assert_eq!(
        told,
        [
            ("tokens.0", "I64", json!([9])),
            ("tokens.1", "I64", json!([9])),
            ("rollout_log_probs.0", "F64", json!([6])),
            ("rollout_log_probs.1", "F64", json!([6])),
            ("_samples_meta", "U8", json!([meta])),
            ("loss_mask.0", "U8", json!([6])),
            ("loss_mask.1", "U8", json!([6])),
        ]
    );
    assert_eq!(tensors.last().unwrap().1["data_offsets"][1].as_u64(), Some(data.len() as u64));
}

#[test]
fn speculation_is_told_beside_the_tokens_that_it_is_of() {
    let speculation = Some(Speculation { proposed: 5, accepted: 3, verified: 2 });
    let row = Row { speculation, ..two_turns() };
    let sampled: usize = row.turns.iter().map(|turn| turn.end - turn.start).sum();
    assert!(row.turns.iter().all(|turn| turn.start > 0) && sampled > 0);
    let file = write(&[row], &Envelope::default());
    let meta: Value = serde_json::from_slice(tensor(&file, "_samples_meta")).unwrap();
    let told = json!({
        "spec_accept_token_num": 3, "spec_draft_token_num": 5, "spec_verify_ct": 2, "completion_token_num": sampled,
    });
    assert_eq!(meta["samples"][0]["spec_info"], told);
}

#[test]
fn the_arrays_hold_the_row_and_zeros_where_there_is_no_logprob() {
    let file = write(&[two_turns()], &Envelope::default());
    let ids: Vec<u8> = (1i64..=9).flat_map(i64::to_le_bytes).collect();
    assert_eq!(tensor(&file, "tokens.0"), ids);
    assert_eq!(tensor(&file, "loss_mask.0"), [1, 1, 0, 0, 1, 1]);
    let logprobs: Vec<u8> =
        [-0.25f64, -0.5, 0.0, 0.0, -0.75, -1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(tensor(&file, "rollout_log_probs.0"), logprobs);
}

#[test]
fn the_meta_json_is_compact_and_its_keys_are_in_miles_order() {
    let session_metadata = json!({"accumulated_token_ids": [1], "note": "é"}).as_object().unwrap().clone();
    let file =
        write(&[Row { reward: Some(0.5), ..two_turns() }], &Envelope { session_metadata, empty: None });
    let meta = std::str::from_utf8(tensor(&file, "_samples_meta")).unwrap();
    let (before, rest) = meta.split_once(r#","verbatim":{"#).unwrap();
    assert_eq!(
        before,
        concat!(
            r#"{"samples":[{"response":"[4, 5, 6, 7, 8, 9]","response_length":6,"status":"completed","#,
            r#""weight_versions":["7","8"],"#,
            r#""prefix_cache_info":{"cached_tokens":5,"total_prompt_tokens":10},"#,
            r#""metadata":{"instance":"x-1","answer":42"#,
        )
    );
    let (_, after) = rest.split_once("}},").unwrap();
    assert_eq!(
        after,
        concat!(
            r#""reward":0.5,"nulls":["rollout_routed_experts","rollout_indexer_topk"]}],"#,
            r#""session_metadata":{"accumulated_token_ids":[1],"note":"é"},"empty_reason":null}"#,
        )
    );
}

#[test]
fn a_file_without_rows_says_why() {
    for (empty, told) in
        [(EmptyReason::NoRecords, "no_records"), (EmptyReason::AllTruncated, "all_truncated")]
    {
        let file = write(&[], &Envelope { empty: Some(empty), ..Envelope::default() });
        let meta = tensor(&file, "_samples_meta");
        let expected = format!(r#"{{"samples":[],"session_metadata":{{}},"empty_reason":"{told}"}}"#);
        assert_eq!(std::str::from_utf8(meta).unwrap(), expected);
        assert_eq!(header(&file).0.as_object().unwrap().len(), 1);
    }
}
