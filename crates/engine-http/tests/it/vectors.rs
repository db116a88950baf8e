//! The conformance vectors: what engines send, and what it must become.

use std::time::Duration;

use base64_simd::STANDARD;
use serde_json::{Value, json};
use verbatim_engine::{Ending, Engine, EngineError, Remedy, StopBy};
use verbatim_engine_http::{ExpertsShape, Options, Parse};
use verbatim_engine_mock::{Close, Reply};
use verbatim_tokens::{TokenId, Width};

use crate::support::{Got, ask, events, llamacpp, params, prompt, sglang, spelt, vllm};

const PROMPT: [u32; 5] = [9, 8, 7, 6, 5];

/// A chunk of SGLang: the ids it holds, how many there are by its count, and why it ended.
fn chunk(ids: &[u32], count: usize, reason: Value) -> Value {
    let pairs: Vec<Value> = ids.iter().map(|id| json!([-0.5, id, null])).collect();
    json!({"text": "…", "output_ids": ids, "meta_info": {
        "id": "r", "finish_reason": reason, "prompt_tokens": 5, "completion_tokens": count,
        "output_token_logprobs": pairs, "weight_version": "17",
    }})
}

fn stop() -> Value {
    json!({"type": "stop", "matched": 13})
}

async fn from_sglang(incremental: bool, reply: Reply) -> Got {
    let (_canned, server) = sglang(incremental, reply, &Options::default()).await;
    ask(server.engine.as_ref(), prompt("s", &PROMPT), &params()).await
}

async fn from_vllm(reply: Reply) -> Got {
    let (_canned, server) = vllm(reply, &Options::default()).await;
    ask(server.engine.as_ref(), prompt("s", &PROMPT), &params()).await
}

#[tokio::test]
async fn v1_cumulative_chunks_give_each_id_once() {
    let chunks = [
        chunk(&[785], 1, Value::Null),
        chunk(&[785, 4226], 2, Value::Null),
        chunk(&[785, 4226, 13], 3, stop()),
    ];
    let got = from_sglang(false, events(&chunks)).await;
    assert_eq!(got.ids(), [785, 4226, 13]);
    assert_eq!(got.end.ending, Ending::Stop(StopBy::Token(TokenId(13))));
}

#[tokio::test]
async fn v2_incremental_chunks_give_each_id_once() {
    let chunks = [chunk(&[785], 1, Value::Null), chunk(&[4226], 2, Value::Null), chunk(&[13], 3, stop())];
    let got = from_sglang(true, events(&chunks)).await;
    assert_eq!((got.ids(), got.logprobs()), (vec![785, 4226, 13], vec![Some(-0.5); 3]));
}

#[tokio::test]
async fn v3_a_first_chunk_may_hold_many() {
    for incremental in [true, false] {
        let chunks = [
            chunk(&[1, 3, 4, 5, 6], 5, Value::Null),
            match incremental {
                true => chunk(&[13], 6, stop()),
                false => chunk(&[1, 3, 4, 5, 6, 13], 6, stop()),
            },
        ];
        assert_eq!(from_sglang(incremental, events(&chunks)).await.ids(), [1, 3, 4, 5, 6, 13]);
    }
}

#[tokio::test]
async fn v4_the_abort_of_a_waiting_request_repeats_and_adds_nothing() {
    let reason = json!({"type": "abort", "message": "Abort in waiting queue"});
    let mut last = chunk(&[4226], 2, reason);
    // The whole list of logprobs comes again, and little else.
    last["meta_info"]["output_token_logprobs"] = json!([[-0.5, 785, null], [-0.5, 4226, null]]);
    last["meta_info"].as_object_mut().unwrap().remove("prompt_tokens");
    let chunks = [chunk(&[785], 1, Value::Null), chunk(&[4226], 2, Value::Null), last];
    let got = from_sglang(true, events(&chunks)).await;
    assert_eq!((got.ids(), &got.end.ending), (vec![785, 4226], &Ending::Aborted));
}

