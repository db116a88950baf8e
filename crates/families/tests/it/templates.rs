//! Official templates, rendered by the family `default`.

use std::sync::Arc;

use verbatim_chat::Role;
use verbatim_families::{Family, Junction, Options, load_with};

use crate::assets::{Model, Official, QWEN3, QWEN25, SMOLLM2, models};
use crate::goldens::{self, Golden, scene};

fn options(template: &str) -> Options {
    Options {
        template: Some(template.to_owned()),
        special_tokens: serde_json::from_str(r#"{"eos_token": "<|im_end|>", "bos_token": null}"#).unwrap(),
        stop_tokens: vec!["<|endoftext|>".to_owned()],
        reasoning_parser: Some("qwen3".to_owned()),
        tool_call_parser: Some("qwen25".to_owned()),
        ..Options::default()
    }
}

fn official(model: &Official) -> Arc<dyn Family> {
    load_with("default", Arc::clone(&model.tokenizer), &options(&model.template)).unwrap()
}

/// Qwen3's template with the two edits that make it append-only (`tools/goldens/families.py`).
fn appending() -> Arc<dyn Family> {
    let template = QWEN3
        .template
        .replace(
            "loop.index0 > ns.last_query_index",
            "loop.index0 > ns.last_query_index or not clear_thinking",
        )
        .replace("loop.last or (not loop.last and reasoning_content)", "true");
    let fixed = serde_json::from_str(r#"{"clear_thinking": false}"#).unwrap();
    load_with("default", Arc::clone(&QWEN3.tokenizer), &Options { fixed, ..options(&template) }).unwrap()
}

#[test]
fn the_official_templates_render_as_python_renders_them() {
    for model in models() {
        let family = official(model);
        for golden in goldens::rendered(model.name) {
            let setup = golden.setup();
            let rendered = family.open(scene(&setup), &golden.messages()).unwrap();
            let expected = golden.native.as_ref().unwrap_or(&golden.ids);
            assert_eq!(model.spell(&rendered.ids), model.spell(expected), "{} {}", model.name, golden.name);
            assert!(&rendered.ids == expected, "{} {}", model.name, golden.name);
            assert_eq!(rendered.sources.len(), rendered.ids.len());
        }
    }
}

/// Every cut, as for the native families.
fn append(family: &dyn Family, model: &Model, all: &[Golden]) -> usize {
    let mut cuts = 0;
    for golden in all {
        let setup = golden.setup();
        let messages = golden.messages();
        let assistants = messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant);
        for ((at, _), prompt) in assistants.zip(&golden.prompts) {
            let Some(prompt) = *prompt else { continue };
            let close = model.family.stop_ids()[0];
            let length = golden.ids[prompt..].iter().position(|id| *id == close).unwrap() + 1;
            let junction = Junction { sampled: &golden.ids[prompt..prompt + length], message: &messages[at] };
            let extended = family.extend(scene(&setup), junction, &messages[at + 1..]).unwrap();
            let expected = &golden.ids[prompt + length..];
            assert_eq!(model.spell(&extended.ids), model.spell(expected), "{} {at}", golden.name);
            assert!(extended.ids == expected && extended.trim == 0 && extended.repair.is_none());
            assert_eq!(extended.sources.len(), extended.ids.len());
            cuts += 1;
        }
    }
    cuts
}

#[test]
fn append_only_templates_extend_as_they_render() {
    let family = official(&QWEN25);
    assert_eq!(family.warnings(), &[] as &[String]);
    assert!(append(&*family, &QWEN25, &goldens::rendered("qwen25")) >= 60);
    let toolless: Vec<Golden> =
        goldens::rendered("smollm2").into_iter().filter(|golden| golden.native.is_none()).collect();
    let family = official(&SMOLLM2);
    assert_eq!(family.warnings(), &[] as &[String]);
    assert!(append(&*family, &SMOLLM2, &toolless) >= 15);
}

#[test]
fn qwen3_with_its_two_edits_is_the_native_family() {
    let family = appending();
    assert_eq!(family.warnings(), &[] as &[String]);
    let all = goldens::rendered("qwen3");
    for golden in &all {
        let setup = golden.setup();
        let rendered = family.open(scene(&setup), &golden.messages()).unwrap();
        assert!(rendered.ids == golden.ids, "{}", golden.name);
    }
    assert!(append(&*family, &QWEN3, &all) >= 60);
}

#[test]
fn a_template_that_rewrites_earlier_turns_is_named_shape_by_shape() {
    let family = official(&QWEN3);
    let shapes: Vec<&str> = family.warnings().iter().map(|w| w.split(':').next().unwrap()).collect();
    assert!(shapes.contains(&"multi_turn_no_tool") && shapes.contains(&"single_tool_thinking"), "{shapes:?}");
    assert!(
        family.warnings().iter().all(|w| w.contains("rewrites earlier turns when")),
        "{:?}",
        family.warnings()
    );
}

/// What follows a turn is right even where the template would have rewritten the turn.
#[test]
fn a_rewriting_template_still_extends() {
    let family = official(&QWEN3);
    let golden =
        goldens::rendered("qwen3").into_iter().find(|golden| golden.name == "single_tool/0").unwrap();
    let (setup, messages) = (golden.setup(), golden.messages());
    let junction = Junction { sampled: &family.stop_ids()[..1], message: &messages[2] };
    let extended = family.extend(scene(&setup), junction, &messages[3..]).unwrap();
    assert_eq!(
        QWEN3.spell(&extended.ids),
        "\n<|im_start|>user\n<tool_response>\n{\"t\": 3}\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    );
}

#[test]
fn a_reply_is_what_the_native_family_replies() {
    let family = appending();
    for golden in goldens::rendered("qwen3") {
        let setup = golden.setup();
        for message in golden.messages().iter().filter(|message| message.role == Role::Assistant) {
            let native = QWEN3.family.reply(scene(&setup), Default::default(), message);
            let Ok(native) = native else { continue };
            // A reply keeps what the template trims.
            let trims = |text: &str| text.starts_with('\n') || text.ends_with('\n');
            if message.content.text().starts_with('\n') || message.reasoning.as_deref().is_some_and(trims) {
                continue;
            }
            match family.reply(scene(&setup), Default::default(), message) {
                Ok(ids) => assert_eq!(QWEN3.spell(&ids), QWEN3.spell(&native), "{}", golden.name),
                Err(error) => assert!(error.to_string().contains("opener"), "{error}"),
            }
        }
    }
}
