//! MiniMax M2's calls: one block for all calls of a turn, each an `invoke` with its parameters.

use super::types::Pairs;
use super::{Body, Call, CallFormat, Shelter, Types, Written, is_key, is_name, value};
use crate::python::{Node, Style, dumps};

/// `<invoke name="NAME">` and `<parameter name="KEY">` inside a block.
#[derive(Debug)]
pub(crate) struct Invoke;

/// The format.
pub(crate) const MINIMAX: &Invoke = &Invoke;

const INVOKE: &str = "<invoke name=";
const INVOKE_END: &str = "</invoke>";
const PARAMETER: &str = "<parameter name=";
const PARAMETER_END: &str = "</parameter>";

impl CallFormat for Invoke {
    fn marks(&self) -> (&'static str, &'static str) {
        ("<minimax:tool_call>", "</minimax:tool_call>")
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

    fn read(&self, body: Body<'_>, types: &Types) -> Option<Vec<Call>> {
        let mut calls = Vec::new();
        let mut rest = body.text.trim();
        while let Some(invoke) = rest.strip_prefix(INVOKE) {
            let (name, mut inside) = attribute(invoke).filter(|(name, _)| is_name(name))?;
            let mut pairs = Pairs::default();
            while let Some(parameter) = inside.trim_start().strip_prefix(PARAMETER) {
                let (key, after) = attribute(parameter)?;
                let (value, after) = value(after, PARAMETER_END, [PARAMETER, INVOKE_END])?;
                if pairs.has(key) || !is_key(key) {
                    return None;
                }
                pairs.put(key, types.value(name, key, value));
                inside = after;
            }
            rest = inside.trim_start().strip_prefix(INVOKE_END)?.trim_start();
            calls.push(Call { id: None, name: name.to_owned(), arguments: pairs.finish() });
        }
        (rest.is_empty() && !calls.is_empty()).then_some(calls)
    }

    fn write(&self, call: &Written<'_>, out: &mut String) {
        out.push_str("<invoke name=\"");
        out.push_str(call.name);
        out.push_str("\">\n");
        for (key, value) in call.arguments {
            out.push_str("<parameter name=\"");
            out.push_str(key);
            out.push_str("\">");
            match value {
                Node::Text(text) => out.push_str(text),
                other => dumps(other, &Style::default(), out),
            }
            out.push_str("</parameter>\n");
        }
        out.push_str("</invoke>\n");
    }
}

/// A name up to the end of its tag, quoted or not.
fn attribute(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('>')?;
    let name = name.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then_some((name, rest))
}
