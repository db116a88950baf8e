//! What the official templates render (`tools/goldens` made them).

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use verbatim_chat::{Arguments, Content, Message, Part, Role, Setup, Tool, ToolCall};
use verbatim_families::Scene;
use verbatim_tokens::TokenId;

/// One conversation in one mode, and its prompt.
pub(crate) struct Golden {
    pub(crate) name: String,
    messages: Vec<Value>,
    tools: Vec<Tool>,
    template: Map<String, Value>,
    /// Why the family refuses it: a rule of its own, or `official` where the template itself does.
    pub(crate) refused: Option<String>,
    /// What the family renders.
    pub(crate) ids: Vec<TokenId>,
    /// What the official template renders, where that is something else; nothing where it fails.
    pub(crate) native: Option<Vec<TokenId>>,
    /// For each assistant's turn, the length of its prompt if that is a prefix of `ids`.
    pub(crate) prompts: Vec<Option<usize>>,
}

/// A conversation as it is written down for all families.
#[derive(Deserialize)]
struct Conversation {
    name: String,
    messages: Vec<Value>,
    #[serde(default)]
    tools: Vec<String>,
    template: Option<Map<String, Value>>,
}

/// The first line of a family's file.
#[derive(Deserialize)]
struct Header {
    modes: Vec<Map<String, Value>>,
}

/// What is said of one conversation in one mode.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Refused(usize, usize, String),
    Differs(usize, usize, Delta, Vec<Option<usize>>, Option<Delta>),
    Same(usize, usize, Delta, Vec<Option<usize>>),
}

/// Ids as what they share with others at both ends, and what stands between.
#[derive(Deserialize)]
struct Delta(usize, usize, Vec<TokenId>);

impl Delta {
    fn over(&self, base: &[TokenId]) -> Vec<TokenId> {
        [&base[..self.0], &self.2, &base[base.len() - self.1..]].concat()
    }
}

/// The goldens of a family. Ids are written as their difference from those of the last conversation
/// with the same tools.
pub(crate) fn of(name: &str) -> Vec<Golden> {
    let mut written = lines("conversations");
    let declared: Value = serde_json::from_str(&written.next().unwrap()).unwrap();
    let conversations: Vec<Conversation> = written.map(|line| serde_json::from_str(&line).unwrap()).collect();
    let mut own = lines(name);
    let header: Header = serde_json::from_str(&own.next().unwrap()).unwrap();
    let mut last: HashMap<&[String], Vec<TokenId>> = HashMap::new();
    own.map(|line| {
        let (at, mode, body) = match serde_json::from_str(&line).unwrap() {
            Line::Refused(at, mode, why) => (at, mode, Err(why)),
            Line::Same(at, mode, ids, prompts) => (at, mode, Ok((ids, prompts, None))),
            Line::Differs(at, mode, ids, prompts, native) => (at, mode, Ok((ids, prompts, Some(native)))),
        };
        let conversation = &conversations[at];
        let mut messages = conversation.messages.clone();
        if name.starts_with("kimi") {
            rename_calls(&mut messages);
        }
        let toolless = name == "gemma3";
        if toolless {
            without_tools(&mut messages);
        }
        let declared_here = conversation.tools.iter().filter(|_| !toolless);
        let mut golden = Golden {
            name: format!("{}/{mode}", conversation.name),
            messages,
            tools: declared_here.map(|name| Tool(declared["tools"][name].clone())).collect(),
            template: conversation.template.clone().unwrap_or_else(|| header.modes[mode].clone()),
            refused: None,
            ids: Vec::new(),
            native: None,
            prompts: Vec::new(),
        };
        match body {
            Err(why) => golden.refused = Some(why),
            Ok((ids, prompts, native)) => {
                let base = last.entry(if toolless { &[] } else { &conversation.tools }).or_default();
                *base = ids.over(base);
                golden.native =
                    native.map(|native| native.map(|native| native.over(base)).unwrap_or_default());
                (golden.ids, golden.prompts) = (base.clone(), prompts);
            }
        }
        golden
    })
    .collect()
}

/// Where a format has no tools, nothing is called, and a result is what a user says.
fn without_tools(messages: &mut [Value]) {
    for message in messages {
        if message["role"] == "tool" {
            message["role"] = Value::from("user");
        }
        if let Some(fields) = message.as_object_mut() {
            fields.shift_remove("tool_calls");
        }
    }
}

/// Gives calls the ids that Kimi writes, counted through the conversation; results follow.
fn rename_calls(messages: &mut [Value]) {
    let mut ids: HashMap<String, String> = HashMap::new();
    let mut count = 0;
    for message in messages {
        for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
            let own = format!("functions.{}:{count}", call["function"]["name"].as_str().unwrap());
            count += 1;
            let old = std::mem::replace(&mut call["id"], Value::from(own.as_str()));
            ids.insert(old.as_str().unwrap().to_owned(), own);
        }
        let answers = message.get("tool_call_id").and_then(Value::as_str).and_then(|id| ids.get(id)).cloned();
        if let Some(id) = answers {
            message["tool_call_id"] = Value::from(id);
        }
    }
}

/// Those that the family renders.
pub(crate) fn rendered(name: &str) -> Vec<Golden> {
    of(name).into_iter().filter(|golden| golden.refused.is_none()).collect()
}

/// The lines of a file of goldens.
pub(crate) fn lines(name: &str) -> impl Iterator<Item = String> {
    let path = format!("{}/tests/goldens/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

impl Golden {
    pub(crate) fn setup(&self) -> Setup {
        Setup { tools: self.tools.clone(), template: self.template.clone() }
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.messages.iter().map(message).collect()
    }
}

/// The scene of a setup.
pub(crate) fn scene(setup: &Setup) -> Scene<'_> {
    Scene { setup, opened: 1_741_100_767 }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

pub(crate) fn message(value: &Value) -> Message {
    let role: Role = serde_json::from_value(value["role"].clone()).unwrap();
    let content = match &value["content"] {
        Value::Null => Content::Absent,
        Value::String(text) => Content::Text(text.clone()),
        parts => {
            let parts = parts.as_array().unwrap().iter();
            Content::Parts(parts.map(|part| Part::Text(text(part, "text").unwrap())).collect())
        }
    };
    let calls = value.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let calls = calls.map(|call| ToolCall {
        id: text(call, "id"),
        name: text(&call["function"], "name").unwrap(),
        arguments: match &call["function"]["arguments"] {
            Value::String(text) => Arguments::Text(text.clone()),
            object => Arguments::Json(object.clone()),
        },
    });
    Message {
        reasoning: text(value, "reasoning_content"),
        tool_calls: calls.collect(),
        tool_call_id: text(value, "tool_call_id"),
        name: text(value, "name"),
        ..Message::new(role, content)
    }
}
