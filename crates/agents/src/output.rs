//! What an agent leaves behind.
//!
//! The invariant: what cannot be read is refused with the record and the field, and what means nothing here is
//! listed. Source of the file's shape: Relax, "output file".

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::record::{Record, records};

/// What an agent that ended well says of its session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The session's reward, if the agent gave one.
    pub reward: Option<Reward>,
    /// Rewards of single turns, where the session has one context.
    pub turn_rewards: Option<TurnRewards>,
    /// The agent's own data.
    pub metadata: Map<String, Value>,
    /// The contexts that it exports by name; `None` leaves the choice to the rollout's pick.
    pub records: Option<Vec<Record>>,
    /// Keys that mean nothing here.
    pub unknown: Vec<String>,
}

/// A reward as agents and reward functions give it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reward {
    /// The reward.
    Number(f64),
    /// An object; one of its fields is the reward, the other numbers are metrics.
    Fields(Map<String, Value>),
}

/// Rewards of single turns.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnRewards {
    /// One for each turn of the context, in order.
    InOrder(Vec<Option<f64>>),
    /// By the id of the turn's reply.
    ByReply(BTreeMap<String, f64>),
}

/// An output that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent's output is invalid: {problem}")]
pub struct BadOutput {
    /// What is wrong and what was expected.
    pub problem: String,
}

pub(crate) fn bad(problem: impl Into<String>) -> BadOutput {
    BadOutput { problem: problem.into() }
}

impl Output {
    /// Reads an output file's text: nothing, one object, or lines of records that each have `messages`.
    ///
    /// # Errors
    /// [`BadOutput`], naming the record and the field.
    pub fn parse(text: &str) -> Result<Self, BadOutput> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let whole = match serde_json::from_str(text) {
            Ok(Value::Object(fields)) if fields.contains_key("messages") => return lines(vec![(1, fields)]),
            Ok(Value::Object(fields)) => return Self::of(fields, Rest::Unknown),
            Ok(Value::Array(_)) => {
                return Err(bad("a list at the top level; write one JSON object a line, each a record"));
            }
            Ok(other) => format!("{other} is no object"),
            Err(error) => error.to_string(),
        };
        // Lines end at line feeds only: U+2028 and its like are text.
        let all: Vec<_> = text.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()).collect();
        if all.len() < 2 {
            return Err(bad(format!("it must be one JSON object with \"reward\" and \"metadata\": {whole}")));
        }
        let object = |(at, line): (usize, &str)| match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => Ok((at + 1, fields)),
            Ok(_) => Err(bad(format!("line {}: a record must be a JSON object", at + 1))),
            Err(error) => Err(bad(format!("line {}: not a JSON object: {error}", at + 1))),
        };
        lines(all.into_iter().map(object).collect::<Result<_, _>>()?)
    }

    /// What a function returned or a service answered: as the object of a file, or with the records in a list
    /// under `records`. What else it holds is metadata.
    ///
    /// # Errors
    /// [`BadOutput`], naming the record and the field.
    pub fn returned(fields: Map<String, Value>) -> Result<Self, BadOutput> {
        Self::of(fields, Rest::Metadata)
    }

    fn of(fields: Map<String, Value>, rest: Rest) -> Result<Self, BadOutput> {
        let mut output = Self::default();
        for (name, value) in fields {
            match (name.as_str(), value, rest) {
                (_, Value::Null, _) => {}
                ("reward", value, _) => output.reward = reward("reward", value)?,
                ("turn_rewards", value, _) => output.turn_rewards = turn_rewards("turn_rewards", value)?,
                ("metadata", Value::Object(fields), _) => output.metadata.extend(fields),
                ("metadata", other, _) => return Err(bad(format!("metadata: {other} is not an object"))),
                ("records", Value::Array(list), Rest::Metadata) => {
                    let object = |(at, value): (usize, Value)| match value {
                        Value::Object(fields) => Ok((at + 1, fields)),
                        other => Err(bad(format!("records[{at}]: {other} is no object"))),
                    };
                    let list = list.into_iter().enumerate().map(object).collect::<Result<_, _>>()?;
                    output.records = Some(records(list, "record", &mut output.unknown)?);
                }
                ("records", other, Rest::Metadata) => {
                    return Err(bad(format!("records: {other} is no list of records")));
                }
                (_, value, Rest::Metadata) => drop(output.metadata.insert(name, value)),
                (_, _, Rest::Unknown) => output.unknown.push(name),
            }
        }
        Ok(output)
    }
}

/// What keys are that an output has beyond its own.
#[derive(Clone, Copy)]
enum Rest {
    /// Nothing that is known here.
    Unknown,
    /// The agent's data.
    Metadata,
}

fn lines(all: Vec<(usize, Map<String, Value>)>) -> Result<Output, BadOutput> {
    let mut output = Output::default();
    output.records = Some(records(all, "line", &mut output.unknown)?);
    Ok(output)
}

/// A reward, or none.
pub(crate) fn reward(field: &str, value: Value) -> Result<Option<Reward>, BadOutput> {
    match value {
        Value::Null => Ok(None),
        Value::Number(number) => Ok(number.as_f64().map(Reward::Number)),
        Value::Object(fields) => Ok(Some(Reward::Fields(fields))),
        other => Err(bad(format!("{field}: {other} is neither a number nor an object"))),
    }
}

/// Rewards of turns, or none.
pub(crate) fn turn_rewards(field: &str, value: Value) -> Result<Option<TurnRewards>, BadOutput> {
    let expected = "a list with a number or null for each turn, or an object of numbers by reply id";
    match value {
        Value::Null => Ok(None),
        Value::Array(list) => {
            let one = |(at, value): (usize, &Value)| match value {
                Value::Null => Ok(None),
                value => value
                    .as_f64()
                    .map(Some)
                    .ok_or_else(|| bad(format!("{field}[{at}]: {value} is no number; give {expected}"))),
            };
            Ok(Some(TurnRewards::InOrder(list.iter().enumerate().map(one).collect::<Result<_, _>>()?)))
        }
        Value::Object(fields) => {
            let one = |(reply, value): (String, Value)| match value.as_f64() {
                Some(number) => Ok((reply, number)),
                None => Err(bad(format!("{field}.{reply}: {value} is no number; give {expected}"))),
            };
            Ok(Some(TurnRewards::ByReply(fields.into_iter().map(one).collect::<Result<_, _>>()?)))
        }
        other => Err(bad(format!("{field}: {other} is not {expected}"))),
    }
}
