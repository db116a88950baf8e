//! A model family that renders every message to ids that tell it apart.

use verbatim_chat::{Message, Role, Setup};
use verbatim_tokens::TokenId;

/// The token that opens a message of that role; a model may end its turn by sampling one.
pub(crate) fn mark(role: Role) -> TokenId {
    TokenId(match role {
        Role::System => 10,
        Role::User => 11,
        Role::Assistant => 12,
        Role::Tool => 13,
    })
}

/// What a turn is extended by.
pub(crate) struct Extension {
    pub(crate) trim: usize,
    pub(crate) ids: Vec<TokenId>,
}

/// Renders; of a sampled turn it takes back at most `max_trim` marks, which the next message brings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    pub(crate) max_trim: usize,
}

impl Family {
    pub(crate) fn open<'a>(
        self,
        setup: &Setup,
        messages: impl IntoIterator<Item = &'a Message>,
    ) -> Vec<TokenId> {
        let mut ids = vec![TokenId(1)];
        setup.tools.iter().for_each(|tool| spell(&tool.0.to_string(), &mut ids));
        render(messages, &mut ids);
        ids
    }

    pub(crate) fn extend<'a>(
        self,
        sampled: &[TokenId],
        new: impl IntoIterator<Item = &'a Message>,
    ) -> Extension {
        let marks = sampled.iter().rev().take_while(|id| (10..=13).contains(&id.0));
        let mut ids = Vec::new();
        render(new, &mut ids);
        Extension { trim: marks.count().min(self.max_trim), ids }
    }
}

fn render<'a>(messages: impl IntoIterator<Item = &'a Message>, ids: &mut Vec<TokenId>) {
    for message in messages {
        ids.push(mark(message.role));
        spell(&message.content.text(), ids);
    }
    ids.push(mark(Role::Assistant));
}

fn spell(text: &str, ids: &mut Vec<TokenId>) {
    ids.extend(text.bytes().map(|byte| TokenId(100 + u32::from(byte))));
}
