//! Tools declared as TypeScript: what the tokenizers of Kimi K2.5 and K2.6 make of them.
//!
//! The invariant: the text is that of the models' own encoder, whose rules are: required parameters
//! before optional ones, each by name; descriptions, constraints and defaults as comments above;
//! `$defs` as interfaces. What that encoder cannot do, this one refuses, too.

use serde_json::{Map, Value, json};

use crate::python::{Node, Style, display, dumps};

/// How deep a schema may nest.
const DEEPEST: usize = 64;

/// A schema that the encoder cannot declare.
#[derive(Debug)]
pub(crate) struct Undeclarable;

/// The declarations of all functions.
pub(crate) fn declared<'t>(tools: impl Iterator<Item = &'t Value>) -> Result<String, Undeclarable> {
    let functions = tools.filter(|tool| tool.get("type").is_none_or(|kind| kind == "function"));
    let functions = functions.map(|tool| tool.get("function").filter(|f| f.is_object()).unwrap_or(tool));
    let functions: Vec<String> = functions.map(function).collect::<Result<_, _>>()?;
    Ok(format!("# Tools\n\n## functions\nnamespace functions {{\n{}\n}}\n", functions.join("\n")))
}

fn function(function: &Value) -> Result<String, Undeclarable> {
    let mut registry = Registry::default();
    let nothing = json!({});
    let schema = function.get("parameters").filter(|schema| truthy(schema)).unwrap_or(&nothing);
    let root = Type::object(schema.as_object().ok_or(Undeclarable)?, &mut registry, 0)?;
    let mut parts = Vec::new();
    if registry.refers_to_itself {
        let Kind::Object { parameters, .. } = &root.kind else { return Err(Undeclarable) };
        let lines: Vec<String> = parameters.iter().map(|parameter| parameter.line("  ")).collect();
        let lines = if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join(",\n")) };
        parts.push(format!("interface parameters {{{lines}}}"));
    }
    let definitions = registry.definitions.clone();
    for (name, schema) in &definitions {
        let text = Type::of(schema, &mut registry, 0)?.spelled("");
        let described = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let described = if described.is_empty() { String::new() } else { comment(described, "") + "\n" };
        parts.push(format!("{described}interface {name} {text}"));
    }
    let name = function.get("name").map_or_else(|| "function".to_owned(), printed);
    let described = function.get("description").and_then(Value::as_str).unwrap_or_default();
    parts.extend(Some(comment(described, "")).filter(|_| !described.is_empty()));
    let parameters = if registry.refers_to_itself { "parameters".to_owned() } else { root.spelled("") };
    parts.push(format!("type {name} = (_: {parameters}) => any;"));
    Ok(parts.join("\n"))
}

#[derive(Debug, Default)]
struct Registry {
    definitions: Map<String, Value>,
    refers_to_itself: bool,
}

/// A parameter's type with what is said of it.
#[derive(Debug)]
struct Type {
    description: String,
    constraints: Vec<(String, String)>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Named(String),
    Object { parameters: Vec<Parameter>, others: Option<Box<Type>> },
    Array(Box<Type>),
    Any(Vec<Type>),
}

#[derive(Debug)]
struct Parameter {
    name: String,
    kind: Type,
    optional: bool,
    default: Option<Value>,
}

impl Type {
    fn named(name: &str) -> Self {
        Self { description: String::new(), constraints: Vec::new(), kind: Kind::Named(name.to_owned()) }
    }

    fn of(schema: &Value, registry: &mut Registry, depth: usize) -> Result<Self, Undeclarable> {
        if let Value::Bool(any) = schema {
            return Ok(Self::named(if *any { "any" } else { "null" }));
        }
        let map = schema.as_object().filter(|_| depth < DEEPEST).ok_or(Undeclarable)?;
        let mut allowed: &[&str] = &[];
        let kind = if let Some(target) = map.get("$ref") {
            let target = target.as_str().ok_or(Undeclarable)?;
            let name = target.strip_prefix("#/$defs/").map(|_| target.rsplit('/').next().unwrap_or_default());
            match name {
                _ if target == "#" => {
                    registry.refers_to_itself = true;
                    Kind::Named("parameters".to_owned())
                }
                Some(name) if registry.definitions.contains_key(name) => Kind::Named(name.to_owned()),
                _ => return Err(Undeclarable),
            }
        } else if let Some(choices) = map.get("anyOf") {
            let choices = choices.as_array().ok_or(Undeclarable)?.iter();
            Kind::Any(choices.map(|choice| Self::of(choice, registry, depth + 1)).collect::<Result<_, _>>()?)
        } else if let Some(values) = map.get("enum") {
            let values = values.as_array().ok_or(Undeclarable)?.iter().map(|value| match value {
                Value::String(text) => format!("\"{text}\""),
                other => dumped(other, true),
            });
            Kind::Named(values.collect::<Vec<_>>().join(" | "))
        } else {
            match map.get("type") {
                None if map.is_empty() => Kind::Named("any".to_owned()),
                Some(Value::Array(names)) => {
                    let names = names.iter().map(|name| union(name.as_str().unwrap_or_default()));
                    Kind::Named(names.collect::<Option<Vec<_>>>().ok_or(Undeclarable)?.join(" | "))
                }
                Some(Value::String(name)) => match name.as_str() {
                    "object" => return Self::object(map, registry, depth),
                    "array" => {
                        allowed = &["maxItems", "minItems"];
                        let items = map.get("items").filter(|items| truthy(items));
                        let item = items.map(|items| Self::of(items, registry, depth + 1)).transpose()?;
                        Kind::Array(Box::new(item.unwrap_or_else(|| Self::named("any"))))
                    }
                    name => {
                        allowed = match name {
                            "string" => &["maxLength", "minLength", "pattern"],
                            "number" | "integer" => &["maximum", "minimum"],
                            _ => &[],
                        };
                        Kind::Named(if name == "integer" { "number" } else { name }.to_owned())
                    }
                },
                _ => return Err(Undeclarable),
            }
        };
        let constraints = allowed.iter().filter_map(|key| Some(((*key).to_owned(), printed(map.get(*key)?))));
        Ok(Self { description: described(map)?, constraints: constraints.collect(), kind })
    }

