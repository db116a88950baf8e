//! Sending what a call samples, whole or as events, with the faults of delivery.

use std::time::Duration;

use axum::Json;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::Value;

use crate::body::{self, Writer};
use crate::call::Call;
use crate::fault::{Fault, Plan};
use crate::run::{Run, Step};
use crate::serve::Line;
use crate::tally::Tally;

/// How a wire says that it refuses.
pub(crate) type Words = fn(u16, &str) -> Response;

/// How a wire streams.
pub(crate) trait Events: Send + 'static {
    /// The data of events before any token.
    fn opening(&mut self, _run: &Run) -> Vec<String> {
        Vec::new()
    }
    /// The data of events for the tokens from `sent` on; the turn goes on.
    fn tokens(&mut self, run: &Run, sent: usize) -> Vec<String>;
    /// The data of the last events, with the tokens from `sent` on and the finish.
    fn closing(&mut self, run: &Run, sent: usize) -> Vec<String>;
    /// The data of an error event.
    fn error(&self, status: u16, message: &str) -> String;
    /// The data that ends every stream.
    fn done(&self) -> Option<&'static str>;
}

/// How delivery breaks.
enum Break {
    Error { status: u16, message: String },
    Cut,
    Reset,
    Stall,
}

fn broken(plan: &Plan, sent: usize) -> Option<Break> {
    plan.find(|fault| match fault {
        Fault::Error { after, status, message } if *after <= sent => {
            Some(Break::Error { status: *status, message: message.clone() })
        }
        Fault::Cut { after } if *after <= sent => Some(Break::Cut),
        Fault::CutByReset { after } if *after <= sent => Some(Break::Reset),
        Fault::Stall { after } if *after <= sent => Some(Break::Stall),
        _ => None,
    })
}

/// The faults of the next call, unless one of them answers in its place.
pub(crate) async fn enter(call: &Call, words: Words) -> Result<Plan, Response> {
    let plan = call.shared.next_plan();
    for fault in &plan.0 {
        match fault {
            Fault::Status { status, body } => {
                let mut response = ([(CONTENT_TYPE, "application/json")], body.clone()).into_response();
                *response.status_mut() = code(*status);
                return Err(response);
            }
            Fault::QueueFull => return Err(words(503, "The request queue is full.")),
            Fault::TooMany => {
                let mut response = words(429, "Too many requests.");
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                return Err(response);
            }
            Fault::Reset => return Err(call.line.reset().await),
            Fault::Hang => return std::future::pending().await,
            Fault::Late(wait) => tokio::time::sleep(*wait).await,
            _ => {}
        }
    }
    Ok(plan)
}

/// Samples to the end and sends what `render` makes of it.
pub(crate) async fn whole(
    mut run: Run,
    line: &Line,
    words: Words,
    render: impl FnOnce(&Run) -> Response,
) -> Response {
    loop {
        if let Some(Break::Error { status, message }) = broken(&run.tally.plan, run.tally.len()) {
            return words(status, &message);
        }
        match run.next().await {
            Step::Token => {}
            Step::End => break,
            Step::Cut => return line.reset().await,
        }
    }
    let response = render(&run);
    let plan = std::mem::take(&mut run.tally.plan);
    deliver(response, &plan, run.tally.len(), line.clone()).await
}

/// Sends a whole response, broken if it is to be.
async fn deliver(response: Response, plan: &Plan, tokens: usize, line: Line) -> Response {
    let breaks = broken(plan, tokens);
    let slice = slice(plan);
    if breaks.is_none() && slice.is_none() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else { return line.reset().await };
    parts.headers.remove(CONTENT_LENGTH);
    let (writer, body) = body::channel();
    let writer = writer.sliced(slice);
    tokio::spawn(async move {
        match breaks {
            None => {
                writer.bytes(bytes).await;
            }
            Some(how) => {
                writer.bytes(bytes.slice(..bytes.len() / 2)).await;
                break_off(writer, how, &line).await;
            }
        }
    });
    Response::from_parts(parts, body)
}

async fn break_off(writer: Writer, how: Break, line: &Line) {
    match how {
        Break::Error { .. } | Break::Cut => writer.cut().await,
        Break::Reset => writer.reset(line).await,
        Break::Stall => writer.stall().await,
    }
}

