//! llama.cpp's contract, through HTTP.

use serde_json::{Value, json};

use crate::testing::{SAYS, events, get, mock, post, slow, until};
use crate::{Options, Wire};

fn options() -> Options {
    Options { eos: vec![2], ..Options::new(Wire::LlamaCpp) }
}

fn ask(stream: bool) -> Value {
    json!({
        "prompt": [1, 3], "n_predict": 16, "n_probs": 1, "return_tokens": true, "stream": stream,
        "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0,
    })
}

#[tokio::test]
async fn a_whole_reply_has_ids_and_probabilities() {
    let server = mock(options()).await;
    let (status, reply) = post(&server, "/completion", &ask(false)).await;
    assert_eq!(
        (status, &reply["tokens"], &reply["stop_type"]),
        (200, &json!(SAYS), &json!("eos")),
        "{reply}"
    );
    assert_eq!(reply["completion_probabilities"][4]["id"], 2);
    assert_eq!(server.asked()[0].params.top_k, None);
}

#[tokio::test]
async fn what_is_left_out_is_not_neutral() {
    let server = mock(options()).await;
    let (_, reply) = post(&server, "/completion", &json!({ "prompt": [1], "stop_token_ids": [5] })).await;
    assert_eq!((&reply["tokens"], reply.get("completion_probabilities")), (&json!([]), None));
    let asked = &server.asked()[0];
    let params = &asked.params;
    assert_eq!((params.temperature, params.top_k, params.top_p, params.min_p), (0.8, Some(40), 0.95, 0.05));
    assert_eq!((params.max_tokens, asked.ignored.as_slice()), (63, &["stop_token_ids".to_owned()][..]));
}

#[tokio::test]
async fn incomplete_characters_are_lost_on_the_way() {
    let server = mock(Options { incomplete: vec![6], ..options() }).await;
    let (_, reply) = post(&server, "/completion", &ask(false)).await;
    assert_eq!(reply["tokens"].as_array().unwrap().len(), 5);
    assert_eq!(reply["completion_probabilities"].as_array().unwrap().len(), 4);
    let stream = events(&server, "/completion", &ask(true)).await.unwrap();
    let chunks: Vec<Value> = stream.iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    let ids: Vec<&Value> = chunks.iter().map(|chunk| &chunk["tokens"]).collect();
    assert_eq!(ids, [&json!([5]), &json!([7]), &json!([8]), &json!([2]), &json!([])]);
    assert_eq!((&chunks[4]["stop"], &chunks[4]["tokens_predicted"]), (&json!(true), &json!(5)));
}

#[tokio::test]
async fn a_stop_string_takes_probabilities_along() {
    let decode = |ids: &[u32]| ids.iter().map(|id| format!("<{id}>")).collect();
    let server = mock(Options { decode: Some(std::sync::Arc::new(decode)), ..options() }).await;
    let mut body = ask(false);
    body["stop"] = json!(["6><7"]);
    body["response_fields"] = json!(["tokens", "completion_probabilities", "stopping_word"]);
    let (_, reply) = post(&server, "/completion", &body).await;
    assert_eq!((&reply["tokens"], &reply["stopping_word"]), (&json!([5, 6, 7]), &json!("6><7")));
    assert_eq!(
        (reply["completion_probabilities"].as_array().unwrap().len(), reply.get("content")),
        (1, None)
    );
}

#[tokio::test]
async fn refusals_and_disconnects() {
    let server = slow(Options { api_key: Some("k".into()), ..options() }).await;
    assert_eq!(post(&server, "/completion", &ask(false)).await.0, 401);
    assert_eq!(get(&server, "/health").await.0, 200);
    server.set_healthy(false);
    assert_eq!(get(&server, "/health").await.1["error"]["type"], "unavailable_error");
    let open = slow(options()).await;
    let (status, reply) = post(&open, "/completion", &json!({ "prompt": vec![1; 64] })).await;
    assert_eq!((status, &reply["error"]["type"]), (400, &json!("exceed_context_size_error")));
    let asking = ask(false);
    tokio::select! {
        _ = post(&open, "/completion", &asking) => panic!("it was to be dropped"),
        () = until(|| open.running() == 1) => {}
    }
    until(|| open.in_flight() == 0).await;
}
