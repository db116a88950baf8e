//! Finding a family by name.

use std::sync::Arc;

use serde_json::{Map, Value};
use verbatim_tokenizer::Tokenizer;

use crate::default::Templated;
use crate::native::{Format, Native};
use crate::{
    Family, FamilyError, deepseekv4, deepseekv32, gemma3, glm47, gptoss, inkling, kimi, llama3, minimax,
    mistral, nemotron3, qwen3, qwen25, qwen25vl, qwen35, qwennext, smollm2,
};

/// Every family's name.
pub const NAMES: &[&str] = &[
    "default",
    "deepseekv32",
    "deepseekv4",
    "gemma3",
    "glm47",
    "gptoss",
    "inkling",
    "kimi25",
    "kimi26",
    "llama3",
    "minimax_m25",
    "minimax_m27",
    "mistral",
    "nemotron3",
    "qwen25",
    "qwen25vl",
    "qwen3",
    "qwen35",
    "qwen36",
    "qwennext",
    "smollm2",
];

/// The families that render natively.
const NATIVE: &[&dyn Format] = &[
    &deepseekv32::FORMAT,
    &deepseekv4::FORMAT,
    &gemma3::FORMAT,
    &glm47::FORMAT,
    &gptoss::FORMAT,
    &inkling::FORMAT,
    &kimi::K25,
    &kimi::K26,
    &llama3::FORMAT,
    &minimax::M25,
    &minimax::M27,
    &mistral::FORMAT,
    &nemotron3::FORMAT,
    &qwen25::FORMAT,
    &qwen25vl::FORMAT,
    &qwen35::QWEN35,
    &qwen35::QWEN36,
    &qwen3::FORMAT,
    &qwennext::FORMAT,
    &smollm2::FORMAT,
];

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
    /// How reasoning is parsed, by SGLang's name, or `none`: for `default`. Other families have
    /// their parser and refuse another.
    pub reasoning_parser: Option<String>,
    /// How calls are parsed, likewise.
    pub tool_call_parser: Option<String>,
    /// For families that show images: between how many pixels the model's image processor keeps them.
    pub pixels: Pixels,
}

/// Bounds of an image's pixels; `None` is the model's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pixels {
    /// At least so many.
    pub min: Option<u64>,
    /// At most so many.
    pub max: Option<u64>,
}

impl Pixels {
    /// Refuses bounds in a family that shows no images.
    pub(crate) fn unused(&self, family: &str) -> Result<(), FamilyError> {
        if *self == Self::default() {
            return Ok(());
        }
        let reason = format!("family {family} shows no images; leave min_pixels and max_pixels out");
        Err(FamilyError::Template { reason })
    }
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
        options.pixels.unused("default")?;
        return Ok(Arc::new(Templated::new(tokenizer, options)?));
    }
    let Some(format) = NATIVE.iter().find(|format| format.table().name == name) else {
        return Err(FamilyError::Unknown { name: name.to_owned(), known: NAMES.to_vec() });
    };
    if options.template.is_some() {
        let reason = format!(
            "family {name} renders natively and takes no chat template; leave it out, or use family default"
        );
        return Err(FamilyError::Template { reason });
    }
    Ok(Arc::new(Native::new(*format, tokenizer, options)?))
}
