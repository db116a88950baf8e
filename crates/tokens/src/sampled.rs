//! The only thing that trains.

use serde::{Deserialize, Serialize};

use crate::{LogprobKind, Logprobs, Runs, TokenId, Version};

/// Tokens that an engine sampled, each with the engine's own logprob and policy version.
///
/// It has no public field, no `Default` and no `Deserialize`: it comes out of [`Sampled::admit`],
/// which the workspace's lints allow in two places only, the validator of engine replies and the
/// replay of the journal.
///
/// ```compile_fail
/// let invented: verbatim_tokens::Sampled = Default::default();
/// ```
/// ```compile_fail
/// let invented = verbatim_tokens::Sampled { ids: Box::new([]), logprobs: Default::default(),
///     versions: Default::default(), kind: verbatim_tokens::LogprobKind::Raw };
/// ```
/// ```compile_fail
/// let invented: verbatim_tokens::Sampled = serde_json::from_str("{}").unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sampled {
    ids: Box<[TokenId]>,
    logprobs: Logprobs,
    versions: Runs<Option<Version>>,
    kind: LogprobKind,
}

/// A reply whose ids, logprobs and versions do not belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{ids} sampled ids came with {logprobs} logprobs and {versions} versions")]
pub struct LengthMismatch {
    /// How many ids there were.
    pub ids: usize,
    /// How many logprobs there were, missing values included.
    pub logprobs: usize,
    /// How many tokens the versions cover.
    pub versions: usize,
}

impl Sampled {
    /// Admits a validated reply.
    ///
    /// # Errors
    /// [`LengthMismatch`] if ids, logprobs and versions differ in length.
    pub fn admit(
        ids: Vec<TokenId>,
        mut logprobs: Logprobs,
        versions: Runs<Option<Version>>,
        kind: LogprobKind,
    ) -> Result<Self, LengthMismatch> {
        if ids.len() != logprobs.len() || ids.len() != versions.len() {
            return Err(LengthMismatch {
                ids: ids.len(),
                logprobs: logprobs.len(),
                versions: versions.len(),
            });
        }
        logprobs.shrink();
        Ok(Self { ids: ids.into(), logprobs, versions, kind })
    }

    /// The ids in the order they were sampled, stop token included.
    pub fn ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// How many tokens were sampled.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the engine ended before it sampled anything.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// One logprob a token.
    pub fn logprobs(&self) -> &Logprobs {
        &self.logprobs
    }

    /// One policy version a token; `None` where the engine did not tell.
    pub fn versions(&self) -> &Runs<Option<Version>> {
        &self.versions
    }

    /// Which distribution the logprobs were read from.
    pub fn kind(&self) -> LogprobKind {
        self.kind
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the door itself is under test")]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_differ_are_refused() {
        let ids = vec![TokenId(1), TokenId(2)];
        let short = Logprobs::from(vec![Some(-0.1)]);
        let mut versions = Runs::default();
        versions.extend(None, 2);
        let refused = Sampled::admit(ids, short, versions, LogprobKind::Raw);
        assert_eq!(refused, Err(LengthMismatch { ids: 2, logprobs: 1, versions: 2 }));
    }
}
