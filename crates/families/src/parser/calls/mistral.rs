//! Mistral's calls: a name and its arguments as JSON, which end where the next call or the turn does.

use serde_json::value::RawValue;

use super::{Body, Call, CallFormat, Shelter, Types, Written, is_name};
use crate::parser::grammar::Mark;
use crate::python::{Node, Style, dumps};

/// `[TOOL_CALLS]NAME[ARGS]{…}`.
#[derive(Debug)]
pub(crate) struct Mistral;

/// The format.
pub(crate) const MISTRAL: &Mistral = &Mistral;

const ARGS: &str = "[ARGS]";

impl CallFormat for Mistral {
    fn marks(&self) -> (&'static str, &'static str) {
        ("[TOOL_CALLS]", "")
    }

    fn inner(&self) -> &'static [&'static str] {
        &[ARGS]
    }

    fn shelter(&self) -> Shelter {
        Shelter::JsonString
    }

    fn ends_itself(&self) -> bool {
        true
    }

    fn read(&self, body: Body<'_>, _types: &Types) -> Option<Vec<Call>> {
        let at = body.marks.iter().find(|(_, mark)| *mark == Mark::Inner(0)).map(|(at, _)| *at)?;
        let name = body.text[..at].trim();
        let arguments = body.text[at + ARGS.len()..].trim();
        let json = arguments.starts_with('{') && serde_json::from_str::<&RawValue>(arguments).is_ok();
        let valid = json && is_name(name);
        valid.then(|| vec![Call { id: None, name: name.to_owned(), arguments: arguments.to_owned() }])
    }

    fn around(&self, name: &str) -> Option<(String, &'static str)> {
        Some((format!("{name}{ARGS}"), ""))
    }

    fn write(&self, call: &Written<'_>, out: &mut String) {
        out.push_str(call.name);
        out.push_str(ARGS);
        dumps(&Node::Map(call.arguments.to_vec()), &Style::default(), out);
    }
}
