//! From logits to one id.
//!
//! The invariant: an id is a function of the logits, the parameters, the seed and how many ids this
//! sampler has drawn; logits come in by reference and leave unchanged.

use std::cmp::Ordering;
use std::collections::HashMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use verbatim_engine::{EngineError, Params};
use verbatim_tokens::TokenId;

/// One attempt's sampler.
pub(crate) struct Sampler {
    params: Params,
    random: ChaCha8Rng,
    counts: HashMap<TokenId, u32>,
}

/// Refuses parameters that mean nothing.
pub(crate) fn check(params: &Params) -> Result<(), EngineError> {
    let refuse = |name: &str, value: f32, range: &str| {
        Err(EngineError::Refused { message: format!("{name} is {value}, it must be {range}") })
    };
    if !(params.temperature >= 0.0 && params.temperature.is_finite()) {
        return refuse("temperature", params.temperature, "at least 0");
    }
    if !(params.top_p > 0.0 && params.top_p <= 1.0) {
        return refuse("top_p", params.top_p, "above 0 and at most 1");
    }
    if !(0.0..=1.0).contains(&params.min_p) {
        return refuse("min_p", params.min_p, "from 0 to 1");
    }
    for (name, value) in
        [("presence_penalty", params.presence_penalty), ("frequency_penalty", params.frequency_penalty)]
    {
        if !value.is_finite() {
            return refuse(name, value, "finite");
        }
    }
    Ok(())
}

impl Sampler {
    pub(crate) fn new(params: Params) -> Self {
        let random = ChaCha8Rng::seed_from_u64(params.seed.unwrap_or_else(rand::random));
        Self { params, random, counts: HashMap::new() }
    }

    /// Draws the next id from `[vocabulary]` raw logits.
    pub(crate) fn draw(&mut self, logits: &[f32]) -> TokenId {
        let penalised = self.penalised(logits);
        let logits = penalised.as_deref().unwrap_or(logits);
        let id = if self.params.temperature == 0.0 { likeliest(logits) } else { self.choose(logits) };
        *self.counts.entry(id).or_default() += 1;
        id
    }

    fn penalised(&self, logits: &[f32]) -> Option<Vec<f32>> {
        let Params { presence_penalty, frequency_penalty, .. } = self.params;
        if (presence_penalty == 0.0 && frequency_penalty == 0.0) || self.counts.is_empty() {
            return None;
        }
        let mut logits = logits.to_vec();
        for (id, count) in &self.counts {
            if let Some(logit) = logits.get_mut(id.0 as usize) {
                *logit -= presence_penalty + frequency_penalty * *count as f32;
            }
        }
        Some(logits)
    }

    fn choose(&mut self, logits: &[f32]) -> TokenId {
        let Params { temperature, top_p, top_k, min_p, .. } = self.params;
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut kept: Vec<(u32, f64)> = (0..)
            .zip(logits)
            .map(|(id, logit)| (id, f64::from((logit - most) / temperature).exp()))
            .collect();
        if let Some(k) = top_k.map(|k| k as usize).filter(|k| (1..kept.len()).contains(k)) {
            kept.select_nth_unstable_by(k - 1, best_first);
            kept.truncate(k);
        }
        let total: f64 = kept.iter().map(|(_, weight)| weight).sum();
        if top_p < 1.0 {
            nucleus(&mut kept, f64::from(top_p) * total);
        }
        if min_p > 0.0 {
            kept.retain(|(_, weight)| *weight >= f64::from(min_p));
        }
        kept.sort_unstable_by_key(|(id, _)| *id);
        let total: f64 = kept.iter().map(|(_, weight)| weight).sum();
        let mut left = self.random.random::<f64>() * total;
        for (id, weight) in &kept {
            left -= weight;
            if left < 0.0 {
                return TokenId(*id);
            }
        }
        // Rounding can leave a hair; the likeliest id takes it.
        likeliest(logits)
    }
}

/// Best first, the lower id first among equals: an order that depends on nothing else.
fn best_first(a: &(u32, f64), b: &(u32, f64)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

/// Keeps the fewest of the best that together weigh at least `mass`. Sorts no more of a large
/// vocabulary than that takes.
fn nucleus(kept: &mut Vec<(u32, f64)>, mass: f64) {
    let mut sorted = 128;
    loop {
        sorted = sorted.min(kept.len());
        if sorted < kept.len() {
            kept.select_nth_unstable_by(sorted, best_first);
        }
        kept[..sorted].sort_unstable_by(best_first);
        let mut sum = 0.0;
        let enough = kept[..sorted].iter().position(|(_, weight)| {
            sum += weight;
            sum >= mass
        });
        match enough {
            Some(last) => return kept.truncate(last + 1),
            None if sorted == kept.len() => return,
            None => sorted *= 8,
        }
    }
}

fn likeliest(logits: &[f32]) -> TokenId {
    let best =
        (0..).zip(logits).fold(
            (0, f32::NEG_INFINITY),
            |best: (u32, f32), (id, logit)| {
                if *logit > best.1 { (id, *logit) } else { best }
            },
        );
    TokenId(best.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(params: Params, logits: &[f32], count: usize) -> Vec<u32> {
        let mut sampler = Sampler::new(Params { seed: Some(7), ..params });
        (0..count).map(|_| sampler.draw(logits).0).collect()
    }

    #[test]
    fn zero_temperature_takes_the_first_of_the_best() {
        assert_eq!(drawn(Params { temperature: 0.0, ..Params::default() }, &[1.0, 3.0, 3.0], 2), [1, 1]);
    }

    #[test]
    fn truncations_keep_what_they_say() {
        let logits: Vec<f32> = [0.5f32, 0.3, 0.15, 0.05].iter().map(|p| p.ln()).collect();
        let most = |params| drawn(params, &logits, 500).into_iter().max().unwrap();
        assert_eq!(most(Params::default()), 3);
        assert_eq!(most(Params { top_k: Some(2), ..Params::default() }), 1);
        assert_eq!(most(Params { top_p: 0.6, ..Params::default() }), 1);
        assert_eq!(most(Params { top_p: 0.81, ..Params::default() }), 2);
        assert_eq!(most(Params { min_p: 0.25, ..Params::default() }), 2);
    }

    #[test]
    fn draws_follow_the_distribution() {
        let logits = [0.75f32.ln(), 0.25f32.ln()];
        let ones = drawn(Params::default(), &logits, 4000).iter().filter(|id| **id == 1).count();
        assert!((900..1100).contains(&ones), "{ones} of 4000");
    }

    #[test]
    fn penalties_count_what_was_drawn() {
        let greedy = Params { temperature: 0.0, ..Params::default() };
        let presence = Params { presence_penalty: 1.0, ..greedy.clone() };
        assert_eq!(drawn(presence, &[2.0, 1.5, 0.0], 4), [0, 1, 0, 0]);
        let frequency = Params { frequency_penalty: 1.0, ..greedy };
        assert_eq!(drawn(frequency, &[2.0, 1.5, 0.0], 4), [0, 1, 0, 1]);
    }

    #[test]
    fn parameters_without_meaning_are_refused() {
        assert!(check(&Params::default()).is_ok());
        assert!(check(&Params { temperature: f32::NAN, ..Params::default() }).is_err());
        assert!(check(&Params { top_p: 0.0, ..Params::default() }).is_err());
    }
}
