//! Tokens by the names that templates know.

use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

use super::NAME;
use crate::{FamilyError, Options};

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
