//! Recordings of one JSON object a line.
//!
//! The invariant: what [`line`] writes, [`exchange`] reads back as it was. A reply is there in words (`content`,
//! `reasoning`, `calls`) or raw (`raw`), as it came over the wire.

use serde_json::{Map, Value, json};
use verbatim_chat::{Arguments, Content, Message, Role, ToolCall};

use super::reply::{self, Reply};
use super::{Dialect, Exchange, Outcome};

/// One line: `{"request": {path, headers, body}, "reply": {…}, "t", "ended"}`, or the request's keys at the top. `Err` is
/// the path of a request that no dialect reads; none if the line is no request at all.
pub(super) fn exchange(line: &Value) -> Option<Result<Exchange, String>> {
    let request = line.get("request").unwrap_or(line);
    let path = request.get("path").or_else(|| request.get("url"))?.as_str()?;
    let Some(dialect) = Dialect::of(path) else { return Some(Err(path.to_owned())) };
    let headers = request.get("headers").and_then(Value::as_object).into_iter().flatten();
    let headers = headers.filter_map(|(name, value)| Some((name.to_lowercase(), value.as_str()?.to_owned())));
    Some(Ok(Exchange {
        path: path.to_owned(),
        dialect,
        headers: headers.collect(),
        body: request.get("body")?.to_string().into(),
        arrived: line.get("t").and_then(Value::as_f64),
        ended: line.get("ended").and_then(Value::as_f64),
        outcome: outcome(dialect, line.get("reply").unwrap_or(&Value::Null)),
    }))
}

fn outcome(dialect: Dialect, told: &Value) -> Outcome {
    let text = |name: &str| told.get(name).and_then(Value::as_str).map(str::to_owned);
    let status = told.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    if told.get("left") == Some(&Value::Bool(true)) {
        return Outcome::Left;
    }
    if let Some(status) = status.filter(|status| *status >= 400) {
        return Outcome::Refused(status);
    }
    if let Some(raw) = told.get("raw").and_then(Value::as_str) {
        return reply::reply(dialect, raw).map_or(Outcome::Unknown, Outcome::Replied);
    }
    if ["content", "reasoning", "calls"].iter().all(|name| told.get(name).is_none()) {
        return Outcome::Unknown;
    }
    let calls = told.get("calls").and_then(Value::as_array).into_iter().flatten();
    let calls = calls.filter_map(|call| {
        let part = |at: usize| call.get(at).and_then(Value::as_str);
        // Clients of Messages know their calls under a name that begins so.
        let id = part(0).map(|id| match (dialect, id.starts_with("toolu_")) {
            (Dialect::Messages, false) => format!("toolu_{id}"),
            _ => id.to_owned(),
        });
        Some(ToolCall { id, name: part(1)?.to_owned(), arguments: Arguments::Text(part(2)?.to_owned()) })
    });
    let message = Message {
        content: text("content").map_or(Content::Absent, Content::Text),
        reasoning: text("reasoning").filter(|text| !text.is_empty()),
        tool_calls: calls.collect(),
        ..Message::new(Role::Assistant, "")
    };
    Outcome::Replied(Reply { id: text("_id"), finish: text("finish"), ..Reply::new(message) })
}

/// What a recorder writes of a request: its raw reply, when it came and when it was over. Headers that open something
/// are told by their kind only.
pub fn line(exchange: &Exchange, status: Option<u16>, raw: Option<&str>) -> Value {
    let shown = |(name, value): &(String, String)| {
        let value = match name.as_str() {
            "authorization" => value.split(' ').next().unwrap_or_default().to_owned(),
            "x-api-key" | "cookie" => "…".to_owned(),
            _ => value.clone(),
        };
        (name.clone(), Value::from(value))
    };
    let headers: Map<String, Value> = exchange.headers.iter().map(shown).collect();
    let mut told = Map::new();
    if let Some(status) = status {
        told.insert("status".into(), status.into());
    }
    if let Some(raw) = raw {
        told.insert("raw".into(), raw.into());
    }
    if exchange.outcome == Outcome::Left {
        told.insert("left".into(), true.into());
    }
    let body: Value = serde_json::from_str(&exchange.body).unwrap_or(Value::Null);
    json!({
        "request": {"path": exchange.path, "headers": headers, "body": body},
        "reply": told,
        "t": exchange.arrived,
        "ended": exchange.ended,
    })
}
