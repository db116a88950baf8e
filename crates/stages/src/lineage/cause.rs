//! Why a request does not go on from the latest reply.
//!
//! The invariant: a cause is named by the first difference that, undone, would leave the request an append; what none
//! of them explains is other words.

use serde::Serialize;
use verbatim_chat::{Content, Matcher, Message, Role, Setup, Strict, Tool, Verdict};

/// One kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A request that failed, or that its client left, is put again: nothing was sampled twice.
    RetriedFailure,
    /// A request that had its reply is put again.
    Resent,
    /// The same tools in another order.
    ToolsReordered,
    /// Tools came or went.
    ToolsChanged,
    /// A tool is described otherwise.
    ToolsDescribed,
    /// Template arguments differ.
    TemplateDrift,
    /// Reasoning was left out.
    ThinkingDropped,
    /// Calls have other ids.
    ToolCallIdentity,
    /// The same meaning in other bytes.
    SerialisationDrift,
    /// An assistant's turn says something else.
    AssistantRewritten,
    /// An assistant's turn is gone.
    AssistantDropped,
    /// A tool's result is gone.
    ToolResultDropped,
    /// The same messages in another order.
    Reordered,
    /// Somebody else's message says something else.
    HistoryRewritten,
    /// Old exchanges are gone.
    HistoryTrimmed,
    /// The instructions differ.
    SystemChanged,
    /// A summary stands in place of what was.
    Compaction,
    /// Another conversation: a helper, a title.
    IndependentContext,
    /// Another way on from the same place.
    Branched,
}

impl Cause {
    /// Each of them.
    pub const ALL: [Self; 19] = [
        Self::RetriedFailure,
        Self::Resent,
        Self::ToolsReordered,
        Self::ToolsChanged,
        Self::ToolsDescribed,
        Self::TemplateDrift,
        Self::ThinkingDropped,
        Self::ToolCallIdentity,
        Self::SerialisationDrift,
        Self::AssistantRewritten,
        Self::AssistantDropped,
        Self::ToolResultDropped,
        Self::Reordered,
        Self::HistoryRewritten,
        Self::HistoryTrimmed,
        Self::SystemChanged,
        Self::Compaction,
        Self::IndependentContext,
        Self::Branched,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::RetriedFailure => "retried_failure",
            Self::Resent => "resent",
            Self::ToolsReordered => "tools_reordered",
            Self::ToolsChanged => "tools_changed",
            Self::ToolsDescribed => "tools_described",
            Self::TemplateDrift => "template_drift",
            Self::ThinkingDropped => "thinking_dropped",
            Self::ToolCallIdentity => "tool_call_identity",
            Self::SerialisationDrift => "serialisation_drift",
            Self::AssistantRewritten => "assistant_rewritten",
            Self::AssistantDropped => "assistant_dropped",
            Self::ToolResultDropped => "tool_result_dropped",
            Self::Reordered => "reordered",
            Self::HistoryRewritten => "history_rewritten",
            Self::HistoryTrimmed => "history_trimmed",
            Self::SystemChanged => "system_changed",
            Self::Compaction => "compaction",
            Self::IndependentContext => "independent_context",
            Self::Branched => "branched",
        }
    }

    /// Whether nobody can have meant it.
    pub fn is_accident(self) -> bool {
        matches!(
            self,
            Self::Resent
                | Self::ToolsReordered
                | Self::ToolCallIdentity
                | Self::SerialisationDrift
                | Self::AssistantRewritten
                | Self::AssistantDropped
                | Self::ToolResultDropped
                | Self::Reordered
        )
    }

    /// What makes it go away, or lets it be.
    pub fn way_out(self) -> &'static str {
        match self {
            Self::RetriedFailure => "nothing: no turn was committed twice",
            Self::Resent => {
                "turn the client's own retries off (max_retries=0), or raise its timeout above the longest hold"
            }
            Self::ToolsReordered => "declare the tools in one order",
            Self::ToolsChanged | Self::ToolsDescribed => {
                "declare the same tools in every request, or export each context by name (reward.contexts = \"several\")"
            }
            Self::TemplateDrift => "send the same chat_template_kwargs and thinking switch in every request",
            Self::ThinkingDropped => {
                "send reasoning_content back as it came, or take sessions.matcher = \"loose_replay\""
            }
            Self::ToolCallIdentity => "send calls back with the ids they came with",
            Self::SerialisationDrift => {
                "send content and arguments back as they came, or take sessions.matcher = \"loose_replay\" where only arguments and empty contents differ"
            }
            Self::AssistantRewritten => {
                "send assistant turns back as they came, or name a matcher of your own (sessions.matcher = \"package.module:same\")"
            }
            Self::AssistantDropped => "keep the assistant turn and put the correction after it",
            Self::ToolResultDropped => "keep every tool result",
            Self::Reordered => "send messages in the order in which they were there before",
            Self::HistoryRewritten => "change nothing that was sent before; say it in a new message",
            Self::HistoryTrimmed | Self::Compaction => {
                "raise the context limit, or export each context by name (reward.contexts = \"several\", reward.advantage)"
            }
            Self::SystemChanged => {
                "keep clocks and counters out of the instructions, or put them into a new message"
            }
            Self::IndependentContext | Self::Branched => {
                "export each context by name (reward.contexts = \"several\", reward.advantage), or turn it off"
            }
        }
    }
}

