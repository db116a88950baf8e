//! Messages split as they are canonical.
//!
//! The invariant: every tool result is a message of its own, and so is what stands before, between and after them
//! in a user's message; every other message is one. Nothing but roles and types is read for that.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::block::{IsResult, unmarked};
use crate::Invalid;
use crate::body::Body;
use crate::fields::{excerpt, read};

/// A canonical message that was not parsed.
pub(super) struct Unit<'a> {
    /// Its place in `messages`.
    pub(super) at: usize,
    /// The role as it was sent.
    pub(super) role: &'a RawValue,
    pub(super) said: Said<'a>,
    /// Fields of the message besides role and content, told with its first unit.
    pub(super) more: Vec<(String, &'a RawValue)>,
}

/// What a unit says.
pub(super) enum Said<'a> {
    /// Content that is no list.
    Whole(&'a RawValue),
    /// Blocks that begin at a place in the content.
    Blocks { from: usize, blocks: Vec<&'a RawValue> },
    /// One tool's result, at a place in the content.
    Result { from: usize, block: &'a RawValue },
}

/// Splits `messages`.
pub(super) fn split(raw: &RawValue) -> Result<Vec<Unit<'_>>, Invalid> {
    let messages: Vec<&RawValue> = read("messages", raw, "a list of messages")?.unwrap_or_default();
    let mut units = Vec::new();
    for (at, raw) in messages.into_iter().enumerate() {
        message(at, raw, &mut units)?;
    }
    Ok(units)
}

fn message<'a>(at: usize, raw: &'a RawValue, units: &mut Vec<Unit<'a>>) -> Result<(), Invalid> {
    let path = format!("messages[{at}]");
    let body = Body::of_object(&path, raw)?;
    let missing = |name: &str, problem: &str| Invalid::new(format!("{path}.{name}"), problem);
    let role =
        body.get("role").ok_or_else(|| missing("role", "must be \"user\", \"assistant\" or \"system\""))?;
    let content = body
        .get("content")
        .ok_or_else(|| missing("content", "must be a string or a list of content blocks"))?;
    let mut more: Vec<_> =
        body.0.into_iter().filter(|(name, _)| name != "role" && name != "content").collect();
    let mut unit = |said| units.push(Unit { at, role, said, more: std::mem::take(&mut more) });
    if !content.get().starts_with('[') {
        unit(Said::Whole(content));
        return Ok(());
    }
    let field = format!("{path}.content");
    let blocks: Vec<&RawValue> = read(&field, content, "a list of content blocks")?.unwrap_or_default();
    if role.get() != "\"user\"" || blocks.is_empty() {
        unit(Said::Blocks { from: 0, blocks });
        return Ok(());
    }
    let (mut from, mut run) = (0, Vec::new());
    for (place, raw) in blocks.into_iter().enumerate() {
        let IsResult(is_result) = serde_json::from_str(raw.get()).map_err(|error| {
            Invalid::new(
                format!("{field}[{place}]"),
                format!("{} is no content block: {error}", excerpt(raw)),
            )
        })?;
        if is_result {
            if !run.is_empty() {
                unit(Said::Blocks { from, blocks: std::mem::take(&mut run) });
            }
            unit(Said::Result { from: place, block: raw });
            from = place + 1;
        } else {
            run.push(raw);
        }
    }
    if !run.is_empty() {
        unit(Said::Blocks { from, blocks: run });
    }
    Ok(())
}

impl Unit<'_> {
    /// The bytes it is recognised by.
    pub(super) fn bytes(&self) -> Vec<Cow<'_, [u8]>> {
        let of = |raw| match unmarked(raw) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        };
        let mut bytes: Vec<Cow<'_, [u8]>> = vec![Cow::Borrowed(self.role.get().as_bytes())];
        match &self.said {
            Said::Whole(raw) => {
                bytes.extend([Cow::Borrowed(&b"whole"[..]), Cow::Borrowed(raw.get().as_bytes())])
            }
            Said::Blocks { blocks, .. } => {
                bytes.push(Cow::Borrowed(b"blocks"));
                bytes.extend(blocks.iter().map(|raw| of(raw)));
            }
            Said::Result { block, .. } => bytes.extend([Cow::Borrowed(&b"result"[..]), of(block)]),
        }
        bytes
    }
}
