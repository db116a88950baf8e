//! What every handler shares, and the routes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use tower_http::catch_panic::CatchPanicLayer;
use verbatim_session::Sessions;

use crate::{
    Access, ApiError, Hooks, Metrics, RolloutControl, Update, adapters, anthropic, chat, completions,
    control, error, health, metrics, models, openapi, proxy, responses, rollout, samples, sessions, update,
};

/// The state behind the routes. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// The sessions.
    pub sessions: Sessions,
    /// The metrics, which must also be among the sessions' observers.
    pub metrics: Arc<Metrics>,
    /// Who may open sessions and give orders.
    pub access: Access,
    /// What is asked of the user when rows are made.
    pub hooks: Arc<Hooks>,
    /// The served model's name.
    pub model: Arc<str>,
    /// Whether every stream is one chunk that holds the whole reply, as Miles' are.
    pub one_chunk: bool,
    /// A name of this process, 32 hexadecimal digits that are drawn when it starts.
    pub instance: Arc<str>,
    /// Paths of an engine's own that a session's holder may ask, without a leading slash.
    pub passed: Arc<[String]>,
    /// Limits.
    pub limits: Limits,
    /// The update of weights that is under way.
    pub update: Update,
    /// The rollout, if groups are rolled out here.
    pub rollout: Option<RolloutControl>,
}

impl App {
    /// These sessions, open to everyone who reaches the server.
    pub fn new(sessions: Sessions, metrics: Arc<Metrics>, model: impl Into<Arc<str>>) -> Self {
        Self {
            sessions,
            metrics,
            access: Access::default(),
            hooks: Arc::default(),
            model: model.into(),
            one_chunk: false,
            instance: format!("{:032x}", rand::random::<u128>()).into(),
            passed: proxy::PASSED.map(str::to_owned).into(),
            limits: Limits::default(),
            update: Update::default(),
            rollout: None,
        }
    }
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
    /// How long a connection may be idle, or take to send a request's head. An agent's tool may run for minutes
    /// between two requests.
    pub idle: Duration,
    /// How long a stream may be silent: a held turn says that it is.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            head: 64 << 10,
            connections: 4096,
            idle: Duration::from_secs(900),
            silence: Duration::from_secs(10),
        }
    }
}

/// All routes.
pub fn router(app: App) -> Router {
    let Limits { body, head, .. } = app.limits;
    Router::new()
        .route("/health", get(health::health))
        .route("/metrics", get(metrics::scrape))
        .route("/openapi.json", get(openapi::show))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*model}", get(models::show))
        .route("/v1/chat/completions", post(chat::turn))
        .route("/v1/completions", post(completions::turn))
        .route("/v1/tokens", post(completions::tokens))
        .route("/v1/responses", post(responses::turn))
        .route("/v1/responses/{id}", get(responses::show))
        .route("/v1/messages", post(anthropic::turn))
        .route("/v1/messages/count_tokens", post(anthropic::count))
        .route("/sessions", post(sessions::open))
        .route("/sessions/{session}", get(sessions::show).delete(sessions::close))
        .route("/sessions/{session}/samples", post(samples::samples))
        .route("/sessions/{session}/v1/models", get(models::list))
        .route("/sessions/{session}/v1/models/{*model}", get(models::show))
        .route("/sessions/{session}/v1/chat/completions", post(chat::turn))
        .route("/sessions/{session}/v1/completions", post(completions::turn))
        .route("/sessions/{session}/v1/tokens", post(completions::tokens))
        .route("/sessions/{session}/v1/responses", post(responses::turn))
        .route("/sessions/{session}/v1/responses/{id}", get(responses::show))
        .route("/sessions/{session}/v1/messages", post(anthropic::turn))
        .route("/sessions/{session}/v1/messages/count_tokens", post(anthropic::count))
        .route("/sessions/{session}/{*path}", any(proxy::pass))
        .route("/control/pause", post(control::pause))
        .route("/control/resume", post(control::resume))
        .route("/control/begin_update", post(update::begin))
        .route("/control/end_update", post(update::end))
        .route("/control/load_weights", post(update::load_weights))
        .route("/control/adapters", get(adapters::list).post(adapters::publish).delete(adapters::remove))
        .route("/control/flush", post(control::flush))
        .route("/control/version", post(control::version))
        .route("/control/engines", get(control::engines).post(control::add).delete(control::remove))
        .route("/rollout", get(rollout::view))
        .route("/rollout/steps", post(rollout::open))
        .route("/rollout/steps/{step}", get(rollout::show))
        .route("/rollout/batches", get(rollout::next))
        .route("/rollout/batches/{batch}/ack", post(rollout::acknowledge))
        .route("/rollout/optimizer_step", post(rollout::optimizer_step))
        .route("/rollout/drain", post(rollout::drain))
        .route("/rollout/evaluations", post(rollout::evaluate))
        .route("/rollout/evaluations/{evaluation}", get(rollout::evaluation))
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
