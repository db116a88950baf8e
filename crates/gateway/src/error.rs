//! The one place where failures become HTTP replies: one mapping, and a rendering for each dialect.

use axum::Json;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use verbatim_engine::{EngineError, FleetError};
use verbatim_forest::Refusal;
use verbatim_plugins::PluginError;
use verbatim_rollout::{EvalRefused, StepRefused};
use verbatim_samples::RowError;
use verbatim_session::{Kept, NoSession, TooManySessions, TurnError, Unkept};

/// A failure as the client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// The status.
    pub status: StatusCode,
    /// OpenAI's `type`.
    pub kind: &'static str,
    /// OpenAI's `code`.
    pub code: &'static str,
    /// The field that is to blame.
    pub param: Option<String>,
    /// What is wrong and the way out.
    pub message: String,
    /// Whether SDKs should try again by themselves.
    pub retry: bool,
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: Body<'a>,
}

#[derive(Serialize)]
struct Body<'a> {
    message: &'a str,
    r#type: &'static str,
    param: Option<&'a str>,
    code: &'static str,
}

/// Anthropic's shape.
#[derive(Serialize)]
struct AnthropicEnvelope<'a> {
    r#type: &'static str,
    error: AnthropicBody<'a>,
    request_id: Option<&'a str>,
}

#[derive(Serialize)]
struct AnthropicBody<'a> {
    r#type: &'static str,
    message: &'a str,
}

/// A failure that an Anthropic client is told.
#[derive(Debug)]
pub(crate) struct AnthropicError(ApiError);

impl<E: Into<ApiError>> From<E> for AnthropicError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

