//! One spelling for all spellings of a JSON value.
//!
//! The invariant: two texts have the same canonical spelling exactly if they are the same JSON value: keys
//! unordered, numbers as exact decimals (`1` is `1.0` is `1e0`), `true` no number. What is no JSON has none.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Deeper objects and lists have no canonical spelling.
const MAX_DEPTH: usize = 128;

/// What a key means that an object has twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twice {
    /// Such a text has no canonical spelling.
    Refused,
    /// Its last value counts, as it does for every client that parses and writes again.
    Last,
}

/// The canonical spelling of an object; `None` if the text is no object, or has a key twice.
pub(crate) fn object(text: &str) -> Option<String> {
    let spelling = value(text, Twice::Refused)?;
    spelling.starts_with('{').then_some(spelling)
}

/// The canonical spelling of a value; `None` if the text is no JSON.
pub(crate) fn value(text: &str, twice: Twice) -> Option<String> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    let mut out = String::with_capacity(text.len());
    write(raw, twice, MAX_DEPTH, &mut out)?;
    Some(out)
}

fn write(raw: &RawValue, twice: Twice, depth: usize, out: &mut String) -> Option<()> {
    let text = raw.get();
    let depth = depth.checked_sub(1)?;
    match text.as_bytes().first()? {
        b'{' => {
            let Fields(mut fields) = serde_json::from_str(text).ok()?;
            // A stable order: of equal keys the last stays last.
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            let before = fields.len();
            fields.reverse();
            fields.dedup_by(|(a, _), (b, _)| a == b);
            if twice == Twice::Refused && fields.len() < before {
                return None;
            }
            out.push('{');
            for (name, value) in fields {
                out.push_str(&serde_json::to_string(&name).ok()?);
                out.push(':');
                write(value, twice, depth, out)?;
                out.push(',');
            }
            out.push('}');
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            out.push('[');
            for item in items {
                write(item, twice, depth, out)?;
                out.push(',');
            }
            out.push(']');
        }
        b'"' => {
            let text: String = serde_json::from_str(text).ok()?;
            out.push_str(&serde_json::to_string(&text).ok()?);
        }
        b'-' | b'0'..=b'9' => out.push_str(&decimal(text)?),
        _ => out.push_str(text),
    }
    Some(())
}

/// A number's digits without zeros at either end, and the power of ten of the last.
fn decimal(text: &str) -> Option<String> {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let shown = digits.trim_start_matches('0').trim_end_matches('0');
    if shown.is_empty() {
        return Some("0".to_owned());
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let power = exponent.checked_sub(fraction.len() as i64)?.checked_add(zeros as i64)?;
    Some(format!("{sign}{shown}e{power}"))
}

/// An object's fields in their order, unparsed.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_object_are_one() {
        let same = [
            r#"{"a":1,"b":[true,null,"é"]}"#,
            r#" { "b" : [ true , null , "\u00e9" ] , "a" : 1.0 } "#,
            r#"{"a":10e-1,"b":[true,null,"é"]}"#,
        ];
        for text in same {
            assert_eq!(object(text), object(same[0]), "{text}");
            assert!(object(text).is_some());
        }
        assert_eq!(object(r#"{"a":1e999}"#), object(r#"{"a":10e998}"#));
        assert_eq!(object(r#"{"a":-0.0}"#), object(r#"{"a":0}"#));
        assert_eq!(object(r#"{"a":100}"#), object(r#"{"a":1e2}"#));
    }

    #[test]
    fn different_objects_are_different() {
        let all = [
            r#"{"a":1}"#,
            r#"{"a":true}"#,
            r#"{"a":"1"}"#,
            r#"{"a":-1}"#,
            r#"{"a":1.0000000000000000001}"#,
            r#"{"a":[1,2]}"#,
            r#"{"a":[2,1]}"#,
            r#"{"a":10}"#,
            r#"{"a":null}"#,
            "{}",
        ];
        for (at, a) in all.iter().enumerate() {
            for b in &all[at + 1..] {
                assert_ne!(object(a), object(b), "{a} {b}");
            }
        }
    }

    #[test]
    fn what_is_not_strictly_an_object_has_no_spelling() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        for text in
            ["", " ", "[1]", "1", "{\"a\":1", r#"{"a":1,"a":1}"#, r#"{"a":NaN}"#, r#"{"a":01}"#, &deep]
        {
            assert_eq!(object(text), None, "{}", &text[..text.len().min(20)]);
        }
    }
}
