//! Replies as they are stored.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;
use verbatim_dialects::Counts;
use verbatim_dialects::responses::{self, Echo};
use verbatim_session::Session;

use crate::access::Addressed;
use crate::{ApiError, App, error};

/// Which reply a path names.
#[derive(Deserialize)]
pub(crate) struct Named {
    id: String,
}

/// `GET /v1/responses/{id}`, and the same below a session's path.
pub(crate) async fn show(
    State(app): State<App>,
    Addressed(session): Addressed,
    Path(Named { id }): Path<Named>,
) -> Result<Response, ApiError> {
    stored(&app, &session, &id)
}

/// The reply as its turn has it; of its request nothing is kept that is not in the conversation.
fn stored(app: &App, session: &Arc<Session>, id: &str) -> Result<Response, ApiError> {
    let found = session.with_forest(|forest| {
        let mut nodes = forest.nodes().rev();
        nodes.find_map(|(_, node)| {
            let turn = node.generation().filter(|turn| turn.response == id)?;
            let sampled = turn.sampled.len();
            let counts = Counts {
                prompt: node.path_tokens().saturating_sub(sampled),
                sampled,
                cached: turn.cached_tokens.unwrap_or_default(),
                reasoning: turn.reasoning_tokens,
            };
            Some((Arc::clone(&turn.message), turn.finish, turn.at / 1000, counts))
        })
    });
    let (message, finish, at, counts) = found.ok_or_else(|| ApiError::no_response(id))?;
    let echo = Echo::new(app.model.to_string());
    Ok(error::json(responses::Response::new(id, at, &echo, &message, finish, counts)))
}
