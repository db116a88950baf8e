//! The template engine, taught to do as Python's does.
//!
//! The invariant: for templates of models in use, the text is byte for byte what jinja2 renders
//! inside transformers; the only clock a template can read is the one it is given.
//!
//! Known to differ: `~` and `join` spell floats beyond 1e16 or below 1e-4 as the engine does, since
//! they ask no filter; `x.append` and the like are refused, as in transformers' sandbox.

use std::fmt::Write;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, Value};

use super::convert::{node, value};
use super::guard::GUARD;
use super::suffix::SAID;
use crate::python::{Style, display, dumps};
use crate::{FamilyError, RenderError};

const CHAT: &str = "chat";
/// The session's clock, under a name that no template uses.
const OPENED: &str = "__opened";

/// A compiled chat template.
pub(super) struct Engine {
    environment: Environment<'static>,
}

impl Engine {
    /// Compiles a template.
    pub(super) fn new(template: &str) -> Result<Self, FamilyError> {
        let refused = |error: Error| FamilyError::Template {
            reason: format!("the chat template does not compile: {}", told(&error)),
        };
        let syntax =
            SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(refused)?;
        let mut environment = Environment::new();
        environment.set_syntax(syntax);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.set_formatter(|out, _, value| {
            let mut text = String::new();
            if let Some(node) = node(value) {
                display(&node, &mut text);
            }
            out.write_str(&text).map_err(Error::from)
        });
        environment.add_filter("tojson", tojson);
        environment.add_filter("string", |value: &Value| {
            let mut text = String::new();
            if let Some(node) = node(value) {
                display(&node, &mut text);
            }
            text
        });
        environment.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
        environment.add_function("raise_exception", |reason: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, reason))
        });
        environment.add_function("strftime_now", strftime_now);
        environment.add_template_owned(CHAT, without_generation(template)).map_err(refused)?;
        Ok(Self { environment })
    }

    /// Renders messages, with the opener of the assistant's next turn if it is a `prompt`.
    pub(super) fn render(
        &self,
        frame: &Frame,
        messages: &[Value],
        prompt: bool,
    ) -> Result<String, RenderError> {
        let own = [
            ("messages".to_owned(), messages.iter().cloned().collect()),
            ("add_generation_prompt".to_owned(), Value::from(prompt)),
        ];
        let context = Value::from_pairs(frame.0.iter().cloned().chain(own));
        let template = self.environment.get_template(CHAT);
        let rendered = template.and_then(|template| template.render(context));
        rendered.map_err(|error| RenderError::Template { reason: told(&error) })
    }
}

/// Everything that a template sees besides messages.
pub(super) struct Frame(Vec<(String, Value)>);

impl Frame {
    /// `tools` and `documents` are defined even where there are none, as in transformers.
    pub(super) fn new(
        opened: i64,
        tools: Option<Value>,
        variables: impl Iterator<Item = (String, Value)>,
    ) -> Self {
        let fixed = [
            ("tools".to_owned(), tools.unwrap_or_else(|| Value::from(()))),
            ("documents".to_owned(), Value::from(())),
            (OPENED.to_owned(), Value::from(opened)),
        ];
        Self(variables.chain(fixed).collect())
    }
}

/// An error with its causes, on one line.
fn told(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

/// Python's `json.dumps` in place of jinja's filter, which escapes for HTML.
fn tojson(document: &Value, keywords: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = keywords.get("indent")?;
    let ensure_ascii: Option<bool> = keywords.get("ensure_ascii")?;
    let sort_keys: Option<bool> = keywords.get("sort_keys")?;
    let separators: Option<Vec<String>> = keywords.get("separators")?;
    keywords.assert_all_used()?;
    let refused = |reason: &str| Error::new(ErrorKind::InvalidOperation, reason.to_owned());
    let (item_separator, key_separator) = match separators.as_deref() {
        Some([item, key]) => (item.clone(), key.clone()),
        Some(_) => return Err(refused("tojson: separators are a pair")),
        None => ((if indent.is_some() { "," } else { ", " }).to_owned(), ": ".to_owned()),
    };
    let document = node(document).ok_or_else(|| refused("tojson: undefined is not JSON serializable"))?;
    let style = Style {
        ensure_ascii: ensure_ascii.unwrap_or(false),
        indent,
        item_separator,
        key_separator,
        sort_keys: sort_keys.unwrap_or(false),
        transparent: &[GUARD, SAID],
    };
    let mut text = String::new();
    dumps(&document, &style, &mut text);
    Ok(value(&crate::python::Node::Text(text)))
}

/// The moment at which the session opened, in UTC, in a format of `strftime`.
fn strftime_now(state: &State<'_, '_>, format: &str) -> Result<String, Error> {
    let refused = |reason: String| Error::new(ErrorKind::InvalidOperation, reason);
    let opened = state.lookup(OPENED).and_then(|value| i64::try_from(value).ok()).unwrap_or_default();
    let opened = chrono::DateTime::from_timestamp(opened, 0)
        .ok_or_else(|| refused(format!("no such time: {opened}")))?;
    let mut text = String::new();
    write!(text, "{}", opened.format(format))
        .map_err(|_| refused(format!("strftime_now: no such format {format:?}")))?;
    Ok(text)
}

/// Replaces `{% generation %}` blocks, which only tell transformers what to train, by blocks that
/// the engine knows.
fn without_generation(template: &str) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let length = tag.find("%}").map_or(tag.len(), |end| end + 2);
        let (tag, after) = tag.split_at(length);
        let name = tag.trim_start_matches(['{', '%', '-', '+']).trim_end_matches(['}', '%', '-', '+']).trim();
        match name {
            "generation" => out.push_str(&tag.replacen("generation", "if true", 1)),
            "endgeneration" => out.push_str(&tag.replacen("endgeneration", "endif", 1)),
            _ => out.push_str(tag),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
