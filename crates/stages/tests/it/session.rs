//! `verify session` passes what keeps the family's own render, and shows by kind and cause what does
//! not.

use verbatim_chat::{Message, Role, Setup};
use verbatim_families::{Scene, StartState};
use verbatim_stages::verify::{Plan, Roles, SessionReport, Step, session};

use crate::world::{World, gemma3, ids, official, qwen3, turn};

fn plan() -> Plan {
    Plan { sessions: 2, cycles: 2, ..Plan::default() }
}

async fn verified(world: &World, plan: &Plan) -> SessionReport {
    session(&world.sessions, &world.url, plan).await.unwrap()
}

#[tokio::test]
async fn a_family_that_is_append_only_holds_over_every_step_of_the_schedule() {
    let family = qwen3();
    let says = {
        let family = qwen3();
        move |nth: usize| turn(&*family, nth % 3 != 2)
    };
    let world = World::new(family.clone(), says).await;
    let report = verified(&world, &Plan { calls: true, ..plan() }).await;
    assert!(report.holds, "{:?} {:?}", report.against, report.kinds);
    assert_eq!(report.roles, Roles { tool: true, user: true, system: true, assistant: true });
    // Task; twice: tool, user, tool, system, rollback; one more rollback; final; injected.
    assert_eq!(report.turns, 2 * 14);
    for step in
        [Step::Task, Step::Tool, Step::User, Step::System, Step::Rollback, Step::Final, Step::Injected]
    {
        assert!(report.steps.contains_key(step.name()), "{step:?}");
    }
    assert!(report.calls > 8 && report.kinds.is_empty(), "{:?}", report.kinds);
}

#[tokio::test]
async fn a_template_that_drops_old_reasoning_fails_and_the_cause_says_so() {
    let says = move |nth: usize| turn(&*qwen3(), nth.is_multiple_of(2));
    let world = World::new(official(), says).await;
    let report = verified(&world, &plan()).await;
    assert!(!report.holds, "{:?}", report.kinds);
    assert!(report.causes.contains_key("stripped_reasoning"), "{:?}", report.causes);
    let json = serde_json::to_value(&report).unwrap();
    let found = json["sessions"][0]["turns"].as_array().unwrap().iter();
    let found = found.flat_map(|turn| turn["findings"].as_array().unwrap()).next().unwrap();
    let mut keys: Vec<&String> = found.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["actual_text", "cause", "detail", "expected_text", "segment_index", "type"]);
}

#[tokio::test]
async fn what_a_model_spells_otherwise_is_soft_and_named() {
    // Arguments in other bytes than the template writes: the tokens stay as they were sampled.
    let call = "<think>\n\n</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Oslo\"}}\n</tool_call><|im_end|>";
    let world = World::new(qwen3(), move |_| ids(call)).await;
    let report = verified(&world, &Plan { assistant_text: 1.0, ..plan() }).await;
    assert!(report.holds, "{:?} {:?}", report.against, report.kinds);
    assert!(report.causes.contains_key("argument_bytes"), "{:?} {:?}", report.kinds, report.causes);
    let strict = verified(&world, &Plan { assistant_text: 0.0, ..plan() }).await;
    assert!(!strict.holds && strict.against[0].contains("assistant's text"), "{:?}", strict.against);
}

#[tokio::test]
async fn a_session_that_says_nothing_to_call_fails_where_calls_are_asked_for() {
    let says = move |_| turn(&*qwen3(), false);
    let world = World::new(qwen3(), says).await;
    let report = verified(&world, &Plan { calls: true, ..plan() }).await;
    assert_eq!(report.against, ["no tool was called"]);
}

#[tokio::test]
async fn a_turn_that_is_cut_ends_its_session_and_is_counted() {
    let says = move |_| turn(&*qwen3(), false);
    let world = World::new(qwen3(), says).await;
    let report = verified(&world, &Plan { max_tokens: 3, ..plan() }).await;
    assert_eq!((report.turns, report.cut), (2, 2));
    // It has no end that could be compared.
    assert!(report.holds && report.kinds.is_empty(), "{:?}", report.kinds);
}

#[tokio::test]
async fn a_family_without_tools_is_asked_without_them() {
    let family = gemma3();
    let setup = Setup::default();
    let scene = Scene { setup: &setup, opened: 0 };
    let said =
        family.reply(scene, StartState::Content, &Message::new(Role::Assistant, "It is mild.")).unwrap();
    let world = World::new(family, move |_| said.clone()).await;
    let report = verified(&world, &plan()).await;
    assert!(report.holds, "{:?} {:?} {:?}", report.against, report.kinds, report.sessions);
    assert_eq!(report.roles, Roles { tool: false, user: true, system: false, assistant: true });
}
