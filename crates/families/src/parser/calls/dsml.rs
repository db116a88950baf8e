//! DeepSeek's calls since V3.2: one block for all calls of a turn, whose parameters say themselves
//! whether they are text.

use serde_json::value::RawValue;

use super::types::{Pairs, text};
use super::{Body, Call, CallFormat, Shelter, Types, Written, is_name, value};
use crate::python::{Node, Style, dumps};

/// A block of invocations in tags that begin with `｜DSML｜`.
#[derive(Debug)]
pub(crate) struct Dsml {
    marks: (&'static str, &'static str),
    /// What stands in an invocation without arguments.
    empty: &'static str,
}

/// V3.2's block.
pub(crate) const DSML_FUNCTIONS: &Dsml =
    &Dsml { marks: ("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"), empty: "" };

/// V4's block.
pub(crate) const DSML_TOOLS: &Dsml =
    &Dsml { marks: ("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"), empty: "\n" };

const INVOKE: &str = "<｜DSML｜invoke name=\"";
const INVOKE_END: &str = "</｜DSML｜invoke>";
const PARAMETER: &str = "<｜DSML｜parameter name=\"";
const PARAMETER_END: &str = "</｜DSML｜parameter>";
const STRING: &str = "\" string=\"true\">";
const OTHER: &str = "\" string=\"false\">";

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
                let (head, after) = parameter.split_once('>')?;
                let (key, is_text) =
                    match (head.strip_suffix("\" string=\"true\""), head.strip_suffix("\" string=\"false\""))
                    {
                        (Some(key), _) => (key, true),
                        (_, Some(key)) => (key, false),
                        _ => return None,
                    };
                let (value, after) = value(after, PARAMETER_END, [PARAMETER, INVOKE_END])?;
                // What says it is JSON and is none is the text that it is.
                let json = !is_text && serde_json::from_str::<&RawValue>(value).is_ok();
                pairs.put(key, if json { value.trim().to_owned() } else { text(value) });
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
        for (key, value) in call.arguments {
            out.push_str(PARAMETER);
            out.push_str(key);
            match value {
                Node::Text(text) => {
                    out.push_str(STRING);
                    out.push_str(text);
                }
                other => {
                    out.push_str(OTHER);
                    dumps(other, &Style::default(), out);
                }
            }
            out.push_str(PARAMETER_END);
            out.push('\n');
        }
        if call.arguments.is_empty() {
            out.push_str(self.empty);
        }
        out.push_str(INVOKE_END);
        out.push('\n');
    }
}
