//! Pickers and post-processors.

use serde_json::Map;
use verbatim_plugins::{Picker, PostProcessor};

use super::*;

/// The interpreter that has numpy and safetensors: the one of the Python tests.
fn python() -> String {
    if let Ok(python) = std::env::var("VERBATIM_PYTHON") {
        return python;
    }
    let made = std::process::Command::new("flock")
        .arg(std::env::temp_dir().join("verbatim-plugins-python.lock"))
        .arg(root().join("tools/python/venv"))
        .args(["python-tests", "python/tests/requirements.txt"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

async fn host() -> Host {
    Host::start(HostOptions { python: python(), workers: 1, ..options() }).await.unwrap()
}

/// A file in the samples layout: two tensors of a token each, written by hand.
fn samples() -> Bytes {
    let sample = |leaf: u32| {
        json!({
            "response": "x", "response_length": 1, "status": "completed", "weight_versions": [],
            "prefix_cache_info": {"cached_tokens": 0, "total_prompt_tokens": 1},
            "metadata": {"leaf": leaf, "note": "theirs"}, "reward": null, "speculation": {"drafts": leaf},
            "nulls": ["loss_mask", "rollout_log_probs", "rollout_routed_experts", "rollout_indexer_topk"],
        })
    };
    let meta = json!({
        "samples": [sample(0), sample(1)], "session_metadata": {"name": "s"}, "empty_reason": null,
    })
    .to_string();
    let head = json!({
        "tokens.0": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
        "tokens.1": {"dtype": "I64", "shape": [2], "data_offsets": [16, 32]},
        "_samples_meta": {"dtype": "U8", "shape": [meta.len()], "data_offsets": [32, 32 + meta.len()]},
    })
    .to_string();
    let mut file = (head.len() as u64).to_le_bytes().to_vec();
    file.extend(head.bytes());
    [1_i64, 2, 3, 4].iter().for_each(|id| file.extend(id.to_le_bytes()));
    file.extend(meta.bytes());
    file.into()
}

fn meta() -> Map<String, Value> {
    json!({"name": "s"}).as_object().unwrap().clone()
}

#[tokio::test]
async fn a_picker_picks_the_same_objects_once() {
    let host = host().await;
    let pick = async |name: &str| {
        Picker::load(&host, &format!("plug:{name}")).await.unwrap().pick(samples(), &meta()).await
    };
    assert_eq!(pick("keep_last").await.unwrap(), [1]);
    for (name, message) in [
        ("twice", "returned a sample twice"),
        ("copies", "a sub-list of the same objects"),
        ("a_tuple", "must return a list of samples, it returned tuple"),
    ] {
        let error = pick(name).await.unwrap_err();
        assert_eq!(cause(&error), Cause::BadResult);
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[tokio::test]
async fn a_post_processor_makes_samples_and_plants_nothing() {
    let host = host().await;
    let processor = PostProcessor::load(&host, "plug:rewards").await.unwrap();
    let made = processor.process(samples(), &meta()).await.unwrap();
    let length = u64::from_le_bytes(made[..8].try_into().unwrap()) as usize;
    let head: Value = serde_json::from_slice(&made[8..8 + length]).unwrap();
    let part = |name: &str| {
        let at = |end: usize| 8 + length + head[name]["data_offsets"][end].as_u64().unwrap() as usize;
        made.slice(at(0)..at(1))
    };
    let meta: Value = serde_json::from_slice(&part("_samples_meta")).unwrap();
    let first = &meta["samples"][0];
    assert_eq!(
        first["metadata"],
        json!({"leaf": 1, "note": "mine"}),
        "reversed, and the server's key as it was"
    );
    assert_eq!((&first["reward"], &first["speculation"]), (&json!(0.5), &json!({"drafts": 1})));
    assert_eq!(&part("tokens.0")[..8], 3_i64.to_le_bytes());
}

#[tokio::test]
async fn samples_that_cannot_be_decoded_are_named() {
    let host = host().await;
    let picker = Picker::load(&host, "plug:keep_last").await.unwrap();
    let error = picker.pick(Bytes::from_static(b"nonsense"), &meta()).await.unwrap_err();
    assert_eq!(cause(&error), Cause::BadBlob);
}
