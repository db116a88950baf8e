//! Images beside ids, over HTTP.

use std::sync::Arc;

use serde_json::json;
use verbatim_chat::{Image, ImagePlace, ImageSpan};
use verbatim_engine::{EngineError, Prompt};
use verbatim_engine_http::{Options, Parse, connect};
use verbatim_engine_mock::{Images, Wire};

use crate::support::{ask, events, mock, params, prompt, quick, sglang};

const PAD: u32 = 9;

/// Two GIFs of 3 by 2 pixels.
const GIFS: [&str; 2] = [
    "R0lGODdhAwACAIEAAP8AAAAAAAAAAAAAACwAAAAAAwACAAAIBgABCBwYEAA7",
    "R0lGODdhAwACAIEAAAAA/wAAAAAAAAAAACwAAAAAAwACAAAIBgABCBwYEAA7",
];

fn bytes(gif: &str) -> Vec<u8> {
    base64_simd::STANDARD.decode_to_vec(gif).unwrap()
}

/// Two images, of two and of three placeholders.
fn shown() -> Prompt {
    let span = |gif, start, length| ImageSpan {
        place: ImagePlace { start, length, grid: [1, 2, 2 * length as u32] },
        image: Arc::new(Image::read(bytes(gif)).unwrap()),
    };
    let ids = [1, PAD, PAD, 4, 5, PAD, PAD, PAD, 6];
    Prompt { images: [span(GIFS[0], 1, 2), span(GIFS[1], 5, 3)].into(), ..prompt("s", &ids) }
}

/// A model whose image processor makes so many placeholders of the second image.
fn model(second: usize) -> Images {
    let count = move |image: &[u8]| Ok(if image == bytes(GIFS[0]) { 2 } else { second });
    Images { pad: PAD, count: Arc::new(count) }
}

#[tokio::test]
async fn sglang_is_shown_every_image_and_reads_the_ids_that_are_kept() {
    for incremental in [false, true] {
        let (mock, _) = mock(Wire::Sglang, [vec![11, 12, 2]], |options| {
            options.eos = vec![2];
            options.incremental = incremental;
            options.images = Some(model(3));
        })
        .await;
        let server = connect(&mock.url(), None, &quick()).await.unwrap();
        let capabilities = server.engine.capabilities();
        assert!(capabilities.images && !capabilities.turns_images, "it knows nothing of EXIF");
        let got = ask(server.engine.as_ref(), shown(), &params()).await;
        assert_eq!(got.ids(), [11, 12, 2], "{:?}", got.end);
        let seen = mock.seen_at("/generate").last().unwrap().json();
        assert_eq!(seen["input_ids"], json!([1, PAD, 4, 5, PAD, 6]), "one placeholder an image");
        let urls = GIFS.map(|gif| format!("data:image/gif;base64,{gif}"));
        assert_eq!(seen["image_data"], json!(urls));
        let asked = mock.asked().pop().unwrap();
        assert_eq!(asked.ids, shown().ids.iter().map(|id| id.0).collect::<Vec<_>>());
        assert_eq!(asked.images, GIFS.map(bytes));
    }
}

#[tokio::test]
async fn text_is_asked_for_as_before() {
    let (mock, _) = mock(Wire::Sglang, [vec![11, 2]], |options| options.eos = vec![2]).await;
    let server = connect(&mock.url(), None, &quick()).await.unwrap();
    assert!(!server.engine.capabilities().images);
    ask(server.engine.as_ref(), prompt("s", &[1, PAD]), &params()).await;
    let seen = mock.seen_at("/generate").last().unwrap().json();
    for key in ["image_data", "return_prompt_token_ids"] {
        assert_eq!(seen.get(key), None);
    }
    assert_eq!(seen["sampling_params"].get("stream_interval"), None);
}

#[tokio::test]
async fn a_server_that_reads_another_prompt_is_not_believed() {
    let (mock, _) = mock(Wire::Sglang, [vec![11, 2]], |options| {
        options.eos = vec![2];
        options.images = Some(model(4));
    })
    .await;
    let server = connect(&mock.url(), None, &quick()).await.unwrap();
    let got = ask(server.engine.as_ref(), shown(), &params()).await;
    assert!(got.increments.is_empty());
    let told = got.failure().to_string();
    assert!(matches!(got.failure(), EngineError::OtherPrompt { .. }), "{told}");
    assert!(told.contains("10 tokens instead of 9") && told.contains("min_pixels"), "{told}");
}

#[tokio::test]
async fn without_its_ids_a_prompt_is_known_by_its_length_and_else_not_at_all() {
    let chunk = |tokens: serde_json::Value| {
        json!({"output_ids": [11, 2], "meta_info": {
            "finish_reason": {"type": "stop", "matched": 2}, "completion_tokens": 2, "prompt_tokens": tokens,
            "output_token_logprobs": [[-0.5, 11, null], [-0.25, 2, null]],
        }})
    };
    for (tokens, told) in
        [(json!(9), None), (json!(8), Some("8 tokens instead of 9")), (json!(null), Some("does not say"))]
    {
        let (_canned, server) = sglang(false, events(&[chunk(tokens)]), &Options::default()).await;
        let got = ask(server.engine.as_ref(), shown(), &params()).await;
        match told {
            None => assert_eq!(got.ids(), [11, 2]),
            Some(told) => assert!(got.failure().to_string().contains(told), "{:?}", got.failure()),
        }
    }
}

#[tokio::test]
async fn engines_that_are_shown_no_images_say_so() {
    for wire in [Wire::Vllm, Wire::LlamaCpp] {
        let (mock, _) = mock(wire, [vec![11, 2]], |_| {}).await;
        let server = connect(&mock.url(), None, &quick()).await.unwrap();
        assert!(!server.engine.capabilities().images, "{wire:?}");
    }
    let (mock, _) = mock(Wire::Sglang, [vec![11, 2]], |options| options.images = Some(model(3))).await;
    let options = Options { parse: Parse::Engine, ..quick() };
    assert!(!connect(&mock.url(), None, &options).await.unwrap().engine.capabilities().images);
}
