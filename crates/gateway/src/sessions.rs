//! Opening, showing and closing sessions.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use verbatim_chat::matcher_by_name;
use verbatim_events::GroupId;
use verbatim_forest::{Body, Forest, Lineage, Node};
use verbatim_samples as samples;
use verbatim_session::{Matching, OpenOptions, Session};

use crate::access::Caller;
use crate::miles::{Kept, dump, mismatches};
use crate::{ApiError, App, error};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    lineage: Option<Lineage>,
    matcher: Option<String>,
    group: Option<String>,
    lora: Option<Arc<str>>,
}

/// `POST /sessions`: body empty, or `{"lineage", "matcher", "group", "lora"}`, each optional.
pub(crate) async fn open(
    State(app): State<App>,
    caller: Caller,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    let asked: Open = error::optional(&body?)?;
    let matching = asked.matcher.map(|name| matching(&app, &name)).transpose()?;
    let group = asked.group.map(GroupId::new);
    let options =
        OpenOptions { lineage: asked.lineage, matching, group, lora: asked.lora, ..OpenOptions::default() };
    let (token, session) = app.sessions.open(options)?;
    app.sessions.settled().await?;
    Ok(error::json(json!({"session_id": token.as_str(), "name": session.id()})))
}

/// The matcher of that name: one of ours, or the one that the server was started with.
fn matching(app: &App, name: &str) -> Result<Matching, ApiError> {
    let own = &app.sessions.settings().matching;
    if own.name() == name {
        return Ok(own.clone());
    }
    match matcher_by_name(name) {
        Ok(matcher) => Ok(Matching::Matcher(matcher)),
        Err(error) => Err(ApiError::invalid("matcher", error)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Shown {
    /// Whether each turn's request and reply are shown.
    records: bool,
    /// Whether records show replay payloads.
    replay: bool,
    /// Whether kept ids are compared with what the messages render to.
    audit: bool,
}

impl Default for Shown {
    fn default() -> Self {
        Self { records: true, replay: true, audit: true }
    }
}

/// `GET /sessions/{session}`: what it is, its nodes, and in Miles' form the `records` of its last line and its
/// `metadata`. `?records=false`, `?replay=false` and `?audit=false` leave out what costs most.
pub(crate) async fn show(
    State(app): State<App>,
    Path(token): Path<String>,
    shown: Result<Query<Shown>, QueryRejection>,
    caller: Caller,
) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    let Query(shown) = shown.map_err(|error| ApiError::invalid("query", error.body_text()))?;
    let session = app.sessions.get(&token)?;
    // It grows with the session's turns × tokens: off the threads that serve requests.
    let shown = tokio::task::spawn_blocking(move || error::json(view(&app, &token, &session, &shown))).await;
    shown.map_err(|_| ApiError::internal())
}

fn view(app: &App, token: &str, session: &Session, shown: &Shown) -> Value {
    let family = app.sessions.family();
    let (mut view, kept) = session.with_forest(|forest| {
        let records = if shown.records { dump(forest, &app.model, shown.replay) } else { Vec::new() };
        let view = json!({
            "session_id": token,
            "records": records,
            "metadata": samples::miles::session(forest, family.max_trim()),
            "name": session.id(),
            "group": session.group(),
            "lora": session.lora(),
            "opened": session.opened(),
            "lineage": forest.lineage(),
            "matcher": session.matching().name(),
            "stored_tokens": forest.stored_tokens(),
            "stored_bytes": forest.stored_bytes(),
            "leaves": forest.leaves(),
            "nodes": nodes(forest),
        });
        (view, forest.head().filter(|_| shown.audit).and_then(|head| Kept::of(forest, head)))
    });
    if let Some(told) = kept.and_then(|kept| mismatches(family.as_ref(), session.opened(), &kept)) {
        view["metadata"]["tito_session_mismatch"] = told;
    }
    view
}

fn nodes(forest: &Forest) -> Vec<Value> {
    let node = |id: verbatim_events::NodeId, node: &Node| match &node.body {
        Body::Observation(observation) => json!({
            "id": id, "parent": node.parent, "kind": "observation", "tokens": node.ids().len(),
            "trim": observation.trim, "messages": observation.messages, "setup": observation.setup,
        }),
        Body::Generation(generation) => json!({
            "id": id, "parent": node.parent, "kind": "generation", "tokens": node.ids().len(),
            "finish": generation.finish, "response": generation.response, "at": generation.at,
            "messages": [generation.message],
        }),
    };
    forest.nodes().map(|(id, body)| node(id, body)).collect()
}

/// `DELETE /sessions/{session}`: 204 once nothing of it runs.
pub(crate) async fn close(
    State(app): State<App>,
    Path(token): Path<String>,
    caller: Caller,
) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    app.sessions.close(&token).await?;
    app.sessions.settled().await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
