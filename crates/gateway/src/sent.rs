//! What a request's headers say of its being sent again.

use axum::http::HeaderMap;
use verbatim_chat::Key;
use verbatim_session::Sent;

/// Headers in which SDKs count their tries.
const TRIES: [&str; 2] = ["x-stainless-retry-count", "x-retry-count"];

/// What tells a request on `route` from others.
pub(crate) fn sent(headers: &HeaderMap, route: &str, body: &[u8]) -> Sent {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let again = TRIES
        .iter()
        .any(|name| text(name).and_then(|tries| tries.parse().ok()).is_some_and(|tries: u32| tries > 0));
    let key = text("idempotency-key").filter(|key| !key.is_empty()).map(str::to_owned);
    Sent { body: Some(Key::of([route.as_bytes(), body])), key, again }
}
