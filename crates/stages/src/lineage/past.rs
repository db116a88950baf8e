//! What a recording has told so far: the turns that later requests may go on from.
//!
//! The invariant: a past holds the conversation as it was *stored*: of a turn that came back in another spelling, the
//! spelling in which it was replied.

use std::sync::Arc;

use serde_json::{Value, json};
use verbatim_chat::{Message, Setup};

use super::Projected;
use crate::recording::{Outcome, Reply};

/// A request that was read, and its reply where there is one.
#[derive(Clone, Debug)]
pub(super) struct Past {
    /// Its number in the recording.
    pub(super) request: usize,
    pub(super) setup: Setup,
    /// What was asked with.
    pub(super) prompt: Vec<Arc<Message>>,
    /// What was replied; none if it is not known to have come whole.
    pub(super) reply: Option<Arc<Message>>,
    /// The request's head, where it names what follows.
    pub(super) front: usize,
    /// The turn that it goes on from.
    pub(super) parent: Option<usize>,
    /// Its context: leaves that grow from one another share one.
    pub(super) context: usize,
    /// Whether its outcome is unknown, so that a reply may have been had.
    pub(super) unknown: bool,
    /// Whose it is, where its client says so.
    pub(super) agent: Option<String>,
    /// When it came and when it was over.
    pub(super) during: Option<(f64, f64)>,
    id: Option<String>,
    items: Vec<String>,
    /// The raw list of items that a Responses request had.
    asked: Vec<Value>,
}

impl Past {
    pub(super) fn new(
        request: usize,
        projected: &Projected,
        prompt: Vec<Arc<Message>>,
        outcome: &Outcome,
        body: &str,
    ) -> Self {
        let reply: Option<&Reply> = match outcome {
            Outcome::Replied(reply) => Some(reply),
            _ => None,
        };
        let asked: Option<Value> = serde_json::from_str(body).ok();
        Self {
            request,
            setup: projected.setup.clone(),
            prompt,
            reply: reply.map(|reply| Arc::new(reply.message.clone())),
            front: projected.front,
            parent: None,
            context: 0,
            unknown: *outcome == Outcome::Unknown,
            agent: None,
            during: None,
            id: reply.and_then(|reply| reply.id.clone()),
            items: reply.map(|reply| reply.items.clone()).unwrap_or_default(),
            asked: asked.as_ref().and_then(|body| body["input"].as_array().cloned()).unwrap_or_default(),
        }
    }

    /// The whole conversation, the reply included.
    pub(super) fn path(&self) -> impl Iterator<Item = &Message> {
        self.prompt.iter().chain(&self.reply).map(AsRef::as_ref)
    }

    pub(super) fn names(&self, response: &str) -> bool {
        self.id.as_deref() == Some(response)
    }

    fn has_item(&self, id: &str) -> bool {
        self.items.iter().any(|item| item == id)
    }

    fn called(&self, call: &str) -> bool {
        let calls = self.reply.iter().flat_map(|reply| &reply.tool_calls);
        calls.filter_map(|known| known.id.as_deref()).any(|id| id == call)
    }
}

/// Puts in place of each item that a request only names the item itself.
///
/// # Errors
/// The name of an item that no reply of the recording can have had.
pub(super) fn recalled(body: &mut Value, pasts: &[Past]) -> Result<(), String> {
    let Some(items) = body["input"].as_array() else { return Ok(()) };
    if !items.iter().any(|item| item["type"] == "item_reference") {
        return Ok(());
    }
    let mut told = Vec::new();
    for (at, item) in items.iter().enumerate() {
        if item["type"] != "item_reference" {
            told.push(item.clone());
            continue;
        }
        let id = item["id"].as_str().unwrap_or_default();
        let kind = id.split('_').next().unwrap_or_default();
        let past = producer(pasts, items, at, id)
            .ok_or_else(|| format!("input: no reply of the recording has {id}"))?;
        told.extend(past.reply.iter().flat_map(|reply| spelled(reply, kind)));
    }
    body["input"] = Value::Array(told);
    Ok(())
}

/// The reply that an item at `at` is of: that which had its id, else that which made a call of its run, else that which
/// was asked for with exactly what stands before the run.
fn producer<'p>(pasts: &'p [Past], items: &[Value], at: usize, id: &str) -> Option<&'p Past> {
    let replied = |item: &Value| {
        ["item_reference", "function_call", "reasoning"].contains(&item["type"].as_str().unwrap_or_default())
            || item["role"] == "assistant"
    };
    let from = items[..at].iter().rposition(|item| !replied(item)).map_or(0, |last| last + 1);
    let run = || items[from..].iter().take_while(|item| replied(item));
    let called =
        |past: &&Past| run().filter_map(|item| item["call_id"].as_str()).any(|call| past.called(call));
    let latest = || pasts.iter().rev();
    latest()
        .find(|past| past.has_item(id))
        .or_else(|| latest().find(called))
        .or_else(|| latest().find(|past| past.asked == items[..from]))
}

fn spelled(reply: &Message, kind: &str) -> Vec<Value> {
    match kind {
        "rs" => reply
            .reasoning
            .iter()
            .map(|text| json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}))
            .collect(),
        "msg" => vec![json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": reply.content.text()}]})],
        _ => Vec::new(),
    }
}
