//! SGLang's contract, through HTTP.

use serde_json::{Value, json};

use crate::testing::{SAYS, events, get, mock, post, slow, until};
use crate::{BadLogprob, Experts, Fault, Options, Width, Wire};

fn options() -> Options {
    Options { eos: vec![2], ..Options::new(Wire::Sglang) }
}

fn ask(stream: bool) -> Value {
    json!({
        "rid": "r-1", "input_ids": [1, 3], "stream": stream, "return_logprob": true,
        "sampling_params": { "max_new_tokens": 16, "temperature": 1.0 },
    })
}

fn parsed(events: &[String]) -> Vec<Value> {
    events.iter().filter_map(|data| serde_json::from_str(data).ok()).collect()
}

#[tokio::test]
async fn a_whole_reply_has_ids_logprobs_spans_and_experts() {
    let experts = Experts { layers: 2, top_k: 2, experts: 8, width: Width::U8 };
    let mock = mock(Options { experts: Some(experts), ..options() }).await;
    let mut body = ask(false);
    body["return_routed_experts"] = true.into();
    body["routed_experts_start_len"] = 1.into();
    let (status, reply) = post(&mock, "/generate", &body).await;
    assert_eq!(status, 200, "{reply}");
    assert_eq!(reply["output_ids"], json!(SAYS));
    let meta = &reply["meta_info"];
    assert_eq!(meta["finish_reason"], json!({ "type": "stop", "matched": 2 }));
    assert_eq!(meta["weight_versions"], json!([{ "version": "0", "start": 0, "end": 5 }]));
    assert_eq!(meta["output_token_logprobs"].as_array().unwrap().len(), 5);
    let rows = experts.rows(&[1, 3, 5, 6, 7, 8, 2], 1);
    assert_eq!((rows.len(), meta["routed_experts"].as_str().unwrap()), (5 * 4, &*Experts::flat(&rows)));
    assert_eq!(mock.asked()[0].params.max_tokens, 16);
    assert_eq!((mock.seen()[0].path.as_str(), mock.in_flight()), ("/generate", 0));
}

#[tokio::test]
async fn chunks_are_whole_or_deltas() {
    for incremental in [false, true] {
        let mock = mock(Options { incremental, ..options() }).await;
        let stream = events(&mock, "/generate", &ask(true)).await.unwrap();
        assert_eq!(stream.last().unwrap(), "[DONE]");
        let chunks = parsed(&stream);
        assert_eq!(chunks.len(), 5);
        let second = if incremental { json!([6]) } else { json!([5, 6]) };
        assert_eq!(chunks[1]["output_ids"], second);
        assert_eq!(chunks[1]["meta_info"]["completion_tokens"], 2);
        assert_eq!(chunks[4]["meta_info"]["finish_reason"]["matched"], 2);
    }
}

#[tokio::test]
async fn refusals_have_the_shapes_of_their_places() {
    let server = mock(options()).await;
    let mut unknown = ask(false);
    unknown["sampling_params"]["max_tokens"] = 3.into();
    let (status, body) = post(&server, "/generate", &unknown).await;
    assert_eq!(status, 400);
    assert!(body["error"].as_str().unwrap().starts_with("unknown field `max_tokens`"));
    let mut long = ask(false);
    long["input_ids"] = vec![1; 64].into();
    let (status, body) = post(&server, "/generate", &long).await;
    assert_eq!((status, body["error"]["message"].is_string()), (400, true));
    long["stream"] = true.into();
    let stream = events(&server, "/generate", &long).await.unwrap();
    assert_eq!(parsed(&stream)[0]["error"]["code"], 400);
    server.fault(Fault::QueueFull);
    let (status, body) = post(&server, "/generate", &ask(false)).await;
    assert_eq!((status, &body["message"]), (503, &json!("The request queue is full.")));
    let legacy = mock(Options { legacy: true, ..options() }).await;
    assert_eq!(post(&legacy, "/generate", &unknown).await.0, 500);
    assert_eq!(get(&legacy, "/ready").await.0, 404);
}

