//! Bodies that are written while they are sent.

use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::serve::Line;

/// How long what was written may take to reach the socket before the connection is broken off.
const SETTLE: Duration = Duration::from_millis(20);

/// The writing end of a body. Dropping it ends the body as HTTP wants it.
pub(crate) struct Writer {
    out: mpsc::UnboundedSender<io::Result<Bytes>>,
    slice: Option<(usize, Duration)>,
}

/// A body and its writing end. Nothing holds the writer back: a server goes on sampling for a client
/// that does not read.
pub(crate) fn channel() -> (Writer, Body) {
    let (out, chunks) = mpsc::unbounded_channel();
    let chunks = futures::stream::unfold(chunks, |mut chunks| async {
        chunks.recv().await.map(|chunk: io::Result<Bytes>| (chunk, chunks))
    });
    (Writer { out, slice: None }, Body::from_stream(chunks))
}

impl Writer {
    /// Cuts everything into slices of so many bytes, with a wait after each.
    pub(crate) fn sliced(self, slice: Option<(usize, Duration)>) -> Self {
        Self { slice, ..self }
    }

    /// Sends bytes; false if nobody takes them any more.
    pub(crate) async fn bytes(&self, bytes: Bytes) -> bool {
        let Some((size, pause)) = self.slice else {
            return self.out.send(Ok(bytes)).is_ok();
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let slice = rest.split_to(size.clamp(1, rest.len()));
            if self.out.send(Ok(slice)).is_err() {
                return false;
            }
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        true
    }

    /// Resolves once nobody takes anything any more.
    pub(crate) async fn closed(&self) {
        self.out.closed().await;
    }

    /// Gives the socket time to take what was written.
    async fn settle(&self) {
        tokio::time::sleep(SETTLE).await;
    }

    /// Closes the connection without the body's end.
    pub(crate) async fn cut(self) {
        self.settle().await;
        let _ = self.out.send(Err(io::Error::other("cut on purpose")));
    }

    /// Resets the connection without the body's end.
    pub(crate) async fn reset(self, line: &Line) {
        self.settle().await;
        line.break_off();
        // The body must not end before the connection does.
        self.out.closed().await;
    }

    /// Keeps the connection open and silent until the client leaves.
    pub(crate) async fn stall(self) {
        self.closed().await;
    }
}
