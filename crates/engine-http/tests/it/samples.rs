//! Replies that real engines sent, byte for byte.

use verbatim_engine::{Ending, StopBy};
use verbatim_engine_http::{Kind, Options, Parse, connect};
use verbatim_engine_mock::{Canned, Close, Reply};
use verbatim_tokens::{LogprobKind, TokenId};

use crate::support::{ask, llamacpp, params, prompt, sglang, spelt};

const GENERATE: &str = include_str!("../samples/sgl_generate.json");
const STREAM: &str = include_str!("../samples/sgl_generate_stream.txt");
const CHAT: &str = include_str!("../samples/sgl_chat.json");
const COMPLETIONS: &str = include_str!("../samples/vllm_completions_ids.json");
const VLLM_CHAT: &str = include_str!("../samples/vllm_chat_ids.json");
const FORBIDDEN: &str = include_str!("../samples/vllm_generate.json");
const LLAMA: &str = include_str!("../samples/llama_completion.json");

/// A reply to a prompt of 28 ids.
fn prompt_ids() -> Vec<u32> {
    (0..28).collect()
}

#[tokio::test]
async fn a_whole_sglang_reply() {
    let (_canned, server) = sglang(false, Reply::json(200, GENERATE), &Options::default()).await;
    let got = ask(server.engine.as_ref(), prompt("s", &prompt_ids()), &params()).await;
    assert_eq!(got.ids(), [15319, 2849, 1558, 13267, 403, 2618, 41257, 19124, 744, 461, 1482, 1603]);
    assert_eq!((got.logprobs()[0], got.logprobs()[3]), (Some(-1.621_803), Some(-11.946_472)));
    assert_eq!((got.end.ending.clone(), got.end.cached_tokens), (Ending::Length, Some(0)));
    assert!(
        got.versions().iter().all(|version| version == "?"),
        "it names `default`, and 17 was seen before"
    );
}

/// The recording ends in the middle of its fourth chunk.
#[tokio::test]
async fn a_cumulative_sglang_stream_as_far_as_it_was_recorded() {
    let body = Reply { chunks: vec![STREAM.into()], ..Reply::events(Vec::<&str>::new()) };
    let (_canned, server) = sglang(false, body, &Options::default()).await;
    let got = ask(server.engine.as_ref(), prompt("s", &prompt_ids()), &params()).await;
    assert_eq!(got.ids(), [504, 3575, 282]);
    assert_eq!(got.increments.len(), 3, "one new id a chunk, however much each repeats");
    assert_eq!(got.failure().kind(), "cut");
    assert_eq!((got.logprobs()[0], got.logprobs()[1]), (Some(-1.246_803_2), Some(-0.005_381_027_7)));
}

#[tokio::test]
async fn a_sglang_chat_reply_with_its_own_message() {
    let options = Options { parse: Parse::Engine, ..Options::default() };
    let (_canned, server) = sglang(false, Reply::json(200, CHAT), &options).await;
    let got = ask(server.engine.as_ref(), spelt(&prompt_ids()), &params()).await;
    assert_eq!(got.ids(), [7026, 7413, 816, 5145, 422, 424, 365, 60]);
    assert_eq!((got.end.ending.clone(), got.end.cached_tokens), (Ending::Length, Some(9)));
    assert_eq!(got.end.message.unwrap().content.text(), "Le Cap – La Dure (L");
}

/// A vLLM whose generate route is off, so that completions are used.
async fn completions(parse: Parse) -> (Canned, verbatim_engine_http::Server) {
    let canned = Canned::start([
        ("/version", Reply::json(200, r#"{"version":"0.32.0"}"#)),
        ("/v1/models", Reply::json(200, r#"{"data":[{"id":"policy","max_model_len":4096}]}"#)),
        ("/inference/v1/generate", Reply::json(403, FORBIDDEN)),
        ("/v1/completions", Reply::json(200, COMPLETIONS)),
        ("/v1/chat/completions", Reply::json(200, VLLM_CHAT)),
    ])
    .await
    .unwrap();
    let server = connect(&canned.url(), None, &Options { parse, ..Options::default() }).await.unwrap();
    (canned, server)
}

/// vLLM 0.32 in a virtual environment without pip fails inside `/server_info` and closes the connection.
#[tokio::test]
async fn a_vllm_that_breaks_off_after_a_failure_is_still_known() {
    let narrow = r#"{"choices":[{"logprobs":{"top_logprobs":[{"a":-0.163,"b":-1.894}]}}]}"#;
    let canned = Canned::start([
        ("/server_info", Reply::json(500, r#"{"error":{"message":"no","code":500}}"#).ending(Close::Reset)),
        ("/version", Reply::json(200, r#"{"version":"0.32.0"}"#)),
        (
            "/v1/models",
            Reply::json(200, r#"{"data":[{"id":"policy","max_model_len":4096,"root":"/models/m"}]}"#),
        ),
        ("/v1/completions", Reply::json(200, narrow)),
    ])
    .await
    .unwrap();
    let server = connect(&canned.url(), None, &Options::default()).await.unwrap();
    assert_eq!((server.kind, server.facts.model_path.as_deref()), (Kind::Vllm, Some("/models/m")));
    let kind = server.engine.capabilities().logprobs;
    assert_eq!(kind, LogprobKind::Processed, "two tokens that alone may be sampled add up to 1");
}

#[tokio::test]
async fn a_vllm_completion() {
    let (_canned, server) = completions(Parse::Family).await;
    assert_eq!(server.facts.tokens_route, Some(false), "403 is off");
    let got = ask(server.engine.as_ref(), prompt("s", &prompt_ids()), &params()).await;
    assert_eq!(got.ids(), [504, 3575, 282, 4649, 314, 7042, 30, 7042, 314, 441, 253, 2938]);
    assert_eq!((got.logprobs()[7], got.end.ending.clone()), (Some(-2.907_403_5), Ending::Length));
}

#[tokio::test]
async fn a_vllm_chat_reply_is_ours_only_if_it_read_our_prompt() {
    let (_canned, server) = completions(Parse::Engine).await;
    let read: Vec<u32> = (0..37).collect();
    let got = ask(server.engine.as_ref(), spelt(&read), &params()).await;
    assert_eq!((got.ids().len(), got.ids()[0]), (16, 60));
    assert_eq!(
        got.end.message.as_ref().unwrap().content.text(),
        "L'État légère, the constitution et la Langue d"
    );
    let got = ask(server.engine.as_ref(), spelt(&read[1..]), &params()).await;
    assert!(got.failure().to_string().contains("read a prompt of 37 ids where 36 were sent"));
}

#[tokio::test]
async fn a_llama_completion() {
    let (_canned, server) = llamacpp(Reply::json(200, LLAMA)).await;
    let asked = verbatim_engine::Params { stop_ids: vec![TokenId(151_645)], ..params() };
    let got = ask(server.engine.as_ref(), prompt("s", &[1; 9]), &asked).await;
    // Its first id, 2, is no stop of this model.
    assert_eq!((got.ids().len(), got.ids()[0], got.ids()[29]), (30, 2, 151_645));
    assert_eq!(got.end.ending, Ending::Stop(StopBy::Token(TokenId(151_645))));
    assert_eq!(got.logprobs()[0], Some(-1.457_732_7));
    assert!(got.logprobs().iter().all(Option::is_some), "{:?}", got.logprobs());
}
