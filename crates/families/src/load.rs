//! Finding a family by name.

use std::sync::Arc;

use serde_json::{Map, Value};
use verbatim_tokenizer::Tokenizer;

use crate::chatml::{ChatMl, Table};
use crate::default::Templated;
use crate::{Family, FamilyError, qwen3, qwen25, smollm2};

/// Every family's name.
pub const NAMES: &[&str] = &["default", "qwen25", "qwen3", "smollm2"];

const CHATML: [&Table; 3] = [&qwen3::TABLE, &qwen25::TABLE, &smollm2::TABLE];

/// How a family is set up.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The chat template, for `default` only; the other families have theirs.
    pub template: Option<String>,
    /// Template arguments that no request may change.
    pub fixed: Map<String, Value>,
    /// For `default`: tokens that the template names, as `tokenizer_config.json` has them:
    /// `bos_token`, `eos_token`, `pad_token` and so on. `eos_token` ends a turn.
    pub special_tokens: Map<String, Value>,
    /// For `default`: further tokens that end a turn, by their spelling.
    pub stop_tokens: Vec<String>,
    /// For `default`: how reasoning is parsed, by SGLang's name: `qwen3`, or `none`.
    pub reasoning_parser: Option<String>,
    /// For `default`: how calls are parsed, by SGLang's name: `qwen25`, `hermes`, or `none`.
    pub tool_call_parser: Option<String>,
}

/// Sets up the family of that name with a template and fixed arguments alone.
///
/// # Errors
/// As [`load_with`].
pub fn load(
    name: &str,
    tokenizer: Arc<dyn Tokenizer>,
    template: Option<&str>,
    fixed: &Map<String, Value>,
) -> Result<Arc<dyn Family>, FamilyError> {
    let options =
        Options { template: template.map(str::to_owned), fixed: fixed.clone(), ..Options::default() };
    load_with(name, tokenizer, &options)
}

/// Sets up the family of that name.
///
/// # Errors
/// [`FamilyError`]: no such family; a token that the vocabulary lacks; a template where none is
/// wanted, or none where one is; one that is not append-only; a parser that does not exist.
pub fn load_with(
    name: &str,
    tokenizer: Arc<dyn Tokenizer>,
    options: &Options,
) -> Result<Arc<dyn Family>, FamilyError> {
    if name == "default" {
        return Ok(Arc::new(Templated::new(tokenizer, options)?));
    }
    let Some(table) = CHATML.iter().find(|table| table.name == name) else {
        return Err(FamilyError::Unknown { name: name.to_owned(), known: NAMES.to_vec() });
    };
    if options.template.is_some() {
        let reason = format!(
            "family {name} renders natively and takes no chat template; leave it out, or use family default"
        );
        return Err(FamilyError::Template { reason });
    }
    Ok(Arc::new(ChatMl::new(table, tokenizer, &options.fixed)?))
}