#[tokio::test]
async fn v5_counts_that_are_not_told_are_unknown() {
    let mut body = chunk(&[13], 1, stop());
    body["meta_info"].as_object_mut().unwrap().remove("prompt_tokens");
    let got = from_sglang(false, Reply::json(200, body.to_string())).await;
    assert_eq!((got.ids(), got.end.cached_tokens), (vec![13], None));
}

#[tokio::test]
async fn v6_a_null_logprob_is_none() {
    let mut body = chunk(&[13], 1, stop());
    body["meta_info"]["output_token_logprobs"] = json!([[null, 13, null]]);
    let got = from_sglang(false, Reply::json(200, body.to_string())).await;
    assert_eq!((got.ids(), got.logprobs()), (vec![13], vec![None]));
}

#[tokio::test]
async fn v7_a_stop_for_nan_is_no_stop() {
    let body = chunk(&[785, 2], 2, json!({"type": "stop", "matched": "NaN happened"}));
    let got = from_sglang(false, Reply::json(200, body.to_string())).await;
    assert!(matches!(got.failure(), EngineError::Poisoned { .. }), "{:?}", got.end);
    assert_eq!((got.failure().remedy(), got.ids()), (Remedy::Discard, vec![]));
}

#[tokio::test]
async fn v8_a_failure_may_hide_in_the_last_chunk() {
    let reason = json!({"type": "abort", "message": "queue full", "status_code": 503, "err_type": "x"});
    let got = from_sglang(true, events(&[chunk(&[785], 1, Value::Null), chunk(&[], 1, reason)])).await;
    assert!(matches!(got.failure(), EngineError::Unavailable { reason } if reason.contains("queue full")));
    assert_eq!((got.failure().remedy(), got.ids()), (Remedy::Resume, vec![785]));
}

#[tokio::test]
async fn v9_an_error_may_hide_in_a_200() {
    let error = json!({"error": {"message": "too long", "type": "x", "code": 400, "retryable": false}});
    let got = from_sglang(true, events(&[error])).await;
    assert!(matches!(got.failure(), EngineError::Refused { message } if message.contains("too long")));
    let error = json!({"error": {"message": "died", "type": "InternalServerError", "code": 500}});
    let got = from_vllm(events(&[error])).await;
    assert_eq!(got.failure().remedy(), Remedy::Resume);
}

