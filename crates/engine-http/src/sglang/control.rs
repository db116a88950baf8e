//! SGLang's control plane, and its scoring.
//!
//! A paused server keeps new requests waiting without a word, answers its deep health check with a
//! failure, and forgets an abort of a request that it holds back; so pausing is something that is known
//! here, and a paused server is never asked for its deep health.

use std::path::Path;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use verbatim_engine::{Control, EngineError, Health, Load, PauseMode, Score, SessionKey};
use verbatim_tokens::{TokenId, Version};

use crate::host::Host;
use crate::http::Http;
use crate::pairs::Pairs;
use crate::version::Latest;

#[derive(Deserialize)]
struct ModelInfo {
    weight_version: Option<String>,
}

#[derive(Deserialize)]
struct Loads {
    loads: Vec<Rank>,
}

#[derive(Deserialize)]
struct Rank {
    num_running_reqs: u32,
    num_waiting_reqs: u32,
    token_usage: Option<f32>,
}

/// A server's control plane.
pub(crate) struct Plane {
    pub(crate) host: Host,
}

impl Control for Plane {
    fn version(&self) -> BoxFuture<'_, Result<Option<Version>, EngineError>> {
        version(&self.host.http, &self.host.latest).boxed()
    }

    fn set_version(&self, version: Version) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            // Without `abort_all_requests: false` this aborts everything that runs.
            let body = json!({"new_version": version.as_str(), "abort_all_requests": false});
            self.host.http.post("/update_weight_version", &body).await?;
            self.host.latest.see(&version);
            Ok(())
        }
        .boxed()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            // "Not now" is a 400 there.
            let flushed = self.host.http.post("/flush_cache?timeout=10", &json!({})).await;
            flushed.map(|_| ()).map_err(|error| match error {
                EngineError::Refused { message } => EngineError::Unavailable { reason: message },
                error => error,
            })
        }
        .boxed()
    }

    fn close_session(&self, session: &SessionKey) -> BoxFuture<'_, Result<(), EngineError>> {
        let body = json!({"session_id": &*session.0});
        async move { self.host.http.post("/close_session", &body).await.map(|_| ()) }.boxed()
    }

    fn load_weights(&self, folder: &Path) -> BoxFuture<'_, Result<(), EngineError>> {
        let body = json!({
            "model_path": folder, "abort_all_requests": false, "flush_cache": true, "keep_pause": true,
        });
        async move { self.host.http.post("/update_weights_from_disk", &body).await.map(|_| ()) }.boxed()
    }

    fn pause(&self, mode: PauseMode) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            let mode = match mode {
                PauseMode::Abort => "abort",
                PauseMode::Retract => "retract",
                PauseMode::InPlace => "in_place",
                PauseMode::Drain => {
                    self.host.drained().await;
                    "abort"
                }
            };
            self.host.set_paused(true);
            let paused = self.host.http.post("/pause_generation", &json!({"mode": mode})).await;
            if paused.is_err() {
                self.host.set_paused(false);
            }
            paused.map(|_| ())
        }
        .boxed()
    }

    fn resume(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            self.host.http.post("/continue_generation", &json!({})).await?;
            self.host.set_paused(false);
            Ok(())
        }
        .boxed()
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        async move {
            let paused = || if self.host.is_paused() { Health::Paused } else { Health::Ready };
            match self.host.http.status("/ready").await {
                Ok(200) => Health::Ready,
                // It may have been paused by its trainer: what is known is that it lives.
                Ok(503) => match version(&self.host.http, &self.host.latest).await {
                    Ok(_) => Health::Paused,
                    Err(_) => Health::Starting,
                },
                // Older than 0.5.2x.
                Ok(_) => match version(&self.host.http, &self.host.latest).await {
                    Ok(_) => paused(),
                    Err(error) => Health::Down { reason: error.to_string() },
                },
                Err(error) => Health::Down { reason: error.to_string() },
            }
        }
        .boxed()
    }

    fn load(&self) -> BoxFuture<'_, Result<Load, EngineError>> {
        async move {
            let Loads { loads } = self.host.http.json("/v1/loads?include=core").await?;
            let cache = loads.iter().filter_map(|rank| rank.token_usage).reduce(f32::max);
            Ok(Load {
                running: loads.iter().map(|rank| rank.num_running_reqs).sum(),
                waiting: loads.iter().map(|rank| rank.num_waiting_reqs).sum(),
                cache,
            })
        }
        .boxed()
    }
}

/// The live version; `/server_info` would give that of the start.
async fn version(http: &Http, latest: &Latest) -> Result<Option<Version>, EngineError> {
    let info: ModelInfo = match http.json("/model_info").await {
        Err(EngineError::Refused { .. }) => http.json("/get_model_info").await?,
        info => info?,
    };
    let version = info.weight_version.map(Version::new);
    version.iter().for_each(|version| latest.see(version));
    Ok(version)
}

#[derive(Deserialize)]
struct Scored {
    meta_info: ScoredMeta,
}

#[derive(Deserialize)]
struct ScoredMeta {
    input_token_logprobs: Pairs,
}

impl Score for Plane {
    fn score(&self, ids: Vec<TokenId>, from: usize) -> BoxFuture<'_, Result<Vec<Option<f32>>, EngineError>> {
        async move {
            let body: Value = json!({
                "input_ids": ids,
                "sampling_params": {"max_new_tokens": 0, "temperature": 0.0},
                "return_logprob": true,
                // The first that is told has none: nothing before it is read.
                "logprob_start_len": from.saturating_sub(1),
            });
            let Scored { meta_info } = self.host.http.generated("/generate", &body).await?;
            let Pairs { logprobs, ids: scored } = meta_info.input_token_logprobs;
            let unread = from.saturating_sub(1).min(ids.len());
            if scored != ids[unread..] {
                let reason =
                    format!("it scored {} other ids than the {} it was sent", scored.len(), ids.len());
                return Err(EngineError::Poisoned { reason });
            }
            let mut all = vec![None; unread];
            all.extend(logprobs);
            Ok(all)
        }
        .boxed()
    }
}
