//! Requests of Responses and Messages: what is taken, refused and ignored, each by its name.

use serde_json::{Value, json};
use verbatim_chat::{Content, Message, Part, Role};
use verbatim_dialects::{Forgetful, Invalid, Wire, anthropic, responses};
use verbatim_events::Cause;

fn with(base: Value, extra: Value) -> String {
    let mut body = base;
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body.to_string()
}

/// Everything of a request is read; what was lost, by name.
fn lost(wire: &dyn Wire, mut lost: Vec<Cause>) -> Result<Vec<String>, Invalid> {
    wire.setup(&mut lost)?;
    for at in 0..wire.len() {
        wire.message(at, &Forgetful, &mut lost)?;
    }
    Ok(lost.iter().map(|cause| format!("{} {}", cause.name(), cause.detail()).trim().to_owned()).collect())
}

fn of_responses(extra: Value) -> Result<Vec<String>, Invalid> {
    let body = with(json!({"input": "q"}), extra);
    let request = responses::Request::parse(body.as_bytes(), "m")?;
    lost(&request, request.lost.clone())
}

fn of_anthropic(extra: Value) -> Result<Vec<String>, Invalid> {
    let body = with(json!({"messages": [{"role": "user", "content": "q"}], "max_tokens": 9}), extra);
    let request = anthropic::Request::parse(body.as_bytes())?;
    lost(&request, request.lost.clone())
}

#[test]
fn what_responses_cannot_honour_is_named() {
    let ignored = [
        (
            json!({"store": false, "stream": true, "model": "x", "metadata": {"a": "b"}, "truncation": "disabled"}),
            vec![],
        ),
        (
            json!({"text": {"format": {"type": "text"}}, "tool_choice": "auto", "parallel_tool_calls": true}),
            vec![],
        ),
        (json!({"include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}}), vec![]),
        (json!({"service_tier": null, "prompt": null, "conversation": null, "background": false}), vec![]),
        (json!({"prompt_cache_key": "k"}), vec!["field_ignored prompt_cache_key"]),
        (json!({"client_metadata": {"x": "y"}}), vec!["field_ignored client_metadata"]),
        (json!({"reasoning": {"effort": "high"}}), vec!["field_ignored reasoning.effort"]),
        (json!({"text": {"verbosity": "low"}}), vec!["field_ignored text.verbosity"]),
        (json!({"truncation": "auto"}), vec!["field_ignored truncation"]),
        (
            json!({"include": ["file_search_call.results"]}),
            vec!["field_ignored include=file_search_call.results"],
        ),
        (
            json!({"tools": [{"type": "web_search"}, {"type": "namespace", "name": "n", "tools": []}]}),
            vec!["field_ignored tools[].type=web_search", "field_ignored tools[].type=namespace"],
        ),
        (
            json!({"tools": [{"type": "function", "name": "f", "strict": true}], "parallel_tool_calls": false}),
            vec!["field_ignored parallel_tool_calls", "field_ignored tools[].strict"],
        ),
        (json!({"input": [{"role": "developer", "content": "s"}]}), vec!["role_mapped developer"]),
    ];
    for (extra, expected) in ignored {
        assert_eq!(of_responses(extra.clone()).unwrap(), expected, "{extra}");
    }
    let refused = [
        (json!({"input": []}), "input"),
        (json!({"input": 7}), "input"),
        (json!({"input": [7]}), "input[0]"),
        (json!({"input": [{"type": "web_search_call"}]}), "input[0].type"),
        (json!({"input": [{"role": "critic", "content": "x"}]}), "input[0].role"),
        (json!({"input": [{"role": "user"}]}), "input[0].content"),
        (
            json!({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}),
            "input[0].content[0].image_url",
        ),
        (json!({"input": [{"type": "function_call", "call_id": "c"}]}), "input[0].name"),
        (json!({"input": [{"type": "function_call_output", "output": "x"}]}), "input[0].call_id"),
        (json!({"input": [{"type": "item_reference", "id": "rs_1"}]}), "input[0].id"),
        (json!({"tools": [{"name": "f"}]}), "tools[0].type"),
        (json!({"tools": [{"type": "function"}]}), "tools[0].name"),
        (json!({"tool_choice": "sometimes"}), "tool_choice"),
        (json!({"tool_choice": {"type": "web_search"}}), "tool_choice"),
        (json!({"text": {"format": {"type": "json_schema"}}}), "text.format.schema"),
        (json!({"text": {"format": {"type": "xml"}}}), "text.format.type"),
        (json!({"background": true}), "background"),
        (json!({"conversation": "c"}), "conversation"),
        (json!({"prompt": {"id": "p"}}), "prompt"),
        (json!({"top_logprobs": 3}), "top_logprobs"),
        (json!({"max_output_tokens": 0}), "max_output_tokens"),
        (json!({"instructions": 5}), "instructions"),
    ];
    for (extra, field) in refused {
        assert_eq!(of_responses(extra.clone()).unwrap_err().field, field, "{extra}");
    }
}

#[test]
fn what_messages_cannot_honour_is_named() {
    let user = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    let marked = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
    let ignored = [
        (
            json!({"stream": true, "model": "x", "stop_sequences": ["a"], "top_k": 3, "temperature": 1}),
            vec![],
        ),
        (json!({"thinking": {"type": "adaptive"}, "tool_choice": {"type": "auto"}, "system": ""}), vec![]),
        (json!({"metadata": {"user_id": "u"}}), vec!["field_ignored metadata"]),
        (
            json!({"thinking": {"type": "enabled", "budget_tokens": 5}}),
            vec!["field_ignored thinking.budget_tokens"],
        ),
        (json!({"output_config": {"effort": "high"}}), vec!["field_ignored output_config.effort"]),
        (
            json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}, "tools": [{"name": "f", "input_schema": {}}]}),
            vec!["field_ignored tool_choice.disable_parallel_tool_use"],
        ),
        (json!({"context_management": {"edits": [1]}}), vec!["field_ignored context_management"]),
        (user(marked.clone()), vec!["field_ignored messages[].content[].cache_control"]),
        (json!({"system": [marked]}), vec!["field_ignored messages[].content[].cache_control"]),
        (
            user(json!({"type": "tool_result", "tool_use_id": "c", "is_error": true})),
            vec!["field_ignored messages[].content[].is_error"],
        ),
    ];
    for (extra, expected) in ignored {
        assert_eq!(of_anthropic(extra.clone()).unwrap(), expected, "{extra}");
    }
    let refused = [
        (json!({"messages": []}), "messages"),
        (json!({"messages": [{"content": "x"}]}), "messages[0].role"),
        (json!({"messages": [{"role": "tool", "content": "x"}]}), "messages[0].role"),
        (json!({"messages": [{"role": "user"}]}), "messages[0].content"),
        (json!({"messages": [{"role": "user", "content": 5}]}), "messages[0].content"),
        (user(json!({"type": "image", "source": {}})), "messages[0].content[0].source.type"),
        (user(json!({"type": "tool_result"})), "messages[0].content[0].tool_use_id"),
        (user(json!({"type": "text"})), "messages[0].content[0].text"),
        (json!({"tools": [{"type": "web_search_20250305", "name": "w"}]}), "tools[0].type"),
        (json!({"tools": [{"name": "f"}]}), "tools[0].input_schema"),
        (json!({"tool_choice": {"type": "some"}}), "tool_choice.type"),
        (json!({"tool_choice": {"type": "tool"}}), "tool_choice.name"),
        (json!({"thinking": {"type": "maybe"}}), "thinking.type"),
        (json!({"output_config": {"format": {"type": "json_schema"}}}), "output_config.format.schema"),
        (json!({"output_format": {"type": "yaml"}}), "output_format.type"),
        (json!({"mcp_servers": [{"url": "x"}]}), "mcp_servers"),
        (json!({"stop_sequences": [""]}), "stop_sequences"),
        (json!({"max_tokens": 0}), "max_tokens"),
    ];
    for (extra, field) in refused {
        assert_eq!(of_anthropic(extra.clone()).unwrap_err().field, field, "{extra}");
    }
}

