//! Recordings that browsers and proxies make: HAR 1.2.
//!
//! The invariant: times are counted from the first entry; a body that HAR keeps in another encoding than text is
//! unknown.

use chrono::DateTime;
use serde_json::Value;

use super::{Dialect, Exchange, Outcome, Recording, reply};

/// The recording in a HAR document; none if it is no HAR.
pub(super) fn read(document: &Value) -> Option<Recording> {
    let mut entries: Vec<&Value> = document["log"]["entries"].as_array()?.iter().collect();
    entries.sort_by_key(|entry| began(entry));
    let first = entries.first().and_then(|entry| began(entry));
    let mut recording = Recording::default();
    for entry in entries {
        let request = &entry["request"];
        let Some(url) = request["url"].as_str() else { continue };
        let path =
            url.split_once("://").map_or(url, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
        let (Some(dialect), Some(body)) = (Dialect::of(path), request["postData"]["text"].as_str()) else {
            recording.strangers.push(path.to_owned());
            continue;
        };
        let seconds = |micros: i64| micros as f64 / 1e6;
        let arrived = began(entry).zip(first).map(|(at, first)| seconds(at - first));
        let took = entry["time"].as_f64().filter(|took| *took >= 0.0);
        let headers = request["headers"].as_array().into_iter().flatten().filter_map(|header| {
            Some((header["name"].as_str()?.to_lowercase(), header["value"].as_str()?.to_owned()))
        });
        recording.exchanges.push(Exchange {
            path: path.to_owned(),
            dialect,
            headers: headers.collect(),
            body: body.into(),
            arrived,
            ended: arrived.zip(took).map(|(at, took)| at + took / 1e3),
            outcome: outcome(dialect, &entry["response"]),
        });
    }
    Some(recording)
}

/// When a request went out, in microseconds.
fn began(entry: &Value) -> Option<i64> {
    Some(DateTime::parse_from_rfc3339(entry["startedDateTime"].as_str()?).ok()?.timestamp_micros())
}

fn outcome(dialect: Dialect, response: &Value) -> Outcome {
    let content = &response["content"];
    match (response["status"].as_u64(), content["text"].as_str(), content["encoding"].as_str()) {
        // HAR's word for a request that was broken off.
        (Some(0), _, _) => Outcome::Left,
        (Some(status @ 400..), _, _) => u16::try_from(status).map_or(Outcome::Unknown, Outcome::Refused),
        (Some(_), Some(text), None) => reply(dialect, text).map_or(Outcome::Unknown, Outcome::Replied),
        _ => Outcome::Unknown,
    }
}
