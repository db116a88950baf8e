//! Which model's syntax stands in a text that should have been parsed.
//!
//! The invariant: a mark is one that no other entry's texts hold; a text without one says nothing.

use serde::Serialize;

/// A syntax of calls or of reasoning, by the parser that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Syntax {
    /// The setting: `family.tool_call_parser` or `family.reasoning_parser`.
    pub setting: &'static str,
    /// Its value.
    pub parser: &'static str,
}

const CALLS: &str = "family.tool_call_parser";
const REASONING: &str = "family.reasoning_parser";

/// Marks, the most telling first: of entries with the same setting the first one found counts.
const MARKS: &[(&str, &str, &str)] = &[
    (CALLS, "qwen3_coder", "<function="),
    (CALLS, "glm47", "<arg_key>"),
    (CALLS, "kimi_k2", "<|tool_calls_section_begin|>"),
    (CALLS, "minimax-m2", "<minimax:tool_call>"),
    (CALLS, "mistral", "[TOOL_CALLS]"),
    (CALLS, "llama3", "<|python_tag|>"),
    (CALLS, "gpt-oss", "<|channel|>"),
    (CALLS, "deepseekv32", "<｜DSML｜"),
    (CALLS, "hermes", "<tool_call>"),
    (REASONING, "kimi", "◁think▷"),
    (REASONING, "mistral", "[THINK]"),
    (REASONING, "qwen3", "<think>"),
    (REASONING, "deepseek-r1", "</think>"),
];

/// The syntaxes in a text, at most one for each setting.
pub fn syntaxes(text: &str) -> Vec<Syntax> {
    let found = |setting: &'static str| {
        let mark = MARKS.iter().find(|(of, _, mark)| *of == setting && text.contains(mark));
        mark.map(|(setting, parser, _)| Syntax { setting, parser })
    };
    [CALLS, REASONING].into_iter().filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syntax_is_told_by_its_own_mark() {
        let parser = |text: &str| syntaxes(text).first().map(|syntax| syntax.parser);
        assert_eq!(parser("<tool_call>\n{\"name\": \"a\"}\n</tool_call>"), Some("hermes"));
        assert_eq!(parser("<tool_call>\n<function=a>\n</function>"), Some("qwen3_coder"));
        assert_eq!(parser("<tool_call>a\n<arg_key>b</arg_key>"), Some("glm47"));
        assert_eq!(parser("so </think> yes"), Some("deepseek-r1"));
        assert_eq!(parser("a tool_call in plain words"), None);
    }
}