/// What differs between two setups; none if they are the same.
pub(super) fn of_setup(stored: &Setup, sent: &Setup) -> Option<Cause> {
    if stored.tools != sent.tools {
        let names = |tools: &[Tool]| {
            let mut names: Vec<_> =
                tools.iter().map(|tool| tool.name().unwrap_or_default().to_owned()).collect();
            names.sort_unstable();
            names
        };
        let reordered = stored.tools.len() == sent.tools.len()
            && stored.tools.iter().all(|tool| sent.tools.contains(tool));
        return Some(if names(&stored.tools) != names(&sent.tools) {
            Cause::ToolsChanged
        } else if reordered {
            Cause::ToolsReordered
        } else {
            Cause::ToolsDescribed
        });
    }
    (stored.template != sent.template).then_some(Cause::TemplateDrift)
}

/// What differs between two messages of one role, the weightiest first; none if nothing does. `parsed`: arguments have no
/// spelling.
pub(super) fn of_message(stored: &Message, sent: &Message, parsed: bool) -> Option<Cause> {
    aspects(stored, sent, parsed).into_iter().next()
}

/// All that differs between two messages of one role, the weightiest first.
pub(super) fn aspects(stored: &Message, sent: &Message, parsed: bool) -> Vec<Cause> {
    match stored.role {
        Role::Assistant => of_assistant(stored, sent, parsed),
        _ => of_other(stored, sent).into_iter().collect(),
    }
}

fn of_other(stored: &Message, sent: &Message) -> Option<Cause> {
    if Strict.judge(stored, sent) == Verdict::Exact && stored.tool_call_id == sent.tool_call_id {
        None
    } else if squeezed(&stored.content) == squeezed(&sent.content) {
        match (&stored.tool_call_id, &sent.tool_call_id) {
            (Some(a), Some(b)) if a != b => Some(Cause::ToolCallIdentity),
            _ => Some(Cause::SerialisationDrift),
        }
    } else {
        Some(Cause::HistoryRewritten)
    }
}

fn of_assistant(stored: &Message, sent: &Message, parsed: bool) -> Vec<Cause> {
    let thought = |message: &Message| message.reasoning.clone().unwrap_or_default();
    let (kept, told) = (thought(stored), thought(sent));
    let calls = || stored.tool_calls.iter().zip(&sent.tool_calls);
    let meaning = |call: &verbatim_chat::ToolCall| call.arguments.parsed().map(|value| sorted(&value));
    let rewritten = squeezed(&stored.content) != squeezed(&sent.content)
        || (!told.is_empty() && squeezed_text(&told) != squeezed_text(&kept))
        || stored.tool_calls.len() != sent.tool_calls.len()
        || calls().any(|(a, b)| {
            a.name != b.name || (a.arguments.text() != b.arguments.text() && meaning(a) != meaning(b))
        });
    if rewritten {
        return vec![Cause::AssistantRewritten];
    }
    let respelt = !same_spelling(&stored.content, &sent.content)
        || (!told.is_empty() && told != kept)
        || (!parsed && calls().any(|(a, b)| a.arguments.text() != b.arguments.text()));
    let all = [
        (Cause::ToolCallIdentity, calls().any(|(a, b)| a.id != b.id)),
        (Cause::SerialisationDrift, respelt),
        (Cause::ThinkingDropped, !kept.is_empty() && told.is_empty()),
    ];
    all.into_iter().filter(|(_, is)| *is).map(|(cause, _)| cause).collect()
}

/// Absent, empty and null are one spelling.
fn same_spelling(stored: &Content, sent: &Content) -> bool {
    let is_empty = |content: &Content| content.text().is_empty();
    stored == sent || (is_empty(stored) && is_empty(sent))
}

fn squeezed(content: &Content) -> String {
    squeezed_text(&content.text())
}

fn squeezed_text(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// A JSON value's text, keys sorted and numbers in one spelling.
fn sorted(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields: Vec<_> =
                fields.iter().map(|(name, value)| format!("{name:?}:{}", sorted(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(",")),
        Value::Number(number) if number.is_f64() => {
            let value = number.as_f64().unwrap_or_default();
            if value.fract() == 0.0 && value.abs() < 9e15 {
                format!("{value:.0}")
            } else {
                number.to_string()
            }
        }
        other => other.to_string(),
    }
}
