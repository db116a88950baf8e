//! One server as an engine.
//!
//! The invariants: every attempt yields exactly one end; an attempt whose stream is dropped is aborted
//! at the server, and its connection closed; a reply that stops before its own last word is a failure,
//! however finished it looked.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use reqwest::Response;
use sse_stream::SseStream;
use tokio::sync::mpsc;
use verbatim_engine::{
    AttemptId, Capabilities, Control, End, Ending, Engine, EngineError, Forward, Increment, Params, Passed,
    Piece, Prompt, Score, Told,
};

use crate::Options;
use crate::failure::lost;
use crate::host::Host;
use crate::http::Http;
use crate::inflight::Place;
use crate::wire::{Asked, Call, Reader, Wire};

/// One server.
pub(crate) struct Client<W: Wire>(Arc<Shared<W>>);

struct Shared<W: Wire> {
    plane: W::Plane,
    wire: W,
    host: Host,
    capabilities: Capabilities,
    options: Options,
}

impl<W: Wire> Client<W> {
    pub(crate) fn new(wire: W, http: Http, capabilities: Capabilities, options: Options) -> Self {
        let host = Host::new(http, &options);
        capabilities.version.iter().for_each(|version| host.latest.see(version));
        let plane = wire.plane(host.clone());
        Self(Arc::new(Shared { plane, wire, host, capabilities, options }))
    }
}

impl<W: Wire> Forward for Client<W> {
    fn forward(&self, passed: Passed) -> BoxFuture<'_, Result<Told, EngineError>> {
        async move {
            let silence = self.0.options.silence;
            self.0.host.http.forward(passed, silence).await
        }
        .boxed()
    }
}

impl<W: Wire> Engine for Client<W> {
    fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    fn generate(&self, id: AttemptId, prompt: Prompt, params: &Params) -> BoxStream<'static, Piece> {
        let (out, pieces) = mpsc::channel(64);
        let (shared, params) = (Arc::clone(&self.0), params.clone());
        let place = shared.host.inflight.enter(id);
        tokio::spawn(async move {
            let end = shared.attempt(id, &prompt, &params, place, &out).await;
            let _ = out.send(Piece::End(end)).await;
        });
        futures::stream::unfold(pieces, |mut pieces| async {
            pieces.recv().await.map(|piece| (piece, pieces))
        })
        .boxed()
    }

    fn abort(&self, id: AttemptId) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            if !self.0.host.inflight.stop(id) {
                return Ok(());
            }
            let Some((path, body)) = self.0.wire.abort(id) else { return Ok(()) };
            self.0.host.abort(path, &body).await
        }
        .boxed()
    }

    fn control(&self) -> Option<&dyn Control> {
        Some(&self.0.plane)
    }

    fn forward(&self) -> Option<&dyn Forward> {
        Some(self)
    }

    fn score(&self) -> Option<&dyn Score> {
        W::score(&self.0.plane)
    }
}

impl<W: Wire> Shared<W> {
    /// One attempt from its request to its end.
    async fn attempt(
        &self,
        id: AttemptId,
        prompt: &Prompt,
        params: &Params,
        mut place: Place,
        out: &mpsc::Sender<Piece>,
    ) -> End {
        // SGLang does not survive an id that its model has no row for.
        let vocabulary = self.capabilities.vocabulary;
        if let Some(id) = prompt.ids.iter().find(|id| id.0 as usize >= vocabulary) {
            return Ending::Failed(EngineError::Vocabulary { id: *id, vocabulary }).into();
        }
        let call = match self.wire.call(id, prompt, params) {
            Ok(call) => call,
            Err(error) => return Ending::Failed(error).into(),
        };
        let mut reader = self.wire.reader(Asked {
            prompt: prompt.ids.len(),
            shown: (!prompt.images.is_empty()).then(|| Arc::clone(&prompt.ids)),
            stop_ids: params.stop_ids.clone(),
            experts_from: prompt.experts_from,
            indexer: prompt.indexer,
            sightings: self.host.latest.follow(),
        });
        let patience = match self.wire.abort(id) {
            Some(_) => self.options.abort_wait,
            None => std::time::Duration::ZERO,
        };
        let stopped = async {
            place.stopped().await;
            tokio::time::sleep(patience).await;
        };
        tokio::select! {
            end = self.talk(call, &mut reader, out) => {
                end.unwrap_or_else(|error| Ending::Failed(error).into())
            }
            // It was told to give back what it has and did not; its connection is dropped.
            () = stopped => Ending::Aborted.into(),
            () = out.closed() => {
                if let Some((path, body)) = self.wire.abort(id) {
                    let host = self.host.clone();
                    tokio::spawn(async move { host.abort(path, &body).await });
                }
                Ending::Aborted.into()
            }
        }
    }

    async fn talk(
        &self,
        call: Call,
        reader: &mut W::Reader,
        out: &mpsc::Sender<Piece>,
    ) -> Result<End, EngineError> {
        let silence = self.options.silence;
        let silent = |_| EngineError::Unavailable { reason: format!("silent for {} s", silence.as_secs()) };
        let asking = self.host.http.generate(call.path, &call.headers, call.body);
        let response = tokio::time::timeout(silence, asking).await.map_err(silent)??;
        match is_events(&response) {
            true => {
                let mut events = SseStream::from_bytes_stream(response.bytes_stream());
                let mut end = None;
                loop {
                    let event = tokio::time::timeout(silence, events.next()).await.map_err(silent)?;
                    let data = match event {
                        Some(Ok(event)) => event.data,
                        Some(Err(error)) => return Err(cut(reader.tokens(), error.to_string())),
                        None => return Err(cut(reader.tokens(), "the stream ended without [DONE]".into())),
                    };
                    match data.as_deref() {
                        None => {}
                        Some("[DONE]") => {
                            return end.ok_or_else(|| {
                                cut(reader.tokens(), "[DONE] came before a finish reason".into())
                            });
                        }
                        Some(data) => end = take(reader, data.as_bytes(), out).await?.or(end),
                    }
                }
            }
            false => {
                let body = tokio::time::timeout(silence, response.bytes()).await.map_err(silent)?;
                let body = body.map_err(|error| lost(&error, 0))?;
                let end = take(reader, &body, out).await?;
                end.ok_or_else(|| cut(reader.tokens(), "the reply has no finish reason".into()))
            }
        }
    }
}

/// Reads one event and passes its tokens on.
async fn take<R: Reader>(
    reader: &mut R,
    data: &[u8],
    out: &mpsc::Sender<Piece>,
) -> Result<Option<End>, EngineError> {
    let mut increment = Increment::default();
    let end = reader.read(data, &mut increment);
    if !increment.ids.is_empty() || !increment.logprobs.is_empty() {
        let _ = out.send(Piece::More(increment)).await;
    }
    end
}

/// A server that was asked for events may reply with one body, and the other way round.
fn is_events(response: &Response) -> bool {
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

fn cut(tokens: usize, reason: String) -> EngineError {
    EngineError::Cut { tokens, reason }
}
