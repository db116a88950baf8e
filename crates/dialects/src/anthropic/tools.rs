//! Declared tools.

use serde_json::Value;
use serde_json::value::RawValue;
use verbatim_chat::Tool;
use verbatim_events::Cause;

use crate::Invalid;
use crate::body::Body;
use crate::declared::function;
use crate::fields::{ignored, read};

pub(super) fn parse(raw: &RawValue, lost: &mut Vec<Cause>) -> Result<Vec<Tool>, Invalid> {
    let list: Vec<&RawValue> = read("tools", raw, "a list of tools")?.unwrap_or_default();
    list.into_iter().enumerate().map(|(at, raw)| tool(at, raw, lost)).collect()
}

fn tool(at: usize, raw: &RawValue, lost: &mut Vec<Cause>) -> Result<Tool, Invalid> {
    let (mut named, mut description, mut schema) = (None::<String>, None, None::<Value>);
    for (name, raw) in Body::of_object(&format!("tools[{at}]"), raw)?.0 {
        let within = format!("tools[{at}].{name}");
        match name.as_str() {
            "type" if matches!(raw.get(), "null" | "\"custom\"") => {}
            "type" => {
                let problem =
                    format!("{} is not supported; declare the tool with an input_schema", raw.get());
                return Err(Invalid::new(within, problem));
            }
            "name" => named = read(&within, raw, "a string")?,
            "description" => description = read(&within, raw, "a string")?,
            "input_schema" => schema = read(&within, raw, "a JSON schema")?,
            "strict" if raw.get() == "false" => {}
            _ => lost.extend(ignored(format!("tools[].{name}"), raw)),
        }
    }
    let named = named.filter(|name| !name.is_empty());
    let named =
        named.ok_or_else(|| Invalid::new(format!("tools[{at}].name"), "must be a non-empty string"))?;
    let schema =
        schema.ok_or_else(|| Invalid::new(format!("tools[{at}].input_schema"), "must be a JSON schema"))?;
    Ok(function(named, description, Some(schema)))
}
