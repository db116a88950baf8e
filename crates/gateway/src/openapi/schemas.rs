//! What bodies look like. The dialects' are open: their own documents say the rest.

use serde_json::{Value, json};

/// All schemas by name.
pub(super) fn all() -> Value {
    let text = json!({"type": "string"});
    let number = json!({"type": "number"});
    let count = json!({"type": "integer", "minimum": 0});
    let flag = json!({"type": "boolean"});
    let object = json!({"type": "object"});
    let mode = json!({"enum": ["abort", "retract", "in_place", "drain"]});
    let roles = json!({"enum": ["system", "developer", "user", "assistant", "tool"]});
    let message =
        json!({"type": "object", "required": ["role"], "properties": {"role": roles, "content": {}}});
    let choice = json!({"type": ["string", "object", "null"]});
    let closed = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let open = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    json!({
        "Error": {
            "type": "object",
            "description": "OpenAI's shape; Anthropic's on its routes.",
            "properties": {"error": {"type": "object", "properties": {
                "message": text, "type": text, "code": {"type": ["string", "null"]},
                "param": {"type": ["string", "null"]},
            }}},
        },
        "Chat": open(json!({
            "messages": {"type": "array", "items": message}, "model": text, "stream": flag,
            "tools": {"type": "array", "items": object}, "max_tokens": count, "temperature": number,
            "top_p": number, "stop": {"type": ["string", "array", "null"]}, "logprobs": flag, "seed": count,
            "tool_choice": choice, "parallel_tool_calls": flag, "response_format": object,
        }), json!(["messages"])),
        "Completions": open(json!({
            "prompt": {"type": ["string", "array"]}, "model": text, "stream": flag, "max_tokens": count,
            "temperature": number, "logprobs": {"type": ["integer", "null"], "minimum": 0, "maximum": 20},
            "stop": {"type": ["string", "array", "null"]}, "return_token_ids": flag, "seed": count,
        }), json!(["prompt"])),
        "Tokens": open(json!({
            "input_ids": {"type": "array", "items": count}, "max_tokens": count, "temperature": number,
            "top_logprobs": count, "stop_token_ids": {"type": "array", "items": count}, "seed": count,
        }), json!(["input_ids"])),
        "Responses": open(json!({
            "input": {"type": ["string", "array"]}, "instructions": {"type": ["string", "null"]}, "model": text,
            "stream": flag, "tools": {"type": "array", "items": object}, "max_output_tokens": count,
            "previous_response_id": {"type": ["string", "null"]}, "tool_choice": choice, "parallel_tool_calls": flag,
            "text": object,
        }), json!([])),
        "Messages": open(json!({
            "messages": {"type": "array", "items": message}, "max_tokens": count, "model": text,
            "system": {"type": ["string", "array"]}, "stream": flag, "tools": {"type": "array", "items": object},
            "tool_choice": object, "output_config": object, "output_format": object,
        }), json!(["messages", "max_tokens"])),
        "Count": open(json!({
            "messages": {"type": "array", "items": message}, "model": text, "system": {"type": ["string", "array"]},
        }), json!(["messages"])),
        "OpenSession": closed(json!({
            "lineage": {"enum": ["tree", "linear"]}, "matcher": text, "group": text, "lora": text,
        }), json!([])),
        "Samples": closed(json!({
            "max_seq_len": count, "metadata": object, "pick": {"enum": ["drop_retries", "all", "keep_all"]},
            "reward": number, "rewards": {"type": "object", "additionalProperties": number},
            "format": {"enum": ["safetensors", "parquet", "jsonl"]}, "audit": flag,
        }), json!([])),
        "Order": closed(json!({"mode": mode, "version": text, "deadline_seconds": number}), json!([])),
        "EndUpdate": closed(
            json!({"version": text, "trained": count, "deadline_seconds": number}),
            json!(["version"]),
        ),
        "LoadWeights": closed(json!({"path": text, "deadline_seconds": number}), json!(["path"])),
        "Adapter": closed(json!({"name": text}), json!(["name"])),
        "Engine": closed(json!({"url": text, "drain_seconds": number}), json!(["url"])),
        "Evaluate": closed(json!({"datasets": {"type": "array", "items": text}}), json!([])),
        "OpenStep": closed(json!({"groups": count}), json!([])),
        "OptimizerStep": closed(json!({
            "step": count, "rows": count, "version": text, "groups": {"type": "array", "items": text},
            "metrics": {"type": "object", "additionalProperties": number},
        }), json!(["step", "rows", "version"])),
    })
}
