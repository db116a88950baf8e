//! Who may do what.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use ipnet::IpNet;
use subtle::ConstantTimeEq;
use verbatim_session::Session;

use crate::{ApiError, App};

/// Who may open sessions, take their rows and give orders. By default everyone who reaches the server.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The key that lets anyone in.
    pub key: Option<ControlKey>,
    /// Networks whose hosts need no key.
    pub trusted: Vec<IpNet>,
}

/// The key that opens session creation, samples and control.
#[derive(Clone)]
pub struct ControlKey(String);

/// A control key that is too short to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a control key needs at least {least} characters, this one has {length}; make one with `openssl rand -hex 16`"
)]
pub struct ShortKey {
    /// How many it has.
    pub length: usize,
    /// How many it needs.
    pub least: usize,
}

impl ControlKey {
    const LEAST: usize = 16;

    /// Takes a key, white space around it removed.
    ///
    /// # Errors
    /// [`ShortKey`] below 16 characters.
    pub fn new(key: &str) -> Result<Self, ShortKey> {
        let key = key.trim();
        let length = key.chars().count();
        if length < Self::LEAST {
            return Err(ShortKey { length, least: Self::LEAST });
        }
        Ok(Self(key.to_owned()))
    }

    /// Compares in constant time (in the key's length).
    fn is(&self, key: &str) -> bool {
        self.0.as_bytes().ct_eq(key.as_bytes()).into()
    }
}

impl std::fmt::Debug for ControlKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ControlKey(…)")
    }
}

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Who sends a request.
pub(crate) struct Caller {
    bearer: Option<String>,
    /// Anthropic's clients send their key so.
    api_key: Option<String>,
    peer: Option<IpAddr>,
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let header = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = header
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, key)| key.trim().to_owned());
        let api_key = parts.headers.get("x-api-key").and_then(|value| value.to_str().ok());
        let api_key = api_key.map(|key| key.trim().to_owned());
        let peer = parts.extensions.get::<Peer>().map(|Peer(ip)| ip.to_canonical());
        Ok(Self { bearer, api_key, peer })
    }
}

impl Caller {
    /// The key of its `Authorization: Bearer` header.
    pub(crate) fn bearer(&self) -> Option<&str> {
        self.bearer.as_deref()
    }
}

/// The session that a request is for: the one that its path names, else the one whose token it sends as a key.
pub(crate) struct Addressed(pub(crate) Arc<Session>);

impl FromRequestParts<App> for Addressed {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        // A route without parameters has none to give.
        let path = RawPathParams::from_request_parts(parts, app).await.ok();
        let named = path.as_ref().and_then(|path| path.iter().find(|(name, _)| *name == "session"));
        if let Some((_, token)) = named {
            return Ok(Self(app.sessions.get(token)?));
        }
        let Ok(caller) = Caller::from_request_parts(parts, app).await;
        Ok(Self(app.keyed(&caller)?))
    }
}

impl App {
    /// The session whose token the caller sends as a key. Of two keys one may be meant for somebody else.
    fn keyed(&self, caller: &Caller) -> Result<Arc<Session>, ApiError> {
        let keys = [&caller.bearer, &caller.api_key].into_iter().flatten();
        let mut refused = ApiError::unauthorized(
            "send the session's token as `Authorization: Bearer SESSION` or as `x-api-key: SESSION`",
        );
        for key in keys {
            match self.sessions.get(key) {
                Ok(session) => return Ok(session),
                Err(error) => refused = error.into(),
            }
        }
        Err(refused)
    }

    /// Lets the holder of the control key pass, and the hosts that need none; everyone, if there is neither.
    pub(crate) fn controlled(&self, caller: &Caller) -> Result<(), ApiError> {
        let Access { key, trusted } = &self.access;
        let trusts = |peer: IpAddr| trusted.iter().any(|network| network.contains(&peer));
        let open = key.is_none() && trusted.is_empty();
        let knows = || key.as_ref().zip(caller.bearer()).is_some_and(|(key, told)| key.is(told));
        if open || caller.peer.is_some_and(trusts) || knows() {
            return Ok(());
        }
        Err(ApiError::unauthorized(
            "this needs the control key: send it as `Authorization: Bearer KEY` (the server was started with \
             --control-key-file or --trust-cidr)",
        ))
    }
}
