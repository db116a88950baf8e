//! OpenAI's plain completions, and ids for ids.
//!
//! Source: the OpenAI API reference for `POST /v1/completions` and the shapes that its official SDKs send and accept;
//! prompts of ids and `return_token_ids` as vLLM spells them.

mod reply;
mod request;
mod tokens;

pub use reply::{Chunks, Completion, Logprobs, Spelt};
pub use request::{Prompt, Request};
pub use tokens::{Tokens, TokensRequest};
