//! Whole replies, as OpenAI's clients read them.

use insta::assert_json_snapshot;
use serde_json::json;
use verbatim_chat::{Arguments, Content, Message, Role, ToolCall};
use verbatim_dialects::Counts;
use verbatim_dialects::chat::{Alternative, Completion, TokenLogprob, Usage};
use verbatim_events::Finish;

const COUNTS: Counts = Counts { prompt: 10, sampled: 3, cached: 4, reasoning: 2 };

pub(crate) fn logprob(token: &str, logprob: f32) -> TokenLogprob {
    let top_logprobs = vec![Alternative { token: "ho".into(), logprob: -2.5, bytes: b"ho".to_vec() }];
    TokenLogprob { token: token.into(), logprob, bytes: token.as_bytes().to_vec(), top_logprobs }
}

fn call(id: &str, arguments: Arguments) -> ToolCall {
    ToolCall { id: Some(id.into()), name: "f".into(), arguments }
}

fn written(message: &Message, finish: Finish, logprobs: Option<Vec<TokenLogprob>>) -> String {
    let usage = Usage::new(COUNTS);
    let reply = Completion::new("chatcmpl-1", 1700000000, "policy", message, finish, usage, logprobs);
    serde_json::to_string_pretty(&reply).unwrap()
}

#[test]
fn a_text_is_a_message_that_stopped() {
    let reply =
        written(&Message::new(Role::Assistant, "hi é"), Finish::Stop, Some(vec![logprob("hi", -0.5)]));
    insta::assert_snapshot!(reply, @r#"
    {
      "id": "chatcmpl-1",
      "object": "chat.completion",
      "created": 1700000000,
      "model": "policy",
      "choices": [
        {
          "index": 0,
          "message": {
            "role": "assistant",
            "content": "hi é",
            "refusal": null
          },
          "logprobs": {
            "content": [
              {
                "token": "hi",
                "logprob": -0.5,
                "bytes": [
                  104,
                  105
                ],
                "top_logprobs": [
                  {
                    "token": "ho",
                    "logprob": -2.5,
                    "bytes": [
                      104,
                      111
                    ]
                  }
                ]
              }
            ]
          },
          "finish_reason": "stop"
        }
      ],
      "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "prompt_tokens_details": {
          "cached_tokens": 4
        },
        "completion_tokens_details": {
          "reasoning_tokens": 2
        }
      }
    }
    "#);
}

#[test]
fn calls_alone_have_null_content_and_finish_with_tool_calls() {
    let mut message = Message::new(Role::Assistant, "");
    message.reasoning = Some("hm".into());
    message.tool_calls = vec![
        call("call_1", Arguments::Text("{ \"a\" :1}".into())),
        call("call_2", Arguments::Json(json!({"z": 1, "a": 2}))),
    ];
    insta::assert_snapshot!(written(&message, Finish::Stop, None), @r#"
    {
      "id": "chatcmpl-1",
      "object": "chat.completion",
      "created": 1700000000,
      "model": "policy",
      "choices": [
        {
          "index": 0,
          "message": {
            "role": "assistant",
            "content": null,
            "reasoning_content": "hm",
            "refusal": null,
            "tool_calls": [
              {
                "id": "call_1",
                "type": "function",
                "function": {
                  "name": "f",
                  "arguments": "{ \"a\" :1}"
                }
              },
              {
                "id": "call_2",
                "type": "function",
                "function": {
                  "name": "f",
                  "arguments": "{\"z\":1,\"a\":2}"
                }
              }
            ]
          },
          "logprobs": null,
          "finish_reason": "tool_calls"
        }
      ],
      "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "prompt_tokens_details": {
          "cached_tokens": 4
        },
        "completion_tokens_details": {
          "reasoning_tokens": 2
        }
      }
    }
    "#);
}

#[test]
fn finish_reasons_are_openais() {
    let text = Message::new(Role::Assistant, "x");
    let mut calls = text.clone();
    calls.tool_calls = vec![call("c", Arguments::Text("{}".into()))];
    let reason = |message: &Message, finish| {
        let usage = Usage::new(COUNTS);
        Completion::new("", 0, "", message, finish, usage, None).choices[0].finish_reason
    };
    assert_eq!(reason(&text, Finish::Stop), "stop");
    assert_eq!(reason(&text, Finish::Length), "length");
    assert_eq!(reason(&calls, Finish::Stop), "tool_calls");
    assert_eq!(reason(&calls, Finish::Length), "length", "what was cut is not complete");
}

#[test]
fn content_is_null_only_where_there_is_nothing_but_calls() {
    let content = |content: Content, calls: usize| {
        let mut message = Message::new(Role::Assistant, "");
        message.content = content;
        message.tool_calls = vec![call("c", Arguments::Text(String::new())); calls];
        let usage = Usage::new(COUNTS);
        let reply = Completion::new("", 0, "", &message, Finish::Stop, usage, None);
        reply.choices[0].message.content.as_deref().map(str::to_owned)
    };
    assert_eq!(content(Content::Absent, 0).as_deref(), Some(""));
    assert_eq!(content("".into(), 1), None);
    assert_eq!(content("x".into(), 1).as_deref(), Some("x"));
}

#[test]
fn usage_counts_what_was_cached_among_what_was_read() {
    assert_json_snapshot!(Usage::new(COUNTS), @r#"
    {
      "prompt_tokens": 10,
      "completion_tokens": 3,
      "total_tokens": 13,
      "prompt_tokens_details": {
        "cached_tokens": 4
      },
      "completion_tokens_details": {
        "reasoning_tokens": 2
      }
    }
    "#);
}
