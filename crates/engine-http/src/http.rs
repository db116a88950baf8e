//! Requests to one server.
//!
//! The invariant: whatever goes wrong on the way is an [`EngineError`] that says what may be done
//! about it; no reply body is read as success without a status of success.

use bytes::Bytes;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use verbatim_engine::{EngineError, Passed, Told};

use crate::Options;
use crate::failure::{failure, lost};

/// One server, and the keys to it.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    client: Client,
    base: String,
    api_key: Option<String>,
    admin_key: Option<String>,
    control: std::time::Duration,
}

/// Which key a request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// That of ordinary requests.
    Api,
    /// That of control requests, or the ordinary one where there is no other.
    Admin,
}

impl Http {
    pub(crate) fn new(base: &str, options: &Options) -> Result<Self, EngineError> {
        let broken = |reason: String| EngineError::Broken { reason };
        let url = reqwest::Url::parse(base).map_err(|error| broken(format!("{base}: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(broken(format!("{base}: engines are spoken to over http:// or https://")));
        }
        let client = Client::builder()
            .connect_timeout(options.connect)
            // An agent's next turn often comes within seconds; a server's own limit is usually 5 s.
            .pool_idle_timeout(std::time::Duration::from_secs(4))
            .tcp_nodelay(true)
            // An agent's proxy is not the way to the engines.
            .no_proxy()
            .build()
            .map_err(|error| broken(error.to_string()))?;
        Ok(Self {
            client,
            base: base.trim_end_matches('/').to_owned(),
            api_key: options.api_key.clone(),
            admin_key: options.admin_key.clone(),
            control: options.control,
        })
    }

    /// The server's root, without a trailing slash.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    fn request(&self, method: Method, path: &str, key: Key) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        let key = match key {
            Key::Api => self.api_key.as_ref(),
            Key::Admin => self.admin_key.as_ref().or(self.api_key.as_ref()),
        };
        match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Posts a generation; the reply's body is still to come.
    pub(crate) async fn generate(
        &self,
        path: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<Response, EngineError> {
        let mut request = self.request(Method::POST, path, Key::Api);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let response = request
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .map_err(|error| lost(&error, 0))?;
        succeed(response).await
    }

    /// Posts a generation and reads the whole reply.
    pub(crate) async fn generated<B: Serialize, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, EngineError> {
        let reply = self.generate(path, &[], encode(body)?).await?;
        decode(path, &reply.bytes().await.map_err(|error| lost(&error, 0))?)
    }

    /// Passes a client's own request on, under our key; it may take as long as `limit`.
    pub(crate) async fn forward(
        &self,
        passed: Passed,
        limit: std::time::Duration,
    ) -> Result<Told, EngineError> {
        let method = Method::from_bytes(passed.method.as_bytes())
            .map_err(|error| EngineError::Refused { message: error.to_string() })?;
        let mut request = self.request(method, &passed.path, Key::Api).timeout(limit).body(passed.body);
        for (name, value) in &passed.headers {
            request = request.header(name, value);
        }
        let routing = passed.session.0.to_string();
        let response =
            request.header("x-smg-routing-key", routing).send().await.map_err(|error| lost(&error, 0))?;
        let status = response.status().as_u16();
        let headers = response.headers().iter();
        let headers = headers
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
            .collect();
        let body = response.bytes().await.map_err(|error| lost(&error, 0))?;
        Ok(Told { status, headers, body })
    }

    /// A control request with a JSON body; what it replies.
    pub(crate) async fn post(&self, path: &str, body: &serde_json::Value) -> Result<Bytes, EngineError> {
        let request = self.request(Method::POST, path, Key::Admin).json(body).timeout(self.control);
        read(request).await
    }

    /// What is at `path`.
    pub(crate) async fn get(&self, path: &str) -> Result<Bytes, EngineError> {
        self.fetch(path, Key::Api).await
    }

    /// What is at `path`, which only the control key opens.
    pub(crate) async fn get_admin(&self, path: &str) -> Result<Bytes, EngineError> {
        self.fetch(path, Key::Admin).await
    }

    async fn fetch(&self, path: &str, key: Key) -> Result<Bytes, EngineError> {
        let response = self.ask(path, key).await?;
        succeed(response).await?.bytes().await.map_err(|error| lost(&error, 0))
    }

    /// Asks, and once more if the connection was gone before any reply: uvicorn closes one after it
    /// failed inside, and says so only to the next request.
    async fn ask(&self, path: &str, key: Key) -> Result<Response, EngineError> {
        let once = || self.request(Method::GET, path, key).timeout(self.control).send();
        match once().await {
            Err(error) if error.is_request() && !error.is_timeout() && !error.is_connect() => once().await,
            reply => reply,
        }
        .map_err(|error| lost(&error, 0))
    }

    /// The JSON at `path`.
    pub(crate) async fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T, EngineError> {
        decode(path, &self.get(path).await?)
    }

    /// The status of `path`, whatever its body.
    pub(crate) async fn status(&self, path: &str) -> Result<u16, EngineError> {
        Ok(self.ask(path, Key::Api).await?.status().as_u16())
    }
}

async fn read(request: RequestBuilder) -> Result<Bytes, EngineError> {
    let response = request.send().await.map_err(|error| lost(&error, 0))?;
    succeed(response).await?.bytes().await.map_err(|error| lost(&error, 0))
}

async fn succeed(response: Response) -> Result<Response, EngineError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = response.bytes().await.unwrap_or_default();
    Err(failure(status.as_u16(), &body))
}

/// A request as its bytes.
pub(crate) fn encode<T: Serialize>(body: &T) -> Result<Vec<u8>, EngineError> {
    serde_json::to_vec(body).map_err(|error| EngineError::Broken { reason: error.to_string() })
}

/// A JSON body as a type.
pub(crate) fn decode<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T, EngineError> {
    serde_json::from_slice(body).map_err(|error| EngineError::Broken {
        reason: format!("{path} replied with something else than expected: {error}"),
    })
}
