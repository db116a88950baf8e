//! What the comparator must know of a family.
//!
//! The invariant: for the families that Miles compares, special ids, trailing ids and the
//! assistant's start are those of its table (reference: Miles §4.2); for the others they follow
//! from what the family renders.

use std::collections::HashSet;

use verbatim_chat::{Message, Role, Setup};
use verbatim_families::{Family, Junction, Scene};
use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

/// What a family's ids mean to a comparison.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The ids that are segments of their own.
    pub special: HashSet<TokenId>,
    /// The ids that are stripped from the end of both sides.
    pub trailing: HashSet<TokenId>,
    /// How an assistant's text starts, special tokens spelt out. Where there is none, no text is
    /// taken for an assistant's.
    pub assistant: Vec<String>,
    /// The ids that end a turn.
    pub stop: HashSet<TokenId>,
    /// The marks around reasoning.
    pub reasoning: Vec<(&'static str, &'static str)>,
}

/// A row of the table.
struct Rule {
    families: &'static [&'static str],
    /// Special ids; empty for all of the vocabulary's control tokens.
    special: &'static [&'static str],
    /// Control tokens that are none for a comparison.
    plain: &'static [&'static str],
    /// Trailing tokens, or text of one token.
    trailing: &'static [&'static str],
    assistant: &'static [&'static str],
}

const CHATML: Rule = Rule {
    families: &["qwen3", "qwen35", "qwen36", "qwennext", "qwen25", "smollm2"],
    special: &[],
    plain: &[],
    trailing: &["\n"],
    assistant: &["<|im_start|>assistant"],
};

const RULES: &[Rule] = &[
    CHATML,
    Rule { families: &["nemotron3"], assistant: &["<|im_start|>assistant\n"], ..CHATML },
    Rule { families: &["minimax_m25", "minimax_m27"], assistant: &["]~b]ai"], ..CHATML },
    Rule {
        families: &["glm47"],
        trailing: &["<|user|>", "<|observation|>"],
        assistant: &["<|assistant|>"],
        ..CHATML
    },
    Rule {
        families: &["kimi25", "kimi26"],
        plain: &["<|im_middle|>"],
        trailing: &[],
        assistant: &["<|im_assistant|>"],
        ..CHATML
    },
    Rule {
        families: &["deepseekv32"],
        special: &["<｜User｜>", "<｜Assistant｜>"],
        trailing: &[],
        assistant: &["<｜Assistant｜>"],
        ..CHATML
    },
    Rule {
        families: &["deepseekv4"],
        special: &["<｜User｜>", "<｜Assistant｜>"],
        trailing: &["<｜Assistant｜>", "<think>", "</think>"],
        assistant: &["<｜Assistant｜>"],
        ..CHATML
    },
    Rule {
        families: &["inkling"],
        special: &["<|message_system|>", "<|message_user|>", "<|message_model|>", "<|message_tool|>"],
        trailing: &[],
        assistant: &["<|message_model|>"],
        ..CHATML
    },
    // A header may be written in two orders, so that what is in it is text; a sampled answer ends
    // otherwise than the same in history.
    Rule {
        families: &["gptoss"],
        special: &["<|start|>", "<|end|>", "<|call|>", "<|return|>"],
        trailing: &["<|end|>", "<|return|>"],
        assistant: &["<|start|>assistant"],
        ..CHATML
    },
    Rule { families: &["gemma3"], assistant: &["<start_of_turn>model"], ..CHATML },
    Rule {
        families: &["llama3"],
        trailing: &[],
        assistant: &["<|start_header_id|>assistant<|end_header_id|>"],
        ..CHATML
    },
    Rule { families: &["mistral"], trailing: &[], assistant: &["[/INST]", "[/TOOL_RESULTS]"], ..CHATML },
];

const REASONING: &[(&str, &str)] =
    &[("<think>", "</think>"), ("◁think▷", "◁/think▷"), ("[THINK]", "[/THINK]")];

impl Profile {
    /// That of a family over its tokenizer.
    pub fn of(family: &dyn Family) -> Self {
        let tokenizer = &**family.tokenizer();
        let rule = RULES.iter().find(|rule| rule.families.contains(&family.name()));
        let known = |spelling: &&str| tokenizer.special(spelling);
        let plain: Vec<TokenId> = rule.iter().flat_map(|rule| rule.plain).filter_map(known).collect();
        let listed: HashSet<TokenId> = rule.iter().flat_map(|rule| rule.special).filter_map(known).collect();
        let special = match listed.is_empty() {
            false => listed,
            true => control(tokenizer).filter(|id| !plain.contains(id)).collect(),
        };
        let assistant = match rule {
            Some(rule) => rule.assistant.iter().map(|start| (*start).to_owned()).collect(),
            None => opener(family, &special).into_iter().collect(),
        };
        Self {
            trailing: rule.iter().flat_map(|rule| rule.trailing).filter_map(|t| one(tokenizer, t)).collect(),
            special,
            assistant,
            stop: family.stop_ids().iter().copied().collect(),
            reasoning: REASONING.to_vec(),
        }
    }
}

fn control(tokenizer: &dyn Tokenizer) -> impl Iterator<Item = TokenId> {
    tokenizer.added().into_iter().filter(|added| added.control).map(|added| added.id)
}

/// The token that is this text alone.
fn one(tokenizer: &dyn Tokenizer, text: &str) -> Option<TokenId> {
    tokenizer.special(text).or_else(|| {
        let mut ids = Vec::new();
        tokenizer.encode(text, &mut ids);
        (ids.len() == 1).then(|| ids[0])
    })
}

/// The line with which a prompt opens the assistant's turn: what a template renders after a turn
/// that ended, from the first special token on. None where the template has no such line, or renders
/// nothing of the kind.
fn opener(family: &dyn Family, special: &HashSet<TokenId>) -> Option<String> {
    let setup = Setup::default();
    let message = Message::new(Role::Assistant, "a");
    let junction = Junction { sampled: family.stop_ids().get(..1)?, message: &message };
    let rendered = family.extend(Scene { setup: &setup, opened: 0 }, junction, &[]).ok()?;
    let from = rendered.ids.iter().position(|id| special.contains(id))?;
    let text = family.tokenizer().text(&rendered.ids[from..]);
    text.lines().next().map(str::to_owned)
}
