//! What a handler gets.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;

use crate::seen::{self, Seen};
use crate::serve::Line;
use crate::state::Shared;

/// One request, whole, and what it can do to its connection.
pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) seen: Seen,
    pub(crate) line: Line,
}

impl FromRequestParts<Arc<Shared>> for Call {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, StatusCode> {
        let seen = parts.extensions.get().cloned().ok_or(StatusCode::INTERNAL_SERVER_ERROR)?;
        let line = parts.extensions.get::<Line>().cloned().unwrap_or_default();
        Ok(Self { shared: Arc::clone(shared), seen, line })
    }
}

/// Whether a wire lets a request in; else its refusal.
pub(crate) type Guard = fn(&Shared, &Seen) -> Option<Response>;

/// Records a request, then asks the guard.
pub(crate) async fn admit(
    State((shared, guard)): State<(Arc<Shared>, Guard)>,
    request: Request,
    next: Next,
) -> Response {
    let (seen, mut request) = match seen::take(request).await {
        Ok(taken) => taken,
        Err(refused) => return refused,
    };
    shared.record(&seen);
    if let Some(refused) = guard(&shared, &seen) {
        return refused;
    }
    request.extensions_mut().insert(seen);
    next.run(request).await
}

/// Whether a request brings this key.
pub(crate) fn has_key(seen: &Seen, key: &str) -> bool {
    seen.header("authorization").and_then(|value| value.strip_prefix("Bearer ")) == Some(key)
}
