//! What engines send for "no logprob".

/// The logprob, if it is one. vLLM sends -9999 for NaN, for minus infinity and for a missing entry,
/// llama.cpp the smallest `f32` for the logarithm of 0.
pub(crate) fn known(value: Option<f32>) -> Option<f32> {
    value.filter(|value| value.is_finite() && *value > -9990.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentinels_are_no_logprobs() {
        for sent in
            [None, Some(-9999.0), Some(f32::MIN), Some(-3.4e38), Some(f32::NAN), Some(f32::NEG_INFINITY)]
        {
            assert_eq!(known(sent), None, "{sent:?}");
        }
        assert_eq!(known(Some(-40.5)), Some(-40.5));
    }
}
