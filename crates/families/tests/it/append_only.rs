//! Extending a sampled turn is the same as rendering everything anew.

use verbatim_chat::{Message, Role};
use verbatim_families::Junction;
use verbatim_tokens::TokenId;

use crate::assets::Model;
use crate::evidence::record;
use crate::goldens::{self, Golden, scene};

/// The assistant turns of a conversation that can have been sampled: the message's place, and the
/// length of its prompt.
fn turns(golden: &Golden, messages: &[Message]) -> Vec<(usize, usize)> {
    let assistants = messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant);
    let turns =
        assistants.zip(&golden.prompts).filter_map(|((at, _), prompt)| prompt.map(|prompt| (at, prompt)));
    turns.collect()
}

/// Where a turn ends whose parts are messages: with the last of its calls, else with the answer. One
/// more than the place of its end token.
fn last_message(model: &Model, message: &Message, ids: &[TokenId]) -> usize {
    let find = |what: &str, from: usize| {
        let what = model.ids(what);
        from + ids[from..].windows(what.len()).position(|window| window == what).unwrap()
    };
    match message.tool_calls.len() {
        0 => find("<|end|>", find("<|channel|>final", 0)) + 1,
        calls => (0..calls).fold(0, |from, _| find("<|call|>", from) + 1),
    }
}

/// The turn as it was sampled, where the answer's end in history is not what a model samples.
fn as_sampled(model: &Model, turn: &[TokenId]) -> Vec<TokenId> {
    let (mut turn, end) = (turn.to_vec(), model.ids("<|end|>"));
    if let Some(last) = turn.last_mut().filter(|last| end == [**last]) {
        *last = model.family.stop_ids()[0];
    }
    turn
}

/// What the golden holds at a turn whose prompt ends at `prompt`: the turn, its stop included.
/// Where turns end with the next opener that is the model's, if it is one that stops.
fn sampled(model: &Model, golden: &Golden, message: &Message, prompt: usize) -> Vec<TokenId> {
    let rest = &golden.ids[prompt..];
    if model.name == "gptoss" {
        return as_sampled(model, &rest[..last_message(model, message, rest)]);
    }
    turn(model, rest).to_vec()
}

fn turn<'g>(model: &Model, rest: &'g [TokenId]) -> &'g [TokenId] {
    if model.family.max_trim() == 0 {
        let close = model.family.stop_ids()[0];
        let length = rest.iter().position(|id| *id == close).unwrap() + 1;
        return &rest[..length];
    }
    let opener = rest.iter().position(|id| model.openers().contains(id)).unwrap();
    &rest[..opener + usize::from(model.family.stop_ids().contains(&rest[opener]))]
}

/// Where an assistant's turn ends in the render of the messages up to it.
fn end(model: &Model, head: &[TokenId]) -> usize {
    if model.name == "gptoss" {
        // The prompt is what follows.
        return head.len() - model.ids("<|start|>assistant").len();
    }
    if model.family.max_trim() == 0 {
        let close = model.family.stop_ids()[0];
        return head.iter().rposition(|id| *id == close).unwrap() + 1;
    }
    head.iter().rposition(|id| model.openers().contains(id)).unwrap()
}

