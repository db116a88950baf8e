//! Images in three dialects.

use std::sync::Arc;

use serde_json::{Value, json};
use verbatim_chat::{Content, Image, Media, Message, Part, Role};
use verbatim_dialects::{Forgetful, Invalid, Wire, anthropic, chat, responses};
use verbatim_events::Cause;

/// A GIF of 3 by 2 pixels.
const GIF: &str = "R0lGODdhAwACAIEAAP8AAAAAAAAAAAAAACwAAAAAAwACAAAIBgABCBwYEAA7";

fn url() -> String {
    format!("data:image/gif;base64,{GIF}")
}

fn all(wire: &dyn Wire) -> Result<(Vec<Message>, Vec<Cause>), Invalid> {
    let mut lost = Vec::new();
    let messages =
        (0..wire.len()).map(|at| wire.message(at, &Forgetful, &mut lost)).collect::<Result<_, _>>()?;
    Ok((messages, lost))
}

fn of_chat(body: &Value) -> Result<(Vec<Message>, Vec<Cause>), Invalid> {
    all(&chat::Request::parse(body.to_string().as_bytes()).unwrap())
}

fn of_responses(body: &Value) -> Result<(Vec<Message>, Vec<Cause>), Invalid> {
    all(&responses::Request::parse(body.to_string().as_bytes(), "m").unwrap())
}

fn of_anthropic(body: &Value) -> Result<(Vec<Message>, Vec<Cause>), Invalid> {
    all(&anthropic::Request::parse(body.to_string().as_bytes()).unwrap())
}

fn image() -> Arc<Image> {
    Arc::new(Image::read(base64_simd::STANDARD.decode_to_vec(GIF).unwrap()).unwrap())
}

fn part(value: Value) -> Result<(Vec<Message>, Vec<Cause>), Invalid> {
    of_chat(&json!({"messages": [{"role": "user", "content": [value]}]}))
}

#[test]
fn an_image_is_what_its_bytes_say() {
    let image = image();
    assert_eq!((image.media(), image.size(), image.orientation()), (Media::Gif, (3, 2), 1));
    let (messages, lost) = part(
        json!({"type": "image_url", "image_url": {"url": url().replace("gif", "png"), "detail": "auto"}}),
    )
    .unwrap();
    assert_eq!(lost, []);
    assert_eq!(messages[0].content, Content::Parts(vec![Part::Image(Arc::clone(&image))]));
    assert_eq!(image.data_url(), url());
}

#[test]
fn text_and_images_are_the_same_messages_in_every_dialect() {
    let chat = json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": url()}}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "image_url", "image_url": {"url": url()}}]},
    ]});
    let responses = json!({"input": [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": url(), "detail": "auto"}, {"type": "input_text", "text": "b"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": url(), "file_id": null}]},
    ]});
    let source = json!({"type": "base64", "media_type": "image/gif", "data": GIF});
    let anthropic = json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "source": source}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "image", "source": {"type": "url", "url": url()}}]}]},
    ]});
    let (expected, lost) = of_chat(&chat).unwrap();
    let shown = Part::Image(image());
    assert_eq!(lost, []);
    assert_eq!(
        expected[0].content,
        Content::Parts(vec![Part::Text("a".into()), shown.clone(), Part::Text("b".into())])
    );
    assert_eq!((expected[2].role, &expected[2].content), (Role::Tool, &Content::Parts(vec![shown])));
    let others = [of_responses(&responses).unwrap(), of_anthropic(&anthropic).unwrap()];
    for (messages, lost) in others {
        assert_eq!(lost, []);
        for at in [0, 2] {
            assert_eq!(messages[at], expected[at]);
        }
    }
    assert_eq!(chat::spell(&expected[0]), chat["messages"][0]);
}

