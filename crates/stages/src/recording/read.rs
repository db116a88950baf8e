//! From a file's text to a recording, whatever made it.

use serde_json::Value;

use super::{Recording, har, jsonl};

/// A text that is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A line is no JSON.
    #[error("line {line} is no JSON: {error}")]
    Json {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// A line is JSON, and no request.
    #[error("line {0} is no request: it needs `request` with `path` and `body`, or these two themselves")]
    Line(usize),
    /// Lines of an event log.
    #[error("this is an event log: it holds no messages; give it as --events")]
    Events,
    /// There is nothing in it.
    #[error("there is no request in it")]
    Empty,
}

/// Reads a recording: HAR, or lines of JSON with a request each, as agents' recordings have and `verbatim assess`
/// writes.
///
/// # Errors
/// [`RecordingError`], which names the line.
pub fn read(text: &str) -> Result<Recording, RecordingError> {
    if let Some(recording) = serde_json::from_str(text).ok().and_then(|document: Value| har::read(&document))
    {
        return Ok(recording);
    }
    let mut recording = Recording::default();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value: Value =
            serde_json::from_str(line).map_err(|error| RecordingError::Json { line: at + 1, error })?;
        if value.get("event").is_some() {
            return Err(RecordingError::Events);
        }
        match jsonl::exchange(&value).ok_or(RecordingError::Line(at + 1))? {
            Ok(exchange) => recording.exchanges.push(exchange),
            Err(path) => recording.strangers.push(path),
        }
    }
    if recording.exchanges.is_empty() && recording.strangers.is_empty() {
        return Err(RecordingError::Empty);
    }
    // Recorders write a request when it is over; what counts is when it came.
    if recording.exchanges.iter().all(|exchange| exchange.arrived.is_some()) {
        recording
            .exchanges
            .sort_by(|a, b| a.arrived.unwrap_or_default().total_cmp(&b.arrived.unwrap_or_default()));
    }
    Ok(recording)
}
