//! OpenAI Chat Completions.
//!
//! Source: the OpenAI API reference for `POST /v1/chat/completions` and the shapes that its official
//! SDKs send and accept; beyond it `chat_template_kwargs`, `top_k`, `min_p` and `reasoning_content`
//! as SGLang and vLLM spell them.

mod message;
mod reply;
mod request;
mod spell;
mod stream;

pub use reply::{Alternative, Choice, Completion, Spoken, TokenLogprob, Usage};
pub use request::Request;
pub use spell::spell;
pub use stream::Chunks;
