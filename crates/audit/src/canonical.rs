//! What a family renders for a conversation that was had.
//!
//! The invariant: it ends where the last assistant's turn ends; the prompt of a turn that nobody
//! took is no part of it.

use verbatim_chat::{Message, Role};
use verbatim_families::{Family, Junction, RenderError, Scene};
use verbatim_tokens::TokenId;

/// Renders `messages` anew, from the first to the end of the last, as [`crate::Comparator`] expects
/// it. Where the last one is no assistant's, the assistant's opener follows: it is then a prompt.
///
/// The cost is that of the whole conversation.
///
/// # Errors
/// [`RenderError`], as [`Family::open`].
pub fn canonical(
    family: &dyn Family,
    scene: Scene<'_>,
    messages: &[Message],
) -> Result<Vec<TokenId>, RenderError> {
    let mut ids = family.open(scene, messages)?.ids;
    let Some(message) = messages.last().filter(|message| message.role == Role::Assistant) else {
        return Ok(ids);
    };
    let stop = family.stop_ids();
    let junction = Junction { sampled: &stop[..stop.len().min(1)], message };
    let after = family.extend(scene, junction, &[])?.ids;
    ids.truncate(ids.len().saturating_sub(after.len()));
    Ok(ids)
}
