//! Who may do what.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

use crate::{ApiError, App};

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

/// The key of an `Authorization: Bearer` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
}

impl App {
    /// Lets the holder of the control key pass; everyone, if there is none.
    pub(crate) fn controlled(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        match &self.control {
            None => Ok(()),
            Some(control) if bearer(headers).is_some_and(|key| control.is(key)) => Ok(()),
            Some(_) => Err(ApiError::unauthorized(
                "this needs the control key: send it as `Authorization: Bearer KEY` (the server was started with --control-key-file)",
            )),
        }
    }
}
