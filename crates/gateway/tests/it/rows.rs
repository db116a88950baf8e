//! Rows and metrics over HTTP.

use reqwest::StatusCode;
use serde_json::{Value, json};
use verbatim_samples::{Format, Row};

use crate::support::{Server, text, user};

async fn rows(server: &Server, session: &str, format: Format) -> Vec<Row> {
    let url = format!("{}/sessions/{session}/samples", server.url);
    let body = json!({"format": format.extension(), "reward": 0.5, "metadata": {"task": "ü"}});
    let reply = server.client.post(url).json(&body).send().await.unwrap();
    assert_eq!(reply.status(), StatusCode::OK);
    format.read(&reply.bytes().await.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_three_formats_hold_the_same_rows() {
    let server = Server::saying(["a", "b", "c"].map(text)).await;
    let session = server.open(json!({"group": "g"})).await;
    let first = server.says(&session, &[user("hi")]).await;
    for follow in ["left", "right"] {
        server.says(&session, &[user("hi"), first.clone(), user(follow)]).await;
    }
    let parquet = rows(&server, &session, Format::Parquet).await;
    assert_eq!(parquet, rows(&server, &session, Format::Jsonl).await);
    let mut safetensors = rows(&server, &session, Format::Safetensors).await;
    for row in &mut safetensors {
        // What Miles' driver is told beside the row.
        row.metadata.retain(|key, _| parquet[0].metadata.contains_key(key));
    }
    assert_eq!(parquet, safetensors);
    let row = &parquet[0];
    assert_eq!(parquet.len(), 1, "the left branch was retried");
    assert_eq!((row.reward, row.group.as_ref().map(|group| group.as_str())), (Some(0.5), Some("g")));
    assert_eq!(row.trained(), row.turns.iter().map(|turn| turn.end - turn.start).sum::<usize>());
    assert_eq!(row.logprobs.iter().flatten().count(), row.trained());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_session_says_why_it_has_no_rows() {
    let server = Server::saying([text("a")]).await;
    let session = server.open(json!({})).await;
    assert_eq!(rows(&server, &session, Format::Safetensors).await, []);
    let url = format!("{}/sessions/{session}/samples", server.url);
    let bytes = server.client.post(url).send().await.unwrap().bytes().await.unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(text.contains("\"empty_reason\":\"no_records\""), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_fold_the_same_causes_and_count_what_exists() {
    let server = Server::saying(["a", "b"].map(text)).await;
    let session = server.open(json!({})).await;
    let body = json!({"messages": [user("hi")], "user": "me"});
    server.turn(&session, &body).await;
    server.turn(&session, &body).await;
    let metrics =
        server.client.get(format!("{}/metrics", server.url)).send().await.unwrap().text().await.unwrap();
    for line in [
        "verbatim_turns_total{finish=\"stop\"} 2",
        "verbatim_lost_total{cause=\"field_ignored\",detail=\"user\"} 2",
        "verbatim_lost_total{cause=\"forked\",detail=\"\"} 1",
        "verbatim_sessions 1",
        "verbatim_turn_seconds_count{phase=\"first_token\"} 2",
        "verbatim_attempts_running 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn models_and_health_answer_without_a_key() {
    let server = Server::saying([text("a")]).await;
    let get = |path: &str| server.client.get(format!("{}{path}", server.url)).send();
    assert_eq!(get("/health").await.unwrap().json::<Value>().await.unwrap()["status"], "ok");
    let models: Value = get("/v1/models").await.unwrap().json().await.unwrap();
    assert_eq!(models["data"][0]["id"], "policy");
    let nowhere = get("/nowhere").await.unwrap();
    assert_eq!(nowhere.status(), StatusCode::NOT_FOUND);
    assert_eq!(nowhere.json::<Value>().await.unwrap()["error"]["code"], "no_route");
}
