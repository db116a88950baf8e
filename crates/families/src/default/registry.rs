//! Parsers and tokens by the names that users know.

use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

use super::NAME;
use crate::parser::{CallParser, ReasoningParser};
use crate::{FamilyError, Options};

/// Reasoning parsers by SGLang's names.
const REASONING: &[(&str, ReasoningParser)] =
    &[("none", ReasoningParser::None), ("qwen3", ReasoningParser::Qwen3)];

/// Tool call parsers by SGLang's names; `qwen` is what it calls `qwen25` in newer versions.
const CALLS: &[(&str, CallParser)] = &[
    ("none", CallParser::None),
    ("hermes", CallParser::Hermes),
    ("qwen", CallParser::Hermes),
    ("qwen25", CallParser::Hermes),
];

/// The parsers that the options name.
pub(crate) fn parsers(options: &Options) -> Result<(ReasoningParser, CallParser), FamilyError> {
    Ok((
        named("reasoning parser", options.reasoning_parser.as_deref(), REASONING)?,
        named("tool call parser", options.tool_call_parser.as_deref(), CALLS)?,
    ))
}

fn named<T: Copy + Default>(kind: &str, name: Option<&str>, known: &[(&str, T)]) -> Result<T, FamilyError> {
    let Some(name) = name else { return Ok(T::default()) };
    if let Some((_, parser)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(*parser);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    Err(FamilyError::Template {
        reason: format!("unknown {kind} {name:?}; use one of: {}", names.join(", ")),
    })
}

/// The tokens that a template may name. `tokenizer_config.json` has them as strings or as objects
/// with `content`; those that are null are not defined, as in transformers.
pub(super) fn special_tokens(options: &Options) -> Vec<(String, String)> {
    let spelled = options.special_tokens.iter().filter_map(|(name, token)| {
        let text = token.as_str().or_else(|| token.get("content")?.as_str())?;
        Some((name.clone(), text.to_owned()))
    });
    spelled.collect()
}

/// The tokens that end a turn, so far as the options say.
pub(super) fn stop_tokens(tokenizer: &dyn Tokenizer, options: &Options) -> Result<Vec<TokenId>, FamilyError> {
    let special = special_tokens(options);
    let eos = special.iter().filter(|(name, _)| name == "eos_token").map(|(_, token)| token);
    let mut stop = Vec::new();
    for token in eos.chain(&options.stop_tokens) {
        let missing = || FamilyError::Token { family: NAME.to_owned(), token: token.clone() };
        let id = tokenizer.special(token).ok_or_else(missing)?;
        if !stop.contains(&id) {
            stop.push(id);
        }
    }
    Ok(stop)
}
