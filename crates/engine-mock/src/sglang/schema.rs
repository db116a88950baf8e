//! The gate before `/generate`: types of the body, and the closed set of `sampling_params`.

use serde_json::Value;

/// What a field may hold.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    /// A boolean or a list of them.
    Bools,
    Int,
    Number,
    Text,
    /// A string or a list of them.
    Texts,
    /// A list of integers, or of such lists.
    Ids,
    Object,
    Any,
}

/// Checked top-level fields, and whether they may be null. Unknown ones pass.
const TOP: &[(&str, Kind, bool)] = &[
    ("rid", Kind::Texts, true),
    ("text", Kind::Texts, true),
    ("input_ids", Kind::Ids, true),
    ("return_logprob", Kind::Bools, true),
    ("logprob_start_len", Kind::Int, true),
    ("top_logprobs_num", Kind::Int, true),
    ("token_ids_logprob", Kind::Ids, true),
    ("return_text_in_logprobs", Kind::Bool, false),
    ("stream", Kind::Bool, true),
    ("return_hidden_states", Kind::Bools, false),
    ("return_routed_experts", Kind::Bool, false),
    ("routed_experts_start_len", Kind::Int, false),
    ("return_indexer_topk", Kind::Bool, false),
    ("return_prompt_token_ids", Kind::Bool, false),
    ("image_data", Kind::Any, true),
    ("lora_path", Kind::Texts, true),
    ("session_id", Kind::Text, true),
    ("priority", Kind::Int, true),
    ("routed_dp_rank", Kind::Int, true),
    ("extra_key", Kind::Texts, true),
    ("cache_salt", Kind::Texts, true),
    ("routing_key", Kind::Text, true),
    ("background", Kind::Bool, true),
];

/// The closed set inside `sampling_params`; all may be null.
const SAMPLING: &[(&str, Kind)] = &[
    ("max_new_tokens", Kind::Int),
    ("min_new_tokens", Kind::Int),
    ("temperature", Kind::Number),
    ("top_p", Kind::Number),
    ("top_k", Kind::Int),
    ("min_p", Kind::Number),
    ("frequency_penalty", Kind::Number),
    ("presence_penalty", Kind::Number),
    ("repetition_penalty", Kind::Number),
    ("logit_bias", Kind::Object),
    ("stop", Kind::Texts),
    ("stop_token_ids", Kind::Ids),
    ("stop_regex", Kind::Texts),
    ("ignore_eos", Kind::Bool),
    ("skip_special_tokens", Kind::Bool),
    ("spaces_between_special_tokens", Kind::Bool),
    ("no_stop_trim", Kind::Bool),
    ("n", Kind::Int),
    ("beam_width", Kind::Int),
    ("json_schema", Kind::Text),
    ("regex", Kind::Text),
    ("ebnf", Kind::Text),
    ("structural_tag", Kind::Text),
    ("sampling_seed", Kind::Int),
    ("stream_interval", Kind::Int),
    ("custom_params", Kind::Any),
    ("watermark", Kind::Any),
    ("choice", Kind::Any),
];

/// Why the gate is shut.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// A sampling key that is not in the closed set.
    #[error("unknown field `{0}`, expected one of {known}", known = known())]
    UnknownKey(String),
    /// A field of the wrong type.
    #[error("{0}")]
    Type(String),
}

fn known() -> String {
    let names: Vec<String> = SAMPLING.iter().map(|(name, _)| format!("`{name}`")).collect();
    names.join(", ")
}

/// Checks a body.
///
/// # Errors
/// [`Refused`], in the server's words.
pub(super) fn check(body: &Value) -> Result<(), Refused> {
    for (name, kind, nullable) in TOP {
        match body.get(name) {
            None => {}
            Some(Value::Null) if *nullable => {}
            Some(value) => {
                kind.check(value).map_err(|wrong| Refused::Type(format!("{wrong} at `{name}`")))?
            }
        }
    }
    match body.get("sampling_params") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Array(list)) => list.iter().try_for_each(sampling),
        Some(one) => sampling(one),
    }
}

fn sampling(params: &Value) -> Result<(), Refused> {
    let Some(params) = params.as_object() else {
        return Err(Refused::Type(format!("{}, expected an object at `sampling_params`", found(params))));
    };
    for (name, value) in params {
        let Some((_, kind)) = SAMPLING.iter().find(|(known, _)| known == name) else {
            return Err(Refused::UnknownKey(name.clone()));
        };
        if !value.is_null() {
            let wrong = |wrong| Refused::Type(format!("{wrong} at `sampling_params.{name}`"));
            kind.check(value).map_err(wrong)?;
        }
    }
    Ok(())
}

impl Kind {
    fn check(self, value: &Value) -> Result<(), String> {
        let (fits, expected) = match self {
            Self::Bool => (value.is_boolean(), "a boolean"),
            Self::Bools => (every(value, Value::is_boolean), "boolean or list of boolean"),
            Self::Int => (is_int(value), "i64"),
            Self::Number => (value.is_number(), "f64"),
            Self::Text => (value.is_string(), "a string"),
            Self::Texts => (every(value, Value::is_string), "string or list of string"),
            Self::Ids => (every(value, |item| every(item, is_int)), "i64"),
            Self::Object => (value.is_object(), "a map"),
            Self::Any => (true, "anything"),
        };
        if fits { Ok(()) } else { Err(format!("invalid type: {}, expected {expected}", found(value))) }
    }
}

fn is_int(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}

fn every(value: &Value, fits: impl Fn(&Value) -> bool) -> bool {
    value.as_array().map_or_else(|| fits(value), |list| list.iter().all(&fits))
}

fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => format!("boolean `{value}`"),
        Value::Number(number) if number.is_f64() => format!("floating point `{number}`"),
        Value::Number(number) => format!("integer `{number}`"),
        Value::String(text) => format!("string {text:?}"),
        Value::Array(_) => "sequence".into(),
        Value::Object(_) => "map".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_gate_takes_and_refuses_what_the_real_one_does() {
        for good in [
            json!({ "input_ids": [1], "foo": 1 }),
            json!({ "input_ids": [], "stream": null, "rid": null, "logprob_start_len": null, "lora_path": null }),
            json!({ "sampling_params": { "top_k": null, "logit_bias": null } }),
        ] {
            assert_eq!(check(&good), Ok(()), "{good}");
        }
        for (bad, words) in [
            (json!({ "sampling_params": { "max_tokens": 4 } }), "unknown field `max_tokens`"),
            (json!({ "return_logprob": 1 }), "boolean or list of boolean"),
            (json!({ "return_hidden_states": "last" }), "boolean"),
            (json!({ "input_ids": [1.0, 2] }), "expected i64"),
            (json!({ "sampling_params": { "top_k": 1.0 } }), "floating point `1.0`, expected i64"),
            (json!({ "priority": "1" }), "expected i64"),
            (json!({ "routed_experts_start_len": null }), "null, expected i64"),
            (json!({ "return_prompt_token_ids": null }), "expected a boolean"),
        ] {
            let refused = check(&bad).unwrap_err().to_string();
            assert!(refused.contains(words), "{bad}: {refused}");
        }
    }
}
