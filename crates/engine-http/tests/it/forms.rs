//! Forms, as each engine is asked for them.

use std::sync::Arc;

use serde_json::{Value, json};
use verbatim_engine::{Engine, Form, Forms, Wrapped};
use verbatim_engine_http::{Options, Parse, connect};
use verbatim_engine_mock::{Mock, Wire};

use crate::support::{ask, mock, params, prompt, spelt};

const SCHEMA: &str = r#"{"type":"object","required":["b","a"],"properties":{"b":{},"a":{}}}"#;

fn composed() -> Form {
    let call = Wrapped { begin: "<c>".into(), schema: SCHEMA.into(), end: "</c>".into() };
    let calls = Form::Some { of: vec![call], between: "\n".into(), once: false };
    Form::Sequence(vec![Form::Until("</think>".into()), calls])
}

/// The tag that [`composed`] is.
fn tag() -> Value {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let content = json!({"type": "json_schema", "json_schema": schema});
    let call = json!({"type": "tag", "begin": "<c>", "content": content, "end": "</c>"});
    let calls = json!({
        "type": "tags_with_separator", "tags": [call], "separator": "\n", "at_least_one": true,
        "stop_after_first": false,
    });
    let thought = json!({"type": "tag", "begin": "", "content": {"type": "any_text"}, "end": "</think>"});
    json!({"type": "structural_tag", "format": {"type": "sequence", "elements": [thought, calls]}})
}

async fn server(wire: Wire, tokens_route: bool) -> (Mock, Arc<dyn Engine>) {
    let (mock, _) = mock(wire, [vec![5, 6, 2]], |options| {
        options.tokens_api = tokens_route;
        // A grammar is about text: an engine that cannot decode holds nobody to one.
        options.decode = Some(Arc::new(|ids: &[u32]| ids.iter().map(|id| format!("<{id}>")).collect()));
    })
    .await;
    let server = connect(&mock.url(), None, &Options::default()).await.unwrap();
    (mock, server.engine)
}

/// The body that the engine got for a form.
async fn body(mock: &Mock, engine: &dyn Engine, path: &str, form: Form) -> Value {
    let asked = verbatim_engine::Params { form: Some(Arc::new(form)), ..params() };
    let got = ask(engine, prompt("s", &[1, 3, 4]), &asked).await;
    assert_eq!(got.ids(), [5, 6, 2], "{:?}", got.end);
    let seen = mock.seen().into_iter().rev().find(|seen| seen.path == path).unwrap();
    serde_json::from_slice(&seen.body).unwrap()
}

#[tokio::test]
async fn sglang_is_asked_in_its_sampling_parameters() {
    let (mock, engine) = server(Wire::Sglang, true).await;
    assert_eq!(engine.capabilities().forms, Forms::ALL);
    for (form, key, value) in [
        (Form::Json(SCHEMA.into()), "json_schema", SCHEMA),
        (Form::Regex("a+".into()), "regex", "a+"),
        (Form::Grammar("root ::= x".into()), "ebnf", "root ::= x"),
        (Form::Tag("{}".into()), "structural_tag", "{}"),
    ] {
        let sampling = &body(&mock, engine.as_ref(), "/generate", form).await["sampling_params"];
        assert_eq!(sampling[key], value);
    }
    let asked = body(&mock, engine.as_ref(), "/generate", composed()).await;
    let spelt = asked["sampling_params"]["structural_tag"].as_str().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&spelt).unwrap(), tag());
    assert_eq!(asked["sampling_params"].get("json_schema"), None, "one of them alone");
}

#[tokio::test]
async fn vllm_is_asked_in_structured_outputs() {
    let (mock, engine) = server(Wire::Vllm, true).await;
    assert_eq!(engine.capabilities().forms, Forms::ALL);
    let path = "/inference/v1/generate";
    let asked = body(&mock, engine.as_ref(), path, Form::Json(SCHEMA.into())).await;
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(asked["sampling_params"]["structured_outputs"], json!({"json": schema}));
    assert_eq!(asked["reasoning_ended"], true, "the form is about the first token on");
    let asked = body(&mock, engine.as_ref(), path, composed()).await;
    let spelt = asked["sampling_params"]["structured_outputs"]["structural_tag"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(spelt).unwrap(), tag());
    let plain = ask(engine.as_ref(), prompt("s", &[1, 3, 4]), &params()).await;
    assert_eq!(plain.ids(), [5, 6, 2]);
    let seen: Value = serde_json::from_slice(&mock.seen().last().unwrap().body).unwrap();
    assert_eq!(
        (seen.get("reasoning_ended"), seen["sampling_params"].get("structured_outputs")),
        (None, None)
    );
}

#[tokio::test]
async fn vllms_completions_route_takes_no_form_of_several_parts() {
    let (mock, engine) = server(Wire::Vllm, false).await;
    assert_eq!(engine.capabilities().forms.lacks(&Form::Json(SCHEMA.into())), None);
    assert!(engine.capabilities().forms.lacks(&composed()).is_some());
    let asked = body(&mock, engine.as_ref(), "/v1/completions", Form::Regex("a+".into())).await;
    assert_eq!(asked["structured_outputs"], json!({"regex": "a+"}));
}

#[tokio::test]
async fn llamacpp_takes_a_schema_or_a_grammar() {
    let (mock, engine) = server(Wire::LlamaCpp, true).await;
    let forms = engine.capabilities().forms;
    assert_eq!(forms, Forms { json: true, grammar: true, ..Forms::NONE });
    let asked = body(&mock, engine.as_ref(), "/completion", Form::Json(SCHEMA.into())).await;
    assert_eq!(asked["json_schema"], serde_json::from_str::<Value>(SCHEMA).unwrap());
    let asked = body(&mock, engine.as_ref(), "/completion", Form::Grammar("root ::= x".into())).await;
    assert_eq!(asked["grammar"], "root ::= x");
}

#[tokio::test]
async fn an_engine_that_parses_is_asked_for_no_form() {
    let (mock, _) = mock(Wire::Sglang, [vec![5, 6, 2]], |_| {}).await;
    let options = Options { parse: Parse::Engine, ..Options::default() };
    let server = connect(&mock.url(), None, &options).await.unwrap();
    assert_eq!(server.engine.capabilities().forms, Forms::NONE);
    let got = ask(server.engine.as_ref(), spelt(&[1, 3, 4]), &params()).await;
    assert_eq!(got.ids(), [5, 6, 2]);
}
