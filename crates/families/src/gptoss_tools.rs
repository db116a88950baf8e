//! Tools as gpt-oss' template declares them: as types of a TypeScript namespace.
//!
//! The invariant: what the official template spells is spelled as it spells it, its line breaks in odd
//! places included; where it fails the tool is refused by its place.

use serde_json::Value;
use verbatim_chat::Tool;

use crate::native::is_true;
use crate::python::{Node, Style, display, dumps};

/// Before the type of an object's field.
const FIELD: &str = "\n                ";
/// Before the default of one of several types.
const DEFAULT: &str = "                    ";
/// An item type that is longer is not spelled out.
const LONGEST_ITEM: usize = 50;

/// All tools.
///
/// # Errors
/// The place of a tool that cannot be declared.
pub(crate) fn namespace(tools: &[Tool]) -> Result<String, usize> {
    let mut out = "## functions\n\nnamespace functions {\n\n".to_owned();
    for (at, tool) in tools.iter().enumerate() {
        let function = field(&tool.0, "function").unwrap_or(&tool.0);
        declared(function, &mut out).ok_or(at)?;
    }
    out.push_str("} // namespace functions");
    Ok(out)
}

/// A field that Python takes for true.
fn field<'v>(of: &'v Value, name: &str) -> Option<&'v Value> {
    of.get(name).filter(|value| is_true(value))
}

fn declared(function: &Value, out: &mut String) -> Option<()> {
    if let Some(description) = field(function, "description") {
        comment(description, out)?;
    }
    out.push_str("type ");
    out.push_str(function.get("name")?.as_str()?);
    let parameters = field(function, "parameters");
    let Some(properties) = parameters.and_then(|parameters| field(parameters, "properties")) else {
        out.push_str(" = () => any;\n\n");
        return Some(());
    };
    let required = parameters.and_then(|parameters| field(parameters, "required"));
    out.push_str(" = (_: {\n");
    for (name, spec) in properties.as_object()? {
        if let Some(description) = field(spec, "description") {
            comment(description, out)?;
        }
        named(name, required, out)?;
        out.push_str(&kind(spec)?);
        if let Some(default) = spec.get("default") {
            let several = field(spec, "enum").is_none() && field(spec, "oneOf").is_some();
            out.push_str(if several { "// default: " } else { ", // default: " });
            let bare = field(spec, "enum").is_some() || several;
            match default.as_str().filter(|_| bare) {
                Some(text) => out.push_str(text),
                None => dumps(&Node::from(default), &Style::default(), out),
            }
        }
        out.push_str(",\n");
    }
    out.push_str("}) => any;\n\n");
    Some(())
}

fn comment(description: &Value, out: &mut String) -> Option<()> {
    out.push_str("// ");
    out.push_str(description.as_str()?);
    out.push('\n');
    Some(())
}

/// A field's name, marked where it is not required.
fn named(name: &str, required: Option<&Value>, out: &mut String) -> Option<()> {
    let is_required = match required {
        None => false,
        Some(Value::Array(list)) => list.iter().any(|item| item == name),
        Some(Value::String(text)) => text.contains(name),
        Some(Value::Object(map)) => map.contains_key(name),
        Some(_) => return None,
    };
    out.push_str(name);
    out.push_str(if is_required { ": " } else { "?: " });
    Some(())
}

/// A schema's type.
fn kind(spec: &Value) -> Option<String> {
    let nullable = if field(spec, "nullable").is_some() { " | null" } else { "" };
    match spec.get("type") {
        Some(Value::String(name)) if name == "array" => Some(items(spec)? + nullable),
        Some(Value::Array(names)) if !names.is_empty() => Some(joined(names, " | ")),
        _ if field(spec, "oneOf").is_some() => variants(field(spec, "oneOf")?.as_array()?),
        Some(Value::String(name)) => Some(match name.as_str() {
            "string" => match field(spec, "enum") {
                Some(values) => format!("\"{}\"", joined(values.as_array()?, "\" | \"")),
                None => format!("string{nullable}"),
            },
            "number" | "integer" => "number".to_owned(),
            "boolean" => "boolean".to_owned(),
            "object" => object(spec)?,
            _ => "any".to_owned(),
        }),
        _ => Some("any".to_owned()),
    }
}

/// Values as Python prints them.
fn joined(values: &[Value], between: &str) -> String {
    let printed = values.iter().map(|value| {
        let mut out = String::new();
        display(&Node::from(value), &mut out);
        out
    });
    printed.collect::<Vec<_>>().join(between)
}

fn items(spec: &Value) -> Option<String> {
    let Some(items) = field(spec, "items") else { return Some("any[]".to_owned()) };
    let known = match items.get("type").and_then(Value::as_str) {
        Some("string") => Some("string[]"),
        Some("number" | "integer") => Some("number[]"),
        Some("boolean") => Some("boolean[]"),
        _ => None,
    };
    if let Some(known) = known {
        return Some(known.to_owned());
    }
    let inner = kind(items)?;
    let long = inner == "object | object" || inner.chars().count() > LONGEST_ITEM;
    Some(if long { "any[]".to_owned() } else { inner + "[]" })
}

fn variants(variants: &[Value]) -> Option<String> {
    let mut out = String::new();
    for (at, variant) in variants.iter().enumerate() {
        out.push_str(if at > 0 { " | \n" } else { "" });
        out.push_str(&kind(variant)?);
        if let Some(description) = field(variant, "description") {
            out.push_str("// ");
            out.push_str(description.as_str()?);
        }
        if let Some(default) = variant.get("default") {
            out.push_str(DEFAULT);
            out.push_str("// default: ");
            dumps(&Node::from(default), &Style::default(), &mut out);
        }
    }
    Some(out)
}

fn object(spec: &Value) -> Option<String> {
    let Some(properties) = field(spec, "properties") else { return Some("object".to_owned()) };
    let mut out = "{\n".to_owned();
    for (at, (name, spec_of)) in properties.as_object()?.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        named(name, field(spec, "required"), &mut out)?;
        out.push_str(FIELD);
        out.push_str(&kind(spec_of)?);
    }
    out.push('}');
    Some(out)
}