#[tokio::test]
async fn faults_of_tokens_and_of_delivery() {
    let server = mock(Options { incremental: true, ..options() }).await;
    server.fault(Fault::Cut { after: 2 });
    assert!(events(&server, "/generate", &ask(true)).await.is_err());
    server.fault(Fault::NoDone);
    assert!(events(&server, "/generate", &ask(true)).await.is_err());
    server.faults([
        Fault::Logprob { at: 1, bad: BadLogprob::Null },
        Fault::Split { bytes: 3, pause: std::time::Duration::ZERO },
    ]);
    let chunks = parsed(&events(&server, "/generate", &ask(true)).await.unwrap());
    assert_eq!(chunks[1]["meta_info"]["output_token_logprobs"], json!([[null, 6, null]]));
    server.fault(Fault::Coalesce(3));
    let chunks = parsed(&events(&server, "/generate", &ask(true)).await.unwrap());
    assert_eq!(chunks[0]["output_ids"], json!([5, 6, 7]));
    server.fault(Fault::DuplicateAbort { after: 2 });
    let chunks = parsed(&events(&server, "/generate", &ask(true)).await.unwrap());
    assert_eq!(chunks[2]["output_ids"], json!([6]));
    assert_eq!(chunks[2]["meta_info"]["completion_tokens"], 2);
    assert!(chunks[2]["meta_info"].get("prompt_tokens").is_none());
    server.fault(Fault::Nan { after: 1 });
    let (_, reply) = post(&server, "/generate", &ask(false)).await;
    assert_eq!(reply["meta_info"]["finish_reason"]["matched"], "NaN happened");
    server.fault(Fault::MissingLogprob);
    let (_, reply) = post(&server, "/generate", &ask(false)).await;
    assert_eq!(reply["meta_info"]["output_token_logprobs"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn an_abort_leaves_what_was_sampled() {
    let server = slow(options()).await;
    let asking = ask(false);
    let (reply, ()) = tokio::join!(post(&server, "/generate", &asking), async {
        until(|| server.running() == 1).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        post(&server, "/abort_request", &json!({ "rid": "r-1" })).await;
    });
    assert_eq!(reply.1["meta_info"]["finish_reason"]["message"], "Aborted");
    let sampled = reply.1["output_ids"].as_array().unwrap().len();
    assert!((1..5).contains(&sampled), "{sampled}");
}

#[tokio::test]
async fn a_pause_holds_new_requests_and_loses_their_aborts() {
    let server = mock(options()).await;
    assert_eq!(post(&server, "/pause_generation", &json!({ "mode": "retract" })).await.0, 200);
    assert_eq!(get(&server, "/ready").await.0, 503);
    let asking = ask(false);
    let (reply, ()) = tokio::join!(post(&server, "/generate", &asking), async {
        until(|| server.in_flight() == 1).await;
        post(&server, "/abort_request", &json!({ "rid": "r-1" })).await;
        post(&server, "/update_weight_version", &json!({ "new_version": "7" })).await;
        post(&server, "/continue_generation", &json!({})).await;
    });
    assert_eq!(reply.1["meta_info"]["finish_reason"]["matched"], 2);
    assert_eq!(reply.1["meta_info"]["weight_version"], "7");
    assert_eq!(get(&server, "/model_info").await.1["weight_version"], "7");
}

#[tokio::test]
async fn frozen_calls_go_on_with_the_new_version() {
    let server = slow(options()).await;
    let asking = ask(false);
    let (reply, ()) = tokio::join!(post(&server, "/generate", &asking), async {
        until(|| server.running() == 1).await;
        tokio::time::sleep(std::time::Duration::from_millis(75)).await;
        post(&server, "/pause_generation", &json!({ "mode": "in_place" })).await;
        let update = json!({ "new_version": "7", "abort_all_requests": false });
        post(&server, "/update_weight_version", &update).await;
        post(&server, "/continue_generation", &json!({})).await;
    });
    let spans = reply.1["meta_info"]["weight_versions"].as_array().unwrap();
    assert_eq!((spans.len(), &spans[1]["version"], &spans[1]["end"]), (2, &json!("7"), &json!(5)));
}

#[tokio::test]
async fn scoring_starts_where_it_is_told_with_null() {
    let server = mock(options()).await;
    let mut body = ask(false);
    body["input_ids"] = json!([1, 3, 5, 6]);
    body["logprob_start_len"] = 2.into();
    body["sampling_params"]["max_new_tokens"] = 0.into();
    let (_, reply) = post(&server, "/generate", &body).await;
    let scored = reply["meta_info"]["input_token_logprobs"].as_array().unwrap();
    assert_eq!((scored.len(), &scored[0]), (2, &json!([null, 5, null])));
    assert!(scored[1][0].is_f64());
    assert_eq!(reply["output_ids"], json!([]));
}

#[tokio::test]
async fn keys_guard_their_routes() {
    let keys = Options { api_key: Some("k".into()), admin_key: Some("a".into()), ..options() };
    let server = mock(keys).await;
    assert_eq!(post(&server, "/generate", &ask(false)).await.0, 401);
    assert_eq!(get(&server, "/health").await.0, 200);
    let client = reqwest::Client::new();
    for (path, key, status) in
        [("/generate", "k", 200), ("/abort_request", "k", 401), ("/abort_request", "a", 200)]
    {
        let request = client.post(format!("{}{path}", server.url())).bearer_auth(key).json(&ask(false));
        assert_eq!(request.send().await.unwrap().status(), status, "{path} {key}");
    }
}

#[tokio::test]
async fn a_killed_server_comes_back_on_its_port() {
    let server = slow(options()).await;
    let asking = ask(true);
    let (cut, ()) = tokio::join!(events(&server, "/generate", &asking), async {
        until(|| server.running() == 1).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        server.kill().await;
    });
    assert!(cut.is_err());
    assert!(reqwest::get(server.url()).await.is_err());
    until(|| server.in_flight() == 0).await;
    server.restart().unwrap();
    assert_eq!(post(&server, "/generate", &ask(false)).await.0, 200);
}

#[tokio::test]
async fn chat_takes_ids_and_gives_them_back() {
    let parse =
        |ids: &[u32]| json!({ "role": "assistant", "content": ids.len().to_string(), "tool_calls": [{}] });
    let server = mock(Options { parse: Some(std::sync::Arc::new(parse)), ..options() }).await;
    let body = json!({
        "messages": [{ "role": "user", "content": "?" }], "input_ids": [1, 3], "logprobs": true,
        "return_meta_info": true, "return_token_ids": true,
    });
    let (status, reply) = post(&server, "/v1/chat/completions", &body).await;
    assert_eq!(status, 200, "{reply}");
    let choice = &reply["choices"][0];
    assert_eq!(choice["response_token_ids"], json!(SAYS));
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &json!("5"))
    );
    assert_eq!(choice["meta_info"]["finish_reason"], json!({ "type": "tool_calls", "matched": null }));
}

#[tokio::test]
async fn the_older_server_aborts_at_the_gate_late() {
    let server = mock(Options { legacy: true, ..options() }).await;
    post(&server, "/pause_generation", &json!({ "mode": "in_place" })).await;
    let asking = ask(false);
    let (reply, ()) = tokio::join!(post(&server, "/generate", &asking), async {
        until(|| server.in_flight() == 1).await;
        post(&server, "/abort_request", &json!({ "rid": "r-1" })).await;
        post(&server, "/continue_generation", &json!({})).await;
    });
    assert_eq!(reply, (499, json!({ "error": { "message": "Request r-1 was aborted" } })));
    let stream = json!({ "input_ids": [1], "stream": true, "sampling_params": { "seed": 1 } });
    assert_eq!(events(&server, "/generate", &stream).await.unwrap(), Vec::<String>::new());
}