/// Streams while it samples, so many tokens an event.
pub(crate) fn stream(run: Run, line: Line, interval: usize, events: impl Events) -> Response {
    let (writer, body) = body::channel();
    let plan = run.tally.plan.clone();
    let coalesced = plan.find(|fault| if let Fault::Coalesce(tokens) = fault { Some(*tokens) } else { None });
    let sender = Sender {
        writer: writer.sliced(slice(&plan)),
        glue: plan.find(|fault| if let Fault::Glue(events) = fault { Some(*events) } else { None }),
        slow: plan.find(|fault| if let Fault::Slow(wait) = fault { Some(*wait) } else { None }),
        held: Vec::new(),
    };
    let pace = Pace { first: coalesced.unwrap_or(1), then: coalesced.unwrap_or(interval) };
    tokio::spawn(feed(run, line, pace, events, sender));
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// A stream that is nothing but an error.
pub(crate) fn failed(events: &impl Events, status: u16, message: &str) -> Response {
    let data = [Some(events.error(status, message)), events.done().map(ToOwned::to_owned)];
    let text: String = data.into_iter().flatten().map(|data| format!("data: {data}\n\n")).collect();
    ([(CONTENT_TYPE, "text/event-stream; charset=utf-8")], text).into_response()
}

/// How many tokens an event has. What a server batches, it does after the first one.
#[derive(Clone, Copy)]
struct Pace {
    first: usize,
    then: usize,
}

async fn feed(mut run: Run, line: Line, pace: Pace, mut events: impl Events, mut out: Sender) {
    let plan = run.tally.plan.clone();
    let opening = events.opening(&run);
    let mut open = out.send(opening).await;
    let mut sent = 0;
    while open {
        if let Some(how) = broken(&plan, run.tally.len()) {
            if sent < run.tally.len() {
                let data = events.tokens(&run, sent);
                out.send(data).await;
            }
            drop(run);
            out.flush().await;
            if let Break::Error { status, message } = how {
                let last = [Some(events.error(status, &message)), events.done().map(ToOwned::to_owned)];
                out.send(last.into_iter().flatten().collect()).await;
                out.flush().await;
                return;
            }
            return break_off(out.writer, how, &line).await;
        }
        let step = tokio::select! {
            step = run.next() => step,
            () = out.writer.closed() => return,
        };
        match step {
            Step::Token if run.tally.len() - sent < if sent == 0 { pace.first } else { pace.then } => {}
            Step::Token => {
                let data = events.tokens(&run, sent);
                sent = run.tally.len();
                open = out.send(data).await;
            }
            Step::End => {
                let mut last = events.closing(&run, sent);
                let done = events.done().filter(|_| !plan.has(&Fault::NoDone));
                last.extend(done.map(ToOwned::to_owned));
                out.send(last).await;
                out.flush().await;
                if plan.has(&Fault::NoDone) {
                    out.writer.cut().await;
                }
                return;
            }
            Step::Cut => {
                out.flush().await;
                return out.writer.cut().await;
            }
        }
    }
}

/// Events on their way into a body.
struct Sender {
    writer: Writer,
    glue: Option<usize>,
    slow: Option<Duration>,
    held: Vec<String>,
}

impl Sender {
    async fn send(&mut self, data: Vec<String>) -> bool {
        for data in data {
            if let Some(wait) = self.slow {
                tokio::time::sleep(wait).await;
            }
            self.held.push(format!("data: {data}\n\n"));
            if self.held.len() >= self.glue.unwrap_or(1) && !self.flush().await {
                return false;
            }
        }
        true
    }

    async fn flush(&mut self) -> bool {
        let bytes = Bytes::from(std::mem::take(&mut self.held).concat());
        bytes.is_empty() || self.writer.bytes(bytes).await
    }
}

fn slice(plan: &Plan) -> Option<(usize, Duration)> {
    plan.find(|fault| match fault {
        Fault::Split { bytes, pause } => Some((*bytes, *pause)),
        _ => None,
    })
}

pub(crate) fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A JSON response.
pub(crate) fn json(status: u16, body: Value) -> Response {
    (code(status), Json(body)).into_response()
}

/// The count that is reported.
pub(crate) fn completion_tokens(tally: &Tally) -> i64 {
    let off = tally.plan.find(|fault| if let Fault::Count(off) = fault { Some(*off) } else { None });
    tally.len() as i64 + off.unwrap_or_default()
}
