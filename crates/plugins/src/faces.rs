//! Plug-ins with their types.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{Cause, Host, Kind, Plugin, PluginError, Until};

/// Judges whether a replayed message is a stored one.
#[derive(Clone)]
pub struct Matcher(Plugin);

/// Picks the samples that become rows.
#[derive(Clone)]
pub struct Picker(Plugin);

/// Makes the final samples of the picked ones.
#[derive(Clone)]
pub struct PostProcessor(Plugin);

/// An agent function, and the `abort` beside it.
#[derive(Clone)]
pub struct Agent {
    run: Plugin,
    abort: Plugin,
}

/// What an agent function is called with. Source: Miles' contract, `run_agent(base_url, prompt,
/// request_kwargs, metadata, **kwargs)`.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// Where the session is.
    pub base_url: String,
    /// The prompt: a list of messages.
    pub prompt: Value,
    /// Sampling parameters in the words of Chat Completions.
    pub request_kwargs: Map<String, Value>,
    /// The dataset's data and the session's.
    pub metadata: Map<String, Value>,
    /// More, of which it gets what it has parameters for.
    pub kwargs: Map<String, Value>,
}

impl Matcher {
    /// Loads it.
    ///
    /// # Errors
    /// [`PluginError`].
    pub async fn load(host: &Host, path: &str) -> Result<Self, PluginError> {
        Ok(Self(host.load(Kind::Matcher, path).await?))
    }

    /// One verdict for each pair of a stored and a replayed message, both as OpenAI's JSON.
    ///
    /// # Errors
    /// [`PluginError`]; also if it returned anything else than a bool.
    pub async fn judge(&self, pairs: &[(Value, Value)]) -> Result<Vec<bool>, PluginError> {
        #[derive(Deserialize)]
        struct Judged {
            verdicts: Vec<bool>,
        }
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let (value, _) = self.0.call(json!({ "pairs": pairs }), Bytes::new()).await?;
        let Judged { verdicts } = given(&self.0, value)?;
        if verdicts.len() != pairs.len() {
            return Err(protocol(&self.0, &format!("{} verdicts on {} pairs", verdicts.len(), pairs.len())));
        }
        Ok(verdicts)
    }
}

impl Picker {
    /// Loads it.
    ///
    /// # Errors
    /// [`PluginError`].
    pub async fn load(host: &Host, path: &str) -> Result<Self, PluginError> {
        Ok(Self(host.load(Kind::Picker, path).await?))
    }

    /// The indices of the picked samples, in its order, without duplicates. `samples` is a file in Miles' layout.
    ///
    /// # Errors
    /// [`PluginError`].
    pub async fn pick(
        &self,
        samples: Bytes,
        session_metadata: &Map<String, Value>,
    ) -> Result<Vec<usize>, PluginError> {
        #[derive(Deserialize)]
        struct Picked {
            picked: Vec<usize>,
        }
        let (value, _) = self.0.call(json!({ "session_metadata": session_metadata }), samples).await?;
        let Picked { picked } = given(&self.0, value)?;
        Ok(picked)
    }
}

impl PostProcessor {
    /// Loads it.
    ///
    /// # Errors
    /// [`PluginError`].
    pub async fn load(host: &Host, path: &str) -> Result<Self, PluginError> {
        Ok(Self(host.load(Kind::PostProcessor, path).await?))
    }

    /// The final samples, as a file in Miles' layout like the one it is given. What the server owns in
    /// a sample's metadata is as it was.
    ///
    /// # Errors
    /// [`PluginError`].
    pub async fn process(
        &self,
        samples: Bytes,
        session_metadata: &Map<String, Value>,
    ) -> Result<Bytes, PluginError> {
        let value = json!({ "session_metadata": session_metadata });
        Ok(self.0.call(value, samples).await?.1)
    }
}

impl Task {
    fn value(self) -> Value {
        let Self { base_url, prompt, request_kwargs, metadata, kwargs } = self;
        json!({
            "base_url": base_url, "prompt": prompt, "request_kwargs": request_kwargs, "metadata": metadata,
            "kwargs": kwargs,
        })
    }
}

impl Agent {
    /// Loads it.
    ///
    /// # Errors
    /// [`PluginError`].
    pub async fn load(host: &Host, path: &str) -> Result<Self, PluginError> {
        let run = host.load(Kind::Agent, path).await?;
        Ok(Self { run, abort: host.load(Kind::Abort, path).await? })
    }

    /// Runs it; what it returned, if that was not `None`. Dropping the future cancels an async agent.
    ///
    /// # Errors
    /// [`PluginError`].
    pub async fn run(
        &self,
        task: Task,
        deadline: Duration,
    ) -> Result<Option<Map<String, Value>>, PluginError> {
        let (value, _) = self.run.call_within(deadline, task.value(), Bytes::new()).await?;
        given(&self.run, value)
    }

    /// Runs it without a deadline, until it has ended or was told to; as [`Plugin::call_until`].
    ///
    /// # Errors
    /// What it was told.
    pub async fn run_until<T>(
        &self,
        task: Task,
        told: impl Future<Output = T>,
    ) -> Result<Result<Option<Map<String, Value>>, PluginError>, T> {
        match self.run.call_until(told, task.value(), Bytes::new()).await {
            Until::Ended(result) => Ok(result.and_then(|(value, _)| given(&self.run, value))),
            Until::Told(told) => Err(told),
        }
    }

    /// Calls `abort(args)` in the agent's module. False if there is none.
    ///
    /// # Errors
    /// [`PluginError`].
    pub async fn abort(&self, args: Map<String, Value>) -> Result<bool, PluginError> {
        #[derive(Deserialize)]
        struct Aborted {
            called: bool,
        }
        let (value, _) = self.abort.call(Value::Object(args), Bytes::new()).await?;
        let Aborted { called } = given(&self.abort, value)?;
        Ok(called)
    }
}

fn given<T: DeserializeOwned>(plugin: &Plugin, value: Value) -> Result<T, PluginError> {
    serde_json::from_value(value).map_err(|error| protocol(plugin, &error.to_string()))
}

fn protocol(plugin: &Plugin, message: &str) -> PluginError {
    PluginError::Refused {
        kind: plugin.kind().word().to_owned(),
        path: plugin.path().to_owned(),
        cause: Cause::Protocol,
        message: format!("the worker's answer makes no sense: {message}"),
        traceback: String::new(),
    }
}
