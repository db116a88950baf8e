//! What must hold of a template before anything is rendered with it.
//!
//! At every turn of every shape: what follows it after the stand-in history is what follows it
//! after the real one, or the family is refused; and what came before it stays as it was, or there
//! is a warning that names the shape.

use serde_json::json;
use verbatim_chat::{Message, Role, Setup, Tool};

use super::Templated;
use super::engine::Frame;
use super::suffix::{mark, stand_in};
use crate::shapes::{SHAPES, messages};
use crate::{FamilyError, RenderError, Scene};

/// Proves a template. Returns the warnings.
pub(super) fn prove(family: &Templated) -> Result<Vec<String>, FamilyError> {
    let tool = json!({"type": "function", "function": {"name": "f", "description": "d",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer", "description": "n"}}, "required": ["n"]}}});
    let with_tools = Setup { tools: vec![Tool(tool)], ..Setup::default() };
    let without = Setup::default();
    let mut warnings = Vec::new();
    for (name, shape) in SHAPES {
        let setup = if shape.contains('T') { &with_tools } else { &without };
        let refused = |error: RenderError| FamilyError::Unstable { reason: format!("{name}: {error}") };
        let context = family.context(Scene { setup, opened: 0 }).map_err(refused)?;
        let messages = messages(shape);
        let turns =
            (0..messages.len()).filter(|at| messages[*at].role == Role::Assistant && at + 1 < messages.len());
        for at in turns {
            let next = messages[at + 1..].iter().position(|message| message.role == Role::Assistant);
            let next = next.map_or(messages.len(), |count| at + 1 + count);
            match judge(family, &context, &messages[..next], at) {
                Ok(Judgement::Stable) => {}
                Ok(Judgement::Rewritten) => {
                    let roles: Vec<&str> =
                        messages[at + 1..next].iter().map(|message| message.role.as_str()).collect();
                    warnings.push(format!("{name}: the chat template rewrites earlier turns when {} follow; a session keeps them as they were", roles.join(", ")));
                    break;
                }
                Ok(Judgement::Refused(reason)) => {
                    warnings.push(format!("{name}: the chat template refuses this shape: {reason}"));
                    break;
                }
                Err(reason) => {
                    return Err(FamilyError::Unstable { reason: format!("{name}, turn {at}: {reason}") });
                }
            }
        }
    }
    Ok(warnings)
}

enum Judgement {
    Stable,
    /// The suffix is right, what came before it changed.
    Rewritten,
    /// The template does not take this conversation at all.
    Refused(String),
}

/// Judges the turn at `at`, with the messages after it as new ones.
fn judge(family: &Templated, context: &Frame, messages: &[Message], at: usize) -> Result<Judgement, String> {
    let (history, new) = messages.split_at(at + 1);
    let prepared = family.prepare(messages).map_err(|error| error.to_string())?;
    let render =
        |count: usize, prompt: bool| family.engine.render(context, &prepared.values()[..count], prompt);
    let (prompt, turn, whole) = match (render(at, true), render(at + 1, false), render(messages.len(), true))
    {
        (Ok(prompt), Ok(turn), Ok(whole)) => (prompt, turn, whole),
        (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
            return Ok(Judgement::Refused(error.to_string()));
        }
    };
    let mut real = history.to_vec();
    if let Some(last) = real.last_mut() {
        mark(last);
    }
    let real = family.tail(context, &real, new).map_err(|error| error.to_string())?;
    let short = family.tail(context, &stand_in(&history[at]), new).map_err(|error| error.to_string())?;
    if real.close != short.close || real.rest != short.rest {
        return Err(format!(
            "after a short history {:?} follows, after the real one {:?}",
            short.rest, real.rest
        ));
    }
    let stays = whole.starts_with(&turn) && turn.starts_with(&prompt);
    Ok(if stays { Judgement::Stable } else { Judgement::Rewritten })
}
