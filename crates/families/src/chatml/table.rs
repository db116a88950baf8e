//! In what ChatML families differ.

use verbatim_chat::Role;

/// One family's rules.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// Markers that its vocabulary must have as single tokens.
    pub(crate) markers: &'static [&'static str],
    /// What the system says where no system message comes first.
    pub(crate) system: Option<&'static str>,
    /// Whether every assistant turn has a think block, which may be empty.
    pub(crate) think: bool,
    /// Roles that may follow a sampled turn.
    pub(crate) append: &'static [Role],
}

/// Every role there is: what Miles lets be appended unless a template cannot render it (§4.1).
pub(crate) const ALL_ROLES: &[Role] = &[Role::System, Role::User, Role::Assistant, Role::Tool];

/// How tools are declared, before the declarations. Models were trained on these very words.
pub(crate) const TOOLS_BEFORE: &str = "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
    You are provided with function signatures within <tools></tools> XML tags:\n<tools>";

/// The same, after them.
pub(crate) const TOOLS_AFTER: &str = "\n</tools>\n\nFor each function call, return a json object with function name and \
    arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": \
    <args-json-object>}\n</tool_call>";