    fn object(map: &Map<String, Value>, registry: &mut Registry, depth: usize) -> Result<Self, Undeclarable> {
        if let Some(definitions) = map.get("$defs") {
            let definitions = definitions.as_object().ok_or(Undeclarable)?;
            registry.definitions.extend(definitions.iter().map(|(name, of)| (name.clone(), of.clone())));
        }
        let others = match map.get("additionalProperties") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(any)) => Some(Box::new(Self::named(if *any { "any" } else { "never" }))),
            Some(schema) => Some(Box::new(Self::of(schema, registry, depth + 1)?)),
        };
        let required = match map.get("required") {
            None => Vec::new(),
            Some(names) => names.as_array().ok_or(Undeclarable)?.iter().filter_map(Value::as_str).collect(),
        };
        let mut parameters = Vec::new();
        if let Some(properties) = map.get("properties") {
            for (name, schema) in properties.as_object().ok_or(Undeclarable)? {
                parameters.push(Parameter {
                    name: name.clone(),
                    kind: Self::of(schema, registry, depth + 1)?,
                    optional: !required.contains(&name.as_str()),
                    default: schema.get("default").filter(|value| !value.is_null()).cloned(),
                });
            }
        }
        let kind = Kind::Object { parameters, others };
        Ok(Self { description: described(map)?, constraints: Vec::new(), kind })
    }

    fn spelled(&self, indent: &str) -> String {
        let deeper = format!("{indent}  ");
        match &self.kind {
            Kind::Named(name) => name.clone(),
            Kind::Any(types) => types.iter().map(|kind| kind.spelled(indent)).collect::<Vec<_>>().join(" | "),
            Kind::Array(item) => match item.comments(&deeper) {
                said if said.is_empty() => format!("Array<{}>", item.spelled(indent)),
                said => format!("Array<\n{said}{deeper}{}\n{indent}>", item.spelled(&deeper)),
            },
            Kind::Object { parameters, others } => {
                let mut sorted: Vec<&Parameter> = parameters.iter().collect();
                sorted.sort_by(|a, b| (a.optional, &a.name).cmp(&(b.optional, &b.name)));
                let mut lines: Vec<String> = sorted.iter().map(|parameter| parameter.line(&deeper)).collect();
                lines.extend(others.iter().map(|of| format!("{deeper}[k: string]: {}", of.spelled(&deeper))));
                if lines.is_empty() {
                    "{}".to_owned()
                } else {
                    format!("{{\n{}\n{indent}}}", lines.join(",\n"))
                }
            }
        }
    }

    fn comments(&self, indent: &str) -> String {
        let mut out = String::new();
        if !self.description.is_empty() {
            out += &(comment(&self.description, indent) + "\n");
        }
        if !self.constraints.is_empty() {
            let pairs = self.constraints.iter().map(|(key, value)| format!("{key}: {value}"));
            out += &format!("{indent}// {}\n", pairs.collect::<Vec<_>>().join(", "));
        }
        out
    }
}

impl Parameter {
    fn line(&self, indent: &str) -> String {
        let default =
            self.default.as_ref().map(|value| format!("{indent}// Default: {}\n", dumped(value, false)));
        let comments = self.kind.comments(indent) + &default.unwrap_or_default();
        let mark = if self.optional { "?" } else { "" };
        format!("{comments}{indent}{}{mark}: {}", self.name, self.kind.spelled(indent))
    }
}

fn described(map: &Map<String, Value>) -> Result<String, Undeclarable> {
    match map.get("description") {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(Undeclarable),
    }
}

fn comment(text: &str, indent: &str) -> String {
    let lines = text.split('\n').map(|line| match line {
        "" => String::new(),
        line => format!("{indent}// {line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn union(name: &str) -> Option<&'static str> {
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

fn truthy(value: &Value) -> bool {
    crate::native::is_true(value)
}

fn printed(value: &Value) -> String {
    let mut out = String::new();
    display(&Node::from(value), &mut out);
    out
}

fn dumped(value: &Value, ensure_ascii: bool) -> String {
    let mut out = String::new();
    dumps(&Node::from(value), &Style { ensure_ascii, ..Style::default() }, &mut out);
    out
}
