//! Kimi K2's calls: one section for all calls of a turn, each with its own id, between marks that are
//! tokens. The id names the function.

use serde_json::value::RawValue;

use super::{Body, Call, CallFormat, Shelter, Types, Written, is_name};
use crate::parser::grammar::Mark;
use crate::python::{Node, Style, dumps};

/// `<|tool_call_begin|>functions.NAME:INDEX<|tool_call_argument_begin|>JSON<|tool_call_end|>` in a section.
#[derive(Debug)]
pub(crate) struct Kimi;

/// The format.
pub(crate) const KIMI: &Kimi = &Kimi;

const INNER: &[&str] = &["<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"];
const BEGIN: usize = 0;
const ARGUMENTS: usize = 1;
const END: usize = 2;

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
        let mut marks = body.marks.iter().filter_map(|(at, mark)| match mark {
            Mark::Inner(nth) => Some((*at, *nth)),
            _ => None,
        });
        let mut calls = Vec::new();
        let mut done = 0;
        while let Some((begin, which)) = marks.next() {
            let arguments = marks.next().filter(|(_, which)| *which == ARGUMENTS)?;
            if which != BEGIN || !body.text[done..begin].trim().is_empty() {
                return None;
            }
            let id = body.text[begin + INNER[BEGIN].len()..arguments.0].trim();
            let start = arguments.0 + INNER[ARGUMENTS].len();
            // A mark inside a string of the arguments does not end them.
            let is_end = |(at, which): &(usize, usize)| *which == END && is_object(&body.text[start..*at]);
            let (end, _) = marks.find(is_end)?;
            let (name, text) = (name_of(id)?.to_owned(), body.text[start..end].to_owned());
            calls.push(Call { id: Some(id.to_owned()), name, arguments: text });
            done = end + INNER[END].len();
        }
        let valid = !calls.is_empty() && body.text[done..].trim().is_empty();
        valid.then_some(calls)
    }

    /// History shows a call's own id, which its result names. What is to be sampled has an id that
    /// names the function, as the model writes it.
    fn write(&self, call: &Written<'_>, out: &mut String) {
        out.push_str(INNER[BEGIN]);
        match call.id.filter(|id| !call.sampled || name_of(id) == Some(call.name)) {
            Some(id) => out.push_str(id),
            None => out.push_str(&format!("functions.{}:{}", call.name, call.nth)),
        }
        out.push_str(INNER[ARGUMENTS]);
        match call.text {
            Some(text) => out.push_str(text),
            None => dumps(&Node::Map(call.arguments.to_vec()), &Style::default(), out),
        }
        out.push_str(INNER[END]);
    }
}

/// The function that an id names: `functions.NAME:INDEX`, the prefix left out or not, as SGLang
/// reads it.
fn name_of(id: &str) -> Option<&str> {
    let (name, index) = id.rsplit_once(':')?;
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let counts = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    (counts && is_name(name)).then_some(name)
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}
