//! What cannot be rendered, and which family cannot be had.

use verbatim_chat::Role;

/// A conversation that a family cannot render. `message` counts from 0 in the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A role that must not follow a sampled turn in this family.
    #[error("messages[{message}]: role {role} cannot be appended in family {family}")]
    Role {
        /// Position among the appended messages.
        message: usize,
        /// The role.
        role: Role,
        /// The family.
        family: String,
    },
    /// A template argument that contradicts what the family fixes.
    #[error("chat_template_kwargs.{name}: {value} conflicts with {fixed}, which family {family} fixes")]
    Argument {
        /// The argument.
        name: String,
        /// The asked value, as JSON.
        value: String,
        /// The family's value, as JSON.
        fixed: String,
        /// The family.
        family: String,
    },
    /// A tool call whose arguments are no JSON object, where the template needs one.
    #[error("messages[{message}].tool_calls[{call}].function.arguments: not a JSON object")]
    Arguments {
        /// Position of the message.
        message: usize,
        /// Position of the call.
        call: usize,
    },
    /// The family has no spelling for this.
    #[error("messages[{message}]: family {family} cannot render {what}")]
    Unsupported {
        /// Position of the message.
        message: usize,
        /// What it holds.
        what: String,
        /// The family.
        family: String,
    },
    /// An image, in a family that has no place for it there.
    #[error("messages[{message}]: family {family} cannot show {what}; {way_out}")]
    Image {
        /// Position of the message.
        message: usize,
        /// What it holds.
        what: String,
        /// The family.
        family: String,
        /// What to do instead.
        way_out: String,
    },
    /// The template itself refused or failed.
    #[error("the chat template failed: {reason}")]
    Template {
        /// Its own words.
        reason: String,
    },
}

/// A family that cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FamilyError {
    /// No family has this name.
    #[error("unknown family {name:?}; use one of: {}", .known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// The tokenizer lacks a token that the family needs.
    #[error("family {family} needs the token {token:?}, which this tokenizer does not have")]
    Token {
        /// The family.
        family: String,
        /// The missing token.
        token: String,
    },
    /// A chat template was given to a family that renders natively, or none to one that needs it.
    #[error("{reason}")]
    Template {
        /// What is wrong and the way out.
        reason: String,
    },
    /// The template changes what it rendered before when messages are appended.
    #[error("the chat template is not append-only: {reason}")]
    Unstable {
        /// The shape of conversation that shows it.
        reason: String,
    },
}