#[tokio::test]
async fn v10_a_refusal_keeps_the_servers_own_words() {
    let reply = Reply::json(400, r#"{"error":"unknown field `max_tokens`, expected one of"}"#);
    let got = from_sglang(false, reply).await;
    assert!(
        matches!(got.failure(), EngineError::Refused { message } if message.contains("unknown field `max_tokens`"))
    );
}

#[tokio::test]
async fn v11_a_full_queue_may_pass() {
    let body =
        r#"{"object":"error","message":"The request queue is full.","type":"503","param":null,"code":503}"#;
    let got = from_sglang(false, Reply::json(503, body)).await;
    assert_eq!(got.failure().remedy(), Remedy::Resume);
    assert!(got.failure().to_string().contains("The request queue is full."));
}

#[tokio::test]
async fn v12_a_stream_without_its_last_word_is_cut_however_finished_it_looks() {
    let last = chunk(&[785, 13], 2, stop());
    let reply = Reply::events([last.to_string()]);
    for end in [Close::Whole, Close::Cut, Close::Reset] {
        let got = from_sglang(true, reply.clone().ending(end)).await;
        assert!(matches!(got.failure(), EngineError::Cut { tokens: 2, .. }), "{:?}", got.end.ending);
        assert_eq!((got.ids(), got.failure().remedy()), (vec![785, 13], Remedy::Resume), "what came is kept");
    }
    let whole = Reply::json(200, last.to_string()).ending(Close::Cut);
    let got = from_sglang(false, whole).await;
    assert_eq!((got.failure().remedy(), got.ids()), (Remedy::Resume, vec![]));
}

#[tokio::test]
async fn v13_counts_that_disagree_are_refused() {
    let mut more_logprobs = chunk(&[785, 13], 2, stop());
    more_logprobs["meta_info"]["output_token_logprobs"] =
        json!([[-1, 785, null], [-1, 13, null], [-1, 2, null]]);
    let mut fewer_counted = chunk(&[785, 13], 3, stop());
    fewer_counted["meta_info"]["completion_tokens"] = json!(3);
    let mut other_ids = chunk(&[785, 13], 2, stop());
    other_ids["meta_info"]["output_token_logprobs"] = json!([[-1, 785, null], [-1, 14, null]]);
    for body in [more_logprobs, fewer_counted, other_ids] {
        for incremental in [false, true] {
            let reply = match incremental {
                true => events(std::slice::from_ref(&body)),
                false => Reply::json(200, body.to_string()),
            };
            let got = from_sglang(incremental, reply).await;
            assert_eq!((got.failure().remedy(), got.ids()), (Remedy::Discard, vec![]), "{body}");
        }
    }
}

fn spoken(reason: &str, ids: &[u32]) -> Value {
    let pairs: Vec<Value> = ids.iter().map(|id| json!([-0.5, id, "x"])).collect();
    let call =
        json!({"id": "call_0b", "type": "function", "function": {"name": "add", "arguments": "{\"a\":  1}"}});
    json!({"choices": [{"index": 0, "finish_reason": reason,
        "message": {"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [call]},
        "meta_info": {"finish_reason": {"type": reason, "matched": null}, "completion_tokens": ids.len(),
            "output_token_logprobs": pairs, "weight_version": "17"}}]})
}

#[tokio::test]
async fn v14_tool_calls_is_a_stop_and_the_message_is_the_engines() {
    let options = Options { parse: Parse::Engine, ..Options::default() };
    let reply = Reply::json(200, spoken("tool_calls", &[785, 2]).to_string());
    let (canned, server) = sglang(false, reply, &options).await;
    let got = ask(server.engine.as_ref(), spelt(&PROMPT), &params()).await;
    assert_eq!(got.end.ending, Ending::Stop(StopBy::Token(TokenId(2))));
    let message = got.end.message.as_deref().unwrap();
    assert_eq!(message.reasoning.as_deref(), Some("hm"));
    assert_eq!(message.tool_calls[0].arguments.text(), "{\"a\":  1}", "bytes are kept");
    let asked = canned.seen().pop().unwrap();
    let asked: Value = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!(asked["input_ids"], json!(PROMPT));
    assert_eq!(asked["messages"], json!([{"role": "user", "content": "hi"}]));
}

#[tokio::test]
async fn v15_bare_experts_are_decoded_by_the_models_shape() {
    let mut body = chunk(&[785, 13], 2, stop());
    body["meta_info"]["routed_experts"] = json!("AwAAAAEAAAAAAAAAAgAAAAEAAAACAAAAAgAAAAAAAAA=");
    let options = Options { experts: Some(ExpertsShape { layers: 2, top_k: 2 }), ..Options::default() };
    let (canned, server) = sglang(false, Reply::json(200, body.to_string()), &options).await;
    // Seven tokens of prompt and two of reply: rows 6 and 7.
    let mut asked = prompt("s", &[1, 1, 1, 1, 1, 1, 1]);
    asked.experts_from = Some(6);
    let got = ask(server.engine.as_ref(), asked, &params()).await;
    let experts = got.end.experts.unwrap();
    assert_eq!((experts.start(), experts.rows(), experts.width()), (6, 2, Width::I32));
    assert_eq!((experts.row(6), experts.row(7)), (Some(vec![3, 1, 0, 2]), Some(vec![1, 2, 2, 0])));
    let sent: Value = serde_json::from_slice(&canned.seen().pop().unwrap().body).unwrap();
    assert_eq!(sent["routed_experts_start_len"], 6);
}

fn numpy(version: u8, descr: &str, shape: &str, data: &[u8]) -> String {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let wide = if version == 1 { 2 } else { 4 };
    while (8 + wide + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = [b"\x93NUMPY".as_slice(), &[version, 0]].concat();
    file.extend(&(header.len() as u32).to_le_bytes()[..wide]);
    file.extend(header.as_bytes());
    file.extend(data);
    STANDARD.encode_to_string(file)
}

fn vllm_chunk(ids: &[u32], logprob: f64, reason: Value, more: Value) -> Value {
    let content: Vec<Value> =
        ids.iter().map(|id| json!({"token_id": id, "logprob": logprob, "rank": 1})).collect();
    let mut choice = json!({"index": 0, "finish_reason": reason, "stop_reason": null, "token_ids": ids,
        "logprobs": {"content": content}});
    for (key, value) in more.as_object().unwrap() {
        choice[key] = value.clone();
    }
    json!({"request_id": "generate-tokens-r", "usage": null, "choices": [choice]})
}

#[tokio::test]
async fn v16_v17_numpy_experts_are_decoded_by_their_header() {
    let values: Vec<u16> = vec![3, 1, 0, 2, 1, 2, 2, 0, 0, 1, 3, 1, 2, 3, 1, 0];
    let bytes: Vec<u8> = values.iter().map(|v| *v as u8).collect();
    let wide: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    for (file, width) in [
        (numpy(1, "|u1", "(4, 2, 2)", &bytes), Width::U8),
        (numpy(2, "|u1", "(4, 2, 2)", &bytes), Width::U8),
        (numpy(1, "<u2", "(4, 2, 2)", &wide), Width::U16),
    ] {
        let last = vllm_chunk(&[785, 2], -0.5, json!("stop"), json!({"routed_experts": file}));
        let (_canned, server) = vllm(events(&[last]), &Options::default()).await;
        assert!(server.engine.capabilities().experts);
        let mut asked = prompt("s", &[1, 1, 1]);
        asked.experts_from = Some(0);
        let experts = ask(server.engine.as_ref(), asked, &params()).await.end.experts.unwrap();
        assert_eq!((experts.rows(), experts.width()), (4, width));
        assert_eq!(experts.row(3), Some(vec![2, 3, 1, 0]));
    }
}

#[tokio::test]
async fn v18_minus_9999_is_none() {
    let got = from_vllm(events(&[vllm_chunk(&[785], -9999.0, json!("length"), json!({}))])).await;
    assert_eq!((got.logprobs(), &got.end.ending), (vec![None], &Ending::Length));
}

#[tokio::test]
async fn v19_an_abort_keeps_what_came_before() {
    let chunks = [
        vllm_chunk(&[785, 4226], -0.5, Value::Null, json!({})),
        vllm_chunk(&[], 0.0, json!("abort"), json!({})),
    ];
    let got = from_vllm(events(&chunks)).await;
    assert_eq!((got.ids(), &got.end.ending), (vec![785, 4226], &Ending::Aborted));
}

#[tokio::test]
async fn v20_a_paused_vllm_is_asked_again_later() {
    let body = r#"{"error":{"message":"Generation is paused. Please retry after it resumes.","type":"ServiceUnavailableError","param":null,"code":503}}"#;
    let got = from_vllm(Reply::json(503, body)).await;
    assert_eq!(got.failure().remedy(), Remedy::Resume);
}

#[tokio::test]
async fn v21_probabilities_are_laid_beside_the_ids_they_belong_to() {
    let entry = |id: u32| json!({"id": id, "logprob": -(f64::from(id)), "top_logprobs": []});
    let body = |entries: Vec<Value>| {
        json!({"tokens": [5, 6, 2], "tokens_predicted": 3, "stop": true,
        "stop_type": "eos", "truncated": false, "completion_probabilities": entries, "timings": {"cache_n": 4}})
    };
    let reply = Reply::json(200, body(vec![entry(5), entry(2)]).to_string());
    let (canned, server) = llamacpp(reply).await;
    let got = ask(server.engine.as_ref(), prompt("s", &PROMPT), &params()).await;
    assert_eq!((got.ids(), got.logprobs()), (vec![5, 6, 2], vec![Some(-5.0), None, Some(-2.0)]));
    assert_eq!(got.end.cached_tokens, Some(4));
    let asked: Value = serde_json::from_slice(&canned.seen().pop().unwrap().body).unwrap();
    for neutral in
        [("top_k", json!(0)), ("top_p", json!(1.0)), ("min_p", json!(0.0)), ("return_tokens", json!(true))]
    {
        assert_eq!(asked[neutral.0], neutral.1, "its defaults are not neutral");
    }
    let foreign = Reply::json(200, body(vec![entry(5), entry(7), entry(2)]).to_string());
    let (_canned, server) = llamacpp(foreign).await;
    let got = ask(server.engine.as_ref(), prompt("s", &PROMPT), &params()).await;
    assert_eq!(got.failure().remedy(), Remedy::Discard);
}

// 22 and 23 are in `control.rs`: they need a server that pauses.

#[tokio::test]
async fn v24_spans_give_each_token_its_version() {
    let mut body = chunk(&[1, 3, 4, 5, 6, 7, 8, 9, 13], 9, stop());
    body["meta_info"]["weight_versions"] =
        json!([{"version": "17", "start": 0, "end": 5}, {"version": "18", "start": 5, "end": 9}]);
    body["meta_info"]["weight_version"] = json!("18");
    let got = from_sglang(false, Reply::json(200, body.to_string())).await;
    assert_eq!(got.versions(), ["17", "17", "17", "17", "17", "18", "18", "18", "18"]);

    let spans = json!({"weight_versions": [{"version": "17", "start": 0, "end": 1}, {"version": "18", "start": 1, "end": 2}]});
    let got = from_vllm(events(&[
        vllm_chunk(&[785], -0.5, Value::Null, json!({})),
        vllm_chunk(&[2], -0.5, json!("stop"), spans),
    ]))
    .await;
    assert_eq!(got.versions(), ["17", "18"]);
}

#[tokio::test]
async fn v25_one_version_for_all_is_believed_only_if_it_was_there_before() {
    let got = from_sglang(false, Reply::json(200, chunk(&[785, 13], 2, stop()).to_string())).await;
    assert_eq!(got.versions(), ["17", "17"]);
    let mut changed = chunk(&[785, 13], 2, stop());
    changed["meta_info"]["weight_version"] = json!("18");
    let got = from_sglang(false, Reply::json(200, changed.to_string())).await;
    assert_eq!(got.versions(), ["?", "?"], "where in the reply the weights changed is not known");
}

#[tokio::test]
async fn chunks_may_be_split_anywhere() {
    let chunks = [chunk(&[785], 1, Value::Null), chunk(&[4226], 2, Value::Null), chunk(&[13], 3, stop())];
    let whole: Vec<u8> = events(&chunks).chunks.concat();
    for size in [1, 2, 3, 5, 7, 64] {
        let mut reply = events(&chunks);
        reply.chunks = whole.chunks(size).map(|part| part.to_vec().into()).collect();
        reply.pause = if size == 7 { Duration::from_micros(200) } else { Duration::ZERO };
        assert_eq!(from_sglang(true, reply).await.ids(), [785, 4226, 13], "{size} bytes at a time");
    }
}

#[tokio::test]
async fn a_vllm_whose_usage_counts_otherwise_is_refused() {
    let usage =
        json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}});
    let got = from_vllm(events(&[vllm_chunk(&[785, 2], -0.5, json!("stop"), json!({})), usage])).await;
    assert_eq!(got.failure().remedy(), Remedy::Discard);
}
