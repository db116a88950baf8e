//! vLLM's contract, through HTTP.

use serde_json::{Value, json};

use crate::testing::{SAYS, events, get, mock, post, slow, until};
use crate::{BadLogprob, Experts, Fault, Options, Width, Wire};

fn options() -> Options {
    Options { eos: vec![2], ..Options::new(Wire::Vllm) }
}

fn ask(stream: bool) -> Value {
    json!({
        "request_id": "r", "token_ids": [1, 3], "stream": stream,
        "sampling_params": { "max_tokens": 16, "logprobs": 0, "max_new_tokens": 3 },
    })
}

const GENERATE: &str = "/inference/v1/generate";

#[tokio::test]
async fn a_whole_reply_has_ids_logprobs_spans_and_experts() {
    let experts = Experts { layers: 2, top_k: 2, experts: 8, width: Width::U16 };
    let server = mock(Options { experts: Some(experts), ..options() }).await;
    let mut body = ask(false);
    body["sampling_params"]["routed_experts_prompt_start"] = 1.into();
    let (status, reply) = post(&server, GENERATE, &body).await;
    assert_eq!((status, &reply["request_id"]), (200, &json!("generate-tokens-r")), "{reply}");
    let choice = &reply["choices"][0];
    assert_eq!((&choice["finish_reason"], &choice["stop_reason"]), (&json!("stop"), &Value::Null));
    assert_eq!(choice["token_ids"], json!(SAYS));
    assert_eq!(choice["logprobs"]["content"][4]["token_id"], 2);
    assert_eq!(choice["routed_experts"], experts.npy(&experts.rows(&[1, 3, 5, 6, 7, 8, 2], 1)));
    assert_eq!(choice["weight_versions"], json!([{ "version": "0", "start": 0, "end": 5 }]));
    assert_eq!(server.asked()[0].ignored, ["max_new_tokens"]);
}

#[tokio::test]
async fn chunks_are_deltas_and_an_abort_has_an_empty_one() {
    let server = mock(options()).await;
    server.faults([Fault::Abort { after: 2, status: None, message: String::new() }]);
    let stream = events(&server, GENERATE, &ask(true)).await.unwrap();
    let chunks: Vec<Value> = stream.iter().filter_map(|data| serde_json::from_str(data).ok()).collect();
    let ids: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]["token_ids"]).collect();
    assert_eq!(ids, [&json!([5]), &json!([6]), &json!([])]);
    assert_eq!(chunks[2]["choices"][0]["finish_reason"], "abort");
    assert_eq!(stream.last().unwrap(), "[DONE]");
}

#[tokio::test]
async fn what_is_missing_is_a_sentinel() {
    let server = mock(options()).await;
    server.fault(Fault::Logprob { at: 0, bad: BadLogprob::Sentinel });
    let (_, reply) = post(&server, GENERATE, &ask(false)).await;
    let first = &reply["choices"][0]["logprobs"]["content"][0];
    assert_eq!((&first["logprob"], &first["rank"]), (&json!(-9999.0), &Value::Null));
    server.fault(Fault::Nan { after: 1 });
    assert_eq!(post(&server, GENERATE, &ask(false)).await.0, 500);
}

#[tokio::test]
async fn the_openai_routes_speak_ids_too() {
    let server = mock(options()).await;
    let body = json!({ "prompt": [1, 3], "logprobs": 0, "return_token_ids": true, "prompt_logprobs": 0,
        "return_tokens_as_token_ids": true, "stop_token_ids": [7] });
    let (status, reply) = post(&server, "/v1/completions", &body).await;
    let choice = &reply["choices"][0];
    assert_eq!((status, &choice["stop_reason"]), (200, &json!(7)), "{reply}");
    assert_eq!((&choice["token_ids"], &choice["prompt_token_ids"]), (&json!([5, 6, 7]), &json!([1, 3])));
    assert_eq!(choice["logprobs"]["tokens"][0], "token_id:5");
    assert!(choice["prompt_logprobs"][0].is_null() && choice["prompt_logprobs"][1]["3"]["logprob"].is_f64());
    assert_eq!(server.asked()[0].params.max_tokens, 16);
    let stream = json!({ "prompt": [1, 3], "return_token_ids": true, "stream": true });
    let stream = events(&server, "/v1/completions", &stream).await.unwrap();
    let first: Value = serde_json::from_str(&stream[0]).unwrap();
    assert_eq!(first["choices"][0]["prompt_token_ids"], json!([1, 3]));
    let chat = json!({ "messages": [], "kv_transfer_params": { "prompt_token_ids": [1, 3] },
        "return_token_ids": true, "logprobs": true, "top_logprobs": 0 });
    let (_, reply) = post(&server, "/v1/chat/completions", &chat).await;
    assert_eq!(
        (&reply["prompt_token_ids"], &reply["choices"][0]["token_ids"]),
        (&json!([1, 3]), &json!(SAYS))
    );
}

#[tokio::test]
async fn a_pause_refuses_or_holds() {
    let server = slow(options()).await;
    let asking = ask(false);
    let (reply, ()) = tokio::join!(post(&server, GENERATE, &asking), async {
        until(|| server.running() == 1).await;
        post(&server, "/pause?mode=abort", &json!({})).await;
    });
    assert_eq!(reply.1["choices"][0]["finish_reason"], "abort");
    assert_eq!(get(&server, "/is_paused").await.1["is_paused"], true);
    assert_eq!(post(&server, GENERATE, &ask(false)).await.0, 503);
    post(&server, "/resume", &json!({})).await;
    post(&server, "/pause?mode=keep", &json!({})).await;
    let (reply, ()) = tokio::join!(post(&server, GENERATE, &asking), async {
        until(|| server.in_flight() == 1).await;
        post(&server, "/update_weight_version", &json!({ "new_version": "9" })).await;
        post(&server, "/resume", &json!({})).await;
    });
    assert_eq!(reply.1["choices"][0]["weight_versions"][0]["version"], "9");
    assert_eq!(post(&server, "/pause?mode=odd", &json!({})).await.0, 400);
}

#[tokio::test]
async fn aborts_need_the_external_name() {
    let server = slow(options()).await;
    let asking = ask(false);
    let (reply, ()) = tokio::join!(post(&server, GENERATE, &asking), async {
        until(|| server.running() == 1).await;
        post(&server, "/inference/v1/abort_requests", &json!({ "request_ids": ["r"] })).await;
        assert_eq!(server.running(), 1);
        post(&server, "/inference/v1/abort_requests", &json!({ "request_ids": ["generate-tokens-r"] })).await;
    });
    assert_eq!(reply.1["choices"][0]["finish_reason"], "abort");
    assert_eq!(post(&server, "/inference/v1/abort_requests", &json!({})).await.0, 400);
}

#[tokio::test]
async fn switches_and_keys() {
    let closed = mock(Options { tokens_api: false, dev_mode: false, ..options() }).await;
    assert_eq!(post(&closed, GENERATE, &ask(false)).await.0, 403);
    assert_eq!(get(&closed, "/is_paused").await.0, 404);
    let keyed = mock(Options { api_key: Some("k".into()), ..options() }).await;
    assert_eq!(post(&keyed, GENERATE, &ask(false)).await.0, 401);
    assert_eq!(get(&keyed, "/is_paused").await.0, 200);
    assert_eq!(post(&closed, "/v1/completions", &json!({ "prompt": [1], "model": "other" })).await.0, 404);
}
