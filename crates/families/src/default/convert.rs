//! Documents to template values and back.

use minijinja::Value;
use minijinja::value::ValueKind;

use crate::python::Node;

/// A document as a template sees it. Integers beyond 128 bits become floats: the engine has no
/// larger ones.
pub(super) fn value(node: &Node) -> Value {
    match node {
        Node::Null => Value::from(()),
        Node::Bool(flag) => Value::from(*flag),
        Node::Int(digits) => integer(digits),
        Node::Float(float) => Value::from(*float),
        Node::Text(text) => Value::from(text.as_str()),
        Node::List(list) => list.iter().map(value).collect(),
        Node::Map(map) => Value::from_pairs(map.iter().map(|(key, item)| (key.as_str(), value(item)))),
    }
}

fn integer(digits: &str) -> Value {
    if let Ok(small) = digits.parse::<i64>() {
        return Value::from(small);
    }
    if let Ok(large) = digits.parse::<i128>() {
        return Value::from(large);
    }
    Value::from(digits.parse::<f64>().unwrap_or(f64::NAN))
}

/// A template's value as a document; `None` where nothing is defined.
pub(super) fn node(value: &Value) -> Option<Node> {
    Some(match value.kind() {
        ValueKind::Undefined => return None,
        ValueKind::None => Node::Null,
        ValueKind::Bool => Node::Bool(value.is_true()),
        ValueKind::Number if value.is_integer() => Node::Int(value.to_string()),
        ValueKind::Number => Node::Float(f64::try_from(value.clone()).unwrap_or(f64::NAN)),
        ValueKind::Map => {
            let keys = value.try_iter().into_iter().flatten();
            let entry = |key: Value| {
                let item = value.get_item(&key).ok()?;
                Some((name(&key), node(&item)?))
            };
            Node::Map(keys.filter_map(entry).collect())
        }
        ValueKind::Seq | ValueKind::Iterable => {
            Node::List(value.try_iter().into_iter().flatten().filter_map(|item| node(&item)).collect())
        }
        _ => Node::Text(value.to_string()),
    })
}

/// A key as `json.dumps` names it.
fn name(key: &Value) -> String {
    match key.kind() {
        ValueKind::None => "null".to_owned(),
        _ => key.to_string(),
    }
}
