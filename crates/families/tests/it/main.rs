//! Families against their official templates, and against what models and people can write.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod append_only;
mod assets;
mod each;
mod engine;
mod evidence;
mod formats;
mod gguf;
mod goldens;
mod images;
mod loading;
mod native;
mod outline;
mod parity;
mod parsing;
mod promises;
mod round_trip;
mod rules;
mod rules_deepseek;
mod rules_gptoss_gemma;
mod rules_kimi;
mod rules_llama_inkling;
mod rules_tagged;
mod templates;
