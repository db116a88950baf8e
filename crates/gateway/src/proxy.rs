//! Requests of a session's holder that go to an engine as they are.
//!
//! The invariant: only for a session that is open, only to paths that are listed, and never with anybody's
//! key. Nothing of them is recorded, so nothing that they sample trains.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use verbatim_engine::{Passed, SessionKey};
use verbatim_session::TurnError;

use crate::{ApiError, App};

/// What is passed on unless the settings say otherwise: generation, tokenising, and what the engine is.
pub(crate) const PASSED: [&str; 11] = [
    "generate",
    "inference/v1/generate",
    "completion",
    "tokenize",
    "detokenize",
    "v1/tokenize",
    "v1/detokenize",
    "model_info",
    "get_model_info",
    "server_info",
    "get_server_info",
];

/// Headers that belong to one connection, or are keys; what an engine must say of its own is kept out, too,
/// because a reply must not have them twice.
const KEPT_BACK: [&str; 14] = [
    "authorization",
    "cookie",
    "host",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "proxy-authorization",
    "content-length",
    "transfer-encoding",
    "content-encoding",
    "server",
    "date",
];

fn passes(name: &str) -> bool {
    !KEPT_BACK.contains(&name)
}

/// Any method on `/sessions/{session}/{path}`, for a listed path.
pub(crate) async fn pass(
    State(app): State<App>,
    Path((token, path)): Path<(String, String)>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let session = app.sessions.get(&token)?;
    if !app.passed.contains(&path) {
        return Err(ApiError::not_passed(&path, &app.passed));
    }
    let engine = app.sessions.engine();
    let forward = engine.forward().ok_or_else(ApiError::nowhere_to_pass)?;
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    let told = headers.iter().filter(|(name, _)| passes(name.as_str()));
    let passed = Passed {
        method: method.as_str().to_owned(),
        path: format!("/{path}{query}"),
        headers: told
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
            // The client's own spelling of it would go out beside ours.
            .filter(|(name, _)| name != "x-smg-routing-key")
            .collect(),
        body: body?,
        session: SessionKey(session.id().as_str().into()),
    };
    let told = forward.forward(passed).await.map_err(TurnError::from)?;
    let status = StatusCode::from_u16(told.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = (status, told.body).into_response();
    response.headers_mut().remove("content-type");
    for (name, value) in &told.headers {
        if let (true, Ok(name), Ok(value)) =
            (passes(name), HeaderName::try_from(name), HeaderValue::try_from(value))
        {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}
