//! The user's own callables, where the server asks them.
//!
//! The invariant: none of them can make a token train that the server does not let train.

use std::sync::Arc;

use futures::future::BoxFuture;
use safetensors::SafeTensors;
use serde::Deserialize;
use verbatim_chat::Message;
use verbatim_dialects::chat::spell;
use verbatim_plugins::{Matcher, Picker, PostProcessor};
use verbatim_samples::Pick;
use verbatim_session::Predicate;

use crate::ApiError;

/// What is asked of the user when rows are made.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Which leaves become rows, where a request does not say.
    pub pick: Pick,
    /// The user's choice of leaves, instead.
    pub picker: Option<Picker>,
    /// What the user makes of the rows that were picked.
    pub postprocessor: Option<PostProcessor>,
}

/// The user's equality of messages.
pub struct UserMatcher {
    path: String,
    matcher: Matcher,
}

impl UserMatcher {
    /// The function at a dotted path.
    pub fn new(path: impl Into<String>, matcher: Matcher) -> Self {
        Self { path: path.into(), matcher }
    }
}

impl Predicate for UserMatcher {
    fn name(&self) -> &str {
        &self.path
    }

    fn judge(&self, pairs: Vec<(Arc<Message>, Arc<Message>)>) -> BoxFuture<'_, Result<Vec<bool>, String>> {
        let pairs: Vec<_> = pairs.iter().map(|(stored, sent)| (spell(stored), spell(sent))).collect();
        Box::pin(async move { self.matcher.judge(&pairs).await.map_err(|error| error.to_string()) })
    }
}

#[derive(Deserialize)]
struct Meta {
    samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    response_length: usize,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    verbatim: Own,
}

#[derive(Deserialize)]
struct Own {
    leaf: u32,
}

/// Refuses processed samples in which a token trains that did not train before, or that is another one.
pub(crate) fn keeps_masks(before: &[u8], after: &[u8]) -> Result<(), ApiError> {
    let unreadable = |error: &dyn std::fmt::Display| {
        ApiError::hook(format!("what the post-processor made cannot be read: {error}"))
    };
    let (before, after) = match (SafeTensors::deserialize(before), SafeTensors::deserialize(after)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(error), _) | (_, Err(error)) => return Err(unreadable(&error)),
    };
    let meta = |file: &SafeTensors<'_>| -> Result<Meta, ApiError> {
        let meta = file.tensor("_samples_meta").map_err(|error| unreadable(&error))?;
        serde_json::from_slice(meta.data()).map_err(|error| unreadable(&error))
    };
    let (old, new) = (meta(&before)?, meta(&after)?);
    for (at, sample) in new.samples.iter().enumerate() {
        let leaf = sample.metadata.verbatim.leaf;
        let from = old.samples.iter().position(|old| old.metadata.verbatim.leaf == leaf);
        let from =
            from.ok_or_else(|| ApiError::hook(format!("sample {at} is none of those that were picked")))?;
        let tensor = |file: &SafeTensors<'_>, name: &str, at: usize| {
            file.tensor(&format!("{name}.{at}"))
                .map(|tensor| tensor.data().to_vec())
                .map_err(|error| unreadable(&error))
        };
        let (was, is) = (tensor(&before, "tokens", from)?, tensor(&after, "tokens", at)?);
        let (old_mask, new_mask) = (tensor(&before, "loss_mask", from)?, tensor(&after, "loss_mask", at)?);
        let prompt = |ids: &[u8], response: usize| (ids.len() / 8).checked_sub(response);
        let same_start =
            prompt(&was, old.samples[from].response_length) == prompt(&is, sample.response_length);
        if !same_start || !was.starts_with(&is) {
            return Err(ApiError::hook(format!("the post-processor changed the tokens of sample {at}")));
        }
        if new_mask.iter().zip(&old_mask).any(|(new, old)| new > old) {
            return Err(ApiError::hook(format!(
                "the post-processor lets tokens of sample {at} train that are owned elsewhere or were not sampled"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use safetensors::Dtype;
    use safetensors::tensor::TensorView;
    use serde_json::{Value, json};

    use super::*;

    /// A file of one sample.
    fn file(tokens: &[i64], mask: &[u8], verbatim: &Value) -> Vec<u8> {
        let meta = json!({"samples": [{"response_length": mask.len(), "metadata": {"verbatim": verbatim}}]});
        let (meta, ids) =
            (meta.to_string(), tokens.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<_>>());
        let view = |dtype, length, data| TensorView::new(dtype, vec![length], data).unwrap();
        let tensors = [
            ("tokens.0", view(Dtype::I64, tokens.len(), &ids)),
            ("loss_mask.0", view(Dtype::U8, mask.len(), mask)),
            ("_samples_meta", view(Dtype::U8, meta.len(), meta.as_bytes())),
        ];
        safetensors::serialize(tensors, None).unwrap()
    }

    #[test]
    fn a_post_processor_may_mask_and_cut_and_nothing_else() {
        let leaf = json!({"leaf": 3});
        let before = file(&[1, 2, 3, 4, 5], &[1, 0, 1], &leaf);
        for (tokens, mask, of, problem) in [
            (&[1, 2, 3, 4, 5][..], &[1, 0, 1][..], json!({"leaf": 3}), None),
            (&[1, 2, 3, 4, 5], &[0, 0, 1], json!({"leaf": 3}), None),
            (&[1, 2, 3, 4], &[1, 0], json!({"leaf": 3}), None),
            (&[1, 2, 3, 4, 5], &[1, 1, 1], json!({"leaf": 3}), Some("train that are owned elsewhere")),
            (&[1, 2, 3, 4, 6], &[1, 0, 1], json!({"leaf": 3}), Some("changed the tokens")),
            // Its beginning moved, so that the mask would lie on other tokens.
            (&[1, 2, 3, 4], &[1, 0, 1], json!({"leaf": 3}), Some("changed the tokens")),
            (&[1, 2, 3, 4, 5], &[1, 0, 1], json!({"leaf": 4}), Some("none of those that were picked")),
            (&[1, 2, 3, 4, 5], &[1, 0, 1], json!(null), Some("cannot be read")),
        ] {
            let refused = keeps_masks(&before, &file(tokens, mask, &of)).err();
            match problem {
                None => assert_eq!(refused, None, "{tokens:?} {mask:?}"),
                Some(problem) => assert!(refused.unwrap().message.contains(problem), "{problem}"),
            }
        }
        assert!(keeps_masks(&before, b"no file").unwrap_err().message.contains("cannot be read"));
    }
}
