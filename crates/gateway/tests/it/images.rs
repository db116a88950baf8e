//! Sessions of a model that reads images.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use reqwest::StatusCode;
use serde_json::{Value, json};
use verbatim_chat::{Message, Role, Setup};
use verbatim_engine_sim::{Line, SimOptions};
use verbatim_families::{Family, Scene, StartState};

use crate::journal::image;
use crate::support::{Server, Setting, loaded, text, user};

/// A red PNG of 60 by 40 pixels.
const RED: &str = "iVBORw0KGgoAAAANSUhEUgAAADwAAAAoCAIAAAAt2Q6oAAAAOElEQVR42u3OQQ0AAAgEoNP+nTWFDzdIQE3+6UhLS0tLS0tLS0tLS0tLS0tLS0tLS0tLS0tLSx9atCEBT7S0u1QAAAAASUVORK5CYII=";
/// A blue one.
const BLUE: &str = "iVBORw0KGgoAAAANSUhEUgAAADwAAAAoCAIAAAAt2Q6oAAAAOElEQVR42u3OAQ0AAAgDoGv/zprjGyRgkkubTSFpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlp6R4PsiMBT2hvlhsAAAAASUVORK5CYII=";

fn vision() -> Arc<dyn Family> {
    static FAMILY: OnceLock<Arc<dyn Family>> = OnceLock::new();
    Arc::clone(FAMILY.get_or_init(|| loaded("qwen25vl", "tokenizer-qwen25")))
}

fn said(content: &str) -> Line {
    let message = Message::new(Role::Assistant, content);
    let setup = Setup::default();
    let ids = vision().reply(Scene { setup: &setup, opened: 0 }, StartState::Content, &message).unwrap();
    Line { ids, fault: None }
}

fn setting(journal: Option<&Path>) -> Setting {
    let family = vision();
    let options = SimOptions {
        vocabulary: family.tokenizer().vocabulary(),
        image_pad: family.vision().map(|vision| vision.pad),
        ..SimOptions::default()
    };
    Setting { family, options, journal: journal.map(Path::to_owned), ..Setting::default() }
}

async fn saying(lines: &[&str]) -> Server {
    Server::with(setting(None), lines.iter().map(|line| said(line))).await
}

