//! One stream as a client hears it.

use anyhow::{Context, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::engine::{now, spoken};

/// A stream that was heard to its end. Times are nanoseconds of [`now`].
pub(crate) struct Heard {
    /// The session's public name.
    pub(crate) session: String,
    /// When the request was sent.
    pub(crate) sent: u64,
    /// How many tokens had been heard when, one entry an event.
    pub(crate) events: Vec<(usize, u64)>,
}

/// Opens a session and hears one streamed reply, on a connection of its own.
///
/// # Errors
/// If the connection breaks, the server refuses, or the stream has no proper end.
pub(crate) async fn stream(address: &str, at: usize) -> anyhow::Result<Heard> {
    let socket = TcpStream::connect(address).await.with_context(|| format!("cannot reach {address}"))?;
    socket.set_nodelay(true)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    let request = |path: &str, body: String| {
        let builder = Request::builder().method(Method::POST).uri(path);
        builder
            .header("host", address)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
    };
    let opened = sender.send_request(request("/sessions", "{}".into())?).await?.into_body().collect().await?;
    let opened: Value = serde_json::from_slice(&opened.to_bytes())?;
    let token = opened["session_id"].as_str().context("no session")?;
    let session = opened["name"].as_str().context("no session")?.to_owned();

    let body = json!({"messages": [{"role": "user", "content": format!("task {at}")}], "stream": true});
    let path = format!("/sessions/{token}/v1/chat/completions");
    sender.ready().await?;
    let sent = now();
    let reply = sender.send_request(request(&path, body.to_string())?).await?;
    ensure!(reply.status() == StatusCode::OK, "{}", reply.status());
    let mut body = reply.into_body();
    let (mut events, mut heard, mut left) = (Vec::new(), 0, Vec::new());
    let mut ended = false;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let at = now();
        left.extend_from_slice(&data);
        while let Some(end) = left.windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = left.drain(..end + 2).collect();
            let event = std::str::from_utf8(&event)?;
            ended |= event.contains("[DONE]");
            // Only what is new is read: the text stands between these.
            let text = event.split_once("\"content\":\"").and_then(|(_, rest)| rest.split_once('"'));
            let more = text.map_or(0, |(text, _)| spoken(text));
            if more > 0 {
                heard += more;
                events.push((heard, at));
            }
        }
    }
    ensure!(ended, "the stream ended without its last event");
    Ok(Heard { session, sent, events })
}

/// Seconds of CPU that this process has used.
pub(crate) fn own_cpu() -> f64 {
    let usage = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    usage.tv_sec as f64 + usage.tv_nsec as f64 / 1e9
}
