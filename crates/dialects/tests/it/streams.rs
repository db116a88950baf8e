//! Streamed replies, chunk by chunk.

use insta::assert_snapshot;
use verbatim_dialects::Counts;
use verbatim_dialects::chat::{Chunks, Usage};
use verbatim_events::Finish;

use crate::replies::logprob;

const COUNTS: Counts = Counts { prompt: 10, sampled: 3, cached: 4, reasoning: 2 };

fn chunks(include_usage: bool) -> Chunks {
    Chunks::new("chatcmpl-1".into(), 1700000000, "policy".into(), include_usage)
}

#[test]
fn a_text_is_streamed_role_first_and_finish_last() {
    let chunks = chunks(false);
    let stream = [
        chunks.opened(),
        chunks.reasoning("hm", None),
        chunks.content("hi", None),
        chunks.content("\n\"é\u{2028}", None),
        chunks.finished(Finish::Stop, None),
    ];
    assert_snapshot!(stream.join("\n"), @r#"
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"reasoning_content":"hm"},"logprobs":null,"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"content":"hi"},"logprobs":null,"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"content":"\n\"é "},"logprobs":null,"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}
    "#);
    assert_eq!(chunks.usage(Usage::new(COUNTS)), None, "usage was not asked for");
}

#[test]
fn calls_are_streamed_by_index_and_named_once() {
    let mut chunks = chunks(false);
    let stream = [
        chunks.opened(),
        chunks.call(0, "call_1", "f"),
        chunks.arguments(0, "{\"a\":"),
        chunks.arguments(0, "1}"),
        chunks.call(1, "call_2", "g"),
        chunks.arguments(1, "{}"),
        chunks.finished(Finish::Stop, None),
    ];
    assert_snapshot!(stream.join("\n"), @r#"
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]},"logprobs":null,"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]},"logprobs":null,"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"logprobs":null,"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"g","arguments":""}}]},"logprobs":null,"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"logprobs":null,"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]}
    "#);
}

#[test]
fn usage_is_one_more_chunk_without_choices_and_null_before() {
    let chunks = chunks(true);
    let stream =
        [chunks.opened(), chunks.finished(Finish::Length, None), chunks.usage(Usage::new(COUNTS)).unwrap()];
    assert_snapshot!(stream.join("\n"), @r#"
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}],"usage":null}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}
    "#);
}

#[test]
fn logprobs_come_with_the_chunk_of_their_tokens() {
    let chunks = chunks(false);
    let stream = [
        chunks.content("hi", Some(vec![logprob("h", -0.5), logprob("i", -9999.0)])),
        chunks.finished(Finish::Stop, Some(vec![logprob("<|end|>", -0.25)])),
    ];
    assert_snapshot!(stream.join("\n"), @r#"
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{"content":"hi"},"logprobs":{"content":[{"token":"h","logprob":-0.5,"bytes":[104],"top_logprobs":[{"token":"ho","logprob":-2.5,"bytes":[104,111]}]},{"token":"i","logprob":-9999.0,"bytes":[105],"top_logprobs":[{"token":"ho","logprob":-2.5,"bytes":[104,111]}]}]},"finish_reason":null}]}
    {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"policy","choices":[{"index":0,"delta":{},"logprobs":{"content":[{"token":"<|end|>","logprob":-0.25,"bytes":[60,124,101,110,100,124,62],"top_logprobs":[{"token":"ho","logprob":-2.5,"bytes":[104,111]}]}]},"finish_reason":"stop"}]}
    "#);
}

#[test]
fn a_stream_that_was_cut_inside_a_call_finishes_with_length() {
    let mut chunks = chunks(false);
    chunks.call(0, "call_1", "f");
    assert!(chunks.finished(Finish::Length, None).contains(r#""finish_reason":"length""#));
}
