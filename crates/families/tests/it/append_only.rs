//! Extending a sampled turn is the same as rendering everything anew.

use verbatim_chat::{Message, Role};
use verbatim_families::Junction;

use crate::assets::{Model, models};
use crate::goldens::{self, Golden, scene};

/// The assistant turns of a conversation that can have been sampled: the message's place, and the
/// length of its prompt.
fn turns(golden: &Golden, messages: &[Message]) -> Vec<(usize, usize)> {
    let assistants = messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant);
    let turns =
        assistants.zip(&golden.prompts).filter_map(|((at, _), prompt)| prompt.map(|prompt| (at, prompt)));
    turns.collect()
}

/// What the golden holds at a turn whose prompt ends at `prompt`: the turn, its stop included.
fn sampled<'g>(model: &Model, golden: &'g Golden, prompt: usize) -> &'g [verbatim_tokens::TokenId] {
    let close = model.family.stop_ids()[0];
    let length = golden.ids[prompt..].iter().position(|id| *id == close).unwrap() + 1;
    &golden.ids[prompt..prompt + length]
}

#[test]
fn at_every_cut_of_every_shape_the_suffix_is_that_of_the_whole() {
    for model in models() {
        let mut cuts = 0;
        for golden in goldens::of(model.name) {
            let setup = golden.setup();
            let messages = golden.messages();
            for (at, prompt) in turns(&golden, &messages) {
                let sampled = sampled(model, &golden, prompt);
                let junction = Junction { sampled, message: &messages[at] };
                let extended = model.family.extend(scene(&setup), junction, &messages[at + 1..]).unwrap();
                assert_eq!((extended.trim, extended.repair), (0, None));
                assert_eq!(extended.sources.len(), extended.ids.len());
                assert_eq!(
                    model.spell(&extended.ids),
                    model.spell(&golden.ids[prompt + sampled.len()..]),
                    "{} {} cut after {at}",
                    model.name,
                    golden.name
                );
                assert!(extended.ids == golden.ids[prompt + sampled.len()..]);
                cuts += 1;
            }
        }
        assert!(cuts >= 60, "{}: {cuts} cuts", model.name);
    }
}

#[test]
fn turn_by_turn_a_session_is_the_render_of_the_whole() {
    for model in models() {
        for golden in goldens::of(model.name) {
            let setup = golden.setup();
            let messages = golden.messages();
            let turns = turns(&golden, &messages);
            let assistants = messages.iter().filter(|message| message.role == Role::Assistant).count();
            if turns.len() < assistants || turns.is_empty() {
                continue;
            }
            let first = turns[0].0;
            let mut ids = model.family.open(scene(&setup), &messages[..first]).unwrap().ids;
            for (nth, (at, prompt)) in turns.iter().enumerate() {
                assert_eq!(ids.len(), *prompt, "{}", golden.name);
                let sampled = sampled(model, &golden, *prompt);
                let next = turns.get(nth + 1).map_or(messages.len(), |(at, _)| *at);
                let junction = Junction { sampled, message: &messages[*at] };
                let extended = model.family.extend(scene(&setup), junction, &messages[at + 1..next]).unwrap();
                ids.extend_from_slice(sampled);
                ids.extend(extended.ids);
            }
            assert!(ids == golden.ids, "{} {}", model.name, golden.name);
        }
    }
}

/// What a model sampled, parsed and said again, is what it sampled.
#[test]
fn a_parsed_turn_renders_to_its_own_ids() {
    for model in models() {
        let mut turns_tried = 0;
        for golden in goldens::of(model.name) {
            let setup = golden.setup();
            let messages = golden.messages();
            for (at, prompt) in turns(&golden, &messages) {
                let sampled = sampled(model, &golden, prompt);
                let start = model.family.open(scene(&setup), &messages[..at]).unwrap().start;
                let mut parser = model.family.parser(scene(&setup), start, "call_");
                parser.push(sampled, &mut Vec::new());
                let parsed = parser.finish(&mut Vec::new());
                let again = model.family.reply(scene(&setup), start, &parsed.message).unwrap();
                assert_eq!(model.spell(&again), model.spell(sampled), "{} {} {at}", model.name, golden.name);
                assert!(again == sampled, "{} {} {at}", model.name, golden.name);
                turns_tried += 1;
            }
        }
        assert!(turns_tried >= 60, "{}: {turns_tried}", model.name);
    }
}
