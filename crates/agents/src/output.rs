//! What an agent leaves behind.

use serde_json::{Map, Value};

/// The output file of an agent that ended well. Source of its shape: Relax, "output file".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The reward, if the agent gave a number.
    pub reward: Option<f64>,
    /// The agent's own data; a reward that is an object is kept here under `reward`.
    pub metadata: Map<String, Value>,
    /// Keys that mean nothing here.
    pub unknown: Vec<String>,
}

/// An output that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent's output file is invalid: {problem}")]
pub struct BadOutput {
    /// What is wrong and what was expected.
    pub problem: String,
}

impl Output {
    /// Reads an output file's text. Missing or blank is an empty output.
    ///
    /// # Errors
    /// [`BadOutput`] if it is not one JSON object, or a field has another type.
    pub fn parse(text: &str) -> Result<Self, BadOutput> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let bad = |problem: String| BadOutput { problem };
        let fields: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            bad(format!("it must be one JSON object with \"reward\" and \"metadata\": {error}"))
        })?;
        let mut output = Self::default();
        for (name, value) in fields {
            match (name.as_str(), value) {
                (_, Value::Null) => {}
                ("reward", Value::Number(number)) => output.reward = number.as_f64(),
                ("reward", Value::Object(fields)) => {
                    output.reward = fields.get("reward").and_then(Value::as_f64);
                    output.metadata.insert(name, Value::Object(fields));
                }
                ("reward", other) => {
                    return Err(bad(format!("reward: {other} is neither a number nor an object")));
                }
                ("metadata", Value::Object(fields)) => output.metadata.extend(fields),
                ("metadata", other) => return Err(bad(format!("metadata: {other} is not an object"))),
                ("messages", _) => {
                    return Err(bad(
                        "messages: explicit export is not supported; leave it out to export the session's leaf".into(),
                    ));
                }
                _ => output.unknown.push(name),
            }
        }
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rewards_are_numbers_or_objects() {
        assert_eq!(Output::parse(" \n"), Ok(Output::default()));
        assert_eq!(Output::parse(r#"{"reward": 1, "metadata": {"a": 2}}"#).map(|o| o.reward), Ok(Some(1.0)));
        let detailed = Output::parse(r#"{"reward": {"reward": 0.5, "format": 1}, "extra": 1}"#).unwrap();
        assert_eq!((detailed.reward, detailed.unknown), (Some(0.5), vec!["extra".to_owned()]));
        assert_eq!(detailed.metadata["reward"], json!({"reward": 0.5, "format": 1}));
    }

    #[test]
    fn what_cannot_be_read_is_said_with_its_field() {
        for (text, names) in [
            ("[1]", "JSON object"),
            ("{", "JSON object"),
            (r#"{"reward": "1"}"#, "reward"),
            (r#"{"metadata": 1}"#, "metadata"),
        ] {
            let refused = Output::parse(text).unwrap_err().problem;
            assert!(refused.contains(names), "{text}: {refused}");
        }
    }
}
