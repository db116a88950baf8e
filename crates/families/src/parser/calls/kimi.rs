//! Kimi's calls: one block, in it for each call its id and its arguments as JSON, between marks.

use serde_json::value::RawValue;

use super::{Body, Call, CallFormat, Shelter, Types, Written, is_name};
use crate::parser::grammar::Mark;
use crate::python::{Node, Style, dumps};

/// `<|tool_call_begin|>functions.NAME:N<|tool_call_argument_begin|>{…}<|tool_call_end|>`.
#[derive(Debug)]
pub(crate) struct Kimi;

/// The format. Its ids name the function, and come back as the model wrote them.
pub(crate) const KIMI: &Kimi = &Kimi;

const INNER: &[&str] = &["<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"];

impl CallFormat for Kimi {
    fn marks(&self) -> (&'static str, &'static str) {
        ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
    }

    fn inner(&self) -> &'static [&'static str] {
        INNER
    }

    fn shelter(&self) -> Shelter {
        Shelter::JsonString
    }

    fn is_block(&self) -> bool {
        true
    }

    fn read(&self, body: Body<'_>, _types: &Types) -> Option<Vec<Call>> {
        let inner = body.marks.iter().filter_map(|(at, mark)| match mark {
            Mark::Inner(nth) => Some((*at, *nth)),
            _ => None,
        });
        let mut marks = inner.peekable();
        let mut calls = Vec::new();
        let mut done = 0;
        while let Some((begin, 0)) = marks.next() {
            let (middle, end) = (marks.next()?, marks.next_if(|(_, nth)| *nth == 2)?);
            let clean = middle.1 == 1 && body.text[done..begin].trim().is_empty();
            let id = body.text[begin + INNER[0].len()..middle.0].trim();
            let arguments = body.text[middle.0 + INNER[1].len()..end.0].trim();
            let name = function(id).filter(|_| clean)?;
            let json = arguments.starts_with('{') && serde_json::from_str::<&RawValue>(arguments).is_ok();
            calls.push(json.then(|| Call {
                id: Some(id.to_owned()),
                name: name.to_owned(),
                arguments: arguments.to_owned(),
            })?);
            done = end.0 + INNER[2].len();
        }
        (body.text[done..].trim().is_empty() && !calls.is_empty()).then_some(calls)
    }

    fn write(&self, call: &Written<'_>, out: &mut String) {
        out.push_str(INNER[0]);
        match call.id {
            Some(id) => out.push_str(id),
            None => out.push_str(&format!("functions.{}:{}", call.name, call.nth)),
        }
        out.push_str(INNER[1]);
        dumps(&Node::Map(call.arguments.to_vec()), &Style::default(), out);
        out.push_str(INNER[2]);
    }
}

/// The function that an id names: `functions.NAME:N`, with or without what stands before the name.
fn function(id: &str) -> Option<&str> {
    let (name, number) = id.rsplit_once(':')?;
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (numbered && is_name(name)).then_some(name)
}
