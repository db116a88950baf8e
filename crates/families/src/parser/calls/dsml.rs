//! DeepSeek's calls since V3.2: one block for all calls of a turn, in tags that the token `｜DSML｜`
//! begins. Each parameter says whether it is a string, so that no schema is asked.

use serde_json::value::RawValue;

use super::types::{Pairs, text};
use super::{Body, Call, CallFormat, Shelter, Types, Written, is_key, is_name, value};
use crate::python::{Node, Style, dumps};

/// `<｜DSML｜invoke name="NAME">` and `<｜DSML｜parameter name="KEY" string="true|false">` in a block.
#[derive(Debug)]
pub(crate) struct Dsml {
    marks: (&'static str, &'static str),
}

/// As DeepSeek V3.2's encoder has it.
pub(crate) const DSML_V32: &Dsml =
    &Dsml { marks: ("<｜DSML｜function_calls>", "</｜DSML｜function_calls>") };

/// As DeepSeek V4's has it.
pub(crate) const DSML_V4: &Dsml = &Dsml { marks: ("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>") };

const INVOKE: &str = "<｜DSML｜invoke name=\"";
const INVOKE_END: &str = "</｜DSML｜invoke>";
const PARAMETER: &str = "<｜DSML｜parameter name=\"";
const PARAMETER_END: &str = "</｜DSML｜parameter>";
const IS_STRING: &str = "\" string=\"";

impl CallFormat for Dsml {
    fn marks(&self) -> (&'static str, &'static str) {
        self.marks
    }

    fn shelter(&self) -> Shelter {
        Shelter::Between(PARAMETER, PARAMETER_END)
    }

    fn is_block(&self) -> bool {
        true
    }

    fn block_start(&self) -> &'static str {
        "\n"
    }

    fn read(&self, body: Body<'_>, _types: &Types) -> Option<Vec<Call>> {
        let mut calls = Vec::new();
        let mut rest = body.text.trim();
        while let Some(invoke) = rest.strip_prefix(INVOKE) {
            let (name, mut inside) = invoke.split_once("\">").filter(|(name, _)| is_name(name))?;
            let mut pairs = Pairs::default();
            while let Some(parameter) = inside.trim_start().strip_prefix(PARAMETER) {
                let (key, after) = parameter.split_once(IS_STRING)?;
                let (is_string, after) = after.split_once("\">")?;
                let (text, after) = value(after, PARAMETER_END, [PARAMETER, INVOKE_END])?;
                if pairs.has(key) || !is_key(key) {
                    return None;
                }
                pairs.put(key, read_value(is_string, text)?);
                inside = after;
            }
            rest = inside.trim_start().strip_prefix(INVOKE_END)?.trim_start();
            calls.push(Call { id: None, name: name.to_owned(), arguments: pairs.finish() });
        }
        (rest.is_empty() && !calls.is_empty()).then_some(calls)
    }

    fn write(&self, call: &Written<'_>, out: &mut String) {
        out.push_str(INVOKE);
        out.push_str(call.name);
        out.push_str("\">\n");
        for (nth, (key, value)) in call.arguments.iter().enumerate() {
            out.push_str(if nth > 0 { "\n" } else { "" });
            out.push_str(PARAMETER);
            out.push_str(key);
            out.push_str(IS_STRING);
            match value {
                Node::Text(text) => {
                    out.push_str("true\">");
                    out.push_str(text);
                }
                other => {
                    out.push_str("false\">");
                    dumps(other, &Style::default(), out);
                }
            }
            out.push_str(PARAMETER_END);
        }
        out.push('\n');
        out.push_str(INVOKE_END);
        out.push('\n');
    }
}

/// A value as JSON text: the model's own where it says that it wrote JSON, and did.
fn read_value(is_string: &str, value: &str) -> Option<String> {
    match is_string {
        "false" if serde_json::from_str::<&RawValue>(value).is_ok() => Some(value.trim().to_owned()),
        "true" | "false" => Some(text(value)),
        _ => None,
    }
}
