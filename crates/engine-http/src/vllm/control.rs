//! vLLM's control plane, and its scoring.
//!
//! Most of it exists only where the server runs with `VLLM_SERVER_DEV_MODE=1`; without it pausing is
//! refused by name and the version is unknown.

use std::collections::HashMap;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use verbatim_engine::{Control, EngineError, Health, Load, PauseMode, Score};
use verbatim_tokens::{TokenId, Version};

use crate::host::Host;
use crate::http::Http;
use crate::logprob::known;

#[derive(Deserialize)]
struct WeightInfo {
    weight_version: String,
}

#[derive(Deserialize)]
struct IsPaused {
    is_paused: bool,
}

/// A server's control plane.
pub(crate) struct Plane {
    pub(crate) host: Host,
    /// The served model's name.
    pub(crate) model: String,
}

impl Control for Plane {
    fn version(&self) -> BoxFuture<'_, Result<Option<Version>, EngineError>> {
        version(&self.host.http).boxed()
    }

    fn set_version(&self, version: Version) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            let body = json!({"new_version": version.as_str()});
            dev(self.host.http.post("/update_weight_version", &body).await, "be given a weight version")?;
            self.host.latest.see(&version);
            Ok(())
        }
        .boxed()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        async move { dev(self.host.http.post("/reset_prefix_cache", &json!({})).await, "flush its cache") }
            .boxed()
    }

    fn pause(&self, mode: PauseMode) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            let path = match mode {
                PauseMode::Abort => "/pause?mode=abort&clear_cache=true",
                PauseMode::Retract => "/pause?mode=keep&clear_cache=true",
                PauseMode::InPlace => "/pause?mode=keep&clear_cache=false",
                PauseMode::Drain => {
                    // An attempt still on its way would be let in, and wait inside for the resume.
                    self.host.drained().await;
                    "/pause?mode=wait&clear_cache=true"
                }
            };
            dev(self.host.http.post(path, &json!({})).await, "pause")?;
            self.host.set_paused(true);
            Ok(())
        }
        .boxed()
    }

    fn resume(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            dev(self.host.http.post("/resume", &json!({})).await, "resume")?;
            self.host.set_paused(false);
            Ok(())
        }
        .boxed()
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        async move {
            match self.host.http.status("/health").await {
                Ok(200) => {}
                Ok(status) => return Health::Down { reason: format!("status {status}") },
                Err(error) => return Health::Down { reason: error.to_string() },
            }
            if let Ok(Some(version)) = version(&self.host.http).await {
                self.host.latest.see(&version);
            }
            let told = self.host.http.json::<IsPaused>("/is_paused").await;
            let paused = told.map_or_else(|_| self.host.is_paused(), |told| told.is_paused);
            if paused { Health::Paused } else { Health::Ready }
        }
        .boxed()
    }

    fn load(&self) -> BoxFuture<'_, Result<Load, EngineError>> {
        async move {
            let metrics = self.host.http.get("/metrics").await?;
            let sum = |name| gauge(&metrics, name);
            Ok(Load {
                running: sum("vllm:num_requests_running").unwrap_or_default() as u32,
                waiting: sum("vllm:num_requests_waiting").unwrap_or_default() as u32,
                cache: sum("vllm:kv_cache_usage_perc").map(|share| share as f32),
            })
        }
        .boxed()
    }
}

/// What only a server in development mode can do.
fn dev(reply: Result<bytes::Bytes, EngineError>, what: &'static str) -> Result<(), EngineError> {
    match reply {
        Err(EngineError::Refused { message }) if message.starts_with("status 404") => {
            Err(EngineError::Unsupported { what })
        }
        reply => reply.map(|_| ()),
    }
}

async fn version(http: &Http) -> Result<Option<Version>, EngineError> {
    match http.json::<WeightInfo>("/weight_info").await {
        Ok(info) => Ok(Some(Version::new(info.weight_version))),
        Err(EngineError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The sum of a gauge over its labels, in Prometheus' text form.
pub(crate) fn gauge(metrics: &[u8], name: &str) -> Option<f64> {
    let text = String::from_utf8_lossy(metrics);
    let values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest =
            rest.strip_prefix('{').map_or(Some(rest), |rest| rest.split_once('}').map(|(_, rest)| rest))?;
        rest.starts_with(' ').then(|| rest.trim().split(' ').next()?.parse::<f64>().ok()).flatten()
    });
    values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
}

#[derive(Deserialize)]
struct Scored {
    choices: Vec<ScoredChoice>,
}

#[derive(Deserialize)]
struct ScoredChoice {
    prompt_logprobs: Option<Vec<Option<HashMap<String, Told>>>>,
}

#[derive(Deserialize)]
struct Told {
    logprob: Option<f32>,
}

impl Score for Plane {
    fn score(&self, ids: Vec<TokenId>, _from: usize) -> BoxFuture<'_, Result<Vec<Option<f32>>, EngineError>> {
        async move {
            let body = json!({
                "model": self.model,
                "prompt": ids,
                "max_tokens": 1,
                "temperature": 0.0,
                "prompt_logprobs": 0,
            });
            let Scored { choices } = self.host.http.generated("/v1/completions", &body).await?;
            let told =
                choices.into_iter().next().and_then(|choice| choice.prompt_logprobs).unwrap_or_default();
            if told.len() != ids.len() {
                let reason = format!("it scored {} ids of the {} it was sent", told.len(), ids.len());
                return Err(EngineError::Poisoned { reason });
            }
            let score = |(id, at): (TokenId, Option<HashMap<String, Told>>)| {
                known(at?.get(&id.0.to_string())?.logprob)
            };
            Ok(ids.into_iter().zip(told).map(score).collect())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_summed_over_its_labels_and_no_other_name_is_taken_for_it() {
        let text = b"# TYPE x gauge\nx{engine=\"0\"} 2.0\nx{engine=\"1\"} 3.0\nx_total 9\ny 4\n";
        assert_eq!((gauge(text, "x"), gauge(text, "y"), gauge(text, "z")), (Some(5.0), Some(4.0), None));
    }
}
