//! Tools as Kimi K2.5's tokenizer declares them: as TypeScript.
//!
//! The invariant: what the official declaration accepts is spelled as it spells it, and what it fails
//! on is declared as compact JSON, as its template then does. Keys come in order, as the tokenizer
//! sorts the declarations first.

use serde_json::{Map, Value};
use verbatim_chat::Tool;

use crate::python::{Node, Style, display, dumps};

const INDENT: &str = "  ";

/// Declarations as JSON without spaces, keys in order.
pub(crate) fn compact(tools: &[Tool]) -> String {
    let style = Style {
        item_separator: ",".to_owned(),
        key_separator: ":".to_owned(),
        sort_keys: true,
        ..Style::default()
    };
    let list = Node::List(tools.iter().map(|tool| Node::from(&tool.0)).collect());
    let mut out = String::new();
    dumps(&list, &style, &mut out);
    out
}

/// Declarations as TypeScript; `None` where the official declaration fails or declares nothing.
pub(crate) fn typescript(tools: &[Tool]) -> Option<String> {
    let mut functions = Vec::new();
    for tool in tools {
        let kind = tool.0.get("type").and_then(Value::as_str);
        let function = match tool.0.get("function") {
            Some(function) if kind == Some("function") => function.as_object()?,
            Some(_) => continue,
            None => tool.0.as_object()?,
        };
        if !function.is_empty() {
            functions.push(declared(function)?);
        }
    }
    let all = functions.join("\n");
    (!all.is_empty()).then(|| format!("# Tools\n\n## functions\nnamespace functions {{\n{all}\n}}\n"))
}

/// One function: the interfaces that it names, its description, its type.
fn declared(function: &Map<String, Value>) -> Option<String> {
    let nothing = Map::new();
    let parameters = match function.get("parameters") {
        Some(value) if truthy(value) => value.as_object()?,
        _ => &nothing,
    };
    let mut known = Known::default();
    let root = object(parameters, &mut known)?;
    let mut lines = Vec::new();
    let own = known.itself;
    if own {
        let Kind::Object(fields, _) = &root.kind else { return None };
        let fields: Vec<String> = fields.iter().map(|field| field.print(INDENT)).collect();
        let inside = if fields.is_empty() { String::new() } else { format!("\n{}\n", fields.join(",\n")) };
        lines.push(format!("interface parameters {{{inside}}}"));
    }
    for (name, schema) in known.definitions.clone() {
        let printed = parsed(schema, &mut known)?.print("");
        let about = match schema.get("description") {
            Some(text) if truthy(text) => commented(text.as_str()?, "") + "\n",
            _ => String::new(),
        };
        lines.push(format!("{about}interface {name} {printed}"));
    }
    if let Some(about) = function.get("description").filter(|about| truthy(about)) {
        lines.push(commented(about.as_str()?, ""));
    }
    let name = function.get("name").map_or_else(|| "function".to_owned(), printed);
    let takes = if own { "parameters".to_owned() } else { root.print("") };
    lines.push(format!("type {name} = (_: {takes}) => any;"));
    lines.retain(|line| !line.is_empty());
    Some(lines.join("\n"))
}

/// The definitions that a function's schema has made known, and whether it names itself.
#[derive(Default)]
struct Known<'s> {
    definitions: Vec<(&'s str, &'s Value)>,
    itself: bool,
}

/// A type with what its comment says.
struct Type {
    kind: Kind,
    about: String,
    /// Limits, by name.
    limits: Vec<(&'static str, String)>,
}

enum Kind {
    /// A type in one word, or one that is spelled out.
    Word(String),
    /// Fields, those that must be there first, and the type of all others.
    Object(Vec<Field>, Option<Box<Type>>),
    /// Items.
    Array(Box<Type>),
    /// One of several.
    Any(Vec<Type>),
}

struct Field {
    name: String,
    of: Type,
    optional: bool,
    default: Option<String>,
}

impl Type {
    fn word(word: &str) -> Self {
        Self { kind: Kind::Word(word.to_owned()), about: String::new(), limits: Vec::new() }
    }

