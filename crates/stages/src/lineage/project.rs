//! A request as the conversation it asks to go on with.
//!
//! The invariant: every step that loses or changes something on the way is a [`Finding`]; what cannot be read leaves
//! no conversation behind, so that nobody takes half of one for the whole.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use verbatim_chat::{Content, Message, Role, Setup};
use verbatim_dialects::{Forgetful, Invalid, Wire, anthropic, chat, responses};
use verbatim_events::Cause;

use super::past::{Past, recalled};
use crate::recording::{Dialect, Exchange};

/// Something that a request has and a training row does not, or has otherwise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// A field is accepted and has no effect.
    Ignored(String),
    /// A field is refused, with the problem. It was left out to read on.
    Rejected(String, String),
    /// A role is taken for another.
    Role(String),
    /// A message of this role says nothing.
    Empty(&'static str),
    /// Instructions stand behind the first other message.
    LateSystem,
    /// The first request brings an assistant's turn that nobody sampled.
    Synthetic,
}

/// A request's conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Projected {
    /// Tools and template arguments.
    pub setup: Setup,
    /// All messages, the ones that it only names included.
    pub messages: Vec<Message>,
    /// How many of them its own head brings, which stay in place when a later request names its reply.
    pub front: usize,
    /// Whether the dialect parses arguments, so that their spelling is lost.
    pub parsed: bool,
    /// Whether the reply is to be streamed.
    pub streams: bool,
}

/// Reads a request after those before it. Findings are added in any case; the error says why it has no conversation.
pub(super) fn project(
    exchange: &Exchange,
    pasts: &[Past],
    findings: &mut BTreeSet<Finding>,
) -> Result<Projected, String> {
    let mut body: Value =
        serde_json::from_str(&exchange.body).map_err(|error| format!("the body: {error}"))?;
    if exchange.dialect == Dialect::Responses {
        recalled(&mut body, pasts)?;
    }
    // A field that is refused is left out, so that the rest is looked at, too.
    loop {
        let bytes = body.to_string();
        let mut lost = Vec::new();
        match read(exchange.dialect, bytes.as_bytes(), pasts, &mut lost) {
            Ok(projected) => {
                findings.extend(lost.into_iter().filter_map(finding));
                notice(&projected, pasts.is_empty(), findings);
                return Ok(projected);
            }
            Err(Failure::Unknown(problem)) => return Err(problem),
            Err(Failure::Invalid(invalid)) => {
                findings.insert(Finding::Rejected(invalid.field.clone(), invalid.problem.clone()));
                let whole = ["messages", "input", "body", "max_tokens"].contains(&invalid.field.as_str());
                let removed = body.as_object_mut().and_then(|fields| fields.shift_remove(&invalid.field));
                if whole || removed.is_none() {
                    return Err(invalid.to_string());
                }
            }
        }
    }
}

enum Failure {
    Invalid(Invalid),
    Unknown(String),
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

fn read(dialect: Dialect, body: &[u8], pasts: &[Past], lost: &mut Vec<Cause>) -> Result<Projected, Failure> {
    match dialect {
        Dialect::Chat => {
            let request = chat::Request::parse(body)?;
            lost.extend(request.lost.iter().cloned());
            of_wire(&request, request.stream, pasts, lost)
        }
        Dialect::Responses => {
            let request = responses::Request::parse(body, "model")?;
            lost.extend(request.lost.iter().cloned());
            let mut projected = of_wire(&request, request.stream, pasts, lost)?;
            if request.continues().is_none() {
                let head: Option<Value> = serde_json::from_slice(body).ok();
                projected.front = usize::from(head.is_some_and(|head| head["instructions"].is_string()));
            }
            Ok(projected)
        }
        Dialect::Messages => {
            let request = anthropic::Request::parse(body)?;
            lost.extend(request.lost.iter().cloned());
            of_wire(&request, request.stream, pasts, lost)
        }
    }
}

fn of_wire(
    wire: &impl Wire,
    streams: bool,
    pasts: &[Past],
    lost: &mut Vec<Cause>,
) -> Result<Projected, Failure> {
    let setup = wire.setup(lost)?;
    let mut messages = Vec::with_capacity(wire.len());
    for at in 0..wire.len() {
        messages.push(wire.message(at, &Forgetful, lost)?);
    }
    let mut front = 0;
    if let Some(continued) = wire.continues() {
        let named = pasts.iter().rev().find(|past| past.names(continued.response));
        let past = named.ok_or_else(|| {
            Failure::Unknown(format!(
                "{}: no reply of the recording is {}",
                continued.field, continued.response
            ))
        })?;
        front = continued.front;
        let new = messages.split_off(front);
        messages.extend(past.path().skip(past.front).cloned());
        messages.extend(new);
    }
    Ok(Projected { setup, messages, front, parsed: wire.parses_arguments(), streams })
}

fn finding(cause: Cause) -> Option<Finding> {
    match cause {
        Cause::FieldIgnored { field } => Some(Finding::Ignored(field)),
        Cause::RoleMapped { from } => Some(Finding::Role(from)),
        _ => None,
    }
}

fn notice(projected: &Projected, is_first: bool, findings: &mut BTreeSet<Finding>) {
    let messages = &projected.messages;
    let opening = messages.iter().take_while(|message| message.role == Role::System).count();
    if messages[opening..].iter().any(|message| message.role == Role::System) {
        findings.insert(Finding::LateSystem);
    }
    if is_first && messages.iter().any(|message| message.role == Role::Assistant) {
        findings.insert(Finding::Synthetic);
    }
    for message in messages {
        let says = !message.content.text().is_empty() || !message.tool_calls.is_empty();
        let thinks = message.role == Role::Assistant && message.reasoning.is_some();
        if !says && !thinks && !matches!(message.content, Content::Parts(_)) {
            findings.insert(Finding::Empty(message.role.as_str()));
        }
    }
}