const INVALID: &str = "invalid_request_error";

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, code: &'static str, message: impl ToString) -> Self {
        Self { status, kind, code, param: None, message: message.to_string(), retry: false }
    }

    /// A field of a request is wrong.
    pub(crate) fn invalid(param: &str, message: impl ToString) -> Self {
        let error = Self::new(StatusCode::BAD_REQUEST, INVALID, "invalid_value", message);
        Self { param: Some(param.to_owned()), ..error }
    }

    /// A key is missing or wrong.
    pub(crate) fn unauthorized(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "authentication_error", "invalid_api_key", message)
    }

    /// A path that is not passed on to engines.
    pub(crate) fn not_passed(path: &str, passed: &[String]) -> Self {
        let message = format!(
            "{path:?} is no route of a session and is not passed on to engines; these are: {} (server.passed)",
            passed.join(", ")
        );
        Self::new(StatusCode::NOT_FOUND, "not_found_error", "no_route", message)
    }

    /// No reply of the session's has this id.
    pub(crate) fn no_response(id: &str) -> Self {
        let message = format!("{id:?} is no reply of this session");
        Self::new(StatusCode::NOT_FOUND, "not_found_error", "response_not_found", message)
    }

    /// Another model was asked for.
    pub(crate) fn no_model(id: &str, served: &str) -> Self {
        let message = format!("{id:?} is not served here; {served:?} is");
        Self::new(StatusCode::NOT_FOUND, "not_found_error", "model_not_found", message)
    }

    /// The engine has no HTTP surface of its own.
    pub(crate) fn nowhere_to_pass() -> Self {
        let message = "this server's engine is in its own process: there is nowhere to pass requests on to";
        Self::new(StatusCode::NOT_FOUND, "not_found_error", "no_route", message)
    }

    /// A user's picker or post-processor failed, or gave what it must not.
    pub(crate) fn hook(message: impl ToString) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "api_error", "hook_failed", message)
    }

    /// An update was begun twice, or ended without a beginning.
    pub(crate) fn update(code: &'static str, message: &str) -> Self {
        Self::new(StatusCode::CONFLICT, INVALID, code, message)
    }

    /// There are no groups here.
    pub(crate) fn no_rollout() -> Self {
        let message = "this server has no rollout; start it with --rollout ROLLOUT.TOML";
        Self::new(StatusCode::NOT_FOUND, "not_found_error", "no_rollout", message)
    }

    /// The rollout ended while this was asked.
    pub(crate) fn rollout_stopped() -> Self {
        let message = "the rollout was stopped";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", "rollout_stopped", message)
    }

    /// A step that was never opened.
    pub(crate) fn no_step(step: u64) -> Self {
        let message = format!("there is no step {step} yet; open one with POST /rollout/steps");
        Self::new(StatusCode::NOT_FOUND, "not_found_error", "no_step", message)
    }

    /// An evaluation that was never begun.
    pub(crate) fn no_evaluation(evaluation: u64) -> Self {
        let message =
            format!("there is no evaluation {evaluation}; begin one with POST /rollout/evaluations");
        Self::new(StatusCode::NOT_FOUND, "not_found_error", "no_evaluation", message)
    }

    /// A batch that was never given out.
    pub(crate) fn no_batch(batch: u64) -> Self {
        let message = format!("there was no batch {batch}; its id is in the header x-verbatim-batch");
        Self::new(StatusCode::NOT_FOUND, "not_found_error", "no_batch", message)
    }

    /// Rows go elsewhere.
    pub(crate) fn not_pulled() -> Self {
        let message = "this rollout's rows are not pulled; set rollout.sink = \"pull\"";
        Self::new(StatusCode::CONFLICT, INVALID, "not_pulled", message)
    }

    /// The journal takes nothing any more.
    pub(crate) fn unkept(message: impl ToString) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", "journal_failed", message)
    }

    /// A request's head is over the limit.
    pub(crate) fn head_too_large(limit: usize) -> Self {
        let message = format!("the request's head is larger than {limit} bytes");
        Self::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, INVALID, "head_too_large", message)
    }

    /// A handler panicked: the request fails, the server goes on.
    pub(crate) fn internal() -> Self {
        let message = "the server failed on this request; its log says where";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "internal_error", message)
    }

    /// The JSON body, which is also what a started stream sends.
    pub(crate) fn body(&self) -> String {
        let body =
            Body { message: &self.message, r#type: self.kind, param: self.param.as_deref(), code: self.code };
        serde_json::to_string(&Envelope { error: body }).unwrap_or_default()
    }

    /// The JSON body in Anthropic's shape, which is also what a started stream sends.
    pub(crate) fn anthropic_body(&self) -> String {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::NOT_FOUND | StatusCode::GONE => "not_found_error",
            StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
            status if status.is_server_error() => "api_error",
            _ => INVALID,
        };
        let error = AnthropicBody { r#type: kind, message: &self.message };
        let envelope = AnthropicEnvelope { r#type: "error", error, request_id: None };
        serde_json::to_string(&envelope).unwrap_or_default()
    }

    fn reply(&self, body: String) -> Response {
        let json = [(axum::http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let mut response = (self.status, json, body).into_response();
        let retry = HeaderValue::from_static(if self.retry { "true" } else { "false" });
        response.headers_mut().insert(HeaderName::from_static("x-should-retry"), retry);
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.reply(self.body())
    }
}

impl IntoResponse for AnthropicError {
    fn into_response(self) -> Response {
        self.0.reply(self.0.anthropic_body())
    }
}

impl From<NoSession> for ApiError {
    fn from(error: NoSession) -> Self {
        let (status, code) = match error {
            NoSession::Unknown => (StatusCode::NOT_FOUND, "session_not_found"),
            NoSession::Deleted => (StatusCode::GONE, "session_deleted"),
            NoSession::Expired { .. } => (StatusCode::GONE, "session_expired"),
        };
        let message = format!(
            "{error}: open one with POST /sessions, and use its session_id in the path or as the API key"
        );
        Self::new(status, "not_found_error", code, message)
    }
}

impl From<TooManySessions> for ApiError {
    fn from(error: TooManySessions) -> Self {
        Self {
            retry: true,
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", "too_many_sessions", error)
        }
    }
}

impl From<Unkept> for ApiError {
    fn from(error: Unkept) -> Self {
        let unkept = Self::unkept(&error);
        if error.full { Self { status: StatusCode::INSUFFICIENT_STORAGE, ..unkept } } else { unkept }
    }
}

impl From<TurnError> for ApiError {
    fn from(error: TurnError) -> Self {
        let message = error.to_string();
        match error {
            TurnError::Invalid(invalid) => Self::invalid(&invalid.field, message),
            TurnError::Refused(Refusal::Diverged { .. }) => {
                Self { code: "lineage_diverged", ..Self::invalid("messages", message) }
            }
            TurnError::Refused(Refusal::Truncated { .. }) => {
                Self::new(StatusCode::CONFLICT, INVALID, "truncated_turn", message)
            }
            TurnError::Refused(Refusal::Drifted { field }) => {
                Self { code: "tools_drifted", ..Self::invalid(field, message) }
            }
            TurnError::Full { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, INVALID, "session_full", message)
            }
            TurnError::Matcher { .. } => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "matcher_failed", message)
            }
            TurnError::Render(_) => Self { code: "cannot_render", ..Self::invalid("messages", message) },
            TurnError::ContextLength { .. } | TurnError::Engine(EngineError::Context { .. }) => {
                Self { code: "context_length_exceeded", ..Self::invalid("messages", message) }
            }
            TurnError::Engine(EngineError::Unavailable { .. } | EngineError::Cut { .. }) => Self {
                retry: true,
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", "engine_unavailable", message)
            },
            TurnError::Engine(EngineError::OtherPrompt { .. }) => {
                Self::new(StatusCode::BAD_GATEWAY, "api_error", "other_prompt", message)
            }
            TurnError::Engine(_) => Self {
                retry: true,
                ..Self::new(StatusCode::BAD_GATEWAY, "api_error", "engine_error", message)
            },
            TurnError::NoAdapter => Self {
                retry: true,
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", "no_adapter", message)
            },
            TurnError::HoldExpired { .. } => Self {
                retry: true,
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", "hold_expired", message)
            },
            TurnError::Unkept(unkept) => unkept.into(),
            TurnError::Closed => Self {
                retry: true,
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", "session_closed", message)
            },
            TurnError::Conflict(_) => Self::new(StatusCode::CONFLICT, "api_error", "raced", message),
        }
    }
}