    /// The comment over it.
    fn comment(&self, indent: &str) -> String {
        let mut out = String::new();
        if !self.about.is_empty() {
            out = commented(&self.about, indent) + "\n";
        }
        if !self.limits.is_empty() {
            let limits: Vec<String> =
                self.limits.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            out.push_str(&format!("{indent}// {}\n", limits.join(", ")));
        }
        out
    }

    fn print(&self, indent: &str) -> String {
        let deeper = format!("{indent}{INDENT}");
        match &self.kind {
            Kind::Word(word) => word.clone(),
            Kind::Any(types) => types.iter().map(|of| of.print(indent)).collect::<Vec<_>>().join(" | "),
            Kind::Array(item) => match item.comment(&deeper) {
                comment if comment.is_empty() => format!("Array<{}>", item.print(indent)),
                comment => format!("Array<\n{comment}{deeper}{}\n{indent}>", item.print(&deeper)),
            },
            Kind::Object(fields, rest) => {
                let (optional, required): (Vec<&Field>, Vec<&Field>) =
                    fields.iter().partition(|field| field.optional);
                let fields = required.into_iter().chain(optional).map(|field| field.print(&deeper));
                let rest = rest.iter().map(|of| format!("{deeper}[k: string]: {}", of.print(&deeper)));
                let all: Vec<String> = fields.chain(rest).collect();
                if all.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n{indent}}}", all.join(",\n")) }
            }
        }
    }
}

impl Field {
    fn print(&self, indent: &str) -> String {
        let default = self.default.iter().map(|text| format!("{indent}// Default: {text}\n"));
        let mark = if self.optional { "?" } else { "" };
        let comment = self.of.comment(indent) + &default.collect::<String>();
        format!("{comment}{indent}{}{mark}: {}", self.name, self.of.print(indent))
    }
}

/// Reads a schema; `None` where the official declaration fails.
fn parsed<'s>(schema: &'s Value, known: &mut Known<'s>) -> Option<Type> {
    if let Value::Bool(any) = schema {
        return Some(Type::word(if *any { "any" } else { "null" }));
    }
    let map = schema.as_object()?;
    let kind = if let Some(target) = map.get("$ref") {
        Kind::Word(named(target.as_str()?, known)?)
    } else if let Some(types) = map.get("anyOf") {
        let types = types.as_array()?.iter().map(|of| parsed(of, known));
        Kind::Any(types.collect::<Option<_>>()?)
    } else if let Some(values) = map.get("enum") {
        Kind::Word(choices(values.as_array()?, map.get("type"))?)
    } else {
        match map.get("type") {
            Some(Value::Array(names)) => {
                let words = names.iter().map(|name| word_of(name.as_str()?));
                Kind::Word(words.collect::<Option<Vec<_>>>()?.join(" | "))
            }
            Some(Value::String(name)) if name == "object" => return object(map, known),
            Some(Value::String(name)) if name == "array" => {
                let item = match map.get("items").filter(|items| truthy(items)) {
                    Some(items) => parsed(items, known)?,
                    None => Type::word("any"),
                };
                let kind = Kind::Array(Box::new(item));
                return Some(Type {
                    kind,
                    about: about(map)?,
                    limits: limits(map, &["maxItems", "minItems"]),
                });
            }
            Some(Value::String(name)) => {
                let (word, known): (&str, &[&'static str]) = match name.as_str() {
                    "string" => ("string", &["maxLength", "minLength", "pattern"]),
                    "integer" | "number" => ("number", &["maximum", "minimum"]),
                    other => (other, &[]),
                };
                let kind = Kind::Word(word.to_owned());
                return Some(Type { kind, about: about(map)?, limits: limits(map, known) });
            }
            None if map.is_empty() => return Some(Type::word("any")),
            _ => return None,
        }
    };
    Some(Type { kind, about: about(map)?, limits: Vec::new() })
}

