//! A reply as server-sent events.
//!
//! The invariant: the last event follows the commit, or says what failed; nothing follows it. While a turn is held,
//! something is sent often enough that no time-out on the way cuts it.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderValue;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use verbatim_dialects::Frame;
use verbatim_families::Part;
use verbatim_session::{Committed, Events, Reply, SampledToken, TurnError, TurnEvent};

use crate::ApiError;

/// What tells a turn in the words of one dialect.
pub(crate) trait Teller: Send + 'static {
    /// The first events.
    fn opened(&mut self) -> Vec<Frame>;
    /// More was said.
    fn more(&mut self, parts: Vec<Part>, tokens: Vec<SampledToken>) -> Vec<Frame>;
    /// The turn is committed.
    fn committed(&mut self, committed: &Committed) -> Vec<Frame>;
    /// The turn failed.
    fn failed(&mut self, error: &ApiError) -> Frame;
    /// The turn is still held; `None` where a comment has to say so.
    fn alive(&mut self) -> Option<Frame>;
}

/// Starts the stream, which is silent for no longer than `silence`.
pub(crate) fn respond(silence: Duration, reply: Reply, mut teller: impl Teller) -> Response {
    let opened = told(teller.opened());
    let rest = futures::stream::unfold(
        (teller, reply.events, false),
        move |(mut teller, mut events, over)| async move {
            if over {
                // Whoever asks for more has taken the last event.
                events.received();
                return None;
            }
            let (frames, over) = next(silence, &mut teller, &mut events).await;
            Some((frames, (teller, events, over)))
        },
    );
    let events = futures::stream::iter([opened]).chain(rest).flat_map(futures::stream::iter);
    let mut response = Sse::new(events.map(Ok::<_, Infallible>)).into_response();
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The next events, and whether they are the last.
async fn next(silence: Duration, teller: &mut impl Teller, events: &mut Events) -> (Vec<Event>, bool) {
    let event = match tokio::time::timeout(silence, events.recv()).await {
        Ok(event) => event.unwrap_or(TurnEvent::Failed(TurnError::Closed)),
        Err(_) => {
            let alive = teller.alive().map_or_else(|| Event::default().comment("held"), event_of);
            return (vec![alive], false);
        }
    };
    match event {
        TurnEvent::Delta { parts, tokens } => (told(teller.more(parts, tokens)), false),
        TurnEvent::Committed(committed) => (told(teller.committed(&committed)), true),
        TurnEvent::Failed(error) => (vec![event_of(teller.failed(&error.into()))], true),
    }
}

fn told(frames: Vec<Frame>) -> Vec<Event> {
    frames.into_iter().map(event_of).collect()
}

fn event_of(frame: Frame) -> Event {
    let event = Event::default().data(frame.data);
    match frame.event {
        Some(name) => event.event(name),
        None => event,
    }
}
