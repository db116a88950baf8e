//! What a session kept, against what its family renders.

use std::sync::Arc;

use verbatim_audit::{Comparator, Finding, canonical};
use verbatim_chat::{Message, Setup};
use verbatim_families::Scene;
use verbatim_session::{Session, Sessions};

/// One turn, judged.
pub(crate) struct Judged {
    /// The tokens up to its end.
    pub(crate) tokens: usize,
    /// What differs.
    pub(crate) findings: Vec<Finding>,
}

/// Judges the path that ends in a reply.
///
/// # Errors
/// In words, if the reply is not kept or its conversation cannot be rendered.
pub(crate) fn judge(
    sessions: &Sessions,
    session: &Session,
    comparator: &Comparator,
    response: &str,
) -> Result<Judged, String> {
    let kept = session.with_forest(|forest| {
        let mut nodes = forest.nodes().rev();
        let (leaf, _) = nodes.find(|(_, node)| node.generation().is_some_and(|g| g.response == response))?;
        Some((forest.gather(leaf), forest.messages(leaf), forest.setup(leaf)))
    });
    let Some((actual, messages, setup)) = kept else {
        return Err("the session did not keep the turn it replied with".to_owned());
    };
    let setup: Arc<Setup> = setup.unwrap_or_default();
    let messages: Vec<Message> = messages.iter().map(|message| Message::clone(message)).collect();
    let scene = Scene { setup: &setup, opened: session.opened() };
    let expected = canonical(sessions.family().as_ref(), scene, &messages)
        .map_err(|error| format!("what was kept cannot be rendered anew: {error}"))?;
    Ok(Judged { tokens: actual.len(), findings: comparator.explain(&expected, &actual) })
}
