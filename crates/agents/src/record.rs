//! A context that an agent exports by name.
//!
//! The invariant: names are there, not empty, and unique. Whether the session holds the conversation is not known
//! here.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::BadOutput;
use crate::output::{Reward, TurnRewards, bad, reward, turn_rewards};

/// One exported context.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its name, unique in the session.
    pub name: String,
    /// Its `messages`, `tools` and `chat_template_kwargs`: the body of a chat request that holds just them.
    pub conversation: Vec<u8>,
    /// Its own data.
    pub metadata: Map<String, Value>,
    /// Its own reward.
    pub reward: Option<Reward>,
    /// Rewards of its turns.
    pub turn_rewards: Option<TurnRewards>,
}

/// Reads records, each with its number; `place` is what the number counts. Keys that mean nothing are added to
/// `unknown`.
pub(crate) fn records(
    list: Vec<(usize, Map<String, Value>)>,
    place: &str,
    unknown: &mut Vec<String>,
) -> Result<Vec<Record>, BadOutput> {
    let mut names = HashSet::new();
    let mut read = Vec::with_capacity(list.len());
    for (number, fields) in list {
        let record =
            record(fields, unknown).map_err(|error| bad(format!("{place} {number}: {}", error.problem)))?;
        if !names.insert(record.name.clone()) {
            return Err(bad(format!(
                "{place} {number}: name: {:?} is there already; names must differ",
                record.name
            )));
        }
        read.push(record);
    }
    if read.is_empty() {
        return Err(bad("records: the list is empty; leave it out to export the session's leaves"));
    }
    Ok(read)
}

fn record(fields: Map<String, Value>, unknown: &mut Vec<String>) -> Result<Record, BadOutput> {
    let mut conversation = Map::new();
    let mut name = None;
    let (mut metadata, mut own, mut of_turns) = (Map::new(), None, None);
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("name", Value::String(text)) if !text.is_empty() => name = Some(text),
            ("name", other) => return Err(bad(format!("name: {other} is no non-empty string"))),
            ("messages", Value::Array(list)) if !list.is_empty() => {
                conversation.insert(key, Value::Array(list));
            }
            ("messages", other) => return Err(bad(format!("messages: {other} is no list of messages"))),
            (_, Value::Null) => {}
            ("tools", Value::Array(list)) => drop(conversation.insert(key, Value::Array(list))),
            ("tools", other) => return Err(bad(format!("tools: {other} is no list"))),
            ("chat_template_kwargs", Value::Object(fields)) => {
                conversation.insert(key, Value::Object(fields));
            }
            ("chat_template_kwargs" | "metadata", other) if !other.is_object() => {
                return Err(bad(format!("{key}: {other} is not an object")));
            }
            ("metadata", Value::Object(fields)) => metadata = fields,
            ("reward", value) => own = reward("reward", value)?,
            ("turn_rewards", value) => of_turns = turn_rewards("turn_rewards", value)?,
            _ => unknown.push(key),
        }
    }
    let name = name.ok_or_else(|| bad("name is missing; every record needs a name of its own"))?;
    if !conversation.contains_key("messages") {
        return Err(bad(format!(
            "messages are missing in {name:?}; a record is a conversation of the session's"
        )));
    }
    let conversation = serde_json::to_vec(&conversation).map_err(|error| bad(error.to_string()))?;
    Ok(Record { name, conversation, metadata, reward: own, turn_rewards: of_turns })
}
