//! Qwen3-Coder's calls, which Qwen3.5 and Nemotron 3 write too: a function with its parameters as
//! text, on lines of their own.

use super::types::Pairs;
use super::{Body, Call, CallFormat, Shelter, Types, Written, is_key, is_name, value};
use crate::python::{Node, Style, display, dumps};

/// `<function=NAME>` and `<parameter=KEY>` between `<tool_call>` and `</tool_call>`.
#[derive(Debug)]
pub(crate) struct Parameters {
    /// Whether what is no string is spelled as JSON; else only lists and objects are, the rest as
    /// Python prints it (`True`, `None`).
    json: bool,
}

/// As Qwen3-Coder's, Qwen3.5's and Nemotron 3's templates have it.
pub(crate) const QWEN_CODER: &Parameters = &Parameters { json: false };

/// As Qwen3.6's has it.
pub(crate) const QWEN_CODER_JSON: &Parameters = &Parameters { json: true };

const FUNCTION: &str = "<function=";
const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";
const FUNCTION_END: &str = "</function>";

impl CallFormat for Parameters {
    fn marks(&self) -> (&'static str, &'static str) {
        ("<tool_call>", "</tool_call>")
    }

    fn shelter(&self) -> Shelter {
        Shelter::Between(PARAMETER, PARAMETER_END)
    }

    fn read(&self, body: Body<'_>, types: &Types) -> Option<Vec<Call>> {
        let rest = body.text.trim_start().strip_prefix(FUNCTION)?;
        let (name, mut rest) = rest.split_once('>')?;
        let name = name.trim();
        let mut pairs = Pairs::default();
        while let Some(parameter) = rest.trim_start().strip_prefix(PARAMETER) {
            let (key, after) = parameter.split_once('>')?;
            let (value, after) = value(after, PARAMETER_END, [PARAMETER, FUNCTION_END])?;
            // One newline on either side is the template's.
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            if pairs.has(key.trim()) || !is_key(key.trim()) {
                return None;
            }
            pairs.put(key.trim(), types.value(name, key.trim(), value));
            rest = after;
        }
        let end = rest.trim_start().strip_prefix(FUNCTION_END)?;
        let valid = is_name(name) && end.trim().is_empty();
        valid.then(|| vec![Call { id: None, name: name.to_owned(), arguments: pairs.finish() }])
    }

    fn write(&self, call: &Written<'_>, out: &mut String) {
        out.push_str("\n<function=");
        out.push_str(call.name);
        out.push_str(">\n");
        for (key, value) in call.arguments {
            out.push_str(PARAMETER);
            out.push_str(key);
            out.push_str(">\n");
            match value {
                Node::Text(text) => out.push_str(text),
                Node::List(_) | Node::Map(_) => dumps(value, &Style::default(), out),
                other if self.json => dumps(other, &Style::default(), out),
                other => display(other, out),
            }
            out.push_str("\n</parameter>\n");
        }
        out.push_str("</function>\n");
    }
}