#[test]
fn a_user_message_is_split_where_its_results_are() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": id});
    let content = json!([text("a"), text("b"), result("1"), result("2"), text("c")]);
    let body = json!({"system": "s", "messages": [{"role": "user", "content": content}]}).to_string();
    let request = anthropic::Request::parse(body.as_bytes()).unwrap();
    let messages: Vec<_> =
        (0..request.len()).map(|at| request.message(at, &Forgetful, &mut Vec::new()).unwrap()).collect();
    let said = |texts: &[&str]| Message {
        content: Content::Parts(texts.iter().map(|text| Part::Text((*text).into())).collect()),
        ..Message::new(Role::User, "")
    };
    let told = |id: &str| Message { tool_call_id: Some(id.into()), ..Message::new(Role::Tool, id) };
    assert_eq!(
        messages,
        [Message::new(Role::System, "s"), said(&["a", "b"]), told("1"), told("2"), said(&["c"])]
    );
}

#[test]
fn a_moved_cache_mark_changes_no_key() {
    let mark = json!({"type": "ephemeral"});
    let body = |marked: usize| {
        let blocks = ["a", "b", "c"].iter().enumerate().map(|(at, text)| {
            let mut block = json!({"type": "text", "text": text});
            if at == marked {
                block["cache_control"] = mark.clone();
            }
            json!({"role": "user", "content": [block]})
        });
        json!({"system": [{"type": "text", "text": "s"}], "messages": blocks.collect::<Vec<_>>()}).to_string()
    };
    let bodies = [body(0), body(2), body(9)];
    let requests: Vec<_> =
        bodies.iter().map(|body| anthropic::Request::parse(body.as_bytes()).unwrap()).collect();
    for request in &requests[1..] {
        for count in 0..=4 {
            assert_eq!(request.bytes(count), requests[0].bytes(count));
        }
    }
}

#[test]
fn what_an_agent_names_is_part_of_every_key() {
    let body = |extra: Value| with(json!({"input": [{"role": "user", "content": "q"}]}), extra);
    let bodies = [
        body(json!({})),
        body(json!({"previous_response_id": "resp_1"})),
        body(json!({"instructions": "s"})),
        body(json!({"reasoning": {"effort": "none"}})),
        body(json!({"tools": [{"type": "function", "name": "f"}]})),
    ];
    let requests: Vec<_> =
        bodies.iter().map(|body| responses::Request::parse(body.as_bytes(), "m").unwrap()).collect();
    for (at, one) in requests.iter().enumerate() {
        for two in &requests[at + 1..] {
            assert_ne!(one.bytes(one.len()), two.bytes(two.len()));
        }
    }
    assert_eq!(requests[1].continues().unwrap().response, "resp_1");
}
