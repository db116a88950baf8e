//! What an engine of SGLang's kind tells of a turn.

use std::time::Duration;

use base64_simd::STANDARD;
use serde_json::{Value, json};
use verbatim_events::{Finish, TurnCommitted};
use verbatim_forest::Generation;
use verbatim_tokens::{Replay, Sampled, Speculation, Width};

/// A sampled turn, to be told of.
pub(crate) struct MetaInfo<'a> {
    response: &'a str,
    sampled: &'a Sampled,
    finish: Finish,
    cached_tokens: Option<u32>,
    speculation: Option<Speculation>,
    took: Duration,
}

impl<'a> MetaInfo<'a> {
    /// Of a stored turn.
    pub(crate) fn of(generation: &'a Generation) -> Self {
        Self {
            response: &generation.response,
            sampled: &generation.sampled,
            finish: generation.finish,
            cached_tokens: generation.cached_tokens,
            speculation: generation.speculation,
            took: generation.timings.generate,
        }
    }

    /// Of a turn that was just committed.
    pub(crate) fn told(turn: &'a TurnCommitted) -> Self {
        let generated = &turn.generated;
        Self {
            response: &generated.response,
            sampled: &generated.sampled,
            finish: generated.finish,
            cached_tokens: generated.cached_tokens,
            speculation: generated.speculation,
            took: turn.timings.generate,
        }
    }

    /// Its JSON, after a prompt of so many tokens. A logprob that the engine did not give is null.
    pub(crate) fn spell(&self, prompt: usize, experts: Option<&Replay>) -> Value {
        let sampled = self.sampled;
        let pairs = sampled.ids().iter().zip(sampled.logprobs().iter());
        let pairs: Vec<_> = pairs.map(|(id, logprob)| json!([logprob, id.0, null])).collect();
        let kind = if self.finish == Finish::Length { "length" } else { "stop" };
        let version = sampled.versions().iter().last().and_then(|(version, _)| version.clone());
        let mut meta = json!({
            "id": self.response,
            "finish_reason": {"type": kind},
            "prompt_tokens": prompt,
            "completion_tokens": sampled.len(),
            "cached_tokens": self.cached_tokens.unwrap_or_default(),
            "weight_version": version,
            "e2e_latency": self.took.as_secs_f64(),
            "output_token_logprobs": pairs,
        });
        if let Some(speculation) = self.speculation {
            meta["spec_num_proposed_drafts"] = json!(speculation.proposed);
            meta["spec_num_correct_drafts"] = json!(speculation.accepted);
            meta["spec_verify_ct"] = json!(speculation.verified);
        }
        if let Some(experts) = experts {
            meta["routed_experts"] = json!(STANDARD.encode_to_string(experts.widened(Width::I32).bytes()));
        }
        meta
    }
}
