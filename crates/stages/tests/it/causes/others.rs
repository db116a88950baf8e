//! Changes held out: written after the causes, each another way to the same.
//!
//! The invariant: what a change is called follows from what it does, and not from what an audit says of it.

use serde_json::{Value, json};
use verbatim_stages::lineage::Cause;

use super::{Lines, Mutation, first_turn, last, messages, place};

fn tools(lines: &mut Lines) -> Option<&mut Vec<Value>> {
    lines.last_mut()?["body"]["tools"].as_array_mut()
}

/// An object with its members in the opposite order.
fn turned(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().rev().map(|(name, value)| (name.clone(), turned(value))).collect()
        }
        other => other.clone(),
    }
}

/// Drops a turn, and the results that answer its calls: nothing of it is left.
fn without_turn(messages: &mut Vec<Value>, at: usize) {
    let calls: Vec<Value> =
        messages[at]["tool_calls"].as_array().into_iter().flatten().map(|call| call["id"].clone()).collect();
    messages.remove(at);
    messages.retain(|message| message["role"] != "tool" || !calls.contains(&message["tool_call_id"]));
}

pub(crate) const OTHERS: &[Mutation] = &[
    Mutation {
        name: "the latest assistant's turn is left out",
        change: |lines| {
            let messages = last(lines);
            let at = messages.iter().rposition(|message| message["role"] == "assistant");
            at.map(|at| messages.remove(at)).is_some()
        },
        strict: Some(Cause::AssistantDropped),
        loose: Some(Cause::AssistantDropped),
    },
    Mutation {
        name: "the latest tool's result is gone once the conversation goes on",
        change: |lines| {
            let mut next = lines.last().unwrap().clone();
            let reply = next["reply"].clone();
            let at = messages(&mut next).iter().rposition(|message| message["role"] == "tool");
            let (Some(at), None) = (at, reply.get("calls")) else { return false };
            let mut turn = json!({"role": "assistant", "content": reply["content"]});
            if let Some(reasoning) = reply.get("reasoning") {
                turn["reasoning_content"] = reasoning.clone();
            }
            messages(&mut next).remove(at);
            messages(&mut next).extend([turn, json!({"role": "user", "content": "Go on."})]);
            next["reply"] = json!({"content": "Going on."});
            lines.push(next);
            true
        },
        strict: Some(Cause::ToolResultDropped),
        loose: Some(Cause::ToolResultDropped),
    },
    Mutation {
        name: "arguments come back with their members in another order",
        change: |lines| {
            let Some(call) = first_turn(lines).and_then(|turn| turn["tool_calls"].get_mut(0)) else {
                return false;
            };
            let text = call["function"]["arguments"].as_str().unwrap().to_owned();
            let value: Value = serde_json::from_str(&text).unwrap();
            let spelt = turned(&value).to_string();
            call["function"]["arguments"] = json!(spelt);
            value.as_object().is_some_and(|members| members.len() > 1)
        },
        strict: Some(Cause::SerialisationDrift),
        loose: None,
    },
    Mutation {
        name: "content gets a newline behind it",
        change: |lines| {
            let Some(turn) = first_turn(lines) else { return false };
            let Some(text) = turn["content"].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
            else {
                return false;
            };
            turn["content"] = json!(format!("{text}\n"));
            true
        },
        strict: Some(Cause::SerialisationDrift),
        loose: Some(Cause::SerialisationDrift),
    },
    Mutation {
        name: "content is cut to its first half",
        change: |lines| {
            let Some(turn) = first_turn(lines) else { return false };
            let Some(text) = turn["content"].as_str().map(str::to_owned) else { return false };
            let half: String = text.chars().take(text.chars().count() / 2).collect();
            turn["content"] = json!(half);
            half.trim() != text.trim() && !half.trim().is_empty()
        },
        strict: Some(Cause::AssistantRewritten),
        loose: Some(Cause::AssistantRewritten),
    },
    Mutation {
        name: "a call comes back with another argument",
        change: |lines| {
            let Some(call) = first_turn(lines).and_then(|turn| turn["tool_calls"].get_mut(0)) else {
                return false;
            };
            call["function"]["arguments"] = json!(r#"{"command": "true"}"#);
            true
        },
        strict: Some(Cause::AssistantRewritten),
        loose: Some(Cause::AssistantRewritten),
    },
    Mutation {
        name: "reasoning is left out of every turn",
        change: |lines| {
            let mut dropped = 0;
            for turn in last(lines).iter_mut().filter_map(Value::as_object_mut) {
                dropped += usize::from(turn.shift_remove("reasoning_content").is_some());
            }
            dropped > 1
        },
        strict: Some(Cause::ThinkingDropped),
        loose: None,
    },
    Mutation {
        name: "every call is numbered anew",
        change: |lines| {
            let mut text = serde_json::to_string(last(lines)).unwrap();
            let turns = last(lines).iter().flat_map(|m| m["tool_calls"].as_array().into_iter().flatten());
            let ids: Vec<String> = turns.map(|call| call["id"].as_str().unwrap().to_owned()).collect();
            for (number, id) in ids.iter().enumerate() {
                text = text.replace(id.as_str(), &format!("functions.tool:{number}"));
            }
            *last(lines) = serde_json::from_str(&text).unwrap();
            !ids.is_empty()
        },
        strict: Some(Cause::ToolCallIdentity),
        loose: Some(Cause::ToolCallIdentity),
    },
    Mutation {
        name: "a window slides over the history: the first turn and its results are gone",
        change: |lines| {
            let messages = last(lines);
            let turns = messages.iter().filter(|message| message["role"] == "assistant").count();
            let Some(at) = place(messages, "assistant") else { return false };
            without_turn(messages, at);
            turns > 1
        },
        strict: Some(Cause::HistoryTrimmed),
        loose: Some(Cause::HistoryTrimmed),
    },
    Mutation {
        name: "a line is put behind the instructions",
        change: |lines| {
            let Some(system) = last(lines).iter_mut().find(|message| message["role"] == "system") else {
                return false;
            };
            let Some(text) = system["content"].as_str().map(str::to_owned) else { return false };
            system["content"] = json!(format!("{text}\nYou have two steps left."));
            true
        },
        strict: Some(Cause::SystemChanged),
        loose: Some(Cause::SystemChanged),
    },
    Mutation {
        name: "a tool's old result is cut short",
        change: |lines| {
            let messages = last(lines);
            let turns = messages.iter().filter(|message| message["role"] == "assistant").count();
            let Some(at) = place(messages, "tool") else { return false };
            messages[at]["content"] = json!("[output left out]");
            turns > 1
        },
        strict: Some(Cause::HistoryRewritten),
        loose: Some(Cause::HistoryRewritten),
    },
    Mutation {
        name: "no tools are declared any more",
        change: |lines| {
            let Some(body) = lines.last_mut().and_then(|line| line["body"].as_object_mut()) else {
                return false;
            };
            body.shift_remove("tool_choice");
            body.shift_remove("tools").is_some()
        },
        strict: Some(Cause::ToolsChanged),
        loose: Some(Cause::ToolsChanged),
    },
    Mutation {
        name: "a parameter of a tool is described otherwise",
        change: |lines| {
            let Some(tool) = tools(lines).and_then(|tools| tools.first_mut()) else { return false };
            let text = tool["function"]["description"].as_str().unwrap_or_default().to_owned();
            tool["function"]["description"] = json!(format!("{text} Now in Oslo."));
            true
        },
        strict: Some(Cause::ToolsDescribed),
        loose: Some(Cause::ToolsDescribed),
    },
    Mutation {
        name: "a template argument comes",
        change: |lines| {
            lines.last_mut().unwrap()["body"]["chat_template_kwargs"] = json!({"builtin_tools": ["x"]});
            true
        },
        strict: Some(Cause::TemplateDrift),
        loose: Some(Cause::TemplateDrift),
    },
    Mutation {
        name: "a request that had its reply is sent again, hotter",
        change: |lines| {
            let mut again = lines.last().unwrap().clone();
            again["body"]["temperature"] = json!(1.5);
            lines.push(again);
            true
        },
        strict: Some(Cause::Resent),
        loose: Some(Cause::Resent),
    },
    Mutation {
        name: "a request that failed twice is sent again",
        change: |lines| {
            let mut failed = lines.last().unwrap().clone();
            failed["reply"] = json!({"status": 429});
            let at = lines.len() - 1;
            lines.insert(at, failed.clone());
            lines.insert(at, failed);
            true
        },
        strict: None,
        loose: None,
    },
    Mutation {
        name: "a helper without tools judges the answer",
        change: |lines| {
            let mut helper = lines.last().unwrap().clone();
            if let Some(body) = helper["body"].as_object_mut() {
                body.shift_remove("tools");
                body.shift_remove("tool_choice");
            }
            *messages(&mut helper) =
                vec![json!({"role": "user", "content": "Is this answer right? Say yes or no."})];
            helper["reply"] = json!({"content": "yes"});
            lines.push(helper);
            true
        },
        strict: Some(Cause::IndependentContext),
        loose: Some(Cause::IndependentContext),
    },
    Mutation {
        name: "a summary stands before the latest exchange",
        change: |lines| {
            let messages = last(lines);
            let Some(first) = place(messages, "assistant") else { return false };
            let Some(at) = messages.iter().rposition(|message| message["role"] == "assistant") else {
                return false;
            };
            if at == first {
                return false;
            }
            let kept = messages.split_off(at);
            messages.truncate(first);
            messages.push(json!({"role": "user", "content": "Summary of the conversation so far: one tool was called."}));
            messages.extend(kept);
            true
        },
        strict: Some(Cause::Compaction),
        loose: Some(Cause::Compaction),
    },
];
