//! GLM's calls: a name, then keys and values between marks that are tokens.

use super::types::Pairs;
use super::{Body, Call, CallFormat, Shelter, Types, Written, is_name};
use crate::parser::grammar::Mark;
use crate::python::{Node, Style, dumps};

/// `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>`.
#[derive(Debug)]
pub(crate) struct Keyed;

/// The format. GLM-4.5 and 4.6 put newlines between the marks, which are read as well.
pub(crate) const GLM: &Keyed = &Keyed;

const INNER: &[&str] = &["<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"];
const VALUE: usize = 2;
const VALUE_END: usize = 3;

impl CallFormat for Keyed {
    fn marks(&self) -> (&'static str, &'static str) {
        ("<tool_call>", "</tool_call>")
    }

    fn inner(&self) -> &'static [&'static str] {
        INNER
    }

    fn shelter(&self) -> Shelter {
        Shelter::Inner(VALUE, VALUE_END)
    }

    fn read(&self, body: Body<'_>, types: &Types) -> Option<Vec<Call>> {
        let mut marks = body.marks.iter().filter_map(|(at, mark)| match mark {
            Mark::Inner(nth) => Some((*at, *nth)),
            _ => None,
        });
        let first = marks.clone().next().map_or(body.text.len(), |(at, _)| at);
        let name = body.text[..first].trim();
        let mut pairs = Pairs::default();
        let mut done = first;
        while let Some((at, 0)) = marks.next() {
            let between = |from: usize, to: usize| body.text[from..to].trim().is_empty();
            let (key_end, value, value_end) = (marks.next()?, marks.next()?, value_end(&mut marks)?);
            let key = body.text[at + INNER[0].len()..key_end.0].trim();
            // In this order, for the lengths are those of the marks that should be there.
            let ordered = (key_end.1, value.1) == (1, VALUE);
            if !ordered
                || !between(done, at)
                || !between(key_end.0 + INNER[1].len(), value.0)
                || pairs.has(key)
            {
                return None;
            }
            let text = &body.text[value.0 + INNER[VALUE].len()..value_end];
            pairs.put(key, types.value(name, key, text));
            done = value_end + INNER[VALUE_END].len();
        }
        let valid = is_name(name) && marks.next().is_none() && body.text[done..].trim().is_empty();
        valid.then(|| vec![Call { id: None, name: name.to_owned(), arguments: pairs.finish() }])
    }

    fn write(&self, call: &Written<'_>, out: &mut String) {
        out.push_str(call.name);
        for (key, value) in call.arguments {
            out.push_str("<arg_key>");
            out.push_str(key);
            out.push_str("</arg_key><arg_value>");
            match value {
                Node::Text(text) => out.push_str(text),
                other => dumps(other, &Style::default(), out),
            }
            out.push_str("</arg_value>");
        }
    }
}

/// Where a value ends: at the next mark that says so.
fn value_end(marks: &mut impl Iterator<Item = (usize, usize)>) -> Option<usize> {
    marks.find(|(_, nth)| *nth == VALUE_END).map(|(at, _)| at)
}
