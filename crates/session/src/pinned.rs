//! Sampling parameters that the server's owner has fixed.
//!
//! The invariant: what is pinned is what is sampled with, and a request that asked for something else is told
//! of as [`Cause::Overridden`].

use verbatim_dialects::Sampling;
use verbatim_events::Cause;

/// What is asked for, with what is pinned in its place.
pub(crate) fn pinned(asked: &Sampling, pins: &Sampling, lost: &mut Vec<Cause>) -> Sampling {
    let mut all = asked.clone();
    pin("max_tokens", &mut all.max_tokens, pins.max_tokens, lost);
    pin("temperature", &mut all.temperature, pins.temperature, lost);
    pin("top_p", &mut all.top_p, pins.top_p, lost);
    pin("top_k", &mut all.top_k, pins.top_k, lost);
    pin("min_p", &mut all.min_p, pins.min_p, lost);
    pin("presence_penalty", &mut all.presence_penalty, pins.presence_penalty, lost);
    pin("frequency_penalty", &mut all.frequency_penalty, pins.frequency_penalty, lost);
    pin("repetition_penalty", &mut all.repetition_penalty, pins.repetition_penalty, lost);
    pin("min_tokens", &mut all.min_tokens, pins.min_tokens, lost);
    pin("seed", &mut all.seed, pins.seed, lost);
    all
}

fn pin<T: Copy + PartialEq>(field: &str, asked: &mut Option<T>, pin: Option<T>, lost: &mut Vec<Cause>) {
    let Some(pin) = pin else { return };
    if asked.is_some_and(|asked| asked != pin) {
        lost.push(Cause::Overridden { field: field.to_owned() });
    }
    *asked = Some(pin);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_wins_and_says_over_what() {
        let asked =
            Sampling { temperature: Some(0.2), top_p: Some(1.0), seed: Some(3), ..Sampling::default() };
        let pins =
            Sampling { temperature: Some(1.0), top_p: Some(1.0), max_tokens: Some(9), ..Sampling::default() };
        let mut lost = Vec::new();
        let all = pinned(&asked, &pins, &mut lost);
        assert_eq!(
            (all.temperature, all.top_p, all.max_tokens, all.seed),
            (Some(1.0), Some(1.0), Some(9), Some(3))
        );
        assert_eq!(lost, [Cause::Overridden { field: "temperature".into() }]);
    }
}
