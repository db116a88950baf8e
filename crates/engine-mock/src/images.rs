//! Images beside ids, as SGLang takes them.
//!
//! The invariant: a prompt whose placeholders are not one an image is refused. The real server (0.5.17) decodes and
//! encodes such a prompt anew, with a warning in its log, and the ids that it reads may be others.

use std::sync::Arc;

use serde_json::Value;

/// How many placeholders the image of these bytes becomes.
pub type Count = Arc<dyn Fn(&[u8]) -> Result<usize, String> + Send + Sync>;

/// A model that reads images.
#[derive(Clone)]
pub struct Images {
    /// What stands for an image in a prompt.
    pub pad: u32,
    /// Its image processor.
    pub count: Count,
}

/// The prompt that a model reads: every placeholder as often as its image needs, and the images.
pub(crate) fn expanded(
    model: Option<&Images>,
    ids: Vec<u32>,
    data: &Value,
) -> Result<(Vec<u32>, Vec<Vec<u8>>), String> {
    let Some(data) = data.as_array().filter(|data| !data.is_empty()) else { return Ok((ids, Vec::new())) };
    let model = model.ok_or("this model is not multimodal, and image_data is sent")?;
    let images = data.iter().map(held).collect::<Result<Vec<_>, _>>()?;
    let placeholders = ids.iter().filter(|id| **id == model.pad).count();
    if placeholders != images.len() {
        return Err(format!(
            "prompt has {placeholders} image placeholder token(s) but {} image(s) were provided",
            images.len()
        ));
    }
    let (mut read, mut next) = (Vec::with_capacity(ids.len()), images.iter());
    for id in ids {
        let times = match next.as_slice().first().filter(|_| id == model.pad) {
            Some(image) => {
                next.next();
                (model.count)(image)?
            }
            None => 1,
        };
        read.extend(std::iter::repeat_n(id, times));
    }
    Ok((read, images))
}

/// The bytes of a data URL.
fn held(url: &Value) -> Result<Vec<u8>, String> {
    let data = url.as_str().and_then(|url| url.strip_prefix("data:image/")?.split_once(";base64,"));
    let (_, data) = data.ok_or("this mock takes images as data URLs only")?;
    base64_simd::STANDARD.decode_to_vec(data).map_err(|error| format!("image_data is no base64: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_image_has_one_placeholder_and_becomes_as_many_as_it_needs() {
        let model = Images { pad: 9, count: Arc::new(|bytes| Ok(bytes.len())) };
        let data = json!(["data:image/png;base64,YWI=", "data:image/png;base64,YWJj"]);
        let (ids, images) = expanded(Some(&model), vec![1, 9, 2, 9], &data).unwrap();
        assert_eq!((ids, images), (vec![1, 9, 9, 2, 9, 9, 9], vec![b"ab".to_vec(), b"abc".to_vec()]));
        for (model, ids) in [(Some(&model), vec![1, 9, 9, 2, 9]), (Some(&model), vec![1]), (None, vec![9, 9])]
        {
            assert!(expanded(model, ids, &data).is_err());
        }
    }
}
