//! A JSON value that a schema allows.
//!
//! The invariant: a keyword that narrows what is allowed is kept or the schema is refused; annotations
//! (`description`, `title`, `default`, `examples`, `$schema`, `format`) narrow nothing.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};
use verbatim_engine::EngineError;

use crate::form::refused;

/// How deep references may lead.
const DEPTH: usize = 24;

const WORDS: [&str; 8] = ["north", "seven", "copper", "river", "plain", "amber", "quiet", "stone"];

/// Keywords that are kept, or that narrow nothing.
const KNOWN: [&str; 27] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "anyOf",
    "oneOf",
    "$ref",
    "$defs",
    "definitions",
    "description",
    "title",
    "default",
    "examples",
    "$schema",
    "format",
    "strict",
    "nullable",
];

/// Draws a value, as JSON text.
///
/// # Errors
/// [`EngineError::Refused`] for what is no schema, and for keywords that are not kept.
pub(crate) fn value(schema: &str, random: &mut ChaCha8Rng) -> Result<String, EngineError> {
    let schema: Value = serde_json::from_str(schema).map_err(|_| refused("a schema that is no JSON"))?;
    let drawn = Draw { root: &schema, random }.value(&schema, 0)?;
    serde_json::to_string(&drawn).map_err(|_| refused("this schema"))
}

struct Draw<'a> {
    root: &'a Value,
    random: &'a mut ChaCha8Rng,
}

impl Draw<'_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Result<Value, EngineError> {
        let Some(schema) = schema.as_object() else {
            // `true` allows all, `false` nothing.
            return if schema == &Value::Bool(true) {
                Ok(Value::Null)
            } else {
                Err(refused("an empty schema"))
            };
        };
        if depth > DEPTH {
            return Err(refused("a schema that refers to itself without end"));
        }
        if let Some(keyword) = schema.keys().find(|keyword| !KNOWN.contains(&keyword.as_str())) {
            return Err(refused(&format!("a schema with {keyword:?}")));
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|path| self.root.pointer(path)).cloned();
            return self.value(&target.ok_or_else(|| refused("a reference to elsewhere"))?, depth + 1);
        }
        if let Some(value) = schema.get("const") {
            return Ok(value.clone());
        }
        for choice in ["enum", "anyOf", "oneOf"] {
            if let Some(of) = schema.get(choice).and_then(Value::as_array).filter(|of| !of.is_empty()) {
                // Deep down the last is taken: where a schema refers to itself that is the way out, by custom.
                let at = if depth > DEPTH / 2 { of.len() - 1 } else { self.random.random_range(0..of.len()) };
                let one = of[at].clone();
                return if choice == "enum" { Ok(one) } else { self.value(&one, depth + 1) };
            }
        }
        let kind = match schema.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str).unwrap_or("null"),
            _ if schema.contains_key("properties") => "object",
            _ => "null",
        };
        match kind {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => Ok(self.string(schema)),
            "integer" | "number" => self.number(schema, kind == "integer"),
            "boolean" => Ok(self.random.random_bool(0.5).into()),
            "null" => Ok(Value::Null),
            other => Err(refused(&format!("type {other:?}"))),
        }
    }

    /// What is required, and what is not as long as it does not lead on without end.
    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> Result<Value, EngineError> {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let mut out = Map::new();
        for (name, property) in properties {
            let must = required.contains(&name.as_str());
            if must || depth < 4 && self.random.random_bool(0.5) {
                out.insert(name.clone(), self.value(property, depth + 1)?);
            }
        }
        for name in required.iter().filter(|name| !properties.contains_key(**name)) {
            out.insert((*name).to_owned(), Value::Null);
        }
        Ok(out.into())
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: usize) -> Result<Value, EngineError> {
        let whole = |name: &str| schema.get(name).and_then(Value::as_u64).map(|count| count as usize);
        let least = whole("minItems").unwrap_or_default();
        let most = whole("maxItems").unwrap_or(least + 2).max(least);
        let count = if depth > 4 { least } else { self.random.random_range(least..=most.min(least + 2)) };
        let first = schema.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
        let rest = schema.get("items").cloned().unwrap_or(Value::Bool(true));
        let items = 0..count.max(first.len());
        items.map(|at| self.value(first.get(at).unwrap_or(&rest), depth + 1)).collect()
    }

    fn string(&mut self, schema: &Map<String, Value>) -> Value {
        let whole = |name: &str| schema.get(name).and_then(Value::as_u64).map(|count| count as usize);
        let mut text = WORDS[self.random.random_range(0..WORDS.len())].to_owned();
        while text.chars().count() < whole("minLength").unwrap_or_default() {
            text.push('s');
        }
        whole("maxLength").map_or_else(|| text.clone(), |most| text.chars().take(most).collect()).into()
    }

    fn number(&mut self, schema: &Map<String, Value>, integer: bool) -> Result<Value, EngineError> {
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        let low = bound("minimum").unwrap_or_else(|| bound("maximum").unwrap_or(100.0).min(0.0)).ceil();
        let high = bound("maximum").unwrap_or(low + 99.0).floor();
        if low > high {
            return match (integer, bound("minimum")) {
                (false, Some(low)) => Ok(json!(low)),
                _ => Err(refused("a range without a whole number")),
            };
        }
        let drawn = self.random.random_range(low as i64..=(high as i64).min((low as i64).saturating_add(99)));
        Ok(drawn.into())
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn draw(schema: &Value, seed: u64) -> Result<Value, EngineError> {
        let text = value(&schema.to_string(), &mut ChaCha8Rng::seed_from_u64(seed))?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn what_is_drawn_is_what_the_schema_allows() {
        let schema = json!({
            "type": "object", "required": ["name", "tags"], "additionalProperties": false,
            "properties": {
                "name": {"enum": ["a", "b"]}, "count": {"type": "integer", "minimum": 3, "maximum": 5},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "minItems": 1},
            },
            "$defs": {"tag": {"type": "string", "minLength": 9}},
        });
        for seed in 0..64 {
            let drawn = draw(&schema, seed).unwrap();
            assert!(["a", "b"].contains(&drawn["name"].as_str().unwrap()));
            assert!(drawn.get("count").is_none_or(|count| (3..=5).contains(&count.as_i64().unwrap())));
            let tags = drawn["tags"].as_array().unwrap();
            assert!(!tags.is_empty() && tags.iter().all(|tag| tag.as_str().unwrap().len() >= 9));
        }
    }

    #[test]
    fn what_is_not_kept_is_refused() {
        let refused = draw(&json!({"type": "string", "pattern": "a+"}), 0).unwrap_err();
        assert!(refused.to_string().contains("\"pattern\""), "{refused}");
        assert!(draw(&json!({"$ref": "#"}), 0).is_err(), "it leads nowhere");
    }
}
