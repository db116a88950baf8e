//! Replies as they are stored.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use verbatim_dialects::Counts;
use verbatim_dialects::responses::{self, Echo};
use verbatim_session::Session;

use crate::access::Caller;
use crate::{ApiError, App, error};

/// `GET /sessions/{session}/v1/responses/{id}`.
pub(crate) async fn show_by_path(
    State(app): State<App>,
    Path((token, id)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let session = app.sessions.get(&token)?;
    show(&app, &session, &id)
}

/// `GET /v1/responses/{id}` with the session's token as the API key.
pub(crate) async fn show_by_key(
    State(app): State<App>,
    Path(id): Path<String>,
    caller: Caller,
) -> Result<Response, ApiError> {
    let session = app.keyed(&caller)?;
    show(&app, &session, &id)
}

/// The reply as its turn has it; of its request nothing is kept that is not in the conversation.
fn show(app: &App, session: &Arc<Session>, id: &str) -> Result<Response, ApiError> {
    let found = session.with_forest(|forest| {
        let mut nodes = forest.nodes().rev();
        nodes.find_map(|(_, node)| {
            let turn = node.generation().filter(|turn| turn.response == id)?;
            let sampled = turn.sampled.len();
            let counts = Counts {
                prompt: node.path_tokens().saturating_sub(sampled),
                sampled,
                cached: turn.cached_tokens.unwrap_or_default(),
            };
            Some((Arc::clone(&turn.message), turn.finish, turn.at / 1000, counts))
        })
    });
    let (message, finish, at, counts) = found.ok_or_else(|| ApiError::no_response(id))?;
    let echo = Echo::new(app.model.to_string());
    Ok(error::json(responses::Response::new(id, at, &echo, &message, finish, counts)))
}
