//! What goes wrong, in the shapes that engines tell it in.

use serde::Deserialize;
use verbatim_engine::EngineError;

/// The most of an unknown body that is quoted.
const QUOTED: usize = 300;

/// The shapes seen: SGLang's gate `{"error": "…"}`, its manager `{"error": {"message"}}` and its flat
/// `{"object": "error", "message", "code"}`; vLLM's and llama.cpp's `{"error": {"message", "code"}}`;
/// FastAPI's `{"detail"}`.
#[derive(Deserialize)]
struct Envelope {
    error: Option<Told>,
    message: Option<String>,
    detail: Option<serde_json::Value>,
}

/// An `error` field.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Told {
    Text(String),
    Object { message: Option<String>, code: Option<Code> },
}

/// A status inside a body.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Code {
    Number(u16),
    Text(String),
}

impl Told {
    /// The failure that an error inside a reply of status 200 is.
    pub(crate) fn failure(&self) -> EngineError {
        match self {
            Self::Text(message) => by_status(500, message.clone()),
            Self::Object { message, code } => {
                let status = match code {
                    Some(Code::Number(status)) => *status,
                    Some(Code::Text(text)) => text.parse().unwrap_or(500),
                    None => 500,
                };
                by_status(status, message.clone().unwrap_or_else(|| "no message".to_owned()))
            }
        }
    }
}

/// The failure that a status and its body are.
pub(crate) fn failure(status: u16, body: &[u8]) -> EngineError {
    by_status(status, message(body))
}

/// The failure that a status and a message are. What may pass by itself is [`EngineError::Unavailable`].
pub(crate) fn by_status(status: u16, message: String) -> EngineError {
    let message = format!("status {status}: {message}");
    match status {
        // 499 is SGLang's for a waiting request that was aborted.
        408 | 425 | 429 | 499 | 500 | 502..=504 => EngineError::Unavailable { reason: message },
        _ => EngineError::Refused { message },
    }
}

/// The failure that a broken connection is, after `tokens` tokens.
pub(crate) fn lost(error: &reqwest::Error, tokens: usize) -> EngineError {
    let mut reason = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        reason = format!("{reason}: {inner}");
        source = inner.source();
    }
    match tokens {
        0 => EngineError::Unavailable { reason },
        _ => EngineError::Cut { tokens, reason },
    }
}

fn message(body: &[u8]) -> String {
    let quoted = || String::from_utf8_lossy(&body[..body.len().min(QUOTED)]).trim().to_owned();
    let Ok(Envelope { error, message, detail }) = serde_json::from_slice(body) else { return quoted() };
    match error {
        Some(Told::Text(text)) => text,
        Some(Told::Object { message: Some(message), .. }) => message,
        _ => message.or_else(|| detail.map(|detail| detail.to_string())).unwrap_or_else(quoted),
    }
}

#[cfg(test)]
mod tests {
    use verbatim_engine::Remedy;

    use super::*;

    #[test]
    fn every_shape_gives_its_message() {
        for (body, expected) in [
            (r#"{"error":"unknown field `max_tokens`"}"#, "unknown field `max_tokens`"),
            (r#"{"error":{"message":"too long"}}"#, "too long"),
            (r#"{"error":{"message":"paused","type":"x","param":null,"code":503}}"#, "paused"),
            (
                r#"{"object":"error","message":"The request queue is full.","code":503}"#,
                "The request queue is full.",
            ),
            (r#"{"detail":[{"msg":"field required"}]}"#, r#"[{"msg":"field required"}]"#),
            ("Internal Server Error", "Internal Server Error"),
        ] {
            assert_eq!(message(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_may_not_is_not() {
        for status in [408, 425, 429, 499, 500, 502, 503, 504] {
            assert_eq!(failure(status, b"").remedy(), Remedy::Resume, "{status}");
        }
        for status in [400, 401, 403, 404, 413, 422, 501] {
            assert_eq!(failure(status, b"").remedy(), Remedy::Fail, "{status}");
        }
    }
}