impl From<Kept> for ApiError {
    fn from(error: Kept) -> Self {
        let message = error.to_string();
        let (status, code) = match error {
            Kept::Unknown { .. } => (StatusCode::NOT_FOUND, "no_such_adapter"),
            Kept::Current { .. } => (StatusCode::CONFLICT, "adapter_current"),
            Kept::Bound { .. } => (StatusCode::CONFLICT, "adapter_bound"),
        };
        Self { param: Some("name".to_owned()), ..Self::new(status, INVALID, code, message) }
    }
}

impl From<StepRefused> for ApiError {
    fn from(error: StepRefused) -> Self {
        let message = error.to_string();
        match error {
            StepRefused::Open { .. } => Self::new(StatusCode::CONFLICT, INVALID, "step_open", message),
            StepRefused::Over => Self::new(StatusCode::CONFLICT, INVALID, "rollout_over", message),
            StepRefused::GroupsInAsync | StepRefused::NoGroups => Self::invalid("groups", message),
            StepRefused::Stopped => Self::rollout_stopped(),
            StepRefused::Unkept { .. } => Self::unkept(message),
        }
    }
}

impl From<EvalRefused> for ApiError {
    fn from(error: EvalRefused) -> Self {
        match error {
            EvalRefused::Stopped => Self::rollout_stopped(),
            EvalRefused::Unknown { .. } | EvalRefused::None => Self::invalid("datasets", error),
        }
    }
}

impl From<FleetError> for ApiError {
    fn from(error: FleetError) -> Self {
        let message = error.to_string();
        let (status, code) = match error {
            FleetError::Unknown { .. } => (StatusCode::NOT_FOUND, "no_such_engine"),
            FleetError::Known { .. } => (StatusCode::CONFLICT, "engine_known"),
            FleetError::Unfit { .. } => (StatusCode::CONFLICT, "engine_unfit"),
            FleetError::Failed { .. } => (StatusCode::BAD_GATEWAY, "engine_error"),
        };
        Self { param: Some("url".to_owned()), ..Self::new(status, INVALID, code, message) }
    }
}

impl From<RowError> for ApiError {
    fn from(error: RowError) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "api_error", "rows_refused", error)
    }
}

impl From<PluginError> for ApiError {
    fn from(error: PluginError) -> Self {
        Self::hook(format!("session sample hook failed: {error}"))
    }
}

impl From<BytesRejection> for ApiError {
    fn from(rejection: BytesRejection) -> Self {
        let status = rejection.status();
        let code = if status == StatusCode::PAYLOAD_TOO_LARGE { "body_too_large" } else { "unreadable_body" };
        Self::new(status, INVALID, code, rejection.body_text())
    }
}

/// No such route.
pub(crate) async fn no_route() -> ApiError {
    let message = "no such route; turns are POST /sessions/{session_id}/v1/chat/completions, .../v1/responses and \
                   .../v1/messages";
    ApiError::new(StatusCode::NOT_FOUND, "not_found_error", "no_route", message)
}

/// The route has other methods.
pub(crate) async fn wrong_method() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, INVALID, "wrong_method", "this route has other methods")
}

/// What a panic becomes.
pub(crate) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    ApiError::internal().into_response()
}

/// A JSON reply.
pub(crate) fn json<T: Serialize>(value: T) -> Response {
    Json(value).into_response()
}

/// A JSON body.
pub(crate) fn required<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::invalid("body", error))
}

/// A JSON body that may be left out.
pub(crate) fn optional<T: Default + DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    if body.trim_ascii().is_empty() {
        return Ok(T::default());
    }
    required(body)
}
