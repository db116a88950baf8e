//! The changes that causes were written together with.

use serde_json::{Value, json};
use verbatim_stages::lineage::Cause;

use super::{Lines, Mutation, first_turn, last, messages, place};

fn drop_role(lines: &mut Lines, role: &str) -> bool {
    let messages = last(lines);
    place(messages, role).map(|at| messages.remove(at)).is_some()
}

fn arguments(lines: &mut Lines) -> bool {
    let mut changed = false;
    for call in last(lines).iter_mut().flat_map(|m| m["tool_calls"].as_array_mut().into_iter().flatten()) {
        let text = call["function"]["arguments"].as_str().unwrap().to_owned();
        let value: Value = serde_json::from_str(&text).unwrap();
        let spelt = serde_json::to_string_pretty(&value).unwrap();
        changed |= spelt != text;
        call["function"]["arguments"] = json!(spelt);
    }
    changed
}

fn content(lines: &mut Lines, change: fn(&str) -> Value) -> bool {
    let Some(turn) = first_turn(lines) else { return false };
    let Some(text) = turn["content"].as_str().filter(|text| !text.is_empty()).map(str::to_owned) else {
        return false;
    };
    turn["content"] = change(&text);
    true
}

fn tools(lines: &mut Lines, change: fn(&mut Vec<Value>)) -> bool {
    let Some(tools) = lines.last_mut().unwrap()["body"]["tools"].as_array_mut() else { return false };
    change(tools);
    true
}

fn identity(_: &mut Lines) -> bool {
    true
}

fn summarised(lines: &mut Lines) -> bool {
    let mut asked = lines.last().unwrap().clone();
    let system = messages(&mut asked).iter().find(|message| message["role"] == "system").cloned();
    let question = json!({"role": "user", "content": "Sum up what was done."});
    let reply = &lines.last().unwrap()["reply"];
    let mut turn = json!({"role": "assistant", "content": reply["content"]});
    if let Some(reasoning) = reply.get("reasoning") {
        turn["reasoning_content"] = reasoning.clone();
    }
    messages(&mut asked).push(turn);
    messages(&mut asked).push(question);
    asked["reply"] = json!({"content": "A summary of what was done so far."});
    let mut next = asked.clone();
    let summary = json!({"role": "user", "content": "So far: A summary of what was done so far. Go on."});
    next["body"]["messages"] = system.into_iter().chain([summary]).collect();
    next["reply"] = json!({"content": "Going on."});
    lines.extend([asked, next]);
    true
}

pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation { name: "nothing is changed", change: identity, strict: None, loose: None },
    Mutation {
        name: "an assistant's turn is left out",
        change: |lines| drop_role(lines, "assistant"),
        strict: Some(Cause::AssistantDropped),
        loose: Some(Cause::AssistantDropped),
    },
    Mutation {
        name: "a tool's result is left out",
        change: |lines| drop_role(lines, "tool"),
        strict: Some(Cause::ToolResultDropped),
        loose: Some(Cause::ToolResultDropped),
    },
    Mutation {
        name: "results are reordered",
        change: |lines| {
            let messages = last(lines);
            let tools: Vec<usize> =
                (0..messages.len()).filter(|at| messages[*at]["role"] == "tool").collect();
            let [.., a, b] = tools[..] else { return false };
            let mut again = lines.last().unwrap().clone();
            again["reply"] = json!({"content": "Again."});
            super::messages(&mut again).swap(a, b);
            lines.push(again);
            true
        },
        strict: Some(Cause::Reordered),
        loose: Some(Cause::Reordered),
    },
    Mutation {
        name: "arguments are serialised again",
        change: arguments,
        strict: Some(Cause::SerialisationDrift),
        loose: None,
    },
    Mutation {
        name: "content becomes a list of parts",
        change: |lines| content(lines, |text| json!([{"type": "text", "text": text}])),
        strict: Some(Cause::SerialisationDrift),
        loose: None,
    },
    Mutation {
        name: "content loses its outer spaces",
        change: |lines| {
            let Some(text) = first_turn(lines).and_then(|turn| turn["content"].as_str().map(str::to_owned))
            else {
                return false;
            };
            text.trim() != text && content(lines, |text| json!(text.trim()))
        },
        strict: Some(Cause::SerialisationDrift),
        loose: Some(Cause::SerialisationDrift),
    },
    Mutation {
        name: "content says something else",
        change: |lines| content(lines, |text| json!(format!("{text} (shortened)"))),
        strict: Some(Cause::AssistantRewritten),
        loose: Some(Cause::AssistantRewritten),
    },
    Mutation {
        name: "reasoning is left out",
        change: |lines| {
            let Some(Value::Object(turn)) = first_turn(lines) else { return false };
            turn.shift_remove("reasoning_content").is_some()
        },
        strict: Some(Cause::ThinkingDropped),
        loose: None,
    },
    Mutation {
        name: "calls get ids of their own",
        change: |lines| {
            let mut text = serde_json::to_string(last(lines)).unwrap();
            let Some(id) =
                first_turn(lines).and_then(|turn| turn["tool_calls"][0]["id"].as_str().map(str::to_owned))
            else {
                return false;
            };
            text = text.replace(&id, "own_id_1");
            *last(lines) = serde_json::from_str(&text).unwrap();
            true
        },
        // Strict looks at calls' ids; a tolerant session, too.
        strict: Some(Cause::ToolCallIdentity),
        loose: Some(Cause::ToolCallIdentity),
    },
    Mutation {
        name: "the first exchange is left out",
        change: |lines| {
            let messages = last(lines);
            let Some(at) = place(messages, "assistant") else { return false };
            let next = messages[at + 1..].iter().position(|message| message["role"] == "assistant");
            let Some(length) = next.map(|next| next + 1) else { return false };
            messages.drain(at..at + length);
            length > 1
        },
        strict: Some(Cause::HistoryTrimmed),
        loose: Some(Cause::HistoryTrimmed),
    },
    Mutation {
        name: "the instructions hold a clock",
        change: |lines| {
            let messages = last(lines);
            let Some(at) = place(messages, "system") else { return false };
            messages[at]["content"] = json!("It is 12:01 now. Be helpful.");
            true
        },
        strict: Some(Cause::SystemChanged),
        loose: Some(Cause::SystemChanged),
    },
    Mutation {
        name: "the question is said otherwise",
        change: |lines| {
            let messages = last(lines);
            let Some(at) = place(messages, "user") else { return false };
            messages[at]["content"] = json!("Something else was asked.");
            true
        },
        strict: Some(Cause::HistoryRewritten),
        loose: Some(Cause::HistoryRewritten),
    },
    Mutation {
        name: "a tool is added",
        change: |lines| {
            tools(lines, |tools| {
                tools.push(json!({"type": "function", "function": {"name": "more", "parameters": {"type": "object"}}}))
            })
        },
        strict: Some(Cause::ToolsChanged),
        loose: Some(Cause::ToolsChanged),
    },
    Mutation {
        name: "tools come in another order",
        change: |lines| {
            for line in lines.iter_mut() {
                let Some(tools) = line["body"]["tools"].as_array_mut() else { return false };
                tools.push(json!({"type": "function", "function": {"name": "more", "parameters": {"type": "object"}}}));
            }
            tools(lines, |tools| tools.reverse())
        },
        strict: Some(Cause::ToolsReordered),
        loose: Some(Cause::ToolsReordered),
    },
    Mutation {
        name: "a tool is described otherwise",
        change: |lines| {
            tools(lines, |tools| tools[0]["function"]["description"] = json!("Another description."))
        },
        strict: Some(Cause::ToolsDescribed),
        loose: Some(Cause::ToolsDescribed),
    },
    Mutation {
        name: "thinking is switched",
        change: |lines| {
            lines.last_mut().unwrap()["body"]["chat_template_kwargs"] = json!({"enable_thinking": false});
            true
        },
        strict: Some(Cause::TemplateDrift),
        loose: Some(Cause::TemplateDrift),
    },
    Mutation {
        name: "a request that had its reply is sent again",
        change: |lines| {
            let again = lines.last().unwrap().clone();
            lines.push(again);
            true
        },
        strict: Some(Cause::Resent),
        loose: Some(Cause::Resent),
    },
    Mutation {
        name: "a request that failed is sent again",
        change: |lines| {
            let mut failed = lines.last().unwrap().clone();
            failed["reply"] = json!({"status": 503});
            lines.insert(lines.len() - 1, failed);
            true
        },
        strict: None,
        loose: None,
    },
    Mutation {
        name: "a helper asks something else",
        change: |lines| {
            let mut helper = lines.last().unwrap().clone();
            helper["body"]["messages"] = json!([{"role": "system", "content": "Name things."}, {"role": "user", "content": "Make a title."}]);
            helper["reply"] = json!({"content": "A title"});
            lines.push(helper);
            true
        },
        strict: Some(Cause::IndependentContext),
        loose: Some(Cause::IndependentContext),
    },
    Mutation {
        name: "the same turn goes on in another way",
        change: |lines| {
            let mut other = lines.last().unwrap().clone();
            let Some(at) = messages(&mut other).iter().rposition(|message| message["role"] == "assistant")
            else {
                return false;
            };
            messages(&mut other).truncate(at + 1);
            messages(&mut other).push(json!({"role": "user", "content": "Try something else."}));
            lines.push(other);
            true
        },
        strict: Some(Cause::ToolResultDropped),
        loose: Some(Cause::ToolResultDropped),
    },
    Mutation {
        name: "a summary takes the place of the history",
        change: summarised,
        strict: Some(Cause::Compaction),
        loose: Some(Cause::Compaction),
    },
];
