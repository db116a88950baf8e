//! A server that answers with exact bytes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use crate::body::{self, Writer};
use crate::serve::{Line, Server};
use crate::{MockError, Seen, seen};

/// How a canned reply ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Close {
    /// As HTTP wants it.
    #[default]
    Whole,
    /// The connection closes without the end of the body.
    Cut,
    /// The connection is reset without the end of the body.
    Reset,
    /// The connection is reset before the head; chunks are not sent.
    ResetBeforeHead,
    /// Nothing more comes and the connection stays open.
    Stall,
}

/// One canned reply.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Headers; invalid ones are left out.
    pub headers: Vec<(String, String)>,
    /// The body, each element an HTTP chunk.
    pub chunks: Vec<Bytes>,
    /// The wait between two chunks.
    pub pause: Duration,
    /// How it ends.
    pub end: Close,
}

impl Reply {
    /// A whole JSON body.
    pub fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self::of(status, "application/json", vec![body.into()])
    }

    /// A stream of events, `data: ` and blank lines added.
    pub fn events(data: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let event = |data: &str| Bytes::from(format!("data: {data}\n\n"));
        Self::of(200, "text/event-stream", data.into_iter().map(|data| event(data.as_ref())).collect())
    }

    /// The same, ending so.
    pub fn ending(self, end: Close) -> Self {
        Self { end, ..self }
    }

    fn of(status: u16, content: &str, chunks: Vec<Bytes>) -> Self {
        let headers = vec![(CONTENT_TYPE.as_str().to_owned(), content.to_owned())];
        Self { status, headers, chunks, pause: Duration::ZERO, end: Close::Whole }
    }
}

/// A server of canned replies. Dropping it ends it.
pub struct Canned {
    server: Server,
    kitchen: Arc<Kitchen>,
}

struct Kitchen {
    /// For each path its replies in order; the last one stays.
    replies: Mutex<HashMap<String, Vec<Reply>>>,
    seen: Mutex<Vec<Seen>>,
}

impl Canned {
    /// Listens on any loopback port. A path given several times answers them in order and goes on with
    /// the last; a path that is not given is 404. Methods do not matter.
    ///
    /// # Errors
    /// [`MockError`] if it cannot listen.
    pub async fn start<P: Into<String>>(
        replies: impl IntoIterator<Item = (P, Reply)>,
    ) -> Result<Self, MockError> {
        let mut by_path: HashMap<String, Vec<Reply>> = HashMap::new();
        for (path, reply) in replies {
            by_path.entry(path.into()).or_default().push(reply);
        }
        let kitchen = Arc::new(Kitchen { replies: Mutex::new(by_path), seen: Mutex::default() });
        let shared = Arc::clone(&kitchen);
        let router = axum::Router::new().fallback(move |request: Request| {
            let kitchen = Arc::clone(&shared);
            async move { kitchen.answer(request).await }
        });
        Ok(Self { server: Server::start(0, router).await?, kitchen })
    }

    /// Where it listens: scheme, address and port.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.kitchen.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Kitchen {
    async fn answer(&self, request: Request) -> Response {
        let line = request.extensions().get::<Line>().cloned().unwrap_or_default();
        let seen = match seen::take(request).await {
            Ok((seen, _)) => seen,
            Err(refused) => return refused,
        };
        let reply = self.reply(&seen.path);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
        match reply {
            None => StatusCode::NOT_FOUND.into_response(),
            Some(reply) if reply.end == Close::ResetBeforeHead => line.reset().await,
            Some(reply) => serve(reply, line),
        }
    }

    fn reply(&self, path: &str) -> Option<Reply> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let list = replies.get_mut(path)?;
        if list.len() > 1 { Some(list.remove(0)) } else { list.first().cloned() }
    }
}

fn serve(reply: Reply, line: Line) -> Response {
    let Reply { status, headers, chunks, pause, end } = reply;
    let (writer, body) = body::channel();
    tokio::spawn(send(writer, chunks, pause, end, line));
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

async fn send(writer: Writer, chunks: Vec<Bytes>, pause: Duration, end: Close, line: Line) {
    for chunk in chunks {
        if !writer.bytes(chunk).await {
            return;
        }
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    match end {
        Close::Whole | Close::ResetBeforeHead => {}
        Close::Cut => writer.cut().await,
        Close::Reset => writer.reset(&line).await,
        Close::Stall => writer.stall().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_come_as_given_and_in_order() {
        let first = Reply { chunks: vec!["da".into(), "ta: 1\n\n".into()], ..Reply::events([""; 0]) };
        let canned = Canned::start([("/a", first), ("/a", Reply::json(503, "{}"))]).await.unwrap();
        let ask = || reqwest::get(format!("{}/a?x=1", canned.url()));
        assert_eq!(ask().await.unwrap().text().await.unwrap(), "data: 1\n\n");
        assert_eq!(ask().await.unwrap().status(), 503);
        assert_eq!(ask().await.unwrap().status(), 503);
        assert_eq!(reqwest::get(format!("{}/b", canned.url())).await.unwrap().status(), 404);
        assert_eq!(canned.seen()[0].parameter("x"), Some("1"));
    }

    #[tokio::test]
    async fn ends_are_as_bad_as_asked_for() {
        let cut = Reply::events(["1"]).ending(Close::Cut);
        let reset = Reply::events(["1"]).ending(Close::Reset);
        let early = Reply::events(["1"]).ending(Close::ResetBeforeHead);
        let canned = Canned::start([("/cut", cut), ("/reset", reset), ("/early", early)]).await.unwrap();
        for path in ["/cut", "/reset"] {
            let reply = reqwest::get(format!("{}{path}", canned.url())).await.unwrap();
            assert!(reply.text().await.is_err(), "{path}");
        }
        assert!(reqwest::get(format!("{}/early", canned.url())).await.is_err());
    }
}
