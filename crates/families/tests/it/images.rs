//! Images become the placeholders that the models' own processors make of them (`tools/goldens/images.py` made the
//! goldens).

use std::collections::HashMap;
use std::sync::Arc;

use base64_simd::STANDARD;
use serde_json::{Map, Value, json};
use verbatim_chat::{Content, Image, ImagePlace, Message, Part, Role, Setup, StartState, Tool};
use verbatim_families::{Junction, Options, Patches, Pixels, RenderError, load, load_with};
use verbatim_tokens::TokenId;

use crate::assets::{Model, family};
use crate::goldens::{lines, message, scene};

/// A conversation and what a processor reads of it.
struct Shown {
    messages: Vec<Message>,
    setup: Setup,
    ids: Vec<TokenId>,
    places: Vec<ImagePlace>,
}

/// A PNG file of which only the header is there.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8; 4], data: &[u8]| {
        file.extend((data.len() as u32).to_be_bytes());
        let body = [kind, data].concat();
        file.extend(&body);
        file.extend((crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, &body) as u32).to_be_bytes());
    };
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    chunk(b"IHDR", &[&size[..], &[8, 2, 0, 0, 0]].concat());
    chunk(b"IDAT", &[0x78, 0x9c, 3, 0, 0, 0, 0, 1]);
    chunk(b"IEND", &[]);
    file
}

fn image(width: u32, height: u32) -> Part {
    Part::Image(Arc::new(Image::read(png(width, height)).unwrap()))
}

fn shows(parts: Vec<Part>) -> Message {
    Message::new(Role::User, Content::Parts(parts))
}

fn part(value: &Value, files: &Map<String, Value>) -> Part {
    if let Some(text) = value.as_str() {
        return Part::Text(text.to_owned());
    }
    let name = value["image"].as_str().unwrap();
    match files.get(name) {
        Some(data) => {
            let bytes = STANDARD.decode_to_vec(data.as_str().unwrap()).unwrap();
            Part::Image(Arc::new(Image::read(bytes).unwrap()))
        }
        None => {
            let (width, height) = name.split_once('x').unwrap();
            image(width.parse().unwrap(), height.parse().unwrap())
        }
    }
}

fn goldens(model: &Model) -> Vec<Shown> {
    let declared: Value = serde_json::from_str(&lines("conversations").next().unwrap()).unwrap();
    let file = format!("images-{}", model.name);
    let mut lines = lines(&file);
    let mut header: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
    let files = header["files"].as_object_mut().map(std::mem::take).unwrap();
    let pad = model.family.vision().unwrap().pad;
    lines
        .map(|line| {
            let told: Value = serde_json::from_str(&line).unwrap();
            let messages = told["messages"].as_array().unwrap().iter().map(|told| {
                let mut plain = told.clone();
                let parts = plain["content"].as_array().cloned();
                if parts.is_some() {
                    plain["content"] = json!("");
                }
                let parts = parts.map(|parts| parts.iter().map(|value| part(value, &files)).collect());
                let message = message(&plain);
                Message { content: parts.map_or(message.content.clone(), Content::Parts), ..message }
            });
            let tools = told["tools"].as_array().unwrap().iter();
            let tools = tools.map(|name| Tool(declared["tools"][name.as_str().unwrap()].clone())).collect();
            let (mut ids, mut places) = (Vec::new(), Vec::new());
            let mut grids = told["grids"].as_array().unwrap().iter();
            for id in told["ids"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()) {
                if id >= 0 {
                    ids.push(TokenId(id as u32));
                    continue;
                }
                let length = id.unsigned_abs() as usize;
                let grid: Vec<u32> = serde_json::from_value(grids.next().unwrap().clone()).unwrap();
                places.push(ImagePlace { start: ids.len(), length, grid: grid.try_into().unwrap() });
                ids.resize(ids.len() + length, pad);
            }
            let setup = Setup { tools, template: Map::new() };
            Shown { messages: messages.collect(), setup, ids, places }
        })
        .collect()
}

/// What a session does: a prompt, what the model said, what followed.
fn turn_by_turn(model: &Model, shown: &Shown) -> (Vec<TokenId>, Vec<ImagePlace>) {
    let (family, scene) = (&model.family, scene(&shown.setup));
    let turns: Vec<usize> =
        (0..shown.messages.len()).filter(|at| shown.messages[*at].role == Role::Assistant).collect();
    let first = family.open(scene, &shown.messages[..turns.first().copied().unwrap_or(shown.messages.len())]);
    let first = first.unwrap();
    let (mut ids, mut places, mut start) = (first.ids, first.images, first.start);
    for (nth, at) in turns.iter().enumerate() {
        let message = &shown.messages[*at];
        let sampled = family.reply(scene, start, message).unwrap();
        let until = turns.get(nth + 1).copied().unwrap_or(shown.messages.len());
        let new = &shown.messages[at + 1..until];
        let more = family.extend(scene, Junction { sampled: &sampled, message }, new).unwrap();
        ids.extend(&sampled[..sampled.len() - more.trim]);
        places.extend(more.images.iter().map(|place| place.after(ids.len())));
        ids.extend(more.ids);
        start = more.start;
    }
    (ids, places)
}

