//! Declared tools.

use serde_json::Value;
use serde_json::value::RawValue;
use verbatim_chat::Tool;
use verbatim_events::Cause;

use crate::Invalid;
use crate::body::Body;
use crate::declared::function;
use crate::fields::{ignored, read};

/// The functions among the tools. A tool that the provider would run, or whose calls are no JSON, is left out and
/// reported: agents declare them whether they are needed or not.
pub(super) fn parse(raw: &RawValue, lost: &mut Vec<Cause>) -> Result<Vec<Tool>, Invalid> {
    let list: Vec<&RawValue> = read("tools", raw, "a list of tools")?.unwrap_or_default();
    let mut tools = Vec::new();
    for (at, raw) in list.into_iter().enumerate() {
        let body = Body::of_object(&format!("tools[{at}]"), raw)?;
        let field = format!("tools[{at}].type");
        let kind: Option<String> = body.get("type").map_or(Ok(None), |raw| read(&field, raw, "a string"))?;
        match kind.as_deref() {
            Some("function") => tools.push(declared(at, body, lost)?),
            Some(kind) => lost.push(Cause::FieldIgnored { field: format!("tools[].type={kind}") }),
            None => return Err(Invalid::new(field, "must be a string, such as \"function\"")),
        }
    }
    Ok(tools)
}

fn declared(at: usize, body: Body<'_>, lost: &mut Vec<Cause>) -> Result<Tool, Invalid> {
    let (mut named, mut description, mut parameters) = (None::<String>, None, None::<Value>);
    for (name, raw) in body.0 {
        let within = format!("tools[{at}].{name}");
        match name.as_str() {
            "type" => {}
            "name" => named = read(&within, raw, "a string")?,
            "description" => description = read(&within, raw, "a string")?,
            "parameters" => parameters = read(&within, raw, "a JSON schema")?,
            // Nothing is lost where nothing was asked for.
            "strict" if raw.get() == "false" => {}
            _ => lost.extend(ignored(format!("tools[].{name}"), raw)),
        }
    }
    let named = named.filter(|name| !name.is_empty());
    let named =
        named.ok_or_else(|| Invalid::new(format!("tools[{at}].name"), "must be a non-empty string"))?;
    Ok(function(named, description, parameters))
}
