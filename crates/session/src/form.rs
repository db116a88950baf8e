//! What a turn is held to: a request's demand in the words of its family.
//!
//! The invariant: what a demand means is exactly what the form allows, reasoning before it where the family has it; what
//! cannot be said exactly, or not kept by the engine, is refused with the field and a way out.

use std::sync::Arc;

use serde_json::Value;
use verbatim_chat::{StartState, Tool};
use verbatim_dialects::{Calls, Demand, Demanded, Invalid, Shape};
use verbatim_engine::{Capabilities, Form, Wrapped};
use verbatim_families::{CallLayout, Family, Outline, Scene, Thought};

/// The form that a demand comes to; `None` where the model is free.
pub(crate) fn form(
    demand: &Demand,
    family: &dyn Family,
    scene: Scene<'_>,
    start: StartState,
    engine: &Capabilities,
) -> Result<Option<Arc<Form>>, Invalid> {
    let tools = &scene.setup.tools;
    let named: Vec<&Tool> = match &demand.calls {
        Calls::Named { name, .. } => tools.iter().filter(|tool| tool.name() == Some(name)).collect(),
        Calls::Free | Calls::Required { .. } => tools.iter().collect(),
    };
    let laid_out = || family.outline(scene, start);
    let (field, form) = match (&demand.calls, &demand.shape) {
        (Calls::Free, None) => return Ok(None),
        (Calls::Free, Some(Demanded { field, shape })) => (field.as_str(), {
            let Outline { thought, calls } = laid_out();
            let said = said(shape);
            match said {
                // A structural tag is the whole reply, by its own words.
                Form::Tag(_) => said,
                said if named.is_empty() => after(thought, said, field, family)?,
                // The model may call instead.
                said => {
                    let way_out = "send tool_choice \"none\", or no tools";
                    let call = call(calls.as_ref(), &named, demand.single, field, family, way_out)?;
                    after(thought, Form::OneOf(vec![call, said]), field, family)?
                }
            }
        }),
        (Calls::Required { field } | Calls::Named { field, .. }, _) => (*field, {
            if named.is_empty() {
                return Err(Invalid::new(
                    *field,
                    "demands a call of a tool that the request does not declare",
                ));
            }
            let Outline { thought, calls } = laid_out();
            let call = call(calls.as_ref(), &named, demand.single, field, family, "send \"auto\"")?;
            after(thought, call, field, family)?
        }),
    };
    kept(form, field, demand, engine)
}

/// The form of a turn whose prompt is the client's own: what it says begins with its first token.
pub(crate) fn bare(demand: &Demand, engine: &Capabilities) -> Result<Option<Arc<Form>>, Invalid> {
    match &demand.shape {
        Some(Demanded { field, shape }) => kept(said(shape), field, demand, engine),
        None => Ok(None),
    }
}

/// The form, if the engine can keep it.
fn kept(
    form: Form,
    field: &str,
    demand: &Demand,
    engine: &Capabilities,
) -> Result<Option<Arc<Form>>, Invalid> {
    if let Some(what) = engine.forms.lacks(&form) {
        let way_out = match &form {
            Form::Sequence(_) | Form::OneOf(_) if engine.forms.json && demand.calls == Calls::Free => {
                "switch reasoning off (enable_thinking: false) and send no tools, or leave it out"
            }
            _ => "leave it out",
        };
        let name = &engine.engine;
        let problem = format!("this engine ({name}) cannot hold a reply to {what}; {way_out}");
        return Err(Invalid::new(field, problem));
    }
    Ok(Some(Arc::new(form)))
}

fn said(shape: &Shape) -> Form {
    match shape {
        Shape::Json(schema) => Form::Json(schema.as_str().into()),
        Shape::Regex(pattern) => Form::Regex(pattern.as_str().into()),
        Shape::Grammar(grammar) => Form::Grammar(grammar.as_str().into()),
        Shape::Tag(tag) => Form::Tag(tag.as_str().into()),
    }
}

/// Calls of these tools.
fn call(
    layout: Option<&CallLayout>,
    tools: &[&Tool],
    single: bool,
    field: &str,
    family: &dyn Family,
    way_out: &str,
) -> Result<Form, Invalid> {
    let cannot = |why: &str| Invalid::new(field, format!("family {} {why}; {way_out}", family.name()));
    let layout = layout.ok_or_else(|| cannot("does not write calls that a reply can be held to exactly"))?;
    let of = tools.iter().map(|tool| {
        let name = tool.name().unwrap_or_default();
        let (begin, end) = layout
            .around(name)
            .ok_or_else(|| cannot(&format!("cannot be held to a call of {name:?}, for its name")))?;
        Ok(Wrapped { begin: begin.into(), schema: parameters(tool).into(), end: end.into() })
    });
    let between = layout.between.as_deref();
    Ok(Form::Some {
        of: of.collect::<Result<_, Invalid>>()?,
        between: between.unwrap_or_default().into(),
        once: single || between.is_none(),
    })
}

/// The schema of a tool's arguments, as JSON text.
fn parameters(tool: &Tool) -> String {
    let function = tool.0.get("function").unwrap_or(&tool.0);
    match function.get("parameters") {
        Some(schema @ Value::Object(_)) if schema.get("type").is_some() => schema.to_string(),
        _ => r#"{"type":"object"}"#.to_owned(),
    }
}

/// What is said, after whatever reasoning may come before it.
fn after(thought: Thought, said: Form, field: &str, family: &dyn Family) -> Result<Form, Invalid> {
    let text = |text: String| (!text.is_empty()).then(|| Form::Text(text.into()));
    Ok(match thought {
        Thought::Nothing => said,
        Thought::Opened { close, after } => {
            let parts = [Some(Form::Until(close.into())), text(after), Some(said)];
            Form::Sequence(parts.into_iter().flatten().collect())
        }
        Thought::May { open, close, after } => {
            let parts = [text(open), Some(Form::Until(close.into())), text(after), Some(said.clone())];
            Form::OneOf(vec![Form::Sequence(parts.into_iter().flatten().collect()), said])
        }
        Thought::Unsaid => {
            let problem = format!(
                "replies of family {} cannot be held to a form: what frames them is no plain text; leave it out",
                family.name()
            );
            return Err(Invalid::new(field, problem));
        }
    })
}