/// An object's fields in order of their names.
fn object<'s>(map: &'s Map<String, Value>, known: &mut Known<'s>) -> Option<Type> {
    if let Some(definitions) = map.get("$defs") {
        for (name, schema) in ordered(definitions.as_object()?) {
            known.definitions.retain(|(old, _)| *old != name);
            known.definitions.push((name, schema));
        }
    }
    let rest = match map.get("additionalProperties") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(any)) => Some(Type::word(if *any { "any" } else { "never" })),
        Some(schema @ Value::Object(_)) => Some(parsed(schema, known)?),
        Some(_) => return None,
    };
    let mut fields = Vec::new();
    if let Some(properties) = map.get("properties") {
        let required: Vec<&str> = match map.get("required") {
            None => Vec::new(),
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(Value::Object(names)) => names.keys().map(String::as_str).collect(),
            Some(_) => return None,
        };
        for (name, schema) in ordered(properties.as_object()?) {
            let default = schema.get("default").filter(|default| !default.is_null()).map(defaulted);
            let (of, optional) = (parsed(schema, known)?, !required.contains(&name));
            fields.push(Field { name: name.to_owned(), of, optional, default });
        }
    }
    Some(Type { kind: Kind::Object(fields, rest.map(Box::new)), about: about(map)?, limits: Vec::new() })
}

fn ordered(map: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut entries: Vec<(&str, &Value)> = map.iter().map(|(name, value)| (name.as_str(), value)).collect();
    entries.sort_by_key(|(name, _)| *name);
    entries
}

/// What a reference is called.
fn named(target: &str, known: &mut Known<'_>) -> Option<String> {
    if target == "#" {
        known.itself = true;
        return Some("parameters".to_owned());
    }
    let name = target.strip_prefix("#/$defs/")?.rsplit('/').next()?;
    known.definitions.iter().any(|(known, _)| *known == name).then(|| name.to_owned())
}

/// The values of an enumeration, if they are of its type.
fn choices(values: &[Value], kind: Option<&Value>) -> Option<String> {
    let kind = match kind {
        None => "",
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => match kinds.as_slice() {
            [only] => only.as_str()?,
            [first, second] if *first == "null" || *second == "null" => {
                if *first == "null" { second } else { first }.as_str()?
            }
            _ => return None,
        },
        Some(_) => return None,
    };
    let fits = |value: &Value| match kind {
        _ if value.is_null() => true,
        "string" => value.is_string(),
        // Python's booleans are integers.
        "number" => value.is_number() || value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.is_boolean(),
        "boolean" => value.is_boolean(),
        _ => true,
    };
    let shown = |value: &Value| match value {
        Value::String(text) => format!("\"{text}\""),
        other => printed(other),
    };
    values.iter().all(fits).then(|| values.iter().map(shown).collect::<Vec<_>>().join(" | "))
}

fn word_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "string" => "string",
        "number" | "integer" => "number",
        "boolean" => "boolean",
        "null" => "null",
        "object" => "{}",
        "array" => "Array<any>",
        _ => return None,
    })
}

fn about(map: &Map<String, Value>) -> Option<String> {
    match map.get("description") {
        Some(text) if truthy(text) => text.as_str().map(str::to_owned),
        _ => Some(String::new()),
    }
}

fn limits(map: &Map<String, Value>, known: &[&'static str]) -> Vec<(&'static str, String)> {
    known.iter().filter_map(|name| Some((*name, printed(map.get(*name)?)))).collect()
}

/// Each line as a comment; empty ones stay empty.
fn commented(text: &str, indent: &str) -> String {
    let line = |line: &str| if line.is_empty() { String::new() } else { format!("{indent}// {line}") };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A default as Python prints numbers and booleans, and JSON the rest.
fn defaulted(value: &Value) -> String {
    if value.is_number() || value.is_boolean() {
        return printed(value);
    }
    let mut out = String::new();
    dumps(&Node::from(value), &Style::default(), &mut out);
    out
}

fn printed(value: &Value) -> String {
    let mut out = String::new();
    display(&Node::from(value), &mut out);
    out
}

fn truthy(value: &Value) -> bool {
    crate::native::is_true(value)
}
