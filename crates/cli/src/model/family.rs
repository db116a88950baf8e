//! Which family a model speaks.

use std::sync::Arc;

use anyhow::Context;
use serde_json::{Map, Value};
use verbatim_families::{Family, Options, Pixels, load_with};
use verbatim_tokenizer::Tokenizer;

use super::catalogue::CATALOGUE;
use crate::config::FamilyConfig;

/// What a model's files say that decides its family.
pub(super) struct Hints<'a> {
    /// The name it was asked for by.
    pub(super) model: &'a str,
    /// Its chat template.
    pub(super) template: Option<&'a str>,
    /// The spelling of its end-of-turn token.
    pub(super) eos: Option<String>,
    /// The spelling of its begin-of-text token.
    pub(super) bos: Option<String>,
}

/// Sets the family up.
pub(super) fn family(
    config: &FamilyConfig,
    hints: &Hints<'_>,
    tokenizer: Arc<dyn Tokenizer>,
) -> anyhow::Result<Arc<dyn Family>> {
    let name = match config.name.as_str() {
        "auto" => tell(hints),
        name => name,
    };
    let chosen = |parser: &str, usual: Option<&str>| match parser {
        "auto" => usual.map(str::to_owned),
        parser => Some(parser.to_owned()),
    };
    let usual = |parser| (name == "default").then_some(parser);
    let mut options = Options {
        reasoning_parser: chosen(&config.reasoning_parser, usual("none")),
        tool_call_parser: chosen(&config.tool_call_parser, usual("hermes")),
        pixels: Pixels { min: config.min_pixels, max: config.max_pixels },
        ..Options::default()
    };
    if name == "default" {
        options.template = match &config.chat_template {
            Some(path) => Some(
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?,
            ),
            None => hints.template.map(str::to_owned),
        };
        let mut tokens = Map::new();
        for (key, token) in [("eos_token", &hints.eos), ("bos_token", &hints.bos)] {
            if let Some(token) = token {
                tokens.insert(key.to_owned(), Value::from(token.as_str()));
            }
        }
        options.special_tokens = tokens;
    } else if config.chat_template.is_some() {
        anyhow::bail!("family.chat_template is for family default; family {name} renders natively");
    }
    load_with(name, tokenizer, &options)
        .with_context(|| format!("cannot set up family {name} for {}", hints.model))
}

/// A catalogue entry knows its family; of other models the template is asked for what is only found
/// in one family's.
fn tell(hints: &Hints<'_>) -> &'static str {
    if let Some(entry) = CATALOGUE.iter().find(|entry| entry.name == hints.model) {
        return entry.family;
    }
    let template = hints.template.unwrap_or_default();
    let has = |text: &str| template.contains(text);
    let tagged = has("<function=");
    let thinks = has("<tool_response>") && has("reasoning_content");
    if has("SmolLM, trained by Hugging Face") && !has("<tools>") {
        "smollm2"
    } else if has("<|image_pad|>") && has("You are a helpful assistant.") {
        "qwen25vl"
    } else if has("You are Qwen, created by Alibaba Cloud") {
        "qwen25"
    } else if has("<|start|>assistant<|channel|>analysis") {
        "gptoss"
    } else if has("<start_of_turn>") && has("first_user_prefix") {
        "gemma3"
    } else if has("[gMASK]<sop>") && has("<arg_key>") && has("clear_thinking") {
        "glm47"
    } else if has("<|im_middle|>") && has("tools_ts_str") {
        if has("preserve_thinking") { "kimi26" } else { "kimi25" }
    } else if has("DSML") && has("tool_calls>") {
        "deepseekv4"
    } else if has("DSML") {
        "deepseekv32"
    } else if has("MiniMax-M2.5") {
        "minimax_m25"
    } else if has("MiniMax-M2.7") {
        "minimax_m27"
    } else if tagged && has("truncate_history_thinking") {
        "nemotron3"
    } else if tagged && thinks && has("preserve_thinking") {
        "qwen36"
    } else if tagged && thinks && has("enable_thinking") {
        "qwen35"
    } else if thinks && has("<tool_call>\\n{") {
        if has("enable_thinking") { "qwen3" } else { "qwennext" }
    } else {
        "default"
    }
}
