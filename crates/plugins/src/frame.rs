//! Frames: what owner and worker say to each other.
//!
//! A frame is the length of its JSON and the length of its blob, both u32 in little-endian order, then the JSON
//! (UTF-8, one object), then the blob. Answers may come in any order; `id` tells whose they are.
//!
//! | Who | JSON | Blob |
//! |---|---|---|
//! | worker, first | `{"hello": {"protocol", "python", "pid"}}` | |
//! | owner | `{"id", "op": "load", "kind", "path"}` | |
//! | owner | `{"id", "op": "call", "kind", "path", "value"}` | the kind's |
//! | owner | `{"id", "op": "cancel"}`, `id` being the call's | |
//! | worker | `{"id", "ok": value}` | the kind's |
//! | worker | `{"id", "error": {"cause", "message", "traceback"}}` | |
//!
//! A cancel has no answer of its own: the call answers, with `cancelled` or with what it got. A load's value is
//! `{"is_async"}`. The worker ends when the owner's end closes.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{Cause, Kind, PluginError};

/// The protocol's version; both sides must have the same.
pub const PROTOCOL: u32 = 1;

/// How many bytes the JSON of a frame may have, and how many the blob.
pub const LIMIT: usize = u32::MAX as usize;

/// What the owner says.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Asked {
    pub(crate) id: u64,
    pub(crate) op: Op,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(crate) value: Value,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    Load,
    Call,
    Cancel,
}

/// What the worker says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) struct Said {
    #[serde(default)]
    pub(crate) hello: Option<Hello>,
    #[serde(default)]
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) ok: Value,
    #[serde(default)]
    pub(crate) error: Option<Fault>,
}

/// A worker's first word.
#[derive(Debug, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
    pub(crate) python: String,
    pub(crate) pid: u32,
}

/// A failure in the worker.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Fault {
    pub(crate) cause: Cause,
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) traceback: String,
}

/// The head and JSON of a frame, ready to be written before `blob`.
pub(crate) fn encode(asked: &Asked, blob: &Bytes) -> Result<Bytes, PluginError> {
    let json = serde_json::to_vec(asked).map_err(PluginError::system)?;
    let length = |size: usize| u32::try_from(size).map_err(|_| PluginError::TooLarge { size, limit: LIMIT });
    let mut frame = Vec::with_capacity(8 + json.len());
    frame.extend(length(json.len())?.to_le_bytes());
    frame.extend(length(blob.len())?.to_le_bytes());
    frame.extend(json);
    Ok(frame.into())
}

/// Writes what [`encode`] made, and its blob.
pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    head: &[u8],
    blob: &[u8],
) -> std::io::Result<()> {
    to.write_all(head).await?;
    to.write_all(blob).await?;
    to.flush().await
}

/// Reads one frame; not cancel-safe.
pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<(Said, Bytes)> {
    let json = from.read_u32_le().await?;
    let blob = from.read_u32_le().await?;
    let said = exactly(from, json).await?;
    let blob = exactly(from, blob).await?;
    Ok((serde_json::from_slice(&said).map_err(std::io::Error::other)?, blob.into()))
}

/// Memory grows with what has come, not with what was announced.
async fn exactly(from: &mut (impl AsyncRead + Unpin), length: u32) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity((length as usize).min(1 << 20));
    from.take(u64::from(length)).read_to_end(&mut bytes).await?;
    if bytes.len() < length as usize {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
