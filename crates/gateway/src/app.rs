//! What every handler shares, and the routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tower_http::catch_panic::CatchPanicLayer;
use verbatim_session::Sessions;

use crate::{Access, ApiError, Metrics, chat, control, error, health, metrics, models, samples, sessions};

/// The state behind the routes. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// The sessions.
    pub sessions: Sessions,
    /// The metrics, which must also be among the sessions' observers.
    pub metrics: Arc<Metrics>,
    /// Who may open sessions and give orders.
    pub access: Access,
    /// The served model's name.
    pub model: Arc<str>,
    /// Limits.
    pub limits: Limits,
}

/// What a client may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: usize,
    /// Bytes of a request's head.
    pub head: usize,
    /// Connections at once; more wait to be accepted.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 64 << 20, head: 64 << 10, connections: 4096 }
    }
}

/// All routes.
pub fn router(app: App) -> Router {
    let Limits { body, head, .. } = app.limits;
    Router::new()
        .route("/health", get(health::health))
        .route("/metrics", get(metrics::scrape))
        .route("/v1/models", get(models::list))
        .route("/v1/chat/completions", post(chat::by_key))
        .route("/sessions", post(sessions::open))
        .route("/sessions/{session}", get(sessions::show).delete(sessions::close))
        .route("/sessions/{session}/samples", post(samples::samples))
        .route("/sessions/{session}/v1/models", get(models::list))
        .route("/sessions/{session}/v1/chat/completions", post(chat::by_path))
        .route("/control/pause", post(control::pause))
        .route("/control/resume", post(control::resume))
        .route("/control/flush", post(control::flush))
        .route("/control/version", post(control::version))
        .route("/control/engines", get(control::engines).post(control::add).delete(control::remove))
        .fallback(error::no_route)
        .method_not_allowed_fallback(error::wrong_method)
        .layer(DefaultBodyLimit::max(body))
        .layer(middleware::from_fn(move |request, next| within(head, request, next)))
        .layer(CatchPanicLayer::custom(error::panicked))
        .with_state(app)
}

/// Refuses a head over the limit. The connection's own buffer bounds it too, but only roughly.
async fn within(limit: usize, request: Request, next: Next) -> Response {
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len());
    if request.uri().path().len() + fields.sum::<usize>() > limit {
        return ApiError::head_too_large(limit).into_response();
    }
    next.run(request).await
}
