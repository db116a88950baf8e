//! Datasets as agents get them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assumption fails the test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use tempfile::TempDir;
use verbatim_agents::Input;
use verbatim_rollout::{Dataset, RolloutError};

fn dataset(path: &Path) -> Dataset {
    Dataset {
        path: path.to_owned(),
        input_key: "prompt".into(),
        metadata_key: Some("info".into()),
        label_key: Some("label".into()),
        multimodal_keys: BTreeMap::new(),
        limit: None,
    }
}

fn jsonl(rows: &[Value]) -> (TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.jsonl");
    std::fs::write(&path, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
    let dataset = dataset(&path);
    (folder, dataset)
}

fn input(row: Value) -> Result<Input, String> {
    let (_folder, dataset) = jsonl(&[row]);
    dataset.read().map(|mut tasks| tasks.remove(0).input).map_err(|error| error.to_string())
}

#[test]
fn prompts_are_text_messages_or_nothing() {
    let hi = json!({"role": "user", "content": "hi"});
    for (prompt, messages) in [
        (json!("hi"), json!([hi])),
        (json!([hi, hi]), json!([hi, hi])),
        (json!(""), json!([])),
        (json!([{"role": "user", "content": ""}]), json!([])),
        (Value::Null, json!([])),
    ] {
        assert_eq!(json!(input(json!({"prompt": prompt})).unwrap().messages), messages, "{prompt}");
    }
    assert_eq!(input(json!({})).unwrap(), Input::default(), "a row of nothing is a task of nothing");
}

#[test]
fn metadata_is_an_object_or_its_json_text() {
    for info in [json!({"answer": 7}), json!("{\"answer\": 7}")] {
        assert_eq!(input(json!({"info": info})).unwrap().metadata["answer"], 7);
    }
}

#[test]
fn what_is_wrong_is_named_with_its_row_and_column() {
    for (row, names) in [
        (json!({"prompt": 7}), "prompt: 7"),
        (json!({"prompt": ["hi"]}), "prompt[0]"),
        (json!({"info": [1]}), "info: [1]"),
        (json!({"info": "not json"}), "info"),
    ] {
        let refused = input(row).unwrap_err();
        assert!(refused.contains("row 0") && refused.contains(names), "{refused}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.csv");
    assert!(matches!(dataset(&path).read(), Err(RolloutError::Dataset { .. })));
    assert!(matches!(dataset(&folder.path().join("no.jsonl")).read(), Err(RolloutError::File { .. })));
}

#[test]
fn lines_end_at_line_feeds_only() {
    let (_folder, dataset) = jsonl(&[json!({"prompt": "a\u{2028}b"}), json!({"prompt": "c"})]);
    assert_eq!(dataset.read().unwrap().len(), 2);
}

#[test]
fn parquet_rows_are_the_same_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.parquet");
    let prompts: ArrayRef = Arc::new(StringArray::from(vec![Some("hi"), None]));
    let infos: ArrayRef = Arc::new(StringArray::from(vec!["{\"answer\": 7}", "{}"]));
    let batch = RecordBatch::try_from_iter_with_nullable([("prompt", prompts, true), ("info", infos, false)])
        .unwrap();
    let mut writer =
        ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let tasks = dataset(&path).read().unwrap();
    assert_eq!(tasks.len(), 2);
    assert_eq!(
        json!(tasks[0].input),
        json!({"messages": [{"role": "user", "content": "hi"}], "metadata": {"answer": 7}})
    );
    assert_eq!(tasks[1].input, Input::default());
    assert_eq!(Dataset { limit: Some(1), ..dataset(&path) }.read().unwrap().len(), 1);
}

#[test]
fn images_are_placed_where_the_prompt_names_them() {
    let (folder, mut dataset) =
        jsonl(&[json!({"prompt": "A <image> and <image>.", "pictures": ["https://x/y.png", "z.png"]})]);
    std::fs::write(folder.path().join("z.png"), b"\x89PNG").unwrap();
    dataset.multimodal_keys = BTreeMap::from([("image".to_owned(), "pictures".to_owned())]);
    let content = dataset.read().unwrap()[0].input.messages[0]["content"].clone();
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let expected = [
        text("A "),
        image("https://x/y.png"),
        text(" and "),
        image("data:image/png;base64,iVBORw=="),
        text("."),
    ];
    assert_eq!(content, json!(expected));
}

#[test]
fn media_that_no_prompt_names_would_be_lost_and_are_refused() {
    let (_folder, mut dataset) = jsonl(&[json!({"prompt": "no picture", "pictures": ["https://x/y.png"]})]);
    dataset.multimodal_keys = BTreeMap::from([("image".to_owned(), "pictures".to_owned())]);
    let refused = dataset.read().unwrap_err().to_string();
    assert!(refused.contains("<image>"), "{refused}");
}
