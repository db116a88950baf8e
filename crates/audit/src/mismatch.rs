//! What a comparison finds.
//!
//! The invariant: a [`Mismatch`] has the keys and the kinds that Miles' session server reports
//! (reference: Miles §5), so that whoever reads those reads these; causes stand beside them.

use serde::Serialize;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The special tokens stand otherwise: more, fewer, or between other texts.
    SpecialTokenCount,
    /// A special token is another one.
    SpecialTokenType,
    /// A text that no assistant said differs.
    NonAssistantText,
    /// What the assistant said differs.
    AssistantText,
    /// The text is the same, its ids are not. Miles' comparator does not tell; [`crate::Comparator::compare`]
    /// leaves it out, too.
    Retokenised,
}

impl Kind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::SpecialTokenCount => "special_token_count",
            Self::SpecialTokenType => "special_token_type",
            Self::NonAssistantText => "non_assistant_text",
            Self::AssistantText => "assistant_text",
            Self::Retokenised => "retokenised",
        }
    }

    /// Whether a run with it must fail: the model was asked about another conversation than the one
    /// that was had. What the assistant said may be spelt otherwise by a template.
    pub fn is_hard(self) -> bool {
        !matches!(self, Self::AssistantText | Self::Retokenised)
    }
}

/// One difference, with exactly the keys that Miles has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// What differs.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The segment, counted from 0; −1 where the segments themselves differ.
    pub segment_index: i64,
    /// What the family renders: text, or a sketch of the segments.
    pub expected_text: String,
    /// What was kept.
    pub actual_text: String,
    /// In words.
    pub detail: String,
}

/// What a difference comes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The template renders the same words otherwise: whitespace, markers, turn borders.
    Template,
    /// The same text in other ids.
    Bpe,
    /// Arguments that mean the same in other bytes.
    ArgumentBytes,
    /// Reasoning is there on one side only.
    StrippedReasoning,
    /// A turn ended in another stop token than the template's, or in none.
    StopToken,
    /// The harness sent other words than were kept.
    HarnessRewrite,
}

impl Cause {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Bpe => "bpe",
            Self::ArgumentBytes => "argument_bytes",
            Self::StrippedReasoning => "stripped_reasoning",
            Self::StopToken => "stop_token",
            Self::HarnessRewrite => "harness_rewrite",
        }
    }
}

/// A difference and what it comes of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The difference.
    #[serde(flatten)]
    pub mismatch: Mismatch,
    /// What it comes of.
    pub cause: Cause,
}
