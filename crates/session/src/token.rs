//! The secret that opens one session.

use subtle::ConstantTimeEq;
use verbatim_events::SessionId;

/// A session's capability: 128 random bits as 32 hexadecimal digits. Whoever has it can take turns
/// in this session and do nothing else.
#[derive(Clone)]
pub struct SessionToken(String);

/// What a token is looked up by: the table holds no token, so that neither a look-up's time nor a
/// dump of memory's index tells one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TokenHash([u8; 32]);

impl SessionToken {
    /// A new token.
    pub(crate) fn fresh() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The public name of the session that this token opens; it does not reveal the token.
    pub(crate) fn session_id(&self) -> SessionId {
        let digest = blake3::derive_key("verbatim session name", self.0.as_bytes());
        let name: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        SessionId::new(format!("s-{name}"))
    }
}

impl std::fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionToken(…)")
    }
}

impl TokenHash {
    pub(crate) fn of(token: &str) -> Self {
        Self(*blake3::hash(token.as_bytes()).as_bytes())
    }

    /// As it is kept on disk: it opens nothing.
    pub(crate) fn bytes(self) -> [u8; 32] {
        self.0
    }

    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Compares in constant time.
    pub(crate) fn matches(&self, token: &str) -> bool {
        self.0.ct_eq(&Self::of(token).0).into()
    }
}
