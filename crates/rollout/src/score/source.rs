//! Who is asked for a reward: a Python function, a command, or a URL.
//!
//! The invariant: whoever is asked is given one JSON value and gives one, within its time; when a command was asked,
//! nothing of it is left.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use verbatim_plugins::{Cause, Plugin, PluginError};
use verbatim_process::{Inherit, Launcher, Spec, tail};

use super::failure::Unanswered;

/// How much of a command's log goes into an error.
const TAIL: u64 = 2048;

/// Who is asked.
#[derive(Clone)]
pub enum Source {
    /// A Python function, called with the value as its one argument.
    Function(Plugin),
    /// A command that reads the value from one file and leaves its answer in another.
    Command(CommandSource),
    /// A URL that the value is posted to.
    Url(UrlSource),
}

/// A command that scores.
#[derive(Clone, Debug)]
pub struct CommandSource {
    /// Run by `/bin/bash -c`.
    pub command: String,
    /// Where.
    pub cwd: PathBuf,
    /// How long it may take.
    pub time: Duration,
}

/// A URL that scores.
#[derive(Clone, Debug)]
pub struct UrlSource {
    /// Where the value is posted to.
    pub url: String,
    /// How long the reply may take.
    pub time: Duration,
    client: reqwest::Client,
}

impl UrlSource {
    /// A URL.
    ///
    /// # Errors
    /// If it is none, or one that this binary cannot speak to.
    pub fn new(url: &str, time: Duration) -> Result<Self, String> {
        let parsed = reqwest::Url::parse(url).map_err(|error| format!("{url}: {error}"))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(format!("{url}: rewards are asked for over http:// or https://"));
        }
        let client = reqwest::Client::builder().no_proxy().timeout(time).build();
        let client = client.map_err(|error| format!("{url}: {error}"))?;
        Ok(Self { url: url.to_owned(), time, client })
    }

    async fn ask(&self, value: &Value) -> Result<Value, Unanswered> {
        let lost = |error: reqwest::Error| Unanswered::passing(error);
        let reply = self.client.post(&self.url).json(value).send().await.map_err(lost)?;
        let status = reply.status();
        let body = reply.bytes().await.map_err(lost)?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| {
                Unanswered::for_good(format!("{} answered what is no JSON: {error}", self.url))
            });
        }
        let text: String = String::from_utf8_lossy(&body).chars().take(500).collect();
        let problem = format!("{} answered {status}: {text}", self.url);
        let passes = status.is_server_error() || status == reqwest::StatusCode::TOO_MANY_REQUESTS;
        Err(Unanswered { problem, passes })
    }
}

impl CommandSource {
    async fn ask(&self, launcher: &Launcher, value: &Value) -> Result<Value, Unanswered> {
        let folder =
            tempfile::Builder::new().prefix("verbatim-reward-").tempdir().map_err(Unanswered::passing)?;
        let [input, output, log] =
            ["input.json", "output.json", "command.log"].map(|name| folder.path().join(name));
        let text = serde_json::to_vec(value).map_err(Unanswered::for_good)?;
        tokio::fs::write(&input, text).await.map_err(Unanswered::passing)?;
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        let spec = Spec {
            argv: ["/bin/bash", "-c", &self.command].map(str::to_owned).to_vec(),
            cwd: self.cwd.clone(),
            env: [("VERBATIM_INPUT_JSON", path(&input)), ("VERBATIM_OUTPUT_JSON", path(&output))]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            inherit: Inherit::Except(vec!["VERBATIM_CONTROL_KEY".into(), "VERBATIM_CONTROL_KEY_FILE".into()]),
            log: log.clone(),
            folder: Some(folder.path().to_owned()),
            grace_ms: 1000,
        };
        let mut process = launcher.start(&spec).await.map_err(Unanswered::passing)?;
        let exit = match tokio::time::timeout(self.time, process.wait()).await {
            Ok(exit) => exit.map_err(Unanswered::passing)?,
            Err(_) => {
                process.end().await.map_err(Unanswered::passing)?;
                return Err(Unanswered::passing(format!("{:?} used up its {:?}", self.command, self.time)));
            }
        };
        if !exit.success() {
            let tail = tail(&log, TAIL);
            return Err(Unanswered::passing(format!("{:?} ended with {exit}:\n{tail}", self.command)));
        }
        let left = tokio::fs::read(&output).await.map_err(|error| {
            Unanswered::passing(format!("{:?} left nothing in $VERBATIM_OUTPUT_JSON: {error}", self.command))
        })?;
        serde_json::from_slice(&left).map_err(|error| {
            Unanswered::for_good(format!("{:?} left what is no JSON: {error}", self.command))
        })
    }
}

impl Source {
    /// Asks once.
    pub(crate) async fn ask(&self, launcher: &Launcher, value: Value) -> Result<Value, Unanswered> {
        match self {
            Self::Function(plugin) => {
                let called = plugin.call(json!({ "args": [value] }), Bytes::new()).await;
                called.map(|(answer, _)| answer).map_err(|error| Unanswered {
                    passes: !matches!(&error, PluginError::Refused { cause: Cause::BadResult, .. }),
                    problem: error.to_string(),
                })
            }
            Self::Command(command) => command.ask(launcher, &value).await,
            Self::Url(url) => url.ask(&value).await,
        }
    }
}