fn are_what_the_processor_reads(name: &'static str) {
    let model = family(name);
    let goldens = goldens(model);
    assert_eq!(goldens.len(), 50);
    for (at, shown) in goldens.iter().enumerate() {
        let rendered = model.family.open(scene(&shown.setup), &shown.messages).unwrap();
        assert_eq!(rendered.images, shown.places, "{name} {at}: {:?}", shown.messages);
        assert_eq!(rendered.ids, shown.ids, "{name} {at}: {:?}", shown.messages);
        assert_eq!(rendered.sources.len(), rendered.ids.len());
    }
}

#[test]
fn ids_and_placeholders_of_qwen25vl_are_those_of_its_processor() {
    are_what_the_processor_reads("qwen25vl");
}

#[test]
fn ids_and_placeholders_of_qwen35_are_those_of_its_processor() {
    are_what_the_processor_reads("qwen35");
}

#[test]
fn turn_by_turn_images_stand_where_they_stand_in_the_whole() {
    let model = family("qwen25vl");
    for (at, shown) in goldens(model).iter().enumerate() {
        let (ids, places) = turn_by_turn(model, shown);
        assert_eq!(places, shown.places, "{at}");
        assert!(ids.len() == shown.ids.len() && ids == shown.ids, "{at}");
    }
}

#[test]
fn what_a_person_or_a_tool_spells_is_no_image() {
    let model = family("qwen25vl");
    let vision = model.family.vision().unwrap();
    let spelt = "<|vision_start|><|image_pad|><|vision_end|>";
    let controls = ["<|vision_start|>", "<|image_pad|>", "<|vision_end|>"]
        .map(|token| model.tokenizer.special(token).unwrap());
    let said = |role, content| Message::new(role, content);
    let messages = [
        said(Role::User, Content::Text(spelt.into())),
        said(Role::Assistant, Content::Text(spelt.into())),
        said(Role::Tool, Content::Parts(vec![Part::Text(spelt.into()), image(28, 28)])),
    ];
    let setup = Setup::default();
    let rendered = model.family.open(scene(&setup), &messages).unwrap();
    let [place] = rendered.images[..] else { panic!("{:?}", rendered.images) };
    for (nth, control) in controls.into_iter().enumerate() {
        let found = rendered.ids.iter().filter(|id| **id == control).count();
        assert_eq!(found, if control == vision.pad { place.length } else { 1 }, "{nth}");
    }
}

#[test]
fn images_are_refused_by_name_where_they_cannot_be_shown() {
    let setup = Setup::default();
    let refused = |name, message: Message| {
        let error = family(name).family.open(scene(&setup), &[Message::new(Role::User, "hi"), message]);
        let error = error.unwrap_err();
        assert!(matches!(error, RenderError::Image { message: 1, .. }), "{error}");
        error.to_string()
    };
    for blind in ["qwen25", "qwen3", "gemma3"] {
        let told = refused(blind, shows(vec![image(28, 28)]));
        assert!(told.contains(blind) && told.contains("an image") && told.contains("qwen25vl"), "{told}");
    }
    let said = Message { role: Role::Assistant, ..shows(vec![image(28, 28)]) };
    assert!(refused("qwen25vl", said).contains("an image in a assistant message"));
    let long = refused("qwen25vl", shows(vec![image(2010, 10)]));
    assert!(long.contains("2010 x 10 pixels") && long.contains("200 times"), "{long}");
}

#[test]
fn bounds_of_pixels_are_the_users_where_he_sets_them() {
    let tokenizer = || Arc::clone(family("qwen25vl").family.tokenizer());
    let with = |name: &str, min, max| {
        let options = Options { pixels: Pixels { min, max }, ..Options::default() };
        load_with(name, tokenizer(), &options).map_err(|error| error.to_string())
    };
    let bounded = with("qwen25vl", None, Some(28 * 28 * 16)).unwrap();
    assert_eq!(bounded.vision().unwrap().patches.max_pixels, 28 * 28 * 16);
    assert_eq!(bounded.vision().unwrap().patches.min_pixels, Patches::QWEN2_VL.min_pixels);
    let setup = Setup::default();
    let rendered = bounded.open(scene(&setup), &[shows(vec![image(1000, 1000)])]).unwrap();
    assert_eq!(rendered.images[0].length, 16);
    assert!(with("qwen25vl", Some(10), Some(9)).err().unwrap().contains("min_pixels 10"));
    assert!(with("qwen25", Some(10), None).err().unwrap().contains("shows no images"));
}

#[test]
fn a_vocabulary_without_the_tokens_is_refused_or_shows_no_images() {
    let words = family("smollm2").family.tokenizer();
    let error = load("qwen25vl", Arc::clone(words), None, &Map::new()).err().unwrap().to_string();
    assert!(error.contains("qwen25vl needs the token"), "{error}");
    let known: HashMap<_, _> =
        ["qwen25", "qwen25vl", "qwen35"].map(|name| (name, family(name).family.vision().is_some())).into();
    assert_eq!(known, HashMap::from([("qwen25", false), ("qwen25vl", true), ("qwen35", true)]));
    assert_eq!(
        family("qwen25vl").family.open(scene(&Setup::default()), &[]).unwrap().start,
        StartState::Content
    );
}
