//! An agent that is a Python function. Source of its contract: Miles, "driver wrapper".
//!
//! The invariant: when it has run, the call has ended, or its worker has. A function that is told to end is
//! cancelled if it is async; one that is not can only be ended with its worker, and takes the calls beside it along.

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use verbatim_plugins::{Agent as Plugin, Cause, PluginError, Task};

use crate::failure::Stopped;
use crate::output::bad;
use crate::{AgentFailure, Input, Output, Seat, Told};

/// A function.
#[derive(Clone)]
pub struct Function {
    /// The function, and the `abort` beside it.
    pub plugin: Plugin,
    /// Sampling parameters that it is told, in the words of Chat Completions.
    pub request_kwargs: Map<String, Value>,
}

impl Function {
    pub(crate) async fn run(
        &self,
        seat: &Seat,
        input: &Input,
        told: oneshot::Receiver<Told>,
    ) -> Result<Output, Stopped> {
        let known = json!({
            "api_key": seat.token, "session_id": seat.session, "group_id": seat.group, "mode": seat.mode,
            "model": seat.model,
        });
        let task = Task {
            base_url: seat.root(),
            prompt: Value::Array(input.messages.clone()),
            request_kwargs: self.request_kwargs.clone(),
            metadata: input.metadata.clone(),
            kwargs: known.as_object().cloned().unwrap_or_default(),
        };
        let told = async move { told.await.unwrap_or(Told::End) };
        match self.plugin.run_until(task, told).await {
            Ok(Ok(returned)) => Ok(Output::returned(returned.unwrap_or_default())?),
            Ok(Err(error)) => Err(failed(error).into()),
            Err(told) => {
                self.abort(seat, told).await;
                Err(Stopped::Told(told))
            }
        }
    }

    /// Lets the agent's module clear up what the function left elsewhere.
    async fn abort(&self, seat: &Seat, told: Told) {
        let why = match told {
            Told::End => "dropped",
            Told::TimeUp => "time_up",
        };
        let args = json!({
            "session_id": seat.session, "group_id": seat.group, "base_url": seat.root(), "why": why,
        });
        if let Err(error) = self.plugin.abort(args.as_object().cloned().unwrap_or_default()).await {
            tracing::warn!(session = seat.session, "the agent's abort failed: {error}");
        }
    }
}

/// Whose failure it is.
fn failed(error: PluginError) -> AgentFailure {
    match &error {
        PluginError::Refused { cause: Cause::BadResult, message, .. } => bad(message.clone()).into(),
        PluginError::Refused { .. } => AgentFailure::Function(error),
        _ => AgentFailure::Host(error),
    }
}
