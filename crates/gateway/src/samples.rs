//! A session's rows.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value};
use verbatim_events::NodeId;
use verbatim_samples::{
    Assembly, Envelope, Format, Options, Pick, Rewards, assemble, miles, write_safetensors,
};
use verbatim_session::Session;

use crate::access::Caller;
use crate::error::optional;
use crate::miles::{Kept, mismatches};
use crate::{ApiError, App};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    max_seq_len: Option<usize>,
    metadata: Option<Map<String, Value>>,
    pick: Option<Pick>,
    reward: Option<f64>,
    #[serde(default)]
    rewards: HashMap<String, f64>,
    format: Option<String>,
    audit: Option<bool>,
}

/// `POST /sessions/{session}/samples`: body empty, or `{"max_seq_len", "metadata", "pick", "reward",
/// "rewards", "format", "audit"}`, each optional. The reply is a file of `format`: `safetensors` unless asked
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
    let (hooks, sessions) = (Arc::clone(&app.hooks), app.sessions.clone());
    if hooks.postprocessor.is_some() && format != Format::Safetensors {
        let problem = "this server has a post-processor, which makes safetensors; leave format out";
        return Err(ApiError::invalid("format", problem));
    }
    let work =
        Work { audit: asked.audit.unwrap_or(true), options: options(asked, &app), app, session, format };
    let work = match &hooks.picker {
        Some(picker) => {
            let (work, all) = blocking(work, |work| work.file(Pick::All)).await?;
            let picked = picker.pick(all.bytes, &all.session_metadata).await?;
            work.only(&all.leaves, &picked)?
        }
        None => work,
    };
    let pick = work.options.pick;
    let (_, mut made) = blocking(work, move |work| work.file(pick)).await?;
    if let Some(post) = &hooks.postprocessor {
        let processed = post.process(made.bytes.clone(), &made.session_metadata).await?;
        crate::hooks::keeps_masks(&made.bytes, &processed)?;
        made.bytes = processed;
    }
    // No row is told with a turn that a restart would not bring back.
    sessions.settled().await?;
    Ok(([(CONTENT_TYPE, "application/octet-stream")], made.bytes).into_response())
}

/// What rows are made with. A reward that the agent gave stands where the request names none.
fn options(asked: Asked, app: &App) -> Options {
    let metadata = asked.metadata.unwrap_or_default();
    let reward = asked.reward.or_else(|| metadata.get("reward").and_then(Value::as_f64));
    Options {
        pick: asked.pick.unwrap_or(app.hooks.pick),
        max_seq_len: asked.max_seq_len,
        rewards: Rewards { session: reward, by_response: asked.rewards, ..Rewards::default() },
        metadata,
        ..Options::default()
    }
}

/// One request for rows.
struct Work {
    app: App,
    session: Arc<Session>,
    options: Options,
    format: Format,
    audit: bool,
}

/// A file of rows.
struct Made {
    bytes: Bytes,
    /// The leaf of each row, in order.
    leaves: Vec<NodeId>,
    session_metadata: Map<String, Value>,
}

/// Runs what is linear in the session's tokens off the threads that serve requests.
async fn blocking(
    work: Work,
    run: impl FnOnce(&Work) -> Result<Made, ApiError> + Send + 'static,
) -> Result<(Work, Made), ApiError> {
    let run = move || run(&work).map(|made| (work, made));
    tokio::task::spawn_blocking(run).await.map_err(|_| ApiError::internal())?
}

impl Work {
    /// The same with the leaves that a picker picked.
    fn only(self, leaves: &[NodeId], picked: &[usize]) -> Result<Self, ApiError> {
        let leaf = |at: &usize| leaves.get(*at).copied();
        let leaves = picked.iter().map(leaf).collect::<Option<Vec<_>>>();
        let leaves = leaves.ok_or_else(|| ApiError::hook("the picker picked a sample that there is not"))?;
        Ok(Self { options: Options { leaves: Some(leaves), ..self.options }, ..self })
    }

    fn file(&self, pick: Pick) -> Result<Made, ApiError> {
        let options = Options { pick, ..self.options.clone() };
        match self.format {
            Format::Safetensors => self.samples(&options),
            format => {
                let assembly = self.session.with_forest(|forest| self.assemble(forest, &options))?;
                let leaves = assembly.rows.iter().map(|row| row.leaf).collect();
                let bytes = format.write(&assembly.rows)?.into();
                self.tell(&assembly);
                Ok(Made { bytes, leaves, session_metadata: Map::new() })
            }
        }
    }

    /// Rows as Miles' driver takes them.
    fn samples(&self, options: &Options) -> Result<Made, ApiError> {
        let family = self.app.sessions.family();
        let (mut assembly, mut told, head, kept) = self.session.with_forest(|forest| {
            let mut assembly = self.assemble(forest, options)?;
            miles::annotate(&mut assembly.rows, forest);
            miles::order(&mut assembly.rows, forest);
            let told = miles::session(forest, family.max_trim());
            let head = forest.head();
            let mut ends: Vec<_> = assembly.rows.iter().map(|row| row.leaf).collect();
            ends.extend(head.filter(|head| !ends.contains(head)));
            ends.retain(|_| self.audit);
            let kept: Vec<_> =
                ends.into_iter().filter_map(|end| Some((end, Kept::of(forest, end)?))).collect();
            Ok::<_, ApiError>((assembly, told, head, kept))
        })?;
        let linear = !told.contains_key("tree");
        for (end, kept) in kept {
            let Some(found) = mismatches(family.as_ref(), self.session.opened(), &kept) else { continue };
            for row in assembly.rows.iter_mut().filter(|row| row.leaf == end && !linear) {
                row.metadata.insert("tito_session_mismatch".into(), found.clone());
            }
            if head == Some(end) {
                told.insert("tito_session_mismatch".into(), found);
            }
        }
        told.insert("session".into(), self.session.id().as_str().into());
        if !options.metadata.is_empty() {
            told.insert("agent".into(), Value::Object(options.metadata.clone()));
        }
        let tokenizer = family.tokenizer();
        let envelope = Envelope { session_metadata: told, empty: assembly.empty };
        let bytes = write_safetensors(&assembly.rows, &envelope, |ids| tokenizer.text(ids))?;
        self.tell(&assembly);
        let leaves = assembly.rows.iter().map(|row| row.leaf).collect();
        Ok(Made { bytes: bytes.into(), leaves, session_metadata: envelope.session_metadata })
    }

    fn assemble(&self, forest: &verbatim_forest::Forest, options: &Options) -> Result<Assembly, ApiError> {
        Ok(assemble(forest, self.session.id(), self.session.group(), options)?)
    }

    /// Tells what was lost on the way to rows, once: later assemblies would tell the same again.
    fn tell(&self, assembly: &Assembly) {
        if self.session.first_assembly() {
            assembly.tell(self.session.id(), self.app.sessions.observers());
        }
    }
}
