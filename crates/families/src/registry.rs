//! Parsers by the names that users know: SGLang's `--reasoning-parser` and `--tool-call-parser`.
//!
//! The invariant: a name means the format that it means there; one that is not known here is
//! refused, and nothing is parsed by a guess.

use crate::parser::calls::{GLM, MINIMAX, QWEN_CODER};
use crate::parser::channels::Channels;
use crate::parser::{BARE, Blank, Calling, Gaps, QWEN, Thinking};
use crate::{FamilyError, Options, deepseekv4, deepseekv32, gptoss, hermes, inkling, kimi, llama3, mistral};

/// Reasoning parsers. `minimax-append-think` reads the format of `minimax`: SGLang leaves what was
/// thought in the content behind a `<think>` then, here it is reasoning.
const REASONING: &[(&str, Option<&Thinking>)] = &[
    ("none", None),
    ("qwen3", Some(&QWEN)),
    ("qwen3-thinking", Some(&BEGUN)),
    ("dots", Some(&QWEN)),
    ("gigachat35", Some(&BEGUN)),
    ("interns1", Some(&QWEN)),
    ("deepseek-r1", Some(&BEGUN)),
    ("deepseek-v3", Some(&BARE)),
    ("deepseek-v4", Some(&BARE)),
    ("glm45", Some(&BARE)),
    ("kimi", Some(&KIMI)),
    ("kimi_k2", Some(&BARE)),
    ("minimax", Some(&BEGUN)),
    ("gpt-oss", None),
    ("inkling", None),
    ("minimax-append-think", Some(&BEGUN)),
    ("mistral", Some(&mistral::THINKING)),
    ("nanbeige", Some(&QWEN)),
    ("nemotron_3", Some(&NEMOTRON)),
    ("step3", Some(&BEGUN)),
    ("step3p5", Some(&BEGUN)),
];

/// On lines of their own, in a turn that begins inside the block.
const BEGUN: Thinking = Thinking { begun: true, ..QWEN };

/// Kimi's first models spell the marks with other brackets.
const KIMI: Thinking = Thinking { open: "◁think▷", close: "◁/think▷", ..BARE };

/// One newline on either side of the reasoning and one after the block.
const NEMOTRON: Thinking = Thinking { after_close: 1, ..QWEN };

/// Tool call parsers. `qwen` is what newer versions call `qwen25`, `glm` what they call `glm45` and
/// `glm47`.
const CALLS: &[(&str, Option<&Calling>)] = &[
    ("none", None),
    ("hermes", Some(&hermes::CALLING)),
    ("qwen", Some(&hermes::CALLING)),
    ("qwen25", Some(&hermes::CALLING)),
    ("qwen3_coder", Some(&CODER)),
    ("nanbeige", Some(&CODER)),
    ("step3p5", Some(&CODER)),
    ("glm", Some(&GLM_CALLS)),
    ("glm45", Some(&GLM_CALLS)),
    ("glm47", Some(&GLM_CALLS)),
    ("kimi_k2", Some(&kimi::CALLING)),
    ("kimi_k2_raw_id", Some(&kimi::CALLING)),
    ("gpt-oss", None),
    ("inkling", None),
    ("llama3", Some(&llama3::CALLING)),
    ("minimax-m2", Some(&MINIMAX_CALLS)),
    ("mistral", Some(&mistral::CALLING)),
    ("deepseekv32", Some(&deepseekv32::CALLING)),
    ("deepseekv4", Some(&deepseekv4::CALLING)),
];

const CODER: Calling = Calling {
    format: QWEN_CODER,
    gaps: Gaps { first: 2, alone: 0, between: 1, last: 0, blank: Blank::Nothing },
};

const GLM_CALLS: Calling =
    Calling { format: GLM, gaps: Gaps { first: 1, alone: 0, between: 1, last: 0, blank: Blank::Content } };

const MINIMAX_CALLS: Calling = Calling {
    format: MINIMAX,
    gaps: Gaps { first: 1, alone: 1, between: 0, last: 0, blank: Blank::Content },
};

/// What the options name.
pub(crate) type Parsers = (Option<&'static Thinking>, Option<&'static Calling>);

/// Formats of turns that are cut into messages: one parser reads reasoning and calls.
const CHANNELS: &[(&str, &dyn Channels)] = &[("gpt-oss", &gptoss::FORMAT), ("inkling", &inkling::FORMAT)];

/// The format of turns that are cut into messages, which both names must ask for.
pub(crate) fn channels(options: &Options) -> Result<Option<&'static dyn Channels>, FamilyError> {
    let asked = [&options.reasoning_parser, &options.tool_call_parser].map(Option::as_deref);
    let Some((name, format)) = CHANNELS.iter().find(|(name, _)| asked.contains(&Some(name))) else {
        return Ok(None);
    };
    if asked == [Some(*name); 2] {
        return Ok(Some(*format));
    }
    let reason = format!("parser {name:?} reads reasoning and calls together; name it for both");
    Err(FamilyError::Template { reason })
}

/// The parsers that the options name.
pub(crate) fn parsers(options: &Options) -> Result<Parsers, FamilyError> {
    Ok((
        named("reasoning parser", options.reasoning_parser.as_deref(), REASONING)?,
        named("tool call parser", options.tool_call_parser.as_deref(), CALLS)?,
    ))
}

fn named<T: Copy>(
    kind: &str,
    name: Option<&str>,
    known: &[(&str, Option<T>)],
) -> Result<Option<T>, FamilyError> {
    let Some(name) = name else { return Ok(None) };
    if let Some((_, parser)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(*parser);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    Err(FamilyError::Template {
        reason: format!("unknown {kind} {name:?}; use one of: {}", names.join(", ")),
    })
}
