//! A session's rows.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value};
use verbatim_samples::{Envelope, Format, Options, Pick, Rewards, assemble, write_safetensors};
use verbatim_session::Session;

use crate::access::Caller;
use crate::error::optional;
use crate::{ApiError, App};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    max_seq_len: Option<usize>,
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    pick: Pick,
    reward: Option<f64>,
    #[serde(default)]
    rewards: HashMap<String, f64>,
    format: Option<String>,
}

/// `POST /sessions/{session}/samples`: body empty, or `{"max_seq_len", "metadata", "pick", "reward",
/// "rewards", "format"}`, each optional. The reply is a file of `format`: `safetensors` unless asked
/// otherwise.
pub(crate) async fn samples(
    State(app): State<App>,
    Path(token): Path<String>,
    caller: Caller,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    app.controlled(&caller)?;
    let session = app.sessions.get(&token)?;
    let asked: Asked = optional(&body?)?;
    let format = match asked.format.as_deref() {
        None => Format::Safetensors,
        Some(name) => Format::of(&format!(".{name}")).map_err(|error| ApiError::invalid("format", error))?,
    };
    // Linear in the session's tokens: off the threads that serve requests.
    let assembled = tokio::task::spawn_blocking(move || rows(&app, &session, asked, format)).await;
    let bytes = assembled.map_err(|_| ApiError::internal())??;
    Ok(([(CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

fn rows(app: &App, session: &Session, asked: Asked, format: Format) -> Result<Vec<u8>, ApiError> {
    let options = Options {
        pick: asked.pick,
        max_seq_len: asked.max_seq_len,
        rewards: Rewards { session: asked.reward, by_response: asked.rewards },
        metadata: asked.metadata.unwrap_or_default(),
    };
    let assembly = session.with_forest(|forest| assemble(forest, session.id(), session.group(), &options))?;
    if session.first_assembly() {
        // Later assemblies would tell the same losses again.
        assembly.tell(session.id(), app.sessions.observers());
    }
    if format != Format::Safetensors {
        return Ok(format.write(&assembly.rows)?);
    }
    let tokenizer = app.sessions.family().tokenizer();
    let mut session_metadata = Map::new();
    session_metadata.insert("session".to_owned(), Value::from(session.id().as_str()));
    let envelope = Envelope { session_metadata, empty: assembly.empty };
    Ok(write_safetensors(&assembly.rows, &envelope, |ids| tokenizer.text(ids))?)
}
