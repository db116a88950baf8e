//! An endpoint that records what an agent asks for, and passes it on.
//!
//! The invariant: what the agent sees is what the server behind said, byte for byte; a request is in the recording once
//! it is over, whichever side ended it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::recording::{Dialect, Exchange, Outcome, line, reply};

/// The largest body that is passed on, in bytes.
const BODY: usize = 256 << 20;

/// Headers that belong to one connection, or would make a reply unreadable.
const KEPT_BACK: [&str; 6] =
    ["host", "connection", "content-length", "transfer-encoding", "accept-encoding", "keep-alive"];

/// The server behind.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Its root, without a trailing slash: what the agent asks for is put behind it.
    pub url: String,
    /// Headers that replace the agent's own: the key of a real service.
    pub headers: Vec<(String, String)>,
    /// How long the first request for a turn is held before it is passed on.
    pub hold: Duration,
}

/// A recording endpoint that listens. Dropping it ends it.
pub struct Recorder {
    /// Its root, without a trailing slash.
    pub url: String,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

struct Shared {
    upstream: Upstream,
    client: reqwest::Client,
    began: Instant,
    lines: Mutex<Vec<Value>>,
    held: Mutex<bool>,
}

impl Recorder {
    /// Listens on a loopback address.
    ///
    /// # Errors
    /// If no port can be had.
    pub async fn start(upstream: Upstream) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            held: Mutex::new(upstream.hold.is_zero()),
            upstream,
            client: reqwest::Client::new(),
            began: Instant::now(),
            lines: Mutex::default(),
        });
        let router = Router::new().fallback(pass).with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, shared, serving })
    }

    /// What was recorded since the last call, as lines of JSON.
    pub fn take(&self) -> Vec<String> {
        let mut lines = self.shared.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.drain(..).map(|line| line.to_string()).collect()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A request under way. It is recorded when this is dropped: at the reply's end, or when the client has left.
struct Under {
    shared: Arc<Shared>,
    exchange: Exchange,
    status: Option<u16>,
    raw: Vec<u8>,
    over: bool,
}

impl Drop for Under {
    fn drop(&mut self) {
        let raw = String::from_utf8_lossy(&self.raw);
        // A client may hang up as soon as it has read the last word.
        let whole = self.over || reply(self.exchange.dialect, &raw).is_some();
        self.exchange.ended = Some(self.shared.began.elapsed().as_secs_f64());
        self.exchange.outcome = if whole { Outcome::Unknown } else { Outcome::Left };
        let line = line(&self.exchange, self.status, (!raw.is_empty()).then_some(&*raw));
        self.shared.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

async fn pass(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let arrived = shared.began.elapsed().as_secs_f64();
    let Ok(body) = to_bytes(body, BODY).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large").into_response();
    };
    let under = record(&shared, &path, &head.headers, &body, arrived);
    let is_first = under.is_some() && {
        let mut held = shared.held.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut *held, true)
    };
    if is_first {
        tokio::time::sleep(shared.upstream.hold).await;
    }
    let mut forward = shared.client.request(head.method, format!("{}{path}", shared.upstream.url)).body(body);
    let ours = &shared.upstream.headers;
    for (name, value) in &head.headers {
        let replaced = ours.iter().any(|(own, _)| own.eq_ignore_ascii_case(name.as_str()));
        if !replaced && !KEPT_BACK.contains(&name.as_str()) {
            forward = forward.header(name, value);
        }
    }
    for (name, value) in ours {
        forward = forward.header(name, value);
    }
    match forward.send().await {
        Ok(reply) => back(reply, under),
        Err(error) => {
            if let Some(mut under) = under {
                (under.status, under.over) = (Some(502), true);
            }
            (StatusCode::BAD_GATEWAY, format!("the server behind cannot be reached: {error}")).into_response()
        }
    }
}

/// The record of a request for a turn; another one's is its path alone.
fn record(
    shared: &Arc<Shared>,
    path: &str,
    headers: &HeaderMap,
    body: &Bytes,
    arrived: f64,
) -> Option<Under> {
    let Some(dialect) = Dialect::of(path).filter(|_| !body.is_empty()) else {
        let line = json!({"request": {"path": path, "headers": {}, "body": null}, "t": arrived});
        shared.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        return None;
    };
    let told = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    let exchange = Exchange {
        path: path.to_owned(),
        dialect,
        headers: headers.iter().filter_map(told).collect(),
        body: String::from_utf8_lossy(body).into(),
        arrived: Some(arrived),
        ended: None,
        outcome: Outcome::Unknown,
    };
    Some(Under { shared: Arc::clone(shared), exchange, status: None, raw: Vec::new(), over: false })
}

/// Hands a reply on, chunk by chunk.
fn back(reply: reqwest::Response, under: Option<Under>) -> Response {
    let mut response = Response::builder().status(reply.status());
    for (name, value) in reply.headers() {
        if !KEPT_BACK.contains(&name.as_str()) {
            response = response.header(name, value);
        }
    }
    let status = reply.status().as_u16();
    let under = under.map(|mut under| {
        under.status = Some(status);
        under
    });
    let chunks =
        futures::stream::unfold((reply.bytes_stream(), under), |(mut chunks, mut under)| async move {
            let chunk = chunks.next().await;
            match (&chunk, &mut under) {
                (Some(Ok(bytes)), Some(under)) => under.raw.extend_from_slice(bytes),
                (None, Some(under)) => under.over = true,
                _ => {}
            }
            chunk.map(|chunk| (chunk, (chunks, under)))
        });
    response.body(Body::from_stream(chunks)).unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
}
