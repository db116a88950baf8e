//! What functions may answer.
//!
//! The invariant: an answer that is not exactly one of these is refused, by what it is and what was expected; no
//! number is invented, and none that is not finite comes in.

use serde_json::{Map, Value};
use verbatim_agents::Reward;
use verbatim_samples::Advantages;

use super::Finished;

/// A reward as a number, and as an object the fields that it came with.
pub(crate) type Numbered = (f64, Option<Map<String, Value>>);

/// The number of a reward; of an object it is the field `key`.
pub(crate) fn number(reward: Reward, key: &str) -> Result<Numbered, String> {
    match reward {
        Reward::Number(number) => Ok((number, None)),
        Reward::Fields(fields) => match fields.get(key).and_then(Value::as_f64) {
            Some(number) => Ok((number, Some(fields))),
            None => {
                let names: Vec<_> = fields.keys().map(String::as_str).collect();
                let names = names.join(", ");
                Err(format!(
                    "reward: the object has no number {key:?} (it has {names}); reward.key names the field"
                ))
            }
        },
    }
}

/// One reward: a number, or an object with it.
pub(super) fn reward(value: Value, key: &str) -> Result<Numbered, String> {
    match value {
        Value::Number(given) => {
            given.as_f64().map(|number| (number, None)).ok_or_else(|| format!("{given} is no reward"))
        }
        Value::Object(fields) => number(Reward::Fields(fields), key),
        other => Err(format!("it answered {}; a reward is a number, or an object of them", kind(&other))),
    }
}

/// One reward for each of `sessions`.
pub(super) fn rewards(value: Value, key: &str, sessions: usize) -> Result<Vec<Numbered>, String> {
    let Value::Array(list) = value else {
        return Err(format!("it answered {}; give a list with a reward for each session", kind(&value)));
    };
    if list.len() != sessions {
        return Err(format!("{} rewards for {sessions} sessions; give one for each", list.len()));
    }
    let one = |(at, value)| reward(value, key).map_err(|problem| format!("session {at}: {problem}"));
    list.into_iter().enumerate().map(one).collect()
}

/// Advantages of every context of every session, in the order of their rows; `None` if there are none, which is
/// this answer's way to say that the group teaches nothing.
pub(super) fn advantages(
    value: Value,
    sessions: &[Finished],
) -> Result<Option<Vec<Vec<Advantages>>>, String> {
    let list = match value {
        Value::Null => return Ok(None),
        Value::Array(list) => list,
        other => {
            return Err(format!(
                "it answered {}; give None, or a list with a mapping a session",
                kind(&other)
            ));
        }
    };
    if list.len() != sessions.len() {
        return Err(format!("{} mappings for {} sessions; give one for each", list.len(), sessions.len()));
    }
    let all = sessions.iter().zip(list).enumerate().map(|(at, (session, value))| {
        let Value::Object(mut mapping) = value else {
            return Err(format!("session {at}: {} is no mapping from context names", kind(&value)));
        };
        let rows = session.rows.iter().map(|row| {
            let key = session.key(row);
            let value = mapping.remove(&key);
            let value = value.ok_or_else(|| format!("session {at}: context {key:?} has no advantage"))?;
            of_context(value).map_err(|problem| format!("session {at}, context {key:?}: {problem}"))
        });
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        match mapping.keys().next() {
            Some(key) => Err(format!("session {at}: it has no context {key:?}")),
            None => Ok(rows),
        }
    });
    all.collect::<Result<_, _>>().map(Some)
}

fn of_context(value: Value) -> Result<Advantages, String> {
    let expected = "a number, or a list with a number for each turn";
    match &value {
        Value::Array(list) => {
            let numbers = list.iter().map(Value::as_f64).collect::<Option<Vec<_>>>();
            numbers.map(Advantages::Turns).ok_or_else(|| format!("{value} is not {expected}"))
        }
        value => {
            value.as_f64().map(Advantages::Whole).ok_or_else(|| format!("{} is not {expected}", kind(value)))
        }
    }
}

/// Why a group is not kept, if it is not: `true` and null keep it, `false` and a reason do not.
pub(super) fn kept(value: Value) -> Result<Option<String>, String> {
    match value {
        Value::Null | Value::Bool(true) => Ok(None),
        Value::Bool(false) => Ok(Some(String::new())),
        Value::String(reason) => Ok(Some(reason)),
        Value::Object(fields) => match (fields.get("keep"), fields.get("reason")) {
            (Some(Value::Bool(true)), _) => Ok(None),
            (Some(Value::Bool(false)), reason) => {
                Ok(Some(reason.and_then(Value::as_str).unwrap_or_default().to_owned()))
            }
            _ => Err("its object has no \"keep\" that is true or false".to_owned()),
        },
        other => Err(format!("it answered {}; give true, false, or the reason to drop", kind(&other))),
    }
}

/// What a value is, for people.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "None",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reward_is_a_number_or_an_object_with_its_key() {
        assert_eq!(reward(json!(0.5), "reward"), Ok((0.5, None)));
        let object = json!({"acc": 1, "format": 0.5});
        assert_eq!(reward(object.clone(), "acc"), Ok((1.0, object.as_object().cloned())));
        let refused = reward(object, "reward").unwrap_err();
        assert!(
            refused.contains("\"reward\"")
                && refused.contains("acc, format")
                && refused.contains("reward.key")
        );
        for none in [json!(null), json!(true), json!("1"), json!([1]), json!({"reward": "1"})] {
            assert!(reward(none.clone(), "reward").is_err(), "{none}");
        }
    }

    #[test]
    fn a_groups_rewards_are_one_for_each_session() {
        assert_eq!(rewards(json!([1, 0]), "reward", 2).map(|all| all.len()), Ok(2));
        let few = rewards(json!([1]), "reward", 2).unwrap_err();
        assert!(few.contains("1 rewards for 2 sessions"), "{few}");
        let null = rewards(json!([1, null]), "reward", 2).unwrap_err();
        assert!(null.contains("session 1"), "{null}");
    }

    #[test]
    fn advantages_are_none_or_one_mapping_a_session() {
        assert_eq!(advantages(json!(null), &[]), Ok(None));
        assert_eq!(advantages(json!([]), &[]), Ok(Some(Vec::new())));
        let more = advantages(json!([{}]), &[]).unwrap_err();
        assert!(more.contains("1 mappings for 0 sessions"), "{more}");
        assert!(advantages(json!(1.0), &[]).is_err());
        assert_eq!(of_context(json!([1, 0.5])), Ok(Advantages::Turns(vec![1.0, 0.5])));
        for wrong in [json!([1, null]), json!("1"), json!({"a": 1}), json!(null)] {
            assert!(of_context(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_filter_keeps_or_says_why_not() {
        for keeps in [json!(true), json!(null), json!({"keep": true, "reason": "good"})] {
            assert_eq!(kept(keeps), Ok(None));
        }
        assert_eq!(kept(json!(false)), Ok(Some(String::new())));
        assert_eq!(kept(json!("all equal")), Ok(Some("all equal".into())));
        assert_eq!(kept(json!({"keep": false, "reason": "all equal"})), Ok(Some("all equal".into())));
        for wrong in [json!(1), json!([]), json!({"reason": "x"})] {
            assert!(kept(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
