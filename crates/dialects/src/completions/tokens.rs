//! Ids for ids: a wire of our own, for clients that tokenise themselves.

use serde::Serialize;
use verbatim_events::{Cause, Finish};

use crate::body::Body;
use crate::chat::Usage;
use crate::fields::{is_null, positive, read, refuse};
use crate::{Invalid, Sampling};

/// A request whose fields are checked.
pub struct TokensRequest {
    /// All that the model is to read.
    pub input_ids: Vec<u32>,
    /// What is asked of the sampler; what is left out is the server's to choose.
    pub sampling: Sampling,
    /// What was accepted and will not be acted on.
    pub lost: Vec<Cause>,
}

/// A reply.
#[derive(Clone, Debug, Serialize)]
pub struct Tokens<'a> {
    /// The reply's id.
    pub id: &'a str,
    /// The sampled ids, stop token included.
    pub output_ids: &'a [u32],
    /// One logprob an id; `null` where the engine gave none.
    pub logprobs: Vec<Option<f32>>,
    /// The policy version of each stretch of ids, with its length; `null` where the engine did not say.
    pub versions: Vec<(Option<&'a str>, usize)>,
    /// Alternatives of each id, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_logprobs: Option<Vec<Vec<(u32, f32)>>>,
    /// What the ids say, without the stop token.
    pub text: &'a str,
    /// How the turn ended.
    pub finish_reason: Finish,
    /// Counts.
    pub usage: Usage,
}

impl TokensRequest {
    /// Reads a body.
    ///
    /// # Errors
    /// [`Invalid`] if it is no JSON object, has no ids, or asks for what cannot be given.
    pub fn parse(body: &[u8]) -> Result<Self, Invalid> {
        const EXPECTED: &str = "a list of token ids";
        let Body(fields) = Body::of_request(body)?;
        let mut input_ids = None;
        let (mut sampling, mut lost) = (Sampling::default(), Vec::new());
        for (name, raw) in fields {
            match name.as_str() {
                "input_ids" => input_ids = read(&name, raw, EXPECTED)?,
                _ if sampling.take(&name, raw)? => {}
                "max_tokens" => sampling.max_tokens = positive(&name, raw)?,
                "top_logprobs" => {
                    sampling.top_logprobs = read(&name, raw, "a whole number up to 255")?.unwrap_or_default();
                }
                "stream" => refuse(&name, raw, "ids come whole; completions stream them (return_token_ids)")?,
                _ if is_null(raw) => {}
                _ => lost.push(Cause::FieldIgnored { field: name }),
            }
        }
        let input_ids = input_ids.ok_or_else(|| Invalid::new("input_ids", format!("must be {EXPECTED}")))?;
        Ok(Self { input_ids, sampling, lost })
    }
}
