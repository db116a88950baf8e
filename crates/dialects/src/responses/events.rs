//! One event of a stream.

use serde::Serialize;

use super::items::{Item, Text};
use super::reply::Response;

/// Any event: it has the fields that its type has, and no others.
#[derive(Default, Serialize)]
pub(super) struct Event<'a> {
    pub(super) r#type: &'static str,
    pub(super) sequence_number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<Response<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) item_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) item: Option<&'a Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) part: Option<&'a Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delta: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logprobs: Option<[(); 0]>,
}