fn shows(text: &str, data: &str) -> Value {
    let url = format!("data:image/png;base64,{data}");
    json!({"role": "user", "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]})
}

async fn rows(server: &Server, session: &str) -> Vec<Value> {
    let url = format!("{}/sessions/{session}/samples", server.url);
    let asked = json!({"format": "jsonl", "pick": "all"});
    let rows = server.client.post(url).json(&asked).send().await.unwrap().text().await.unwrap();
    rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_turn_with_the_same_image_goes_on_and_one_with_another_does_not() {
    let server = saying(&["red", "still red", "blue"]).await;
    let session = server.open(json!({"lineage": "tree"})).await;
    let first = server.says(&session, &[shows("What?", RED)]).await;
    server.says(&session, &[shows("What?", RED), first.clone(), user("Sure?")]).await;
    let attempts = server.attempts();
    assert!(attempts[1].prompt.starts_with(&[&attempts[0].prompt[..], &attempts[0].said].concat()));
    assert_eq!(
        (&attempts[0].images, attempts[1].images.len()),
        (&attempts[1].images, 1),
        "all are shown again"
    );
    assert_eq!(server.lost("rerooted") + server.lost("forked"), 0);

    server.says(&session, &[shows("What?", BLUE), first, user("Sure?")]).await;
    assert_eq!(server.lost("rerooted"), 1, "{:?}", server.causes());
    let (one, other) = (&attempts[1].images[0], &server.attempts()[2].images[0]);
    assert_eq!(one.place, other.place);
    assert_ne!(one.image, other.image);
}

#[tokio::test]
async fn rows_carry_every_image_at_its_placeholders() {
    let server = saying(&["red", "blue"]).await;
    let session = server.open(json!({})).await;
    let first = server.says(&session, &[shows("What?", RED)]).await;
    server.says(&session, &[shows("What?", RED), first, shows("And this?", BLUE)]).await;
    let rows = rows(&server, &session).await;
    let [row] = &rows[..] else { panic!("{rows:?}") };
    let pad = vision().vision().unwrap().pad.0;
    let images = row["images"].as_array().unwrap();
    assert_eq!(images.len(), 2);
    for (image, data) in images.iter().zip([RED, BLUE]) {
        let (start, length) =
            (image["start"].as_u64().unwrap() as usize, image["length"].as_u64().unwrap() as usize);
        assert_eq!((&image["grid_thw"], length), (&json!([1, 4, 6]), 6), "{image}");
        assert_eq!(image["data"], *data);
        assert!((start..start + length).all(|at| row["tokens"][at] == pad && row["loss_mask"][at] == 0));
        assert_eq!(
            (&row["tokens"][start - 1], &row["tokens"][start + length]),
            (&json!(151_652), &json!(151_653))
        );
    }
    let pads = row["tokens"].as_array().unwrap().iter().filter(|id| **id == pad).count();
    assert_eq!(pads, 12);
}

#[tokio::test]
async fn a_tool_shows_images_in_every_dialect_on_one_lineage() {
    let server = saying(&["a", "b", "c"]).await;
    let session = server.open(json!({})).await;
    let source = json!({"type": "base64", "media_type": "image/png", "data": RED});
    let block = json!({"type": "image", "source": source});
    let asked = json!({"role": "user", "content": [{"type": "text", "text": "What?"}, block]});
    let (status, first) =
        server.post(&session, "messages", &json!({"max_tokens": 9, "model": "m", "messages": [asked]})).await;
    assert_eq!(status, StatusCode::OK, "{first}");
    // The same conversation in another dialect.
    let url = format!("data:image/png;base64,{RED}");
    let blue = format!("data:image/png;base64,{BLUE}");
    let input = json!([
        {"role": "user", "content": [{"type": "input_text", "text": "What?"}, {"type": "input_image", "image_url": url}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": blue}]},
    ]);
    let (status, second) = server.post(&session, "responses", &json!({"input": input})).await;
    assert_eq!(status, StatusCode::OK, "{second}");
    let attempts = server.attempts();
    assert!(attempts[1].prompt.starts_with(&[&attempts[0].prompt[..], &attempts[0].said].concat()));
    assert_eq!((attempts[0].images.len(), attempts[1].images.len()), (1, 2));
    assert_eq!(attempts[1].images[0], attempts[0].images[0]);
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused_by_name_and_changes_nothing() {
    let blind = Server::with(Setting::default(), [text("x")]).await;
    let unserved =
        Setting { options: SimOptions { image_pad: None, ..setting(None).options }, ..setting(None) };
    let unserved = Server::with(unserved, [said("x")]).await;
    for (server, told) in [(&blind, "family qwen3 cannot show an image"), (&unserved, "this engine (sim)")] {
        let session = server.open(json!({})).await;
        let (status, reply) = server.turn(&session, &json!({"messages": [shows("What?", RED)]})).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains(told), "{reply}");
        assert_eq!((server.committed(&session), server.attempts().len()), (0, 0));
    }
    let server = saying(&["x"]).await;
    let session = server.open(json!({})).await;
    let pad = vision().vision().unwrap().pad.0;
    let (status, reply) = server.post(&session, "tokens", &json!({"input_ids": [9, pad]})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
}

#[tokio::test]
async fn a_session_with_images_outlives_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(setting(Some(folder.path())), [said("red"), said("blue")]).await;
    let session = server.open(json!({})).await;
    let first = server.says(&session, &[shows("What?", RED)]).await;
    let messages = [shows("What?", RED), first.clone(), shows("And this?", BLUE)];
    let second = server.says(&session, &messages).await;
    let crashed = image(folder.path());
    let again = Server::with(setting(Some(crashed.path())), [said("sure")]).await;
    assert_eq!(rows(&again, &session).await, rows(&server, &session).await);
    again.says(&session, &[&messages[..], &[second, user("Sure?")]].concat()).await;
    let (before, after) = (server.attempts(), again.attempts());
    assert!(after[0].prompt.starts_with(&[&before[1].prompt[..], &before[1].said].concat()));
    assert_eq!(after[0].images, before[1].images);
    assert_eq!(again.lost("rerooted") + again.lost("forked"), 0);
}
