//! What a request asks of the sampler.

use serde_json::value::RawValue;

use crate::fields::{excerpt, number, read};
use crate::{Demand, Invalid};

/// Sampling fields as the client sent them; what is `None` is the server's to choose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    /// At most this many tokens.
    pub max_tokens: Option<u32>,
    /// At least 0; 0 is greedy.
    pub temperature: Option<f32>,
    /// In (0, 1].
    pub top_p: Option<f32>,
    /// At least 1; absent where the client sent -1 or 0 for "off".
    pub top_k: Option<u32>,
    /// In [0, 1].
    pub min_p: Option<f32>,
    /// In [-2, 2].
    pub presence_penalty: Option<f32>,
    /// In [-2, 2].
    pub frequency_penalty: Option<f32>,
    /// Above 0; 1 is off.
    pub repetition_penalty: Option<f32>,
    /// The turn has at least this many tokens.
    pub min_tokens: Option<u32>,
    /// Ids that end the turn, beside the family's own.
    pub stop_ids: Vec<u32>,
    /// Strings that end the turn.
    pub stop: Vec<String>,
    /// The sampler's seed.
    pub seed: Option<u64>,
    /// Whether the reply carries logprobs.
    pub logprobs: bool,
    /// How many alternatives a token.
    pub top_logprobs: u8,
    /// What the reply must be.
    pub demand: Demand,
}

impl Sampling {
    /// Takes a field that is spelt alike in every dialect; says whether it was one.
    pub(crate) fn take(&mut self, name: &str, raw: &RawValue) -> Result<bool, Invalid> {
        match name {
            "temperature" => self.temperature = number(name, raw, 0.0..=100.0)?,
            "top_p" => self.top_p = number(name, raw, f32::MIN_POSITIVE..=1.0)?,
            "min_p" => self.min_p = number(name, raw, 0.0..=1.0)?,
            "top_k" => {
                let k: Option<i64> = read(name, raw, "a whole number")?;
                self.top_k = k.filter(|k| *k > 0).map(|k| k.min(i64::from(u32::MAX)) as u32);
            }
            "presence_penalty" => self.presence_penalty = number(name, raw, -2.0..=2.0)?,
            "frequency_penalty" => self.frequency_penalty = number(name, raw, -2.0..=2.0)?,
            "repetition_penalty" => self.repetition_penalty = number(name, raw, f32::MIN_POSITIVE..=2.0)?,
            "min_tokens" => self.min_tokens = read(name, raw, "a whole number")?,
            "stop_token_ids" => self.stop_ids = read(name, raw, "a list of token ids")?.unwrap_or_default(),
            "stop" => self.stop = strings(name, raw)?,
            "seed" => self.seed = read::<i64>(name, raw, "a whole number")?.map(|seed| seed as u64),
            _ => return self.demand.take(name, raw),
        }
        Ok(true)
    }
}

/// One string or several, none of them empty.
pub(crate) fn strings(field: &str, raw: &RawValue) -> Result<Vec<String>, Invalid> {
    let expected = "a string or a list of non-empty strings";
    let strings = match raw.get().as_bytes().first() {
        Some(b'"') => read::<String>(field, raw, expected)?.map(|one| vec![one]),
        _ => read::<Vec<String>>(field, raw, expected)?,
    };
    let strings = strings.unwrap_or_default();
    if strings.iter().any(String::is_empty) {
        return Err(Invalid::new(field, format!("{} is not {expected}", excerpt(raw))));
    }
    Ok(strings)
}