#[test]
fn an_image_that_did_not_come_along_is_refused_with_the_way_out() {
    let chat = |url: &str| part(json!({"type": "image_url", "image_url": {"url": url}})).unwrap_err();
    let table = [
        ("https://x.example/y.png", "is not fetched; send the image itself as a data URL"),
        ("file:///etc/passwd", "is not fetched"),
        ("data:image/png;base64", "has no data"),
        ("data:image/png,abc", "is not base64"),
        ("data:audio/wav;base64,AAAA", "only images"),
        ("data:image/png;base64,$$$$", "not valid base64"),
        ("data:image/png;base64,aGVsbG8=", "no png, jpeg, webp or gif"),
        ("data:image/png;base64,iVBORw0KGgo=", "cannot be read"),
    ];
    for (url, told) in table {
        let error = chat(url);
        assert_eq!(error.field, "messages[0].content[0].image_url.url");
        assert!(error.problem.contains(told), "{url}: {error}");
    }
    let remote = json!({"role": "user", "content": [{"type": "input_image", "image_url": "http://x/y.png"}]});
    let error = of_responses(&json!({"input": [remote]})).unwrap_err();
    assert_eq!(error.field, "input[0].content[0].image_url");
    let block = json!({"type": "image", "source": {"type": "url", "url": "http://x/y.png"}});
    let error = of_anthropic(&json!({"messages": [{"role": "user", "content": [block]}]})).unwrap_err();
    assert_eq!(error.field, "messages[0].content[0].source.url");
    assert!(error.problem.contains("data URL"), "{error}");
}

#[test]
fn other_media_and_images_elsewhere_are_refused_by_name() {
    let shown = json!({"type": "image_url", "image_url": {"url": url()}});
    for role in ["system", "assistant"] {
        let error = of_chat(&json!({"messages": [{"role": role, "content": [shown]}]})).unwrap_err();
        assert_eq!(error.field, "messages[0].content[0].type");
        assert!(error.problem.contains(&format!("not supported in a {role} message")), "{error}");
    }
    for kind in ["input_audio", "file", "video_url"] {
        let error = part(json!({"type": kind})).unwrap_err();
        assert!(error.problem.contains(kind) && error.problem.contains("image_url"), "{error}");
    }
    let responses = |role: &str, kind: &str| {
        let content = json!([{"type": kind, "image_url": url()}]);
        of_responses(&json!({"input": [{"role": role, "content": content}]})).unwrap_err()
    };
    for (role, kind) in [
        ("developer", "input_image"),
        ("assistant", "input_image"),
        ("user", "input_file"),
        ("user", "input_audio"),
    ] {
        let error = responses(role, kind);
        assert!(error.field.ends_with(".type") && error.problem.contains(kind), "{role}: {error}");
    }
    let anthropic = |role: &str, block: Value| {
        of_anthropic(&json!({"messages": [{"role": role, "content": [block]}]})).unwrap_err()
    };
    let block =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": GIF}});
    for role in ["system", "assistant"] {
        let error = anthropic(role, block.clone());
        assert!(error.field.ends_with(".type") && error.problem.contains("image"), "{error}");
    }
    assert!(anthropic("user", json!({"type": "document"})).problem.contains("documents are not supported"));
    let file = json!({"type": "image", "source": {"type": "file", "file_id": "f"}});
    assert!(anthropic("user", file).problem.contains("\"file\" is not supported"));
}

#[test]
fn what_an_image_part_holds_beyond_the_image_is_reported_by_name() {
    let ignored = |field: &str| Cause::FieldIgnored { field: field.into() };
    let (_, lost) =
        part(json!({"type": "image_url", "image_url": {"url": url(), "detail": "low"}, "extra": 1})).unwrap();
    assert_eq!(
        lost,
        [ignored("messages[].content[].extra"), ignored("messages[].content[].image_url.detail")]
    );
    let low =
        json!({"role": "user", "content": [{"type": "input_image", "image_url": url(), "detail": "high"}]});
    assert_eq!(of_responses(&json!({"input": [low]})).unwrap().1, [ignored("input[].content[].detail")]);
}
