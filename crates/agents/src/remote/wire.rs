//! What is said to a service of agents, and what it says.
//!
//! | Request | Reply |
//! |---|---|
//! | `POST /tasks` with a [`Task`] | 200 or 202 and `{"id"}`; the same `session_id` again is the same task; 429 or 503: no slot now |
//! | `GET /tasks/{id}` | a [`Report`]; 404 if there is no such task |
//! | `DELETE /tasks/{id}` | any success; the task ends, and its status says when it has |
//! | `GET /slots` | [`Slots`] |

use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::RemoteError;
use crate::Input;

/// A task as it is posted.
#[derive(Debug, Serialize)]
pub(super) struct Task<'a> {
    /// The session's public name: what makes posting it twice the same as once.
    pub(super) session_id: &'a str,
    /// Where the model is, for OpenAI's clients.
    pub(super) base_url: String,
    pub(super) api_key: &'a str,
    pub(super) model: &'a str,
    pub(super) group: &'a str,
    /// `train` or `eval`.
    pub(super) mode: &'a str,
    pub(super) input: &'a Input,
}

#[derive(Debug, Deserialize)]
struct Posted {
    id: String,
}

/// How a task stands.
#[derive(Debug, Deserialize)]
pub(super) struct Report {
    pub(super) status: Status,
    /// Of a task that succeeded, as [`crate::Output::returned`] reads it.
    #[serde(default)]
    pub(super) output: Option<Map<String, Value>>,
    /// Of a task that failed.
    #[serde(default)]
    pub(super) error: Option<String>,
}

/// The states of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Queued,
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl Status {
    /// Whether nothing of the task is left.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// How many tasks a service runs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Slots {
    /// All.
    pub total: usize,
    /// Those without a task.
    pub free: usize,
}

/// What a request came to.
pub(super) enum Came<T> {
    Reply(T),
    /// There is no such task.
    Gone,
    /// There is no slot now.
    Busy,
}

/// The service.
#[derive(Clone, Debug)]
pub(super) struct Service {
    client: Client,
    base: String,
    key: Option<String>,
    deadline: Duration,
}

impl Service {
    pub(super) fn new(base: &str, key: Option<String>, deadline: Duration) -> Result<Self, RemoteError> {
        let bad = |problem: String| RemoteError::Url { url: base.to_owned(), problem };
        let url = reqwest::Url::parse(base).map_err(|error| bad(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("services are spoken to over http:// or https://".into()));
        }
        let client = Client::builder().no_proxy().tcp_nodelay(true).pool_idle_timeout(Duration::from_secs(4));
        let client = client.build().map_err(|error| bad(error.to_string()))?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned(), key, deadline })
    }

    pub(super) async fn post(&self, task: &Task<'_>) -> Result<Came<String>, RemoteError> {
        let came = self.ask::<Posted>(self.request(Method::POST, "/tasks").json(task), "POST /tasks").await?;
        Ok(match came {
            Came::Reply(posted) => Came::Reply(posted.id),
            Came::Gone => Came::Gone,
            Came::Busy => Came::Busy,
        })
    }

    pub(super) async fn report(&self, id: &str) -> Result<Came<Report>, RemoteError> {
        self.ask(self.request(Method::GET, &format!("/tasks/{id}")), "GET /tasks/{id}").await
    }

    pub(super) async fn cancel(&self, id: &str) -> Result<(), RemoteError> {
        let request = self.request(Method::DELETE, &format!("/tasks/{id}"));
        let lost = |error: reqwest::Error| RemoteError::lost("DELETE /tasks/{id}", &error);
        let status = request.send().await.map_err(lost)?.status();
        match status.is_success() || status == StatusCode::NOT_FOUND {
            true => Ok(()),
            false => Err(RemoteError::Refused {
                what: "DELETE /tasks/{id}",
                status: status.as_u16(),
                body: String::new(),
            }),
        }
    }

    pub(super) async fn slots(&self) -> Result<Slots, RemoteError> {
        match self.ask(self.request(Method::GET, "/slots"), "GET /slots").await? {
            Came::Reply(slots) => Ok(slots),
            Came::Gone => Err(RemoteError::Nonsense { what: "GET /slots", problem: "404".into() }),
            Came::Busy => Err(RemoteError::Nonsense { what: "GET /slots", problem: "it is busy".into() }),
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base)).timeout(self.deadline);
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        what: &'static str,
    ) -> Result<Came<T>, RemoteError> {
        let reply = request.send().await.map_err(|error| RemoteError::lost(what, &error))?;
        let status = reply.status();
        let body = reply.bytes().await.map_err(|error| RemoteError::lost(what, &error))?;
        match status {
            StatusCode::NOT_FOUND => Ok(Came::Gone),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Ok(Came::Busy),
            status if status.is_success() => serde_json::from_slice(&body)
                .map(Came::Reply)
                .map_err(|error| RemoteError::Nonsense { what, problem: error.to_string() }),
            status => {
                let body = String::from_utf8_lossy(&body).chars().take(500).collect();
                Err(RemoteError::Refused { what, status: status.as_u16(), body })
            }
        }
    }
}