/// At every cut of every shape what came before stays as it was, and what follows is what the
/// extension says.
pub(crate) fn every_cut_extends_to_the_whole(model: &Model) {
    let mut cuts = 0;
    for golden in goldens::rendered(model.name) {
        let setup = golden.setup();
        let messages = golden.messages();
        let assistants = messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant);
        for at in assistants.map(|(at, _)| at) {
            let head = model.family.open(scene(&setup), &messages[..=at]).unwrap().ids;
            let end = end(model, &head);
            assert!(golden.ids.starts_with(&head[..end]), "{} {}: cut after {at}", model.name, golden.name);
            let stops = |id: &TokenId| model.family.stop_ids().contains(id);
            let trim = model.family.max_trim();
            if model.name == "gptoss" {
                let sampled = as_sampled(model, &golden.ids[end - 1..end]);
                let junction = Junction { sampled: &sampled, message: &messages[at] };
                let extended = model.family.extend(scene(&setup), junction, &messages[at + 1..]).unwrap();
                assert_eq!(
                    (extended.trim, extended.repair),
                    (usize::from(sampled[0] == model.family.stop_ids()[0]), None)
                );
                assert!(extended.ids == golden.ids[end - extended.trim..], "{} cut after {at}", golden.name);
                cuts += 1;
                continue;
            }
            let sampled = &golden.ids[end - 1 + trim..end + trim];
            let sampled = if sampled.iter().all(stops) { sampled } else { &[] };
            let junction = Junction { sampled, message: &messages[at] };
            let extended = model.family.extend(scene(&setup), junction, &messages[at + 1..]);
            let extended = extended.unwrap_or_else(|error| panic!("{} {at}: {error}", golden.name));
            assert_eq!(
                (extended.trim, extended.repair.is_some()),
                (0, sampled.is_empty()),
                "{}",
                golden.name
            );
            assert_eq!(extended.sources.len(), extended.ids.len());
            let expected = &golden.ids[end + trim * sampled.len()..];
            assert_eq!(
                model.spell(&extended.ids),
                model.spell(expected),
                "{} {} cut after {at}",
                model.name,
                golden.name
            );
            assert!(extended.ids == expected);
            cuts += 1;
        }
    }
    assert!(cuts >= 250, "{}: {cuts} cuts", model.name);
    record(model, "cuts", cuts);
}

/// Turn by turn a session is the render of the whole.
pub(crate) fn turn_by_turn_is_the_whole(model: &Model) {
    let mut sessions = 0;
    for golden in goldens::rendered(model.name) {
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
            let sampled = sampled(model, &golden, &messages[*at], *prompt);
            let next = turns.get(nth + 1).map_or(messages.len(), |(at, _)| *at);
            let junction = Junction { sampled: &sampled, message: &messages[*at] };
            let extended = model.family.extend(scene(&setup), junction, &messages[at + 1..next]).unwrap();
            ids.extend_from_slice(&sampled[..sampled.len() - extended.trim]);
            ids.extend(extended.ids);
        }
        assert!(ids == golden.ids, "{} {}", model.name, golden.name);
        sessions += 1;
    }
    assert!(sessions >= 30, "{}: {sessions} sessions", model.name);
    record(model, "sessions", sessions);
}

/// What a model sampled, parsed and said again, is what it sampled.
pub(crate) fn a_parsed_turn_renders_to_its_own_ids(model: &Model) {
    let mut tried = 0;
    for golden in goldens::rendered(model.name) {
        let setup = golden.setup();
        let messages = golden.messages();
        for (at, prompt) in turns(&golden, &messages) {
            let sampled = sampled(model, &golden, &messages[at], prompt);
            let start = model.family.open(scene(&setup), &messages[..at]).unwrap().start;
            let mut parser = model.family.parser(scene(&setup), start, "call_");
            parser.push(&sampled, &mut Vec::new());
            let parsed = parser.finish(&mut Vec::new());
            let mut again = model.family.reply(scene(&setup), start, &parsed.message).unwrap();
            let ended = sampled.last().is_some_and(|id| model.family.stop_ids().contains(id));
            if model.family.max_trim() == 1 {
                // Which opener ends the turn is for what follows to say.
                again.pop();
                again.extend(sampled.last().filter(|_| ended));
            }
            assert_eq!(model.spell(&again), model.spell(&sampled), "{} {} {at}", model.name, golden.name);
            assert!(again == sampled, "{} {} {at}", model.name, golden.name);
            tried += 1;
        }
    }
    assert!(tried >= 90, "{}: {tried}", model.name);
    record(model, "replies", tried);
}
