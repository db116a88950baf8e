//! LoRA adapters, as a trainer publishes them.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use crate::access::Caller;
use crate::{ApiError, App, error};

type Body = Result<Bytes, BytesRejection>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

/// `GET /control/adapters`: the published ones, the current one last, with how many sessions are bound to each.
pub(crate) async fn list(State(app): State<App>, caller: Caller) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    Ok(error::json(json!({"adapters": app.sessions.adapters()})))
}

/// `POST /control/adapters` with `{"name"}`: sessions whose first turn begins from now on are sampled with it. The
/// engines must have loaded it.
pub(crate) async fn publish(
    State(app): State<App>,
    caller: Caller,
    body: Body,
) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    let Named { name } = error::required(&body?)?;
    if !app.sessions.settings().adapters {
        let problem = "this server samples without published adapters; set sessions.adapters = true";
        return Err(ApiError::invalid("name", problem));
    }
    app.sessions.publish_adapter(name);
    list(State(app), caller).await
}

/// `DELETE /control/adapters` with `{"name"}`: it is forgotten, if no session is bound to it and another one is current.
pub(crate) async fn remove(State(app): State<App>, caller: Caller, body: Body) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    let Named { name } = error::required(&body?)?;
    app.sessions.remove_adapter(&name)?;
    list(State(app), caller).await
}
