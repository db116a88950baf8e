//! What the wires' tests share.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use verbatim_engine_sim::{Latency, Line, SimEngine, SimOptions};
use verbatim_tokens::TokenId;

use crate::{Mock, Options};

/// What the engine says, whatever it is asked.
pub(crate) const SAYS: [u32; 5] = [5, 6, 7, 8, 2];

/// An engine that says [`SAYS`] at this pace.
pub(crate) fn engine(decode: Duration) -> Arc<SimEngine> {
    let latency = Latency { decode_token: decode, ..Latency::NONE };
    let line = || Line { ids: SAYS.map(TokenId).to_vec(), fault: None };
    let script = move |_: &verbatim_engine::Prompt, _: &mut _| line();
    Arc::new(SimEngine::new(
        SimOptions { vocabulary: 100, max_context: 64, latency, ..SimOptions::default() },
        script,
    ))
}

/// A mock over it.
pub(crate) async fn mock(options: Options) -> Mock {
    Mock::start(engine(Duration::ZERO), options).await.unwrap()
}

/// The same, at a pace that leaves time to interfere.
pub(crate) async fn slow(options: Options) -> Mock {
    Mock::start(engine(Duration::from_millis(30)), options).await.unwrap()
}

pub(crate) async fn post(mock: &Mock, path: &str, body: &Value) -> (u16, Value) {
    let reply = send(mock, path, body).await;
    (reply.status().as_u16(), reply.json().await.unwrap_or_default())
}

pub(crate) async fn send(mock: &Mock, path: &str, body: &Value) -> reqwest::Response {
    let client = reqwest::Client::new();
    client.post(format!("{}{path}", mock.url())).json(body).send().await.unwrap()
}

pub(crate) async fn get(mock: &Mock, path: &str) -> (u16, Value) {
    let reply = reqwest::get(format!("{}{path}", mock.url())).await.unwrap();
    (reply.status().as_u16(), reply.json().await.unwrap_or_default())
}

/// The data of a stream's events; an error if it is cut.
pub(crate) async fn events(mock: &Mock, path: &str, body: &Value) -> Result<Vec<String>, reqwest::Error> {
    let text = send(mock, path, body).await.text().await?;
    Ok(text.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap().to_owned()).collect())
}

/// Waits until `done` holds.
pub(crate) async fn until(done: impl Fn() -> bool) {
    while !done() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
