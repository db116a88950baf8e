//! Logprobs as SGLang sends them: `[[logprob, id, text], …]`, read straight into two lists.

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use verbatim_tokens::TokenId;

/// One logprob an id; what JSON cannot hold (NaN, infinities) SGLang sends as `null`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Pairs {
    pub(crate) logprobs: Vec<Option<f32>>,
    pub(crate) ids: Vec<TokenId>,
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Pairs;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of [logprob, id, text]")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Pairs, A::Error> {
                let mut pairs = Pairs::default();
                while let Some((logprob, id, _)) =
                    list.next_element::<(Option<f32>, TokenId, IgnoredAny)>()?
                {
                    pairs.logprobs.push(logprob);
                    pairs.ids.push(id);
                }
                Ok(pairs)
            }
            fn visit_unit<E>(self) -> Result<Pairs, E> {
                Ok(Pairs::default())
            }
        }
        deserializer.deserialize_any(All)
    }
}

impl Pairs {
    /// The alternatives, without those that have no logprob.
    pub(crate) fn top(self) -> Vec<(TokenId, f32)> {
        let known = |(id, logprob): (TokenId, Option<f32>)| Some((id, logprob?));
        self.ids.into_iter().zip(self.logprobs).filter_map(known).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_no_logprob() {
        let pairs: Pairs = serde_json::from_str(r#"[[-0.5,13,null],[null,14,"x"]]"#).unwrap();
        assert_eq!(pairs, Pairs { logprobs: vec![Some(-0.5), None], ids: vec![TokenId(13), TokenId(14)] });
        assert_eq!(serde_json::from_str::<Pairs>("null").unwrap(), Pairs::default());
        assert!(serde_json::from_str::<Pairs>(r#"[[-0.5,-1,null]]"#).is_err(), "an id below 0");
    }
}
